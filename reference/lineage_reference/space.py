"""Where the strict saver keeps its data: rows and writes in plain dictionaries, and how rows go away."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

from langgraph.checkpoint.base import BaseCheckpointSaver

Key = tuple[str, str, str]  # thread, namespace, checkpoint id
Blob = tuple[str, bytes]  # what a serializer made of one value

# Whether the installed contract knows delta channels; before, every state was stored whole.
DELTA = hasattr(BaseCheckpointSaver, "get_delta_channel_history")


class Write(NamedTuple):
    """One pending write, stored under its task and position."""

    task_path: str
    task_id: str
    position: int
    channel: str
    value: Blob


@dataclass(frozen=True)
class Row:
    """One checkpoint, stored whole."""

    parent: str | None
    checkpoint: Blob  # everything but the channel values
    values: Mapping[str, Blob]
    channels: frozenset[str]  # the channels that have a version, with or without a value
    metadata: str  # JSON
    outputs: Blob | None  # metadata["writes"], see `StrictSaver.put`


class Space:
    """Where strict savers keep their data: savers over one space see the same rows."""

    _named: ClassVar[dict[str, Space]] = {}
    _naming: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.rows: dict[Key, Row] = {}
        self.writes: dict[Key, dict[tuple[str, int], Write]] = {}

    @classmethod
    def named(cls, name: str) -> Space:
        """Return the space of that name in this process, an empty one at first."""
        with cls._naming:
            return cls._named.setdefault(name, cls())

    @classmethod
    def forget(cls, name: str) -> None:
        """Drop a name, so that it starts empty again; an unknown name is fine."""
        with cls._naming:
            cls._named.pop(name, None)

    def writes_of(self, key: Key) -> tuple[Write, ...]:
        """Return the writes of one checkpoint, ordered by task path, task id and position."""
        return tuple(sorted(self.writes.get(key, {}).values(), key=lambda write: write[:3]))

    def lineage(self, key: Key) -> Iterator[tuple[Key, Row]]:
        """Yield a row and its ancestors, as far as the parent links lead and never in a circle."""
        seen: set[Key] = set()
        while key not in seen and (row := self.rows.get(key)):
            seen.add(key)
            yield key, row
            if row.parent is None:
                return
            key = (*key[:2], row.parent)

    def needed_by(self, key: Key) -> Sequence[Key]:
        """Return the ancestors without which delta channels of this row would be rebuilt wrongly.

        A channel that has a version here but no value may be a delta channel, which is rebuilt
        from the nearest ancestor with a value and the writes since. The engine's own signal
        channels are left out: they often have no value and are never rebuilt.
        """
        lineage = self.lineage(key)
        _, row = next(lineage)
        missing = row.channels - row.values.keys() if DELTA else set()
        missing = {c for c in missing if c != "__start__" and not c.startswith("branch:")}
        needed: list[Key] = []
        passed: list[Key] = []
        for ancestor, old in lineage:
            if not missing:
                break
            passed.append(ancestor)
            written = {write.channel for write in self.writes.get(ancestor, {}).values()}
            if missing & (written | old.values.keys()):
                needed += passed
                passed = []
            missing -= old.values.keys()
        return needed

    def drop(self, doomed: Iterable[Key]) -> None:
        """Remove checkpoints with their writes, except those that a remaining row needs.

        A remaining row whose parent is removed has no parent afterwards.
        """
        gone = set(doomed)
        touched = {key[:2] for key in gone}
        todo = [key for key in self.rows if key[:2] in touched and key not in gone]
        for key in todo:  # grows while it is walked: a spared row needs ancestors as well
            spared = [ancestor for ancestor in self.needed_by(key) if ancestor in gone]
            gone.difference_update(spared)
            todo.extend(spared)
        for key in gone:
            self.rows.pop(key, None)
            self.writes.pop(key, None)
        for key in todo:
            row = self.rows[key]
            if row.parent is not None and (*key[:2], row.parent) in gone:
                self.rows[key] = replace(row, parent=None)

    def drop_threads(self, threads: Iterable[str]) -> None:
        """Remove everything of the threads, also writes whose checkpoint never came."""
        names = set(threads)
        self.rows = {key: row for key, row in self.rows.items() if key[0] not in names}
        self.writes = {key: kept for key, kept in self.writes.items() if key[0] not in names}
