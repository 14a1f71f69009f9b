"""Facts about subgraphs: where their memory lies, and what becomes of it."""

from __future__ import annotations

import re
from typing import Any

from lineage_conformance.facts import fact
from lineage_conformance.facts.probe import Probe, asks, noted, resume, says, state_graph

MEMORY = "The memory of subgraphs is not found again after the upgrade, or is shared by accident."
PROGRESS = "Finished steps of subgraphs run again."


def _child(*nodes: tuple[str, Any], **options: Any) -> Any:
    from langgraph.graph import START

    made = state_graph()
    previous = START
    for name, node in nodes:
        made.add_node(name, node)
        made.add_edge(previous, name)
        previous = name
    return made.compile(**options)


def _namespaces(p: Probe, thread: str = "", saver: Any = None) -> list[str]:
    rows = p.rows(p.place(thread, checkpoint_ns=None))
    names = {row.config["configurable"]["checkpoint_ns"] for row in rows}
    return sorted(re.sub(r":[0-9a-f-]{36}", ":(task)", name) for name in names)


@fact("subgraphs.namespace-of-a-child", MEMORY)
def namespace_of_a_child(p: Probe) -> Any:
    """The namespaces that a run with a subgraph leaves."""
    graph = p.graph(sub=_child(("one", says("one"))))
    p.run(graph, {"log": ["in"]})
    return _namespaces(p)


@fact("subgraphs.namespace-of-a-child-with-memory", MEMORY)
def namespace_of_a_child_with_memory(p: Probe) -> Any:
    """The namespaces that two turns with a subgraph leave that keeps its memory (checkpointer=True)."""
    graph = p.graph(sub=_child(("one", says("one")), checkpointer=True))
    p.run(graph, {"log": ["in"]})
    p.run(graph, {"log": ["in"]})
    return _namespaces(p)


@fact("subgraphs.namespace-of-a-grandchild", MEMORY)
def namespace_of_a_grandchild(p: Probe) -> Any:
    """The namespaces that a run with a subgraph in a subgraph leaves, both with memory."""
    inner = _child(("one", says("one")), checkpointer=True)
    graph = p.graph(sub=_child(("deep", inner), checkpointer=True))
    p.run(graph, {"log": ["in"]})
    return _namespaces(p)


@fact("subgraphs.memory-of-a-child", MEMORY)
def memory_of_a_child(p: Probe) -> Any:
    """How many turns a subgraph with memory remembers in the third turn of a conversation."""
    graph, seen = _counting(p, checkpointer=True)
    for _ in range(3):
        p.run(graph, {"log": ["in"]})
    return seen


@fact("subgraphs.memory-without-asking", MEMORY)
def memory_without_asking(p: Probe) -> Any:
    """How many turns a subgraph remembers that was not told to."""
    graph, seen = _counting(p)
    for _ in range(3):
        p.run(graph, {"log": ["in"]})
    return seen


def _counting(p: Probe, **options: Any) -> tuple[Any, list[int]]:
    from langgraph.graph import START
    from typing_extensions import TypedDict

    seen: list[int] = []

    def count(state: Any) -> Any:
        seen.append((state.get("turns") or 0) + 1)
        return {"turns": seen[-1]}

    made = state_graph(TypedDict("Turns", {"turns": int}))  # type: ignore[operator]
    made.add_node("count", count)
    made.add_edge(START, "count")
    return p.graph(sub=made.compile(**options)), seen


def _called(p: Probe, place: dict[str, Any]) -> Any:
    """A graph whose node calls a graph of its own over the same saver, with a config of its own."""
    from langgraph.graph import START
    from typing_extensions import TypedDict

    seen: list[int] = []

    def count(state: Any) -> Any:
        seen.append((state.get("turns") or 0) + 1)
        return {"turns": seen[-1]}

    made = state_graph(TypedDict("Turns", {"turns": int}))  # type: ignore[operator]
    made.add_node("count", count)
    made.add_edge(START, "count")
    inner = made.compile(checkpointer=p.saver)

    def call(state: Any) -> Any:
        inner.invoke({}, {"configurable": place})
        return {"log": ["called"]}

    async def acall(state: Any) -> Any:
        await inner.ainvoke({}, {"configurable": place})
        return {"log": ["called"]}

    return p.graph(call=call if p.half == "sync" else acall), seen


@fact("subgraphs.own-thread-called-in-a-node", MEMORY)
def own_thread_called_in_a_node(p: Probe) -> Any:
    """What a graph remembers that a node calls with a thread of its own, and the namespaces it leaves."""
    thread = p.bench.name("own")
    graph, seen = _called(p, {"thread_id": thread})
    for _ in range(3):
        p.run(graph, {"log": ["in"]})
    return [seen, _namespaces(p, thread)]


@fact("subgraphs.update-of-the-parent", PROGRESS)
def update_of_the_parent(p: Probe) -> Any:
    """Which steps of a waiting subgraph run when its parent was updated meanwhile and then goes on."""
    ran: list[str] = []

    def step(name: str) -> Any:
        return lambda state: noted(ran, name, {"log": [name]})

    child = _child(("one", step("one")), ("two", step("two")), interrupt_before=["two"])
    graph = p.graph(sub=child)
    p.run(graph, {"log": ["in"]})
    p.on(graph, "update_state", p.config(), {"log": ["edit"]})
    ran.clear()
    p.attempt(graph, None)
    return [ran, list(p.state(graph).next)]


@fact("subgraphs.answer", PROGRESS)
def answer(p: Probe) -> Any:
    """How often the first step of a subgraph has run when its second was answered, and the log."""
    ran: list[str] = []
    graph = p.graph(
        sub=_child(("one", lambda state: noted(ran, "one", {"log": ["one"]})), ("ask", asks("q")))
    )
    p.run(graph, {"log": []})
    p.run(graph, resume("yes"))
    return [len(ran), p.log(graph)]


@fact("subgraphs.state-while-waiting", "Views of a waiting subgraph show nothing, or more.")
def state_while_waiting(p: Probe) -> Any:
    """What get_state(subgraphs=True) shows of a subgraph that waits for an answer."""
    graph = p.graph(sub=_child(("one", says("one")), ("ask", asks("q"))))
    p.run(graph, {"log": ["in"]})
    inner = p.on(graph, "get_state", p.config(), subgraphs=True).tasks[0].state
    return [inner.values.get("log"), list(inner.next)]


@fact("subgraphs.replay", PROGRESS)
def replay(p: Probe) -> Any:
    """What a subgraph does when its finished parent is replayed from before it: runs again, asks again."""
    graph = p.graph(sub=_child(("one", says("one")), ("ask", asks("q"))))
    p.run(graph, {"log": ["in"]})
    p.run(graph, resume("yes"))
    p.attempt(graph, None, p.before(graph, "sub"))
    return [list(p.state(graph).next), p.log(graph)]
