"""Hypothesis strategies for scenarios: one small alphabet a focus, the simplest first.

Every generated scenario is one whose outcome does not depend on which task is faster: who fails waits for the
others, and an answer is given to a question that is known to wait.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from lineage_conformance.graphs.shape import Shape, Tool, answer_to
from lineage_conformance.kinds.graph.scenario import (
    Act,
    Scenario,
    answer,
    answers,
    go_on,
    invoke,
    update,
)

Draw = Callable[[st.SearchStrategy[Any]], Any]

NAMES = "abcdefghijkl"
STEPS = st.sampled_from(
    [(), ("ask",), ("command",), ("subgraph",), ("ask", "ask"), ("subgraph", "ask")]
)
COUNTS = st.sampled_from([2, 1, 3, 4, 12])
MODES = st.sampled_from(["", "sync", "async"])


def _answered(draw: Draw, tools: list[Tool]) -> list[Act]:
    """Acts that answer every question of tools that wait at the same time, in some order, by id."""
    waiting = {tool.name: list(tool.questions) for tool in tools if tool.questions}
    acts = []
    while waiting:
        chosen = draw(st.lists(st.sampled_from(sorted(waiting)), min_size=1, unique=True))
        acts.append(answers(*(waiting[name].pop(0) for name in sorted(chosen))))
        waiting = {name: left for name, left in waiting.items() if left}
    return acts


@st.composite
def resume_focus(draw: Draw) -> Scenario:
    """A turn that stops at questions and at one error, and is resumed until it ends."""
    layout = draw(st.sampled_from(["edges", "send", "line"]))
    tools = [Tool(NAMES[n], draw(STEPS)) for n in range(draw(COUNTS))]
    fails = draw(st.booleans())
    acts: list[Act] = [invoke()]
    if layout == "line":
        # One task at a time: what waits for an answer is always the first tool that has not got it.
        for tool in tools:
            acts += [answer(answer_to(question)) for question in tool.questions]
        if fails:
            tools.append(Tool("z", ("raise:1",)))
            acts.append(go_on())
        return Scenario(Shape(tuple(tools), layout), tuple(acts), draw(MODES))
    asked = _answered(draw, tools)
    if fails:
        tools.append(Tool("z", (*(f"after:{tool.name}" for tool in tools), "raise:1")))
        acts.append(go_on())
    join = layout == "edges" and draw(st.booleans())
    rounds = 1 if asked or fails or layout != "send" else draw(st.sampled_from([1, 2]))
    mode = draw(MODES) if fails else draw(st.sampled_from(["", "exit", "sync"]))
    return Scenario(Shape(tuple(tools), layout, rounds, join), (*acts, *asked), mode)


@st.composite
def interrupts_focus(draw: Draw) -> Scenario:
    """Several tools that ask once or twice; answers by id, some at once and some one by one."""
    steps = st.sampled_from([("ask",), ("ask", "ask"), ()])
    tools = [Tool(NAMES[n], draw(steps)) for n in range(draw(st.sampled_from([2, 3, 5])))]
    layout = draw(st.sampled_from(["edges", "send"]))
    return Scenario(Shape(tuple(tools), layout), (invoke(), *_answered(draw, tools)), draw(MODES))


@st.composite
def fork_focus(draw: Draw) -> Scenario:
    """A line of tools that is replayed from several points."""
    names = NAMES[: draw(st.sampled_from([2, 3, 5]))]
    points = draw(st.lists(st.sampled_from(names), min_size=1, max_size=3))
    acts = [invoke(), *(go_on(at=f"before:{name}") for name in points)]
    return Scenario(Shape(tuple(Tool(name) for name in names), "line"), tuple(acts), draw(MODES))


@st.composite
def subgraph_focus(draw: Draw) -> Scenario:
    """A line of tools inside a child, some of which ask, also in a subgraph of their own."""
    steps = st.sampled_from([(), ("ask",), ("ask", "ask"), ("subgraph",), ("subgraph", "ask")])
    tools = [Tool(NAMES[n], draw(steps)) for n in range(draw(st.sampled_from([2, 3])))]
    acts = [invoke(), *(answer(answer_to(q)) for tool in tools for q in tool.questions)]
    child = draw(st.sampled_from(["shared", "own"]))
    return Scenario(Shape(tuple(tools), "line", child=child), tuple(acts), draw(MODES))


@st.composite
def memory_focus(draw: Draw) -> Scenario:
    """Turns of a child, with memory of its own or without."""
    names = NAMES[: draw(st.sampled_from([1, 2, 3]))]
    shape = Shape(
        tuple(Tool(name) for name in names), "line", child=draw(st.sampled_from(["own", "shared"]))
    )
    turns = draw(st.integers(1, 3))
    return Scenario(shape, tuple(invoke(f"turn{n}") for n in range(turns)), draw(MODES))


@st.composite
def functional_focus(draw: Draw) -> Scenario:
    """Tasks of an entrypoint, one by one, some of which ask or fail once."""
    steps = st.sampled_from([(), ("ask",), ("ask", "ask")])
    tools = [Tool(NAMES[n], draw(steps)) for n in range(draw(st.sampled_from([2, 1, 3, 5])))]
    acts = [invoke(), *(answer(answer_to(q)) for tool in tools for q in tool.questions)]
    if draw(st.booleans()):
        tools.append(Tool("z", ("raise:1",)))
        acts.append(go_on())
    return Scenario(Shape(tuple(tools), "functional-line"), tuple(acts), draw(MODES))


@st.composite
def entrypoint_focus(draw: Draw) -> Scenario:
    """Parallel tasks of an entrypoint that ask once or not at all, answered in the order that it waits in."""
    steps = st.sampled_from([("ask",), ()])
    tools = [Tool(NAMES[n], draw(steps)) for n in range(draw(st.sampled_from([2, 3, 5])))]
    acts = [invoke(), *(answers(q) for tool in tools for q in tool.questions)]
    return Scenario(Shape(tuple(tools), "functional"), tuple(acts), draw(MODES))


@st.composite
def bulk_focus(draw: Draw) -> Scenario:
    """Updates in bulk, on a fresh thread or after a turn."""
    names = NAMES[: draw(st.sampled_from([2, 1, 3]))]
    shape = Shape(tuple(Tool(name) for name in names), "line")
    notes = tuple(f"note{n}" for n in range(draw(st.integers(1, 4))))
    first = [invoke()] if draw(st.booleans()) else [update("seed", as_node=names[0])]
    bulk = Act("bulk", note=notes, as_node=draw(st.sampled_from(names)))
    return Scenario(shape, (*first, bulk), draw(MODES))


@st.composite
def delta_focus(draw: Draw) -> Scenario:
    """Turns, updates, replays and forks of a thread with a delta channel."""
    names = NAMES[: draw(st.sampled_from([2, 3]))]
    shape = Shape(tuple(Tool(name) for name in names), "line", delta="delta")
    acts: list[Act] = [draw(st.sampled_from([invoke(), update("seed", as_node="a")]))]
    for number in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from(["turn", "update", "replay", "edit", "fork", "bulk", "delete"]))
        node = draw(st.sampled_from(names))
        ran = any(act.op == "invoke" for act in acts)
        if kind == "turn" or not ran:
            acts.append(invoke(f"turn{number}"))
        elif kind == "bulk":
            acts.append(Act("bulk", note=(f"one{number}", f"two{number}"), as_node=node))
        elif kind == "delete":
            acts += [Act("delete"), invoke(f"turn{number}")]
        elif kind == "update":
            acts.append(update(f"note{number}", as_node=node))
        elif kind == "replay":
            acts.append(go_on(at=f"before:{node}"))
        elif kind == "edit":
            acts.append(update(f"edit{number}", as_node=node, at=f"before:{node}"))
        else:
            at = draw(st.integers(0, len(acts) - 1))
            acts.append(invoke(f"turn{number}", at=f"act:{at}"))
    return Scenario(shape, tuple(acts), draw(st.sampled_from(["", "exit", "sync"])))


def _stopped(draw: Draw, stop: str, modes: list[str]) -> Scenario:
    """A run that is stopped with some tools finished and the others at a gate."""
    count = draw(st.sampled_from([2, 3, 5]))
    done = draw(st.lists(st.sampled_from(NAMES[: count - 1]), unique=True))
    tools = tuple(Tool(n) if n in done else Tool(n, (f"gate:{n}",)) for n in NAMES[:count])
    hold = tuple(tool.name for tool in tools if tool.steps)
    until = (*(f"reached:{name}" for name in hold), *(f"settled:{name}" for name in sorted(done)))
    layout = draw(st.sampled_from(["edges", "send"]))
    shape = Shape(tools, layout, join=layout == "edges")
    act = invoke(hold=hold, until=until, stop=stop)
    return Scenario(shape, (act, go_on()), draw(st.sampled_from(modes)))


@st.composite
def cancel_focus(draw: Draw) -> Scenario:
    """A run that is cancelled with some tools finished and the others at a gate, or in a node that is no tool."""
    if draw(st.sampled_from([False, False, True])):
        node = draw(st.sampled_from(["review", "model"]))
        shape = Shape(tuple(Tool(name) for name in NAMES[: draw(st.sampled_from([1, 2, 3]))]))
        act = invoke(hold=(node,), until=(f"reached:{node}",), stop="cancel")
        return Scenario(shape, (act, go_on()), draw(st.sampled_from(["sync", "async"])))
    return _stopped(draw, "cancel", ["sync", "async"])


@st.composite
def crash_focus(draw: Draw) -> Scenario:
    """A run whose process dies with some tools finished and the others at a gate."""
    # With durability async a finished task may be stored before the checkpoint that it belongs to.
    return _stopped(draw, "crash", ["sync"])


FOCUSES: dict[str, Callable[[], st.SearchStrategy[Any]]] = {
    "graph-resume": resume_focus,
    "graph-interrupts": interrupts_focus,
    "graph-fork": fork_focus,
    "graph-subgraph": subgraph_focus,
    "graph-memory": memory_focus,
    "graph-functional": functional_focus,
    "graph-entrypoint": entrypoint_focus,
    "graph-bulk": bulk_focus,
    "graph-delta": delta_focus,
    "graph-cancel": cancel_focus,
    "graph-crash": crash_focus,
}
