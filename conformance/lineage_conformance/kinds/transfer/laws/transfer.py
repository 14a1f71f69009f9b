"""Transfer: what is said on one thread reaches another, or another provider, once, whole, and on record."""

from __future__ import annotations

import fnmatch
import functools
from collections.abc import Callable, Iterator
from typing import Any

from lineage_conformance.kinds.transfer.case import History, text
from lineage_conformance.kinds.transfer.player import Play, played
from lineage_conformance.law import Law, Level, Stake, law
from lineage_conformance.trace import Diff

SOURCE = "kinds.transfer.protocol: "

transfer = functools.partial(
    law, kind="transfer", decode=History.from_json, faces=("sync", "async")
)


@played
def history(play: Play, case: History) -> Iterator[Diff]:
    """Play a history; the first step that differs ends it."""
    yield from play.play(case)


def lens(patterns: str, about: str = "") -> Callable[[Diff], bool]:
    """A lens from patterns over ``kind:path``. What is raised counts for the law that commands are carried out, and
    for those that are `about` the operation that raised; others cannot be told then."""
    wanted = patterns.split()
    wanted += [f"{name}:{how}" for name in about.split() for how in ("raises", "found")]

    def matches(diff: Diff) -> bool:
        return any(fnmatch.fnmatchcase(diff.where, pattern) for pattern in wanted)

    matches.patterns = patterns  # type: ignore[attr-defined]  # what of it is observed
    return matches


def told(id: str, kinds: str, about: str = "", **options: Any) -> Callable[[Any], Law]:
    """A law about histories: `kinds` are the differences that break it, as what operations raise that it is `about`."""
    options.setdefault("level", Level.MUST)
    if id != CARRIED_OUT:
        options["after"] = (CARRIED_OUT, *options.get("after", ()))
    TOLD.append(id)
    made: Callable[[Any], Law] = transfer(
        id, check=history, focus="transfer", lens=lens(kinds, about), **options
    )
    return made


CARRIED_OUT = "transfer.commands-are-carried-out"

TOLD: list[str] = []
"""Ids of the laws that one play of a history judges."""


@told(
    CARRIED_OUT,
    "*:raises *:found graph:* run:* calls:* creator:*",
    stake=Stake.FAILS,
    source=SOURCE + "what each command makes, and what an adapter is asked for",
    meaning="A command raises, makes the wrong transfer, or calls another provider than it was told to.",
)
def commands_are_carried_out() -> Iterator[History]:
    """Runs, forks, switches, merges, subagents and dispatches make the transfers that they should, and no others."""
    yield text("open:p1 run run=tool fork run:t1 merge run:t0 switch:p2 run run:p3 run:p1")
    yield text(
        "open:p4 run begin end=summary begin drop run spawn:p2 run:t1 result:t0 run:t0 resolve:p2"
    )
    yield text("open:p2n1 run fork fork:t1 run:t2 run:t1p5 merge:t1 run:t1 run:t0")


@told(
    "transfer.nothing-before-the-first-dispatch",
    "lazy:* status:pending",
    about="fork switch_provider merge_back spawn_subagent return_result",
    stake=Stake.COST,
    source=SOURCE
    + "fork makes the thread and a pending transfer; nothing else is read, made or called",
    meaning="Each fork that nobody uses costs a native session, or a copy of the whole conversation.",
)
def nothing_before_the_first_dispatch() -> Iterator[History]:
    """Fork, switch, merge, spawn and return call no provider: a transfer is pending until a dispatch needs it."""
    yield text("open:p1 run fork fork:t0n1 switch:t0p2")
    yield text("open:p2 run fork run:t1 merge:t1 spawn:p1 run:t2 result:t2 switch:t0p3")


@told(
    "transfer.exactly-what-is-missing",
    "slice:missing slice:order knows:*",
    about="dispatch",
    stake=Stake.LOST,
    source=SOURCE + "what stands behind the covered prefix of the view, no more and no less",
    meaning="An agent does not know a part of the conversation, or is told it twice.",
)
def exactly_what_is_missing() -> Iterator[History]:
    """A provider is handed exactly the items of the view that its session does not cover, in their order."""
    yield text("open:p1 run run:p2 run:p2=tool run:p1 run:p3 run:p2 run:p1")
    yield text("open:p4 run run=summary run=unkept run=failed fork run:t1 run:t1p2 run:t0p2")
    yield text("open:p2n1 run run:p4=empty fork:t0n1 run:t1p4 run:t1p2 run:t1p4")
    yield text("open:p4 run fork run:t1 merge:t1 run:t0=failed run:t0p3 run:t0p4")


@told(
    "transfer.merge-brings-the-gain",
    "slice:merge",
    about="merge_back",
    stake=Stake.LOST,
    after=("transfer.exactly-what-is-missing",),
    source=SOURCE + "merge_back: from the base point to the fork's latest stable run",
    meaning="A merge tells the thread what it knows already, or drops what the fork found out.",
)
def merge_brings_the_gain() -> Iterator[History]:
    """A merge injects what the fork has gained since it began or was last merged, and none of what it began with."""
    yield text("open:p4 run run fork:t0n1 run:t1 run:t1=tool run:t0 merge:t0 run:t0")
    yield text("open:p1 run fork run:t1 merge:t0 run:t0 run:t1 run:t1 merge:t0 run:t0")
    yield text("open:p4 run fork run:t1 fork:t1 run:t2 merge:t1 run:t1 merge:t0 run:t0")


@told(
    "transfer.result-is-the-last-item",
    "slice:result",
    about="return_result",
    stake=Stake.CHANGED,
    after=("transfer.exactly-what-is-missing",),
    source=SOURCE + "return_result: the last item of the subagent's latest stable run",
    meaning="The parent is flooded with its subagent's tool calls, or given a stale answer.",
)
def result_is_the_last_item() -> Iterator[History]:
    """The result of a subagent is the last item of its latest stable run, and nothing of how it got there."""
    yield text(
        "open:p1 run spawn:p4 run:t1=tool result:t0 run:t0 run:t1 run:t1=failed result:t0 run:t0"
    )


@told(
    "transfer.returning-is-a-delta",
    "base:*",
    stake=Stake.METADATA,
    source=SOURCE + "base_point: the last covered run, or the fork's own source point",
    meaning="Nobody can tell from the record what a transfer was added to.",
)
def returning_is_a_delta() -> Iterator[History]:
    """A transfer to who has a part already names the last run of that part as its base point; others have none."""
    yield text("open:p1 run run:p2 run:p1 run:p3 run:p2")
    yield text("open:p1 run fork run:t1 merge:t0 run:t0 run:t1 merge:t0 run:t0 switch:t1p2 run:t1")


@told(
    "transfer.native-where-it-can",
    "choice:*",
    about="fork",
    stake=Stake.COST,
    source=SOURCE
    + "resolve_start_context: native if the source run is of the same provider, and that can fork",
    meaning="Sessions are rebuilt from text although the provider could fork them, or a fork is asked of one "
    "that cannot.",
)
def native_where_it_can() -> Iterator[History]:
    """A fork is native where its source run is of the same provider and that can fork there, else portable."""
    yield text("open:p1 run run fork:t0n1 run:t1 fork:t0n1 run:t2p2 fork run:t3")
    yield text("open:p2 run=unnamed run fork run:t1 fork:t0n1 run:t2 begin:t0 fork:t0n1 run:t3")
    yield text("open:p3 run run fork run:t1 fork:t0n1 run:t2")
    yield text("open:p4 run fork run:t1")
    yield text("open:p5 run run fork run:t1 fork:t0n1 run:t2")
    yield text("open:p1 run:p2 run:p1 fork:t0n1 run:t1p1 fork:t0n2 run:t2p1")
    yield text("open:p1n1 fork run:t1 run:t0")


@told(
    "transfer.fork-includes-its-turn",
    "boundary:*",
    about="fork",
    stake=Stake.CHANGED,
    source="adapters: the boundary of a native fork is the last turn that it keeps",
    meaning="The fork forgets the very run that it was made at, or knows one that came later.",
)
def fork_includes_its_turn() -> Iterator[History]:
    """A native fork is asked of the session of its source run: at that turn, or of all where no turn is named."""
    yield text("open:p1 run run run fork:t0n2 run:t1 fork:t1 run:t2 fork run:t3")
    yield text("open:p1 run run=unnamed fork run:t1 fork:t1 fork:t2 run:t3")


@told(
    "transfer.rollback-by-the-later-turns",
    "rollback:*",
    about="fork",
    stake=Stake.CHANGED,
    source=SOURCE
    + "the latest, rolled back by the terminal turns that its session had after the source run",
    meaning="A fork begins with turns that came after it, or has lost some of its own.",
)
def rollback_by_the_later_turns() -> Iterator[History]:
    """Where only the latest can be forked, the copy is rolled back by every turn that ended after the source run."""
    yield text("open:p2 run run run=failed run=cancelled fork:t0n1 run:t1 fork:t0n2 run:t2")
    yield text("open:p2 run run:p4 run:p2 run:p4 begin:t0p4 drop fork:t0n1 run:t1p2")
    yield text("open:p1 run=unnamed run run=unkept fork:t0n1 run:t1")


@told(
    "transfer.probe-before-rollback",
    "probe:* reason:*",
    about="fork",
    stake=Stake.FAILS,
    after=("transfer.native-where-it-can",),
    source=SOURCE
    + "a provider with paginated history refuses rollback: that is reported, not attempted",
    meaning="A rollback fails halfway and leaves a session that nobody knows of.",
)
def probe_before_rollback() -> Iterator[History]:
    """History is probed before a rollback; if it is paginated none is requested: the fork is portable and says why."""
    yield text("open:p3 run run fork:t0n1 run:t1 fork run:t2")
    yield text("open:p2 run run fork:t0n1 run:t1")
    yield text("open:p5 run run fork:t0n1 run:t1")


@told(
    "transfer.handoff-is-what-was-injected",
    "handoff:*",
    about="handoff rebuild",
    stake=Stake.METADATA,
    source=SOURCE + "ContextHandoff: a record to keep, and to check later",
    meaning="An audit of what an agent was told shows something else than what it was told.",
)
def handoff_is_what_was_injected() -> Iterator[History]:
    """A handoff as recorded, and as rebuilt from its record, equals what the provider was given, text and items."""
    yield text("open:p1 run=tool run=empty run:p2 run:p2=summary run:p1")
    yield text("open:p4n1 run fork run:t1=tool merge:t0 run:t0 spawn:p2 run:t2 result:t0 run:t0")


@told(
    "transfer.moves-are-recorded",
    "moves:*",
    about="history",
    stake=Stake.METADATA,
    source=SOURCE + "MOVES, and history: every move of a transfer, oldest first",
    meaning="What became of a transfer cannot be told.",
)
def moves_are_recorded() -> Iterator[History]:
    """A transfer makes only the moves of the contract, and each one is in its history, in order and with its time."""
    yield text("open:p1 run run fork:t0n1 fail:t0p1=fork run:t1 run:t1")
    yield text(
        "open:p4 run fork run:t1 merge:t0 run:t1 merge:t0 run:t0 switch:t0p1 switch:t0p2 run:t0"
    )
    yield text("open:p1 run run:n1 run:p2 heal run:p2 bear=ok observe")


@told(
    "transfer.consumed-once",
    "consumed:* status:consumed",
    about="dispatch finish_run",
    stake=Stake.LOST,
    source=SOURCE + "finish_run consumes the transfers of its context, whatever the status",
    meaning="The same context is injected into every run, or is lost with a run that failed.",
)
def consumed_once() -> Iterator[History]:
    """A transfer is consumed by the run that it was injected into, even if that fails, and by no other."""
    yield text("open:p4 run fork run:t1=failed run:t1 merge:t0 run:t0 run:t0")
    yield text(
        "open:p1 run spawn:p2 run:t1 run:t1 result:t0 run:t0=cancelled run:t0 run:t0p2 run:t0p2"
    )
    yield text("open:p1 run fork begin:t1 end run:t1 begin:t0p2 end run:t0p2")


@told(
    "transfer.superseded-when-replaced",
    "superseded:* status:superseded",
    about="switch_provider",
    stake=Stake.REPEATED,
    source=SOURCE + "what is superseded, and by what",
    meaning="Two transfers say the same, and both are injected; or one is that is out of date.",
)
def superseded_when_replaced() -> Iterator[History]:
    """An open transfer that another one takes the place of is superseded and names it: it is never injected."""
    yield text("open:p4 run fork run:t1 merge:t0 run:t1 merge:t0 run:t0")
    yield text("open:p1 run switch:p2 switch:p3 run")
    yield text("open:p1 run begin resolve:p2 end run:p2")
    yield text("open:p4 run fork fail:t1p4=start run:t1 run:t1p2")
    yield text("open:p1 run spawn:p2 run:t1 result:t0 run:t1 result:t0 run:t0")
    yield text("open:p1 run run:p2 switch:p1 run")


@told(
    "transfer.failure-is-retryable",
    "retry:* failure:* status:failed status:resolved_native status:resolved_portable",
    about="dispatch",
    stake=Stake.LOST,
    after=(
        "transfer.exactly-what-is-missing",
        "transfer.merge-brings-the-gain",
        "transfer.native-where-it-can",
        "transfer.probe-before-rollback",
        "transfer.handoff-is-what-was-injected",
    ),
    source=SOURCE + "what fails before provider work leaves the transfer to be tried again",
    meaning="One failed connection and a thread can never be used, or its context is gone, or doubled.",
)
def failure_is_retryable() -> Iterator[History]:
    """What fails before the provider works is reported as such, and the next dispatch does what it should have."""
    yield text("open:p1 run fork fail:t1=fork run:t1 run:t1")
    yield text("open:p2 run run fork:t0n1 fail:t1=probe run:t1 fail:t1=rollback run:t1 run:t1")
    yield text("open:p1 run fork fail:t1=send run:t1 run:t1 run:t1")
    yield text("open:p4 run fork fail:t1=start run:t1 run:t1 merge:t0 fail=send run:t0 run:t0")
    yield text("open:p1 run:n1 run:p2 heal run:p2 run")
    yield text("open:p1 run:n1 fork run:t1p2 run:t1p2 heal run:t1p2 run:t1p2")


@told(
    "transfer.lineage-is-a-forest",
    "lineage:*",
    about="lineage children open_thread fork spawn_subagent",
    stake=Stake.METADATA,
    source=SOURCE + "ThreadLineage: parent, relationship, root",
    meaning="A family of conversations falls apart, or one is shown in another's.",
)
def lineage_is_a_forest() -> Iterator[History]:
    """Every fork and subagent has the thread that it was made from as parent, and its root as root; roots have none."""
    yield text("open:p1 run fork fork:t1 run:t2 spawn:t2p2 run:t3 spawn:t3 open:p4 run:t5 fork:t5")
    yield text("open:p1 run bear=ok observe fork:t1 run:t2 merge:t0 run:t0")


@told(
    "transfer.merge-keeps-the-provider",
    "provider:*",
    about="merge_back lineage",
    stake=Stake.CHANGED,
    source=SOURCE + "merge_back: the parent's provider stays",
    meaning="Merging an experiment with another provider switches the thread to that provider.",
)
def merge_keeps_the_provider() -> Iterator[History]:
    """Only a switch, or a run, changes the provider of a thread: merges, results and forks leave it as it is."""
    yield text("open:p1 run fork switch:t1p2 run:t1 merge:t0 run:t0")
    yield text("open:p4 run spawn:p2 run:t1 result:t0 run:t0 run:p3 fork:t0n1 run:t2")
