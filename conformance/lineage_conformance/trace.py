"""What one run of a case showed: where the target differed, what was compared, and what cut it short."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Diff:
    """One place where a target and what is right differ, and the operation that showed it."""

    op: int
    kind: str
    path: tuple[str, ...]
    expected: Any
    got: Any

    @property
    def where(self) -> str:
        """``get:metadata.step``, the text that a law's lens is matched against."""
        return f"{self.kind}:{'.'.join(self.path)}"


@dataclass
class Trace:
    """What one run of a case showed."""

    diffs: list[Diff] = field(default_factory=list)
    refused: list[tuple[int, str]] = field(default_factory=list)
    seen: Counter[str] = field(default_factory=Counter)
    """How often each field was compared, as ``get:metadata``: what could have differed."""
    cut: str = ""
    """What the target raised, so that the case could not be played to its end; empty: it could."""
    lacks: str = ""
    """What is not there, so that the case could not be played at all."""
