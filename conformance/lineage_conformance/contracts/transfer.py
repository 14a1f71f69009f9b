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
from dataclasses import dataclass
from typing import Any, Protocol

TYPES = ("fork", "provider_handoff", "merge_back", "subagent_spawn", "subagent_result")
"""Kinds of relationship, each the type of a transfer."""

STATUSES = (
    "pending", "resolved_native", "resolved_portable", "failed", "consumed", "superseded",
)  # fmt: skip
"""What may be said of a transfer. All but the last two are *open*."""

MOVES: dict[str | None, tuple[str, ...]] = {
    None: ("pending",),
    "pending": ("resolved_native", "resolved_portable", "failed", "superseded"),
    "failed": ("pending", "superseded"),
    "resolved_native": ("consumed", "superseded"),
    "resolved_portable": ("consumed", "superseded"),
    "consumed": (),
    "superseded": (),
}
"""Each status and the ones that may follow. A retry goes from failed over pending, as two moves."""

RESOLUTIONS = ("native_fork", "portable_context", "delta_context", "checkpoint_context")
"""How a transfer was resolved. ``native_fork``: by the provider itself; the other three are the kinds of a
handoff: ``delta_context`` has a base point, ``checkpoint_context`` is one checkpoint that no run is known of,
all of it; ``portable_context`` is everything else."""

CREATORS = ("user", "agent", "system")
"""Who made a transfer. ``system``: the backend itself, where a dispatch needed one or a child was observed."""

LATEST_STABLE = "latest_stable"
"""The point that is the latest stable run of a thread; where it has none, what it began with: the source point
of a fork, an adopted checkpoint."""

CODES = {
    "unknown_thread": "no such thread",
    "thread_exists": "a thread of that id is there already",
    "unknown_provider": "no adapter of that name is in use, or the thread has no provider yet",
    "unknown_point": "no run of the thread, and no checkpoint that one of its runs ended with",
    "running_point": "the run is active, or the checkpoint is one of an active run",
    "unstable_point": "the run did not complete, or left no checkpoint",
    "no_stable_point": "the thread has no stable run and began with none",
    "not_a_fork": "only a fork can be merged back",
    "not_a_subagent": "only a subagent returns a result",
    "nothing_to_transfer": "the target has all of it",
    "busy": "a run of the thread is active, or another call resolves it just now",
    "context_pending": "the provider lacks context: resolve it first",
    "stale_context": "a transfer of the context was consumed or replaced since, or more is missing by now",
    "unknown_run": "no such run",
    "run_ended": "the run has ended",
    "unknown_transfer": "no such transfer or handoff",
    "receipt_conflict": "the receipt belongs to another command",
    "source_gone": "a checkpoint or message that should be transferred is not there",
    "provider_error": "the adapter raised",
    "rollback_unsupported": "a native fork would need a rollback that the provider does not do",
}
"""Codes of refusals, of failures in a `StartContext`, and reasons on a transfer."""


# -- records -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class SourcePoint:
    """How far a conversation is meant: up to and with this run (or, without one, this checkpoint)."""

    thread_id: str
    """Where the run happened; for an inherited point that is an ancestor."""
    run_id: str | None
    checkpoint_thread: str
    """The thread of the saver that holds the checkpoint."""
    checkpoint_id: str
    item_id: str | None = None
    """The last item of the run."""
    native_thread: str | None = None
    """The session of the provider in which the run happened."""
    native_turn: str | None = None
    """What the provider calls the run; without it nothing can be forked *at* the run."""


@dataclass(frozen=True)
class ContextTransfer:
    """One transfer as it stands now."""

    id: str
    type: str
    source_thread: str
    target_thread: str
    source_point: SourcePoint | None
    """None only for a subagent whose parent had no stable point when it was spawned."""
    base_point: SourcePoint | None
    """What the target has already: the last covered run of a provider that comes back; the fork's source
    point of a merge (or the source point of the fork's last consumed merge); else None."""
    source_provider: str | None
    target_provider: str | None
    """Of a fork: None while it is pending."""
    status: str
    resolution: str | None
    created_by: str
    created_at: float
    resolved_at: float | None = None
    consumed_at: float | None = None
    consumed_by: str | None = None
    """The run that it was injected into."""
    handoff_id: str | None = None
    native_thread: str | None = None
    """The session that a native fork made."""
    reason: str | None = None
    """A code: why it failed, or ``rollback_unsupported`` where that made it portable."""
    replaced_by: str | None = None
    """The transfer that superseded it, where there is one."""


@dataclass(frozen=True)
class StatusMove:
    """One recorded move of a transfer; the first is from None to ``pending``."""

    before: str | None
    after: str
    at: float
    reason: str | None = None


@dataclass(frozen=True)
class Cover:
    """One piece of a handoff: where it was read."""

    thread_id: str
    run_id: str | None
    checkpoint_thread: str
    checkpoint_id: str
    items: tuple[str, ...] | None
    """Ids of the messages, in order; None: all messages of the checkpoint."""


@dataclass(frozen=True)
class ContextHandoff:
    """What is injected before a message: a record to keep, and to check later."""

    id: str
    transfer_id: str
    kind: str
    """One of `RESOLUTIONS` but ``native_fork``."""
    covers: Sequence[Cover]
    items: Sequence[Any]
    """The messages, exactly as the saver gives them, in order. Of a spawned subagent: none."""
    text: str
    """The same for a provider that takes text: the text of each item in order (those that have one). Of a
    spawned subagent: its task."""
    digest: str
    """SHA-256 of `text` in UTF-8, as hexadecimal digits."""
    created_at: float


@dataclass(frozen=True)
class ThreadLineage:
    """Where a thread comes from."""

    thread_id: str
    parent_id: str | None
    relationship: str | None
    """``fork`` or ``subagent``; None of a root."""
    root_id: str
    """The thread itself, if it has no parent."""
    provider: str | None
    """The provider that the thread uses next: named when it was opened, spawned or switched, else that of its
    last run; a fork begins with that of its source point."""


@dataclass(frozen=True)
class StartContext:
    """What a provider needs before it can be given a message on a thread."""

    kind: str
    """``nothing``, ``native`` (a fork was made natively), ``delta`` (the first handoff is a delta_context),
    ``portable`` (it is another one), or ``failure``."""
    session: str | None = None
    """The native session to go on in; None: a new one is begun."""
    handoffs: Sequence[ContextHandoff] = ()
    """What is injected with the message: fork, spawn or provider handoff first, then merges and results in the
    order of their creation."""
    transfers: Sequence[str] = ()
    """Ids of the transfers that a run with this context consumes."""
    failure: str | None = None
    """A code, where `kind` is ``failure``. The transfer is then ``failed``; the next call tries again."""
    message: str = ""
    """The failure in words."""


@dataclass(frozen=True)
class Run:
    """One run, as the backend has it."""

    id: str
    thread_id: str
    provider: str
    status: str
    """``active``, ``completed``, ``failed``, ``cancelled``, or ``abandoned`` (nothing began)."""
    native_thread: str | None = None
    native_turn: str | None = None
    checkpoint_thread: str | None = None
    checkpoint_id: str | None = None
    items: tuple[str, ...] = ()


# -- what an adapter speaks --------------------------------------------------------------------------


@dataclass(frozen=True)
class TurnResult:
    """How a turn of a provider ended. Work began: the session has what was injected, whatever the status."""

    status: str
    """``completed``, ``failed`` or ``cancelled``."""
    session: str
    """The native session in which it happened."""
    turn: str | None = None
    """The provider's name of the turn, if it gives one."""
    checkpoint_thread: str | None = None
    checkpoint_id: str | None = None
    """None: the turn left no checkpoint, and is not stable."""
    items: tuple[str, ...] = ()
    """Ids of the turn's own messages, first the user's."""
    error: str = ""


@dataclass(frozen=True)
class Capabilities:
    """What a provider can do. It does not change while the adapter is in use."""

    native_fork: str = "none"
    """``none``; ``latest`` (a copy of a session as it is now); ``at_turn`` (also up to and *with* a turn)."""
    rollback: bool = False
    """Whether turns can be taken from the end of a session, as long as its history is plain."""


@dataclass(frozen=True)
class Child:
    """A subagent that a provider started by itself in a session."""

    session: str
    """The child's own native session: its identity."""
    status: str
    """``running``, ``completed`` or ``failed``."""
    result: TurnResult | None = None
    """Its turn, once it has ended."""


class Provider(Protocol):
    """The sync half of an adapter. An exception from `start` and `send` means: nothing began."""

    name: str
    capabilities: Capabilities

    def start(self, handoffs: Sequence[ContextHandoff], message: str) -> TurnResult:
        """Begin a session with what is handed over, give it the message, and return when the turn ended."""
        ...

    def send(self, session: str, handoffs: Sequence[ContextHandoff], message: str) -> TurnResult:
        """The same in a session that is there."""
        ...

    def fork(self, session: str, turn: str | None = None) -> str:
        """Copy a session up to and with `turn` (None: all of it), and return the copy's name."""
        ...

    def probe(self, session: str) -> str:
        """Whether the history of a session is ``plain`` or ``paginated``; the latter refuses rollback."""
        ...

    def rollback(self, session: str, turns: int) -> None:
        """Take the last `turns` turns off a session. Never asked of one whose history is paginated."""
        ...

    def children(self, session: str) -> Sequence[Child]:
        """The subagents that the provider started in a session, oldest first, as they are now."""
        ...


class AsyncProvider(Protocol):
    """The async half of an adapter, which the async half of a backend calls."""

    name: str
    capabilities: Capabilities

    async def astart(self, handoffs: Sequence[ContextHandoff], message: str) -> TurnResult:
        """See `Provider.start`."""
        ...

    async def asend(
        self, session: str, handoffs: Sequence[ContextHandoff], message: str
    ) -> TurnResult:
        """See `Provider.send`."""
        ...

    async def afork(self, session: str, turn: str | None = None) -> str:
        """See `Provider.fork`."""
        ...

    async def aprobe(self, session: str) -> str:
        """See `Provider.probe`."""
        ...

    async def arollback(self, session: str, turns: int) -> None:
        """See `Provider.rollback`."""
        ...

    async def achildren(self, session: str) -> Sequence[Child]:
        """See `Provider.children`."""
        ...


# -- the backend -------------------------------------------------------------------------------------


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
