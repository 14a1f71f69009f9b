"""In which order laws are judged, and what each costs: a run with a time limit tries the most telling first."""

from __future__ import annotations

from collections.abc import Sequence

from lineage_conformance.law import Law, Level, Stake, causes
from pytest_lineage.run.rows import Row

GRAPH = {"quick": 40.0, "default": 8.0, "deep": 8.0}
"""What a law that runs whole graphs costs, where one that plays programs costs 1; measured on InMemorySaver."""

SIMPLE = 5
"""On how many laws a simple one rests at most. Their programs are the smallest, so they take little time."""

_LEVELS, _STAKES = list(Level), list(Stake)


def cost(item: Law, profile: str) -> float:
    """What judging a law on one face takes, relative to others."""
    return GRAPH.get(profile, 1.0) if item.referee else 1.0


def order(chosen: Sequence[Law], faces: Sequence[str], hurry: bool) -> list[tuple[Law, str]]:
    """Laws and faces as they are judged. In a hurry: MUST first, of these the simple ones, which others rest on and
    by which a larger program that fails is named; then the worst that can happen first, cheap before dear.

    Else in the order of the laws, causes before consequences.
    """
    pairs = [(item, face) for item in chosen for face in faces]
    if hurry:
        pairs.sort(
            key=lambda pair: (
                _LEVELS.index(pair[0].level),
                "->" in pair[1],
                pair[0].referee,
                len(list(causes(pair[0]))) > SIMPLE,
                _STAKES.index(pair[0].stake),
            )
        )
    return pairs


def sort(rows: list[Row], chosen: Sequence[Law], faces: Sequence[str]) -> None:
    """Put rows into the order of the laws, however they were judged."""
    laws = {item.id: number for number, item in enumerate(chosen)}
    rows.sort(key=lambda row: (laws[row.law], faces.index(row.face)))
