"""Tales: the conversations that branching laws are checked on, as data."""

from __future__ import annotations

from dataclasses import dataclass

from lineage_conformance.case import Case, Part

Rows = tuple[tuple[str, str, "str | None"], ...]
"""What is written to a workspace: kind, name, and the body or None to remove it."""


@dataclass(frozen=True)
class Move(
    Part,
    head={"op": "turn"},
    loose=("calls", "text", "edit", "summary", "command", "rows", "after"),
):
    """One turn: a human message, what the agent does about it, and what happens to the workspace."""

    calls: int = 0
    """Tools that the model calls, all at once."""
    text: str = "ok"
    """The answer, perhaps empty."""
    edit: int | None = None
    """Position of an earlier message that is sent again under its id with other words."""
    summary: bool = False
    """Whether all earlier messages are replaced by a summary."""
    command: bool = False
    """Whether the human message comes as ``Command(update=...)``, where LangGraph allows that."""
    rows: Rows = ()
    """Written while the turn runs."""
    after: Rows = ()
    """Written after it ended, before the next begins."""


@dataclass(frozen=True)
class Tale(Case, keys={"moves": "ops"}, loose=("moves", "depth")):
    """A conversation, and how far a law follows it."""

    moves: tuple[Move, ...]
    depth: int = 0
    """How many branches of branches are made, one of the other."""


def tale(*moves: Move, depth: int = 0) -> Tale:
    """A tale of some turns."""
    return Tale(moves, depth)


PLAIN = tale(Move(), Move(), Move())
"""Three questions, three answers."""

BUSY = tale(Move(calls=2), Move(text=""), Move(calls=12, text="done"), Move())
"""Parallel tools and an empty answer."""

REWRITTEN = tale(
    Move(), Move(calls=1), Move(edit=1), Move(summary=True), Move(), Move(command=True)
)
"""An earlier answer is edited, then all is summarised, and the talk goes on."""

FURNISHED = tale(
    Move(
        rows=(("documents", "plan", "one"), ("artifacts", "chart", "one"), ("todos", "buy", "open"))
    ),
    Move(
        rows=(
            ("documents", "plan", "two"),
            ("artifacts", "chart", "two"),
            ("preferences", "tone", "dry"),
        ),
        after=(("documents", "plan", "two, by hand"),),
    ),
    Move(
        rows=(
            ("documents", "plan", None),
            ("documents", "new", "three"),
            ("artifacts", "map", "three"),
        )
    ),
)
"""A workspace that changes in each turn, between two of them, and loses a document."""
