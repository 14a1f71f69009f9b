"""Branches of conversations: a new thread seeded from an old one, its workspace, a parent link. Nothing else.

Needs SQLAlchemy (``pip install pytest-lineage[branching]``). Nothing in an application changes but that it
says when a turn begins and ends; agents, prompts and the saver stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver

from lineage_reference.branching.backend import AsyncBranching, Branching, BranchingBackend
from lineage_reference.branching.operations import Operations
from lineage_reference.branching.seeding import NODE, Seeder
from lineage_reference.branching.tables import postgres_engine, sqlite_engine

__all__ = [
    "NODE",
    "AsyncBranching",
    "Branching",
    "BranchingBackend",
    "Seeder",
    "make",
    "postgres_engine",
    "sqlite_engine",
]


@contextmanager
def make(saver: Any, store: Any) -> Iterator[Operations]:
    """A backend with the halves that `saver` has; its tables in the store's database, else in a file.

    `store` has `path`, a private directory, and `dsn`, a Postgres connection string or None.
    """
    engine = (
        postgres_engine(store.dsn)
        if store.dsn
        else sqlite_engine(str(store.path / "branches.sqlite"))
    )
    halves = {"sync": _has(saver, "get_tuple"), "async": _has(saver, "aget_tuple")}
    chosen: type[Operations] = BranchingBackend
    if not all(halves.values()):
        chosen = Branching if halves["sync"] else AsyncBranching
    try:
        yield chosen(saver, engine)
    finally:
        engine.dispose()


def _has(saver: Any, method: str) -> bool:
    """Whether a saver has a method that works. `SqliteSaver` overrides the async ones only to refuse."""
    if method.startswith("a") and any(
        base.__name__ == "SqliteSaver" for base in type(saver).__mro__
    ):
        return False
    return getattr(type(saver), method, None) is not getattr(BaseCheckpointSaver, method)
