"""The operations of a branching backend, said once for both halves.

A branch comes to be in three phases, each of them finished before the next: its rows, marked *pending*;
its thread, seeded through the saver; its rows, marked *active*. Readers see active conversations only, so
a process that dies anywhere in between leaves nothing that anybody could open, and rows by which the
sweeper finds what to remove. Whatever else goes wrong is undone at once, in the same way.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping
from typing import Any, Literal

from sqlalchemy import Connection, Engine, bindparam, delete, func, insert, select, update

from lineage_reference.branching import lineage, workspace
from lineage_reference.branching.records import (
    Conversation,
    DecisionMap,
    HasBranches,
    History,
    NotCompleted,
    Refused,
    Row,
    Swept,
)
from lineage_reference.branching.seeding import Mark, Seeder
from lineage_reference.branching.tables import (
    CONVERSATIONS,
    METADATA,
    OWNED,
    TURNS,
    reading,
    writing,
)
from lineage_reference.steps import Step, Steps, blocking

Passing = Callable[[str], Any]
"""Told each phase when it is finished: ``rows``, ``seeded``, ``active``. May give an awaitable to the async
half. What it raises counts as a failure of the creation."""

AGE = 3600.0
"""Seconds after which a creation that is still pending is taken for orphaned. Far above what one takes."""


class Operations:
    """Branches of conversations over one saver and one database. `Seeder` says how messages are read.

    `clock` gives the time in seconds; the sweeper compares ages by it.
    """

    def __init__(
        self,
        saver: Any,
        engine: Engine,
        seeder: Seeder | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.saver, self.engine, self.clock = saver, engine, clock
        self.seeder = seeder or Seeder(saver)
        METADATA.create_all(engine)

    # -- turns and workspace -----------------------------------------------------------------------

    def _create(self, db: Connection, thread_id: str, turns: int = 0) -> None:
        if db.execute(select(CONVERSATIONS).filter_by(thread_id=thread_id)).first():
            raise Refused(f"there is a conversation {thread_id!r} already")
        db.execute(
            insert(CONVERSATIONS).values(self._row(thread_id, None, turns, "root", "active"))
        )
        if turns == 0:
            _record(db, thread_id, 0, None, True)

    def _begin_turn(self, db: Connection, thread_id: str) -> int:
        lineage.conversation(db, thread_id, lock=True)
        number, running = _latest(db, thread_id)
        if running:
            raise NotCompleted(f"turn {number} of {thread_id!r} is still running")
        number += 1
        workspace.snapshot(db, thread_id, number)
        _record(db, thread_id, number, None, False)
        return number

    def _end_turn(
        self, db: Connection, thread_id: str, turn: int, checkpoint_id: str | None = None
    ) -> None:
        lineage.conversation(db, thread_id, lock=True)
        latest, _ = _latest(db, thread_id)
        if turn != latest:
            raise Refused(f"the last turn of {thread_id!r} is {latest}, not {turn}")
        db.execute(delete(TURNS).filter_by(thread_id=thread_id, number=turn))
        _record(db, thread_id, turn, checkpoint_id, True)

    def _write(
        self, db: Connection, thread_id: str, kind: str, name: str, body: str | None
    ) -> None:
        lineage.conversation(db, thread_id, lock=True)
        workspace.write(db, thread_id, kind, name, body, _latest(db, thread_id)[0])

    def _workspace(self, db: Connection, thread_id: str) -> list[Row]:
        lineage.conversation(db, thread_id)
        return workspace.rows(db, thread_id)

    # -- reading -----------------------------------------------------------------------------------

    def _conversation(self, db: Connection, thread_id: str) -> Conversation:
        return lineage.conversation(db, thread_id)

    def _branches(self, db: Connection, thread_id: str) -> list[Conversation]:
        lineage.conversation(db, thread_id)
        return lineage.branches(db, [thread_id])

    def _history(self, db: Connection, thread_id: str) -> History:
        return lineage.history(db, thread_id)

    def _decision_map(self, db: Connection, thread_id: str) -> DecisionMap:
        return lineage.decision_map(db, thread_id)

    # -- branching ---------------------------------------------------------------------------------

    def _branch(
        self,
        thread_id: str,
        turn: int,
        passing: Passing | None = None,
        origin: Literal["branch", "restore"] = "branch",
    ) -> Steps[Conversation]:
        """Make a branch of `thread_id` as it was after `turn`."""
        source, mark = yield self._reading(lambda db: _locate(db, thread_id, turn))
        if mark is _UNRECORDED:
            mark = yield from self.seeder.find(source.thread_id, turn)
        messages = yield from self.seeder.read(source.thread_id, mark)
        made = Conversation(uuid.uuid4().hex, source.thread_id, turn, origin)
        try:
            yield self._writing(lambda db: self._reserve(db, made, mark))
            yield from _pass(passing, "rows")
            checkpoint_id = yield from self.seeder.seed(made.thread_id, messages)
            yield from _pass(passing, "seeded")
            yield self._writing(lambda db: self._activate(db, made, checkpoint_id))
        except BaseException:
            yield from self._undo(made.thread_id)
            raise
        yield from _pass(
            passing, "active"
        )  # whatever this raises, the branch is there and may be in use
        return made

    def _reserve(self, db: Connection, made: Conversation, mark: Mark | None) -> None:
        """Phase one: everything but the thread, as of one moment of the source."""
        assert made.parent_id is not None
        lineage.conversation(db, made.parent_id, lock=True)
        later = _first_after(db, made.parent_id, made.turn)
        _, now = _locate(db, made.parent_id, made.turn)
        if now is not _UNRECORDED and now != mark:
            raise NotCompleted(f"turn {made.turn} of {made.parent_id!r} is being changed")
        row = self._row(made.thread_id, made.parent_id, made.turn, made.origin, "pending")
        db.execute(insert(CONVERSATIONS).values(row))
        workspace.copy(db, made.parent_id, made.thread_id, made.turn, later)

    def _activate(self, db: Connection, made: Conversation, checkpoint_id: str) -> None:
        """Phase three, unless the sweeper took the branch for an orphan meanwhile."""
        _record(db, made.thread_id, made.turn, checkpoint_id, True)
        if not self._turn_into(db, made.thread_id, "pending", "active"):
            raise Swept(f"the branch {made.thread_id} was swept before it was finished")

    def _undo(self, thread_id: str) -> Steps[None]:
        """Take a creation back, as far as can be. What cannot be now is left to the sweeper, unseen."""

        def leave(db: Connection) -> bool:
            self._turn_into(db, thread_id, None, "leaving")
            left = db.execute(
                select(CONVERSATIONS.c.status).filter_by(thread_id=thread_id)
            ).scalar()
            # Active: a cancellation came too late, it is whole and may be in use. None: it was swept, but
            # perhaps its thread was seeded after that.
            return left != "active"

        try:
            if (yield self._writing(leave)):
                yield from self._remove(thread_id)
        except Exception:
            return

    def _remove(self, thread_id: str) -> Steps[None]:
        """Remove a conversation that nobody sees any more: the thread first, then what names it."""
        delete_thread = Step(
            lambda: self.saver.delete_thread(thread_id),
            lambda: self.saver.adelete_thread(thread_id),
        )
        try:
            yield delete_thread
        except (NotImplementedError, AttributeError):
            pass  # such a saver keeps its threads; nobody knows the name of this one

        def forget(db: Connection) -> None:
            for table in OWNED:
                db.execute(delete(table).where(table.c.thread_id == thread_id))

        yield self._writing(forget)

    def _delete(self, thread_id: str) -> Steps[None]:
        """Delete a conversation, unless others branch off it."""

        def leave(db: Connection) -> None:
            lineage.conversation(db, thread_id, lock=True)
            # Pending branches count: in a moment they may be active.
            if db.execute(select(CONVERSATIONS).filter_by(parent_id=thread_id)).first():
                raise HasBranches(
                    f"{thread_id!r} has branches, which read their first turns from it"
                )
            self._turn_into(db, thread_id, "active", "leaving")

        yield self._writing(leave)
        yield from self._remove(thread_id)

    def _sweep(self, older_than: float = AGE) -> Steps[list[str]]:
        """Remove what creations and deletions left behind that did not come to their end."""

        def claim(db: Connection) -> list[str]:
            old = CONVERSATIONS.c.changed_at <= self.clock() - older_than
            wanted = select(CONVERSATIONS.c.thread_id).where(
                CONVERSATIONS.c.status != "active", old
            )
            names = [
                str(name) for (name,) in db.execute(wanted.order_by(CONVERSATIONS.c.thread_id))
            ]
            # Claimed before anything is removed: a creation that wakes up now finds itself swept.
            return [n for n in names if self._turn_into(db, n, None, "leaving")]

        names = yield self._writing(claim)
        for name in names:
            yield from self._remove(name)
        return list(names)

    # -- small things --------------------------------------------------------------------------------

    def _row(
        self, thread_id: str, parent_id: str | None, turn: int, origin: str, status: str
    ) -> Mapping[str, Any]:
        return {
            "thread_id": thread_id,
            "parent_id": parent_id,
            "turn": turn,
            "origin": origin,
            "status": status,
            "changed_at": self.clock(),
        }

    def _turn_into(self, db: Connection, thread_id: str, old: str | None, new: str) -> bool:
        """Change a status; False if it is not `old` (None: anything but active) any more."""
        held = CONVERSATIONS.c.status == old if old else CONVERSATIONS.c.status != "active"
        changed = update(CONVERSATIONS).where(CONVERSATIONS.c.thread_id == thread_id, held)
        return db.execute(changed.values(status=new, changed_at=self.clock())).rowcount == 1

    def _reading(self, work: Callable[[Connection], Any]) -> Step:
        def call() -> Any:
            with reading(self.engine) as db:
                return work(db)

        return blocking(call)

    def _writing(self, work: Callable[[Connection], Any]) -> Step:
        def call() -> Any:
            with writing(self.engine) as db:
                return work(db)

        return blocking(call)


_UNRECORDED = Mark("", -1)
"""Stands for a turn whose checkpoint nobody recorded."""


def _record(
    db: Connection, thread_id: str, number: int, checkpoint_id: str | None, completed: bool
) -> None:
    row = {
        "thread_id": thread_id,
        "number": number,
        "checkpoint_id": checkpoint_id,
        "completed": completed,
    }
    db.execute(_RECORD, row)


# Built once, as those of `lineage`.
_RECORD = insert(TURNS)
_OWN = TURNS.c.thread_id == bindparam("thread")
_LATEST = (
    select(TURNS.c.number, TURNS.c.completed).where(_OWN).order_by(TURNS.c.number.desc()).limit(1)
)
_FIRST_AFTER = select(func.min(TURNS.c.number)).where(_OWN, TURNS.c.number > bindparam("after"))
_ENDED = select(TURNS.c.checkpoint_id).where(_OWN, TURNS.c.number == bindparam("turn"))


def _latest(db: Connection, thread_id: str) -> tuple[int, bool]:
    """The number of the last turn, and whether it is running."""
    found = db.execute(_LATEST, {"thread": thread_id}).first()
    if found is None:  # all its turns were there before it was made known
        return lineage.conversation(db, thread_id).turn, False
    return found[0], not found[1]


def _first_after(db: Connection, thread_id: str, turn: int) -> int | None:
    """The first turn that began after `turn`: the live rows were kept when it did."""
    own = lineage.conversation(db, thread_id).turn
    given = {"thread": thread_id, "after": max(turn, own)}
    found: int | None = db.execute(_FIRST_AFTER, given).scalar()
    return found


def _locate(db: Connection, thread_id: str, turn: int) -> tuple[Conversation, Mark | None]:
    """Whose turn it is, and where it ended. Raises `NotCompleted` if it has not."""
    source = lineage.owner(db, thread_id, turn)
    number, running = _latest(db, source.thread_id)
    if turn < 0 or turn > number or (turn == number and running):
        raise NotCompleted(f"turn {turn} of {thread_id!r} is not completed: the last is {number}")
    found = db.execute(_ENDED, {"thread": source.thread_id, "turn": turn}).first()
    if found is not None and found[0] is not None:
        return source, Mark(found[0])
    return source, None if turn == 0 and found is not None else _UNRECORDED


def _pass(passing: Passing | None, phase: str) -> Steps[None]:
    if passing is None:
        return

    async def awaited() -> None:
        result = passing(phase)
        if hasattr(result, "__await__"):
            await result

    yield Step(lambda: passing(phase), awaited, whole=False)
