"""Savers that go wrong when several callers use them at once.

What a race loses by chance, these lose every time: they look at which thread of the process calls.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

from lineage_reference.space import Space, Write
from tests.mutants.kit import StrictSaver, mutant


def _elsewhere() -> bool:
    """Whether the caller is not the thread that runs the session."""
    return threading.current_thread() is not threading.main_thread()


def _session(config: Any) -> str:
    return str(config["configurable"]["thread_id"]).partition("-")[0]


@mutant(kills="concurrency.writes-of-parallel-tasks")
class ThreadLocalWrites(StrictSaver):
    """Writes are buffered for each thread of the process and never leave it."""

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        if not _elsewhere():
            super().put_writes(config, writes, task_id, task_path)


@mutant(kills="concurrency.puts-on-one-thread")
class ThreadLocalPuts(StrictSaver):
    """Checkpoints are buffered for each thread of the process and never leave it."""

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        if not _elsewhere():
            return super().put(config, checkpoint, metadata, new_versions)
        return {"configurable": {**config["configurable"], "checkpoint_id": checkpoint["id"]}}


@mutant(kills="concurrency.write-beside-put")
class PutDropsWrites(StrictSaver):
    """A put from a worker thread drops the writes that other workers store for that checkpoint."""

    def __init__(self, space: Space) -> None:
        super().__init__(space)
        self.put_there: set[str] = set()
        self.written_there: set[str] = set()

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        if _elsewhere():
            self.put_there.add(checkpoint["id"])
        return super().put(config, checkpoint, metadata, new_versions)

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        if _elsewhere():
            self.written_there.add(config["configurable"]["checkpoint_id"])
        super().put_writes(config, writes, task_id, task_path)

    def _load(self, key: Any, row: Any, writes: Any) -> Any:
        raced = key[2] in self.put_there & self.written_there
        return super()._load(key, row, () if raced else writes)


@mutant(kills="concurrency.puts-on-many-threads")
class ServesOneConversation(StrictSaver):
    """Worker threads can put into one conversation at a time; what they put into others is lost."""

    def __init__(self, space: Space) -> None:
        super().__init__(space)
        self.first: dict[str, str] = {}

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        thread = config["configurable"]["thread_id"]
        if not _elsewhere() or self.first.setdefault(_session(config), thread) == thread:
            return super().put(config, checkpoint, metadata, new_versions)
        return {"configurable": {**config["configurable"], "checkpoint_id": checkpoint["id"]}}


@mutant(kills="concurrency.delete-beside-put")
class LosesDeletes(StrictSaver):
    """A delete from a worker thread is forgotten."""

    def delete_thread(self, thread_id: str) -> None:
        if not _elsewhere():
            super().delete_thread(thread_id)


@mutant(kills="concurrency.same-writes-at-once")
class AppendsFromWorkers(StrictSaver):
    """Writes that come from worker threads are appended without a look at what is there."""

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        if not _elsewhere():
            super().put_writes(config, writes, task_id, task_path)
            return
        conf = config["configurable"]
        with self.space.lock:
            key = (conf["thread_id"], conf["checkpoint_ns"], conf["checkpoint_id"])
            slots = self.space.writes.setdefault(key, {})
            for channel, value in writes:
                number = len(slots)
                slots[task_id, number] = Write(
                    task_path, task_id, number, channel, self._dump(value)
                )


@mutant(kills="concurrency.two-handles-at-once")
class LocksTheStore(StrictSaver):
    """While one handle serves worker threads, the store is locked for the others."""

    def _lock(self, config: Any) -> None:
        owners = self.space.__dict__.setdefault("owners", {})
        if _elsewhere() and owners.setdefault(_session(config), id(self)) != id(self):
            raise RuntimeError("the store is locked")

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        self._lock(config)
        return super().put(config, checkpoint, metadata, new_versions)


@mutant(kills="concurrency.answers-while-listing")
class BusyWhileListing(StrictSaver):
    """The saver refuses to work while a list is being iterated (a hang, told quickly)."""

    listing = False

    def list(
        self, config: Any, *, filter: Any = None, before: Any = None, limit: Any = None
    ) -> Iterator[Any]:
        self.listing = True
        try:
            yield from super().list(config, filter=filter, before=before, limit=limit)
        finally:
            self.listing = False

    def get_tuple(self, config: Any) -> Any:
        if self.listing:
            raise RuntimeError("still listing")
        return super().get_tuple(config)


@mutant(kills="concurrency.sync-call-in-own-loop", face="async")
class ForgetsInItsLoop(StrictSaver):
    """A sync put inside a running loop is handed to the loop and never done."""

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return super().put(config, checkpoint, metadata, new_versions)
        return {"configurable": {**config["configurable"], "checkpoint_id": checkpoint["id"]}}

    async def aput(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        return StrictSaver.put(self, config, checkpoint, metadata, new_versions)
