"""The strategy ``remove``: messages that the turn added are removed with `RemoveMessage`.

It puts back the channel ``messages`` and ``next``, and nothing else; `restore` is the better one. It is
here because it is what teams know, done right. The update is attributed to the node that routes to END,
so that nothing is scheduled after it. It takes two passes: results of finished parallel tools are
pending writes, which the first update commits; the second one removes what that brought in.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lineage_reference.restore import differing
from lineage_reference.steps import Steps, call
from lineage_reference.turns import (
    BEFORE,
    COUNT,
    TURN,
    Incomplete,
    Mark,
    Refused,
    head,
    id_of,
)  # fmt: skip

PROMISES = "messages"


def undo(
    graph: Any, saver: Any, thread: str, mark: Mark, seen: Iterable[str]
) -> Steps[tuple[str, ...]]:
    """Remove the messages of a turn; return what else it changed.

    Raises `Refused` if a newer run wrote, and `Incomplete` if messages or ``next`` are not as before.
    """
    row = yield from call(saver, "get_tuple", head(thread))
    found = Mark.of(row)
    if row is not None and id_of(row) != mark.before and (found is None or found.turn != mark.turn):
        raise Refused("a newer checkpoint is on the thread", (f"checkpoint {id_of(row)}",))
    if not mark.before:
        # Removing *all* messages would break a router that reads the last one.
        yield from call(saver, "delete_thread", thread)
        return ()
    before = yield from call(graph, "get_state", head(thread, id=mark.before))
    kept = list(before.values.get("messages", ()))
    node = final_node(graph)
    marked = {**head(thread), "metadata": _previous(before)}
    if id_of(row) != mark.before or row.pending_writes:
        committed = yield from call(graph, "get_state", head(thread, id=id_of(row)))
        first = _newer(committed.values.get("messages", ()), kept)
        yield from call(graph, "update_state", marked, {"messages": first}, as_node=node)
        now = yield from call(graph, "get_state", head(thread))
        second = _newer(now.values.get("messages", ()), kept)
        if second:
            yield from call(graph, "update_state", marked, {"messages": second}, as_node=node)
    after = yield from call(graph, "get_state", head(thread))
    left = differing(graph, before.values, after.values)
    wrong = ["messages that the turn edited or removed"] if "messages" in left else []
    if after.next != before.next:
        wrong.append(f"next is {list(after.next)}, was {list(before.next)}")
    if wrong:
        raise Incomplete("the messages are not as they were before the turn", wrong)
    memory = [f"memory of subgraph {ns}" for ns in sorted(set(seen))]
    return tuple([f"channel {name}" for name in left] + memory)


def final_node(graph: Any) -> str:
    """The node that routes to END: the only one, or the first whose way there is unconditional.

    Raises `Refused` if no edge of the drawn graph leads to END.
    """
    edges = [edge for edge in graph.get_graph().edges if edge.target == "__end__"]
    edges = [edge for edge in edges if edge.source != "__start__"]
    if not edges:
        raise Refused("no node routes to END, so an update cannot be attributed", ("messages",))
    edges.sort(key=lambda edge: bool(edge.conditional))
    return str(edges[0].source)


def _newer(messages: Iterable[Any], kept: Iterable[Any]) -> list[Any]:
    from langchain_core.messages import RemoveMessage

    ids = {message.id for message in kept}
    return [RemoveMessage(id=message.id) for message in messages if message.id not in ids]


def _previous(before: Any) -> dict[str, Any]:
    """The ledger of the state before the turn, to stand on the head again."""
    metadata = before.metadata or {}
    return {key: metadata.get(key, 0 if key == COUNT else "") for key in (TURN, BEFORE, COUNT)}
