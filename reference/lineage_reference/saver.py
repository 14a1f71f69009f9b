"""The strict saver: a whole LangGraph checkpointer in memory, written to be read.

It favours plain correctness over speed. Every promise that a checkpointer makes is kept here in the
most direct way, and where the contract leaves a choice, the docstring of the method says which one
was made. It runs on langgraph-checkpoint 2.0.2 and later.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast
from uuid import uuid4

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint import base
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_id,
)
from langgraph.checkpoint.serde.base import SerializerProtocol

from lineage_reference.space import Blob, Key, Row, Space, Write

# Channels whose latest write counts, with the index that each is stored under. Early releases list
# only the first two, but their engines send all four.
SPECIAL = {"__error__": -1, "__scheduled__": -2, "__interrupt__": -3, "__resume__": -4}
SPECIAL.update(base.WRITES_IDX_MAP)


class StrictSaver(BaseCheckpointSaver[str]):
    """A checkpointer that keeps every promise, over a `Space` (a new one unless given).

    Thread ids are compared as text. Nothing that a caller holds, before or after a call, is
    shared with what is stored.
    """

    def __init__(
        self, space: Space | None = None, *, serde: SerializerProtocol | None = None
    ) -> None:
        super().__init__(serde=serde)
        self.space = Space() if space is None else space

    # Storing

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint whole and return its config; the same id again replaces the row.

        The stored values are those in `channel_values` whose channel has a version. `new_versions`
        is not consulted: the engine passes the full state every time, and a value that is not
        shared by version cannot leak into a sibling fork. The parent is the checkpoint id in
        `config`. Metadata must be JSON (TypeError or ValueError), save for "writes", where engines
        before 0.5 put what the nodes returned. Pending writes of a replaced row stay.
        """
        if "checkpoint_ns" not in config["configurable"]:
            raise KeyError("checkpoint_ns")
        key = (*_place(config), checkpoint["id"])
        merge = getattr(base, "get_checkpoint_metadata", lambda _, given: given)
        described = dict(merge(config, metadata))
        outputs = [described.pop("writes")] if "writes" in described else None
        row = Row(
            parent=get_checkpoint_id(config) or None,
            checkpoint=self._dump({k: v for k, v in checkpoint.items() if k != "channel_values"}),
            values={
                channel: self._dump(value)
                for channel, value in checkpoint["channel_values"].items()
                if channel in checkpoint["channel_versions"]
            },
            channels=frozenset(checkpoint["channel_versions"]),
            metadata=json.dumps(_plain(described), allow_nan=False),
            outputs=self._dump(outputs) if outputs else None,
        )
        with self.space.lock:
            self.space.rows[key] = row
        return _config(key)

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Store what a task wrote, all of it or nothing, before or after its checkpoint.

        A repeated write of a task at an index changes nothing, so a retry is safe; on the special
        channels (errors, interrupts, answers) the latest write counts.
        """
        key = (*_place(config), config["configurable"]["checkpoint_id"])
        if not key[2]:
            raise ValueError("writes belong to a checkpoint: checkpoint_id must not be empty")
        new = [
            Write(task_path, task_id, SPECIAL.get(channel, i), channel, self._dump(value))
            for i, (channel, value) in enumerate(writes)
        ]
        with self.space.lock:
            for write in new:
                stored = self.space.writes.setdefault(key, {})
                if write.position < 0 or (task_id, write.position) not in stored:
                    stored[task_id, write.position] = write

    # Reading

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint that `config` names, or the one with the largest id.

        No namespace means the root namespace, an empty checkpoint id means the latest.
        """
        with self.space.lock:
            key = self._find(config)
            if key is None:
                return None
            row, writes = self.space.rows[key], self.space.writes_of(key)
        return self._load(key, row, writes)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Yield matching checkpoints, largest id first, each as `get_tuple` returns it.

        The rows are those there were at the first step of the iteration, so the saver can be used
        while it goes on. No config means every thread; a config without a namespace means all
        namespaces of its thread. A filter names top-level metadata keys and matches only rows that
        have them, by JSON equality: 1 is 1.0 but not true, and the order of keys does not matter.
        """
        where = config["configurable"] if config is not None else None
        thread = None if where is None else str(where["thread_id"])
        namespace = None if where is None else where.get("checkpoint_ns")
        only = None if config is None else get_checkpoint_id(config)
        below = None if before is None else get_checkpoint_id(before)
        wanted = _plain(filter or {})
        with self.space.lock:
            found = [
                (key, row, self.space.writes_of(key))
                for key, row in self.space.rows.items()
                if (thread is None or key[0] == thread)
                and (namespace is None or key[1] == namespace)
                and (not only or key[2] == only)
                and (not below or key[2] < below)
            ]
        found.sort(key=lambda entry: (entry[0][2], entry[0]), reverse=True)
        for key, row, writes in found:
            if limit is not None and limit <= 0:
                return
            metadata = self._metadata(row)
            if all(k in metadata and _same(metadata[k], v) for k, v in wanted.items()):
                limit = None if limit is None else limit - 1
                yield self._load(key, row, writes)

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, Any]:
        """Return, per channel, what rebuilds it at the named checkpoint.

        Shape: `{channel: {"writes": [(task_id, channel, value), ...], "seed": value}}`. The seed is
        the value at the nearest ancestor that has one, and is left out if there is none. The
        writes are those of that ancestor and of all after it, oldest first; the writes of the
        checkpoint itself are still pending and not among them.
        """
        with self.space.lock:
            key = self._find(config)
            lineage = [] if key is None else [*self.space.lineage(key)][1:]
            ancestors = [(row, self.space.writes_of(key)) for key, row in lineage]
        history: dict[str, Any] = {}
        for channel in channels:
            entry: dict[str, Any] = {"writes": []}
            for row, writes in ancestors:
                mine = [write for write in writes if write.channel == channel]
                entry["writes"][:0] = [
                    (write.task_id, channel, self.serde.loads_typed(write.value)) for write in mine
                ]
                if channel in row.values:
                    entry["seed"] = self.serde.loads_typed(row.values[channel])
                    break
            history[channel] = entry
        return history

    # Removing and copying

    def delete_thread(self, thread_id: str) -> None:
        """Remove all checkpoints and writes of a thread; an unknown thread is fine."""
        with self.space.lock:
            self.space.drop_threads([str(thread_id)])

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all namespaces, checkpoints and writes of a thread to an unused thread id.

        ValueError if the source has nothing to copy or the target has anything already.
        """
        source, target = str(source_thread_id), str(target_thread_id)
        with self.space.lock:
            used = {key[0] for key in (*self.space.rows, *self.space.writes)}
            if source not in used:
                raise ValueError(f"there is no thread {source!r} to copy")
            if target in used:
                raise ValueError(f"thread {target!r} is in use: copying would mix two histories")
            for key, row in [*self.space.rows.items()]:
                if key[0] == source:
                    self.space.rows[target, key[1], key[2]] = row
            for key, writes in [*self.space.writes.items()]:
                if key[0] == source:
                    self.space.writes[target, key[1], key[2]] = dict(writes)

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Thin out threads: "delete" removes everything, "keep_latest" all but the newest.

        "keep_latest" keeps the latest checkpoint of each namespace, and of its ancestors those
        that delta channels of any kept checkpoint are rebuilt from. Writes whose checkpoint has
        not come yet are kept too. TypeError for a single string, ValueError for another strategy.
        """
        threads = _texts(thread_ids)
        if strategy not in ("keep_latest", "delete"):
            raise ValueError(f"unknown strategy {strategy!r}: use 'keep_latest' or 'delete'")
        with self.space.lock:
            if strategy == "delete":
                self.space.drop_threads(threads)
                return
            rows = sorted(key for key in self.space.rows if key[0] in threads)
            latest = {key[:2]: key for key in rows}
            self.space.drop(key for key in rows if key != latest[key[:2]])

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Remove the checkpoints whose metadata names one of the runs, with their writes.

        A checkpoint that a delta channel of a remaining one is rebuilt from is kept: removing it
        would silently change the state of another run. TypeError for a single string.
        """
        runs = _texts(run_ids)
        with self.space.lock:
            rows = self.space.rows.items()
            self.space.drop([k for k, row in rows if self._metadata(row).get("run_id") in runs])

    # Versions

    def get_next_version(self, current: str | float | None, channel: Any = None) -> str:
        """Return a version above `current` that no other call returns, as text.

        A zero-padded counter gives the order; a random part keeps two forks that count from the
        same version from ever meeting. A text version keeps its width, or ValueError if it is full.
        """
        digits = current.split(".")[0] if isinstance(current, str) else f"{int(current or 0):032}"
        following = f"{int(digits) + 1:0{len(digits)}}"
        if len(following) > len(digits):
            raise ValueError(f"no version of the same width follows {current!r}")
        return f"{following}.{uuid4().hex}"

    # The same, asynchronously. Nothing here waits for anything, so each calls its sync twin.

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Do what `put` does."""
        return self.put(config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Do what `put_writes` does."""
        self.put_writes(config, writes, task_id, task_path)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Do what `get_tuple` does."""
        return self.get_tuple(config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Do what `list` does."""
        for found in self.list(config, filter=filter, before=before, limit=limit):
            yield found

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, Any]:
        """Do what `get_delta_channel_history` does."""
        return self.get_delta_channel_history(config=config, channels=channels)

    async def adelete_thread(self, thread_id: str) -> None:
        """Do what `delete_thread` does."""
        self.delete_thread(thread_id)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Do what `copy_thread` does."""
        self.copy_thread(source_thread_id, target_thread_id)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Do what `prune` does."""
        self.prune(thread_ids, strategy=strategy)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Do what `delete_for_runs` does."""
        self.delete_for_runs(run_ids)

    # Helpers

    def _find(self, config: RunnableConfig) -> Key | None:
        place, wanted = _place(config), get_checkpoint_id(config)
        here = (key for key in self.space.rows if key[:2] == place)
        return max((key for key in here if not wanted or key[2] == wanted), default=None)

    def _dump(self, value: Any) -> Blob:
        kind, data = self.serde.dumps_typed(value)
        return kind, bytes(data)  # a serializer may hand a bytearray through as it is

    def _metadata(self, row: Row) -> dict[str, Any]:
        metadata: dict[str, Any] = json.loads(row.metadata)
        if row.outputs is not None:
            (metadata["writes"],) = self.serde.loads_typed(row.outputs)
        return metadata

    def _load(self, key: Key, row: Row, writes: Iterable[Write]) -> CheckpointTuple:
        load = self.serde.loads_typed
        values = {channel: load(value) for channel, value in row.values.items()}
        return CheckpointTuple(
            config=_config(key),
            checkpoint=cast(Checkpoint, {**load(row.checkpoint), "channel_values": values}),
            metadata=cast(CheckpointMetadata, self._metadata(row)),
            parent_config=None if row.parent is None else _config((*key[:2], row.parent)),
            pending_writes=[(w.task_id, w.channel, load(w.value)) for w in writes],
        )


def _place(config: RunnableConfig) -> tuple[str, str]:
    where = config["configurable"]
    return str(where["thread_id"]), where.get("checkpoint_ns") or ""


def _config(key: Key) -> RunnableConfig:
    thread, namespace, checkpoint_id = key
    return {
        "configurable": {
            "thread_id": thread,
            "checkpoint_ns": namespace,
            "checkpoint_id": checkpoint_id,
        }
    }


def _texts(ids: Sequence[str]) -> list[str]:
    if isinstance(ids, (str, bytes)):
        raise TypeError(f"a sequence of ids is needed, not the single {ids!r}")
    return [str(each) for each in ids]


def _plain(value: Any) -> Any:
    """Return the value with tuples as lists; TypeError if a key is not text, as JSON wants."""
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if not isinstance(value, dict):
        return value
    if odd := [key for key in value if not isinstance(key, str)]:
        raise TypeError(f"JSON keys are text, not {odd[0]!r}")
    return {key: _plain(each) for key, each in value.items()}


def _same(one: Any, other: Any) -> bool:
    """Tell whether two JSON values are equal, without taking true for 1."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[k], other[k]) for k in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)
