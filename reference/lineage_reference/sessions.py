"""Durable sessions: open the database or say why not, and know after a restart what is there.

    with durable("conversations.sqlite") as turns:      # or: async with adurable(...)
        turns.use(build)
        print(turns.held("thread-1"))

A database that cannot be written is never replaced by memory in silence.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from lineage_reference.rollback import AsyncTurns, SyncTurns


class StoreUnusable(Exception):
    """The database cannot be used; the message says which and why."""


@contextlib.contextmanager
def durable(path: str | Path, **options: Any) -> Iterator[SyncTurns]:
    """A runner of turns over an SQLite database, sync half. Raises `StoreUnusable`."""
    _check(path)
    from langgraph.checkpoint.sqlite import SqliteSaver

    with SqliteSaver.from_conn_string(str(path)) as saver:
        yield SyncTurns(saver, **options)


@contextlib.asynccontextmanager
async def adurable(path: str | Path, **options: Any) -> AsyncIterator[AsyncTurns]:
    """A runner of turns over an SQLite database, async half. Raises `StoreUnusable`."""
    _check(path)
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

    async with AsyncSqliteSaver.from_conn_string(str(path)) as saver:
        yield AsyncTurns(saver, **options)


@contextlib.contextmanager
def durable_or_exit(path: str | Path, **options: Any) -> Iterator[SyncTurns]:
    """The same for a program's main function: says why the database cannot be used, and ends with code 2."""
    try:
        _check(path)
    except StoreUnusable as error:
        print(error, file=sys.stderr)
        raise SystemExit(2) from error
    with durable(path, **options) as turns:
        yield turns


def _check(path: str | Path) -> None:
    """Write something and take it back: permission bits do not say whether a database can be written."""
    text = os.fspath(path)
    if text == ":memory:" or not text:
        raise StoreUnusable("conversations need a database file; memory would lose them")
    try:
        connection = sqlite3.connect(text, timeout=5)
    except sqlite3.Error as error:
        raise StoreUnusable(f"{text}: cannot be opened: {error}") from error
    try:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("CREATE TABLE lineage_probe (x)")
        connection.execute("ROLLBACK")
    except sqlite3.Error as error:
        raise StoreUnusable(f"{text}: cannot be written: {error}") from error
    finally:
        connection.close()
