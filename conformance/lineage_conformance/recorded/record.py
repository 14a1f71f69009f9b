"""Record the stores anew: ``python -m lineage_conformance.recorded.record [--only ID] [--postgres DSN]``.

For each release an environment is made (see `builder`), and in it a process plays the first stage of each story on
a SQLite file and, if a DSN is given, on an empty PostgreSQL database, whose rows are then written as plain INSERT
statements that any server from 15 on reads. The same process also plays the stories to their end elsewhere, which is
what `finish` compares with.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lineage_conformance import builder
from lineage_conformance.recorded import FOLDER, PREFIX, STORIES

RELEASES: dict[str, tuple[str, ...]] = {
    "0-2": ("langgraph==0.2.76", "langgraph-checkpoint==2.0.16", "langgraph-checkpoint-sqlite==2.0.3",
            "langgraph-checkpoint-postgres==2.0.13", "aiosqlite==0.20.0"),
    "0-3": ("langgraph==0.3.34", "langgraph-checkpoint==2.0.26", "langgraph-checkpoint-sqlite==2.0.6",
            "langgraph-checkpoint-postgres==2.0.21", "aiosqlite==0.20.0"),
    "0-4": ("langgraph==0.4.10", "langgraph-checkpoint==2.1.0", "langgraph-checkpoint-sqlite==2.0.10",
            "langgraph-checkpoint-postgres==2.0.21", "langchain-core==0.3.66", "langgraph-prebuilt==0.2.2"),
    "0-5": ("langgraph==0.5.4", "langgraph-checkpoint==2.1.1", "langgraph-checkpoint-sqlite==2.0.11",
            "langgraph-checkpoint-postgres==2.0.23"),
    "0-6": ("langgraph==0.6.11", "langgraph-checkpoint==2.1.2", "langgraph-checkpoint-sqlite==2.0.11",
            "langgraph-checkpoint-postgres==2.0.25"),
    "1-0": ("langgraph==1.0.10", "langgraph-checkpoint==4.0.1", "langgraph-checkpoint-sqlite==3.0.3",
            "langgraph-checkpoint-postgres==3.0.4"),
    "1-1": ("langgraph==1.1.10", "langgraph-checkpoint==4.0.3", "langgraph-checkpoint-sqlite==3.0.3",
            "langgraph-checkpoint-postgres==3.0.4"),
    "1-2": ("langgraph==1.2.5", "langgraph-checkpoint==4.1.1", "langgraph-checkpoint-sqlite==3.1.1",
            "langgraph-checkpoint-postgres==3.1.0"),
}  # fmt: skip
"""What is pinned for each recording."""

TABLES = ("checkpoints", "checkpoint_blobs", "checkpoint_writes")


def main(arguments: Sequence[str] | None = None) -> int:
    """Record what was asked for."""
    parser = argparse.ArgumentParser(
        prog="python -m lineage_conformance.recorded.record", description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    parser.add_argument(
        "--only", action="append", default=[], choices=[*RELEASES], help="only this one"
    )
    parser.add_argument("--postgres", metavar="DSN", help="a server on which databases may be made")
    parser.add_argument("--here", nargs=2, metavar=("FOLDER", "DSN"), help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.here:
        print(json.dumps(_play_all(Path(options.here[0]), options.here[1])))
        return 0
    for id in options.only or RELEASES:
        _record(id, options.postgres)
        print(f"recorded {id}", flush=True)
    return 0


def _record(id: str, dsn: str | None) -> None:
    more = ("psycopg[binary,pool]==3.3.9",) if dsn else ()
    env = builder.environment((*RELEASES[id], *more), label=f"recorded {id}")
    database = f"lineage_recorded_{id.replace('-', '_')}"
    with tempfile.TemporaryDirectory() as folder:
        own = _database(dsn, database) if dsn else "-"
        try:
            command = [
                env.python,
                "-m",
                __name__ if __name__ != "__main__" else __spec__.name,
                "--here",
                folder,
                own,
            ]
            seen = json.loads(
                builder.call(command, suite=str(builder.suite())).stdout.splitlines()[-1]
            )
            if dsn:
                _dump(own, FOLDER / f"{id}.sql", env.packages)
        finally:
            if dsn:
                _database(dsn, database, drop=True)
        with sqlite3.connect(Path(folder) / "left" / "checkpoints.sqlite") as connection:
            connection.execute("PRAGMA journal_mode=DELETE")
            connection.execute("VACUUM")
        connection.close()
        (FOLDER / f"{id}.sqlite").write_bytes(
            (Path(folder) / "left" / "checkpoints.sqlite").read_bytes()
        )
    packages = {name: version for name, version in env.packages.items() if name.startswith("lang")}
    data = {"format": 1, "id": id, "packages": packages, "seen": seen}
    (FOLDER / f"{id}.json").write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")


# -- inside the old environment --------------------------------------------------------------------


def _play_all(folder: Path, dsn: str) -> dict[str, list[Any]]:
    """Leave every story half-way on SQLite (and PostgreSQL), and play it to its end on another file."""
    from langgraph.checkpoint.sqlite import SqliteSaver

    (folder / "left").mkdir()
    with SqliteSaver.from_conn_string(str(folder / "left" / "checkpoints.sqlite")) as saver:
        _stages(saver, first=True)
    if dsn != "-":
        from langgraph.checkpoint.postgres import PostgresSaver

        with PostgresSaver.from_conn_string(dsn) as saver:
            saver.setup()
            _stages(saver, first=True)
    with SqliteSaver.from_conn_string(str(folder / "whole.sqlite")) as saver:
        return _stages(saver, first=False)


def _stages(saver: Any, first: bool) -> dict[str, list[Any]]:
    from lineage_conformance import handover
    from lineage_conformance.handles import Handle, Loop

    handle, seen = Handle(saver, Loop()), {}
    for id in STORIES:
        story = handover.get(id)
        numbers = [0] if first else range(len(story.stages))
        seen[id] = [
            handover.play(handle, "sync", story, n, f"{PREFIX}-{id}", lambda step: None)
            for n in numbers
        ]
    handle.loop.close()
    return seen


# -- PostgreSQL ------------------------------------------------------------------------------------


def _database(dsn: str, name: str, drop: bool = False) -> str:
    """Make an empty database (or drop it) and return its DSN."""
    import psycopg
    from psycopg.conninfo import make_conninfo

    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {name}")
        if not drop:
            connection.execute(f"CREATE DATABASE {name} ENCODING 'UTF8' TEMPLATE template0")
    return str(make_conninfo(dsn, dbname=name))


def _dump(dsn: str, path: Path, packages: dict[str, str]) -> None:
    """Write the rows of the savers' tables as INSERT statements, one a line, in ASCII."""
    import psycopg

    lines = [
        f"-- langgraph {packages['langgraph']}, saver {packages['langgraph-checkpoint-postgres']}"
    ]
    with psycopg.connect(dsn) as connection:
        for table in TABLES:
            cursor = connection.execute(f"SELECT * FROM {table} ORDER BY 1, 2, 3, 4, 5")
            names = [column.name for column in cursor.description or ()]
            for row in cursor:
                values = ", ".join(_literal(value) for value in row)
                lines.append(f"INSERT INTO {table} ({', '.join(names)}) VALUES ({values});")
    path.write_text("\n".join(lines) + "\n", encoding="ascii")


def _literal(value: Any) -> str:
    """A value as a literal in ASCII: bytes in hexadecimal, JSON as text that its column casts."""
    if value is None:
        return "NULL"
    if isinstance(value, (bytes, memoryview)):
        return f"'\\x{bytes(value).hex()}'"
    if isinstance(value, (int, float)):
        return str(value)
    text = json.dumps(value) if isinstance(value, (dict, list)) else str(value)
    if not text.isascii():
        raise ValueError(f"not ASCII: {text!r}")
    return "'" + text.replace("'", "''") + "'"


if __name__ == "__main__":
    sys.exit(main())
