"""The protocol of kind ``branching``: a backend whose conversations branch, as the laws call it.

A conversation is a thread of the saver with a row beside it. The application tells the backend when a turn
begins and when it ended; the agent runs in between, on the thread of that name, and knows of nothing. A
branch is a *new* conversation whose thread begins with what the messages were after a turn, and whose
workspace is what it was then. Turn 0 is the empty beginning.

A backend offers the sync half, the async half, or both, and has an attribute `saver`: the laws compile
their agent with it. Any exception is a refusal, and a refusal changes nothing. Records need only have
these attributes:

* Row: `kind` (documents, preferences, todos, artifacts), `name`, `body`, `turn` (of an artifact, else None);
* Conversation: `thread_id`, `parent_id` or None, `turn` (its branch point), `origin` (root, branch, restore);
* Turn: `number`, `thread_id` (where it happened), `checkpoint_id` or None, `completed`;
* History: `turns`, `complete`; DecisionMap: `nodes` (each with `conversation`, `turns`), `complete`.

`passing`, where it is given, is called with ``rows``, ``seeded`` and ``active``, each when that phase of a
creation is finished and stored. What it raises counts as a failure of the creation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

KINDS = ("documents", "preferences", "todos", "artifacts")
"""What a workspace holds: the first three are replaced in place, artifacts belong to the turn that made them."""

DEPTH = 50
"""How many ancestors a backend follows when it reads a lineage."""

PHASES = ("rows", "seeded", "active")
"""The phases of a creation, as they are told to `passing` when each is finished."""


class Row(Protocol):
    """One thing in a workspace. `turn` is the turn that made an artifact, None for the other kinds."""

    kind: str
    name: str
    body: str
    turn: int | None


class Conversation(Protocol):
    """An active conversation. `turn` is its branch point; `origin` is ``root``, ``branch`` or ``restore``."""

    thread_id: str
    parent_id: str | None
    turn: int
    origin: str


class Turn(Protocol):
    """One turn. `thread_id` is the conversation in which it happened."""

    number: int
    thread_id: str
    checkpoint_id: str | None
    completed: bool


class History(Protocol):
    """The turns of a conversation, oldest first; not `complete` beyond `DEPTH` ancestors."""

    turns: Sequence[Turn]
    complete: bool


class Node(Protocol):
    """One conversation of a map, with its own turns."""

    conversation: Conversation
    turns: Sequence[Turn]


class DecisionMap(Protocol):
    """A family of conversations, parents before their branches; not `complete` beyond `DEPTH` levels."""

    nodes: Sequence[Node]
    complete: bool


Passing = Callable[[str], Any]
"""Called with each of `PHASES` when that phase is finished and stored. What it raises counts as a failure of
the creation. The async half awaits what it gives, if that can be awaited."""


class Branching(Protocol):
    """The sync half."""

    saver: Any
    """The saver under the backend; the laws compile their agent with it."""

    def create(self, thread_id: str, turns: int = 0) -> None:
        """Make a conversation known. `turns`: how many turns its thread has that nobody recorded."""
        ...

    def begin_turn(self, thread_id: str) -> int:
        """Begin the next turn and return its number. Refused while one runs."""
        ...

    def end_turn(self, thread_id: str, turn: int, checkpoint_id: str | None = None) -> None:
        """Mark the last turn completed; `checkpoint_id` is where its thread stood then."""
        ...

    def write(self, thread_id: str, kind: str, name: str, body: str | None) -> None:
        """Set a row of the workspace, or remove it with None. Between turns it belongs to the last one."""
        ...

    def workspace(self, thread_id: str) -> Sequence[Row]:
        """The workspace as it is now, in any order."""
        ...

    def branch(self, thread_id: str, turn: int, passing: Passing | None = None) -> Conversation:
        """A new conversation that begins as `thread_id` was after `turn`, one of its own or inherited.

        Refused for a turn that is running or has not happened.
        """
        ...

    def restore(self, thread_id: str, turn: int, passing: Passing | None = None) -> Conversation:
        """Go back to `turn` and lose nothing: the same as `branch`, of origin ``restore``."""
        ...

    def conversation(self, thread_id: str) -> Conversation:
        """One conversation; raises for one that is unknown, unfinished or being removed."""
        ...

    def branches(self, thread_id: str) -> Sequence[Conversation]:
        """The active branches of a conversation."""
        ...

    def history(self, thread_id: str) -> History:
        """All turns of a conversation, inherited ones first."""
        ...

    def decision_map(self, thread_id: str) -> DecisionMap:
        """The highest ancestor within reach and all that descends from it. Writes nothing."""
        ...

    def delete(self, thread_id: str) -> None:
        """Delete a conversation and its thread. One with branches is refused, or its branches stay whole."""
        ...

    def sweep(self, older_than: float = ...) -> Sequence[str]:
        """Remove creations that stopped halfway `older_than` seconds ago or more; their thread ids."""
        ...


class AsyncBranching(Protocol):
    """The async half: the same operations, awaited."""

    saver: Any
    """The saver under the backend; the laws compile their agent with it."""

    async def acreate(self, thread_id: str, turns: int = 0) -> None:
        """See `Branching.create`."""
        ...

    async def abegin_turn(self, thread_id: str) -> int:
        """See `Branching.begin_turn`."""
        ...

    async def aend_turn(self, thread_id: str, turn: int, checkpoint_id: str | None = None) -> None:
        """See `Branching.end_turn`."""
        ...

    async def awrite(self, thread_id: str, kind: str, name: str, body: str | None) -> None:
        """See `Branching.write`."""
        ...

    async def aworkspace(self, thread_id: str) -> Sequence[Row]:
        """See `Branching.workspace`."""
        ...

    async def abranch(
        self, thread_id: str, turn: int, passing: Passing | None = None
    ) -> Conversation:
        """See `Branching.branch`."""
        ...

    async def arestore(
        self, thread_id: str, turn: int, passing: Passing | None = None
    ) -> Conversation:
        """See `Branching.restore`."""
        ...

    async def aconversation(self, thread_id: str) -> Conversation:
        """See `Branching.conversation`."""
        ...

    async def abranches(self, thread_id: str) -> Sequence[Conversation]:
        """See `Branching.branches`."""
        ...

    async def ahistory(self, thread_id: str) -> History:
        """See `Branching.history`."""
        ...

    async def adecision_map(self, thread_id: str) -> DecisionMap:
        """See `Branching.decision_map`."""
        ...

    async def adelete(self, thread_id: str) -> None:
        """See `Branching.delete`."""
        ...

    async def asweep(self, older_than: float = ...) -> Sequence[str]:
        """See `Branching.sweep`."""
        ...
