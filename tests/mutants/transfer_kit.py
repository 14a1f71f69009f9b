"""How a mutant of a transfer backend is declared, and how all laws of the kind are run on one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver

from lineage_conformance import judge as judges
from lineage_conformance import law as laws
from lineage_conformance.handles import Face, Handle, Loop
from lineage_conformance.judge import Judge, Outcome, Stores
from lineage_conformance.law import Law
from tests.mutants.transfer_base import Book, Ledger

Make = Callable[..., Any]


@dataclass(frozen=True)
class Mutant:
    """A faulty backend: the law that notices it first, and laws that may break with it."""

    name: str
    kills: str
    make: Make
    also: tuple[str, ...] = ()
    face: Face = "sync"


MUTANTS: list[Mutant] = []


def mutant(kills: str, also: tuple[str, ...] = (), face: Face = "sync") -> Callable[[Any], Any]:
    """Declare a subclass of `Ledger` (its docstring says what is wrong) as a mutant."""

    def wrap(cls: Any) -> Any:
        assert cls.__doc__, f"{cls.__name__} does not say what is wrong with it"
        MUTANTS.append(Mutant(cls.__name__, kills, cls, also, face))
        return cls

    return wrap


@contextmanager
def bench(make: Make, profile: str = "quick") -> Iterator[Judge]:
    """A judge of a ledger. A store is a saver in memory and a book, which outlive their handles."""
    loop = Loop()
    held: dict[int, tuple[Any, Book]] = {}

    def opener(key: int) -> Handle:
        saver, book = held.setdefault(key, (InMemorySaver(), Book()))
        return Handle(make(saver, book), loop)

    stores = Stores(opener, lambda key: held.pop(key, None) and None)
    kept, judges.shrink = judges.shrink, lambda case, still: case  # whether it breaks is all we ask
    try:
        yield Judge(stores, profile)
    finally:
        judges.shrink = kept
        stores.close()
        loop.close()


def judge_all(make: Make, face: Face = "sync", profile: str = "quick") -> dict[str, Outcome]:
    """Every law of kind transfer on one face of a ledger, in the order of the registry."""
    with bench(make, profile) as judge:
        return {item.id: judge.judge(item, face) for item in applicable()}


def applicable() -> list[Law]:
    """The laws of the kind that the installed versions allow."""
    return [item for item in laws.all_laws("transfer") if item.not_applicable() is None]


__all__ = ["MUTANTS", "Ledger", "Mutant", "applicable", "bench", "judge_all", "mutant"]
