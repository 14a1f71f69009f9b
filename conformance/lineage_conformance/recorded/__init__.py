"""Recorded stores: conversations that old releases left half-way, to be finished by the installed one.

Beside this module lies, for each recorded release, a SQLite file, a PostgreSQL dump of plain INSERT statements, and a
JSON file with what that release itself saw at each stage. `record` makes them anew. The stories are those of the
handover; the first stage of each is recorded.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lineage_conformance import handover
from lineage_conformance.handles import Half, Handle

FOLDER = Path(__file__).parent
PREFIX = "recorded"
"""How the thread ids of recorded conversations begin."""

STORIES = ("interrupt", "fan-out-paused", "fan-out-failed", "nested-fan-out-failed", "stopped-step", "fork",
           "delta-channel", "subgraph", "subgraph-with-memory", "turns")  # fmt: skip


@dataclass(frozen=True)
class Recording:
    """What one release left."""

    id: str
    packages: dict[str, str]
    seen: dict[str, list[Any]]
    """By story what that release saw after each stage when it played all of them."""

    @property
    def sqlite(self) -> Path:
        """The SQLite file. Copy it before it is opened: a saver migrates what it opens."""
        return FOLDER / f"{self.id}.sqlite"

    @property
    def sql(self) -> Path:
        """The PostgreSQL dump."""
        return FOLDER / f"{self.id}.sql"

    def copy(self, folder: Path) -> Path:
        """A copy of the SQLite file in a folder."""
        return Path(shutil.copy(self.sqlite, folder / "checkpoints.sqlite"))

    def statements(self, prefix: str) -> list[str]:
        """The INSERT statements of the dump, with thread ids that begin with `prefix` (letters and digits)."""
        lines = self.sql.read_text(encoding="ascii").splitlines()
        return [
            line.replace(f"{PREFIX}-", f"{prefix}-") for line in lines if line.startswith("INSERT ")
        ]


def recordings() -> list[Recording]:
    """Every recording, oldest release first."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in FOLDER.glob("*.json")]
    made = [Recording(data["id"], data["packages"], data["seen"]) for data in found]
    return sorted(made, key=lambda recording: _release(recording.packages["langgraph"]))


def _release(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def finish(
    handle: Handle, half: Half, recording: Recording, prefix: str, own: str,
    beat: Callable[[int], None] = lambda step: None,
) -> dict[str, Any]:  # fmt: skip
    """Finish each recorded conversation on an open saver; by story ``kept``, or what was expected and what was got.

    `prefix` is how the thread ids of the recorded conversations begin, `own` how those begin that the installed
    release plays alone, for comparison: what either release sees alone is right.
    """
    found: dict[str, Any] = {}
    for id, old in recording.seen.items():
        story = handover.get(id)
        if any(isinstance(seen, str) for seen in old):
            found[id] = f"absent: {recording.id} could not play it"
            continue
        found[id] = "kept"
        handover.play(handle, half, story, 0, f"{own}-{id}", beat)
        for stage in range(1, len(story.stages)):
            alone = handover.play(handle, half, story, stage, f"{own}-{id}", beat)
            got = handover.play(handle, half, story, stage, f"{prefix}-{id}", beat)
            if got not in (alone, old[stage]):
                names = sorted(k for k in {*alone, *got} if alone.get(k) != got.get(k))
                found[id] = {"stage": stage + 1, "expected": {k: alone.get(k) for k in names},
                             "got": {k: got.get(k) for k in names}}  # fmt: skip
                break
    return found
