"""A blob store in PostgreSQL, in partitions by day that retention drops whole."""

from __future__ import annotations

import datetime as dt
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from lineage_reference.delta.blobs import Pointer, Step, unpack_step
from lineage_reference.delta.stores import RETENTION
from lineage_reference.delta.stores_sql import SqlStore

_TABLES = """
CREATE TABLE IF NOT EXISTS {schema}.threads (
    no bigint GENERATED ALWAYS AS IDENTITY, name text PRIMARY KEY,
    mode text NOT NULL, proved integer NOT NULL);
CREATE TABLE IF NOT EXISTS {schema}.steps (
    day date NOT NULL, thread bigint NOT NULL, ns text NOT NULL, id text NOT NULL,
    created bigint NOT NULL, body bytea NOT NULL) PARTITION BY RANGE (day);
CREATE INDEX IF NOT EXISTS steps_at ON {schema}.steps (thread, ns, id);
CREATE TABLE IF NOT EXISTS {schema}.blobs (
    day date NOT NULL, thread bigint NOT NULL, chain bigint NOT NULL, pos integer NOT NULL,
    data bytea NOT NULL) PARTITION BY RANGE (day);
CREATE INDEX IF NOT EXISTS blobs_at ON {schema}.blobs (thread, chain, pos);
"""

_DAY = 24 * 3600


class PostgresStore(SqlStore):
    """Blobs in a schema of the database at `dsn`. Needs psycopg 3.

    A place in a chain is unique in a thread, which no index over partitions by day can say: writers to
    one thread wait for each other instead (an advisory lock).
    """

    def __init__(
        self,
        dsn: str,
        *,
        schema: str = "lineage_delta",
        clock: Callable[[], float] = time.time,
        level: int = 6,
    ) -> None:
        import psycopg

        super().__init__(clock, level)
        self.schema = schema
        self.connection: Any = psycopg.connect(dsn, autocommit=True)
        with self.lock, self.connection.transaction():
            self._only("")
            self.connection.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
            self.connection.execute(f"SET search_path TO {schema}")
            self.connection.execute(_TABLES.format(schema=schema))
        self._days: set[int] = set()

    @contextmanager
    def transaction(self, thread: str = "") -> Iterator[None]:
        """See `SqlStore.transaction`."""
        with self.lock:
            try:
                with self.connection.transaction():
                    self._only(thread)
                    yield
            except BaseException:
                self._days.clear()  # partitions that were made inside are gone again
                raise

    def _only(self, thread: str) -> None:
        key = zlib.crc32(f"{self.schema}/{thread}".encode("utf-8", "surrogatepass"))
        self.connection.execute("SELECT pg_advisory_xact_lock(%s)", (key,))

    def query(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        """See `SqlStore.query`."""
        cursor = self.connection.execute(statement.replace("?", "%s"), values)
        return cursor.fetchall() if cursor.description else []

    def insert_step(self, owner: int, step: Step, body: bytes, created: int) -> None:
        """See `SqlStore.insert_step`."""
        self.query(
            "DELETE FROM steps WHERE thread = ? AND ns = ? AND id = ?", (owner, *step.place[1:])
        )
        self.query(
            "INSERT INTO steps VALUES (?, ?, ?, ?, ?, ?)",
            (self._day(created), owner, *step.place[1:], created, body),
        )

    def insert_blob(self, owner: int, at: Pointer, data: bytes, created: int) -> None:
        """See `SqlStore.insert_blob`."""
        self.query(
            "INSERT INTO blobs VALUES (?, ?, ?, ?, ?)", (self._day(created), owner, *at, data)
        )

    # -- partitions ------------------------------------------------------------------------------

    def _day(self, created: float) -> dt.date:
        """The day of a moment, with its partitions made."""
        number = int(created // _DAY)
        day = dt.date(1970, 1, 1) + dt.timedelta(days=number)
        if number not in self._days:
            self.query("SELECT pg_advisory_xact_lock(?)", (zlib.crc32(b"days"),))
            for table in ("steps", "blobs"):
                self.query(
                    f"CREATE TABLE IF NOT EXISTS {_partition(table, day)} PARTITION OF {table}"
                    f" FOR VALUES FROM ('{day}') TO ('{day + dt.timedelta(days=1)}')"
                )
            self._days.add(number)
        return day

    def partitions(self) -> list[dt.date]:
        """The days that have partitions, oldest first."""
        rows = self.query(
            "SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid"
            " JOIN pg_class p ON p.oid = i.inhparent JOIN pg_namespace n ON n.oid = p.relnamespace"
            " WHERE p.relname = 'blobs' AND n.nspname = ?",
            (self.schema,),
        )
        return sorted(dt.datetime.strptime(name[-8:], "%Y%m%d").date() for (name,) in rows)

    def expire(self, before: float | None = None) -> int:
        """Drop the partitions of days that retention (30 days unless `before` is given) no longer keeps.

        First what must stay is moved to today's partition: steps that are the only copy of their channels,
        and all rows that a step which stays needs. Returns how many steps went.
        """
        limit = self.clock() - RETENTION if before is None else before
        first = dt.date(1970, 1, 1) + dt.timedelta(days=int(limit // _DAY))
        gone = 0
        with self.transaction():
            # Nobody writes meanwhile: a frame could go on from a row that is about to be dropped.
            self.query("LOCK TABLE steps, blobs IN ACCESS EXCLUSIVE MODE")
            today = self._day(self.clock())
            for no, name in self.query("SELECT no, name FROM threads WHERE name <> ''"):
                gone += self._carry(no, name[1:], first, today)
            for day in self.partitions():
                if day < first and day != today:
                    for table in ("steps", "blobs"):
                        self.query(f"DROP TABLE {_partition(table, day)}")
                    self._days.discard((day - dt.date(1970, 1, 1)).days)
        return gone

    def _carry(self, owner: int, thread: str, first: dt.date, today: dt.date) -> int:
        """Move what a thread still needs out of the days before `first`; how many steps stay behind."""
        staying, gone = [], 0
        for day, ns, id, body, created in self.query(
            "SELECT day, ns, id, body, created FROM steps WHERE thread = ?", (owner,)
        ):
            step = unpack_step((thread, ns, id), bytes(body), created)
            if day >= first or step.sole:
                staying.append(step)
            else:
                gone += 1
                self.query(
                    "DELETE FROM steps WHERE thread = ? AND ns = ? AND id = ?", (owner, ns, id)
                )
        needed = self.needed(staying)
        for (chain,) in self.query(
            "SELECT DISTINCT chain FROM blobs WHERE thread = ? AND day < ?", (owner, first)
        ):
            self.query(
                "DELETE FROM blobs WHERE thread = ? AND chain = ? AND pos > ? AND day < ?",
                (owner, chain, needed.get(chain, -1), first),
            )
        for table in ("steps", "blobs"):
            self.query(
                f"UPDATE {table} SET day = ? WHERE thread = ? AND day < ?", (today, owner, first)
            )
        return gone

    def close(self) -> None:
        """Close the connection."""
        self.connection.close()


def _partition(table: str, day: dt.date) -> str:
    return f"{table}_{day:%Y%m%d}"
