"""The strategy ``restore``: the head before the turn becomes the head again, byte for byte.

The checkpoint before the turn is copied forward under a new id, beside itself (same parent), as LangGraph's
own ``update_state(config, None, as_node="__copy__")`` does; going through the saver keeps the metadata,
which the engine's copy drops, and so the count of turns. A thread that did not exist is deleted. Memory
of subgraphs with ``checkpointer=True`` lives under namespaces of its own and is put back the same way.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from typing import Any

from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.base.id import uuid6

from lineage_reference.steps import Steps, call
from lineage_reference.turns import Incomplete, Mark, Refused, head, id_of

PROMISES = "everything"


def undo(
    graph: Any, saver: Any, thread: str, mark: Mark, seen: Iterable[str]
) -> Steps[tuple[str, ...]]:
    """Put the thread back to what it was before the turn of `mark`.

    `seen` are namespaces in which the turn may have left memory. Returns what is left and not promised
    (nothing). Raises `Refused` if a newer run wrote, `Incomplete` if the result differs.
    """
    row = yield from call(saver, "get_tuple", head(thread))
    if not mark.before:
        if row is not None:
            _own(row, mark)
            yield from call(saver, "delete_thread", thread)
        gone = yield from call(saver, "get_tuple", head(thread))
        if gone is not None:
            raise Incomplete(
                "the thread was new and is still there", (f"checkpoint {id_of(gone)}",)
            )
        return ()
    before = yield from call(saver, "get_tuple", head(thread, id=mark.before))
    if before is None:
        raise Refused("the checkpoint before the turn is gone", (f"checkpoint {mark.before}",))
    memories = yield from _memories(saver, thread, mark, seen)
    if id_of(row) != mark.before:
        _own(row, mark)
    # The copy drops pending writes of the old head. It had none when the turn began (`pending` is asked
    # then); those of now are the turn's: with durability exit, delta channels put what they were
    # given on the checkpoint before, which is right for the turn's own head and wrong for the copy.
    if id_of(row) != mark.before or row.pending_writes:
        yield from _forward(saver, thread, "", before)
    for ns, memory in memories:
        yield from _forward(saver, thread, ns, memory)
    yield from _verify(graph, thread, mark.before)
    return ()


def pending(row: Any) -> tuple[str, ...]:
    """What a copy of a checkpoint would lose: interrupts that wait and results that have landed."""
    found = []
    for task, channel, value in (row.pending_writes or ()) if row is not None else ():
        if channel == "__interrupt__":
            items = value if isinstance(value, (list, tuple)) else [value]
            found += [f"interrupt {getattr(item, 'value', item)!r:.80}" for item in items]
        elif not channel.startswith("__") or channel in (
            "__pregel_tasks",
            "__return__",
            "__no_writes__",
        ):
            found.append(f"result of task {task} on {channel}")
    return tuple(dict.fromkeys(found))


def _own(row: Any, mark: Mark) -> None:
    found = Mark.of(row)
    if found is None or found.turn != mark.turn:
        by = f"turn {found.turn}" if found else "something that is no turn"
        raise Refused("a newer checkpoint is on the thread", (f"checkpoint {id_of(row)} of {by}",))


def _memories(
    saver: Any, thread: str, mark: Mark, seen: Iterable[str]
) -> Steps[list[tuple[str, Any]]]:
    """Namespaces whose memory the turn changed, each with the checkpoint before it (None: there was none)."""
    found = []
    for ns in sorted(set(seen)):
        row = yield from call(saver, "get_tuple", head(thread, ns))
        changed = False
        while row is not None and (owner := Mark.of(row)) is not None and owner.turn == mark.turn:
            changed = True
            parent = row.parent_config
            row = (yield from call(saver, "get_tuple", parent)) if parent else None
        if changed:
            if waiting := pending(row):
                raise Refused(f"the memory of subgraph {ns} waited before the turn", waiting)
            found.append((ns, row))
    return found


def _forward(saver: Any, thread: str, ns: str, row: Any) -> Steps[None]:
    """Make the state of a checkpoint the head of its namespace again; of None, an empty state."""
    now = dt.datetime.now(dt.timezone.utc).isoformat()
    if row is None:
        empty = {**empty_checkpoint(), "id": str(uuid6(clock_seq=-2)), "ts": now}
        first = {"source": "fork", "step": -2, "parents": {}}
        yield from call(saver, "put", head(thread, ns), empty, first, {})
        return
    metadata: dict[str, Any] = dict(row.metadata or {})
    step = int(metadata.get("step", -1)) + 1
    copy = {**row.checkpoint, "id": str(uuid6(clock_seq=step)), "ts": now}
    if "updated_channels" in copy:
        copy["updated_channels"] = (
            None  # a hint for the next step only; without it all are looked at
        )
    parent = row.parent_config or head(thread, ns)
    yield from call(saver, "put", parent, copy, {**metadata, "source": "fork", "step": step}, {})


def _verify(graph: Any, thread: str, before: str) -> Steps[None]:
    """Compare the head with the checkpoint before the turn, as the engine shows them."""
    old = yield from call(graph, "get_state", head(thread, id=before))
    new = yield from call(graph, "get_state", head(thread))
    left = [f"channel {name}" for name in differing(graph, old.values, new.values)]
    if old.next != new.next:
        left.append(f"next is {list(new.next)}, was {list(old.next)}")
    if [(t.name, t.interrupts) for t in old.tasks] != [(t.name, t.interrupts) for t in new.tasks]:
        left.append("tasks")
    if left:
        raise Incomplete("the thread is not as it was before the turn", left)


def differing(graph: Any, old: Any, new: Any) -> list[str]:
    """Names of the channels whose values differ. What `==` cannot tell is compared as it is stored."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return [] if _same(graph, old, new) else ["the state"]
    return [
        name
        for name in sorted({*old, *new})
        if (name in old) != (name in new) or not _same(graph, old[name], new[name])
    ]


def _same(graph: Any, old: Any, new: Any) -> bool:
    try:
        if bool(old == new):
            return True
    except Exception:
        pass  # e.g. arrays, whose == is no bool
    serde = graph.checkpointer.serde
    return bool(serde.dumps_typed(old) == serde.dumps_typed(new))
