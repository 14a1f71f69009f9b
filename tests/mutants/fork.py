"""Savers that mix up the children of one checkpoint."""

from __future__ import annotations

from typing import Any

from lineage_reference.space import Space
from tests.mutants.kit import StrictSaver, mutant


def depth(saver: StrictSaver, key: Any) -> int:
    """How many ancestors a checkpoint has."""
    return sum(1 for _ in saver.space.lineage(key)) - 1


class Aliasing(StrictSaver):
    """Stores the value of each channel once per `slot`: later values of a slot replace earlier ones."""

    def __init__(self, space: Space) -> None:
        super().__init__(space)
        self.blobs: dict[Any, Any] = vars(space).setdefault("blobs", {})
        self.slots: dict[Any, Any] = vars(space).setdefault("slots", {})

    def slot(self, key: Any, parent: str | None) -> Any:
        raise NotImplementedError

    def put(self, config, checkpoint, metadata, new_versions):
        made = super().put(config, checkpoint, metadata, new_versions)
        key = tuple(
            made["configurable"][k] for k in ("thread_id", "checkpoint_ns", "checkpoint_id")
        )
        parent = self.space.rows[key].parent
        slots = dict(self.slots.get((*key[:2], parent), {}))
        for channel in new_versions:
            slots[channel] = (*self.slot(key, parent), channel)
            if channel in checkpoint["channel_values"]:
                self.blobs[slots[channel]] = self._dump(checkpoint["channel_values"][channel])
        self.slots[key] = slots
        return made

    def _load(self, key, row, writes):
        made = super()._load(key, row, writes)
        values = made.checkpoint["channel_values"]
        for channel in values:
            slot = self.slots.get(key, {}).get(channel)
            if slot in self.blobs:
                values[channel] = self.serde.loads_typed(self.blobs[slot])
        return made


@mutant(kills="fork.parents")
class ParentIsTheNextOlder(StrictSaver):
    """Takes the next smaller id for the parent, whatever put was told."""

    def _load(self, key, row, writes):
        made = super()._load(key, row, writes)
        older = max((k for k in self.space.rows if k[:2] == key[:2] and k < key), default=None)
        if made.parent_config is not None and older is not None:
            made.parent_config["configurable"]["checkpoint_id"] = older[2]
        return made


@mutant(kills="fork.parents", also=("delete.spares-others",))
class RootsHaveAParent(StrictSaver):
    """Gives a root a parent_config without an id instead of None."""

    def _load(self, key, row, writes):
        made = super()._load(key, row, writes)
        if made.parent_config is not None:
            return made
        place = {"thread_id": key[0], "checkpoint_ns": key[1]}
        return made._replace(parent_config={"configurable": place})


@mutant(kills="fork.removes-nothing")
class ForkingTruncates(StrictSaver):
    """Removes all that is newer than the parent when a child is put under an older checkpoint."""

    def put(self, config, checkpoint, metadata, new_versions):
        place = config["configurable"]
        parent = place.get("checkpoint_id")
        for key in list(self.space.rows):
            newer = parent is not None and parent < key[2] < checkpoint["id"]
            if key[:2] == (place["thread_id"], place["checkpoint_ns"]) and newer:
                del self.space.rows[key]
        return super().put(config, checkpoint, metadata, new_versions)


@mutant(kills="fork.siblings-keep-their-values")
class VersionsAlias(Aliasing):
    """Stores values by channel and version without the random part, which siblings share."""

    def slot(self, key, parent):
        return (*key[:2], depth(self, key), parent)


@mutant(kills="fork.siblings-keep-their-writes")
class WritesOfSiblings(StrictSaver):
    """Shows a checkpoint the pending writes of its siblings too."""

    def _load(self, key, row, writes):
        made = super()._load(key, row, writes)
        for other, sibling in self.space.rows.items():
            if (
                other[:2] == key[:2]
                and other != key
                and row.parent
                and sibling.parent == row.parent
            ):
                for write in self.space.writes_of(other):
                    value = self.serde.loads_typed(write.value)
                    made.pending_writes.append((write.task_id, write.channel, value))
        return made


@mutant(kills="fork.siblings-keep-their-metadata")
class MetadataByStep(StrictSaver):
    """Stores metadata by parent and step, so that siblings share it."""

    def __init__(self, space: Space) -> None:
        super().__init__(space)
        self.described: dict[Any, Any] = vars(space).setdefault("described", {})

    def put(self, config, checkpoint, metadata, new_versions):
        made = super().put(config, checkpoint, metadata, new_versions)
        key = tuple(
            made["configurable"][k] for k in ("thread_id", "checkpoint_ns", "checkpoint_id")
        )
        row = self.space.rows[key]
        if row.parent is not None:
            self.described[(*key[:2], row.parent, metadata.get("step"))] = row.metadata
        return made

    def _metadata(self, row):
        return super()._metadata(row)

    def _load(self, key, row, writes):
        made = super()._load(key, row, writes)
        shared = self.described.get((*key[:2], row.parent, made.metadata.get("step")))
        if shared is not None:
            import json

            made = made._replace(metadata=json.loads(shared))
        return made


@mutant(kills="fork.branches-are-independent")
class CousinsAlias(Aliasing):
    """Stores values by channel and depth below the second step, so that cousins share them."""

    def slot(self, key, parent):
        level = depth(self, key)
        return (*key[:2], level, parent if level < 2 else "any") if level >= 2 else key
