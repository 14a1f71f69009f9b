"""How a mutant of the turn runner is declared, and how all laws of the kind are run on one."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver

from lineage_conformance import law as laws
from lineage_conformance.handles import Face, Handle, Loop
from lineage_conformance.judge import Judge
from lineage_conformance.law import Law
from lineage_conformance.outcome import Outcome
from lineage_conformance.runner import Stores
from pytest_lineage.run.opening import _fast_folder
from tests.mutants.kit import Registry

Make = Callable[[Any], Any]


MUTANTS = Registry()
mutant = MUTANTS.mutant
"""Declares a subclass of `Turns`."""


@contextmanager
def bench(make: Make, over: str = "memory", profile: str = "quick") -> Iterator[Judge]:
    """A judge of one backend. A store is a saver in memory that outlives its handles, or a database.

    `over` is ``memory``, ``sqlite``, ``postgres`` (a server is started) or one of the two with ``-async``.
    """
    savers: dict[int, Any] = {}
    with ExitStack() as stack:
        loop = Loop()
        stack.callback(loop.close)
        root = Path(tempfile.mkdtemp(prefix="lineage-", dir=_fast_folder()))
        stack.callback(shutil.rmtree, root, ignore_errors=True)
        kind, _, half = over.partition("-")
        stores = _databases(stack) if kind == "postgres" else None

        def opener(key: int) -> Handle:
            if kind == "memory":
                return Handle(make(savers.setdefault(key, InMemorySaver())), loop)
            if stores is not None:
                context = _postgres_saver(stores.place(key), half)
            else:
                context = _sqlite_saver(str(root / f"{key}.sqlite"), half)
            if half:
                saver = loop.run(context.__aenter__())
                close = lambda: loop.run(context.__aexit__(None, None, None)) and None  # noqa: E731
            else:
                saver = context.__enter__()
                close = lambda: context.__exit__(None, None, None) and None  # noqa: E731
            return Handle(make(saver), loop, close)

        judged = Stores(opener, lambda key: savers.pop(key, None) and None)
        stack.callback(judged.close)
        yield Judge(judged, profile)


def _sqlite_saver(path: str, half: str) -> Any:
    if half:
        from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

        return AsyncSqliteSaver.from_conn_string(path)
    from langgraph.checkpoint.sqlite import SqliteSaver

    return SqliteSaver.from_conn_string(path)


@contextmanager
def _postgres_sync(dsn: str) -> Iterator[Any]:
    from langgraph.checkpoint.postgres import PostgresSaver

    with PostgresSaver.from_conn_string(dsn) as saver:
        saver.setup()
        yield saver


@asynccontextmanager
async def _postgres_async(dsn: str) -> AsyncIterator[Any]:
    from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver

    async with AsyncPostgresSaver.from_conn_string(dsn) as saver:
        await saver.setup()
        yield saver


def _postgres_saver(dsn: str, half: str) -> Any:
    """The stock saver on a database, as a context manager of that half."""
    return _postgres_async(dsn) if half else _postgres_sync(dsn)


class _Databases:
    """One database per store."""

    def __init__(self, maker: Any) -> None:
        self.maker, self.made = maker, dict[int, str]()

    def place(self, key: int) -> str:
        if key not in self.made:
            self.made[key] = self.maker.create(f"kit{key}")
        return self.made[key]


def _databases(stack: ExitStack) -> _Databases:
    from pytest_lineage.postgres import StoreMaker, open_server

    server = open_server()
    stack.callback(server.close)
    return _Databases(stack.enter_context(StoreMaker(server.dsn)))


def judge_all(
    make: Make,
    face: Face = "sync",
    over: str = "memory",
    profile: str = "quick",
    kind: str = "rollback",
) -> dict[str, Outcome]:
    """Every applicable law of a kind on one face, in the order of the registry."""
    with bench(make, over, profile) as judge:
        return {item.id: judge.judge(item, face) for item in applicable(kind)}


def applicable(kind: str) -> list[Law]:
    """The laws of the kind that the installed versions allow."""
    return [item for item in laws.all_laws(kind) if item.not_applicable() is None]
