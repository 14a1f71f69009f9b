"""What `show` can read: every target, and a database file or a PostgreSQL database without any factory."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from pytest_lineage.targets import Target, TargetError, builtin
from pytest_lineage.targets.doors import resolve

_MAGIC = b"SQLite format 3\x00"
_SUFFIXES = (".db", ".sqlite", ".sqlite3")
_SCHEMES = ("postgresql://", "postgres://")


def source(text: str) -> Target:
    """The target that `text` names: a database file, a PostgreSQL DSN, or what every command takes.

    Raises `TargetError` for a target that holds nothing by its nature.
    """
    if text.startswith(_SCHEMES):
        return Target(lambda: _postgres(text), "PostgreSQL")
    if _is_database(text):
        return Target(SqliteFile(Path(text)), text)
    if text in builtin.NAMES:
        raise TargetError(
            f"{text} is built in: it opens a new and empty store each time, so no thread is there. Name what holds "
            "the data: a SQLite file (./threads.db), a PostgreSQL DSN, or your own factory (./file.py:factory)"
        )
    target = resolve(text)
    if target.postgres:
        raise TargetError(
            f"{text}: asks for a PostgreSQL database of its own, which is new and empty each time. Pass the DSN "
            "of the database that holds the data instead"
        )
    return target


def _is_database(text: str) -> bool:
    path = Path(text)
    try:
        if path.is_file():
            with path.open("rb") as file:
                return file.read(len(_MAGIC)) == _MAGIC or text.endswith(_SUFFIXES)
    except OSError as error:
        raise TargetError(f"{text}: cannot be read: {error.strerror}") from None
    if text.endswith(_SUFFIXES) and ":" not in text:
        raise TargetError(f"there is no file {text}")
    return False


class SqliteFile:
    """Factory of LangGraph's SQLite saver over a file, on a connection that can write nothing.

    Even a reader leaves files beside a database in WAL mode, of its own user. Where no writer has it open (there is
    no ``-wal``), it is therefore opened as immutable; whether that was so is asked when all is read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._before: tuple[int, int] | None = None

    @contextmanager
    def __call__(self) -> Iterator[Any]:
        """Open it. The saver is told that its tables are there: it would make them at the first call."""
        module = builtin._need("langgraph.checkpoint.sqlite", "sqlite")
        with closing(sqlite3.connect(self._uri(), uri=True, check_same_thread=False)) as connection:
            columns = self._columns(connection)
            saver = module.SqliteSaver(connection)
            saver.is_setup = True
            if hasattr(saver, "_has_task_path"):  # which its setup finds out
                saver._has_task_path = "task_path" in columns
            yield saver

    def written(self) -> bool:
        """Whether somebody wrote while it was open as immutable: what was read may be wrong then."""
        return self._before is not None and (self._before != self._stat() or self._wal().exists())

    def _uri(self) -> str:
        uri = f"{self.path.resolve().as_uri()}?mode=ro"
        with self.path.open("rb") as file:
            wal_mode = file.read(20)[18:20] == b"\x02\x02"
        if not wal_mode or self._wal().exists():
            return uri
        self._before = self._stat()
        return f"{uri}&immutable=1"

    def _columns(self, connection: sqlite3.Connection) -> list[str]:
        """The columns of its writes."""
        try:
            connection.execute("PRAGMA query_only = ON")
            found = {
                table: [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
                for table in ("checkpoints", "writes")
            }
        except sqlite3.Error as error:
            raise TargetError(f"{self.path}: is no readable SQLite database: {error}") from None
        if "checkpoint_ns" not in found["checkpoints"] or not found["writes"]:
            raise TargetError(f"{self.path}: holds no checkpoints of langgraph-checkpoint-sqlite")
        return found["writes"]

    def _wal(self) -> Path:
        return self.path.with_name(f"{self.path.name}-wal")

    def _stat(self) -> tuple[int, int]:
        found = self.path.stat()
        return found.st_size, found.st_mtime_ns


@contextmanager
def _postgres(dsn: str) -> Iterator[Any]:
    """LangGraph's PostgreSQL saver on a session in which every transaction is read-only."""
    module = builtin._need("langgraph.checkpoint.postgres", "postgres")
    psycopg = builtin._need("psycopg", "postgres")
    try:
        connection = psycopg.Connection.connect(dsn, **builtin._connection())
    except psycopg.Error as error:
        raise TargetError(f"PostgreSQL: cannot connect: {_first(error)}") from None
    with closing(connection):
        connection.execute("SET default_transaction_read_only = on")
        found = connection.execute("SELECT to_regclass('checkpoints') AS name").fetchone()
        if found is None or found["name"] is None:
            raise TargetError(
                "PostgreSQL: the database holds no checkpoints of langgraph-checkpoint-postgres "
                "(no table 'checkpoints' on its search path)"
            )
        yield module.PostgresSaver(connection)


def _first(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return lines[0][:300] if lines else type(error).__name__
