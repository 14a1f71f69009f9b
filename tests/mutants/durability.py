"""Savers that keep to themselves what belongs into the store."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lineage_reference.saver import Space
from tests.mutants.kit import StrictSaver, mutant


@mutant(kills="durability.checkpoints-survive")
class StoresNothing(StrictSaver):
    """Everything stays in the memory of one handle."""

    def __init__(self, space: Space) -> None:
        super().__init__(Space())


@mutant(kills="durability.metadata-survives")
class ForgetsMetadata(StrictSaver):
    """Metadata beyond source and step is kept in the handle only."""

    def __init__(self, space: Space) -> None:
        super().__init__(space)
        self.known: set[Any] = set()

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        result = super().put(config, checkpoint, metadata, new_versions)
        self.known.add(checkpoint["id"])
        return result

    def _load(self, key: Any, row: Any, writes: Any) -> Any:
        found = super()._load(key, row, writes)
        return found if key[2] in self.known else found._replace(metadata={})


@mutant(kills="durability.writes-survive")
class BuffersWrites(StrictSaver):
    """Pending writes stay in the memory of one handle."""

    def __init__(self, space: Space) -> None:
        own = Space()
        own.rows, own.lock = space.rows, space.lock
        super().__init__(own)


@mutant(kills="durability.deletion-survives")
class DeletesUntilRestart(StrictSaver):
    """A deleted thread comes back when the store is opened again."""

    def __init__(self, space: Any) -> None:
        super().__init__(space)
        for key, row in space.__dict__.pop("trash", {}).items():
            space.rows.setdefault(key, row)

    def delete_thread(self, thread_id: str) -> None:
        gone = {key: row for key, row in self.space.rows.items() if key[0] == thread_id}
        self.space.__dict__.setdefault("trash", {}).update(gone)
        super().delete_thread(thread_id)


class Caching(StrictSaver):
    """Knows rows or writes that were there when it was opened, and its own since."""

    rows_too = True

    def __init__(self, space: Space) -> None:
        mine = Space()
        mine.lock, mine.rows = space.lock, dict(space.rows) if self.rows_too else space.rows
        mine.writes = {key: dict(slots) for key, slots in space.writes.items()}
        super().__init__(mine)
        self.shared = space

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        result = super().put(config, checkpoint, metadata, new_versions)
        conf = result["configurable"]
        key = (conf["thread_id"], conf["checkpoint_ns"], conf["checkpoint_id"])
        self.shared.rows[key] = self.space.rows[key]
        return result

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        super().put_writes(config, writes, task_id, task_path)
        StrictSaver(self.shared).put_writes(config, writes, task_id, task_path)


@mutant(kills="durability.others-see-checkpoints")
class CachesRows(Caching):
    """A handle never looks again at what others have put."""

    def delete_thread(self, thread_id: str) -> None:
        super().delete_thread(thread_id)
        self.shared.drop_threads([thread_id])


@mutant(kills="durability.others-see-writes")
class CachesWrites(StrictSaver):
    """A handle sees writes of others only after it was opened again."""

    def __init__(self, space: Any) -> None:
        super().__init__(space)
        space.__dict__["opened"] = space.__dict__.get("opened", 0) + 1
        self.me = space.__dict__["opened"]

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        super().put_writes(config, writes, task_id, task_path)
        self.space.__dict__.setdefault("by", {})[task_id, config["configurable"]["checkpoint_id"]] = self.me

    def _load(self, key: Any, row: Any, writes: Any) -> Any:
        by = self.space.__dict__.get("by", {})
        open_then = [w for w in writes if by.get((w.task_id, key[2]), 0) in (self.me, 0) or self._later(by, w, key)]
        return super()._load(key, row, open_then)

    def _later(self, by: Any, write: Any, key: Any) -> bool:
        return bool(by[write.task_id, key[2]] < self.me and self.me > 1 and not self._was_open(by, write, key))

    def _was_open(self, by: Any, write: Any, key: Any) -> bool:
        return False


@mutant(kills="durability.handles-agree-on-latest")
class RemembersTheHead(StrictSaver):
    """A handle that has put a checkpoint takes its own newest one for the head."""

    def __init__(self, space: Space) -> None:
        super().__init__(space)
        self.heads: dict[Any, str] = {}

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        result = super().put(config, checkpoint, metadata, new_versions)
        place = (result["configurable"]["thread_id"], result["configurable"]["checkpoint_ns"])
        self.heads[place] = max(checkpoint["id"], self.heads.get(place, ""))
        return result

    def _find(self, config: Any) -> Any:
        conf = config["configurable"]
        place = (conf["thread_id"], conf.get("checkpoint_ns") or "")
        key = (*place, self.heads.get(place, ""))
        return key if not conf.get("checkpoint_id") and key in self.space.rows else super()._find(config)


@mutant(kills="durability.two-writers-of-one-head")
class OneChildForEachHead(StrictSaver):
    """A child that another handle puts replaces the one that is there."""

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        result = super().put(config, checkpoint, metadata, new_versions)
        conf = result["configurable"]
        mine = (conf["thread_id"], conf["checkpoint_ns"], conf["checkpoint_id"])
        owners = self.space.__dict__.setdefault("owners", {})
        owners[mine] = id(self)
        for key, row in list(self.space.rows.items()):
            sibling = key[:2] == mine[:2] and row.parent is not None
            if sibling and row.parent == self.space.rows[mine].parent and owners.get(key) != id(self):
                del self.space.rows[key]
        return result


@mutant(kills="durability.others-see-deletion")
class RemembersWhatItRead(StrictSaver):
    """A handle goes on answering from rows that it has read, until it deletes them itself."""

    def __init__(self, space: Space) -> None:
        super().__init__(space)
        self.read: dict[Any, Any] = {}

    def get_tuple(self, config: Any) -> Any:
        found = super().get_tuple(config)
        conf = config["configurable"]
        place = (conf["thread_id"], conf.get("checkpoint_ns") or "")
        if found is None and not conf.get("checkpoint_id"):
            return self.read.get(place)
        self.read[place] = found
        return found

    def delete_thread(self, thread_id: str) -> None:
        super().delete_thread(thread_id)
        self.read = {place: found for place, found in self.read.items() if place[0] != thread_id}


__all__ = ["replace"]
