"""How a mutant is declared, and how all laws are run on one."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from lineage_conformance import law as laws
from lineage_conformance import needs
from lineage_conformance.handles import OPTIONAL, Face, Handle, Loop, capability, halves
from lineage_conformance.judge import Judge
from lineage_conformance.kinds.saver.program import Program
from lineage_conformance.kinds.saver.session import Declared
from lineage_conformance.law import Law, Verdict
from lineage_conformance.outcome import Outcome
from lineage_conformance.runner import Stores
from lineage_reference.saver import StrictSaver
from lineage_reference.space import Space
from pytest_lineage.run.causes import fold
from pytest_lineage.run.rows import Row


@dataclass(frozen=True)
class Mutant:
    """A faulty saver or backend: the law that notices it first, and laws that may break with it."""

    name: str
    kills: str
    make: Callable[..., Any]
    also: tuple[str, ...] = ()
    face: Face = "sync"
    unless: Callable[[], str | None] = lambda: None
    """Why the mutant is not wrong on what is installed; None if it is."""
    around: Callable[[], AbstractContextManager[Any]] = nullcontext
    """What is changed beside the saver, while laws are judged."""


class Registry(list[Mutant]):
    """The mutants of one kind of target; laws are named without `prefix`."""

    def __init__(self, prefix: str = "") -> None:
        super().__init__()
        self.prefix = prefix

    def mutant(
        self,
        kills: str,
        also: tuple[str, ...] = (),
        face: Face = "sync",
        unless: Callable[[], str | None] = lambda: None,
        around: Callable[[], AbstractContextManager[Any]] = nullcontext,
    ) -> Callable[[Any], Any]:
        """Declare a class, whose docstring says what is wrong with it, as a mutant."""

        def wrap(cls: Any) -> Any:
            assert cls.__doc__, f"{cls.__name__} does not say what is wrong with it"
            named = tuple(self.prefix + law for law in also)
            self.append(Mutant(cls.__name__, self.prefix + kills, cls, named, face, unless, around))
            return cls

        return wrap


MUTANTS = Registry()
mutant = MUTANTS.mutant

OTHERS = ("answer", "branching", "delta_blobs", "delta_kit", "graph", "rollback", "transfer")
"""Modules with mutants of other kinds, or of graph laws: they have tests of their own."""


def load() -> list[Mutant]:
    """Every mutant of every module beside this one."""
    import tests.mutants as package

    for module in pkgutil.iter_modules(package.__path__):
        if module.name != "kit" and not module.name.startswith(OTHERS):
            importlib.import_module(f"tests.mutants.{module.name}")
    return MUTANTS


def judge_all(
    make: Callable[[Space], Any], face: Face = "sync", declared: Declared | None = None
) -> dict[str, Outcome]:
    """Every applicable law about a saver alone (no graph), one face, quick profile, in their order."""
    limits = declared.limits.keys() if declared else set()

    def rules_out(law: Law, program: Program, face: Face) -> str | None:
        for operation in needs.operations(program) & missing.keys():
            if law.sees != f"{operation}:raises":
                return missing[operation]
        return next((f"declared limit {limit}" for limit in needs.limits(program) & limits), None)

    loop = Loop()

    def opener(key: int) -> Handle:
        return Handle(make(Space.named(f"{id(loop)}-{key}")), loop)

    stores = Stores(opener, lambda key: Space.forget(f"{id(loop)}-{key}"), declared)
    probed, half = opener(0), halves(face)[0]
    found = {operation: capability(probed, half, operation) for operation in OPTIONAL}
    missing = {operation: why for operation, why in found.items() if why is not None}
    judge = Judge(stores, rules_out=rules_out)
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
    """Ids of the laws that notice a fault, in order; it may be one that LangGraph's own saver has too."""
    found = (Verdict.BROKEN, Verdict.ENGINE)
    return [id for id, outcome in outcomes.items() if outcome.verdict in found]


def rows_of(outcomes: dict[str, Outcome], face: str) -> list[Row]:
    """The outcomes as rows of a report, consequences folded."""
    rows = []
    for id, outcome in outcomes.items():
        law = laws.get(id)
        row = Row(id, face, "mutant", law.level.value, outcome.verdict.value, law.group)
        row.evidence = outcome.evidence()
        rows.append(row)
    fold(rows)
    return rows


def roots(outcomes: dict[str, Outcome], face: str) -> list[str]:
    """The broken laws that stand for themselves."""
    return [
        row.law
        for row in rows_of(outcomes, face)
        if row.verdict in ("broken", "engine") and row.caused_by is None
    ]


def assert_killed(mutant: Mutant, broken: list[str]) -> None:
    """Its law breaks, and nothing breaks that has nothing to do with it."""
    kills = mutant.kills
    assert kills in broken, f"{kills} does not notice {mutant.name}; broken: {broken}"
    named = [id for id in broken if not set(laws.causes(laws.get(id))) & set(broken)]
    assert named[0] == kills, f"{named[0]} is the cause by what laws say; broken: {broken}"
    explained = {kills, *mutant.also}
    unrelated = [
        id
        for id in broken
        if id not in explained and not explained & set(laws.causes(laws.get(id)))
    ]
    assert not unrelated, f"{mutant.name} also breaks {unrelated}"


__all__ = [
    "MUTANTS",
    "Law",
    "Mutant",
    "Registry",
    "StrictSaver",
    "assert_killed",
    "broken",
    "judge_all",
    "load",
    "mutant",
    "roots",
    "rows_of",
]
