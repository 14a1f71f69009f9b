"""Facts about going back: replay, forks, and runs that name the head's own id."""

from __future__ import annotations

from typing import Any

from lineage_conformance.facts import fact
from lineage_conformance.facts.probe import Probe, asks, noted, resume, says
from lineage_conformance.facts.scene import scene
from lineage_conformance.graphs import Shape, Tool

STALE = "A fork carries on with what the run did that it leaves."
AGAIN = "A tool runs twice, a question is asked twice, or not again."


@fact("forks.update-before-a-node", STALE)
def update_before_a_node(p: Probe) -> Any:
    """The log of a fork that replaced a node's result, and then went on."""
    graph = p.graph(a=says("old a"), b=says("b"))
    p.run(graph, {"log": ["in"]})
    made = p.on(graph, "update_state", p.before(graph, "a"), {"log": ["new a"]}, as_node="a")
    return [p.log(graph), p.run(graph, None, made)["log"]]


@fact("forks.metadata", "History views cannot tell forks, or label them otherwise.")
def fork_metadata(p: Probe) -> Any:
    """Source and step of the checkpoints that a replay from an old one adds, newest first."""
    graph = p.graph(a=says("a"), b=says("b"))
    p.run(graph, {"log": ["in"]})
    before = {row.config["configurable"]["checkpoint_id"] for row in p.rows()}
    p.run(graph, None, p.before(graph, "b"))
    return [
        [row.metadata.get("source"), row.metadata.get("step")]
        for row in p.rows()
        if row.config["configurable"]["checkpoint_id"] not in before
    ]


@fact("forks.update-metadata", "History views cannot tell edits, or label them otherwise.")
def update_metadata(p: Probe) -> Any:
    """Source and step of the checkpoint that update_state makes on an old one, and its parent."""
    graph = p.graph(a=says("a"), b=says("b"))
    p.run(graph, {"log": ["in"]})
    at = p.before(graph, "b")
    found = p.get(p.on(graph, "update_state", at, {"log": ["edit"]}, as_node="a"))
    parent = found.parent_config["configurable"]["checkpoint_id"]
    same = parent == at["configurable"]["checkpoint_id"]
    return [found.metadata.get("source"), found.metadata.get("step"), same]


@fact("forks.replay-runs-nodes", AGAIN)
def replay_runs_nodes(p: Probe) -> Any:
    """Which nodes run when a finished run is replayed from before its second node."""
    ran: list[str] = []
    graph = p.graph(
        a=lambda state: noted(ran, "a", {"log": ["a"]}),
        b=lambda state: noted(ran, "b", {"log": ["b"]}),
    )
    p.run(graph, {"log": ["in"]})
    ran.clear()
    return [p.run(graph, None, p.before(graph, "b"))["log"], ran]


@fact("forks.replay-asks-again", AGAIN)
def replay_asks_again(p: Probe) -> Any:
    """Whether a replay from before a question asks it again, or takes the old answer."""
    graph = p.graph(a=asks("q"))
    p.run(graph, {"log": ["in"]})
    p.run(graph, resume("old"))
    p.run(graph, None, p.before(graph, "a"))
    state = p.state(graph)
    return "asks again" if state.next else state.values["log"]


def _with_head_id(p: Probe, shape: Shape, first: Any, second: Any) -> Any:
    with scene(p, shape) as s:
        s.run(first)
        s.run(second, s.state().config)
        return [s.began("a", "b"), s.seen()]


@fact("forks.answer-at-the-head-id", AGAIN)
def answer_at_the_head_id(p: Probe) -> Any:
    """How often each task has run when a question is answered with the head's own id in the config."""
    shape = Shape((Tool("a"), Tool("b", ("after:a", "ask"))), "edges")
    return _with_head_id(p, shape, "in", resume("b!1"))


@fact("forks.retry-at-the-head-id", AGAIN)
def retry_at_the_head_id(p: Probe) -> Any:
    """How often each task has run when a failed step is tried again with the head's own id in the config."""
    return _with_head_id(
        p, Shape((Tool("a"), Tool("b", ("after:a", "raise:1"))), "edges"), "in", None
    )


@fact("forks.subgraph-at-the-head-id", AGAIN)
def subgraph_at_the_head_id(p: Probe) -> Any:
    """How often each step of a subgraph has run when its question is answered with the head's own id."""
    from langgraph.graph import START

    from lineage_conformance.facts.probe import state_graph

    ran: list[str] = []
    child = state_graph()
    child.add_node("first", lambda state: noted(ran, "first", {"log": ["first"]}))
    child.add_node("ask", asks("q"))
    child.add_edge(START, "first")
    child.add_edge("first", "ask")
    graph = p.graph(sub=child.compile())
    p.run(graph, {"log": []})
    p.run(graph, resume("yes"), p.state(graph).config)
    return [len(ran), p.log(graph)]


@fact("forks.new-input-at-an-old-checkpoint", STALE)
def new_input_at_an_old_checkpoint(p: Probe) -> Any:
    """The log of a turn that begins at an old checkpoint."""
    graph = p.graph(a=says("a"))
    p.run(graph, {"log": ["one"]})
    at = p.state(graph).config
    p.run(graph, {"log": ["two"]})
    return p.run(graph, {"log": ["three"]}, at)["log"]


@fact("forks.order-of-sends-after-a-pause", "Results of Send tasks change places after a pause.")
def order_of_sends_after_a_pause(p: Probe) -> Any:
    """The log of Send tasks of three parallel nodes that were paused before they ran; the last node finished first."""
    tools = (Tool("x", ("after:y",)), Tool("y", ("after:z",)), Tool("z"))
    with scene(p, Shape(tools, "nested", before=("work",))) as s:
        s.run()
        s.run(None)
        log = s.state().values["log"]
    return [item.removesuffix(".work") for item in log if item.endswith(".work")]
