"""Scenarios: a small real graph and what happens to it, as plain data.

A scenario can be saved, replayed under other versions and made smaller. `scenario_run.play` runs one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lineage_conformance.case import Case, Part
from lineage_conformance.graphs.shape import Shape

FORMAT = "lineage-scenario/1"

OPS = {
    "invoke": "start a turn with the text as input",
    "continue": "invoke(None): go on, retry, or replay with `at`",
    "resume": "invoke(Command(resume=...)) by value, or by the ids of the questions named in `answers`",
    "update": "update_state with `note` added to the log (no note: with None)",
    "bulk": "bulk_update_state with one update a note, each a superstep of its own",
    "look": "get_state, subgraphs included",
    "delete": "delete_thread",
    "reopen": "drop every object of the application, close the store and open it again",
}

RUNS = ("invoke", "continue", "resume")


@dataclass(frozen=True)
class Act(Part):
    """One action.

    `at` names a checkpoint: nothing (the thread's latest), ``head`` (the latest, by its id), ``before:NODE`` (the
    newest that has NODE next; ``before:NODE@2`` the one before that), ``step:N``, or ``act:N`` (the one that was
    the latest after action N, counted from 0).
    """

    op: str = "invoke"
    text: str = "in"
    answer: Any = None
    answers: tuple[tuple[str, str], ...] = ()
    note: tuple[str, ...] = ()
    as_node: str = ""
    at: str = ""
    thread: str = "t"
    hold: tuple[str, ...] = ()
    """Gates that are held until the condition is met. A node is a gate of its name, a tool's write in the
    saver is one called ``write:TOOL``, the checkpoint of a step one called ``put:STEP``."""
    until: tuple[str, ...] = ()
    """Conditions, e.g. ``reached:g`` or ``settled:a`` (see `graphs.gates.KINDS`)."""
    stop: str = ""
    """``cancel`` or ``crash`` the run when the conditions are met; nothing lets it go on."""
    fails: tuple[str, ...] = ()
    """Tools whose writes the saver refuses during this action."""
    durability: str = ""
    """``sync``, ``async`` or ``exit``; nothing: as the scenario says."""

    def __post_init__(self) -> None:
        if self.op not in OPS:
            raise ValueError(f"unknown action {self.op!r}; known are {', '.join(OPS)}")

    def to_json(self) -> dict[str, Any]:
        """The action as JSON data, without what is as usual."""
        data = super().to_json()
        return {**data, "answers": dict(self.answers)} if self.answers else data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Act:
        """Read an action. Raises `ValueError` or `TypeError` for what this version does not know."""
        return super().from_json({**data, "answers": tuple(data.get("answers", {}).items())})


@dataclass(frozen=True)
class Scenario(Case, head={"format": FORMAT}, keys={"shape": "graph", "acts": "ops"}):
    """A shape, what is done with it, and the durability of the runs."""

    shape: Shape
    acts: tuple[Act, ...]
    durability: str = ""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Scenario:
        """Read a scenario. Raises `ValueError` that says what is wrong with the data."""
        try:
            return super().from_json(data)
        except (KeyError, TypeError) as error:
            raise ValueError(f"cannot read the scenario: {error}") from error

    def smaller(self) -> Iterator[Scenario]:
        """Scenarios with one action, tool, step or peculiarity less; each is as valid as this one."""
        referred = any(act.at.startswith("act:") for act in self.acts)
        for index in range(len(self.acts) - 1, 0, -1):
            # A run is not taken away: without it the scenario would not come to its end.
            if not referred and self.acts[index].op not in RUNS:
                rest = self.acts[:index] + self.acts[index + 1 :]
                yield dataclasses.replace(self, acts=rest)
        named = {
            word
            for act in self.acts
            for text in (*act.hold, *act.until, act.at, act.as_node, *(q for q, _ in act.answers))
            for word in (text, text.partition(":")[2], text.partition("@")[0], text[:1])
        }
        for shape in self.shape.smaller():
            gone = {t.name for t in self.shape.tools} - {t.name for t in shape.tools}
            held = {s.partition(":")[2] for t in self.shape.tools for s in t.steps} - {
                s.partition(":")[2] for t in shape.tools for s in t.steps
            }
            if asks(shape) < asks(self.shape) and any(act.op == "resume" for act in self.acts):
                continue  # an answer without its question would be another scenario altogether
            if not (gone | held - {""}) & named:
                yield dataclasses.replace(self, shape=shape)
        if self.durability:
            yield dataclasses.replace(self, durability="")


def asks(shape: Shape) -> int:
    """How many questions the tools of a shape ask."""
    return sum(len(tool.questions) for tool in shape.tools)


def scenario(shape: Shape, *acts: Act, durability: str = "") -> Scenario:
    """Shorthand for a scenario written by hand."""
    return Scenario(shape, acts, durability)


def invoke(text: str = "in", **options: Any) -> Act:
    """Start a turn."""
    return Act("invoke", text, **options)


def go_on(**options: Any) -> Act:
    """Invoke with None."""
    return Act("continue", **options)


def answer(value: Any, **options: Any) -> Act:
    """Resume by value."""
    return Act("resume", answer=value, **options)


def answers(*questions: str, **options: Any) -> Act:
    """Resume by id: the usual answers to these questions."""
    from lineage_conformance.graphs.shape import answer_to

    return Act("resume", answers=tuple((q, answer_to(q)) for q in questions), **options)


def update(*note: str, as_node: str = "", **options: Any) -> Act:
    """Update the state."""
    return Act("update", note=note, as_node=as_node, **options)
