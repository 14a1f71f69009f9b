"""Savers that store or return a checkpoint wrongly."""

from __future__ import annotations

import copy
from typing import Any

from lineage_reference.space import Space
from tests.mutants.kit import StrictSaver, mutant


@mutant(kills="put.is-readable")
class ForgetsEverything(StrictSaver):
    """Accepts a checkpoint and stores nothing."""

    def put(self, config, checkpoint, metadata, new_versions):
        place = config["configurable"]
        return {"configurable": {**place, "checkpoint_id": checkpoint["id"]}}


@mutant(kills="put.is-readable")
class ListIsEmpty(StrictSaver):
    """Finds checkpoints one by one but never lists any."""

    def list(self, config, **options):
        return iter(())


@mutant(kills="put.returns-its-config", also=("fork.parents",))
class ReturnsTheParent(StrictSaver):
    """Returns the config that it was given, so the id in it is that of the parent."""

    def put(self, config, checkpoint, metadata, new_versions):
        super().put(config, checkpoint, metadata, new_versions)
        return config


@mutant(kills="put.config-is-accepted-everywhere")
class ReturnsMore(StrictSaver):
    """Adds a key to the config that it returns, and does not understand a config with that key."""

    def put(self, config, checkpoint, metadata, new_versions):
        made = super().put(config, checkpoint, metadata, new_versions)
        return {"configurable": {**made["configurable"], "etag": "1"}}

    def put_writes(self, config, writes, task_id, task_path=""):
        if "etag" not in config["configurable"]:
            super().put_writes(config, writes, task_id, task_path)


@mutant(kills="put.keeps-every-field")
class DropsVersionsSeen(StrictSaver):
    """Returns versions_seen without the entries of nodes."""

    def _load(self, key, row, writes):
        made = super()._load(key, row, writes)
        seen = made.checkpoint["versions_seen"]
        made.checkpoint["versions_seen"] = {k: v for k, v in seen.items() if k.startswith("__")}
        return made


@mutant(kills="put.twice-is-once")
class InsertsOnly(StrictSaver):
    """Refuses an id that it has, as a plain INSERT does."""

    def put(self, config, checkpoint, metadata, new_versions):
        place = config["configurable"]
        if (place["thread_id"], place["checkpoint_ns"], checkpoint["id"]) in self.space.rows:
            raise ValueError("duplicate key")
        return super().put(config, checkpoint, metadata, new_versions)


@mutant(kills="put.twice-is-once")
class KeepsTheOldMetadata(StrictSaver):
    """Ignores a second put of an id, as INSERT OR IGNORE does."""

    def put(self, config, checkpoint, metadata, new_versions):
        place = config["configurable"]
        key = (place["thread_id"], place["checkpoint_ns"], checkpoint["id"])
        old = self.space.rows.get(key)
        made = super().put(config, checkpoint, metadata, new_versions)
        if old is not None:
            self.space.rows[key] = old
        return made


@mutant(kills="put.leaves-arguments-alone")
class PopsTheValues(StrictSaver):
    """Takes the values out of the caller's checkpoint to store them apart."""

    def put(self, config, checkpoint, metadata, new_versions):
        made = super().put(config, checkpoint, metadata, new_versions)
        checkpoint.pop("channel_values")
        return made


@mutant(kills="put.leaves-arguments-alone")
class FillsTheMetadata(StrictSaver):
    """Merges the scalars of the config into the caller's own metadata."""

    def put(self, config, checkpoint, metadata, new_versions):
        made = super().put(config, checkpoint, metadata, new_versions)
        metadata.update({k: v for k, v in config.get("metadata", {}).items() if k not in metadata})
        return made


def _texts(value: Any) -> bool:
    return type(value) is list and all(type(item) is str for item in value)


@mutant(kills="put.is-isolated-from-caller")
class KeepsTheObjects(StrictSaver):
    """Keeps the caller's value objects and copies them only when they are read."""

    def __init__(self, space: Space) -> None:
        super().__init__(space)
        self.live: dict[Any, Any] = vars(space).setdefault("live", {})

    def put(self, config, checkpoint, metadata, new_versions):
        place = config["configurable"]
        key = (place["thread_id"], place["checkpoint_ns"], checkpoint["id"])
        self.live[key] = dict(checkpoint["channel_values"])
        return super().put(config, checkpoint, metadata, new_versions)

    def _load(self, key, row, writes):
        made = super()._load(key, row, writes)
        values = made.checkpoint["channel_values"]
        live = self.live.get(key, {})
        values.update(
            {k: copy.deepcopy(live[k]) for k, v in values.items() if k in live and _texts(v)}
        )
        return made


@mutant(kills="put.read-is-isolated")
class CachesWhatItReturned(StrictSaver):
    """Hands the same tuple to every reader of a checkpoint until something is written."""

    def __init__(self, space: Space) -> None:
        super().__init__(space)
        self.cache: dict[str, Any] = vars(space).setdefault("cache", {})

    def put(self, config, checkpoint, metadata, new_versions):
        self.cache.clear()
        return super().put(config, checkpoint, metadata, new_versions)

    def put_writes(self, config, writes, task_id, task_path=""):
        self.cache.clear()
        super().put_writes(config, writes, task_id, task_path)

    def get_tuple(self, config):
        place = repr(config)
        if place not in self.cache:
            self.cache[place] = super().get_tuple(config)
        return self.cache[place]

    def delete_thread(self, thread_id):
        self.cache.clear()
        super().delete_thread(thread_id)
