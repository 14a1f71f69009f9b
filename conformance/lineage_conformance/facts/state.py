"""Facts about the state: what `get_state`, `update_state` and `invoke` do with a step that is not finished."""

from __future__ import annotations

from typing import Any

from lineage_conformance.facts import fact
from lineage_conformance.facts.probe import Probe, asks, says
from lineage_conformance.facts.scene import scene
from lineage_conformance.graphs import Shape, Tool

SHOWN = "A view of a paused conversation shows more or less than before."
KEPT = "After an update, results of finished tools are kept or lost."
COPY = "Code that branches or restores conversations by updates gets another lineage."
WAITING = Shape((Tool("a"), Tool("b", ("after:a", "ask"))), "edges")
FAILED = Shape((Tool("a"), Tool("b", ("after:a", "raise:1"))), "edges")


@fact("state.merges-finished-writes", SHOWN)
def merges_finished_writes(p: Probe) -> Any:
    """Whether get_state shows the result of a finished task whose step waits for an answer."""
    with scene(p, WAITING) as s:
        s.run()
        return "a" in s.state().values["log"]


@fact("state.after-an-interrupt", SHOWN)
def after_an_interrupt(p: Probe) -> Any:
    """What is stored when one task of a step has finished and one asks."""
    with scene(p, WAITING) as s:
        s.run()
        return s.seen()


@fact("state.after-an-error", SHOWN)
def after_an_error(p: Probe) -> Any:
    """What is stored when one task of a step has finished and one has failed."""
    with scene(p, FAILED) as s:
        s.run()
        return s.seen()


@fact("state.retry-after-an-error", "Tools run twice, or not at all, after a failure.")
def retry_after_an_error(p: Probe) -> Any:
    """How often each task has run when a step with a failed task was tried again."""
    with scene(p, FAILED) as s:
        s.run()
        s.run(None)
        return [s.began("a", "b"), s.state().values["log"]]


@fact("state.update-commits-finished-writes", KEPT)
def update_commits_finished_writes(p: Probe) -> Any:
    """What is left of a step with a finished and a waiting task after update_state as the waiting one."""
    with scene(p, WAITING) as s:
        s.run()
        s.driver.call("update_state", p.config(), {"log": ["edit"]}, as_node="b")
        return s.seen()


@fact("state.update-clears-tasks", KEPT)
def update_clears_tasks(p: Probe) -> Any:
    """What is left of a step with a finished and a waiting task after update_state with END."""
    from langgraph.graph import END

    with scene(p, WAITING) as s:
        s.run()
        s.driver.call("update_state", p.config(), None, as_node=END)
        return s.seen()


@fact("state.update-of-nothing", KEPT)
def update_of_nothing(p: Probe) -> Any:
    """What is left of a step with a finished and a waiting task after update_state with no values and no node."""
    with scene(p, WAITING) as s:
        s.run()
        s.driver.call("update_state", p.config(), None)
        return s.seen()


@fact(
    "state.new-input-while-waiting",
    "A user who writes on instead of answering loses or keeps results.",
)
def new_input_while_waiting(p: Probe) -> Any:
    """What becomes of a finished task of a waiting step when a new turn begins."""
    with scene(p, WAITING) as s:
        s.run()
        s.run("again")
        return [s.began("a", "b"), s.seen()]


def _lineage(p: Probe, graph: Any, made: Any, at: Any) -> Any:
    parent = p.get(made).parent_config
    grand = p.get(at).parent_config
    if parent is None:
        return "none"
    id = parent["configurable"]["checkpoint_id"]
    if id == at["configurable"]["checkpoint_id"]:
        return "the original"
    return (
        "the parent of the original"
        if grand and id == grand["configurable"]["checkpoint_id"]
        else "other"
    )


@fact("state.copy-keeps-the-parent", COPY)
def copy_keeps_the_parent(p: Probe) -> Any:
    """What the parent of a checkpoint is that update_state made with `__copy__`."""
    graph = p.graph(a=says("a"), b=says("b"))
    p.run(graph, {"log": ["in"]})
    at = p.before(graph, "b")
    return _lineage(p, graph, p.on(graph, "update_state", at, None, as_node="__copy__"), at)


@fact("state.copy-of-a-waiting-step", COPY)
def copy_of_a_waiting_step(p: Probe) -> Any:
    """What a `__copy__` of a step with a finished and a waiting task holds."""
    with scene(p, WAITING) as s:
        s.run()
        s.driver.call("update_state", p.config(), None, as_node="__copy__")
        return s.seen()


@fact("state.copy-metadata", COPY)
def copy_metadata(p: Probe) -> Any:
    """The source and the step of a checkpoint that update_state made with `__copy__`."""
    graph = p.graph(a=says("a"))
    p.run(graph, {"log": ["in"]})
    made = p.on(graph, "update_state", p.config(), None, as_node="__copy__")
    stored = p.get(made).metadata
    return [stored.get("source"), stored.get("step")]


@fact("state.update-without-a-node")
def update_without_a_node(p: Probe) -> Any:
    """What update_state does when it is told no node and two have just run."""
    graph = p.together(a=says("a"), b=says("b"))
    p.run(graph, {"log": ["in"]})
    p.on(graph, "update_state", p.config(), {"log": ["edit"]})
    return p.log(graph)


@fact("state.update-on-a-new-thread")
def update_on_a_new_thread(p: Probe) -> Any:
    """What update_state on a conversation that does not exist leaves: log, next nodes, source, step."""
    graph = p.graph(a=says("a"), b=says("b"))
    p.on(graph, "update_state", p.config(), {"log": ["edit"]}, as_node="a")
    state = p.state(graph)
    return [
        state.values.get("log"),
        list(state.next),
        state.metadata.get("source"),
        state.metadata.get("step"),
    ]


@fact("state.bulk-update")
def bulk_update(p: Probe) -> Any:
    """What bulk_update_state of two steps of one update leaves."""
    graph = p.graph(a=says("a"), b=says("b"))
    p.need(hasattr(graph, "bulk_update_state"), "no bulk_update_state")
    from langgraph.types import StateUpdate

    steps = [[StateUpdate({"log": ["x"]}, "a")], [StateUpdate({"log": ["y"]}, "b")]]
    p.on(graph, "bulk_update_state", p.config(), steps)
    return [p.log(graph), len(p.rows())]


@fact("state.history-of-a-run", "History views show other steps.")
def history_of_a_run(p: Probe) -> Any:
    """Source, step and next nodes of every checkpoint of a run of two nodes, newest first."""
    graph = p.graph(a=says("a"), b=says("b"))
    p.run(graph, {"log": ["in"]})
    history = p.on(graph, "get_state_history", p.config())
    return [[h.metadata.get("source"), h.metadata.get("step"), list(h.next)] for h in history]


@fact("state.metadata-keys", "Views that read the metadata find more or fewer keys.")
def metadata_keys(p: Probe) -> Any:
    """The metadata keys that a run leaves in its last checkpoint."""
    graph = p.graph(a=says("a"))
    p.run(graph, {"log": ["in"]})
    return sorted(p.get().metadata)


@fact("state.checkpoint-keys", "Savers and tools that read checkpoints find more or fewer keys.")
def checkpoint_keys(p: Probe) -> Any:
    """The keys and the format of the last checkpoint of a run, and its channels."""
    graph = p.graph(a=says("a"))
    p.run(graph, {"log": ["in"]})
    stored = p.get().checkpoint
    return [sorted(stored), stored.get("v"), sorted(stored["channel_values"])]


@fact(
    "state.channels-of-a-paused-fan-out",
    "Paused Send tasks are stored somewhere else: see the handover.",
)
def channels_of_a_paused_fan_out(p: Probe) -> Any:
    """The channels, and those of the parent's pending writes, of a checkpoint with Send tasks before them."""
    from langgraph.graph import START
    from langgraph.types import Send

    from lineage_conformance.facts.probe import state_graph

    made = state_graph()
    made.add_node("plan", says("plan"))
    made.add_node("work", lambda n: {"log": [n]})
    made.add_edge(START, "plan")
    made.add_conditional_edges(
        "plan", lambda state: [Send("work", "1"), Send("work", "2")], ["work"]
    )
    graph = made.compile(checkpointer=p.saver, interrupt_before=["work"])
    p.run(graph, {"log": ["in"]})
    found = p.get()
    parent = p.get(found.parent_config)
    return [
        sorted(found.checkpoint["channel_values"]),
        sorted({channel for _, channel, _ in parent.pending_writes}),
    ]


@fact("state.invoke-none-when-finished")
def invoke_none_when_finished(p: Probe) -> Any:
    """What invoke(None) does on a conversation that is finished, and on one that does not exist."""
    graph = p.graph(a=says("a"))
    p.run(graph, {"log": ["in"]})
    return [p.attempt(graph, None), p.log(graph), p.attempt(graph, None, p.config("-new"))]


@fact("state.resume-when-finished")
def resume_when_finished(p: Probe) -> Any:
    """What an answer does on a conversation that is finished."""
    from lineage_conformance.facts.probe import resume

    graph = p.graph(a=asks("q"))
    p.run(graph, {"log": ["in"]})
    p.run(graph, resume("yes"))
    return [p.attempt(graph, resume("late")), p.log(graph)]


@fact("state.overwrite-on-a-reducer", "The wrapper itself is stored as the value.")
def overwrite_on_a_reducer(p: Probe) -> Any:
    """What an Overwrite of a reduced channel leaves."""
    try:
        from langgraph.types import Overwrite
    except ImportError:
        p.need(False, "no Overwrite")
    graph = p.graph(a=lambda state: {"log": Overwrite(["new"])})
    p.run(graph, {"log": ["in"]})
    return p.log(graph)


@fact("state.order-of-parallel-results", "Results of parallel nodes change places.")
def order_of_parallel_results(p: Probe) -> Any:
    """The order in which the results of four parallel nodes are added."""
    graph = p.together(d=says("d"), b=says("b"), a=says("a"), c=says("c"))
    p.run(graph, {"log": ["in"]})
    return p.log(graph)


@fact(
    "state.cached-result-is-stored",
    "A result from the cache is missing from stored pending writes.",
)
def cached_result_is_stored(p: Probe) -> Any:
    """Whether put_writes is called for a node that the cache answered."""
    try:
        from langgraph.cache.memory import InMemoryCache
        from langgraph.types import CachePolicy
    except ImportError:
        p.need(False, "no cache of nodes")
    from langgraph.graph import START

    from lineage_conformance.facts.probe import state_graph

    made = state_graph()
    made.add_node("a", says("a"), cache_policy=CachePolicy(key_func=lambda state: "same"))
    made.add_edge(START, "a")
    graph = made.compile(checkpointer=p.saver, cache=InMemoryCache())
    p.run(graph, {"log": ["in"]}, p.config("-miss"))
    with p.listening() as calls:
        p.run(graph, {"log": ["in"]}, p.config("-hit"))
    return sum(call[0] == "writes" and "log" in call[1] for call in calls)
