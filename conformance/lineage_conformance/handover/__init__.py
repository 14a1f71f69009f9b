"""Handover: threads that one stack leaves half-way and another finishes, on the same store.

A *story* is one conversation in stages. Each stage is played by one stack, in its own process, on a saver that is
opened anew. The upgrade plays the first stage on the old stack and the rest on the new one; the rollback of the
upgrade the other way round; a rolling deploy takes turns. What is seen at the end must be what either stack makes
of the whole story on its own.
"""

from __future__ import annotations

from lineage_conformance.handover.play import play
from lineage_conformance.handover.stories import STORIES, Story, get

PLANS = {
    "old": ("old",),
    "new": ("new",),
    "old -> new": ("old", "new"),
    "new -> old": ("new", "old"),
    "old and new in turns": ("old", "new", "old", "new"),
}
"""Who plays which stage; the last one plays the rest. The first two are what the others are compared with."""


def player(plan: str, stage: int) -> str:
    """Which side, ``old`` or ``new``, plays stage number `stage` (from 0) of a plan."""
    sides = PLANS[plan]
    return sides[stage % len(sides)] if len(sides) > 2 else sides[min(stage, len(sides) - 1)]


__all__ = ["PLANS", "STORIES", "Story", "get", "play", "player"]
