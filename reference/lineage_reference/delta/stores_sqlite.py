"""A blob store in an SQLite file, with nothing but the standard library."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lineage_reference.delta.blobs import Pointer, Step
from lineage_reference.delta.stores import RETENTION
from lineage_reference.delta.stores_sql import SqlStore

_TABLES = """
CREATE TABLE IF NOT EXISTS threads (
    no INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, mode TEXT NOT NULL, proved INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS steps (
    thread INTEGER NOT NULL, ns TEXT NOT NULL, id TEXT NOT NULL, created INTEGER NOT NULL,
    body BLOB NOT NULL, PRIMARY KEY (thread, ns, id)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS blobs (
    thread INTEGER NOT NULL, chain INTEGER NOT NULL, pos INTEGER NOT NULL, data BLOB NOT NULL);
CREATE UNIQUE INDEX IF NOT EXISTS blobs_at ON blobs (thread, chain, pos);
"""


class SqliteStore(SqlStore):
    """Blobs in the file at `path` (in memory unless given). Handles on one file see each other's data."""

    def __init__(
        self,
        path: str | Path = ":memory:",
        *,
        clock: Callable[[], float] = time.time,
        level: int = 1,
    ) -> None:
        super().__init__(clock, level)
        self.connection = sqlite3.connect(
            str(path), timeout=30, isolation_level=None, check_same_thread=False
        )
        self.connection.execute("PRAGMA journal_mode = WAL")
        self.connection.execute("PRAGMA synchronous = NORMAL")
        with self.lock:
            self.connection.executescript(_TABLES)

    @contextmanager
    def transaction(self, thread: str = "") -> Iterator[None]:
        """See `SqlStore.transaction`: one writer to the whole file."""
        with self.lock:
            self.connection.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                self.connection.execute("ROLLBACK")
                raise
            self.connection.execute("COMMIT")

    def query(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        """See `SqlStore.query`."""
        return self.connection.execute(statement, values).fetchall()

    def insert_step(self, owner: int, step: Step, body: bytes, created: int) -> None:
        """See `SqlStore.insert_step`."""
        self.query(
            "INSERT OR REPLACE INTO steps VALUES (?, ?, ?, ?, ?)",
            (owner, *step.place[1:], created, body),
        )

    def insert_blob(self, owner: int, at: Pointer, data: bytes, created: int) -> None:
        """See `SqlStore.insert_blob`."""
        self.query("INSERT INTO blobs VALUES (?, ?, ?, ?)", (owner, *at, data))

    def expire(self, before: float | None = None) -> int:
        """Remove what retention (30 days unless `before` is given) no longer keeps; how many steps went.

        A step that is the only copy of its channels stays as long as its checkpoint. A younger step keeps
        all rows that it needs, however old they are: a live generation is never cut.
        """
        limit = self.clock() - RETENTION if before is None else before
        gone = 0
        for no, name in self.query("SELECT no, name FROM threads WHERE name <> ''"):
            with self.transaction(name[1:]):
                old = [
                    step
                    for step in self._steps(no, name[1:])
                    if step.created < limit and not step.sole
                ]
                for step in old:
                    self.query(
                        "DELETE FROM steps WHERE thread = ? AND ns = ? AND id = ?",
                        (no, *step.place[1:]),
                    )
                if old:
                    self._sweep(no, name[1:])
                gone += len(old)
        return gone

    def close(self) -> None:
        """Close the file."""
        with self.lock:
            self.connection.close()
