"""Tales: the conversations that branching laws are checked on, as data."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

FORMAT = 1

Rows = tuple[tuple[str, str, "str | None"], ...]
"""What is written to a workspace: kind, name, and the body or None to remove it."""


@dataclass(frozen=True)
class Move:
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
class Tale:
    """A conversation, and how far a law follows it."""

    moves: tuple[Move, ...]
    depth: int = 0
    """How many branches of branches are made, one of the other."""
    origin: str = ""

    def to_json(self) -> dict[str, Any]:
        """The tale as JSON data. Turns stand under ``ops``, as operations of a program do."""
        moves = [{"op": "turn", **_told(move)} for move in self.moves]
        made: dict[str, Any] = {"format": FORMAT, "ops": moves}
        return {**made, "depth": self.depth} if self.depth else made

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Tale:
        """The tale that `to_json` wrote. Raises `ValueError` for another format."""
        if data.get("format") != FORMAT:
            raise ValueError(f"a tale of format {data.get('format')!r} is unknown here")
        return cls(tuple(_read(move) for move in data["ops"]), data.get("depth", 0))

    def smaller(self) -> Iterator[Tale]:
        """Tales with less in them: fewer turns, then simpler ones."""
        for index in range(len(self.moves)):
            rest = self.moves[:index] + self.moves[index + 1 :]
            yield dataclasses.replace(self, moves=rest)
        for depth in {0, 1, self.depth // 2, self.depth - 1}:
            if 0 <= depth < self.depth:
                yield dataclasses.replace(self, depth=depth)
        for index, move in enumerate(self.moves):
            for simpler in _simpler(move):
                yield dataclasses.replace(
                    self, moves=(*self.moves[:index], simpler, *self.moves[index + 1 :])
                )


def _simpler(move: Move) -> Iterator[Move]:
    change: Any
    for field in dataclasses.fields(move):
        value = getattr(move, field.name)
        if value != field.default:
            change = {field.name: field.default}
            yield dataclasses.replace(move, **change)
            if field.name in ("rows", "after") and len(value) > 1:
                for index in range(len(value)):
                    fewer = value[:index] + value[index + 1 :]
                    yield dataclasses.replace(move, **{field.name: fewer})
    if move.calls > 1:
        yield dataclasses.replace(move, calls=1)


def _told(move: Move) -> dict[str, Any]:
    told: dict[str, Any] = {}
    for field in dataclasses.fields(move):
        value = getattr(move, field.name)
        if value != field.default:
            told[field.name] = [list(row) for row in value] if isinstance(value, tuple) else value
    return told


def _read(data: Mapping[str, Any]) -> Move:
    given = {key: value for key, value in data.items() if key != "op"}
    for key in ("rows", "after"):
        if key in given:
            given[key] = tuple(tuple(row) for row in given[key])
    return Move(**given)


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
