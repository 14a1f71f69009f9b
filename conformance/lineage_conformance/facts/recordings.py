"""Facts about recorded stores: whether the installed packages finish what old releases left half-way."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from pathlib import Path
from typing import Any

from lineage_conformance import recorded
from lineage_conformance.facts import Fact, add
from lineage_conformance.facts.probe import Probe
from lineage_conformance.handles import Handle

MEANS = "Conversations that were under way at an old release lose something when they go on."


def _finished(recording: recorded.Recording) -> Any:
    def probe(p: Probe) -> Any:
        module = type(p.saver).__module__
        if module.startswith("langgraph.checkpoint.sqlite"):
            found = _on_sqlite(p, recording)
        elif module.startswith("langgraph.checkpoint.postgres"):
            found = _on_postgres(p, recording)
        else:
            p.need(False, "recorded for the SQLite and PostgreSQL savers of LangGraph")
        lost = {story: value for story, value in found.items() if isinstance(value, dict)}
        return lost or "all kept"

    return probe


def _on_sqlite(p: Probe, recording: recorded.Recording) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        path = str(recording.copy(Path(folder)))
        manager = type(p.saver).from_conn_string(path)
        if hasattr(manager, "__enter__"):
            with manager as saver:
                return _finish(p, Handle(saver, p.bench.loop), recording, recorded.PREFIX)
        handle = Handle(p.bench.loop.run(manager.__aenter__()), p.bench.loop)
        try:
            return _finish(p, handle, recording, recorded.PREFIX)
        finally:
            p.bench.loop.run(manager.__aexit__(None, None, None))


def _on_postgres(p: Probe, recording: recorded.Recording) -> dict[str, Any]:
    statements = recording.statements(p.bench.nonce)
    connection = p.saver.conn
    if asyncio.iscoroutinefunction(type(connection).close):
        p.bench.loop.run(_aload(connection, statements))
    else:
        with (
            connection.connection()
            if callable(getattr(connection, "connection", None))
            else contextlib.nullcontext(connection) as c
        ):
            for statement in statements:
                c.execute(statement)
    return _finish(p, p.bench.handle(), recording, p.bench.nonce)


async def _aload(connection: Any, statements: list[str]) -> None:
    pool = callable(getattr(connection, "connection", None))
    async with contextlib.AsyncExitStack() as stack:
        opened = await stack.enter_async_context(connection.connection()) if pool else connection
        for statement in statements:
            await opened.execute(statement)


def _finish(p: Probe, handle: Handle, recording: recorded.Recording, prefix: str) -> dict[str, Any]:
    return recorded.finish(handle, p.half, recording, prefix, f"own{p.bench.nonce}", p.bench.beat)


for _recording in recorded.recordings():
    _release = _recording.packages["langgraph"]
    add(Fact(f"recordings.langgraph-{_recording.id}",
             f"What is lost of conversations that langgraph {_release} left half-way in a store.",
             _finished(_recording), MEANS))  # fmt: skip
