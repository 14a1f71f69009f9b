"""What the tests of the transfer reference share: backends on durable stores, and agents with scripts."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from lineage_reference.transfer import (
    TransferBackend,
    Transfers,
    make,
    postgres_engine,
    sqlite_engine,
)
from lineage_reference.transfer.agent import AgentProvider
from lineage_reference.transfer.scripted import agent, scripted


def saver_on(stack: ExitStack, folder: Path | str, dsn: str | None) -> Any:
    """A durable saver: SQLite in a folder, or Postgres."""
    if dsn is None:
        from langgraph.checkpoint.sqlite import SqliteSaver

        path = str(Path(folder) / "checkpoints.sqlite")
        return stack.enter_context(SqliteSaver.from_conn_string(path))
    from langgraph.checkpoint.postgres import PostgresSaver

    saver = stack.enter_context(PostgresSaver.from_conn_string(dsn))
    saver.setup()
    return saver


def opened(stack: ExitStack, folder: Path | str, dsn: str | None = None, **options: Any) -> Any:
    """A handle on a durable store. With options (a clock, a lease) it is made without `make`."""
    saver = saver_on(stack, folder, dsn)
    store = SimpleNamespace(path=Path(folder), dsn=dsn)
    if not options:
        return stack.enter_context(make(saver, store))
    engine = postgres_engine(dsn) if dsn else sqlite_engine(str(Path(folder) / "transfers.sqlite"))
    stack.callback(engine.dispose)
    chosen = TransferBackend if dsn else Transfers
    return chosen(saver, engine, **options)


def provider(backend: Any, name: str, *answers: Any, tools: Any = (), kind: Any = None) -> Any:
    """Give a backend an agent with a script, under a name."""
    made = (kind or AgentProvider)(name, agent(backend.saver, scripted(*answers), tools))
    backend.use(made)
    return made


def said(backend: Any, session: str) -> list[str]:
    """The texts of a session, in order."""
    config = {"configurable": {"thread_id": session, "checkpoint_ns": ""}}
    found = backend.saver.get_tuple(config)
    return [message.content for message in found.checkpoint["channel_values"]["messages"]]


def statuses(backend: Any, thread: str) -> list[tuple[str, str, str | None]]:
    """Type, status and resolution of every transfer of a thread."""
    return [(t.type, t.status, t.resolution) for t in backend.transfers(thread)]
