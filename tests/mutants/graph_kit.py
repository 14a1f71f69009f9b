"""How mutants of graph laws are declared: faulty savers, and faulty engines made by patching LangGraph.

A law about the engine cannot be broken by a saver. Its mutant patches one function of the installed LangGraph,
and the verdict must then be `engine`, because the strict reference shows the breach too.
"""

from __future__ import annotations

import contextlib
import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lineage_conformance import law as laws
from lineage_conformance.handles import Face, Handle, Loop
from lineage_conformance.judge import Judge
from lineage_conformance.law import Law, Verdict
from lineage_conformance.outcome import Outcome
from lineage_conformance.runner import Stores
from lineage_reference.saver import StrictSaver
from lineage_reference.space import Space


@dataclass(frozen=True)
class GraphMutant:
    """A faulty saver or engine, and the graph law that notices it."""

    name: str
    kills: str
    make: Callable[[Space], Any]
    face: Face
    patch: Callable[[], contextlib.AbstractContextManager[Any]] = contextlib.nullcontext

    @property
    def verdict(self) -> Verdict:
        """What the judge must say of it."""
        return Verdict.BROKEN if self.patch is contextlib.nullcontext else Verdict.ENGINE


MUTANTS: list[GraphMutant] = []

TODAY = (
    "graph_resume.retry-at-the-head-runs-once",
    "graph_resume.handled-errors-stay-handled",
    "graph_interrupts.a-repeated-answer-is-not-the-next",
    "graph_interrupts.another-answer-counts",
    "graph_subgraph.parent-update-keeps-progress",
    "graph_durability.writes-before-their-checkpoint",
    "graph_durability.no-checkpoint-without-its-writes",
    "graph_durability.uncommitted-step-is-next",
    "graph_interrupts.parallel-tasks-of-an-entrypoint-are-listed",
)
"""Laws that LangGraph 1.2.24 itself breaks: the engine of the day is their mutant."""


def saver(kills: str, face: Face = "sync") -> Callable[[Any], Any]:
    """Declare a subclass of `StrictSaver` (its docstring says what is wrong) as a mutant."""

    def wrap(cls: Any) -> Any:
        assert cls.__doc__
        MUTANTS.append(GraphMutant(cls.__name__, kills, cls, face))
        return cls

    return wrap


def engine(kills: str, face: Face = "sync") -> Callable[[Any], Any]:
    """Declare a context manager function that patches LangGraph as a mutant."""

    def wrap(function: Any) -> Any:
        assert function.__doc__
        made = contextlib.contextmanager(function)
        MUTANTS.append(GraphMutant(function.__name__, kills, StrictSaver, face, made))
        return function

    return wrap


def load() -> list[GraphMutant]:
    """Every mutant of the modules ``graph_*`` beside this one."""
    import tests.mutants as package

    for module in pkgutil.iter_modules(package.__path__):
        if module.name.startswith("graph_") and module.name != "graph_kit":
            importlib.import_module(f"tests.mutants.{module.name}")
    return MUTANTS


@contextlib.contextmanager
def judging(make: Callable[[Space], Any]) -> Any:
    """A judge of savers that `make` makes, with the strict saver as referee; stores can be reopened."""
    loop = Loop()

    def opener(key: int) -> Handle:
        return Handle(make(Space.named(f"graph-{id(loop)}-{key}")), loop)

    stores = Stores(opener, lambda key: Space.forget(f"graph-{id(loop)}-{key}"))
    try:
        yield Judge(stores, referee=lambda: StrictSaver(Space()))
    finally:
        stores.close()
        loop.close()


def judge(mutant: GraphMutant, law: Law) -> Outcome:
    """The verdict of one law on a mutant."""
    with mutant.patch(), judging(mutant.make) as judge:
        outcome: Outcome = judge.judge(law, mutant.face)
        return outcome


def graph_laws() -> list[Law]:
    """Every graph law, in their order."""
    return [law for law in laws.all_laws("saver") if law.referee]


class Reading(StrictSaver):
    """Changes what is read: a subclass says how."""

    def changed(self, key: Any, made: Any) -> Any:
        raise NotImplementedError

    def _load(self, key: Any, row: Any, writes: Any) -> Any:
        return self.changed(key, super()._load(key, row, writes))
