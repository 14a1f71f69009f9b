"""Delta debugging: the smallest program that still shows the same breach.

Hypothesis shrinks what it generates, yet leaves operations that do nothing. This pass works on any
program, hand-written ones included: it takes operations away, then sets fields to their defaults, then
makes values and names simple, as long as the same kind of difference remains. What is left of one fault is the
same program, whichever it was found with.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from lineage_conformance import witness
from lineage_conformance.case import fewer
from lineage_conformance.kinds.saver.operations import (
    CopyThread,
    List,
    Op,
    OwnLoop,
    Put,
    Reopen,
    Together,
    Writes,
    default_of,
    walk,
)
from lineage_conformance.kinds.saver.program import Program

LIMIT = 200
"""Most replays that one shrink may cost."""

SECONDS = 20.0
"""Longest time that one shrink may take: a saver behind a slow network answers few replays."""

_KEEP = ("id", "thread", "ops", "inner", "lenient")


TIDY = 60
"""Most replays for what is left to simplify in a small program, and as many for giving it its usual names."""


def shrink(
    case: Any, still: Callable[[Any], bool], limit: int = LIMIT, seconds: float = SECONDS
) -> Any:
    """The smallest case found for which `still` answers True (it does for `case`)."""
    if not isinstance(case, Program):
        return _descend(case, lambda c: c.smaller(), still, limit, seconds)
    small = _descend(case, smaller_programs, still, limit, seconds)
    # A large program may have spent the budget before its values were looked at.
    small = _descend(small, smaller_programs, still, TIDY, seconds)
    return _descend(small, witness.tidier, still, TIDY, seconds)


def _descend(
    case: Any,
    steps: Callable[[Any], Iterator[Any]],
    still: Callable[[Any], bool],
    limit: int,
    seconds: float,
) -> Any:
    tried, end = 0, time.monotonic() + seconds
    while True:
        for candidate in steps(case):
            if tried >= limit or time.monotonic() > end:
                return case
            tried += 1
            if still(candidate):
                case = candidate
                break
        else:
            return case


def smaller_programs(program: Program) -> Iterator[Program]:
    """Programs with less in them: fewer operations, then defaults, then simpler values."""
    for candidate in _smaller(dataclasses.replace(program, origin="")):
        if candidate.ops != program.ops and valid(candidate):
            yield candidate


def valid(program: Program) -> bool:
    """Whether every checkpoint is put once, has no cycle, and is not written under a name nobody puts."""
    parents: dict[tuple[str, str, int], int | None] = {}
    for op in walk(program.ops):
        if isinstance(op, Put):
            key = (op.thread, op.ns, op.id)
            if key in parents and parents[key] != op.parent:
                return False
            parents[key] = op.parent
    for (thread, ns, id), _ in parents.items():
        seen = {id}
        cursor = parents[thread, ns, id]
        while cursor is not None:
            if cursor in seen:
                return False
            seen.add(cursor)
            cursor = parents.get((thread, ns, cursor))
    if not program.ops:
        return False
    return all(
        op.parent is None or (op.thread, op.ns, op.parent) in parents
        for op in walk(program.ops)
        if isinstance(op, Put)
    )


def _uncopied(ops: tuple[Op, ...], index: int, copy: CopyThread) -> tuple[Op, ...]:
    """The operations without a copy: what was done with the copied thread is done with its source."""
    source: dict[str, Any] = {"thread": copy.thread}
    rest = tuple(
        dataclasses.replace(op, **source) if getattr(op, "thread", None) == copy.target else op
        for op in ops[index + 1 :]
    )
    return ops[:index] + rest


def _smaller(program: Program) -> Iterator[Program]:
    ops = program.ops
    for rest in filter(None, fewer(ops)):
        yield dataclasses.replace(program, ops=rest)
    for index, op in enumerate(ops):
        if isinstance(op, CopyThread):
            yield dataclasses.replace(program, ops=_uncopied(ops, index, op))
    for index, op in enumerate(ops):
        for instead in _instead(op):
            yield dataclasses.replace(program, ops=(*ops[:index], *instead, *ops[index + 1 :]))
    for index in range(len(ops)):
        for simpler in _simpler(ops[index]):
            yield dataclasses.replace(program, ops=(*ops[:index], simpler, *ops[index + 1 :]))


def _instead(op: Op) -> Iterator[tuple[Op, ...]]:
    """One after the other what was at once, and a store that is opened again for a second handle."""
    if isinstance(op, (Together, OwnLoop)):
        yield op.ops
    elif isinstance(op, List) and op.inner:
        yield (dataclasses.replace(op, inner=()), *op.inner)
    elif getattr(op, "handle", 0):
        yield (Reopen(), dataclasses.replace(op, handle=0))  # type: ignore[call-arg]


def _simpler(op: Op) -> Iterator[Op]:
    for name in ("ops", "inner"):
        nested: tuple[Op, ...] = getattr(op, name, ())
        for index in range(len(nested)):
            if len(nested) > 1:
                yield dataclasses.replace(op, **{name: nested[:index] + nested[index + 1 :]})
            for simpler in _simpler(nested[index]):
                changed = (*nested[:index], simpler, *nested[index + 1 :])
                yield dataclasses.replace(op, **{name: changed})
    for f in dataclasses.fields(op):
        value = getattr(op, f.name)
        default = default_of(f)
        if f.name in _KEEP or default is dataclasses.MISSING or value == default:
            continue
        yield dataclasses.replace(op, **{f.name: default})
        if f.name == "filter" and value != {"source": "x"}:
            yield dataclasses.replace(op, filter={"source": "x"})  # type: ignore[call-arg]
        for smaller in _smaller_value(value):
            yield dataclasses.replace(op, **{f.name: smaller})
    if isinstance(op, Writes):
        for index, (channel, value) in enumerate(op.items):
            for simple in _scalar(value):
                items = (*op.items[:index], (channel, simple), *op.items[index + 1 :])
                yield dataclasses.replace(op, items=items)


def _smaller_value(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        for key in value:
            if len(value) > 1:
                yield {k: v for k, v in value.items() if k != key}
            for simple in _scalar(value[key]):
                yield {**value, key: simple}
    elif isinstance(value, tuple) and len(value) > 1:
        for index in range(len(value)):
            yield value[:index] + value[index + 1 :]


def _scalar(value: Any) -> Iterator[Any]:
    """The simplest value, if the type does not matter, and simpler values of the same type."""
    if value != "x" and value != "y":
        yield "x"
        yield "y"
    if isinstance(value, str) and len(value) > 1:
        yield value[: len(value) // 2]
        yield value[0]
    elif isinstance(value, list) and len(value) > 1:
        yield value[:1]
    elif type(value) is int and abs(value) > 1:
        yield 1
