"""The protocol of kind ``delta``: a saver with incremental blobs beside its checkpoints, or instead of them.

A blob says how one channel changed in one step. Only channels whose value is a list, or a dictionary of
lists, become blobs. The backend is a saver as well: laws put checkpoints through it and read them back.
In mode ``off`` it is its saver and nothing else; in ``shadow`` blobs are stored beside full checkpoints and
reads do not touch them; in ``read`` they take the place of the lists, for threads that `verify` has proved.

A *list channel* is one whose value is a list, or a dictionary whose keys are all texts and whose values are all
lists, an empty one included. No other channel ever becomes a blob, and one may turn from the one into the other.

What a put stores, where the mode is not ``off``: for each list channel that changed in content, one blob. The
first blobs of a thread and namespace stand alone (``compaction``), and so do those after a gap, that is where the
checkpoint's parent has no blobs. A channel that did not change since the parent is not sent again by the
handle that put the parent last, not even where its version is new. The bytes of blobs are in proportion to what was
appended. A caller may change its own lists after a put, and items compare by type and content: `True` is not `1`.

Two handles on one store, or a restart, may put on the same thread in turn. Where blobs cannot be stored, a put in
mode ``shadow`` succeeds all the same, and later blobs do not build on what was lost.

Laws compare values with what the serializer makes of them: the attribute `serde` of the backend or of its attribute
`saver`; LangGraph's own where neither is there. Of the saver's methods only those below are called.
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
    """The generation, from 0, one for all blobs of a put: grows with a put in which a list became shorter, and
    stays otherwise. A hint, since a restart may begin at 0 again."""
    size: int
    """More than 0."""


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
        """Delete a thread, its blobs in all namespaces, and that it was proved; its id may begin anew."""
        ...

    def rebuild(self, config: Config) -> Mapping[str, Any] | None:
        """All list channels of a checkpoint from blobs alone, ``{channel: value}``; None if the blobs do not know it.

        May raise where blobs are gone; must not return less, or something else. `config` names the checkpoint.
        """
        ...

    def blobs(self, thread_id: str) -> Sequence[Blob]:
        """Every blob of a thread, of all namespaces."""
        ...

    def set_mode(self, mode: str, threads: Sequence[str] | None = None) -> None:
        """Set the flag, ``off``, ``shadow`` or ``read``, for some threads or for all that have none of their own.

        ``off`` until it is set. It holds for later puts: what is stored stays readable, also once it is off.
        """
        ...

    def mode(self, thread_id: str) -> str:
        """What is done for a thread now. ``shadow`` where ``read`` is wanted but the thread is not proved."""
        ...

    def verify(self, thread_id: str) -> Verified:
        """Compare what blobs rebuild with every full checkpoint of a thread, and remember the result.

        Proves a thread with checkpoints if each of them is rebuilt; one without any blob is not proved.
        """
        ...

    def expire(self, before: float) -> None:
        """Optional. Let retention remove what is older than a moment, in seconds since the epoch.

        What is the only copy stays; a checkpoint is rebuilt whole afterwards, or not at all.
        """
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
