"""The records of the model of transfers: threads with their views, runs, transfers, and plans."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

OPEN = ("pending", "failed", "resolved_native", "resolved_portable")


class Refusal(Exception):
    """The model says that a command must be refused, with this code."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass
class Run:
    """A run. `id` is what the backend called it."""

    id: str
    thread: Thread
    provider: str
    context: list[Transfer]
    status: str = "active"
    session: str = ""
    turn: str | None = None
    checkpoint: str | None = None
    items: tuple[str, ...] = ()
    passed: list[str] = field(default_factory=list)
    """Checkpoints that it reached before its end."""

    @property
    def stable(self) -> bool:
        """Whether something can be forked, merged or handed over up to it."""
        return self.status == "completed" and self.checkpoint is not None


@dataclass(frozen=True)
class Piece:
    """One piece of a view: the items of a run, or (no run) all of an adopted checkpoint."""

    run: Run | None
    items: tuple[str, ...]
    place: tuple[str, str]
    """Thread of the saver, and checkpoint."""

    def __hash__(self) -> int:
        return hash((self.place, self.items))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Piece) and (self.place, self.items) == (other.place, other.items)


@dataclass
class Transfer:
    """A transfer as it must be."""

    type: str
    source: Thread
    target: Thread
    point: Piece | None
    creator: str
    provider: str | None = None
    base: Piece | None = None
    slice: list[Piece] = field(default_factory=list)
    task: str | None = None
    end: int = 0
    """Of a merge: how far it reaches in the view of the fork."""
    id: str = ""
    moves: list[str] = field(default_factory=lambda: ["pending"])
    resolution: str | None = None
    reason: str | None = None
    session: str | None = None
    consumed_by: str | None = None
    replaced_by: Transfer | None = None
    loose: bool = False
    """Whether it may have been resolved or not, since a call failed over another one."""

    @property
    def status(self) -> str:
        """Its status."""
        return self.moves[-1]

    @property
    def open(self) -> bool:
        """Whether it may still be consumed."""
        return self.status in OPEN

    def supersede(self, by: Transfer | None = None) -> None:
        """Replace it."""
        self.moves.append("superseded")
        self.replaced_by = by


@dataclass
class Thread:
    """A thread as it must be."""

    id: str
    parent: Thread | None = None
    relationship: str | None = None
    provider: str | None = None
    view: list[Piece] = field(default_factory=list)
    merged: int = 0
    """How much of the view its parent has: what it began with, or up to the last consumed merge."""
    start: Transfer | None = None
    runs: list[Run] = field(default_factory=list)
    active: Run | None = None
    sessions: dict[str, str] = field(default_factory=dict)
    covered: dict[str, int] = field(default_factory=dict)
    returned: Run | None = None
    """The run whose result its parent has."""
    adopted: Piece | None = None

    @property
    def root(self) -> Thread:
        """The first of its line."""
        return self if self.parent is None else self.parent.root

    def lacks(self, provider: str) -> list[Piece]:
        """What a provider's session does not cover."""
        return self.view[self.covered.get(provider, 0) :]

    def latest(self) -> Run | None:
        """Its latest stable run."""
        return next((run for run in reversed(self.runs) if run.stable), None)

    def position(self, run: Run) -> int:
        """Where one of its stable runs stands in its view."""
        return next(n for n, piece in enumerate(self.view) if piece.run is run)


@dataclass
class Plan:
    """What resolving must give: the transfers in order, what the adapter is asked, and how it ends."""

    transfers: list[Transfer] = field(default_factory=list)
    calls: list[tuple[str, Any, Any]] = field(default_factory=list)
    failure: str | None = None
    session: str | None = None
    forked: bool = False
    """Whether the session is yet to be made, by the fork that `calls` asks for."""

    @property
    def kind(self) -> str:
        """The kind of the context."""
        if self.failure:
            return "failure"
        if any(each.resolution == "native_fork" for each in self.transfers):
            return "native"
        if not self.transfers:
            return "nothing"
        return "delta" if self.transfers[0].resolution == "delta_context" else "portable"
