"""`DeltaSaver`: any LangGraph saver, with incremental blobs beside its checkpoints or instead of their lists.

In **shadow** mode checkpoints are stored as ever, and blobs beside them; reads do not touch the blobs, and a
blob store that fails breaks no run. In **read** mode a checkpoint carries a short marker in the place of each
list; reading puts the rebuilt value there, or raises. Which mode holds for a thread is the store's decision.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import Any

from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple

from lineage_reference.delta.blobs import Blob, Frame, Place, Pointer
from lineage_reference.delta.recorder import Line, Recorder
from lineage_reference.delta.stores import Conflict, Off, Offer, Store

log = logging.getLogger(__name__)

_MARK = "lineage-delta/1"
"""The only key of a marker, ``{_MARK: "chain.position"}``.

A marker is a dictionary, not a text: savers that keep values by version put texts into the checkpoint itself,
and would lose a list that comes back under the same version when the flag goes off. A dictionary of the
application's own that looks like a marker is kept as ``{_MARK: [it]}``.
"""
_AT = re.compile(r"([0-9a-f]{1,16})\.(\d+)")

Config = Any


class DeltaSaver(BaseCheckpointSaver[Any]):
    """A saver over `inner` whose lists are also, or only, kept in `store`.

    `encoding` is ``splice`` or ``tail``. `trust_new` lets read mode begin with a thread's first checkpoint; any
    other thread stays in shadow mode until `verify` has proved it. In read mode the store has the only copy of the
    lists: what backs up or restores one of saver and store has to do the same with the other.
    """

    def __init__(
        self, inner: Any, store: Store, *, encoding: str = "splice", trust_new: bool = False
    ) -> None:
        super().__init__(serde=inner.serde)
        self.inner, self.store, self.trust_new = inner, store, trust_new
        self.serde = inner.serde
        self.recorder = Recorder(store, inner.serde, encoding)
        self._takes_path = "task_path" in inspect.signature(inner.put_writes).parameters
        self.failures: list[str] = []
        """What went wrong with the blob store while a run went on, newest last."""

    def __getattr__(self, name: str) -> Any:
        if name in ("inner", "store", "recorder") or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.inner, name)

    @property
    def config_specs(self) -> list[Any]:
        """Those of the inner saver."""
        return list(self.inner.config_specs)

    def get_next_version(self, current: Any, channel: Any) -> Any:
        """A version of the inner saver's kind."""
        return self.inner.get_next_version(current, channel)

    # -- storing ---------------------------------------------------------------------------------

    def put(self, config: Config, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        """Store a checkpoint, and what changed in its lists where the flag says so."""
        plan = self._plan(config, checkpoint, new_versions)
        stored = plan is not None and plan.sole and self._send(plan)
        reduced = plan.reduced(checkpoint) if plan is not None and stored else checkpoint
        result = self.inner.put(config, _escaped(reduced), metadata, new_versions)
        if plan is not None and (stored or (not plan.sole and self._send(plan))):
            self.recorder.keep(plan.line)
        return result

    async def aput(self, config: Config, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        """As `put`. The values are serialized before anything is awaited: nodes may change them then."""
        plan = self._plan(config, checkpoint, new_versions)
        stored = plan is not None and plan.sole and await asyncio.to_thread(self._send, plan)
        reduced = plan.reduced(checkpoint) if plan is not None and stored else checkpoint
        result = await self.inner.aput(config, _escaped(reduced), metadata, new_versions)
        if plan is not None and (
            stored or (not plan.sole and await asyncio.to_thread(self._send, plan))
        ):
            self.recorder.keep(plan.line)
        return result

    def _plan(self, config: Config, checkpoint: Any, new_versions: Any) -> _Plan | None:
        """What is to be stored of a checkpoint; None if nothing, or if that failed."""
        conf = config["configurable"]
        place = (str(conf["thread_id"]), conf.get("checkpoint_ns") or "", checkpoint["id"])
        parent = conf.get("checkpoint_id") or None
        try:
            offer = self.store.offer(place[0])
            if offer.mode == "off":
                self.recorder.drop(place[0])
                return None
            sole = offer.mode == "read" and (offer.proved or self._trusted(place, parent))
            make = self.recorder.frame
            frame, line = make(place, parent, checkpoint, new_versions, sole)
            return _Plan(
                frame, line, lambda: make(place, parent, checkpoint, new_versions, sole, anew=True)
            )
        except Exception as error:
            self._failed(place, error)
            return None

    def _trusted(self, place: Place, parent: str | None) -> bool:
        """Whether the thread has been in read mode from its first checkpoint on, and may be."""
        if not self.trust_new:
            return False
        if parent is not None:
            step = self.recorder.step((*place[:2], parent))
            return step is not None and step.sole
        root = self.store.newest(place[0], "")
        return root is None or root.sole

    def _send(self, plan: _Plan) -> bool:
        """Store a frame; where what it goes on from is not there, once more without going on."""
        try:
            try:
                self.store.append(plan.frame)
            except Conflict:
                plan.frame, plan.line = plan.anew()
                self.store.append(plan.frame)
        except Exception as error:
            self._failed(plan.frame.step.place, error)
            return False
        return True

    def _failed(self, place: Place, error: Exception) -> None:
        self.recorder.drop(*place[:2])
        if not isinstance(error, Off):
            log.warning("no blobs for checkpoint %s of thread %s: %r", place[2], place[0], error)
            self.failures = [*self.failures[-99:], f"{type(error).__name__}: {error}"]

    def put_writes(
        self, config: Config, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """As the inner saver does. LangGraph passes a path only to a method that names it."""
        self.inner.put_writes(config, writes, task_id, *self._path(task_path))

    async def aput_writes(
        self, config: Config, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """As the inner saver does."""
        await self.inner.aput_writes(config, writes, task_id, *self._path(task_path))

    def _path(self, task_path: str) -> tuple[str, ...]:
        """The path, for an inner saver that takes one; those of before 2.0.11 do not."""
        return (task_path,) if self._takes_path else ()

    # -- reading ---------------------------------------------------------------------------------

    def get_tuple(self, config: Config) -> CheckpointTuple | None:
        """The checkpoint with its lists. Raises `Missing` where blobs that it needs are gone."""
        found = self.inner.get_tuple(config)
        return None if found is None else self._whole(found)

    async def aget_tuple(self, config: Config) -> CheckpointTuple | None:
        """As `get_tuple`."""
        found = await self.inner.aget_tuple(config)
        return None if found is None else await self._awhole(found)

    def list(self, config: Config, **options: Any) -> Iterator[CheckpointTuple]:
        """As the inner saver lists, each with its lists."""
        for found in self.inner.list(config, **options):
            yield self._whole(found)

    async def alist(self, config: Config, **options: Any) -> AsyncIterator[CheckpointTuple]:
        """As `list`."""
        async for found in self.inner.alist(config, **options):
            yield await self._awhole(found)

    def _whole(self, found: CheckpointTuple) -> CheckpointTuple:
        values = found.checkpoint["channel_values"]
        pointers = _pointers(values)
        if not pointers and not any(_marked(value) for value in values.values()):
            return found
        rebuilt = self.recorder.values(found.config["configurable"]["thread_id"], pointers)
        whole = {key: rebuilt[key] if key in rebuilt else _plain(v) for key, v in values.items()}
        return found._replace(checkpoint={**found.checkpoint, "channel_values": whole})

    async def _awhole(self, found: CheckpointTuple) -> CheckpointTuple:
        if not any(_marked(value) for value in found.checkpoint["channel_values"].values()):
            return found
        return await asyncio.to_thread(self._whole, found)

    def rebuild(self, config: Config) -> Mapping[str, Any] | None:
        """The list channels of a checkpoint from blobs alone; None if the store knows nothing of it."""
        conf = config["configurable"]
        place = (str(conf["thread_id"]), conf.get("checkpoint_ns") or "", conf["checkpoint_id"])
        step = self.store.step(place)
        if step is None:
            return None
        return self.recorder.values(place[0], {c: entry.at for c, entry in step.entries.items()})

    def blobs(self, thread_id: str, checkpoint_ns: str | None = None) -> Sequence[Blob]:
        """The blobs of a thread, or of one of its namespaces."""
        found = self.store.blobs(str(thread_id))
        return [b for b in found if checkpoint_ns in (None, b.checkpoint_ns)]

    def mode(self, thread_id: str) -> str:
        """What is done for a thread: ``off``, ``shadow`` or ``read``; read waits for proof."""
        offer: Offer = self.store.offer(str(thread_id))
        waits = offer.mode == "read" and not offer.proved
        if waits and not self._trusted((str(thread_id), "", ""), None):
            return "shadow"
        return offer.mode

    # -- removing and copying --------------------------------------------------------------------

    def delete_thread(self, thread_id: str) -> None:
        """Remove a thread, then its blobs: a failure in between leaves nothing that can be read."""
        self.inner.delete_thread(thread_id)
        self._forget_thread(str(thread_id))

    async def adelete_thread(self, thread_id: str) -> None:
        """As `delete_thread`."""
        await self.inner.adelete_thread(thread_id)
        await asyncio.to_thread(self._forget_thread, str(thread_id))

    def _forget_thread(self, thread: str) -> None:
        self.recorder.drop(thread)
        self.store.delete_thread(thread)

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy the blobs of a thread, then the thread: a copy is never without them."""
        self.store.copy_thread(str(source_thread_id), str(target_thread_id))
        self.inner.copy_thread(source_thread_id, target_thread_id)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """As `copy_thread`."""
        await asyncio.to_thread(
            self.store.copy_thread, str(source_thread_id), str(target_thread_id)
        )
        await self.inner.acopy_thread(source_thread_id, target_thread_id)

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Prune the threads, then the blobs that only checkpoints which went needed."""
        before = {place for thread in _texts(thread_ids) for place in self._places(thread)}
        self.inner.prune(thread_ids, strategy=strategy)
        after = {place for thread in _texts(thread_ids) for place in self._places(thread)}
        self._gone(before - after)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """As `prune`."""
        before = {place for thread in _texts(thread_ids) for place in await self._aplaces(thread)}
        await self.inner.aprune(thread_ids, strategy=strategy)
        after = {place for thread in _texts(thread_ids) for place in await self._aplaces(thread)}
        await asyncio.to_thread(self._gone, before - after)

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Remove the checkpoints of runs, then the blobs that only those needed."""
        before: set[Place] = set()
        for run in _texts(run_ids):
            before |= {_place(row) for row in self.inner.list(None, filter={"run_id": run})}
        self.inner.delete_for_runs(run_ids)
        threads = {place[0] for place in before}
        self._gone(before - {place for thread in threads for place in self._places(thread)})

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """As `delete_for_runs`."""
        before: set[Place] = set()
        for run in _texts(run_ids):
            async for row in self.inner.alist(None, filter={"run_id": run}):
                before.add(_place(row))
        await self.inner.adelete_for_runs(run_ids)
        after: set[Place] = set()
        for thread in {place[0] for place in before}:
            after |= await self._aplaces(thread)
        await asyncio.to_thread(self._gone, before - after)

    def _places(self, thread: str) -> set[Place]:
        return {_place(row) for row in self.inner.list({"configurable": {"thread_id": thread}})}

    async def _aplaces(self, thread: str) -> set[Place]:
        rows = self.inner.alist({"configurable": {"thread_id": thread}})
        return {_place(row) async for row in rows}

    def _gone(self, places: set[Place]) -> None:
        for place in places:
            self.recorder.drop(*place[:2])
        self.store.forget(places)


class _Plan:
    """A frame to be stored, and how to make one that goes on from nothing."""

    def __init__(self, frame: Frame, line: Line, anew: Callable[[], tuple[Frame, Line]]) -> None:
        self.frame, self.line, self.anew = frame, line, anew

    @property
    def sole(self) -> bool:
        """Whether the blobs stand in for the lists in the checkpoint."""
        return self.frame.step.sole

    def reduced(self, checkpoint: Any) -> Any:
        """The checkpoint with a marker in the place of each list."""
        marks = {
            channel: {_MARK: f"{entry.at.chain:x}.{entry.at.pos}"}
            for channel, entry in self.frame.step.entries.items()
        }
        values = {k: _escape(v) for k, v in checkpoint["channel_values"].items()}
        return _Marked({**checkpoint, "channel_values": {**values, **marks}})


class _Marked(dict[str, Any]):
    """A checkpoint whose values are escaped already."""


def _marked(value: Any) -> bool:
    return type(value) is dict and len(value) == 1 and _MARK in value


def _escape(value: Any) -> Any:
    return {_MARK: [value]} if _marked(value) else value


def _plain(value: Any) -> Any:
    return value[_MARK][0] if _marked(value) and type(value[_MARK]) is list else value


def _escaped(checkpoint: Any) -> Any:
    """The checkpoint as the inner saver gets it: the same object unless a value looks like a marker."""
    if isinstance(checkpoint, _Marked):
        return dict(checkpoint)
    values = checkpoint["channel_values"]
    if not any(_marked(value) for value in values.values()):
        return checkpoint
    return {**checkpoint, "channel_values": {k: _escape(v) for k, v in values.items()}}


def _pointers(values: Mapping[str, Any]) -> dict[str, Pointer]:
    marks = {k: v[_MARK] for k, v in values.items() if _marked(v) and type(v[_MARK]) is str}
    found = {k: _AT.fullmatch(mark) for k, mark in marks.items()}
    return {k: Pointer(int(m[1], 16), int(m[2])) for k, m in found.items() if m}


def _place(row: CheckpointTuple) -> Place:
    conf = row.config["configurable"]
    return str(conf["thread_id"]), conf.get("checkpoint_ns") or "", conf["checkpoint_id"]


def _texts(ids: Sequence[str]) -> Sequence[str]:
    return [] if isinstance(ids, (str, bytes)) else [str(each) for each in ids]
