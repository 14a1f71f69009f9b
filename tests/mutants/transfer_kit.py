"""How a mutant of a transfer backend is declared, and how all laws of the kind are run on one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver

from lineage_conformance import judge as judges
from lineage_conformance import law as laws
from lineage_conformance.handles import Face, Handle, Loop
from lineage_conformance.judge import Judge
from lineage_conformance.law import Law
from lineage_conformance.outcome import Outcome
from lineage_conformance.runner import Stores
from tests.mutants.kit import Registry
from tests.mutants.transfer_base import Ledger
from tests.mutants.transfer_book import Book

Make = Callable[..., Any]


MUTANTS = Registry()
mutant = MUTANTS.mutant
"""Declares a subclass of `Ledger`."""


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


__all__ = ["MUTANTS", "Ledger", "applicable", "bench", "judge_all", "mutant"]
