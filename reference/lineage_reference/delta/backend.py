"""The reference of target kind ``delta``: a wrapped saver, with the switches that its laws turn."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from lineage_reference.delta.blobs import Blob
from lineage_reference.delta.stores_sql import SqlStore
from lineage_reference.delta.verification import Verified, averify, verify
from lineage_reference.delta.wrapper import DeltaSaver


class Outage:
    """A store that can be out of order: while `on`, everything it is asked for fails."""

    def __init__(self, store: Any) -> None:
        self.store, self.on = store, False

    def __getattr__(self, name: str) -> Any:
        if self.on:
            raise ConnectionError("the blob store does not answer")
        return getattr(self.store, name)


class Backend(DeltaSaver):
    """A `DeltaSaver` as kind ``delta`` wants it. `owner` is the store's own side: flag and retention."""

    def __init__(self, inner: Any, store: Any, owner: SqlStore, **options: Any) -> None:
        self.outage = Outage(store)
        super().__init__(inner, self.outage, **options)
        self.owner: Any = owner

    def set_mode(self, mode: str, threads: Sequence[str] | None = None) -> None:
        """Set the server's flag for some threads, or for all that have none of their own."""
        self.owner.set_mode(mode, threads)

    def verify(self, thread_id: str) -> Verified:
        """Compare blobs with full checkpoints; a thread that passes may be read from blobs."""
        return verify(self, thread_id)

    def expire(self, before: float) -> None:
        """Let retention remove what is older than a moment, in seconds since the epoch."""
        self.owner.expire(before)

    def fail(self, on: bool) -> None:
        """Let every call of the blob store fail until switched off."""
        self.outage.on = on

    async def arebuild(self, config: Any) -> Mapping[str, Any] | None:
        """As `rebuild`."""
        return await asyncio.to_thread(self.rebuild, config)

    async def ablobs(self, thread_id: str, checkpoint_ns: str | None = None) -> Sequence[Blob]:
        """As `blobs`."""
        return await asyncio.to_thread(self.blobs, thread_id, checkpoint_ns)

    async def amode(self, thread_id: str) -> str:
        """As `mode`."""
        return await asyncio.to_thread(self.mode, thread_id)

    async def aset_mode(self, mode: str, threads: Sequence[str] | None = None) -> None:
        """As `set_mode`."""
        await asyncio.to_thread(self.set_mode, mode, threads)

    async def averify(self, thread_id: str) -> Verified:
        """As `verify`."""
        return await averify(self, thread_id)

    async def aexpire(self, before: float) -> None:
        """As `expire`."""
        await asyncio.to_thread(self.expire, before)

    async def afail(self, on: bool) -> None:
        """As `fail`."""
        self.fail(on)


@contextmanager
def make(saver: Any, store: Any, encoding: str = "splice") -> Iterator[Backend]:
    """The reference over a saver; blobs go where the target's store is, the database if it has one."""
    blobs: Any
    if store.dsn:
        from lineage_reference.delta.stores_postgres import PostgresStore

        blobs = PostgresStore(store.dsn)
    else:
        from lineage_reference.delta.stores_sqlite import SqliteStore

        blobs = SqliteStore(store.path / "blobs.sqlite")
    try:
        yield Backend(saver, blobs, blobs, encoding=encoding)
    finally:
        blobs.close()
