"""The protocol of kind ``transfer``: context that moves between threads and between providers of agents.

A *thread* is a conversation of the application. Any number of *providers* may work on it, each in a native
session of its own. A *run* is one message of the user and all that one provider makes of it. A thread has a
*view*: the list of what an agent on it must know. The view only grows at its end:

* a run that is *stable* (completed, with a checkpoint) appends itself, with its items, when it finishes;
* a fork begins with the view of its source up to and with the source point;
* a merge of a fork, and the result of a subagent, append what they bring when they are consumed, just before
  the run that they were injected into.

A provider's session *covers* a prefix of the view. Each run covers all there is; what a provider lacks is what
stands behind its prefix, and that, no more and no less, is transferred to it before its next run.

Who writes what. Adapters (`Provider`) run agents and leave the messages of a run in a checkpoint of the
`saver`, channel ``messages``, namespace ``""``: *all* messages of the native session, those that were injected
included, and perhaps a summary in place of older ones. `TurnResult` says where the checkpoint is and which
message ids are the run's own. The backend writes nothing to the saver. It keeps threads, runs, transfers,
handoffs and receipts, and reads messages with ``get_tuple`` at the checkpoint of the very run they belong to:
the items of a run are the messages with its ids, in the order of the ids, at its own checkpoint.

What it costs. A fork is one transaction, calls no provider, touches nothing of the saver. Resolving reads one
checkpoint for each run that it transfers and no other, and no rows of runs that it does not transfer.

What an active run was begun with is settled when that run ends. Until then whatever would supersede one of
its transfers (a merge, a result, a switch, a resolution of the thread) is refused ``busy``.

A refusal is an exception with an attribute ``code``, one of `CODES`; it changes nothing. Times are seconds
since the epoch. Records need only have the attributes named here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from lineage_conformance.kinds.transfer.adapter import TurnResult
from lineage_conformance.kinds.transfer.protocol_async import AsyncTransfer
from lineage_conformance.kinds.transfer.records import (
    ContextHandoff,
    ContextTransfer,
    Run,
    StartContext,
    StatusMove,
    ThreadLineage,
)
from lineage_conformance.kinds.transfer.terms import LATEST_STABLE

__all__ = ["AsyncTransfer", "Transfer"]


class Transfer(Protocol):
    """The sync half: the orchestrator of threads, transfers and receipts.

    A `receipt` is any text. A command that is repeated with one receipt acts once and returns what the first
    returned; a command that raised has not used its receipt. The same receipt for another command, or
    another first argument, is refused (``receipt_conflict``).
    """

    saver: Any
    """The saver with the checkpoints of the runs. The laws write to it, in the place of real agents."""

    def use(self, provider: Any) -> None:
        """Register an adapter under its `name`; one of the same name is replaced. Kept in no store."""
        ...

    def open_thread(
        self, thread_id: str, provider: str | None = None, checkpoint_id: str | None = None
    ) -> ThreadLineage:
        """A new root. With `checkpoint_id` it adopts what the saver's thread of that id holds there: its view
        begins with that checkpoint, all of its messages, of which no run is known."""
        ...

    def begin_run(self, thread_id: str, provider: str, context: StartContext | None = None) -> Run:
        """Record that a run begins, with the context that was resolved for it. Sets the thread's provider.

        Refused: ``busy``; ``context_pending`` without a context where one is needed; ``stale_context``.
        """
        ...

    def record_checkpoint(self, run_id: str, checkpoint_thread: str, checkpoint_id: str) -> None:
        """Record a checkpoint that an active run has reached. It is no stable point."""
        ...

    def finish_run(self, run_id: str, result: TurnResult) -> Run:
        """Record how a run ended. Consumes the transfers of its context whatever the status, binds the session
        to the thread and provider, and, if the run is stable, makes it the latest stable run."""
        ...

    def abandon_run(self, run_id: str, error: str = "") -> Run:
        """Record that nothing began: its transfers are as they were, to be tried again."""
        ...

    def fork(
        self,
        source: str,
        thread_id: str,
        point: str = LATEST_STABLE,
        *,
        receipt: str | None = None,
        created_by: str = "user",
    ) -> ContextTransfer:
        """Make the thread `thread_id`, and a pending transfer to it; nothing else is read, made or called.

        `point` is `LATEST_STABLE`, the id of a run of the thread itself, or the id of a checkpoint that such
        a run ended with (or that the thread adopted). Runs that are active do not count for the latest.
        Refused: ``running_point``, ``unstable_point``, ``unknown_point``, ``no_stable_point``.
        """
        ...

    def switch_provider(
        self,
        thread_id: str,
        provider: str,
        *,
        receipt: str | None = None,
        created_by: str = "user",
    ) -> ContextTransfer | None:
        """Let a thread go on with another provider: a new pending transfer of type ``provider_handoff``, or None
        where that provider lacks nothing of the view, or the transfer that the thread begins with is still
        open. Any other open provider handoff of the thread is superseded either way."""
        ...

    def merge_back(
        self, thread_id: str, *, receipt: str | None = None, created_by: str = "user"
    ) -> ContextTransfer:
        """Bring what a fork has gained to its parent: all of its view from the base point (its own source point,
        or the source point of its last consumed merge) to its latest stable run, runs merged into it included.

        Pending until the parent's next run, whichever provider that is for; the parent's provider stays.
        An open merge of the same fork is superseded by this one. Refused: ``not_a_fork``,
        ``nothing_to_transfer``.
        """
        ...

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
        """Make a child thread with an empty view and a pending transfer that will tell it its task. Allowed while
        a run of the parent is active: its source point is the latest stable one, None if there is none."""
        ...

    def return_result(
        self, thread_id: str, *, receipt: str | None = None, created_by: str = "agent"
    ) -> ContextTransfer:
        """Bring the last item of a subagent's latest stable run to its parent, to be injected into the parent's
        next run. An open result of the same child is superseded. Refused: ``not_a_subagent``,
        ``no_stable_point``, ``nothing_to_transfer`` (that run's result was consumed)."""
        ...

    def observe_native_children(
        self, thread_id: str, provider: str | None = None
    ) -> Sequence[ContextTransfer]:
        """Ask the provider for the children of its session on a thread, and record what is new: a child thread
        with a consumed ``subagent_spawn``, and for one that completed its run and a consumed
        ``subagent_result``. Both are created by ``system`` and go pending, resolved_native, consumed at once:
        the provider has told its session already, so the parent's view stays. Otherwise the graph is that of
        `spawn_subagent` and `return_result`. The new transfers; none for a second look at the same. No run of the
        application is begun in a child before its own turn was observed: what follows then is not defined.
        """
        ...

    def resolve_start_context(self, thread_id: str, provider: str, message: str) -> StartContext:
        """What `provider` needs to be given `message` on the thread. The one entry to every resolution.

        The transfer that the thread begins with (fork, spawn), while it is open, is resolved for `provider`.
        A fork is native if its source run is of the same provider, with a native thread, and that can fork:
        at the native turn where both the turn is known and ``at_turn`` is offered; else the latest, rolled
        back by the terminal turns (completed, failed, cancelled) that its session had after the source run.
        A rollback is asked for only if the provider has one and `probe`, called before the fork, says
        ``plain``; else the fork is portable and its reason ``rollback_unsupported``. It is portable, too,
        where a run of that session is active and the latest would have to be forked.

        Else what the provider's session lacks of the view becomes a ``provider_handoff`` (made now, by
        ``system``, if no open one to this provider is there). One that no longer says what is missing is
        superseded by one that does. A fork that was resolved for another provider is superseded likewise.

        Open merges and results are resolved too. Nothing is consumed. Called again it gives the same context,
        with the same handoffs, and calls no provider; two calls at once resolve once: the second waits or is
        refused ``busy``. What fails (``source_gone``, ``provider_error``) is a context of kind ``failure``.
        """
        ...

    def dispatch(
        self,
        thread_id: str,
        message: str,
        provider: str | None = None,
        *,
        receipt: str | None = None,
    ) -> Run:
        """The whole path: resolve, begin, hand to the adapter (`Provider.start` or `send`), finish.

        None: the thread's provider. Raises the code of a failed context, or ``provider_error`` where the
        adapter raised; the run is then abandoned, and the next dispatch uses the same resolution again.
        """
        ...

    def transfer(self, transfer_id: str) -> ContextTransfer:
        """One transfer as it is now."""
        ...

    def transfers(self, thread_id: str) -> Sequence[ContextTransfer]:
        """All transfers from or to a thread, in the order of their creation."""
        ...

    def history(self, transfer_id: str) -> Sequence[StatusMove]:
        """Every move of a transfer, oldest first."""
        ...

    def handoff(self, handoff_id: str) -> ContextHandoff:
        """A handoff as it was made."""
        ...

    def rebuild(self, handoff_id: str) -> ContextHandoff:
        """The same handoff, made again from what its record says and what the saver holds. Writes nothing."""
        ...

    def lineage(self, thread_id: str) -> ThreadLineage:
        """Where a thread comes from."""
        ...

    def children(self, thread_id: str) -> Sequence[ThreadLineage]:
        """The forks and subagents of a thread, in the order of their creation."""
        ...

    def run(self, run_id: str) -> Run:
        """One run."""
        ...

    def counters(self) -> Mapping[str, int]:
        """Optional. What this handle did to its own tables so far: ``transactions`` that wrote, ``rows`` read."""
        ...
