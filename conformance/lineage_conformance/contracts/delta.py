"""The protocol of kind ``delta``: a saver with incremental blobs beside its checkpoints, or instead of them.

A blob says how one channel changed in one step. Only channels whose value is a list, or a dictionary of
lists, become blobs. The backend is a saver as well: laws put checkpoints through it and read them back.
In mode ``off`` it is its saver and nothing else; in ``shadow`` blobs are stored beside full checkpoints and
reads do not touch them; in ``read`` they take the place of the lists, for threads that `verify` has proved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

Config = Mapping[str, Any]
"""``{"configurable": {"thread_id": str, "checkpoint_ns": str, "checkpoint_id": str}}``"""


class Blob(Protocol):
    """One blob, as the backend lists it. `size` is in bytes of its data."""

    thread_id: str
    checkpoint_ns: str
    checkpoint_id: str
    channel: str
    version: Any
    """The version of the channel in the checkpoint that the blob came with."""
    step_action: str
    """``conversation``: goes on top of an earlier blob. ``compaction``: stands alone."""
    current_thread: int
    """The generation: grows when a list shrinks. A hint, since a restart may begin at 0 again."""
    size: int


class Verified(Protocol):
    """What `verify` says of a thread."""

    checkpoints: int
    different: Sequence[str]
    """Where blobs and full checkpoints are not the same; empty when all is well."""
    proved: bool
    """Whether read mode may begin for the thread."""
    blob_bytes: int
    full_bytes: int


class Delta(Protocol):
    """The sync half."""

    def put(
        self,
        config: Config,
        checkpoint: Mapping[str, Any],
        metadata: Mapping[str, Any],
        new_versions: Mapping[str, str | int | float],
    ) -> Config:
        """As the saver's `put`; stores what changed in lists as blobs where the flag says so."""
        ...

    def get_tuple(self, config: Config) -> Any | None:
        """As the saver's `get_tuple`, in every mode with all values; raises rather than leave one out."""
        ...

    def get_next_version(self, current: Any, channel: None) -> Any:
        """As the saver's."""
        ...

    def delete_thread(self, thread_id: str) -> None:
        """Delete a thread and its blobs."""
        ...

    def rebuild(self, config: Config) -> Mapping[str, Any] | None:
        """The list channels of a checkpoint from blobs alone; None if the blobs do not know it.

        May raise where blobs are gone; must not return less, or something else.
        """
        ...

    def blobs(self, thread_id: str) -> Sequence[Blob]:
        """Every blob of a thread, of all namespaces."""
        ...

    def set_mode(self, mode: str, threads: Sequence[str] | None = None) -> None:
        """Set the flag, ``off``, ``shadow`` or ``read``, for some threads or for all that have none of their own."""
        ...

    def mode(self, thread_id: str) -> str:
        """What is done for a thread now. ``shadow`` where ``read`` is wanted but the thread is not proved."""
        ...

    def verify(self, thread_id: str) -> Verified:
        """Compare what blobs rebuild with every full checkpoint of a thread, and remember the result."""
        ...

    def expire(self, before: float) -> None:
        """Optional. Let retention remove what is older than a moment, in seconds since the epoch."""
        ...

    def fail(self, on: bool) -> None:
        """Optional. Let the place where blobs are kept fail, until called with False."""
        ...


class AsyncDelta(Protocol):
    """The async half: the same operations, each name but `get_next_version` with an ``a`` before it."""

    async def aput(
        self,
        config: Config,
        checkpoint: Mapping[str, Any],
        metadata: Mapping[str, Any],
        new_versions: Mapping[str, str | int | float],
    ) -> Config:
        """As `Delta.put`."""
        ...

    async def aget_tuple(self, config: Config) -> Any | None:
        """As `Delta.get_tuple`."""
        ...

    def get_next_version(self, current: Any, channel: None) -> Any:
        """As the saver's."""
        ...

    async def adelete_thread(self, thread_id: str) -> None:
        """As `Delta.delete_thread`."""
        ...

    async def arebuild(self, config: Config) -> Mapping[str, Any] | None:
        """As `Delta.rebuild`."""
        ...

    async def ablobs(self, thread_id: str) -> Sequence[Blob]:
        """As `Delta.blobs`."""
        ...

    async def aset_mode(self, mode: str, threads: Sequence[str] | None = None) -> None:
        """As `Delta.set_mode`."""
        ...

    async def amode(self, thread_id: str) -> str:
        """As `Delta.mode`."""
        ...

    async def averify(self, thread_id: str) -> Verified:
        """As `Delta.verify`."""
        ...

    async def aexpire(self, before: float) -> None:
        """Optional. As `Delta.expire`."""
        ...

    async def afail(self, on: bool) -> None:
        """Optional. As `Delta.fail`."""
        ...
