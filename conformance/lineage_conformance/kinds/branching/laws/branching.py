"""Branching: a branch begins exactly as its source was, and from then on they are strangers."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator

from lineage_conformance.canon import canon
from lineage_conformance.kinds.branching.agent import Agent, script
from lineage_conformance.kinds.branching.case import (
    BUSY,
    FURNISHED,
    PLAIN,
    REWRITTEN,
    Move,
    Tale,
    tale,
)
from lineage_conformance.kinds.branching.player import Line, Stage, staged
from lineage_conformance.law import Level, Stake, law
from lineage_conformance.trace import Diff

branching = functools.partial(
    law, kind="branching", decode=Tale.from_json, focus="branching", faces=("sync", "async")
)

PREFIX = "contract: a branch begins with what the messages of its source were after that turn, and nothing else"
DATA = "data: a branch is a new conversation; making or using one takes nothing from another"


def _prefix(stage: Stage, tale: Tale) -> Iterator[Diff]:
    line = stage.play(tale)
    for turn in range(len(tale.moves) + 1):
        made = stage.branch(line, turn)
        got = stage.messages(made.thread)
        yield from stage.compare("branch", ("messages",), line.states[turn].messages, got)


@branching(
    "branching.messages-equal-prefix",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source=PREFIX,
    check=staged(_prefix),
    meaning="The branch shows messages that were never said before it, or has lost some, or renamed them: a "
    "later edit by id then adds a second copy.",
    reports=("langchain-ai/langgraph#8443",),
)
def messages_equal_prefix() -> Iterator[Tale]:
    """At every turn k, the messages of a branch are those of the conversation after k, ids and types included."""
    yield PLAIN
    yield BUSY
    yield REWRITTEN


def _delta(stage: Stage, tale: Tale) -> Iterator[Diff]:
    stage.agent = Agent(stage.saver, delta=True)
    yield from _prefix(stage, tale)
    for line in [each for each in stage.lines.values() if each.parent is not None]:
        stage.turn(line, Move(calls=1))
        before = line.states[line.base].messages
        got = stage.agent.inputs[-2][: len(before)]
        yield from stage.compare("turn", ("messages",), before, got)


@branching(
    "branching.delta-threads",
    level=Level.MUST,
    stake=Stake.LOST,
    source="DeltaChannel: a checkpoint holds no value, it is replayed from the writes of its ancestors",
    check=staged(_delta),
    versions=("langgraph>=1.2.0",),
    after=("branching.messages-equal-prefix",),
    meaning="Branches of an agent with delta channels are empty: copying one checkpoint loses its history.",
)
def delta_threads() -> Iterator[Tale]:
    """The same holds where messages are kept in a delta channel, and the branch goes on from them."""
    yield BUSY
    yield REWRITTEN


def _unrecorded(stage: Stage, tale: Tale) -> Iterator[Diff]:
    line = stage.play(tale, recorded=False)
    for turn in range(len(tale.moves) + 1):
        made = stage.branch(line, turn)
        got = stage.messages(made.thread)
        yield from stage.compare("branch", ("messages",), line.states[turn].messages, got)


@branching(
    "branching.unrecorded-turns",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source=PREFIX + "; the head may have been summarised since, history has not",
    check=staged(_unrecorded),
    after=("branching.messages-equal-prefix", "branching.source-is-unchanged"),
    meaning="A conversation from before the backend was installed branches into its summary.",
)
def unrecorded_turns() -> Iterator[Tale]:
    """A thread whose turns nobody recorded branches at every turn as one whose turns were."""
    yield PLAIN
    yield REWRITTEN


def _source(stage: Stage, tale: Tale) -> Iterator[Diff]:
    line = stage.play(tale)
    before = stage.dump(line.thread)
    for turn in range(len(tale.moves) + 1):
        made = stage.branch(line, turn)
        stage.turn(made, Move(calls=1, rows=(("documents", "plan", "of the branch"),)))
        after = stage.dump(line.thread)
        yield from stage.compare("branch", ("source", "thread"), before, after)
        for diff in stage.whole(line):
            yield Diff(diff.op, diff.kind, ("source", *diff.path), diff.expected, diff.got)


@branching(
    "branching.source-is-unchanged",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source=DATA,
    check=staged(_source),
    meaning="Trying something out in a branch changes the conversation that it was to leave alone.",
)
def source_is_unchanged() -> Iterator[Tale]:
    """Making and using a branch leaves the source as it was, bit for bit: thread, workspace and turns."""
    yield FURNISHED


def _idle(stage: Stage, tale: Tale) -> Iterator[Diff]:
    line = stage.play(tale)
    for turn in range(1, len(tale.moves) + 1):
        made = stage.branch(line, turn)
        waiting = list(stage.snapshot(made.thread).next)
        yield from stage.compare("get_state", ("next",), [], waiting)
        shown = len(stage.agent.inputs)
        stage.agent.steps.clear()
        stage.call("invoke", None, stage.config(made.thread), on=stage.agent.graph)
        yield from stage.compare("invoke", ("model_calls",), 0, len(stage.agent.inputs) - shown)
        got = stage.messages(made.thread)
        yield from stage.compare("invoke", ("messages",), line.states[turn].messages, got)


@branching(
    "branching.fresh-branch-is-idle",
    level=Level.MUST,
    stake=Stake.REPEATED,
    source="engine: what a checkpoint schedules is run by the next invoke, and invoke(None) asks for just that",
    check=staged(_idle),
    after=("branching.messages-equal-prefix",),
    meaning="A retry or a resume in a new branch calls the model, and bills it, with nobody having said anything.",
)
def fresh_branch_is_idle() -> Iterator[Tale]:
    """A fresh branch has nothing to run: next is empty, and invoke(None) calls no model and changes nothing."""
    yield PLAIN
    yield BUSY


def _first(stage: Stage, tale: Tale) -> Iterator[Diff]:
    line = stage.play(tale)
    for turn in range(len(tale.moves) + 1):
        made = stage.branch(line, turn)
        shown = len(stage.agent.inputs)
        stage.call("begin_turn", made.thread)
        name = stage.run(made, Move())
        from langchain_core.messages import HumanMessage

        said = canon(HumanMessage(f"question {name}", id=f"{name}-human"))
        expected = [*line.states[turn].messages, said]
        seen = stage.agent.inputs[shown:]
        yield from stage.compare("invoke", ("model_calls",), 1, len(seen))
        if seen:
            yield from stage.compare("invoke", ("model_input",), expected, seen[0])


@branching(
    "branching.first-turn-sees-prefix",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source=PREFIX,
    check=staged(_first),
    after=("branching.messages-equal-prefix", "branching.fresh-branch-is-idle"),
    meaning="The model answers in a branch without having read what led to it.",
)
def first_turn_sees_prefix() -> Iterator[Tale]:
    """In the first turn of a branch the model is called once, with the inherited messages and the new one."""
    yield BUSY
    yield REWRITTEN


NOISE = Move(
    calls=1,
    rows=(("documents", "plan", "mine"), ("artifacts", "chart", "mine"), ("todos", "buy", None)),
)


def _apart(stage: Stage, tale: Tale) -> Iterator[Diff]:
    root = stage.play(tale)
    turn = len(tale.moves)
    one, two = stage.branch(root, turn), stage.branch(root, turn)
    family = [root, one, two, stage.branch(root, max(turn - 1, 0))]
    for line in family:
        stage.turn(line, NOISE)
    _hang_write(stage, one)
    for line in family:
        yield from stage.whole(line, "family")
        writes = [row["pending_writes"] for row in stage.dump(line.thread)][:1]
        expected = [[["lineage-task", "messages", "left behind"]]] if line is one else [[]]
        yield from stage.compare("family", ("pending_writes",), expected, writes)


def _hang_write(stage: Stage, line: Line) -> None:
    """Leave a write on the head of a thread, as a task does that finished in a run that was cancelled."""
    config = stage.config(line.thread)
    config["configurable"]["checkpoint_id"] = stage.head(line.thread)
    stage.call("put_writes", config, [("messages", "left behind")], "lineage-task", on=stage.saver)


@branching(
    "branching.siblings-are-apart",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source=DATA,
    check=staged(_apart),
    after=(
        "branching.messages-equal-prefix",
        "branching.source-is-unchanged",
        "branching.workspace-as-of-turn",
        "branching.artifacts-up-to-turn",
        "branching.history-is-inherited",
    ),
    meaning="What is said, written or left unfinished in one branch shows in another.",
    reports=("langchain-ai/langgraph#8443", "langchain-ai/langgraphjs#2737"),
)
def siblings_are_apart() -> Iterator[Tale]:
    """Siblings and their parent never see each other's later messages, workspace rows or pending writes."""
    yield FURNISHED


def _nested(stage: Stage, tale: Tale) -> Iterator[Diff]:
    line = stage.play(tale)
    for move in (NOISE, Move(), Move(calls=2)):
        line = stage.branch(line, line.last)
        stage.turn(line, move)
    for turn in range(line.last + 1):
        made = stage.branch(line, turn)
        yield from stage.whole(made)


@branching(
    "branching.branches-of-branches",
    level=Level.MUST,
    stake=Stake.LOST,
    source=DATA + "; a branch is a conversation like any other",
    check=staged(_nested),
    after=("branching.messages-equal-prefix", "branching.siblings-are-apart"),
    meaning="The second or third branch of a branch lost what the first one inherited.",
)
def branches_of_branches() -> Iterator[Tale]:
    """A branch of a branch of a branch is whole, and branches at every turn that it has, inherited ones too."""
    yield FURNISHED


def _meanwhile(stage: Stage, tale: Tale) -> Iterator[Diff]:
    line = stage.play(tale)
    turn = line.last
    agent, reached, gate = Agent(stage.saver), threading.Event(), threading.Event()
    stage.begin(line, NOISE)
    name = stage.name()
    agent.steps.extend(script(NOISE, name))
    first = agent.steps[0]

    def held(shown: list[object]) -> list[object]:
        reached.set()
        gate.wait()
        return first(shown)

    agent.steps[0] = held
    running = stage.start(*stage.input(line, NOISE, name), on=agent.graph)
    running.add_done_callback(lambda _: reached.set())
    reached.wait()
    try:
        made = stage.branch(line, turn)
        yield from stage.whole(made)
        refused = stage.refused("branch", line.thread, turn + 1)
        yield from stage.compare("branch", ("running",), True, refused)
        yield from stage.compare(
            "branch", ("visible",), [made.thread], stage.visible(line, new=False)
        )
    finally:
        gate.set()
    error = running.exception()
    yield from stage.compare("invoke", ("parent",), "None", repr(error))
    stage.end(line, NOISE)
    yield from stage.whole(made)
    shown = len(line.states[turn].messages) + 4
    yield from stage.compare(
        "invoke", ("parent_messages",), shown, len(line.states[turn + 1].messages)
    )


@branching(
    "branching.while-the-parent-runs",
    level=Level.MUST,
    stake=Stake.FAILS,
    source="engine: a running turn has stored checkpoints of a state that nobody was shown yet",
    check=staged(_meanwhile),
    after=("branching.messages-equal-prefix", "branching.siblings-are-apart"),
    meaning="A branch taken while the agent works holds half a turn: tool calls without results break the next call.",
)
def while_the_parent_runs() -> Iterator[Tale]:
    """While a turn runs, a branch at an earlier one is whole, one at the running turn is refused, and both end well."""
    yield FURNISHED


def _early(stage: Stage, tale: Tale) -> Iterator[Diff]:
    line = stage.play(tale)
    for turn in (line.last + 1, line.last + 7, -1):
        refused = stage.refused("branch", line.thread, turn)
        yield from stage.compare("branch", ("refused", str(turn)), True, refused)
    refused = stage.refused("branch", stage.bench.name("nobody"), 0)
    yield from stage.compare("branch", ("refused", "unknown"), True, refused)
    yield from stage.compare("branch", ("visible",), [], stage.visible(line))
    # What always refuses would hold, too.
    yield from stage.whole(stage.branch(line, line.last))


@branching(
    "branching.no-such-turn",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source="contract: refused for a turn that is running or has not happened",
    check=staged(_early),
    meaning="A branch point that does not exist is taken for the nearest one, and nobody is told.",
)
def no_such_turn() -> Iterator[Tale]:
    """A branch at a turn that has not happened, or of an unknown conversation, is refused and leaves nothing."""
    yield tale(Move(), Move())
