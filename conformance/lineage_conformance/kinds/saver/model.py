"""The oracle: what an ideal checkpointer returns, in plain dictionaries.

It shares no code with any saver. It takes the same resolved calls that the saver was given and answers
in canonical trees. Values enter through `expect`, which makes the tree of what may come back (see `oracle`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lineage_conformance import contract
from lineage_conformance.canon import canon

Key = tuple[str, str, str]
"""Thread id, namespace, checkpoint id."""


@dataclass
class Row:
    """One stored checkpoint."""

    parent: str | None
    checkpoint: dict[str, Any]
    values: dict[str, Any]
    metadata: dict[str, Any] | None
    """None where no contract says which keys of the config join it."""
    given: dict[str, Any]
    """What filters see: the metadata, or what of it is certain."""


@dataclass
class Model:
    """An ideal checkpointer over two dictionaries."""

    expect: Callable[[Any], Any]
    rows: dict[Key, Row] = field(default_factory=dict)
    writes: dict[Key, dict[tuple[str, int], tuple[str, str, Any]]] = field(default_factory=dict)

    def put(
        self,
        config: Mapping[str, Any],
        checkpoint: Mapping[str, Any],
        metadata: Mapping[str, Any],
    ) -> dict[str, Any]:
        """Store a checkpoint; return the config that names it."""
        conf = config["configurable"]
        key = (conf["thread_id"], conf["checkpoint_ns"], checkpoint["id"])
        rest = {k: canon(v) for k, v in checkpoint.items() if k != "channel_values"}
        values = {k: self.expect(v) for k, v in checkpoint["channel_values"].items()}
        merged = contract.merged_metadata(config, metadata)
        stored = None if merged is None else canon(merged)
        given = canon(metadata) if stored is None else stored
        self.rows[key] = Row(conf.get("checkpoint_id") or None, rest, values, stored, given)
        return name(*key)

    def put_writes(self, key: Key, task: str, items: Iterable[tuple[str, Any]], path: str) -> None:
        """Store writes: one slot per index, reserved channels overwrite, others keep the first."""
        slots = self.writes.setdefault(key, {})
        for position, (channel, value) in enumerate(items):
            special = contract.special_channels().get(channel)
            slot = (task, position if special is None else special)
            if special is not None or slot not in slots:
                slots[slot] = (path, channel, self.expect(value))

    def get(self, thread: str, ns: str | None, id: str | None) -> dict[str, Any] | None:
        """The tuple of a checkpoint, or of the largest id, as a tree."""
        ns = ns or ""
        if id is None:
            id = max((k[2] for k in self.rows if k[:2] == (thread, ns)), default=None)
        row = self.rows.get((thread, ns, id)) if id is not None else None
        return None if row is None or id is None else self._tuple((thread, ns, id), row)

    def list(
        self,
        thread: str | None,
        ns: str | None,
        id: str | None = None,
        filter: Mapping[str, Any] | None = None,
        before: str | None = None,
        limit: int | None = None,
    ) -> list[dict[str, Any]]:
        """The tuples that match, largest id first."""
        wanted = {k: canon(v) for k, v in (filter or {}).items()}
        keys = [
            key
            for key, row in self.rows.items()
            if (thread is None or key[0] == thread)
            and (ns is None or key[1] == ns)
            and (id is None or key[2] == id)
            and (before is None or key[2] < before)
            and all(k in row.given and row.given[k] == v for k, v in wanted.items())
        ]
        keys.sort(key=lambda key: (key[2], key), reverse=True)
        return [self._tuple(key, self.rows[key]) for key in keys[:limit]]

    def delete_thread(self, thread: str) -> None:
        """Remove every row and write of a thread."""
        self._keep(lambda key: key[0] != thread)

    def copy_thread(self, source: str, target: str) -> None:
        """Copy every row and write of a thread under another thread id."""
        for (thread, ns, id), row in list(self.rows.items()):
            if thread == source:
                self.rows[target, ns, id] = row
        for (thread, ns, id), slots in list(self.writes.items()):
            if thread == source:
                self.writes[target, ns, id] = dict(slots)

    def prune(self, threads: Sequence[str], strategy: str) -> None:
        """Keep the largest id per namespace and what its delta channels are rebuilt from, or nothing.

        A strategy that nobody knows prunes nothing.
        """
        if strategy not in ("keep_latest", "delete"):
            return
        kept: set[Key] = set()
        if strategy == "keep_latest":
            heads: dict[tuple[str, str], str] = {}
            for thread, ns, id in self.rows:
                heads[thread, ns] = max(id, heads.get((thread, ns), id))
            for (thread, ns), id in heads.items():
                kept |= {(thread, ns, id)} | self._needed((thread, ns, id))
        self._keep(lambda key: key[0] not in threads or key in kept)

    def delete_for_runs(self, runs: Sequence[str]) -> None:
        """Remove the rows of runs, except those that a surviving delta channel is rebuilt from."""
        gone = {k for k, row in self.rows.items() if row.given.get("run_id") in runs}
        needed: set[Key] = set()
        for key in self.rows:
            if key not in gone:
                needed |= self._needed(key)
        self._keep(lambda key: key not in gone or key in needed)

    def delta(
        self, thread: str, ns: str, id: str | None, channels: Sequence[str]
    ) -> dict[str, Any]:
        """Per channel the ancestors' writes, oldest first, back to the nearest stored value."""
        head = self.get(thread, ns, id)
        answer: dict[str, Any] = {}
        for channel in channels:
            steps: list[list[Any]] = []
            entry: dict[str, Any] = {}
            cursor = head["checkpoint"]["id"] if head else None
            cursor = self.rows[thread, ns, cursor].parent if cursor else None
            while cursor is not None and (row := self.rows.get((thread, ns, cursor))):
                steps.append([w for w in self._writes((thread, ns, cursor)) if w[1] == channel])
                if channel in row.values:
                    entry["seed"] = row.values[channel]
                    break
                cursor = row.parent
            entry["writes"] = [write for step in reversed(steps) for write in step]
            answer[channel] = entry
        return answer

    def _needed(self, key: Key) -> set[Key]:
        """Ancestors that hold the seed or the writes of a channel with a version but no value."""
        thread, ns, _id = key
        row = self.rows[key]
        open_channels = set(row.checkpoint["channel_versions"]) - set(row.values)
        needed: set[Key] = set()
        cursor = row.parent
        while open_channels and cursor is not None and (thread, ns, cursor) in self.rows:
            needed.add((thread, ns, cursor))
            above = self.rows[thread, ns, cursor]
            open_channels -= set(above.values)
            cursor = above.parent
        return needed

    def _keep(self, wanted: Callable[[Key], bool]) -> None:
        self.rows = {key: row for key, row in self.rows.items() if wanted(key)}
        self.writes = {key: slots for key, slots in self.writes.items() if wanted(key)}

    def _tuple(self, key: Key, row: Row) -> dict[str, Any]:
        checkpoint = {**row.checkpoint, "channel_values": dict(row.values)}
        return {
            "config": name(*key),
            "checkpoint": checkpoint,
            "metadata": row.metadata,
            "parent_config": name(key[0], key[1], row.parent) if row.parent else None,
            "pending_writes": self._writes(key),
        }

    def _writes(self, key: Key) -> Sequence[Any]:
        """Writes in the order (task path, task id, index)."""
        slots = self.writes.get(key, {})
        order = sorted(slots, key=lambda slot: (slots[slot][0], *slot))
        return [[slot[0], slots[slot][1], slots[slot][2]] for slot in order]


class Seen(Model):
    """A model of what a saver showed: its rows are the tuples that were read from it, right or wrong."""

    def __init__(self, tuples: Mapping[Key, dict[str, Any]]) -> None:
        super().__init__(canon)
        self.tuples = tuples
        for key, tree in tuples.items():
            checkpoint = tree["checkpoint"]
            parent = ((tree["parent_config"] or {}).get("configurable") or {}).get("checkpoint_id")
            values = checkpoint.get("channel_values")
            meta = tree["metadata"] if isinstance(tree["metadata"], dict) else {}
            held = values if isinstance(values, dict) else {}
            self.rows[key] = Row(parent, checkpoint, held, meta, meta)

    def _tuple(self, key: Key, row: Row) -> dict[str, Any]:
        return self.tuples[key]

    def _writes(self, key: Key) -> Sequence[Any]:
        found: Sequence[Any] = self.tuples[key]["pending_writes"]
        return found


def name(thread: str, ns: str, id: str | None) -> dict[str, Any]:
    """The config that names a checkpoint."""
    return {"configurable": {"thread_id": thread, "checkpoint_ns": ns, "checkpoint_id": id}}
