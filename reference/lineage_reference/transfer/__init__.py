"""Context that moves between threads and between providers of agents: one model behind four features.

Fork, handing a conversation to another provider, merging a fork back and subagents are the same thing: a
relationship of threads, a *source point*, and a *transfer* that nobody resolves before a dispatch needs it.
Needs SQLAlchemy (``pip install pytest-lineage[branching]``).

* `make` gives a backend over a saver; `Transfers` and `AsyncTransfers` are its halves.
* `lineage_reference.transfer.adapters` says what an adapter has to offer; `lineage_reference.transfer.agent`
  has one for LangGraph agents.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from lineage_reference.branching.tables import postgres_engine, sqlite_engine
from lineage_reference.rollback import has
from lineage_reference.transfer.backend import AsyncTransfers, TransferBackend, Transfers
from lineage_reference.transfer.operations import Operations
from lineage_reference.transfer.records import (
    LATEST_STABLE,
    Capabilities,
    Child,
    ContextHandoff,
    ContextTransfer,
    Cover,
    Refused,
    Run,
    SourcePoint,
    StartContext,
    StatusMove,
    ThreadLineage,
    TurnResult,
)

__all__ = [
    "LATEST_STABLE", "AsyncTransfers", "Capabilities", "Child", "ContextHandoff", "ContextTransfer", "Cover",
    "Refused", "Run", "SourcePoint", "StartContext", "StatusMove", "ThreadLineage", "TransferBackend",
    "Transfers", "TurnResult", "make", "postgres_engine", "sqlite_engine",
]  # fmt: skip


@contextmanager
def make(saver: Any, store: Any) -> Iterator[Operations]:
    """A backend with the halves that `saver` has; its tables in the store's database, else in a file.

    `store` has `path`, a private directory, and `dsn`, a Postgres connection string or None.
    """
    engine = (
        postgres_engine(store.dsn)
        if store.dsn
        else sqlite_engine(str(store.path / "transfers.sqlite"))
    )
    sync, async_ = has(saver, "get_tuple"), has(saver, "aget_tuple")
    chosen: type[Operations] = TransferBackend
    if sync != async_:
        chosen = Transfers if sync else AsyncTransfers
    try:
        yield chosen(saver, engine)
    finally:
        engine.dispose()
