"""Hypothesis strategies for scenarios: one small alphabet a focus, the simplest first.

Every generated scenario is one whose outcome does not depend on which task is faster: who fails waits for the
others, and an answer is given to a question that is known to wait.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from lineage_conformance.graphs.shape import Shape, Tool, answer_to
from lineage_conformance.scenario import Act, Scenario, answer, answers, go_on, invoke, update

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
    """A line of tools inside a child, some of which ask."""
    steps = st.sampled_from([(), ("ask",), ("ask", "ask")])
    tools = [Tool(NAMES[n], draw(steps)) for n in range(draw(st.sampled_from([2, 3])))]
    acts = [invoke(), *(answer(answer_to(q)) for tool in tools for q in tool.questions)]
    child = draw(st.sampled_from(["shared", "own"]))
    return Scenario(Shape(tuple(tools), "line", child=child), tuple(acts), draw(MODES))


@st.composite
def delta_focus(draw: Draw) -> Scenario:
    """Turns, updates, replays and forks of a thread with a delta channel."""
    names = NAMES[: draw(st.sampled_from([2, 3]))]
    shape = Shape(tuple(Tool(name) for name in names), "line", delta="delta")
    acts: list[Act] = [draw(st.sampled_from([invoke(), update("seed", as_node="a")]))]
    for number in range(draw(st.integers(1, 4))):
        kind = draw(st.sampled_from(["turn", "update", "replay", "edit", "fork"]))
        node = draw(st.sampled_from(names))
        ran = any(act.op == "invoke" for act in acts)
        if kind == "turn" or not ran:
            acts.append(invoke(f"turn{number}"))
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
    """A run that is cancelled with some tools finished and the others at a gate."""
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
    "graph-delta": delta_focus,
    "graph-cancel": cancel_focus,
    "graph-crash": crash_focus,
}
