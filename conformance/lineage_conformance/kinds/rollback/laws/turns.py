"""A runner of turns: what it refuses, what it keeps, what it forgets, what it knows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lineage_conformance.agent import Plan
from lineage_conformance.kinds.rollback.case import DURABILITIES, TurnCase
from lineage_conformance.kinds.rollback.laws.rollback import ENGINE
from lineage_conformance.kinds.rollback.player import Play, played, raised
from lineage_conformance.law import Level, Stake, law
from lineage_conformance.trace import Diff

CONTRACT = "kinds.rollback.protocol.Rollback."
BUSY = 0.3
"""Seconds that a second turn is given to be refused or to wait. A right backend is never judged by it."""

COMMON = {"kind": "rollback", "decode": TurnCase.from_json, "versions": ENGINE}


def _unchanged(play: Play, before: Any, thread: str) -> Iterator[Diff]:
    """Differences on a thread that nothing should have changed."""
    everything, play.everything = play.everything, True
    yield from play.restored(before, play.state(thread))
    play.everything = everything


def _newer(play: Play) -> Iterator[Diff]:
    thread = play.bench.name("thread")
    old = play.end(thread, "old")
    play.history(thread)
    if play.case.edits:  # the newer checkpoint is the application's own
        update = {"messages": [("user", "a note")]}
        play._graph("update_state", {"configurable": {"thread_id": thread}}, update)
    before = play.state(thread)
    yield from play.refused("rollback", "rollback", thread, old.turn)
    yield from _unchanged(play, before, thread)
    # What always refuses would hold, too: the last turn can be taken back.
    last = play.end(thread, "last")
    play.call("rollback", thread, last.turn)
    yield from play.restored(before, play.state(thread))


@law(
    "rollback.never-replaces-newer-work",
    level=Level.MUST,
    stake=Stake.LOST,
    source="data loss: a rollback of an old turn would throw away the turns after it",
    lens="rollback:* state:* next:* tasks:*",
    check=played(_newer),
    meaning="A late cancel deletes the answer to a newer question.",
    **COMMON,
)
def never_replaces_newer_work() -> Iterator[TurnCase]:
    """Taking back a turn that is no longer the last is refused, and changes nothing."""
    yield TurnCase("done", how="later")
    yield TurnCase("done", how="later", earlier=0, edits=True)


def _honest(play: Play) -> Iterator[Diff]:
    thread = play.bench.name("thread")
    play.history(thread)
    if play.case.memory:
        play.agent.plans["first"] = Plan(1)
        play.ask(thread, "first")
    before, memory = play.state(thread), _memory(play, thread)
    try:
        outcome = play.cut(thread)
    except Exception as error:
        wanted = text = "an error that names what is left"
        if not _names(error):
            text = f"{type(error).__name__}: {error}"[:200]
        yield from play.compare("rollback", ("left",), wanted, text)
        return
    found = list(play.restored(before, play.state(thread)))
    if play.everything and play.case.memory:
        found += play.compare("state", ("channels", "memory"), memory, _memory(play, thread))
    play.bench.observed("rollback", "claim")
    for diff in found:
        claim = f"{outcome.status}, rolled back, with {diff.where} left"
        yield Diff(play._step, "rollback", ("claim", *diff.path), diff.expected, [claim, diff.got])


def _memory(play: Play, thread: str) -> Any:
    """What a subgraph remembers; None if it has no memory."""
    if not play.case.memory:
        return None
    config = {"configurable": {"thread_id": thread, "checkpoint_ns": "memory"}}
    return list(play._graph("get_state", config).values.get("count", ()))


def _names(error: Exception) -> bool:
    left = getattr(error, "left", None)
    return isinstance(left, (list, tuple)) and bool(left) and all(isinstance(x, str) for x in left)


@law(
    "rollback.never-claims-too-much",
    level=Level.MUST,
    stake=Stake.LOST,
    source="kinds.rollback.protocol: a rollback that cannot be proved complete never reports success",
    lens="rollback:*",
    check=played(_honest),
    after=(
        "rollback.restores-messages",
        "rollback.undoes-landed-results",
        "rollback.restores-channels",
        "rollback.restores-next",
    ),
    meaning="An interrupt is gone, finished work runs again, or a subgraph remembers a turn that never was.",
    **COMMON,
)
def never_claims_too_much() -> Iterator[TurnCase]:
    """What a rollback cannot put back (an interrupt, a memory, an edited message) it refuses, by name."""
    for point in ("model", "landed"):
        yield TurnCase(point, waiting=True)
        yield TurnCase(point, memory=True)
        yield TurnCase(point, memory=True, earlier=0)
        yield TurnCase(point, edits=True)


def _kept(play: Play) -> Iterator[Diff]:
    thread = play.bench.name("thread")
    play.history(thread)
    stopped = play.cut(thread, keep=True)
    outcome = play.call("resume", thread, **play._how())
    seen = [stopped.status, outcome.status, outcome.thread == thread, outcome.turn == stopped.turn]
    yield from play.compare("resume", ("outcome",), ["stopped", "done", True, True], seen)
    if play.case.point == "landed":
        yield from play.compare("resume", ("ran",), 1, play.agent.ran.count("oops/0"))
    results = [m for m in play.agent.seen[-1] if m[0] == "tool" and m[2][0].startswith("oops")]
    yield from play.compare("resume", ("results",), play.case.tools, len(results))


@law(
    "rollback.kept-work-is-not-repeated",
    level=Level.MUST,
    stake=Stake.REPEATED,
    source=CONTRACT + "cancel: with keep, finished work stays for resume",
    lens="resume:*",
    check=played(_kept),
    meaning="A payment that went through before the user paused is made again.",
    **COMMON,
)
def kept_work_is_not_repeated() -> Iterator[TurnCase]:
    """A turn that is stopped with its work kept can be resumed, and finished tools do not run again."""
    yield TurnCase("model")
    for durability in DURABILITIES[
        :2
    ]:  # with durability exit a result that was not awaited is lost by design
        yield TurnCase("landed", durability=durability)
    yield TurnCase("again")


def _answered(play: Play) -> Iterator[Diff]:
    thread = play.bench.name("thread")
    play.history(thread)
    before = play.state(thread)
    asked = play.end(thread)
    done = play.call("resume", thread, "yes", **play._how())
    seen = [asked.status, done.status, done.turn == asked.turn, done.thread == thread]
    yield from play.compare("resume", ("outcome",), ["interrupted", "done", True, True], seen)
    play.call("rollback", thread, done.turn)
    yield from play.restored(before, play.state(thread))


@law(
    "rollback.answers-belong-to-their-turn",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source="kinds.rollback.protocol: a turn is one user message and all that follows, interrupts and answers included",
    lens="resume:* state:* next:* tasks:*",
    check=played(_answered),
    after=("rollback.undoes-ended-turns", "rollback.kept-work-is-not-repeated"),
    meaning="Taking back a turn with an approval in it leaves its first half on the thread.",
    **COMMON,
)
def answers_belong_to_their_turn() -> Iterator[TurnCase]:
    """An answered interrupt goes on with the same turn, and taking that back undoes both halves."""
    yield TurnCase("asked", how="later")
    yield TurnCase("asked", how="later", durability="exit")


def _running(play: Play) -> Iterator[Diff]:
    """Hold a turn in the model; forget the thread, ask a second question; then cancel the first."""
    thread, gates = play.bench.name("thread"), play.agent.gates
    play.history(thread)
    before, since = play.state(thread), len(gates.events)
    gates.hold("model")
    first = play.start("run", thread, *play._turn("oops"), **play._how())
    gates.wait("reached:model", since=since, timeout=60)
    if play.case.how == "forget":
        yield from play.refused("forget", "forget", thread)
        second = None
    else:
        seen = len(play.agent.seen)
        second = play.start("run", thread, *play._turn("again"), **play._how())
        refused = raised(lambda: second.result(BUSY))
        began = refused is None or len(play.agent.seen) > seen
        told = "it ran" if began else "refused, or not begun"
        yield from play.compare("second", ("began",), "refused, or not begun", told)
    play.call("cancel", thread)
    if play.bench.writer == "async":
        first.result()
    gates.open_all()
    first.result()
    if second is not None and raised(second.result) is None:
        return  # it waited for its turn, and is on the thread now
    yield from play.restored(before, play.state(thread))
    if second is None:  # what always refuses would hold, too
        play.call("forget", thread)
        yield from play.compare("forget", ("checkpoints",), 0, len(play.rows(thread)))


@law(
    "rollback.forget-waits-for-the-turn",
    level=Level.MUST,
    stake=Stake.KEPT,
    source=CONTRACT + "forget: raises while a turn runs",
    lens="forget:* state:*",
    check=played(_running),
    after=("rollback.restores-messages", "rollback.restores-channels"),
    meaning="A deleted conversation is half there again when its run goes on.",
    **COMMON,
)
def forget_waits_for_the_turn() -> Iterator[TurnCase]:
    """A thread whose turn runs is not forgotten: the request is refused."""
    yield TurnCase("model", how="forget")


@law(
    "rollback.turns-do-not-overlap",
    level=Level.MUST,
    stake=Stake.LOST,
    source=CONTRACT + "run: raises an error if another turn of the thread runs",
    lens="second:* state:*",
    check=played(_running),
    after=("rollback.restores-messages", "rollback.restores-channels"),
    meaning="Two runs write one thread; cancelling one takes back the other.",
    **COMMON,
)
def turns_do_not_overlap() -> Iterator[TurnCase]:
    """While a turn of a thread runs, a second one does not begin: it is refused or waits."""
    yield TurnCase("model", how="second")


def _counted(play: Play) -> Iterator[Diff]:
    thread, case = play.bench.name("thread"), play.case
    yield from _knows(play, thread, 0, False)
    play.history(thread)
    yield from _knows(play, thread, case.earlier, case.earlier > 0)
    outcome = play.take_back(thread)
    yield from _knows(play, thread, case.earlier, case.earlier > 0)
    shown = "the thread's id" if outcome.thread == thread else outcome.thread
    yield from play.compare("held", ("thread",), "the thread's id", shown)
    if case.reopen:
        play.reopen()
        yield from _knows(play, thread, case.earlier, case.earlier > 0)


def _knows(play: Play, thread: str, turns: int, known: bool) -> Iterator[Diff]:
    held = play.call("held", thread)
    yield from play.compare("held", ("turns",), [known, turns], [bool(held.known), held.turns])


@law(
    "rollback.counts-its-turns",
    level=Level.MUST,
    stake=Stake.METADATA,
    source=CONTRACT + "held: whether a thread is known, and how many turns it holds",
    lens="held:*",
    check=played(_counted),
    after=("rollback.restores-messages", "rollback.undoes-ended-turns"),
    meaning="After a cancel the application shows a turn that the model does not see.",
    **COMMON,
)
def counts_its_turns() -> Iterator[TurnCase]:
    """A thread's turns are those that were not taken back; an unknown thread is unknown."""
    yield TurnCase("landed")
    yield TurnCase("model", earlier=0)
    yield TurnCase("done", how="later", earlier=2)


@law(
    "rollback.remembers-its-turns",
    level=Level.MUST,
    stake=Stake.METADATA,
    source="data loss: an application that restarts has nothing but the store",
    lens="held:*",
    check=played(_counted),
    after=("rollback.counts-its-turns", "rollback.survives-reopening"),
    needs=("store",),
    meaning="After a restart every conversation is taken for new.",
    **COMMON,
)
def remembers_its_turns() -> Iterator[TurnCase]:
    """Whether a thread is known, and its number of turns, are the same after the store is reopened."""
    yield TurnCase("landed", reopen=True, earlier=2)
    yield TurnCase("done", how="later", reopen=True)


def _forgotten(play: Play) -> Iterator[Diff]:
    thread = play.bench.name("thread")
    play.history(thread)
    play.end(thread)
    play.call("forget", thread)
    rows = play.rows(thread)
    yield from play.compare("forget", ("checkpoints",), 0, len(rows))
    yield from _knows(play, thread, 0, False)
    if play.case.reopen:
        play.reopen()
        yield from _knows(play, thread, 0, False)
    yield from play.next_input(thread, play.bench.name("control"))


@law(
    "rollback.forget-is-complete",
    level=Level.MUST,
    stake=Stake.KEPT,
    source=CONTRACT + "forget: removes all of a thread",
    lens="forget:* held:* input:*",
    check=played(_forgotten),
    after=("rollback.counts-its-turns",),
    meaning="What a user deleted is still in the database, or in the next prompt.",
    **COMMON,
)
def forget_is_complete() -> Iterator[TurnCase]:
    """A forgotten thread has no checkpoint, no turn and no known id, and starts afresh."""
    yield TurnCase("done", earlier=0)
    yield TurnCase("asked", earlier=0)
