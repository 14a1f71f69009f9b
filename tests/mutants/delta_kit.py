"""How a faulty blob backend is declared, and how all laws of kind delta are run on one."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lineage_conformance import law as laws
from lineage_conformance.handles import Face, Handle, Loop
from lineage_conformance.judge import Judge
from lineage_conformance.outcome import Outcome
from lineage_conformance.runner import Stores
from lineage_reference.delta.backend import Backend
from lineage_reference.delta.recorder import Recorder
from lineage_reference.delta.stores_sqlite import SqliteStore
from lineage_reference.saver import StrictSaver
from lineage_reference.space import Space
from tests.mutants.kit import Registry


class Good(Backend):
    """The reference over an SQLite file; mutants put a faulty part in the place of one of its own."""

    Store: Any = SqliteStore
    Recorder: Any = Recorder
    encoding = "splice"

    def __init__(self, inner: Any, path: Path) -> None:
        store = self.Store(path)
        super().__init__(inner, store, store, encoding=self.encoding)
        self.recorder = self.Recorder(self.store, self.serde, self.encoding)

    def close(self) -> None:
        self.owner.close()


MUTANTS = Registry("delta_blobs.")
mutant = MUTANTS.mutant
"""Declares a subclass of `Good`."""


def judge_all(
    make: Callable[[Any, Path], Any], face: Face = "sync", profile: str = "quick"
) -> dict[str, Outcome]:
    """Every applicable law of kind delta on one face, in the order of the registry."""
    loop = Loop()
    folder = Path(tempfile.mkdtemp(prefix="delta-"))

    def opener(key: int) -> Handle:
        name = f"{id(loop)}-{key}"
        made = make(StrictSaver(Space.named(name)), folder / f"{key}.sqlite")
        return Handle(made, loop, made.close)

    stores = Stores(opener, lambda key: Space.forget(f"{id(loop)}-{key}"))
    judge = Judge(stores, profile)
    outcomes: dict[str, Outcome] = {}
    try:
        for item in laws.all_laws("delta"):
            if item.not_applicable() is None:
                outcomes[item.id] = judge.judge(item, face)
    finally:
        stores.close()
        loop.close()
        shutil.rmtree(folder, ignore_errors=True)
    return outcomes
