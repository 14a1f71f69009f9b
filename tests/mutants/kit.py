"""How a mutant is declared, and how all laws are run on one."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lineage_conformance import law as laws
from lineage_conformance.handles import Face, Handle, Loop
from lineage_conformance.judge import Judge, Outcome, Stores
from lineage_conformance.law import Law, Verdict
from lineage_reference.saver import StrictSaver
from lineage_reference.space import Space


@dataclass(frozen=True)
class Mutant:
    """A faulty saver: the law that notices it first, and laws that may break with it."""

    name: str
    kills: str
    make: Callable[[Space], Any]
    also: tuple[str, ...] = ()
    face: Face = "sync"


MUTANTS: list[Mutant] = []

OTHERS = ("answer", "branching", "delta_blobs", "delta_kit", "graph", "rollback", "transfer")
"""Modules with mutants of other kinds, or of graph laws: they have tests of their own."""


def mutant(kills: str, also: tuple[str, ...] = (), face: Face = "sync") -> Callable[[Any], Any]:
    """Declare a subclass of `StrictSaver` (its docstring says what is wrong) as a mutant."""

    def wrap(cls: Any) -> Any:
        assert cls.__doc__, f"{cls.__name__} does not say what is wrong with it"
        MUTANTS.append(Mutant(cls.__name__, kills, cls, also, face))
        return cls

    return wrap


def load() -> list[Mutant]:
    """Every mutant of every module beside this one."""
    import tests.mutants as package

    for module in pkgutil.iter_modules(package.__path__):
        if module.name != "kit" and not module.name.startswith(OTHERS):
            importlib.import_module(f"tests.mutants.{module.name}")
    return MUTANTS


def judge_all(make: Callable[[Space], Any], face: Face = "sync") -> dict[str, Outcome]:
    """Every applicable law about a saver alone (no graph), one face, quick profile, in their order."""
    loop = Loop()

    def opener(key: int) -> Handle:
        return Handle(make(Space.named(f"{id(loop)}-{key}")), loop)

    stores = Stores(opener, lambda key: Space.forget(f"{id(loop)}-{key}"))
    judge = Judge(stores)
    outcomes: dict[str, Outcome] = {}
    try:
        for item in laws.all_laws("saver"):
            if item.referee or item.not_applicable():
                continue
            if not item.faces or face in item.faces:
                outcomes[item.id] = judge.judge(item, face)
    finally:
        stores.close()
        loop.close()
    return outcomes


def broken(outcomes: dict[str, Outcome]) -> list[str]:
    """Ids of the broken laws, in order."""
    return [id for id, outcome in outcomes.items() if outcome.verdict is Verdict.BROKEN]


def roots(ids: list[str]) -> list[str]:
    """The broken laws that no other broken law explains."""
    return [id for id in ids if not set(laws.causes(laws.get(id))) & set(ids)]


__all__ = [
    "MUTANTS",
    "Law",
    "Mutant",
    "StrictSaver",
    "broken",
    "judge_all",
    "load",
    "mutant",
    "roots",
]
