"""The backend: the operations as methods, sync and async. What each one means stands at the sync method."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lineage_reference.steps import arun, run
from lineage_reference.transfer.operations import Operations
from lineage_reference.transfer.records import (
    LATEST_STABLE,
    ContextHandoff,
    ContextTransfer,
    Run,
    StartContext,
    StatusMove,
    ThreadLineage,
)


class Transfers(Operations):
    """The sync half. For savers and adapters that have sync methods."""

    def open_thread(
        self, thread_id: str, provider: str | None = None, checkpoint_id: str | None = None
    ) -> ThreadLineage:
        """A new root thread. With `checkpoint_id` it adopts the saver's thread of that id as it is there."""
        made: ThreadLineage = self._open_thread(thread_id, provider, checkpoint_id).call()
        return made

    def begin_run(self, thread_id: str, provider: str, context: StartContext | None = None) -> Run:
        """Record that a run begins, with its context. Refused: busy, context_pending, stale_context."""
        made: Run = self._begin_run(thread_id, provider, context).call()
        return made

    def record_checkpoint(self, run_id: str, checkpoint_thread: str, checkpoint_id: str) -> None:
        """Record a checkpoint that an active run has reached. It is no stable point."""
        self._record_checkpoint(run_id, checkpoint_thread, checkpoint_id).call()

    def finish_run(self, run_id: str, result: Any) -> Run:
        """Record how a run ended (a `TurnResult`). Its transfers are consumed, whatever the status."""
        made: Run = self._finish_run(run_id, result).call()
        return made

    def abandon_run(self, run_id: str, error: str = "") -> Run:
        """Record that nothing began; also what is left to say of a run whose process died before it did."""
        made: Run = self._abandon_run(run_id).call()
        return made

    def fork(
        self,
        source: str,
        thread_id: str,
        point: str = LATEST_STABLE,
        *,
        receipt: str | None = None,
        created_by: str = "user",
    ) -> ContextTransfer:
        """A new thread and a pending transfer to it, in one transaction; nothing else is read or called.

        `point` is a run of the thread, or a checkpoint that such a run ended with. Refused: running_point,
        unstable_point, unknown_point, no_stable_point, thread_exists.
        """
        made: ContextTransfer = self._fork(source, thread_id, point, receipt, created_by).call()
        return made

    def switch_provider(
        self,
        thread_id: str,
        provider: str,
        *,
        receipt: str | None = None,
        created_by: str = "user",
    ) -> ContextTransfer | None:
        """Another provider, and a pending transfer of what it lacks; None where it lacks nothing."""
        made: ContextTransfer | None = self._switch(thread_id, provider, receipt, created_by).call()
        return made

    def merge_back(
        self, thread_id: str, *, receipt: str | None = None, created_by: str = "user"
    ) -> ContextTransfer:
        """What a fork has gained, to be injected into its parent's next run. Refused: not_a_fork,
        nothing_to_transfer, busy."""
        made: ContextTransfer = self._merge_back(thread_id, receipt, created_by).call()
        return made

    def spawn_subagent(
        self,
        parent: str,
        thread_id: str,
        provider: str,
        task: str,
        *,
        receipt: str | None = None,
        created_by: str = "agent",
    ) -> ContextTransfer:
        """A child thread with an empty view, and a pending transfer that tells it its task."""
        made: ContextTransfer = self._spawn(
            parent, thread_id, provider, task, receipt, created_by
        ).call()
        return made

    def return_result(
        self, thread_id: str, *, receipt: str | None = None, created_by: str = "agent"
    ) -> ContextTransfer:
        """The last item of a subagent's latest stable run, to be injected into its parent's next run.
        Refused: not_a_subagent, no_stable_point, nothing_to_transfer, busy."""
        made: ContextTransfer = self._return_result(thread_id, receipt, created_by).call()
        return made

    def observe_native_children(
        self, thread_id: str, provider: str | None = None
    ) -> Sequence[ContextTransfer]:
        """Record what is new of the subagents that the provider itself started: the new transfers."""
        return run(self._observe(thread_id, provider))

    def resolve_start_context(self, thread_id: str, provider: str, message: str) -> StartContext:
        """What `provider` needs to be given `message`. Calling it again gives the same and calls nobody.

        Refused ``busy`` while another call does the same. What fails is a context of kind ``failure``.
        """
        return run(self._resolve(thread_id, provider))

    def dispatch(
        self,
        thread_id: str,
        message: str,
        provider: str | None = None,
        *,
        receipt: str | None = None,
    ) -> Run:
        """Resolve, begin, hand to the adapter, finish. Refused with the code of what failed before the
        provider worked; the next dispatch then tries again."""
        return run(self._dispatch(thread_id, message, provider, receipt))

    def transfer(self, transfer_id: str) -> ContextTransfer:
        """One transfer as it is now."""
        found: ContextTransfer = self._transfer(transfer_id).call()
        return found

    def transfers(self, thread_id: str) -> Sequence[ContextTransfer]:
        """All transfers from or to a thread, oldest first."""
        found: list[ContextTransfer] = self._transfers(thread_id).call()
        return found

    def history(self, transfer_id: str) -> Sequence[StatusMove]:
        """Every move of a transfer, oldest first."""
        found: list[StatusMove] = self._history(transfer_id).call()
        return found

    def handoff(self, handoff_id: str) -> ContextHandoff:
        """A handoff as it was made."""
        found: ContextHandoff = self._handoff(handoff_id).call()
        return found

    def rebuild(self, handoff_id: str) -> ContextHandoff:
        """The same handoff, made again from its record and the saver. Refused ``source_gone``."""
        return run(self._rebuild(handoff_id))

    def lineage(self, thread_id: str) -> ThreadLineage:
        """Where a thread comes from."""
        found: ThreadLineage = self._lineage(thread_id).call()
        return found

    def children(self, thread_id: str) -> Sequence[ThreadLineage]:
        """The forks and subagents of a thread, oldest first."""
        found: list[ThreadLineage] = self._children(thread_id).call()
        return found

    def run(self, run_id: str) -> Run:
        """One run."""
        found: Run = self._run(run_id).call()
        return found

    def counters(self) -> dict[str, int]:
        """What this handle did to its tables: ``transactions`` that wrote, ``rows`` that were read."""
        return self.store.counters()


class AsyncTransfers(Operations):
    """The async half. Transactions run in threads; adapters and saver are awaited."""

    async def aopen_thread(
        self, thread_id: str, provider: str | None = None, checkpoint_id: str | None = None
    ) -> ThreadLineage:
        """See `Transfers.open_thread`."""
        made: ThreadLineage = await self._open_thread(thread_id, provider, checkpoint_id).acall()
        return made

    async def abegin_run(
        self, thread_id: str, provider: str, context: StartContext | None = None
    ) -> Run:
        """See `Transfers.begin_run`."""
        made: Run = await self._begin_run(thread_id, provider, context).acall()
        return made

    async def arecord_checkpoint(
        self, run_id: str, checkpoint_thread: str, checkpoint_id: str
    ) -> None:
        """See `Transfers.record_checkpoint`."""
        await self._record_checkpoint(run_id, checkpoint_thread, checkpoint_id).acall()

    async def afinish_run(self, run_id: str, result: Any) -> Run:
        """See `Transfers.finish_run`."""
        made: Run = await self._finish_run(run_id, result).acall()
        return made

    async def aabandon_run(self, run_id: str, error: str = "") -> Run:
        """See `Transfers.abandon_run`."""
        made: Run = await self._abandon_run(run_id).acall()
        return made

    async def afork(
        self,
        source: str,
        thread_id: str,
        point: str = LATEST_STABLE,
        *,
        receipt: str | None = None,
        created_by: str = "user",
    ) -> ContextTransfer:
        """See `Transfers.fork`."""
        made: ContextTransfer = await self._fork(
            source, thread_id, point, receipt, created_by
        ).acall()
        return made

    async def aswitch_provider(
        self,
        thread_id: str,
        provider: str,
        *,
        receipt: str | None = None,
        created_by: str = "user",
    ) -> ContextTransfer | None:
        """See `Transfers.switch_provider`."""
        made: ContextTransfer | None = await self._switch(
            thread_id, provider, receipt, created_by
        ).acall()
        return made

    async def amerge_back(
        self, thread_id: str, *, receipt: str | None = None, created_by: str = "user"
    ) -> ContextTransfer:
        """See `Transfers.merge_back`."""
        made: ContextTransfer = await self._merge_back(thread_id, receipt, created_by).acall()
        return made

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
        """See `Transfers.spawn_subagent`."""
        made: ContextTransfer = await self._spawn(
            parent, thread_id, provider, task, receipt, created_by
        ).acall()
        return made

    async def areturn_result(
        self, thread_id: str, *, receipt: str | None = None, created_by: str = "agent"
    ) -> ContextTransfer:
        """See `Transfers.return_result`."""
        made: ContextTransfer = await self._return_result(thread_id, receipt, created_by).acall()
        return made

    async def aobserve_native_children(
        self, thread_id: str, provider: str | None = None
    ) -> Sequence[ContextTransfer]:
        """See `Transfers.observe_native_children`."""
        return await arun(self._observe(thread_id, provider))

    async def aresolve_start_context(
        self, thread_id: str, provider: str, message: str
    ) -> StartContext:
        """See `Transfers.resolve_start_context`."""
        return await arun(self._resolve(thread_id, provider))

    async def adispatch(
        self,
        thread_id: str,
        message: str,
        provider: str | None = None,
        *,
        receipt: str | None = None,
    ) -> Run:
        """See `Transfers.dispatch`."""
        return await arun(self._dispatch(thread_id, message, provider, receipt))

    async def atransfer(self, transfer_id: str) -> ContextTransfer:
        """See `Transfers.transfer`."""
        found: ContextTransfer = await self._transfer(transfer_id).acall()
        return found

    async def atransfers(self, thread_id: str) -> Sequence[ContextTransfer]:
        """See `Transfers.transfers`."""
        found: list[ContextTransfer] = await self._transfers(thread_id).acall()
        return found

    async def ahistory(self, transfer_id: str) -> Sequence[StatusMove]:
        """See `Transfers.history`."""
        found: list[StatusMove] = await self._history(transfer_id).acall()
        return found

    async def ahandoff(self, handoff_id: str) -> ContextHandoff:
        """See `Transfers.handoff`."""
        found: ContextHandoff = await self._handoff(handoff_id).acall()
        return found

    async def arebuild(self, handoff_id: str) -> ContextHandoff:
        """See `Transfers.rebuild`."""
        return await arun(self._rebuild(handoff_id))

    async def alineage(self, thread_id: str) -> ThreadLineage:
        """See `Transfers.lineage`."""
        found: ThreadLineage = await self._lineage(thread_id).acall()
        return found

    async def achildren(self, thread_id: str) -> Sequence[ThreadLineage]:
        """See `Transfers.children`."""
        found: list[ThreadLineage] = await self._children(thread_id).acall()
        return found

    async def arun(self, run_id: str) -> Run:
        """See `Transfers.run`."""
        found: Run = await self._run(run_id).acall()
        return found

    async def acounters(self) -> dict[str, int]:
        """See `Transfers.counters`."""
        return self.store.counters()


class TransferBackend(Transfers, AsyncTransfers):
    """Both halves, for savers and adapters that have both."""
