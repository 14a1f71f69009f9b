"""How a mutant of the branching backend is declared, and how all laws of the kind are run on one."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from langgraph.checkpoint.sqlite import SqliteSaver

from lineage_conformance import judge as judges
from lineage_conformance import law as laws
from lineage_conformance.handles import Face, Handle, Loop
from lineage_conformance.judge import Judge
from lineage_conformance.law import Law
from lineage_conformance.outcome import Outcome
from lineage_conformance.runner import Stores
from lineage_reference.branching import BranchingBackend, sqlite_engine
from lineage_reference.saver import StrictSaver
from lineage_reference.space import Space
from pytest_lineage.run.opening import _fast_folder
from tests.mutants.kit import Registry

Make = Callable[..., Any]


MUTANTS = Registry()
mutant = MUTANTS.mutant
"""Declares a subclass of `BranchingBackend`."""


@contextmanager
def bench(make: Make, over: str = "strict", profile: str = "quick") -> Iterator[Judge]:
    """A judge of one backend, each store a directory with a database of its own."""
    loop, root = Loop(), Path(tempfile.mkdtemp(prefix="lineage-", dir=_fast_folder()))

    def opener(key: int) -> Handle:
        folder = root / str(key)
        folder.mkdir(exist_ok=True)
        engine = sqlite_engine(str(folder / "branches.sqlite"))
        if over == "sqlite":
            context = SqliteSaver.from_conn_string(str(folder / "checkpoints.sqlite"))
            backend = make(context.__enter__(), engine)
            return Handle(
                backend, loop, lambda: (context.__exit__(None, None, None), engine.dispose())[0]
            )
        return Handle(make(StrictSaver(Space.named(str(folder))), engine), loop, engine.dispose)

    stores = Stores(opener, lambda key: Space.forget(str(root / str(key))))
    kept, judges.shrink = judges.shrink, lambda case, still: case  # whether it breaks is all we ask
    try:
        yield Judge(stores, profile)
    finally:
        judges.shrink = kept
        stores.close()
        loop.close()
        shutil.rmtree(root, ignore_errors=True)


def judge_all(
    make: Make, face: Face = "sync", over: str = "strict", profile: str = "quick"
) -> dict[str, Outcome]:
    """Every applicable law of kind branching on one face, in the order of the registry."""
    with bench(make, over, profile) as judge:
        return {item.id: judge.judge(item, face) for item in applicable()}


def applicable() -> list[Law]:
    """The laws of the kind that the installed versions allow."""
    return [item for item in laws.all_laws("branching") if item.not_applicable() is None]


__all__ = ["MUTANTS", "BranchingBackend", "applicable", "bench", "judge_all", "mutant"]
