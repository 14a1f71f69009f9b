"""What the laws of kind ``rollback`` are checked on: cases as data, and how one is played on a backend."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

LIMIT = 60.0
"""Seconds after which a call is taken to hang. No check waits this long unless something is wrong."""

AT_ONCE = 4
"""Tools that surely run at once: in sync runs each takes a thread, and a pool may have no more than five."""

POINTS = ("enter", "model", "tools", "landed", "subgraph", "again", "leave")
"""Where a turn is cut: in the first node, in the model, with every tool at work, with one result landed and
the others at work, in the second step of a subgraph, in the second call of the model, in the last node."""

ENDS = ("done", "asked")
"""How a turn ends that is taken back later: finished, or waiting at an interrupt."""

DURABILITIES = ("sync", "async", "exit")


@dataclass(frozen=True)
class TurnCase:
    """A thread with `earlier` turns, then a turn that is cut (or ends) at `point` and is taken back."""

    point: str = "model"
    tools: int = 2
    durability: str = "async"
    how: str = "cancel"
    """``cancel``, ``error``, or ``later``: the turn ends and is then rolled back by its id."""
    earlier: int = 1
    times: int = 1
    """How often in a row the turn is run and taken back."""
    reopen: bool = False
    """Whether the store is reopened afterwards (``later``: also between the turn and its rollback)."""
    edits: bool = False
    """Whether the turn rewrites an earlier message."""
    memory: bool = False
    """Whether the graph has a subgraph with a memory of its own."""
    waiting: bool = False
    """Whether the thread waits at an interrupt of an earlier turn when the turn begins."""

    def to_json(self) -> dict[str, Any]:
        """The case as JSON data; what is as usual is left out."""
        fields = dataclasses.fields(self)
        changed = {
            f.name: getattr(self, f.name) for f in fields if getattr(self, f.name) != f.default
        }
        return {"format": 1, "case": "turn", **changed}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> TurnCase:
        """Read a case. Raises `TypeError` for unknown fields."""
        return cls(**{k: v for k, v in data.items() if k not in ("format", "case")})

    def smaller(self) -> Iterator[TurnCase]:
        """Cases with one peculiarity less, fewer tools, fewer turns."""
        for name in ("reopen", "edits", "memory", "waiting"):
            if getattr(self, name):
                less: dict[str, Any] = {name: False}
                yield dataclasses.replace(self, **less)
        least = 2 if self.point == "landed" else 1
        if self.tools > least:
            yield dataclasses.replace(self, tools=least)
            yield dataclasses.replace(self, tools=self.tools - 1)
        if self.times > 1:
            yield dataclasses.replace(self, times=1)
        if self.earlier > 1:
            yield dataclasses.replace(self, earlier=1)
        if self.durability != "async":
            yield dataclasses.replace(self, durability="async")

    @property
    def origin(self) -> str:
        """Where the case comes from: nowhere but here."""
        return ""

    def places(self) -> tuple[list[str], list[str]]:
        """The gates to hold, and what to wait for."""
        every = [f"tool {n}" for n in range(self.tools)]
        if self.point == "tools":
            return every, [f"reached:{name}" for name in every[:AT_ONCE]]
        if self.point == "landed":
            begun = every[1:AT_ONCE]
            return every[1:], ["committed:tool 0", *(f"reached:{name}" for name in begun)]
        place = {"again": "model again", "subgraph": "inner"}.get(self.point, self.point)
        return [place], [f"reached:{place}"]
