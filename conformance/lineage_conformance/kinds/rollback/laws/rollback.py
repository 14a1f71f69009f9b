"""A turn that is cancelled, fails, or is taken back leaves nothing behind."""

from __future__ import annotations

from collections.abc import Iterator

from lineage_conformance.kinds.rollback.case import DURABILITIES, ENDS, POINTS, TurnCase
from lineage_conformance.kinds.rollback.player import Play, played
from lineage_conformance.law import Level, Stake, law
from lineage_conformance.trace import Diff

ENGINE = ("langgraph>=0.6",)
MODEL = "what the model is given: whatever is left on the thread is part of the next prompt"
PROMISE = (
    "kinds.rollback.protocol: a turn that is cancelled or fails is rolled back before run returns"
)


def _take_back(play: Play) -> Iterator[Diff]:
    case, thread = play.case, play.bench.name("thread")
    play.history(thread)
    before, rows = play.state(thread), play.rows(thread)
    for _ in range(case.times):
        outcome = play.take_back(thread)
        if case.how != "later":
            wanted = ["cancelled" if case.how == "cancel" else "failed", True]
            got = [outcome.status, bool(outcome.rolled_back)]
            yield from play.compare("outcome", ("status",), wanted, got)
        if case.reopen:
            play.reopen()
        yield from play.restored(before, play.state(thread))
    after = play.rows(thread)
    for id, row in rows.items():
        yield from play.compare("history", (id,), row, after.get(id))
    if not case.earlier:
        yield from play.compare("thread", ("checkpoints",), 0, len(after))
    yield from play.next_input(thread, play.bench.name("control"))


TAKE_BACK = played(_take_back)
CLEAN = (
    "rollback.restores-messages",
    "rollback.restores-channels",
    "rollback.restores-next",
    "rollback.next-prompt-is-clean",
)
"""What explains a breach of most others."""
COMMON = {
    "kind": "rollback",
    "check": TAKE_BACK,
    "decode": TurnCase.from_json,
    "versions": ENGINE,
    "focus": "rollback",
}


@law(
    "rollback.restores-messages",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source=MODEL,
    lens="state:messages*",
    meaning="The model answers a question that the user took back.",
    **COMMON,
)
def restores_messages() -> Iterator[TurnCase]:
    """After a cancel the messages are those from before the turn, wherever the turn was cut."""
    for point in POINTS:
        if point != "landed":  # and none lands beside a tool that works in a subgraph
            yield TurnCase(point, tools=1 if point == "subgraph" else 2)


@law(
    "rollback.undoes-landed-results",
    level=Level.MUST,
    stake=Stake.FAILS,
    source=MODEL,
    lens="state:messages*",
    after=("rollback.restores-messages",),
    meaning="A tool result without its call is in the next prompt; providers refuse such a prompt.",
    **COMMON,
)
def undoes_landed_results() -> Iterator[TurnCase]:
    """A tool result that had landed when its siblings were cancelled does not come back."""
    yield from (TurnCase("landed", durability=durability) for durability in DURABILITIES)
    yield TurnCase("landed", tools=12)


@law(
    "rollback.restores-channels",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source="kinds.rollback.protocol.Promise.EVERYTHING: every channel is as before the turn",
    lens="state:channels.*",
    after=("rollback.restores-messages", "rollback.undoes-landed-results"),
    meaning="Todos, status or memory of a cancelled turn steer the next one.",
    **COMMON,
)
def restores_channels() -> Iterator[TurnCase]:
    """Where everything is promised, every channel is as before the turn, not only the messages."""
    yield TurnCase("enter")
    yield TurnCase("model", earlier=3)
    yield TurnCase("landed")
    yield TurnCase("leave")


@law(
    "rollback.restores-next",
    level=Level.MUST,
    stake=Stake.REPEATED,
    source="LangGraph: what is in `next` runs when the thread is invoked again",
    lens="next:* tasks:*",
    after=("rollback.restores-messages", "rollback.undoes-landed-results"),
    meaning="The agent goes on with work of a turn that was taken back.",
    **COMMON,
)
def restores_next() -> Iterator[TurnCase]:
    """After a rollback `next`, the tasks and the interrupts are those from before the turn."""
    yield from (TurnCase(point) for point in ("model", "tools", "landed", "leave"))


@law(
    "rollback.next-prompt-is-clean",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source=MODEL,
    lens="input:*",
    after=(
        "rollback.restores-messages",
        "rollback.undoes-landed-results",
        "rollback.restores-next",
    ),
    meaning="The conversation goes on as if the user had asked what was taken back.",
    **COMMON,
)
def next_prompt_is_clean() -> Iterator[TurnCase]:
    """In the next turn the model is given exactly what it would have been given without the turn."""
    yield from (TurnCase(point, durability=durability) for point, durability in _pairs())


@law(
    "rollback.undoes-errors",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source=PROMISE,
    lens="state:* next:* tasks:* input:*",
    after=CLEAN,
    meaning="After an error the question and half of the answer stay in the prompt.",
    **COMMON,
)
def undoes_errors() -> Iterator[TurnCase]:
    """A turn in which the agent raises is rolled back as a cancelled one is."""
    yield from (TurnCase(point, how="error") for point in POINTS)
    yield TurnCase("landed", how="error", durability="exit")


@law(
    "rollback.reports-how-it-ended",
    level=Level.MUST,
    stake=Stake.METADATA,
    source=PROMISE,
    lens="outcome:*",
    after=(
        "rollback.restores-messages",
        "rollback.undoes-landed-results",
        "rollback.undoes-errors",
    ),
    meaning="The application shows a cancelled turn as done, or a failed one as cancelled.",
    **COMMON,
)
def reports_how_it_ended() -> Iterator[TurnCase]:
    """A cancelled turn is reported as cancelled, a failed one as failed, both as rolled back."""
    yield TurnCase("model")
    yield TurnCase("model", how="error")
    yield TurnCase("landed")
    yield TurnCase("landed", how="error")


@law(
    "rollback.first-turn-leaves-no-thread",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source=PROMISE,
    lens="state:* next:* tasks:* thread:* input:*",
    after=(*CLEAN, "rollback.undoes-errors"),
    meaning="A first question that was taken back is answered together with the next one.",
    **COMMON,
)
def first_turn_leaves_no_thread() -> Iterator[TurnCase]:
    """When the first turn is taken back, the thread is as one that never existed."""
    yield from (TurnCase(point, earlier=0) for point in ("model", "landed", "leave"))
    yield TurnCase("landed", earlier=0, durability="exit")
    yield TurnCase("model", earlier=0, how="error")


@law(
    "rollback.twice-in-a-row",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source=PROMISE,
    lens="state:* next:* tasks:* input:*",
    after=CLEAN,
    meaning="The second cancel brings the first cancelled question back.",
    **COMMON,
)
def twice_in_a_row() -> Iterator[TurnCase]:
    """A turn that follows a rollback can be taken back as well."""
    yield TurnCase("landed", times=2)
    yield TurnCase("model", times=2, earlier=0)


@law(
    "rollback.undoes-ended-turns",
    level=Level.MUST,
    stake=Stake.FAILS,
    source="kinds.rollback.protocol.Rollback.rollback: takes back a turn that ended",
    lens="state:* next:* tasks:* input:*",
    after=CLEAN,
    meaning="A finished or waiting turn cannot be taken back.",
    **COMMON,
)
def undoes_ended_turns() -> Iterator[TurnCase]:
    """A turn that is finished, or waits at an interrupt, can be taken back by its id."""
    for point in ENDS:
        yield TurnCase(point, how="later")
        yield TurnCase(point, how="later", earlier=0, durability="exit")


@law(
    "rollback.keeps-history",
    level=Level.MUST,
    stake=Stake.LOST,
    source="data loss: checkpoints of earlier turns can be forked from and audited",
    lens="history:*",
    after=("rollback.restores-messages", "rollback.undoes-landed-results"),
    meaning="Earlier turns can no longer be looked at or branched from.",
    **COMMON,
)
def keeps_history() -> Iterator[TurnCase]:
    """Checkpoints from before the turn are still there after a rollback, and unchanged."""
    yield TurnCase("landed", earlier=2)
    yield TurnCase("done", how="later", earlier=2)


@law(
    "rollback.survives-reopening",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source="data loss: a rollback that is reported must be stored",
    lens="state:* next:* tasks:* input:*",
    after=(*CLEAN, "rollback.undoes-ended-turns"),
    needs=("store",),
    meaning="After a restart the cancelled turn is back, or nobody knows how to take it back.",
    **COMMON,
)
def survives_reopening() -> Iterator[TurnCase]:
    """A rollback lasts when the store is reopened, and an ended turn can be taken back after it."""
    yield TurnCase("landed", reopen=True)
    yield TurnCase("done", how="later", reopen=True)
    yield TurnCase("asked", how="later", reopen=True)


def _pairs() -> Iterator[tuple[str, str]]:
    """Every point once with each durability would be slow; each point with one, in turn."""
    for number, point in enumerate(POINTS):
        yield point, DURABILITIES[number % len(DURABILITIES)]
