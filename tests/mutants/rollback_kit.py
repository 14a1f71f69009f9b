"""How a mutant of the turn runner is declared, and how all laws of the kind are run on one."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver

from lineage_conformance import law as laws
from lineage_conformance.handles import Face, Handle, Loop
from lineage_conformance.judge import Judge, Outcome, Stores
from lineage_conformance.law import Law
from pytest_lineage.run.opening import _fast_folder

Make = Callable[[Any], Any]


@dataclass(frozen=True)
class Mutant:
    """A faulty runner: the law that notices it first, and laws that may break with it."""

    name: str
    kills: str
    make: Make
    also: tuple[str, ...] = ()
    face: Face = "sync"
    unless: Callable[[], str | None] = lambda: None
    """Why the mutant is not wrong on the installed engine; None if it is."""


MUTANTS: list[Mutant] = []


def mutant(
    kills: str,
    also: tuple[str, ...] = (),
    face: Face = "sync",
    unless: Callable[[], str | None] = lambda: None,
) -> Callable[[Any], Any]:
    """Declare a subclass of `Turns` (its docstring says what is wrong) as a mutant."""

    def wrap(cls: Any) -> Any:
        assert cls.__doc__, f"{cls.__name__} does not say what is wrong with it"
        MUTANTS.append(Mutant(cls.__name__, kills, cls, also, face, unless))
        return cls

    return wrap


@contextmanager
def bench(make: Make, over: str = "memory", profile: str = "quick") -> Iterator[Judge]:
    """A judge of one backend. A store is a saver in memory that outlives its handles, or a database."""
    loop, root = Loop(), Path(tempfile.mkdtemp(prefix="lineage-", dir=_fast_folder()))
    savers: dict[int, Any] = {}

    def opener(key: int) -> Handle:
        if over == "memory":
            return Handle(make(savers.setdefault(key, InMemorySaver())), loop)
        path = str(root / f"{key}.sqlite")
        if over == "sqlite":
            from langgraph.checkpoint.sqlite import SqliteSaver

            sync = SqliteSaver.from_conn_string(path)
            return Handle(
                make(sync.__enter__()), loop, lambda: sync.__exit__(None, None, None) and None
            )
        from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

        context = AsyncSqliteSaver.from_conn_string(path)
        backend = make(loop.run(context.__aenter__()))
        return Handle(backend, loop, lambda: loop.run(context.__aexit__(None, None, None)) and None)

    stores = Stores(opener, lambda key: savers.pop(key, None) and None)
    try:
        yield Judge(stores, profile)
    finally:
        stores.close()
        loop.close()
        shutil.rmtree(root, ignore_errors=True)


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
