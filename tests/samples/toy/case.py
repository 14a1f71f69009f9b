"""What the laws of kind ``toy`` are checked on."""

from __future__ import annotations

from dataclasses import dataclass

from lineage_conformance.case import Case


@dataclass(frozen=True)
class Sums(Case, loose=("amounts",)):
    """Amounts that are added, one after the other."""

    amounts: tuple[int, ...]
