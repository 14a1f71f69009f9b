"""The tables beside the checkpoints, for SQLite and Postgres, and how a transaction is begun.

A body (the text of a document, say) is stored once per conversation and named by its digest, so that a
snapshot is a row of names and costs the same whether a document has ten bytes or a million.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    Connection,
    Engine,
    Float,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    create_engine,
    event,
)

METADATA = MetaData()


def _owner() -> Column[str]:
    return Column("thread_id", String(200), primary_key=True)


CONVERSATIONS = Table(
    "lineage_conversations",
    METADATA,
    _owner(),
    # No foreign key: a row that points nowhere must be readable, so that it can be told and repaired.
    Column("parent_id", String(200), nullable=True),
    Column("turn", Integer, nullable=False),
    Column("origin", String(10), nullable=False),
    # pending: being made; active: the only ones that readers see; leaving: being removed.
    Column("status", String(10), nullable=False),
    Column("changed_at", Float, nullable=False),
    CheckConstraint("status IN ('pending', 'active', 'leaving')", name="lineage_status"),
    Index("lineage_by_parent", "parent_id"),
    Index("lineage_by_status", "status", "changed_at"),
)

TURNS = Table(
    "lineage_turns",
    METADATA,
    _owner(),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("checkpoint_id", String(200), nullable=True),
    Column("completed", Boolean, nullable=False),
)
"""A conversation's own turns, and under the number of its branch point where its thread begins."""


def _live(kind: str, *more: Column[Any]) -> Table:
    name: Column[str] = Column("name", String(500), primary_key=True)
    return Table(
        f"lineage_{kind}",
        METADATA,
        _owner(),
        *more,
        name,
        Column("digest", String(64), nullable=False),
    )


LIVE = {kind: _live(kind) for kind in ("documents", "preferences", "todos")}
"""What is replaced in place: the rows as they are now, by kind."""

ARTIFACTS = _live("artifacts", Column("turn", Integer, primary_key=True, autoincrement=False))
"""What each turn made: only added to, so the state after a turn is every row up to that turn."""

SNAPSHOTS = Table(
    "lineage_snapshots",
    METADATA,
    _owner(),
    Column("turn", Integer, primary_key=True, autoincrement=False),
    Column("kind", String(20), primary_key=True),
    Column("name", String(500), primary_key=True),
    Column("digest", String(64), nullable=False),
)
"""The live rows as they were when a turn began. Never copied to a branch."""

BODIES = Table(
    "lineage_bodies",
    METADATA,
    _owner(),
    Column("digest", String(64), primary_key=True),
    Column("body", Text, nullable=False),
)

OWNED = (TURNS, *LIVE.values(), ARTIFACTS, SNAPSHOTS, BODIES, CONVERSATIONS)
"""Every table with rows of a conversation; the conversation itself goes last."""


def digest(body: str) -> str:
    """The name of a body."""
    return hashlib.sha256(body.encode("utf-8", "surrogatepass")).hexdigest()


def sqlite_engine(path: str) -> Engine:
    """An engine on a SQLite file, several threads and processes at a time."""
    engine = create_engine(f"sqlite:///{path}", connect_args={"timeout": 30})

    # The driver begins transactions late, at the first statement that writes, so two of them can read the
    # same state and then both write. Said here instead: a writer locks before it reads.
    @event.listens_for(engine, "connect")
    def _manual(connection: Any, record: Any) -> None:
        connection.isolation_level = None

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("lineage_writes")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def postgres_engine(dsn: str) -> Engine:
    """An engine on a Postgres database, from any connection string that libpq understands."""
    import psycopg

    return create_engine("postgresql+psycopg://", creator=lambda: psycopg.connect(dsn))


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """A transaction that only reads, and sees one state throughout."""
    level = {} if engine.dialect.name == "sqlite" else {"isolation_level": "REPEATABLE READ"}
    with engine.connect().execution_options(**level) as connection, connection.begin():
        yield connection


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """A transaction that writes: committed at the end, rolled back on any exception."""
    options = {"lineage_writes": True}
    with engine.connect().execution_options(**options) as connection, connection.begin():
        yield connection
