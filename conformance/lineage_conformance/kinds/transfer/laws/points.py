"""Transfer: points, refusals, receipts, and the children of a provider's own."""

from __future__ import annotations

from collections.abc import Iterator

from lineage_conformance.kinds.transfer.case import History, text
from lineage_conformance.kinds.transfer.laws.transfer import SOURCE, TOLD, told
from lineage_conformance.law import Level, Stake


@told(
    "transfer.only-stable-points",
    "refused:*_point*",
    about="fork",
    stake=Stake.FAILS,
    source=SOURCE + "fork: running_point, unstable_point, unknown_point, no_stable_point",
    meaning="A fork begins in the middle of a run: with tool calls that have no answer.",
)
def only_stable_points() -> Iterator[History]:
    """An explicit point of an active run, of one that failed, or of one without a checkpoint is refused."""
    yield text("open:p1 run begin fork:t0n2 fork:t0n2=checkpoint end fork:t0n2=checkpoint")
    yield text("open:p1 run run=failed fork:t0n2")
    yield text("open:p1 run run=unkept fork:t0n2")
    yield text(
        "open:p1 fork run=failed run=unkept fork fork:t0n1 fork:t0n2 run fork:t0n3 fork:t0n2"
    )


@told(
    "transfer.latest-stable-ignores-the-running",
    "point:*",
    about="fork",
    stake=Stake.CHANGED,
    source=SOURCE + "the latest completed, checkpointed run",
    meaning="A fork made while the agent works has half an answer, or is refused for no reason.",
)
def latest_stable_ignores_the_running() -> Iterator[History]:
    """The point of a transfer is the run that was asked for, or the latest that completed with a checkpoint."""
    yield text(
        "open:p1 run run=tool begin fork run=failed end=unkept fork fork:t0n1 fork:t0n2=checkpoint"
    )
    yield text("open:p1 run fork run:t1 begin:t1 merge:t1 end run:t0 spawn:t0 switch:t1p2 run:t1")
    yield text("open:p1n1 fork fork:t1 run:t2 run:t0 spawn:t1p2")


@told(
    "transfer.context-in-use-stays",
    "refused:busy* refused:context_pending*",
    about="begin_run finish_run switch_provider",
    stake=Stake.LOST,
    source=SOURCE + "what an active run was begun with is settled when that run ends",
    meaning="Two runs at once on one thread; or a run without what its agent had to know.",
)
def context_in_use_stays() -> Iterator[History]:
    """One run at a time: none begins beside it or without its context, and nothing replaces what it was begun with."""
    yield text("open:p1 run begin run begin end fork begin:t1 run:t1p2 end:t1")
    yield text("open:p4 run fork run:t1 merge:t0 begin:t0 run:t1 merge:t0 end:t0 merge:t0")
    yield text("open:p1 run begin:p2 switch:p3 switch:p1 end switch:p3")


@told(
    "transfer.nothing-is-not-transferred",
    "refused:nothing_to_transfer* refused:not_a_*",
    about="merge_back return_result",
    stake=Stake.METADATA,
    source=SOURCE + "CODES",
    meaning="Empty transfers that say something was merged.",
)
def nothing_is_not_transferred() -> Iterator[History]:
    """A merge or a result that has nothing new is refused, and so is one of a thread that is no fork or no subagent."""
    yield text(
        "open:p1 run merge:t0n1 result:t0n1 fork merge:t0 run:t1=failed merge:t0 run:t1 merge:t0 run:t0 merge:t0"
    )
    yield text("open:p1 run spawn:p2 result:t0 run:t1 result:t0 run:t0 result:t0 merge:t1n1")


@told(
    "transfer.refusals-are-named",
    "code:*",
    stake=Stake.COST,
    level=Level.SHOULD,
    source=SOURCE + "a refusal is an exception with an attribute code, one of CODES",
    meaning="A caller cannot tell a point that will be stable soon from one that never was.",
)
def refusals_are_named() -> Iterator[History]:
    """A refusal says which it is, by its code."""
    yield text("open:p1 fork run=failed begin fork:t0n2 run end fork:t0n1 merge:t0n1 result:t0n1")
    yield text("open:p1 run fork merge:t0 begin:t1")


@told(
    "transfer.receipts-act-once",
    "receipt:*",
    about="fork dispatch merge_back switch_provider spawn_subagent return_result",
    stake=Stake.REPEATED,
    source=SOURCE
    + "a command that is repeated with one receipt acts once and returns what the first returned",
    meaning="A request that was sent twice, since its answer was lost, forks twice or asks the agent twice.",
)
def receipts_act_once() -> Iterator[History]:
    """A command that is repeated with its receipt does nothing, and returns what it returned."""
    yield text(
        "open:p1 run again fork again run:t1 again merge:t0 again run:t0 again switch:p2 again"
    )
    yield text("open:p1 run spawn:p2 again run:t1 result:t0 again run:t0 again run:p3=failed again")


@told(
    "transfer.children-are-observed-once",
    "observed:*",
    about="observe_native_children",
    stake=Stake.REPEATED,
    source=SOURCE + "observe_native_children: none for a second look at the same",
    meaning="Each look at a session makes its subagents anew, or a result is never seen.",
)
def children_are_observed_once() -> Iterator[History]:
    """A child of a provider's own becomes one thread and its result one transfer, however often it is observed."""
    yield text("open:p1 run bear observe grow observe bear=ok bear=failed observe run")
    yield text("open:p2 run bear=tool observe run:t1 bear:t1=ok observe:t1 run:t0p1 run:t2")


HISTORY_LAWS = tuple(TOLD)
"""Ids of all laws that one play of a history judges."""
