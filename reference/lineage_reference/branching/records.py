"""What the backend speaks of: conversations, turns, workspace rows, and its refusals."""

from __future__ import annotations

from typing import Literal, NamedTuple

KINDS = ("documents", "preferences", "todos", "artifacts")
"""What a workspace holds. The first three are replaced in place; artifacts are kept turn by turn."""

DEPTH = 50
"""Ancestors that are followed when a lineage is read. A branch deeper than that loses its oldest turns
from `history`, never messages: those were seeded whole."""


class Row(NamedTuple):
    """One thing in a workspace."""

    kind: str
    name: str
    body: str
    turn: int | None
    """The turn that made an artifact; None for the other kinds, which belong to no turn."""


class Conversation(NamedTuple):
    """An active conversation: a root, or a branch of another."""

    thread_id: str
    parent_id: str | None
    turn: int
    """How many turns it inherited: the branch point. Its own turns are numbered from the next one."""
    origin: Literal["root", "branch", "restore"]


class Turn(NamedTuple):
    """One turn as a conversation sees it, inherited or its own."""

    number: int
    thread_id: str
    """The conversation in which it happened."""
    checkpoint_id: str | None
    """The checkpoint at which it ended; None while it runs, or where nobody recorded one."""
    completed: bool


class History(NamedTuple):
    """The turns of a conversation, oldest first."""

    turns: list[Turn]
    complete: bool
    """False when the lineage is deeper than `DEPTH`, so that the oldest turns are missing."""


class Node(NamedTuple):
    """One conversation of a decision map."""

    conversation: Conversation
    turns: list[Turn]
    """Its own turns."""


class DecisionMap(NamedTuple):
    """A conversation's whole family: parents stand before their branches."""

    nodes: list[Node]
    complete: bool
    """False when the family is deeper than `DEPTH` above or below."""


class Refused(Exception):
    """The request cannot be met; nothing was changed. The message says why."""


class UnknownConversation(Refused, LookupError):
    """There is no active conversation of that name."""


class NotCompleted(Refused):
    """The turn is running or has not happened yet, so there is no state after it."""


class HasBranches(Refused):
    """Other conversations read their inherited turns from this one, so it cannot be deleted."""


class BrokenLineage(Refused):
    """The parent links run in a circle: somebody edited the table."""


class Swept(Refused):
    """The sweeper took this creation for an orphan and removed it before it was finished."""
