"""What runs inside the nodes: a tool's steps as one generator, driven by a plain or an async function.

A generator yields what it waits for: a predicate over the gates, or a subgraph call. So the sync and the async
graph run the very same steps.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

from lineage_conformance.graphs.gates import Gates
from lineage_conformance.graphs.shape import Tool

Steps = Generator[Any, Any, Any]
Body = Callable[[Any, Any], Steps]
"""Takes a node's input and its config, gives the generator of its steps."""


class ToolFailed(Exception):
    """What a tool raises when it is told to fail."""


@dataclass(frozen=True)
class Call:
    """A subgraph that a node invokes: the compiled graph and its input."""

    graph: Any
    input: Any


def perform(tool: Tool, round: int, gates: Gates, inner: Any = None) -> Steps:
    """Take the steps of a tool and return the text of its result."""
    from langgraph.types import interrupt

    gates.post("began", tool.name)
    answers: list[str] = []
    for step in tool.steps:
        kind, _, name = step.partition(":")
        if kind == "gate":
            gates.post("reached", name)
            yield lambda name=name: gates.is_open(name)
        elif kind == "after":
            yield lambda name=name: gates.is_settled(name)
        elif kind == "raise":
            if not name or gates.count("began", tool.name) <= int(name):
                gates.post("raised", tool.name)
                raise ToolFailed(f"{tool.name} was told to fail")
        elif kind == "ask":
            answers.append(str(interrupt(f"{tool.name}?{len(answers) + 1}")))
        elif kind == "subgraph" and inner is not None:
            made = yield Call(inner, {"said": ""})
            gates.post("finished", tool.name)
            return made["said"]
    gates.post("finished", tool.name)
    name = tool.name if round == 1 else f"{tool.name}#{round}"
    return name + ("=" + "+".join(answers) if answers else "")


def node(body: Body, half: str, gates: Gates) -> Callable[..., Any]:
    """The node function that runs a body; a coroutine function on the async half."""

    def run(state, config):  # type: ignore[no-untyped-def]
        steps, answer = body(state, config), None
        try:
            while True:
                wanted = steps.send(answer)
                answer = None
                if isinstance(wanted, Call):
                    answer = wanted.graph.invoke(wanted.input, config)
                else:
                    gates.stay(wanted)
        except StopIteration as stop:
            return stop.value

    async def arun(state, config):  # type: ignore[no-untyped-def]
        share(config)
        steps, answer = body(state, config), None
        try:
            while True:
                wanted = steps.send(answer)
                answer = None
                if isinstance(wanted, Call):
                    answer = await wanted.graph.ainvoke(wanted.input, config)
                else:
                    await gates.stay_async(wanted)
        except StopIteration as stop:
            return stop.value

    return run if half == "sync" else arun


def share(config: Any) -> None:
    """Call first in a coroutine that LangGraph hands its config.

    Before Python 3.11 asyncio takes no context for a task, so `interrupt` and the calls of tasks and subgraphs
    would not find the config.
    """
    if config is not None and sys.version_info < (3, 11):
        from langchain_core.runnables.config import var_child_runnable_config

        var_child_runnable_config.set(config)
