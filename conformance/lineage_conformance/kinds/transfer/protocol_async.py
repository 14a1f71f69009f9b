"""The protocol of kind ``transfer``, awaited. What each operation means is said in `protocol`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from lineage_conformance.kinds.transfer.adapter import TurnResult
from lineage_conformance.kinds.transfer.records import (
    ContextHandoff,
    ContextTransfer,
    Run,
    StartContext,
    StatusMove,
    ThreadLineage,
)
from lineage_conformance.kinds.transfer.terms import LATEST_STABLE


class AsyncTransfer(Protocol):
    """The async half: the same operations, awaited. It calls the async half of adapters and saver."""

    saver: Any
    """The saver with the checkpoints of the runs."""

    def use(self, provider: Any) -> None:
        """See `Transfer.use`."""
        ...

    async def aopen_thread(
        self, thread_id: str, provider: str | None = None, checkpoint_id: str | None = None
    ) -> ThreadLineage:
        """See `Transfer.open_thread`."""
        ...

    async def abegin_run(
        self, thread_id: str, provider: str, context: StartContext | None = None
    ) -> Run:
        """See `Transfer.begin_run`."""
        ...

    async def arecord_checkpoint(
        self, run_id: str, checkpoint_thread: str, checkpoint_id: str
    ) -> None:
        """See `Transfer.record_checkpoint`."""
        ...

    async def afinish_run(self, run_id: str, result: TurnResult) -> Run:
        """See `Transfer.finish_run`."""
        ...

    async def aabandon_run(self, run_id: str, error: str = "") -> Run:
        """See `Transfer.abandon_run`."""
        ...

    async def afork(
        self,
        source: str,
        thread_id: str,
        point: str = LATEST_STABLE,
        *,
        receipt: str | None = None,
        created_by: str = "user",
    ) -> ContextTransfer:
        """See `Transfer.fork`."""
        ...

    async def aswitch_provider(
        self,
        thread_id: str,
        provider: str,
        *,
        receipt: str | None = None,
        created_by: str = "user",
    ) -> ContextTransfer | None:
        """See `Transfer.switch_provider`."""
        ...

    async def amerge_back(
        self, thread_id: str, *, receipt: str | None = None, created_by: str = "user"
    ) -> ContextTransfer:
        """See `Transfer.merge_back`."""
        ...

    async def aspawn_subagent(
        self,
        parent: str,
        thread_id: str,
        provider: str,
        task: str,
        *,
        receipt: str | None = None,
        created_by: str = "agent",
    ) -> ContextTransfer:
        """See `Transfer.spawn_subagent`."""
        ...

    async def areturn_result(
        self, thread_id: str, *, receipt: str | None = None, created_by: str = "agent"
    ) -> ContextTransfer:
        """See `Transfer.return_result`."""
        ...

    async def aobserve_native_children(
        self, thread_id: str, provider: str | None = None
    ) -> Sequence[ContextTransfer]:
        """See `Transfer.observe_native_children`."""
        ...

    async def aresolve_start_context(
        self, thread_id: str, provider: str, message: str
    ) -> StartContext:
        """See `Transfer.resolve_start_context`."""
        ...

    async def adispatch(
        self,
        thread_id: str,
        message: str,
        provider: str | None = None,
        *,
        receipt: str | None = None,
    ) -> Run:
        """See `Transfer.dispatch`."""
        ...

    async def atransfer(self, transfer_id: str) -> ContextTransfer:
        """See `Transfer.transfer`."""
        ...

    async def atransfers(self, thread_id: str) -> Sequence[ContextTransfer]:
        """See `Transfer.transfers`."""
        ...

    async def ahistory(self, transfer_id: str) -> Sequence[StatusMove]:
        """See `Transfer.history`."""
        ...

    async def ahandoff(self, handoff_id: str) -> ContextHandoff:
        """See `Transfer.handoff`."""
        ...

    async def arebuild(self, handoff_id: str) -> ContextHandoff:
        """See `Transfer.rebuild`."""
        ...

    async def alineage(self, thread_id: str) -> ThreadLineage:
        """See `Transfer.lineage`."""
        ...

    async def achildren(self, thread_id: str) -> Sequence[ThreadLineage]:
        """See `Transfer.children`."""
        ...

    async def arun(self, run_id: str) -> Run:
        """See `Transfer.run`."""
        ...

    async def acounters(self) -> Mapping[str, int]:
        """Optional. See `Transfer.counters`."""
        ...
