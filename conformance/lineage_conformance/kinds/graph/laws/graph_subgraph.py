"""Graphs in graphs: a child goes on where it was, follows its parent's time, and keeps to its namespace."""

from __future__ import annotations

from collections.abc import Iterator

from lineage_conformance.graphs.shape import Shape, Tool
from lineage_conformance.kinds.graph.rules import (
    Story,
    both,
    differ,
    finishes,
    graph_law,
    run_once,
    unharmed,
)  # fmt: skip
from lineage_conformance.kinds.graph.scenario import (
    Act,
    Scenario,
    answer,
    go_on,
    invoke,
    scenario,
    update,
)
from lineage_conformance.law import Level, Stake
from lineage_conformance.trace import Diff

WORK = (Tool("a"), Tool("b", ("ask",)))
INSIDE = Shape(WORK, "line", child="shared")
OWN = Shape(WORK, "line", child="own")


@graph_law(
    "graph_subgraph.goes-on-inside",
    both(run_once, finishes),
    stake=Stake.REPEATED,
    level=Level.MUST,
    source="engine: a child has checkpoints of its own under its namespace, and resumes from the latest",
    after=("graph_resume.stored-tasks-run-once",),
    focus="graph-subgraph",
    meaning="A subagent that asks for permission starts its whole work again after the yes.",
)
def goes_on_inside() -> Iterator[Scenario]:
    """A subgraph that stopped at a question goes on there and does not repeat its first steps."""
    yield scenario(INSIDE, invoke(), answer("b!1"))
    yield scenario(OWN, invoke(), answer("b!1"))
    yield scenario(Shape((Tool("a", ("subgraph", "ask")), Tool("b"))), invoke(), answer("a!1"))


def _first_once(case: Scenario, story: Story) -> Iterator[Diff]:
    yield from run_once(case, story)
    times = sum(seen.began.count("a.first") for seen in story)
    yield from differ(story[-1], "first-step-ran", True, times <= 1)
    yield from finishes(case, story)


@graph_law(
    "graph_subgraph.goes-on-inside-at-the-head",
    _first_once,
    stake=Stake.REPEATED,
    level=Level.MUST,
    source="StateSnapshot.config: the config to fetch this snapshot; of the head it names the head",
    after=("graph_subgraph.goes-on-inside", "graph_resume.answer-at-the-head-runs-once"),
    meaning="A client that passes the id it was shown makes the subagent start again.",
    reports=("langchain-ai/langgraph#7361",),
)
def goes_on_inside_at_the_head() -> Iterator[Scenario]:
    """Answering a subgraph's question at the latest checkpoint's own id goes on inside as well."""
    yield scenario(INSIDE, invoke(), answer("b!1", at="head"))
    yield scenario(
        Shape((Tool("a", ("subgraph", "ask")),), "edges"), invoke(), answer("a!1", at="head")
    )


def _waiting(case: Scenario) -> tuple[list[str], dict[str, object]] | None:
    """The tools that have begun when the child waits for the first time, and what it shows then."""
    for index, tool in enumerate(case.shape.tools):
        if "ask" in tool.steps and case.shape.child:
            names = [t.name for t in case.shape.tools[: index + 1]]
            return names, {"sub": {"log": names[:-1], "next": names[-1:]}}
    return None


def _apart(case: Scenario, story: Story) -> Iterator[Diff]:
    for act, seen in zip(case.acts, story, strict=True):
        waiting = _waiting(case)
        if act.op == "look" and seen.act == 1 and waiting:
            yield from unharmed(seen)
            yield from differ(seen, "log", ["in"], seen.log)
            yield from differ(seen, "children", waiting[1], seen.children)


@graph_law(
    "graph_subgraph.namespaces-are-apart",
    _apart,
    stake=Stake.CHANGED,
    level=Level.MUST,
    source="engine: parent and child share a thread id and differ in the namespace alone",
    after=("namespaces.are-apart",),
    meaning="The state of a subagent shows in the conversation, or the other way round.",
    reports=("langchain-ai/langgraph#8038",),
)
def namespaces_are_apart() -> Iterator[Scenario]:
    """While a child waits, the parent shows the parent's state and the child the child's."""
    yield scenario(INSIDE, invoke(), Act("look"))
    yield scenario(OWN, invoke(), Act("look"))


def _follows(case: Scenario, story: Story) -> Iterator[Diff]:
    waiting = _waiting(case)
    for act, seen in zip(case.acts, story, strict=True):
        if act.op == "continue" and act.at == "before:sub" and waiting:
            yield from unharmed(seen)
            yield from differ(seen, "began", waiting[0], list(seen.began))
            after = story[seen.act + 1 : seen.act + 2]
            if after and after[0].op == "look":
                yield from differ(after[0], "children", waiting[1], after[0].children)


@graph_law(
    "graph_subgraph.follows-its-parents-time",
    _follows,
    stake=Stake.CHANGED,
    level=Level.MUST,
    source="data: a child of an earlier parent is the child as it was then",
    after=("graph_subgraph.namespaces-are-apart", "graph_interrupts.replay-asks-again"),
    versions=("langgraph>=1.1.0",),
    meaning="Going back in the conversation leaves the subagent in the future.",
)
def follows_its_parents_time() -> Iterator[Scenario]:
    """A replay from before a child makes the child start from what it was then, and ask again."""
    acts = (invoke(), answer("b!1"), go_on(at="before:sub"), Act("look"))
    yield scenario(INSIDE, *acts)
    yield scenario(OWN, *acts)


def _kept_progress(case: Scenario, story: Story) -> Iterator[Diff]:
    last = story[-1]
    if case.acts[-1].op in ("continue", "resume"):
        yield from unharmed(last)
        yield from differ(last, "ran-again", [], [n for n in last.began if n == "a"])


@graph_law(
    "graph_subgraph.parent-update-keeps-progress",
    _kept_progress,
    stake=Stake.REPEATED,
    level=Level.SHOULD,
    source="data: what a child has finished is stored; disputed: an update makes a new checkpoint",
    after=("graph_subgraph.goes-on-inside",),
    meaning="Adding a remark to the conversation makes a waiting subagent start again.",
    reports=("langchain-ai/langgraph#4748",),
)
def parent_update_keeps_progress() -> Iterator[Scenario]:
    """Updating the parent while a child waits does not make the child repeat what it has finished."""
    shape = Shape((Tool("a"), Tool("b")), "line", child="shared", before=("b",))
    yield scenario(shape, invoke(), update("note"), go_on())


def _remembers(case: Scenario, story: Story) -> Iterator[Diff]:
    if case.shape.layout != "line" or any(tool.steps for tool in case.shape.tools):
        return
    names = [tool.name for tool in case.shape.tools]
    wanted: list[str] = []
    turns = 0
    for act, seen in zip(case.acts, story, strict=True):
        if act.op == "invoke":
            turns += 1
            kept = names * turns if case.shape.child == "own" else names
            wanted += [act.text, *kept, "tail"]
        yield from unharmed(seen)
        yield from differ(seen, "log", wanted, seen.log)


@graph_law(
    "graph_subgraph.own-memory-lasts",
    _remembers,
    stake=Stake.LOST,
    level=Level.MUST,
    source="Checkpointer: True enables persistent checkpointing for this subgraph, None inherits the parent's",
    after=("graph_subgraph.goes-on-inside",),
    focus="graph-memory",
    meaning="A subagent that was to remember the conversation has forgotten it, or one remembers that must not.",
)
def own_memory_lasts() -> Iterator[Scenario]:
    """A subgraph with checkpointer=True starts a turn from its last state, any other from nothing."""
    for child in ("own", "shared"):
        shape = Shape((Tool("a"), Tool("b")), "line", child=child)
        yield scenario(shape, invoke(), invoke("two"), invoke("three"))
