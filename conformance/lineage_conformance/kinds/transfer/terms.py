"""The words of kind ``transfer``: types, statuses and their moves, resolutions, and the codes of refusals."""

from __future__ import annotations

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
