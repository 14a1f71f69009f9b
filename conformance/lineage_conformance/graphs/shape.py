"""What a graph looks like and what its tools do, as data.

The graph that this project is known for is the layout ``send``: a scripted ``model``, a node ``review`` after
it that alone routes to END, and a node ``tools`` fed by one `Send` per tool call. The other layouts are the
same tools joined in another way.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lineage_conformance.case import Part

LAYOUTS = ("send", "edges", "line", "nested", "functional", "functional-line")
"""``send``: model → review → Send tools → model. ``edges``: one node a tool, all after START. ``line``: one
after the other. ``nested``: like edges, and each tool sends one more task to ``work``. ``functional``: tasks of
an entrypoint, together or (``-line``) one by one."""

CHILD = ("", "shared", "own")
"""Whether the graph sits in a node ``sub`` of a parent: with the parent's saver, or ``checkpointer=True``."""

STEPS = ("gate", "after", "raise", "ask", "command", "goto", "subgraph", "overwrite")


@dataclass(frozen=True)
class Tool(Part):
    """A tool: its name, and the steps that it takes before it returns its result.

    ``gate:G`` stops where a test may hold it. ``after:T`` waits until tool T's write is settled (or T asked, or
    failed). ``raise`` fails every time, ``raise:N`` the first N times. ``ask`` interrupts with the question
    ``name?1``, the next one with ``name?2``. ``command`` returns a `Command` instead of a dict, ``goto:aside``
    one that goes to the node ``aside`` too. ``overwrite`` replaces what the channels hold instead of adding to
    it. ``subgraph`` leaves the rest of the steps to the second node of an
    inner graph, whose first node is called ``name.first``.
    """

    name: str
    steps: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for step in self.steps:
            if step.partition(":")[0] not in STEPS:
                raise ValueError(
                    f"tool {self.name!r}: unknown step {step!r}; known are {', '.join(STEPS)}"
                )

    @property
    def questions(self) -> tuple[str, ...]:
        """The questions that the tool asks, in order."""
        return tuple(f"{self.name}?{n + 1}" for n in range(self.steps.count("ask")))

    def result(self, round: int = 1, answers: Mapping[str, Any] | None = None) -> str:
        """What the tool writes when every question is answered (``a?1`` by ``a!1`` unless given)."""
        given = [str((answers or {}).get(q, answer_to(q))) for q in self.questions]
        name = self.name if round == 1 else f"{self.name}#{round}"
        return name + ("=" + "+".join(given) if given else "")


def answer_to(question: str) -> str:
    """The usual answer to a question."""
    return question.replace("?", "!")


def owner(text: str) -> str:
    """The tool that a result or a question comes from."""
    for sign in "=#?":
        text = text.partition(sign)[0]
    return text


def tools(count: int, *steps: str) -> tuple[Tool, ...]:
    """`count` tools named a, b, c, ... that take the same steps."""
    return tuple(Tool(chr(ord("a") + n), steps) for n in range(count))


@dataclass(frozen=True)
class Shape(Part):
    """A graph: its tools, how they are joined, and what is special about it."""

    tools: tuple[Tool, ...] = (Tool("a"),)
    layout: str = "send"
    rounds: int = 1
    """How often the model calls all tools in one turn (layout ``send``)."""
    join: bool = False
    """Whether a node ``tail`` waits for all tools (layout ``edges``)."""
    child: str = ""
    delta: str = ""
    """``delta``: the state has a `DeltaChannel` ``deltas`` that is fed what ``log`` is fed; ``plain``: a reduced
    channel of that name, as before a migration."""
    before: tuple[str, ...] = ()
    """Nodes before which the graph always stops (``interrupt_before``)."""
    cached: tuple[str, ...] = ()
    """Tools whose results are cached (layouts ``edges`` and ``line``)."""
    handled: tuple[str, ...] = ()
    """Tools with an error handler, which writes ``name.handled`` (layouts ``edges`` and ``line``)."""

    def log(self, text: str = "in", answers: Mapping[str, Any] | None = None) -> list[str]:
        """What the channel ``log`` holds at the end of an uninterrupted first turn, in order."""
        seen = [text]
        for round in range(1, (self.rounds if self.layout == "send" else 1) + 1):
            for tool in self.tools:
                failed = tool.name in self.handled and "raise" in tool.steps
                if "overwrite" in tool.steps:
                    seen.clear()
                seen.append(f"{tool.name}.handled" if failed else tool.result(round, answers))
            if any(step.startswith("goto:") for tool in self.tools for step in tool.steps):
                seen.append("aside")
        if self.layout == "nested":
            seen += [f"{tool.name}.work" for tool in self.tools]
        if (self.join and self.layout == "edges") or self.child:
            seen.append("tail")
        return seen

    def node_of(self, tool: str) -> str:
        """The node of the outermost graph in which a tool runs."""
        if self.child:
            return "sub"
        if self.layout.startswith("functional"):
            return "flow"
        return "tools" if self.layout == "send" else tool

    def to_json(self) -> dict[str, Any]:
        """The shape as JSON data; what is as usual is left out."""
        return {**super().to_json(), "tools": {tool.name: list(tool.steps) for tool in self.tools}}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Shape:
        """Read a shape. Raises `ValueError` for unknown steps, `TypeError` for unknown fields."""
        tools = tuple(Tool(name, tuple(steps)) for name, steps in data["tools"].items())
        return super().from_json({**data, "tools": tools})

    def smaller(self) -> Iterator[Shape]:
        """Shapes with one tool, step, round or peculiarity less."""
        named = {step.partition(":")[2] for tool in self.tools for step in tool.steps}
        named.update(self.before, self.cached, self.handled)
        for tool in self.tools:
            rest = tuple(t for t in self.tools if t is not tool)
            if rest and tool.name not in named:
                yield dataclasses.replace(self, tools=rest)
        if self.rounds > 1:
            yield dataclasses.replace(self, rounds=self.rounds - 1)
        for index, tool in enumerate(self.tools):
            for at, step in enumerate(tool.steps):
                if step.startswith(("after", "gate")):
                    continue  # they are what makes the outcome the same every time
                less = Tool(tool.name, tool.steps[:at] + tool.steps[at + 1 :])
                changed = (*self.tools[:index], less, *self.tools[index + 1 :])
                yield dataclasses.replace(self, tools=changed)
        if self.join:
            yield dataclasses.replace(self, join=False)
