"""Facts about what a run tells the saver: how many calls a step makes, in which order, with which paths."""

from __future__ import annotations

from collections import Counter
from typing import Any

from lineage_conformance.facts import Fact, add, fact
from lineage_conformance.facts.probe import Probe, asks, says
from lineage_conformance.facts.scene import mode

COST = "Storage grows, and each step costs more or fewer round trips."


def _calls(p: Probe, durability: str) -> list[tuple[Any, ...]]:
    graph = p.graph(a=says("a"), b=says("b"))
    with p.listening() as calls:
        p.run(graph, {"log": ["in"]}, **mode(graph, durability))
    return calls


def _count(durability: str) -> Any:
    return lambda p: dict(sorted(Counter(call[0] for call in _calls(p, durability)).items()))


for _mode in ("sync", "async", "exit"):
    add(Fact(f"calls.in-{_mode}-mode",
             f"How many put and put_writes calls a run of two nodes makes with durability {_mode}.",
             _count(_mode), COST))  # fmt: skip


@fact("calls.order-in-sync-mode", "A crash between two calls leaves something else.")
def order_in_sync_mode(p: Probe) -> Any:
    """With durability sync, for each checkpoint of a run of two nodes, which of it came first: itself or its writes.

    Whether the next checkpoint comes before these writes is a race inside the engine: no order is told for that.
    """
    came = [(call[0], call[-1]) for call in _calls(p, "sync")]
    checkpoints = [id for what, id in came if what == "put"]
    return [[what for what, of in came if of == id] for id in checkpoints]


@fact("calls.puts-in-exit-mode", COST)
def puts_in_exit_mode(p: Probe) -> Any:
    """Source and step of the checkpoints that a run of two nodes stores with durability exit."""
    return [[*call[1:3]] for call in _calls(p, "exit") if call[0] == "put"]


@fact("calls.channels-of-a-task", COST)
def channels_of_a_task(p: Probe) -> Any:
    """The channels that tasks of a line and of a fan-out write to, as they reach put_writes."""
    graph = p.together(a=says("a"), b=says("b"))
    with p.listening() as calls:
        p.run(graph, {"log": ["in"]})
    return sorted(call[1] for call in calls if call[0] == "writes")


@fact("calls.task-paths", "The order of stored writes follows other paths.")
def task_paths(p: Probe) -> Any:
    """The task paths that two parallel nodes and two Send tasks hand to put_writes, sorted."""
    from langgraph.graph import START
    from langgraph.types import Send

    from lineage_conformance.facts.probe import state_graph

    made = state_graph()
    for name in ("a", "b"):
        made.add_node(name, says(name))
        made.add_edge(START, name)
    made.add_conditional_edges("a", lambda state: [Send("work", "1"), Send("work", "2")], ["work"])
    made.add_node("work", lambda packet: {"log": [packet]})
    graph = made.compile(checkpointer=p.saver)
    with p.listening() as calls:
        p.run(graph, {"log": ["in"]})
    return sorted(str(call[2]) for call in calls if call[0] == "writes")


@fact("calls.when-it-asks", COST)
def when_it_asks(p: Probe) -> Any:
    """How many put and put_writes calls a run makes that stops at a question, and to which channels."""
    graph = p.graph(a=says("a"), b=asks("q"))
    with p.listening() as calls:
        p.run(graph, {"log": ["in"]})
    channels = sorted({name for call in calls if call[0] == "writes" for name in call[1]})
    return [dict(sorted(Counter(call[0] for call in calls).items())), channels]


@fact("calls.when-it-is-updated", COST)
def when_it_is_updated(p: Probe) -> Any:
    """The calls that one update_state makes."""
    graph = p.graph(a=says("a"), b=says("b"))
    p.run(graph, {"log": ["in"]})
    with p.listening() as calls:
        p.on(graph, "update_state", p.config(), {"log": ["edit"]}, as_node="a")
    return [call[0] for call in calls]


@fact("calls.when-it-fails", COST)
def when_it_fails(p: Probe) -> Any:
    """How many put and put_writes calls a run makes whose second node fails, and to which channels."""

    def fails(state: Any) -> Any:
        raise ValueError("told to fail")

    graph = p.graph(a=says("a"), b=fails)
    with p.listening() as calls:
        p.attempt(graph, {"log": ["in"]})
    channels = sorted({name for call in calls if call[0] == "writes" for name in call[1]})
    return [dict(sorted(Counter(call[0] for call in calls).items())), channels]
