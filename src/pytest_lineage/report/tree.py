"""The lineage of a program: its checkpoints as a tree per thread, with pending writes and a mark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from lineage_conformance.kinds.saver.operations import (
    CopyThread,
    DeleteForRuns,
    DeleteThread,
    DeltaHistory,
    Get,
    List,
    Op,
    Prune,
    Put,
    Writes,
    walk,
)
from pytest_lineage.report import values

MOST = 40
"""Lines of a tree; a longer one would hide what it is to show."""

Place = tuple[str, str]
"""Thread and namespace."""


class Line(NamedTuple):
    """One line of a tree: its text, and what is wrong there (empty: nothing)."""

    text: str
    mark: str = ""


@dataclass
class _Node:
    id: int
    parent: int | None
    notes: list[str] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)


@dataclass
class _Forest:
    places: dict[Place, dict[int, _Node]] = field(default_factory=dict)
    events: dict[str, list[str]] = field(default_factory=dict)

    def node(self, place: Place, id: int) -> _Node:
        nodes = self.places.setdefault(place, {})
        if id not in nodes:
            nodes[id] = _Node(id, None, ["never put"])
        return nodes[id]

    def event(self, thread: str, text: str) -> None:
        self.events.setdefault(thread, []).append(text)


def lineage(ops: Sequence[Op], difference: dict[str, Any] | None = None) -> list[Line]:
    """The tree of a program's checkpoints; the node that `difference` (of the evidence) is about is marked.

    Empty for a program without checkpoints.
    """
    forest = _grow(ops)
    marks = _marks(forest, ops, difference or {})
    lines: list[Line] = []
    for place in sorted(forest.places):
        lines.append(Line(_heading(forest, place)))
        lines += _tree(forest.places[place], {id: m for (p, id), m in marks.items() if p == place})
    if len(lines) > MOST:
        rest = len(lines) - MOST
        kept = lines[:MOST] + [line for line in lines[MOST:] if line.mark]
        return [*kept, Line(f"... {rest} more lines")]
    return lines


def _grow(ops: Sequence[Op]) -> _Forest:
    forest = _Forest()
    for op in walk(tuple(ops)):
        if isinstance(op, Put):
            node = forest.node((op.thread, op.ns), op.id)
            again = node.notes[:1] != ["never put"]
            node.parent = op.parent
            node.notes = [*_notes(op), *(["put again"] if again else [])]
        elif isinstance(op, Writes):
            node = forest.node((op.thread, op.ns), op.id)
            items = ", ".join(f"{channel}={_short(value)}" for channel, value in op.items)
            node.writes.append(f"pending, {_name(op.task)}: {items or '(none)'}")
        elif isinstance(op, DeleteThread):
            forest.event(op.thread, "deleted")
        elif isinstance(op, CopyThread):
            forest.event(op.thread, f"copied to {_name(op.target)}")
        elif isinstance(op, Prune):
            for thread in op.threads:
                forest.event(thread, f"pruned ({op.strategy})")
        elif isinstance(op, DeleteForRuns):
            for thread in {place[0] for place in forest.places}:
                forest.event(thread, f"runs {', '.join(map(_name, op.runs))} deleted")
    return forest


def _notes(op: Put) -> list[str]:
    notes = [f"{_name(channel)}={_short(value)}" for channel, value in op.set.items()]
    notes += [f"{_name(channel)} without a value" for channel in op.empty]
    notes += [f"{_name(channel)} dropped" for channel in op.drop]
    if op.meta is not None:
        notes.append(f"metadata {_short(op.meta)}")
    return notes


def _heading(forest: _Forest, place: Place) -> str:
    thread, ns = place
    events = forest.events.get(thread, [])
    text = f"thread {_name(thread)}" + (f", namespace {_name(ns)}" if ns else "")
    return text + (f" ({'; '.join(events)})" if events else "")


def _tree(nodes: dict[int, _Node], marks: dict[int, str]) -> Iterator[Line]:
    children: dict[int | None, list[_Node]] = {}
    for node in sorted(nodes.values(), key=lambda node: node.id):
        known = node.parent if node.parent in nodes and node.parent != node.id else None
        children.setdefault(known, []).append(node)

    def below(parent: int | None, indent: str) -> Iterator[Line]:
        mine = children.get(parent, [])
        for position, node in enumerate(mine):
            last = position == len(mine) - 1
            branch = "" if parent is None else "└─ " if last else "├─ "
            inner = indent if parent is None else indent + ("   " if last else "│  ")
            notes = ("  " + ", ".join(node.notes)) if node.notes else ""
            yield Line(f"{indent}{branch}#{node.id}{notes}", marks.get(node.id, ""))
            bar = "│" if children.get(node.id) else " "
            for write in node.writes:
                yield Line(f"{inner}{bar}  · {write}")
            yield from below(node.id, inner)

    return below(None, "")


def _marks(
    forest: _Forest, ops: Sequence[Op], difference: dict[str, Any]
) -> dict[tuple[Place, int], str]:
    """Which nodes a difference is about, and what to say there."""
    index, at = difference.get("op", -1), str(difference.get("at", ""))
    if not 0 <= index < len(ops):
        return {}
    kind, _, path = at.partition(":")
    candidates = [op for op in walk((ops[index],)) if op.name == kind] or [ops[index]]
    op, head = candidates[0], path.partition(".")[0]
    if head in ("rows", "order") and isinstance(op, List):
        return _listed(forest, difference)
    found = _subject(forest, op)
    if found is None:
        return {}
    field = path.split(".")[1] if head in ("row", "lost") and "." in path else head
    words = {
        "raises": "hangs here" if difference.get("got") == "no answer" else f"{kind} fails here",
        "found": "not found" if difference.get("got") == "nothing" else "found, should not be",
        "returned": "put returned another",
        "arguments": f"{kind} changed its arguments",
        "parent_config": "wrong parent",
        "writes_order": "wrong order of writes",
    }
    return {found: words.get(field, f"wrong {field.replace('_', ' ')}")}


def _subject(forest: _Forest, op: Op) -> tuple[Place, int] | None:
    if not isinstance(op, (Put, Writes, Get, List, DeltaHistory)) or op.thread is None:
        return None
    place = (op.thread, op.ns or "")
    nodes = forest.places.get(place, {})
    if op.id is not None:
        return (place, op.id) if op.id in nodes else None
    if isinstance(op, List):
        return (place, next(iter(nodes))) if len(nodes) == 1 else None
    return (place, max(nodes)) if nodes else None


def _listed(forest: _Forest, difference: dict[str, Any]) -> dict[tuple[Place, int], str]:
    expected, got = difference.get("expected"), difference.get("got")
    if not isinstance(expected, list) or not isinstance(got, list):
        return {}
    marks = {}
    for place, nodes in forest.places.items():
        label = f"{place[0]}/{place[1]}" if place[1] else place[0]
        for id in nodes:
            name = f"{label}#{id}"
            wanted, there = expected.count(name), got.count(name)
            if wanted > there:
                marks[place, id] = "missing from the list"
            elif there > wanted:
                marks[place, id] = (
                    "listed, should not be" if not wanted else f"listed {there} times"
                )
    return marks


def _short(value: Any, most: int = 40) -> str:
    text = values.source(value)
    return text if len(text) <= most else text[: most - 1] + "…"


def _name(text: str) -> str:
    """A name as it is, quoted where it holds more than plain characters."""
    plain = text and text.isprintable() and len(text) <= 40 and not set(text) & set(" \"'\\")
    return text if plain else _short(text)
