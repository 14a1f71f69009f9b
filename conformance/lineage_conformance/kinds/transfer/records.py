"""What a backend of kind ``transfer`` keeps and gives back: transfers, handoffs, threads, contexts and runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


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
