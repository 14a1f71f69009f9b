"""What the parts of a scenario's script share: the lines so far, imports, and which half is written."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

from lineage_conformance.graphs.shape import Tool
from lineage_conformance.kinds.graph.scenario import Scenario
from pytest_lineage.report.scripting.subject import ScriptError
from pytest_lineage.report.scripting.writer import Writer

WAIT = 0.001
"""Seconds between two looks of a loop that waits for a condition."""


@dataclass(kw_only=True)
class SceneWriter(Writer):
    """Collects the lines of a scenario's script."""

    scenario: Scenario
    builder: str = "builder"
    """What makes the graph's builder."""
    kept: tuple[str, ...] = ()
    """The ephemeral and untracked channels that the script asks about."""
    migrates: bool = False
    """Whether the graph is built twice: with a plain channel, then with a delta channel."""

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools of the graph."""
        return self.scenario.shape.tools

    def wait(self, call: str) -> str:
        """The expression that calls a method of the graph or the saver on this half: ``graph.invoke(x)``."""
        head, _, rest = call.partition(".")
        return f"await {head}.a{rest}" if self.is_async else call

    def define(self, head: str) -> str:
        """The head of a function."""
        return f"async def {head}:" if self.is_async else f"def {head}:"

    def begin(self, head: str) -> None:
        """Begin a function that LangGraph calls and that asks, or calls a task or a subgraph.

        Before Python 3.11 asyncio takes no context for a task, so there it must hand its config on itself.
        """
        if not self.is_async or sys.version_info >= (3, 11) or not self.calls_back():
            self.say(self.define(head))
            return
        self.use("langchain_core.runnables.config", "var_child_runnable_config")
        self.say(self.define(head.removesuffix(")") + ", config=None)"))
        self.say("var_child_runnable_config.set(config)", 1)

    def calls_back(self) -> bool:
        """Whether nodes ask, or call tasks or subgraphs."""
        inner = any("subgraph" in tool.steps or tool.questions for tool in self.tools)
        return inner or self.scenario.shape.layout.startswith("functional")

    def until(self, condition: str) -> str:
        """A loop that waits until a condition does not hold any more."""
        if self.is_async:
            self.need("asyncio")
            return f"while {condition}: await asyncio.sleep(0)"
        self.need("time")
        return f"while {condition}: time.sleep({WAIT})"

    def held(self) -> dict[str, bool]:
        """Gates that some run is stopped at, by their names."""
        return {name: True for act in self.scenario.acts for name in act.hold}

    def streamed(self) -> bool:
        """Whether the script must know what a run has accepted while it is still going on."""
        steps = (step for tool in self.tools for step in tool.steps)
        shown = ("settled", "landed", "committed", "asked")
        conditions = (condition for act in self.scenario.acts for condition in act.until)
        return any(step.startswith("after:") for step in steps) or any(
            condition.startswith(shown) for condition in conditions
        )

    def shows(self, tool: str) -> str:
        """The text that is in a run's updates as soon as a tool's result, or its question, is accepted."""
        made = next((t for t in self.tools if t.name == tool), None)
        if made is None:
            raise ScriptError(f"there is no tool {tool}")
        if tool in self.scenario.shape.handled:
            return f'"{tool}.handled" in ran'
        if "raise" in made.steps:
            raise ScriptError(
                f"it waits until the error of {tool} is stored, which no update shows"
            )
        first = made.questions[0] if made.questions else made.name
        return f"\"'{first}'\" in str(seen)"


def listed(items: Any) -> str:
    """Source of something that gives these names: a text where each is one letter."""
    names = tuple(items)
    if all(len(name) == 1 for name in names):
        return f'"{"".join(names)}"'
    return repr(names)
