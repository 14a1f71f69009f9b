"""What a turn leaves in the checkpoints it writes, and how that is read back.

The runner keeps no table of its own: three keys in the metadata of every checkpoint of a turn are its
ledger. It cannot disagree with the checkpoints, it is as durable as they are, and deleting the thread
deletes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

TURN = "lineage_turn"
"""Metadata key: the id of the turn that wrote a checkpoint."""
BEFORE = "lineage_before"
"""Metadata key: the id of the checkpoint that was the head before the turn, empty for a new thread."""
COUNT = "lineage_turns"
"""Metadata key: how many turns the thread holds with this one."""


class RollbackError(Exception):
    """Base of what the runner raises. `left` names what is not as it was before the turn."""

    def __init__(self, text: str, left: Sequence[str] = ()) -> None:
        super().__init__(f"{text}: {'; '.join(left)}" if left else text)
        self.left = tuple(left)


class Refused(RollbackError):
    """Nothing was changed: a rollback would be wrong, or could not bring back what `left` names."""


class Incomplete(RollbackError):
    """A rollback was made and its result is not the state before the turn; `left` says where."""


class Busy(RollbackError):
    """A turn of this thread is running."""


class NothingToResume(RollbackError):
    """The thread has no unfinished turn."""


@dataclass(frozen=True)
class Outcome:
    """How a turn ended."""

    status: str
    """``done``, ``interrupted``, ``cancelled``, ``failed`` or ``stopped`` (cancelled, its work kept)."""
    thread: str
    turn: str
    rolled_back: bool = False
    left: tuple[str, ...] = ()
    """What the turn changed that the strategy does not promise to put back."""
    error: BaseException | None = None
    """What the agent raised, if it failed."""


@dataclass(frozen=True)
class Held:
    """Whether a thread is known, and how many turns it holds."""

    known: bool
    turns: int


@dataclass(frozen=True)
class Mark:
    """The ledger of one turn: its id, the head before it ("" for none), its number on the thread."""

    turn: str
    before: str
    number: int

    def metadata(self) -> dict[str, Any]:
        """The mark as checkpoint metadata."""
        return {TURN: self.turn, BEFORE: self.before, COUNT: self.number}

    @classmethod
    def of(cls, row: Any) -> Mark | None:
        """The mark of a checkpoint tuple; None if no turn of the runner wrote it."""
        metadata: Mapping[str, Any] = (row.metadata or {}) if row is not None else {}
        if not metadata.get(TURN):
            return None
        return cls(
            str(metadata[TURN]), str(metadata.get(BEFORE) or ""), int(metadata.get(COUNT) or 0)
        )


def head(thread: str, ns: str = "", id: str = "") -> dict[str, Any]:
    """The config of a thread's head, or of one checkpoint."""
    configurable = {"thread_id": thread, "checkpoint_ns": ns}
    if id:
        configurable["checkpoint_id"] = id
    return {"configurable": configurable}


def id_of(row: Any) -> str:
    """The id of a checkpoint tuple, "" for None."""
    return str(row.checkpoint["id"]) if row is not None else ""


def turns_of(row: Any) -> int:
    """How many turns the thread of a head holds: by its mark, else by the human messages it shows."""
    if row is None:
        return 0
    mark = Mark.of(row)
    if mark is not None:
        return mark.number
    messages = row.checkpoint.get("channel_values", {}).get("messages")
    if not isinstance(messages, (list, tuple)):
        return 0
    return sum(1 for message in messages if _role(message) in ("human", "user"))


def _role(message: Any) -> str:
    if isinstance(message, Mapping):
        return str(message.get("type") or message.get("role") or "")
    return str(getattr(message, "type", ""))
