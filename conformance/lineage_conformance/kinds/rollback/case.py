"""What the laws of kind ``rollback`` are checked on: cases as data, and how one is played on a backend."""

from __future__ import annotations

from dataclasses import dataclass

from lineage_conformance.case import Case

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
class TurnCase(
    Case,
    head={"case": "turn"},
    loose=("reopen", "edits", "memory", "waiting", "tools", "times", "earlier", "durability"),
):
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

    def valid(self) -> bool:
        """Whether a tool is at work where another one has landed."""
        return self.point != "landed" or self.tools > 1

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
