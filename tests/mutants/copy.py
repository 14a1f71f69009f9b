"""Savers that copy half a thread, or tie the copy to its source."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.mutants.kit import StrictSaver, mutant


@mutant(kills="copy.complete")
class CopiesTheRootOnly(StrictSaver):
    """copy_thread forgets the namespaces of subgraphs."""

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        super().copy_thread(source_thread_id, target_thread_id)
        for held in (self.space.rows, self.space.writes):
            for key in [key for key in held if key[0] == target_thread_id and key[1]]:
                del held[key]  # type: ignore[attr-defined]


@mutant(kills="copy.keeps-writes")
class CopiesNoWrites(StrictSaver):
    """copy_thread copies checkpoints without their writes."""

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        super().copy_thread(source_thread_id, target_thread_id)
        for key in [key for key in self.space.writes if key[0] == target_thread_id]:
            del self.space.writes[key]


@mutant(kills="copy.keeps-parents")
class CopiesOrphans(StrictSaver):
    """The checkpoints of a copy have no parents."""

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        super().copy_thread(source_thread_id, target_thread_id)
        for key, row in self.space.rows.items():
            if key[0] == target_thread_id:
                self.space.rows[key] = replace(row, parent=None)


@mutant(kills="copy.keeps-delta-history")
class LeavesTheDeltaIndex(StrictSaver):
    """Delta histories are read from an index that copy_thread does not copy."""

    def get_delta_channel_history(self, *, config: Any, channels: Any) -> Any:
        if config["configurable"]["thread_id"].endswith("copy"):
            return {channel: {"writes": []} for channel in channels}
        return super().get_delta_channel_history(config=config, channels=channels)


@mutant(kills="copy.leaves-source")
class Moves(StrictSaver):
    """copy_thread moves."""

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        super().copy_thread(source_thread_id, target_thread_id)
        self.space.drop_threads([source_thread_id])


@mutant(kills="copy.is-independent")
class SharesWrites(StrictSaver):
    """The copy shares its lists of writes with the source."""

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        super().copy_thread(source_thread_id, target_thread_id)
        for key in [key for key in self.space.writes if key[0] == source_thread_id]:
            self.space.writes[target_thread_id, key[1], key[2]] = self.space.writes[key]


@mutant(kills="copy.outlives-source")
class DeletesCopiesToo(StrictSaver):
    """Deleting a thread deletes its copies."""

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        super().copy_thread(source_thread_id, target_thread_id)
        self.copied = {source_thread_id: target_thread_id}

    def delete_thread(self, thread_id: str) -> None:
        super().delete_thread(thread_id)
        super().delete_thread(getattr(self, "copied", {}).get(thread_id, ""))
