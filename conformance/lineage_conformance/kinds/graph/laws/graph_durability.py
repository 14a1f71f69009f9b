"""Stopping at an exact point: what was finished is kept, what was not is next, and it can be resumed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lineage_conformance import contract
from lineage_conformance.bench import Bench
from lineage_conformance.graphs.shape import Shape, Tool, tools
from lineage_conformance.kinds.graph.rules import (
    MODES,
    Story,
    both,
    differ,
    finishes,
    graph_law,
    leaves,
    run_once,
    told,
)  # fmt: skip
from lineage_conformance.kinds.graph.scenario import (
    Act,
    Scenario,
    answer,
    answers,
    go_on,
    invoke,
    scenario,
)
from lineage_conformance.law import Level, Stake
from lineage_conformance.trace import Diff

MODE = (
    "langgraph durability: sync stores before the next step starts, async while it runs, "
    "exit when the run ends, also by an error or a cancel"
)
HANGS = (Tool("a"), Tool("b", ("gate:g",)))
AT_B: dict[str, Any] = {"hold": ("g",), "until": ("reached:g", "settled:a")}
SEND, EDGES = Shape(HANGS), Shape(HANGS, "edges", join=True)


def _at(node: str, stop: str) -> Act:
    return invoke(hold=(node,), until=(f"reached:{node}",), stop=stop)


def _points(stop: str, mode: str) -> Iterator[Scenario]:
    """A run that is stopped at each kind of point, and resumed."""
    yield scenario(SEND, invoke(stop=stop, **AT_B), go_on(), durability=mode)
    yield scenario(EDGES, invoke(stop=stop, **AT_B), go_on(), durability=mode)
    yield scenario(Shape(tools(2, "gate:g")),
                   invoke(hold=("g",), until=("reached:g",), stop=stop), go_on(), durability=mode)  # fmt: skip
    yield scenario(Shape(tools(2)), _at("review", stop), go_on(), durability=mode)


@graph_law(
    "graph_durability.cancel-leaves-what-finished",
    leaves,
    stake=Stake.LOST,
    level=Level.MUST,
    source=MODE,
    faces=("async",),
    after=("graph_resume.stored-tasks-run-once",),
    focus="graph-cancel",
    meaning="A user who presses stop loses what the tools had done.",
    reports=("langchain-ai/langgraph#5672",),
)
def cancel_leaves_what_finished() -> Iterator[Scenario]:
    """A cancelled run keeps the stored writes of finished tasks and lists all other tasks as next."""
    for mode in ("sync", "async"):
        yield from _points("cancel", mode)


@graph_law(
    "graph_durability.cancel-in-exit-mode-leaves-what-finished",
    leaves,
    stake=Stake.LOST,
    level=Level.SHOULD,
    source=f"{MODE}; what a task wrote before the cancel was handled is stored then",
    faces=("async",),
    versions=(MODES,),
    after=("graph_durability.cancel-leaves-what-finished",),
    meaning="With durability exit, a user who presses stop loses what the tools had done.",
    reports=("langchain-ai/langgraph#5672", "langchain-ai/langgraph#8634"),
)
def cancel_in_exit_mode_leaves_what_finished() -> Iterator[Scenario]:
    """With durability exit, a cancel leaves what it leaves with the other modes."""
    yield from _points("cancel", "exit")


@graph_law(
    "graph_durability.cancelled-runs-can-be-resumed",
    both(run_once, finishes),
    stake=Stake.REPEATED,
    level=Level.MUST,
    source=MODE,
    faces=("async",),
    after=("graph_durability.cancel-leaves-what-finished", "graph_resume.same-end"),
    focus="graph-cancel",
    meaning="After stop and continue a tool has run twice, or its result is missing.",
)
def cancelled_runs_can_be_resumed() -> Iterator[Scenario]:
    """A cancelled run that is resumed runs no stored task again and ends as an uninterrupted one."""
    for mode in ("sync", "async", "exit"):
        yield from _points("cancel", mode)
    inner = Shape((Tool("a"), Tool("b", ("gate:g",))), "line", child="shared")
    yield scenario(inner, invoke(hold=("g",), until=("reached:g",), stop="cancel"), go_on())


def _still_asked(case: Scenario, story: Story) -> Iterator[Diff]:
    for act, seen in zip(case.acts, story, strict=True):
        if act.stop and seen.met:
            wanted = sorted(f"{c[6:]}?1" for c in act.until if c.startswith("asked:"))
            yield from differ(seen, "asked", wanted, sorted(q for q, _ in seen.asked))
    yield from finishes(case, story)


@graph_law(
    "graph_durability.cancel-keeps-questions",
    _still_asked,
    stake=Stake.LOST,
    level=Level.MUST,
    source=MODE,
    faces=("async",),
    versions=("langgraph>=0.4.0",),
    after=("graph_durability.cancel-leaves-what-finished",),
    meaning="A question that was asked before the user pressed stop can never be answered.",
)
def cancel_keeps_questions() -> Iterator[Scenario]:
    """A question that was stored before a cancel is listed after it, and can be answered."""
    shape = Shape((Tool("a", ("ask",)), Tool("b", ("gate:g",))))
    point = invoke(hold=("g",), until=("reached:g", "asked:a"), stop="cancel")
    for mode in ("sync", "async"):
        yield scenario(shape, point, answers("a?1"), durability=mode)


@graph_law(
    "graph_durability.crash-leaves-what-was-stored",
    both(leaves, run_once, finishes),
    stake=Stake.REPEATED,
    level=Level.MUST,
    source="engine: finished tasks of an interrupted step are known by their stored writes alone",
    versions=(MODES,),
    after=("graph_resume.stored-tasks-run-once", "graph_resume.same-end"),
    focus="graph-crash",
    meaning="After a deploy in the middle of a run, finished tools run again.",
)
def crash_leaves_what_was_stored() -> Iterator[Scenario]:
    """With durability sync, after the process died in a step, a new one runs only the unfinished tasks."""
    yield scenario(SEND, invoke(stop="crash", **AT_B), go_on(), durability="sync")
    yield scenario(EDGES, invoke(stop="crash", **AT_B), go_on(), durability="sync")
    yield scenario(Shape(tools(2)), _at("review", "crash"), go_on(), durability="sync")


@graph_law(
    "graph_durability.goes-on-after-a-restart",
    both(run_once, finishes),
    stake=Stake.REPEATED,
    level=Level.MUST,
    source="data: a call that returned has stored; the process may end at any moment after",
    needs=("store",),
    after=(
        "graph_durability.crash-leaves-what-was-stored",
        "durability.writes-survive",
        "durability.checkpoints-survive",
        "durability.others-see-writes",
    ),
    meaning="After a restart of the server finished tools run again, or questions are gone.",
)
def goes_on_after_a_restart() -> Iterator[Scenario]:
    """A run that stopped at a gate, at an error or at a question goes on after the store was reopened."""
    again = Act("reopen")
    yield scenario(SEND, invoke(stop="crash", **AT_B), again, go_on(), durability="sync")
    yield scenario(Shape((Tool("a"), Tool("b", ("after:a", "ask", "ask")))),
                   invoke(), again, answer("b!1"), again, answer("b!2"))  # fmt: skip
    yield scenario(Shape((Tool("a"), Tool("b", ("ask",))), "line", child="shared"),
                   invoke(), again, answer("b!1"))  # fmt: skip


def _writes_first(case: Scenario, story: Story) -> Iterator[Diff]:
    """No write of a task reaches the saver after a child of the checkpoint that it belongs to."""
    for act, seen in zip(case.acts, story, strict=True):
        if (act.durability or case.durability) != "sync":
            continue
        put: set[tuple[str, str]] = set()
        late: list[str] = []
        for what, ns, id, names in seen.calls:
            if what == "put":
                put.add((ns, id))
            elif (ns, id) in put:
                late += names
        yield from differ(seen, "stored-after-their-checkpoint", [], late)


@graph_law(
    "graph_durability.writes-before-their-checkpoint",
    _writes_first,
    stake=Stake.LOST,
    level=Level.MUST,
    source="engine: a checkpoint says that its step is over; a crash before the writes loses them",
    faces=("async",),
    versions=(MODES,),
    meaning="If the process dies between the two, delta channels have lost a step's writes for ever.",
    reports=("langchain-ai/langgraph#8039",),
)
def writes_before_their_checkpoint() -> Iterator[Scenario]:
    """With durability sync the writes of a step are in the saver before the checkpoint that they make."""
    shape = Shape(tools(2), "line")
    yield scenario(shape, invoke(hold=("write:a",), until=("reached:write:a",)), durability="sync")


def _none_without(case: Scenario, story: Story) -> Iterator[Diff]:
    first = story[0]
    if case.acts[0].fails and case.durability == "sync":
        yield from differ(first, "raised", True, bool(first.error))
        yield from differ(
            first, "log", False, case.acts[0].fails[0] in first.log and not first.next
        )
    if case.acts[0].fails and len(story) > 1:
        yield from finishes(case, story)


@graph_law(
    "graph_durability.no-checkpoint-without-its-writes",
    _none_without,
    stake=Stake.LOST,
    level=Level.MUST,
    source="engine: a checkpoint says that its step is over; its writes must be there to say so",
    versions=(MODES,),
    after=("graph_durability.writes-before-their-checkpoint",),
    meaning="A store that was full for a moment loses a tool's result and nobody is told in time.",
    reports=("langchain-ai/langgraph#8234",),
)
def no_checkpoint_without_its_writes() -> Iterator[Scenario]:
    """With durability sync, a step whose writes the saver refused has no checkpoint, and can be retried."""
    yield scenario(Shape(tools(2), "line"), invoke(fails=("a",)), go_on(), durability="sync")


def _untracked(case: Scenario, story: Story) -> Iterator[Diff]:
    for seen in story:
        yield from differ(seen, "stored", [], [name for name in seen.stored if name == "cursor"])


@graph_law(
    "graph_durability.untracked-is-not-stored",
    _untracked,
    stake=Stake.KEPT,
    level=Level.MUST,
    source="UntrackedValue: stores the last value received, never checkpointed",
    meaning="A connection or a secret that was kept out of the state on purpose lies in the database.",
)
def untracked_is_not_stored() -> Iterator[Scenario]:
    """The value of an untracked channel is in no checkpoint and no pending write."""
    yield scenario(Shape((Tool("a"), Tool("b", ("after:a", "ask")))), invoke())
    yield scenario(Shape(HANGS), invoke(stop="crash", **AT_B), durability="sync")


def _one_step(case: Scenario, story: Story) -> Iterator[Diff]:
    for act, seen in zip(case.acts, story, strict=True):
        if case.shape.layout != "send" or act.op not in ("invoke", "continue") or act.stop:
            continue
        if seen.next == ("review",):
            yield from differ(seen, "note-is-there", True, "note" in seen.stored)
        elif not seen.next and not seen.error:
            yield from differ(seen, "stored", [], [name for name in seen.stored if name == "note"])


@graph_law(
    "graph_durability.ephemeral-lasts-one-step",
    _one_step,
    stake=Stake.CHANGED,
    level=Level.MUST,
    source="EphemeralValue: stores the value received in the step immediately preceding, clears after",
    meaning="A remark that was meant for the next step alone comes up again later.",
)
def ephemeral_lasts_one_step() -> Iterator[Scenario]:
    """An ephemeral channel's value is stored for the step that follows, and gone after it."""
    yield scenario(Shape(tools(2), before=("review",)), invoke(), go_on(), go_on())
    yield scenario(Shape(tools(2)), invoke())


def _agree(bench: Bench, case: Scenario) -> Iterator[Diff]:
    """One scenario on both halves, under two names."""
    if not all(contract.overrides(bench.subject, name) for name in ("get_tuple", "aget_tuple")):
        bench.lacks = "the saver has one half only"
        return
    sync, other = told(bench, case, "sync", "s-"), told(bench, case, "async", "a-")
    for left, right in zip(sync or (), other or (), strict=False):
        for name in ("log", "next", "kept", "messages", "last"):
            yield from differ(right, name, getattr(left, name), getattr(right, name))
        yield from differ(right, "asked", [q for q, _ in left.asked], [q for q, _ in right.asked])
        yield from differ(right, "began", sorted(left.began), sorted(right.began))
        yield from differ(
            right, "error", left.error.partition(":")[0], right.error.partition(":")[0]
        )


@graph_law(
    "graph_durability.sync-and-async-agree",
    lambda case, story: (),
    stake=Stake.CHANGED,
    check=_agree,
    level=Level.MUST,
    source="every sync method of Pregel has an async twin of the same meaning",
    faces=("async",),
    focus="graph-resume",
    meaning="Moving an application to async changes what it does.",
)
def sync_and_async_agree() -> Iterator[Scenario]:
    """A run on the async half leaves what the same run leaves on the sync half."""
    yield scenario(Shape(tools(2), rounds=2), invoke())
    yield scenario(Shape((Tool("a"), Tool("b", ("after:a", "raise:1")))), invoke(), go_on())
    yield scenario(Shape(tools(2, "ask")), invoke(), answers("a?1"), answers("b?1"))
