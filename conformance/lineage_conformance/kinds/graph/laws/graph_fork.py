"""Going back: a fork sees only what was before it, and does only what comes after."""

from __future__ import annotations

from collections.abc import Iterator

from lineage_conformance.bench import Bench
from lineage_conformance.graphs.shape import Shape, Tool, tools
from lineage_conformance.kinds.graph.rules import Story, differ, graph_law, told, unharmed
from lineage_conformance.kinds.graph.scenario import Act, Scenario, go_on, invoke, scenario, update
from lineage_conformance.law import Level, Stake
from lineage_conformance.trace import Diff

EARLIER = (
    "engine: a run continues from one checkpoint and the writes stored on it, and from nothing else"
)
AS_NODE = (
    "Pregel.update_state: update the state with the given values, as if they came from node as_node"
)


def _line_after_edit(case: Scenario, story: Story) -> Iterator[Diff]:
    """After the edit of the first node's output the log is input, edit, and what later nodes add."""
    last = story[-1]
    notes = [text for act in case.acts for text in act.note]
    yield from unharmed(last)
    rest = case.shape.log()[2:] if case.acts[-1].op == "continue" else []
    yield from differ(last, "log", ["in", *notes, *rest], last.log)


EDIT = (invoke(), update("edit", as_node="a", at="before:a"))


@graph_law(
    "graph_fork.update-leaves-old-writes-behind",
    _line_after_edit,
    stake=Stake.CHANGED,
    level=Level.MUST,
    source=AS_NODE,
    meaning="An edited draft is sent together with the draft that it replaces.",
)
def update_leaves_old_writes_behind() -> Iterator[Scenario]:
    """An update of an older checkpoint does not apply what tasks of the abandoned run wrote there."""
    yield scenario(Shape(tools(2), "line"), *EDIT)
    yield scenario(Shape(tools(2), "line"), *EDIT, go_on())
    yield scenario(Shape(tools(3), "line", before=("b",)), invoke(), go_on(), *EDIT[1:], go_on())


def _successors(case: Scenario, story: Story) -> Iterator[Diff]:
    names = [tool.name for tool in case.shape.tools]
    for act, seen in zip(case.acts, story, strict=True):
        if act.op in ("update", "bulk") and act.as_node in names:
            yield from unharmed(seen)
            follow = names[names.index(act.as_node) + 1 :][:1]
            yield from differ(seen, "next", follow, list(seen.next))


@graph_law(
    "graph_fork.as-node-schedules-its-successors",
    _successors,
    stake=Stake.FAILS,
    level=Level.MUST,
    source=AS_NODE,
    meaning="After an edit the graph does nothing, or the wrong thing.",
)
def as_node_schedules_its_successors() -> Iterator[Scenario]:
    """An update as a node makes the successors of that node next, and nothing else."""
    yield scenario(Shape(tools(3), "line"), *EDIT)
    yield scenario(Shape(tools(3), "line"), invoke(), update("edit", as_node="b"))
    yield scenario(Shape(tools(3), "line"), update("seed", as_node="a"))


def _later_only(case: Scenario, story: Story) -> Iterator[Diff]:
    names = [tool.name for tool in case.shape.tools]
    for act, seen in zip(case.acts, story, strict=True):
        name = act.at.partition(":")[2]
        if act.op == "continue" and act.at.startswith("before:") and name in names:
            yield from unharmed(seen)
            yield from differ(seen, "began", names[names.index(name) :], list(seen.began))
            yield from differ(seen, "log", case.shape.log(), seen.log)


@graph_law(
    "graph_fork.replay-runs-only-later-work",
    _later_only,
    stake=Stake.REPEATED,
    level=Level.MUST,
    source=EARLIER,
    focus="graph-fork",
    meaning="Regenerating an answer repeats what was done before it.",
    reports=("langchain-ai/langgraph#7361",),
)
def replay_runs_only_later_work() -> Iterator[Scenario]:
    """A replay from a checkpoint runs what comes after it, once, from the state that was then."""
    yield scenario(Shape(tools(3), "line"), invoke(), go_on(at="before:b"))
    yield scenario(Shape(tools(3), "line"), invoke(), go_on(at="before:c"), go_on(at="before:a"))


def _new_turn(case: Scenario, story: Story) -> Iterator[Diff]:
    first, last = story[0], story[-1]
    texts = [act.text for act in case.acts if act.op == "invoke"]
    yield from unharmed(last)
    if case.acts[-1].op == "invoke" and len(texts) > 1:
        yield from differ(last, "log", [*first.log, *case.shape.log(texts[-1])], last.log)


@graph_law(
    "graph_fork.new-turn-sees-only-earlier-state",
    _new_turn,
    stake=Stake.CHANGED,
    level=Level.MUST,
    source=EARLIER,
    meaning="A regenerated conversation knows what was said in the one it replaced.",
    reports=("langchain-ai/langgraph#8443",),
)
def new_turn_sees_only_earlier_state() -> Iterator[Scenario]:
    """A turn that starts at an older checkpoint sees what was before it and not what followed."""
    yield scenario(Shape(tools(2), "line"), invoke(), invoke("two"), invoke("three", at="act:0"))
    yield scenario(Shape(tools(2)), invoke(), invoke("two"), invoke("three", at="act:0"))


def _untouched(case: Scenario, story: Story) -> Iterator[Diff]:
    for act, seen in zip(case.acts, story, strict=True):
        if act.op == "look" and act.at.startswith("act:") and not seen.error:
            earlier = [
                s
                for a, s in zip(case.acts, story, strict=True)
                if a.op == "look" and a.at == act.at
            ]  # read by id, a checkpoint does not show what is pending on it: so compare such reads
            before = earlier[0] if len(earlier) > 1 else story[int(act.at.partition(":")[2])]
            yield from differ(seen, "log", before.log, seen.log)
            yield from differ(seen, "next", list(before.next), list(seen.next))


@graph_law(
    "graph_fork.the-other-branch-stays",
    _untouched,
    stake=Stake.CHANGED,
    level=Level.MUST,
    source="data: a fork is a new branch, the old one can still be read and resumed",
    meaning="Regenerating one answer changes the conversation that it was forked from.",
)
def the_other_branch_stays() -> Iterator[Scenario]:
    """A fork, a replay or an update of an older checkpoint leaves the branch that it left as it was."""
    look = Act("look", at="act:0")
    yield scenario(Shape(tools(3), "line"), *EDIT, go_on(), look)
    yield scenario(Shape(tools(3), "line"), invoke(), go_on(at="before:b"), look)
    yield scenario(Shape((Tool("a"), Tool("b", ("after:a", "ask")))),
                   invoke(), look, invoke("two", at="step:0"), look)  # fmt: skip


def _cleared(case: Scenario, story: Story) -> Iterator[Diff]:
    for act, before, seen in zip(case.acts[1:], story, story[1:], strict=False):
        if act.op == "update" and act.as_node == "__end__" and before.asked:
            yield from unharmed(seen)
            yield from differ(seen, "log", before.log[:1] + list(before.kept), seen.log)
            yield from differ(seen, "next", [], list(seen.next))


@graph_law(
    "graph_fork.clearing-tasks-keeps-what-finished",
    _cleared,
    stake=Stake.LOST,
    level=Level.MUST,
    source="langgraph: update_state(None, as_node=END) ends the step; data: finished work is kept",
    versions=("langgraph>=0.3.0",),
    meaning="Giving up one waiting tool throws away the results of the others.",
)
def clearing_tasks_keeps_what_finished() -> Iterator[Scenario]:
    """Ending a step by an update as END drops the waiting tasks and keeps what the others wrote."""
    waits = (Tool("a"), Tool("b", ("after:a", "ask")))
    yield scenario(Shape(waits, "edges"), invoke(), update(as_node="__end__"))


def _bulk_check(bench: Bench, case: Scenario) -> Iterator[Diff]:
    """The same updates once in bulk and once one by one, on two threads."""
    single = [
        update(note, as_node=act.as_node) if act.op == "bulk" else act
        for act in case.acts
        for note in (act.note if act.op == "bulk" else ("",))
    ]
    wanted = told(bench, Scenario(case.shape, tuple(single)), label="one-")
    found = told(bench, case, label="bulk-")
    if wanted and found:
        yield from unharmed(found[-1])
        yield from differ(found[-1], "log", wanted[-1].log, found[-1].log)
        yield from differ(found[-1], "next", list(wanted[-1].next), list(found[-1].next))


@graph_law(
    "graph_fork.bulk-equals-one-by-one",
    lambda case, story: (),
    stake=Stake.CHANGED,
    check=_bulk_check,
    level=Level.MUST,
    source="Pregel.bulk_update_state: apply updates to the graph state in bulk",
    versions=("langgraph>=0.4.0",),
    after=("graph_fork.as-node-schedules-its-successors",),
    focus="graph-bulk",
    meaning="A conversation that is imported in bulk is not the one that was lived.",
)
def bulk_equals_one_by_one() -> Iterator[Scenario]:
    """Updates applied in bulk leave the state and the next tasks that they leave one by one."""
    bulk = Act("bulk", note=("one", "two"), as_node="a")
    yield scenario(Shape(tools(2), "line"), invoke(), bulk)
