"""Records of a transfer: what is kept, what is said, and what an adapter answers. Plain data, no logic.

The words: a *thread* is a conversation of the application; a *provider* works on it in a native *session* of
its own; a *run* is one message and all that one provider makes of it. A thread's *view* is what an agent on it
must know, piece by piece; it only grows at its end. A session covers a prefix of the view.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

OPEN = ("pending", "failed", "resolved_native", "resolved_portable")
"""The statuses of a transfer that may still be consumed."""

RESOLVED = ("resolved_native", "resolved_portable")

MOVES: dict[str | None, tuple[str, ...]] = {
    None: ("pending",),
    "pending": ("resolved_native", "resolved_portable", "failed", "superseded"),
    "failed": ("pending", "superseded"),
    "resolved_native": ("consumed", "superseded"),
    "resolved_portable": ("consumed", "superseded"),
    "consumed": (),
    "superseded": (),
}
"""Each status and the ones that may follow."""

CREATORS = ("user", "agent", "system")

LATEST_STABLE = "latest_stable"
"""The point that is the latest stable run, or else what the thread began with."""

BRINGING = ("merge_back", "subagent_result")
"""Types of transfers that append what they bring to the view of their target."""

WORDS = {
    "unknown_thread": "there is no such thread",
    "thread_exists": "a thread of that id is there already",
    "unknown_provider": "no adapter of that name is in use, or the thread has no provider yet",
    "unknown_point": "the thread has no such run, and none that ended with such a checkpoint",
    "running_point": "that run is still active",
    "unstable_point": "that run did not complete, or it left no checkpoint",
    "no_stable_point": "the thread has no stable run and began with none",
    "not_a_fork": "only a fork can be merged back",
    "not_a_subagent": "only a subagent returns a result",
    "nothing_to_transfer": "the other side has all of it",
    "busy": "a run of the thread is active, or another call resolves it just now",
    "context_pending": "the provider lacks context that has to be resolved first",
    "stale_context": "the context was consumed, replaced or overtaken since it was resolved",
    "unknown_run": "there is no such run",
    "run_ended": "the run has ended",
    "unknown_transfer": "there is no such transfer or handoff",
    "receipt_conflict": "the receipt belongs to another command",
    "source_gone": "a checkpoint or a message that should be transferred is not there",
    "provider_error": "the adapter raised",
    "rollback_unsupported": "the provider cannot take back the turns after the point",
}
"""The codes of refusals and failures, in words."""


class Refused(Exception):
    """A command that was not carried out and changed nothing. `code` says why (see `WORDS`)."""

    def __init__(self, code: str, detail: str = "") -> None:
        super().__init__(f"{WORDS[code]}: {detail}" if detail else WORDS[code])
        self.code = code


@dataclass(frozen=True)
class SourcePoint:
    """How far a conversation is meant: up to and with a run or, where no run is known, a checkpoint."""

    thread_id: str
    run_id: str | None
    checkpoint_thread: str
    checkpoint_id: str
    item_id: str | None = None
    native_thread: str | None = None
    native_turn: str | None = None


@dataclass(frozen=True)
class ContextTransfer:
    """One transfer as it stands. Times are seconds since the epoch."""

    id: str
    type: str
    source_thread: str
    target_thread: str
    source_point: SourcePoint | None
    base_point: SourcePoint | None
    source_provider: str | None
    target_provider: str | None
    status: str
    resolution: str | None
    created_by: str
    created_at: float
    resolved_at: float | None = None
    consumed_at: float | None = None
    consumed_by: str | None = None
    handoff_id: str | None = None
    native_thread: str | None = None
    reason: str | None = None
    replaced_by: str | None = None


@dataclass(frozen=True)
class StatusMove:
    """One move of a transfer; the first is from None to ``pending``."""

    before: str | None
    after: str
    at: float
    reason: str | None = None


@dataclass(frozen=True)
class Cover:
    """Where one piece of a handoff is read: message ids at a checkpoint (None: all of its messages)."""

    thread_id: str
    run_id: str | None
    checkpoint_thread: str
    checkpoint_id: str
    items: tuple[str, ...] | None


@dataclass(frozen=True)
class ContextHandoff:
    """What is injected before a message; kept, so that it can be checked later."""

    id: str
    transfer_id: str
    kind: str
    covers: Sequence[Cover]
    items: Sequence[Any]
    text: str
    digest: str
    """SHA-256 of `text` in UTF-8, in hexadecimal."""
    created_at: float


@dataclass(frozen=True)
class ThreadLineage:
    """Where a thread comes from, the provider that it uses next, and its run that is active, if any."""

    thread_id: str
    parent_id: str | None
    relationship: str | None
    root_id: str
    provider: str | None
    active_run: str | None = None


@dataclass(frozen=True)
class StartContext:
    """What a provider needs before it is given a message: a session, handoffs, or why it cannot be had."""

    kind: str
    """``nothing``, ``native``, ``delta``, ``portable`` or ``failure``."""
    session: str | None = None
    handoffs: Sequence[ContextHandoff] = ()
    transfers: Sequence[str] = ()
    failure: str | None = None
    message: str = ""


@dataclass(frozen=True)
class Run:
    """One run: ``active``, ``completed``, ``failed``, ``cancelled`` or ``abandoned`` (nothing began)."""

    id: str
    thread_id: str
    provider: str
    status: str
    native_thread: str | None = None
    native_turn: str | None = None
    checkpoint_thread: str | None = None
    checkpoint_id: str | None = None
    items: tuple[str, ...] = ()


@dataclass(frozen=True)
class TurnResult:
    """How a turn of a provider ended, as an adapter tells it. See `lineage_reference.transfer.adapters`."""

    status: str
    session: str
    turn: str | None = None
    checkpoint_thread: str | None = None
    checkpoint_id: str | None = None
    items: tuple[str, ...] = ()
    error: str = ""


@dataclass(frozen=True)
class Capabilities:
    """What a provider can do: `native_fork` is ``none``, ``latest`` or ``at_turn``."""

    native_fork: str = "none"
    rollback: bool = False


@dataclass(frozen=True)
class Child:
    """A subagent that a provider started by itself; `status` is ``running``, ``completed`` or ``failed``."""

    session: str
    status: str
    result: TurnResult | None = None


def dump(record: Any) -> str | None:
    """A point, run or transfer as JSON text; None stays None."""
    return None if record is None else json.dumps(dataclasses.asdict(record))


def load_point(text: str | None) -> SourcePoint | None:
    """The point that `dump` wrote."""
    return None if text is None else SourcePoint(**json.loads(text))


def load_transfer(text: str | None) -> ContextTransfer | None:
    """The transfer that `dump` wrote."""
    if text is None:
        return None
    fields = json.loads(text)
    for name in ("source_point", "base_point"):
        fields[name] = None if fields[name] is None else SourcePoint(**fields[name])
    return ContextTransfer(**fields)


def load_run(text: str) -> Run:
    """The run that `dump` wrote."""
    fields = json.loads(text)
    return Run(**{**fields, "items": tuple(fields["items"])})
