"""Compares what blobs rebuild with what full checkpoints hold, on live data, and proves threads."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from lineage_reference.delta.edits import fit
from lineage_reference.delta.wrapper import DeltaSaver


@dataclass
class Verified:
    """What `verify` found of a thread."""

    thread_id: str
    checkpoints: int = 0
    rebuilt: int = 0
    """Checkpoints whose lists came back from blobs exactly."""
    unknown: int = 0
    """Checkpoints without blobs, put while the flag was off or after a failure."""
    different: list[str] = field(default_factory=list)
    """``checkpoint id/channel`` where the blobs say something else, or less."""
    head: bool = False
    """Whether the newest checkpoint of every namespace was rebuilt."""
    blobs: int = 0
    blob_bytes: int = 0
    full_bytes: int = 0
    """What the same lists take when every checkpoint holds them whole."""

    @property
    def proved(self) -> bool:
        """Whether read mode may begin: nothing differs, and the next step can go on from a head we know."""
        return self.checkpoints > 0 and not self.different and self.head


class Verifier:
    """Verifies one thread of a `DeltaSaver` that has full checkpoints."""

    def __init__(self, saver: DeltaSaver) -> None:
        self.saver, self.plain = saver, saver.recorder.plain

    def look(self, thread_id: str, rows: Iterable[Any]) -> Verified:
        """Compare the checkpoints in `rows`, newest first as `list` gives them, and remember the result."""
        found = Verified(thread_id)
        heads: dict[str, bool] = {}
        for row in rows:
            found.checkpoints += 1
            known = self._compare(row, found)
            heads.setdefault(row.config["configurable"].get("checkpoint_ns") or "", known)
        found.head = all(heads.values())
        for blob in self.saver.blobs(thread_id):
            found.blobs += 1
            found.blob_bytes += blob.size
        self.saver.store.prove(thread_id, found.proved)
        return found

    def _compare(self, row: Any, found: Verified) -> bool:
        values = row.checkpoint["channel_values"]
        versions = row.checkpoint["channel_versions"]
        full = {c: v for c, v in values.items() if c in versions and fit(v)}
        # Read what the inner saver holds itself: a marker is not a list, so such a row proves nothing anew.
        try:
            rebuilt = self.saver.rebuild(row.config)
        except Exception:
            rebuilt = {}
        if rebuilt is None:
            found.unknown += 1
            return False
        wrong = False
        for channel, value in full.items():
            data = self.plain.dump(value)
            found.full_bytes += len(data)
            if channel not in rebuilt or self.plain.dump(rebuilt[channel]) != data:
                wrong = True
                found.different.append(f"{row.checkpoint['id']}/{channel}")
        found.rebuilt += not wrong
        return not wrong


def verify(saver: DeltaSaver, thread_id: str) -> Verified:
    """Verify every checkpoint of a thread. The thread counts as proved when the answer says so."""
    rows = saver.inner.list({"configurable": {"thread_id": thread_id}})
    return Verifier(saver).look(str(thread_id), rows)


async def averify(saver: DeltaSaver, thread_id: str) -> Verified:
    """As `verify`."""
    rows = [row async for row in saver.inner.alist({"configurable": {"thread_id": thread_id}})]
    return await asyncio.to_thread(Verifier(saver).look, str(thread_id), rows)
