"""The backend: the operations as methods, sync and async."""

from __future__ import annotations

from typing import Any

from lineage_reference.branching.lineage import as_graph
from lineage_reference.branching.operations import AGE, Operations, Passing
from lineage_reference.branching.records import Conversation, DecisionMap, History, Row
from lineage_reference.steps import arun, run


class Branching(Operations):
    """Conversations that branch; the sync half. For savers that have sync methods."""

    def create(self, thread_id: str, turns: int = 0) -> None:
        """Make a conversation known. `turns`: how many its thread already has, unrecorded."""
        self._writing(lambda db: self._create(db, thread_id, turns)).call()

    def begin_turn(self, thread_id: str) -> int:
        """Keep the workspace as it is and begin the next turn; its number. One runs at a time."""
        return int(self._writing(lambda db: self._begin_turn(db, thread_id)).call())

    def end_turn(self, thread_id: str, turn: int, checkpoint_id: str | None = None) -> None:
        """Mark the last turn completed, at a checkpoint. Said again, it moves to where an edit led."""
        self._writing(lambda db: self._end_turn(db, thread_id, turn, checkpoint_id)).call()

    def write(self, thread_id: str, kind: str, name: str, body: str | None) -> None:
        """Set a row of the workspace, or remove it with None."""
        self._writing(lambda db: self._write(db, thread_id, kind, name, body)).call()

    def workspace(self, thread_id: str) -> list[Row]:
        """The workspace as it is now."""
        return list(self._reading(lambda db: self._workspace(db, thread_id)).call())

    def conversation(self, thread_id: str) -> Conversation:
        """One conversation. Raises `UnknownConversation`, also for one that is not active."""
        found: Conversation = self._reading(lambda db: self._conversation(db, thread_id)).call()
        return found

    def branches(self, thread_id: str) -> list[Conversation]:
        """The branches of a conversation, by branch point."""
        return list(self._reading(lambda db: self._branches(db, thread_id)).call())

    def history(self, thread_id: str) -> History:
        """All turns of a conversation, inherited ones first."""
        found: History = self._reading(lambda db: self._history(db, thread_id)).call()
        return found

    def decision_map(self, thread_id: str) -> DecisionMap:
        """The family of a conversation. Writes nothing."""
        found: DecisionMap = self._reading(lambda db: self._decision_map(db, thread_id)).call()
        return found

    def graph(self, thread_id: str) -> dict[str, Any]:
        """The decision map as JSON data, for an endpoint: nodes, edges, whether it is complete."""
        return as_graph(self.decision_map(thread_id))

    def branch(self, thread_id: str, turn: int, passing: Passing | None = None) -> Conversation:
        """A new conversation that begins as `thread_id` was after `turn`."""
        return run(self._branch(thread_id, turn, passing))

    def restore(self, thread_id: str, turn: int, passing: Passing | None = None) -> Conversation:
        """Go back to `turn` without losing what came after: a branch, marked as a restoration."""
        return run(self._branch(thread_id, turn, passing, "restore"))

    def delete(self, thread_id: str) -> None:
        """Delete a conversation and its thread. Raises `HasBranches` where others build on it."""
        run(self._delete(thread_id))

    def sweep(self, older_than: float = AGE) -> list[str]:
        """Remove creations and deletions that stopped halfway, `older_than` seconds ago or more."""
        return run(self._sweep(older_than))


class AsyncBranching(Operations):
    """Conversations that branch; the async half. Transactions of the tables run in threads."""

    async def acreate(self, thread_id: str, turns: int = 0) -> None:
        """Make a conversation known. `turns`: how many its thread already has, unrecorded."""
        await self._writing(lambda db: self._create(db, thread_id, turns)).acall()

    async def abegin_turn(self, thread_id: str) -> int:
        """Keep the workspace as it is and begin the next turn; its number. One runs at a time."""
        return int(await self._writing(lambda db: self._begin_turn(db, thread_id)).acall())

    async def aend_turn(self, thread_id: str, turn: int, checkpoint_id: str | None = None) -> None:
        """Mark the last turn completed, at a checkpoint. Said again, it moves to where an edit led."""
        await self._writing(lambda db: self._end_turn(db, thread_id, turn, checkpoint_id)).acall()

    async def awrite(self, thread_id: str, kind: str, name: str, body: str | None) -> None:
        """Set a row of the workspace, or remove it with None."""
        await self._writing(lambda db: self._write(db, thread_id, kind, name, body)).acall()

    async def aworkspace(self, thread_id: str) -> list[Row]:
        """The workspace as it is now."""
        return list(await self._reading(lambda db: self._workspace(db, thread_id)).acall())

    async def aconversation(self, thread_id: str) -> Conversation:
        """One conversation. Raises `UnknownConversation`, also for one that is not active."""
        found: Conversation = await self._reading(
            lambda db: self._conversation(db, thread_id)
        ).acall()
        return found

    async def abranches(self, thread_id: str) -> list[Conversation]:
        """The branches of a conversation, by branch point."""
        return list(await self._reading(lambda db: self._branches(db, thread_id)).acall())

    async def ahistory(self, thread_id: str) -> History:
        """All turns of a conversation, inherited ones first."""
        found: History = await self._reading(lambda db: self._history(db, thread_id)).acall()
        return found

    async def adecision_map(self, thread_id: str) -> DecisionMap:
        """The family of a conversation. Writes nothing."""
        found: DecisionMap = await self._reading(
            lambda db: self._decision_map(db, thread_id)
        ).acall()
        return found

    async def agraph(self, thread_id: str) -> dict[str, Any]:
        """The decision map as JSON data, for an endpoint: nodes, edges, whether it is complete."""
        return as_graph(await self.adecision_map(thread_id))

    async def abranch(
        self, thread_id: str, turn: int, passing: Passing | None = None
    ) -> Conversation:
        """A new conversation that begins as `thread_id` was after `turn`."""
        return await arun(self._branch(thread_id, turn, passing))

    async def arestore(
        self, thread_id: str, turn: int, passing: Passing | None = None
    ) -> Conversation:
        """Go back to `turn` without losing what came after: a branch, marked as a restoration."""
        return await arun(self._branch(thread_id, turn, passing, "restore"))

    async def adelete(self, thread_id: str) -> None:
        """Delete a conversation and its thread. Raises `HasBranches` where others build on it."""
        await arun(self._delete(thread_id))

    async def asweep(self, older_than: float = AGE) -> list[str]:
        """Remove creations and deletions that stopped halfway, `older_than` seconds ago or more."""
        return await arun(self._sweep(older_than))


class BranchingBackend(Branching, AsyncBranching):
    """Both halves, for savers that have both."""
