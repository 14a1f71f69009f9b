"""What ended workers, so that a run does not wait for the same hang again and again."""

from __future__ import annotations

import json
from collections import Counter

from lineage_conformance.law import Law
from pytest_lineage.run.supervisor import Ended

MOST = 3
"""Laws that may end a worker in one operation on one face, until laws that need it are left out there."""

SECONDS = 60.0
"""Time that ended workers may cost; after that, one ended worker is enough, and for every face."""


class Endings:
    """Counts ended workers by operation, or for laws that play no programs by group."""

    def __init__(self) -> None:
        self._count: Counter[tuple[str, str]] = Counter()
        self.lost = 0.0
        """Seconds that were waited for workers that ended, and for those that came after them."""

    def note(self, item: Law, face: str, ended: Ended) -> None:
        """One more worker ended while it judged a law."""
        self._count[doing(item, ended), face] += 1

    def new(self, item: Law, ended: Ended | None) -> bool:
        """Whether nothing ended there before, on no face."""
        return ended is not None and not any(what == doing(item, ended) for what, _ in self._count)

    def avoided(self, item: Law, face: str) -> list[str]:
        """Operations (or groups) that are not to be tried any more on a face."""
        late = self.lost >= SECONDS
        return sorted(
            {what for (what, on), n in self._count.items() if late or (on == face and n >= MOST)}
        )


def doing(item: Law, ended: Ended) -> str:
    """The operation in which a worker ended, or the group of a law that plays no programs."""
    try:
        ops = json.loads(ended.beat.text)["ops"]
        if item.check is None and ops:
            return str(ops[min(ended.beat.op, len(ops) - 1)]["op"])
    except (ValueError, KeyError, TypeError):
        pass
    return item.group
