"""What a judge says about one law on one face, with its evidence."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from lineage_conformance.law import Verdict
from lineage_conformance.trace import Diff
from lineage_conformance.witness import Witness, shown


@dataclass
class Outcome:
    """The verdict of one law on one face, with its evidence when it is broken."""

    verdict: Verdict
    reason: str = ""
    witnesses: list[Witness] = field(default_factory=list)
    """Distinct smallest counterexamples, the one that is shown first."""
    shows: tuple[str, ...] = ()
    """Other broken laws that every counterexample breaks too, at the same or an earlier step, nearest first."""
    recorded: dict[str, Any] | None = None
    """What the engine called in the smallest scenario, as a program, and the laws that it breaks."""
    examples: int = 0
    seconds: float = 0.0
    replays: int = 0
    refused: int = 0
    """Operations that the saver refused loudly, as it may."""
    observations: int = 0
    """Comparisons that are about this law: each of them could have broken it."""

    @property
    def program(self) -> Any:
        """The smallest case that shows the breach; None if there is none."""
        return self.witnesses[0].case if self.witnesses else None

    @property
    def diffs(self) -> list[Diff]:
        """What differs in it."""
        return self.witnesses[0].diffs if self.witnesses else []

    def evidence(self) -> dict[str, Any] | None:
        """The evidence as JSON data."""
        if not self.witnesses:
            return None
        first = self.witnesses[0]
        return {
            "program": first.case.to_json(),
            "differences": [shown(diff) for diff in first.diffs[:20]],
            "witnesses": [witness.to_json() for witness in self.witnesses],
            **({"shows": list(self.shows)} if self.shows else {}),
            **({"recorded": self.recorded} if self.recorded else {}),
        }
