"""Lineage: turns that a conversation inherited, and the family that it belongs to. Pure reads.

A branch holds its own turns only. What came before is the parent's, and is looked up when it is asked for,
at most `DEPTH` parents up. Parent links in a circle are refused, not followed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import Connection, Select, bindparam, literal, select

from lineage_reference.branching.records import (
    DEPTH,
    BrokenLineage,
    Conversation,
    DecisionMap,
    History,
    Node,
    Turn,
    UnknownConversation,
)
from lineage_reference.branching.tables import CONVERSATIONS, TURNS

_FIELDS = [CONVERSATIONS.c[name] for name in Conversation._fields]

# Statements that nearly every operation needs are built once: to build one takes longer than to run it.
_ONE = select(*_FIELDS).where(
    CONVERSATIONS.c.thread_id == bindparam("thread"), CONVERSATIONS.c.status == "active"
)
_ONE_LOCKED = _ONE.with_for_update()
_BRANCHES = (
    select(*_FIELDS)
    .where(
        CONVERSATIONS.c.parent_id.in_(bindparam("threads", expanding=True)),
        CONVERSATIONS.c.status == "active",
    )
    .order_by(CONVERSATIONS.c.turn, CONVERSATIONS.c.changed_at, CONVERSATIONS.c.thread_id)
)
_TURNS = (
    select(TURNS.c.number, TURNS.c.thread_id, TURNS.c.checkpoint_id, TURNS.c.completed)
    .where(TURNS.c.thread_id.in_(bindparam("threads", expanding=True)))
    .order_by(TURNS.c.number)
)


def _ancestors() -> Select[Any]:
    up = (
        select(*_FIELDS, literal(0).label("depth"))
        .where(CONVERSATIONS.c.thread_id == bindparam("thread"))
        .cte("up", recursive=True)
    )
    up = up.union_all(
        select(*_FIELDS, up.c.depth + 1)
        .join(up, CONVERSATIONS.c.thread_id == up.c.parent_id)
        .where(up.c.depth < bindparam("most"), CONVERSATIONS.c.status == "active")
    )
    return select(up).order_by(up.c.depth)


_LINE = _ancestors()


def conversation(db: Connection, thread_id: str, lock: bool = False) -> Conversation:
    """An active conversation; `lock` keeps others from changing it. Raises `UnknownConversation`."""
    found = db.execute(_ONE_LOCKED if lock else _ONE, {"thread": thread_id}).first()
    if found is None:
        raise UnknownConversation(f"there is no conversation {thread_id!r}")
    return Conversation(*found)


def branches(db: Connection, thread_ids: Iterable[str]) -> list[Conversation]:
    """The active branches of some conversations, by branch point."""
    return [Conversation(*row) for row in db.execute(_BRANCHES, {"threads": list(thread_ids)})]


def line(db: Connection, thread_id: str) -> tuple[list[Conversation], bool]:
    """A conversation and its ancestors, nearest first, and whether the line reaches its root."""
    start = conversation(db, thread_id)
    found = [
        Conversation(*row[:-1]) for row in db.execute(_LINE, {"thread": thread_id, "most": DEPTH})
    ]
    if len({each.thread_id for each in found}) < len(found):
        raise BrokenLineage(f"the parents of {start.thread_id!r} run in a circle")
    return found, found[-1].parent_id is None


def own_turns(db: Connection, owners: Mapping[str, int]) -> dict[str, list[Turn]]:
    """The turns of each conversation that come after its branch point (`owners`: thread and branch point)."""
    found: dict[str, list[Turn]] = {owner: [] for owner in owners}
    for row in db.execute(_TURNS, {"threads": list(owners)}):
        turn = Turn(*row)
        if turn.number > owners[turn.thread_id]:
            found[turn.thread_id].append(turn)
    return found


def history(db: Connection, thread_id: str) -> History:
    """Every turn that a conversation has, inherited ones first."""
    ancestors, complete = line(db, thread_id)
    own = own_turns(db, {each.thread_id: each.turn for each in ancestors})
    turns: list[Turn] = []
    for index, each in reversed(list(enumerate(ancestors))):
        if each.parent_id is None:  # turns that were there when the conversation was made known
            turns += [Turn(n, each.thread_id, None, True) for n in range(1, each.turn + 1)]
        last = ancestors[index - 1].turn if index else None
        turns += [t for t in own[each.thread_id] if last is None or t.number <= last]
        if last is not None:
            turns = [t for t in turns if t.number <= last]
    return History(turns, complete)


def owner(db: Connection, thread_id: str, turn: int) -> Conversation:
    """The conversation in whose thread turn `turn` of `thread_id` ended, up to `DEPTH` parents up."""
    ancestors, _ = line(db, thread_id)
    for each in ancestors:
        if turn >= each.turn or each.parent_id is None:
            return each
    raise BrokenLineage(
        f"turn {turn} of {thread_id!r} lies more than {DEPTH} branches up: branch from there"
    )


def decision_map(db: Connection, thread_id: str) -> DecisionMap:
    """The family of a conversation: its highest ancestor within reach and all that descends from it."""
    ancestors, complete = line(db, thread_id)
    level, family = [ancestors[-1]], []
    for depth in range(DEPTH + 1):
        family += level
        level = branches(db, [each.thread_id for each in level]) if level else []
        if level and depth == DEPTH:
            complete = False
    own = own_turns(db, {each.thread_id: each.turn for each in family})
    return DecisionMap([Node(each, own[each.thread_id]) for each in family], complete)


def as_graph(found: DecisionMap) -> dict[str, Any]:
    """A decision map as JSON data: nodes are turns, edges lead from a turn to what followed it."""
    nodes: list[dict[str, Any]] = []
    edges: list[dict[str, Any]] = []
    for conversation, turns in found.nodes:
        name = conversation.thread_id
        nodes.append({"id": f"{name}#{conversation.turn}", "origin": conversation.origin})
        if conversation.parent_id is not None:
            source = f"{conversation.parent_id}#{conversation.turn}"
            edges.append(
                {"from": source, "to": f"{name}#{conversation.turn}", "kind": conversation.origin}
            )
        for turn in turns:
            nodes.append({"id": f"{name}#{turn.number}", "completed": turn.completed})
            edges.append(
                {"from": f"{name}#{turn.number - 1}", "to": f"{name}#{turn.number}", "kind": "turn"}
            )
    return {"nodes": nodes, "edges": edges, "complete": found.complete}
