"""What a program asks of a saver: which declared limits rule it out, and which operations it calls.

Nothing is tagged: the answer follows from what the program does, so no law can forget a tag.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from lineage_conformance import zoo
from lineage_conformance.kinds.graph.scenario import Scenario
from lineage_conformance.kinds.saver.operations import (
    CopyThread,
    DeleteThread,
    DeltaHistory,
    Get,
    List,
    Op,
    Put,
    Reopen,
    Together,
)
from lineage_conformance.kinds.saver.program import Program

Place = tuple[str, str]
"""Thread and namespace, as a program names them."""

_ENGINE_VALUES = frozenset({"send", "interrupt", "float", "emoji", "long_text"})
"""Specimens that every saver must take: LangGraph's own records, and plain JSON."""

METHODS: Mapping[str, str] = {
    "delete_thread": "delete_thread",
    "copy_thread": "copy_thread",
    "prune": "prune",
    "delete_for_runs": "delete_for_runs",
    "delta_history": "get_delta_channel_history",
}
"""Optional operations: name in programs, and method of the saver."""


def limits(case: Any) -> frozenset[str]:
    """The declared limits under which nothing is promised about a program, or about a scenario of a graph."""
    if isinstance(case, Scenario):
        older = any(act.at not in ("", "head") or act.op == "bulk" for act in case.acts)
        found = {"history"} if older or case.shape.delta else set()
        if any(act.stop == "crash" for act in case.acts):
            found.add("handles")  # what died closed nothing
        return frozenset(found)
    if not isinstance(case, Program):
        return frozenset()
    found = {"history"} if _asks_older(case) else set()
    for op in case.walk():
        if getattr(op, "handle", 0):
            found.add("handles")
        if isinstance(op, List) and op.filter is not None:
            found.add("filter")
        if op.odd():
            found.add("text")
        if zoo.names_in(op.values()) - _ENGINE_VALUES:
            found.add("values")
    return frozenset(found)


def reopens(case: Any) -> bool:
    """Whether a program or scenario needs a store that can be opened a second time."""
    if isinstance(case, Scenario):
        return any(act.op == "reopen" for act in case.acts)
    ops = case.walk() if isinstance(case, Program) else ()
    return any(isinstance(op, Reopen) or getattr(op, "handle", 0) for op in ops)


def operations(case: Any) -> frozenset[str]:
    """The optional methods that a program or scenario calls."""
    if isinstance(case, Scenario):
        return frozenset({"delete_thread"} if any(a.op == "delete" for a in case.acts) else ())
    ops = case.walk() if isinstance(case, Program) else ()
    return frozenset(METHODS[op.name] for op in ops if op.name in METHODS)


def _asks_older(program: Program) -> bool:
    """Whether a program reads, or goes on from, another checkpoint than the one that was put last.

    That one is all that a shallow saver keeps of a thread and namespace.
    """
    held: dict[Place, int | None] = {}
    """The checkpoint that was put last; None where several were put at once."""
    count: dict[Place, int] = {}
    top: dict[Place, int] = {}
    for op in _in_order(program):
        if isinstance(op, Put):
            place = (op.thread, op.ns)
            if place in held and op.parent not in (held[place], None) and op.id != held[place]:
                return True
            count[place] = count.get(place, 0) + (op.id != held.get(place))
            held[place] = op.id
            top[place] = max(op.id, top.get(place, op.id))
        elif isinstance(op, Together):
            for inner in op.ops:
                if isinstance(inner, Put):
                    place = (inner.thread, inner.ns)
                    many = sum(isinstance(o, Put) and (o.thread, o.ns) == place for o in op.ops) > 1
                    count[place] = count.get(place, 0) + 1
                    held[place] = None if many else inner.id
                    top[place] = max(inner.id, top.get(place, inner.id))
        elif isinstance(op, DeleteThread):
            for place in [p for p in held if p[0] == op.thread]:
                del held[place], count[place], top[place]
        elif isinstance(op, CopyThread):
            for thread, ns in [p for p in held if p[0] == op.thread]:
                for table in (held, count, top):
                    table[op.target, ns] = table[thread, ns]  # type: ignore[assignment]
        elif isinstance(op, (Get, DeltaHistory)):
            place = (op.thread, op.ns or "")
            if place in held:
                wanted = top[place] if op.id is None else op.id
                if held[place] != wanted:
                    return True
                if isinstance(op, DeltaHistory) and count[place] > 1:
                    return True
        elif isinstance(op, List):
            if op.before is not None:
                return True
            for place in held:
                if op.thread in (None, place[0]) and op.ns in (None, place[1]):
                    newest = op.limit == 1 and op.filter is None and op.id is None
                    if (count[place] > 1 and not newest) or held[place] != top[place]:
                        return True
                    if op.id is not None and op.id != held[place]:
                        return True
    return False


def _in_order(program: Program) -> Iterator[Op]:
    """Operations in the order in which they run; what runs together stays together."""
    for op in program.ops:
        yield op
        if isinstance(op, Together):
            continue
        for name in ("inner", "ops"):
            yield from getattr(op, name, ())
