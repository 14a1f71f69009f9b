"""The protocol of kind ``saver``: LangGraph's checkpointer, as the laws call it.

A saver offers the sync half, the async half, or both; laws run on each half that is there, and across
them when both are. `put`, `put_writes`, `get_tuple`, `list` and `get_next_version` make a half; the other methods
are optional, and laws about them apply where they are implemented. LangGraph itself wants an instance of
`langgraph.checkpoint.base.BaseCheckpointSaver`, which has a default for `get_delta_channel_history`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, Protocol

Config = Mapping[str, Any]
"""``{"configurable": {"thread_id": str, "checkpoint_ns": str, "checkpoint_id": str}}``"""


class Saver(Protocol):
    """The sync half."""

    def put(
        self,
        config: Config,
        checkpoint: Mapping[str, Any],
        metadata: Mapping[str, Any],
        new_versions: Mapping[str, str | int | float],
    ) -> Config:
        """Store a checkpoint as a child of the one that `config` names; return the config of the new one."""
        ...

    def put_writes(
        self, config: Config, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store the writes of a task under the checkpoint that `config` names, before or after its put."""
        ...

    def get_tuple(self, config: Config) -> Any | None:
        """The `CheckpointTuple` that `config` names; without an id the latest; None if there is none."""
        ...

    def list(
        self,
        config: Config | None,
        *,
        filter: Mapping[str, Any] | None = None,
        before: Config | None = None,
        limit: int | None = None,
    ) -> Iterator[Any]:
        """Matching tuples, newest first. No namespace in `config` means all of them; None means all threads."""
        ...

    def get_next_version(self, current: Any, channel: None) -> Any:
        """A version larger than `current` (None at first), of the same type."""
        ...

    def delete_thread(self, thread_id: str) -> None:
        """Optional. Delete all checkpoints and writes of a thread."""
        ...

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Optional. Copy all checkpoints and writes of a thread."""
        ...

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Optional. Keep the latest checkpoint of each namespace (``keep_latest``) or nothing (``delete``)."""
        ...

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Optional. Delete the checkpoints and writes of runs (metadata key ``run_id``)."""
        ...

    def get_delta_channel_history(
        self, *, config: Config, channels: Sequence[str]
    ) -> Mapping[str, Any]:
        """Optional. Per channel the nearest ancestor's stored value (``seed``) and the writes since."""
        ...


class AsyncSaver(Protocol):
    """The async half: the same operations, each name with an ``a`` before it."""

    async def aput(
        self,
        config: Config,
        checkpoint: Mapping[str, Any],
        metadata: Mapping[str, Any],
        new_versions: Mapping[str, str | int | float],
    ) -> Config:
        """As `Saver.put`."""
        ...

    async def aput_writes(
        self, config: Config, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """As `Saver.put_writes`."""
        ...

    async def aget_tuple(self, config: Config) -> Any | None:
        """As `Saver.get_tuple`."""
        ...

    def alist(
        self,
        config: Config | None,
        *,
        filter: Mapping[str, Any] | None = None,
        before: Config | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[Any]:
        """As `Saver.list`."""
        ...

    async def adelete_thread(self, thread_id: str) -> None:
        """Optional. As `Saver.delete_thread`."""
        ...

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Optional. As `Saver.copy_thread`."""
        ...

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Optional. As `Saver.prune`."""
        ...

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Optional. As `Saver.delete_for_runs`."""
        ...

    async def aget_delta_channel_history(
        self, *, config: Config, channels: Sequence[str]
    ) -> Mapping[str, Any]:
        """Optional. As `Saver.get_delta_channel_history`."""
        ...
