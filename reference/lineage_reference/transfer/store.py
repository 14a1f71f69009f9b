"""The store: transactions over the tables, and threads, runs and views as they are read and written in one.

Every function that changes a thread holds its row first (`Book.thread` with `lock`), parents before children,
so that two processes take turns and never wait for each other in a circle.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import Connection, Engine, Table, bindparam, insert, select, update
from sqlalchemy.exc import IntegrityError

from lineage_reference.steps import Step, blocking
from lineage_reference.transfer.records import Cover, Refused, Run, SourcePoint, ThreadLineage
from lineage_reference.transfer.tables import METADATA, PIECES, RUNS, SESSIONS, THREADS

T = TypeVar("T")


class Thread(NamedTuple):
    """A thread as its row has it."""

    id: str
    parent_id: str | None
    relationship: str | None
    root_id: str
    provider: str | None
    inherited: int
    length: int
    merged: int
    adopted: bool
    start_id: str | None
    active_run: str | None
    returned_run: str | None
    claim: str | None
    claimed_until: float | None

    @property
    def lineage(self) -> ThreadLineage:
        """What is told of it."""
        return ThreadLineage(
            self.id,
            self.parent_id,
            self.relationship,
            self.root_id,
            self.provider,
            self.active_run,
        )


class Stored(NamedTuple):
    """A run with what only the store needs to know."""

    run: Run
    number: int
    position: int | None
    context: tuple[str, ...]


class Piece(NamedTuple):
    """A piece of a view."""

    run: Run | None
    last_only: bool
    place: tuple[str, str]
    """Thread of the saver, and checkpoint."""
    owner: str

    @property
    def cover(self) -> Cover:
        """Where it is read."""
        if self.run is None:
            return Cover(self.owner, None, *self.place, None)
        items = self.run.items[-1:] if self.last_only else self.run.items
        return Cover(self.run.thread_id, self.run.id, *self.place, items)

    @property
    def point(self) -> SourcePoint:
        """The point that it ends with."""
        run = self.run
        if run is None:
            return SourcePoint(self.owner, None, *self.place)
        last = run.items[-1] if run.items else None
        return SourcePoint(
            run.thread_id, run.id, *self.place, last, run.native_thread, run.native_turn
        )


_THREAD = [THREADS.c[name] for name in Thread._fields]
_RUN = [
    RUNS.c[name]
    for name in (
        "id", "thread_id", "provider", "status", "native_thread", "native_turn", "checkpoint_thread",
        "checkpoint_id", "items",
    )
]  # fmt: skip
_MORE = [RUNS.c.number, RUNS.c.position, RUNS.c.context]

# Statements are made once: making them takes longer than a small database takes to answer.
_INSERT = {table.name: insert(table) for table in METADATA.sorted_tables}
_THREAD_OF = select(*_THREAD).where(THREADS.c.id == bindparam("id"))
_THREAD_HELD = _THREAD_OF.with_for_update()
_THREAD_THERE = select(THREADS.c.id).where(THREADS.c.id == bindparam("id"))
_THREAD_SET = update(THREADS).where(THREADS.c.id == bindparam("its_id"))
_CHILDREN = (
    select(*_THREAD).where(THREADS.c.parent_id == bindparam("id")).order_by(THREADS.c.number)
)
_RUN_OF = select(*_RUN, *_MORE).where(RUNS.c.id == bindparam("id"))
# A later run stands later in the view: the index of positions gives the latest without a search.
_LATEST = (
    select(*_RUN, *_MORE)
    .where(RUNS.c.thread_id == bindparam("id"), RUNS.c.position.is_not(None))
    .order_by(RUNS.c.position.desc())
    .limit(1)
)
_OWN = (
    select(PIECES.c.run_id, PIECES.c.last_only, PIECES.c.checkpoint_id, *_RUN)
    .select_from(PIECES.outerjoin(RUNS, RUNS.c.id == PIECES.c.run_id))
    .where(
        PIECES.c.thread_id == bindparam("id"),
        PIECES.c.position >= bindparam("start"),
        PIECES.c.position < bindparam("stop"),
    )
    .order_by(PIECES.c.position)
)
_BOUND = (
    SESSIONS.c.thread_id == bindparam("its_thread"),
    SESSIONS.c.provider == bindparam("its_provider"),
)
_SESSION = select(SESSIONS.c.session, SESSIONS.c.covered).where(*_BOUND)
_SESSION_SET = update(SESSIONS).where(*_BOUND)


def as_run(row: Any) -> Run:
    """A run from the columns of its row."""
    values: list[Any] = [*row[:8], tuple(json.loads(row[8]))]
    return Run(*values)


class Book:
    """The tables within one transaction. Counts the rows that it reads."""

    def __init__(self, db: Connection, now: float) -> None:
        self.db, self.now = db, now
        self.rows, self.wrote = 0, False

    def one(self, wanted: Any, **values: Any) -> Any:
        """The first row, or None. `values` are the parameters of a statement that was made beforehand."""
        found = self.db.execute(wanted, values).first()
        self.rows += found is not None
        return found

    def all(self, wanted: Any, **values: Any) -> Sequence[Any]:
        """Every row."""
        found = self.db.execute(wanted, values).all()
        self.rows += len(found)
        return found

    def add(self, table: Table, **values: Any) -> None:
        """A new row."""
        self.do(_INSERT[table.name], values)

    def add_all(self, table: Table, rows: Sequence[dict[str, Any]]) -> None:
        """New rows, one or more, all with the same columns."""
        self.do(_INSERT[table.name], rows)

    def do(self, change: Any, values: Any = None) -> None:
        """Write."""
        self.wrote = True
        self.db.execute(change, values)

    # -- threads -----------------------------------------------------------------------------------

    def thread(self, id: str, lock: bool = False) -> Thread:
        """A thread; `lock` keeps others from changing it. Raises `Refused` (``unknown_thread``)."""
        found = self.one(_THREAD_HELD if lock else _THREAD_OF, id=id)
        if found is None:
            raise Refused("unknown_thread", id)
        return Thread(*found)

    def children(self, id: str) -> list[Thread]:
        """The forks and subagents of a thread, oldest first."""
        return [Thread(*row) for row in self.all(_CHILDREN, id=id)]

    def new_thread(self, id: str, parent: Thread | None = None, **values: Any) -> None:
        """A thread that is not there yet. Raises `Refused` (``thread_exists``)."""
        if self.one(_THREAD_THERE, id=id) is not None:
            raise Refused("thread_exists", id)
        row = {"inherited": 0, "length": 0, "merged": 0, "adopted": False, **values}
        root = parent.root_id if parent else id
        self.add(THREADS, id=id, parent_id=parent.id if parent else None, root_id=root, **row)

    def set_thread(self, id: str, **values: Any) -> None:
        """Change a thread."""
        self.do(_THREAD_SET, {"its_id": id, **values})

    # -- runs --------------------------------------------------------------------------------------

    def run(self, id: str) -> Stored:
        """A run. Raises `Refused` (``unknown_run``)."""
        found = self.one(_RUN_OF, id=id)
        if found is None:
            raise Refused("unknown_run", id)
        return _stored(found)

    def run_where(self, *conditions: Any) -> Stored | None:
        """The latest run for which the conditions hold."""
        wanted = select(*_RUN, *_MORE).where(*conditions).order_by(RUNS.c.number.desc()).limit(1)
        found = self.one(wanted)
        return None if found is None else _stored(found)

    def latest(self, thread_id: str) -> Stored | None:
        """The latest stable run of a thread."""
        found = self.one(_LATEST, id=thread_id)
        return None if found is None else _stored(found)

    # -- views -------------------------------------------------------------------------------------

    def pieces(self, thread: Thread, start: int, stop: int) -> list[Piece]:
        """The pieces of a view from `start` up to but not with `stop`; only their rows are read."""
        found: list[Piece] = []
        while start < stop:
            own = max(start, thread.inherited)
            if own < stop:
                found = [*self._own(thread.id, own, stop), *found]
            stop = min(stop, thread.inherited)
            if start < stop:
                assert thread.parent_id is not None  # a root inherits nothing
                thread = self.thread(thread.parent_id)
        return found

    def _own(self, thread_id: str, start: int, stop: int) -> list[Piece]:
        made = []
        for run_id, last_only, checkpoint_id, *row in self.all(
            _OWN, id=thread_id, start=start, stop=stop
        ):
            run = None if run_id is None else as_run(row)
            place = (thread_id, checkpoint_id)
            if run is not None:
                place = (str(run.checkpoint_thread), str(run.checkpoint_id))
            made.append(Piece(run, bool(last_only), place, thread_id))
        return made

    def piece(self, thread: Thread, position: int) -> Piece:
        """One piece of a view."""
        (found,) = self.pieces(thread, position, position + 1)
        return found

    def session(self, thread_id: str, provider: str) -> tuple[str | None, int]:
        """The native session of a provider on a thread (None: none yet), and how much of the view it covers."""
        found = self.one(_SESSION, its_thread=thread_id, its_provider=provider)
        return (None, 0) if found is None else (found[0], found[1])

    def bind(self, thread_id: str, provider: str, session: str, covered: int) -> None:
        """Say in which session a provider works on a thread, and what it covers."""
        row = {"session": session, "covered": covered}
        if self.session(thread_id, provider)[0] is None:
            self.add(SESSIONS, thread_id=thread_id, provider=provider, **row)
        else:
            self.do(_SESSION_SET, {"its_thread": thread_id, "its_provider": provider, **row})


def _stored(row: Any) -> Stored:
    return Stored(as_run(row), row[9], row[10], tuple(json.loads(row[11])))


class Store:
    """Transactions on one database. `clock` gives the time in seconds."""

    def __init__(self, engine: Engine, clock: Callable[[], float] = time.time) -> None:
        self.engine, self.clock = engine, clock
        # What `lineage_reference.branching.tables` says of transactions, said once for all of them.
        level = {} if engine.dialect.name == "sqlite" else {"isolation_level": "REPEATABLE READ"}
        self._reader = engine.execution_options(**level)
        self._writer = engine.execution_options(lineage_writes=True)
        self._lock = threading.Lock()
        self._transactions = self._rows = 0
        METADATA.create_all(engine)

    def writing(self, work: Callable[[Book], T]) -> Step:
        """A transaction that may write, as a step whose result is that of `work`."""
        return blocking(lambda: self.write(work))

    def reading(self, work: Callable[[Book], T]) -> Step:
        """A transaction that only reads, as a step."""
        return blocking(lambda: self.read(work))

    def write(self, work: Callable[[Book], T]) -> T:
        """Do `work` in one transaction: all of it, or nothing if it raises."""
        try:
            return self._write(work)
        except IntegrityError:  # somebody else made the same row: look again, now it can be seen
            return self._write(work)

    def _write(self, work: Callable[[Book], T]) -> T:
        with self._writer.begin() as db:
            book = Book(db, self.clock())
            made = work(book)
        self._count(book)
        return made

    def read(self, work: Callable[[Book], T]) -> T:
        """Do `work` on one state of the tables."""
        with self._reader.begin() as db:
            book = Book(db, self.clock())
            made = work(book)
        self._count(book)
        return made

    def _count(self, book: Book) -> None:
        with self._lock:
            self._transactions += book.wrote
            self._rows += book.rows

    def counters(self) -> dict[str, int]:
        """How many transactions wrote, and how many rows were read."""
        with self._lock:
            return {"transactions": self._transactions, "rows": self._rows}
