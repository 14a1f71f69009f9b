"""The workspace of a conversation: its rows now, as they were when a turn began, and as a branch gets them.

Every function works on a connection whose transaction holds the conversation's row, so none of them is
ever half seen.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sqlalchemy import (
    Connection,
    Insert,
    Select,
    Table,
    bindparam,
    delete,
    insert,
    literal,
    null,
    select,
    union,
)

from lineage_reference.branching.records import KINDS, Refused, Row
from lineage_reference.branching.tables import ARTIFACTS, BODIES, LIVE, SNAPSHOTS, digest

# Statements are built once: to build one takes longer than to run it.


def _read(table: Table) -> Select[Any]:
    turn = table.c.turn if table is ARTIFACTS else null().label("turn")
    same = (BODIES.c.thread_id == table.c.thread_id) & (BODIES.c.digest == table.c.digest)
    found = select(table.c.name, BODIES.c.body, turn).join(BODIES, same)
    return found.where(table.c.thread_id == bindparam("thread"))


def _keep(kind: str, table: Table) -> Insert:
    now = select(
        table.c.thread_id, bindparam("number"), literal(kind), table.c.name, table.c.digest
    ).where(table.c.thread_id == bindparam("thread"))
    return insert(SNAPSHOTS).from_select(["thread_id", "turn", "kind", "name", "digest"], now)


def _copied(table: Table, found: Select[Any], columns: Iterable[str]) -> Insert:
    moved = found.add_columns(bindparam("target"))
    return insert(table).from_select([*columns, "thread_id"], moved)


def _copies(later: bool) -> list[Insert]:
    """What gives a branch its workspace: out of snapshots of a later turn, or out of the live rows."""
    source: Any = bindparam("source")
    made: list[Insert] = []
    used: list[Select[Any]] = []
    for kind, table in LIVE.items():
        origin, chosen = table, table.c.thread_id == source
        if later:
            origin = SNAPSHOTS
            chosen = (
                (origin.c.thread_id == source)
                & (origin.c.turn == bindparam("later"))
                & (origin.c.kind == kind)
            )
        used.append(select(origin.c.digest).where(chosen))
        found = select(origin.c.name, origin.c.digest).where(chosen)
        made.append(_copied(table, found, ("name", "digest")))
    kept = (ARTIFACTS.c.thread_id == source) & (ARTIFACTS.c.turn <= bindparam("upto"))
    used.append(select(ARTIFACTS.c.digest).where(kept))
    columns = (ARTIFACTS.c.turn, ARTIFACTS.c.name, ARTIFACTS.c.digest)
    made.append(_copied(ARTIFACTS, select(*columns).where(kept), ("turn", "name", "digest")))
    needed = union(*used).subquery()
    bodies = select(BODIES.c.digest, BODIES.c.body).where(
        BODIES.c.thread_id == source, BODIES.c.digest.in_(select(needed.c.digest))
    )
    made.append(_copied(BODIES, bodies, ("digest", "body")))
    return made


_READ = {kind: _read(table) for kind, table in (*LIVE.items(), ("artifacts", ARTIFACTS))}
_KEEP = [_keep(kind, table) for kind, table in LIVE.items()]
_COPY_LIVE, _COPY_KEPT = _copies(later=False), _copies(later=True)


def write(
    db: Connection, thread_id: str, kind: str, name: str, body: str | None, turn: int
) -> None:
    """Set a row, or remove it if `body` is None. An artifact is set for `turn` and cannot be removed."""
    if kind not in KINDS:
        raise Refused(f"a workspace holds {', '.join(KINDS)}, not {kind!r}")
    if body is None:
        if kind == "artifacts":
            raise Refused("artifacts are kept: later turns may have been branched from")
        db.execute(
            delete(LIVE[kind]).where(LIVE[kind].c.thread_id == thread_id, LIVE[kind].c.name == name)
        )
        return
    mark = digest(body)
    key = {"thread_id": thread_id, "digest": mark}
    if not db.execute(select(BODIES.c.digest).filter_by(**key)).first():
        db.execute(insert(BODIES).values(**key, body=body))
    table = ARTIFACTS if kind == "artifacts" else LIVE[kind]
    where = {"thread_id": thread_id, "name": name} | ({"turn": turn} if table is ARTIFACTS else {})
    db.execute(delete(table).filter_by(**where))
    db.execute(insert(table).values(**where, digest=mark))


def rows(db: Connection, thread_id: str) -> list[Row]:
    """Every row of a conversation as it is now, sorted."""
    found: list[Row] = []
    for kind, wanted in _READ.items():
        for name, body, turn in db.execute(wanted, {"thread": thread_id}):
            found.append(Row(kind, name, body, turn))
    return sorted(found, key=lambda row: (row.kind, row.turn or 0, row.name))


def snapshot(db: Connection, thread_id: str, turn: int) -> None:
    """Keep the live rows as they are at the start of `turn`."""
    for keep in _KEEP:
        db.execute(keep, {"thread": thread_id, "number": turn})


def copy(db: Connection, source: str, target: str, turn: int, later: int | None) -> None:
    """Give `target` the workspace that `source` had after `turn`.

    `later` is the first turn that began after it: its snapshot is that state. None: nothing began since,
    so the live rows are. Snapshots stay where they are; what came before the branch is the parent's to
    tell.
    """
    given = {"source": source, "target": target, "upto": turn, "later": later}
    for statement in _COPY_LIVE if later is None else _COPY_KEPT:
        db.execute(statement, given)
