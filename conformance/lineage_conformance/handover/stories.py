"""The stories: conversations that stop half-way, as data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from lineage_conformance.graphs.shape import Shape, Tool, tools


@dataclass(frozen=True)
class Stage:
    """What is done with the conversation before it is left.

    `do` is ``invoke`` (with a text), ``resume`` (with an answer, or answers by question), ``go-on``, ``stop`` (invoke,
    and stop when `until` is met), ``edit`` (an update as a node), ``fork`` (the same at the latest checkpoint at which
    `at` was next) or ``copy`` (an update ``__copy__``).
    """

    do: str
    with_: Any = None
    shape: Shape | None = None
    """The graph of this stage, where a deploy changed it: the task that failed no longer does."""
    until: tuple[str, ...] = ()
    hold: tuple[str, ...] = ()
    at: str = ""


@dataclass(frozen=True)
class Story:
    """One conversation in stages."""

    id: str
    sentence: str
    """What an application expects of it."""
    shape: Shape
    stages: tuple[Stage, ...] = field(default=())


PAIR = (Tool("a"), Tool("b", ("after:a", "ask")))
FAILING = (Tool("a"), Tool("b", ("after:a", "after:c", "raise")), Tool("c"))
GO_ON = Stage("go-on")
TURNS = (Stage("invoke", "two"), Stage("invoke", "three"), Stage("invoke", "four"))

STORIES = (
    Story("interrupt", "A question that waits is answered; the finished sibling does not run again.",
          Shape(PAIR, "edges", join=True), (Stage("invoke", "in"), Stage("resume", "b!1"), Stage("invoke", "two"))),
    Story("interrupt-in-tools", "A question of a tool of a scripted agent is answered.",
          Shape(PAIR), (Stage("invoke", "in"), Stage("resume", "b!1"))),
    Story("two-questions", "Two questions of one task are answered one after the other.",
          Shape((Tool("a", ("ask", "ask")),), "edges"),
          (Stage("invoke", "in"), Stage("resume", "a!1"), Stage("resume", "a!2"))),
    Story("answers-by-id", "Questions of two parallel tasks are answered by their ids.",
          Shape(tools(2, "ask"), "edges"), (Stage("invoke", "in"), Stage("resume", {"a?1": "a!1", "b?1": "b!1"}))),
    Story("fan-out-paused", "A fan-out that was paused before it ran sends all of its tasks.",
          Shape(tools(3), before=("tools",)), (Stage("invoke", "in"), GO_ON)),
    Story("fan-out-failed", "A fan-out with one failed task goes on with that task alone.",
          Shape(FAILING), (Stage("invoke", "in"), Stage("go-on", shape=Shape(tools(3))))),
    Story("nested-fan-out-failed", "Tasks that had sent others before one failed keep what they sent.",
          Shape(FAILING, "nested"), (Stage("invoke", "in"), Stage("go-on", shape=Shape(tools(3), "nested")))),
    Story("stopped-step", "A step that was stopped goes on with what was not finished.",
          Shape((Tool("a"), Tool("b", ("gate:g",))), "edges", join=True),
          (Stage("stop", "in", until=("reached:g", "landed:a"), hold=("g",)), GO_ON, Stage("invoke", "two"))),
    Story("stopped-fan-out", "A fan-out that was stopped goes on with what was not finished.",
          Shape((Tool("a"), Tool("b", ("gate:g",)))),
          (Stage("stop", "in", until=("reached:g", "landed:a"), hold=("g",)), GO_ON)),
    Story("fork", "A fork at an earlier checkpoint goes on from the edit.",
          Shape(tools(3), "line"),
          (Stage("invoke", "in"), Stage("fork", "edit", at="b"), GO_ON, Stage("invoke", "two"))),
    Story("edited-while-waiting", "A waiting conversation that was edited goes on from the edit.",
          Shape((Tool("a", ("ask",)), Tool("b")), "line"),
          (Stage("invoke", "in"), Stage("edit", "edit", at="a"), GO_ON)),
    Story("copied", "A conversation whose head was copied goes on as before.",
          Shape(tools(2), "line"), (Stage("invoke", "in"), Stage("copy"), Stage("invoke", "two"))),
    Story("delta-channel", "A delta channel is loaded as it was shown, turn after turn.",
          Shape(tools(2), "line", delta="delta"), (Stage("invoke", "in"), *TURNS)),
    Story("delta-interrupt", "A delta channel is loaded as it was shown when a question is answered.",
          Shape(PAIR, "edges", delta="delta"), (Stage("invoke", "in"), Stage("resume", "b!1"), Stage("invoke", "two"))),
    Story("delta-fork", "A fork of a delta channel does not load what its sibling wrote.",
          Shape(tools(3), "line", delta="delta"), (Stage("invoke", "in"), Stage("fork", "edit", at="b"), GO_ON)),
    Story("subgraph", "A question in a subgraph is answered; its first step does not run again.",
          Shape((Tool("a"), Tool("b", ("ask",))), "line", child="shared"),
          (Stage("invoke", "in"), Stage("resume", "b!1"))),
    Story("subgraph-with-memory", "A subgraph with a memory of its own remembers all turns.",
          Shape(tools(1), "line", child="own"), (Stage("invoke", "in"), *TURNS[:2])),
    Story("turns", "Turns of a scripted agent follow each other, messages and all.",
          Shape(tools(2)), (Stage("invoke", "in"), *TURNS)),
)  # fmt: skip


def get(id: str) -> Story:
    """The story with this id. Raises `KeyError`."""
    return next(story for story in STORIES if story.id == id)
