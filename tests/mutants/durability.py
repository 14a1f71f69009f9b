"""Savers that keep to themselves what belongs into the store."""

from __future__ import annotations

from typing import Any

from lineage_reference.space import Space
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
        super().__init__(space)
        self.mine: set[tuple[str, str]] = set()

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        super().put_writes(config, writes, task_id, task_path)
        self.mine.add((task_id, config["configurable"]["checkpoint_id"]))

    def _load(self, key: Any, row: Any, writes: Any) -> Any:
        return super()._load(key, row, [w for w in writes if (w.task_id, key[2]) in self.mine])


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


@mutant(kills="durability.others-see-checkpoints")
class CachesTheStore(StrictSaver):
    """A handle never looks again at what others store once it is open."""

    def __init__(self, space: Space) -> None:
        mine = Space()
        mine.rows = dict(space.rows)
        mine.writes = {key: dict(slots) for key, slots in space.writes.items()}
        super().__init__(mine)
        self.behind = StrictSaver(space)

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        self.behind.put(config, checkpoint, metadata, new_versions)
        return super().put(config, checkpoint, metadata, new_versions)

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        self.behind.put_writes(config, writes, task_id, task_path)
        super().put_writes(config, writes, task_id, task_path)

    def delete_thread(self, thread_id: str) -> None:
        self.behind.delete_thread(thread_id)
        super().delete_thread(thread_id)


@mutant(kills="durability.others-see-writes")
class CommitsWritesLate(StrictSaver):
    """Writes of another handle are seen only by handles that are opened afterwards."""

    def __init__(self, space: Any) -> None:
        super().__init__(space)
        self.log: list[Any] = space.__dict__.setdefault("log", [])
        self.opened = len(self.log)

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        super().put_writes(config, writes, task_id, task_path)
        self.log.append((id(self), task_id, config["configurable"]["checkpoint_id"]))

    def _load(self, key: Any, row: Any, writes: Any) -> Any:
        later = {entry[1:] for entry in self.log[self.opened :] if entry[0] != id(self)}
        return super()._load(key, row, [w for w in writes if (w.task_id, key[2]) not in later])


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
        return (
            key
            if not conf.get("checkpoint_id") and key in self.space.rows
            else super()._find(config)
        )


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
            if (
                sibling
                and row.parent == self.space.rows[mine].parent
                and owners.get(key) != id(self)
            ):
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
