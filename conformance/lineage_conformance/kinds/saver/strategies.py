"""Hypothesis strategies for programs, one focus at a time.

A focus is a small alphabet: two or three ids, a few kinds of operation, a handful of values. Focused
programs find within 150 examples what one general alphabet misses in 300. References are fixed when a
program is drawn, so every program is valid and acyclic. Alphabets list the simplest first.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from lineage_conformance import contract, zoo
from lineage_conformance.kinds.saver.operations import (
    DeleteThread,
    DeltaHistory,
    Get,
    List,
    Op,
    Put,
    Reopen,
    Writes,
)
from lineage_conformance.kinds.saver.program import Program

Draw = Callable[[st.SearchStrategy[Any]], Any]

VALUES = st.sampled_from(["x", "", None, 0, 1, True, ["a"], {"k": 1}, [], {}, ["a", {"k": None}]])
CHANNELS = st.sampled_from(["a", "b", "branch:to:n", "__start__"])
NAMES = st.sampled_from(["child", "child|sub", "child:1", "c"])
META = st.fixed_dictionaries(
    {"source": st.sampled_from(["input", "loop", "update", "fork"]), "step": st.integers(-1, 3)},
    optional={"user": st.sampled_from(["u", "", None, True, 1, {"deep": [1, None]}])},
)


@st.composite
def history(draw: Draw, most: int = 5, straight: bool = False) -> list[Put]:
    """A tree of checkpoints in one namespace; ids are not in the order of insertion."""
    count = draw(st.integers(1, most))
    numbers = draw(st.permutations(range(1, count + 1))) if not straight else range(1, count + 1)
    puts: list[Put] = []
    for number in numbers:
        parent = draw(st.sampled_from([put.id for put in puts])) if puts else None
        puts.append(
            Put(
                number,
                puts[-1].id if straight and puts else parent,
                set=draw(st.dictionaries(CHANNELS, VALUES, max_size=2)),
                meta=draw(META),
                seen=draw(st.booleans()),
            )
        )
    return puts


@st.composite
def put_focus(draw: Draw) -> Program:
    """Puts along one line, with empty and dropped channels; every field is read back."""
    puts = draw(history(straight=True))
    ops: list[Op] = []
    for put in puts:
        extra = draw(st.sampled_from([{}, {"empty": ("e",)}, {"drop": ("a",)}]))
        ops.append(Put(**{**_fields(put), **extra}))
        if draw(st.booleans()):
            ops.append(Get(draw(st.sampled_from([None, put.id]))))
    return Program((*ops, Get(puts[0].id), Get(), List()))


@st.composite
def line_focus(draw: Draw) -> Program:
    """Puts along one line, each read back before the next: asks nothing of an older checkpoint."""
    ops: list[Op] = []
    for put in draw(history(straight=True)):
        extra = draw(st.sampled_from([{}, {"empty": ("e",)}, {"drop": ("a",)}]))
        ops += [Put(**{**_fields(put), **extra}), Get(put.id), Get(), List(limit=1)]
    return Program(tuple(ops))


@st.composite
def fork_focus(draw: Draw) -> Program:
    """A tree of checkpoints with writes on some of them; all are read at the end."""
    puts = draw(history(most=6))
    ops: list[Op] = list(puts)
    for put in puts:
        if draw(st.booleans()):
            ops.append(Writes(put.id, "task-1", ((draw(CHANNELS), draw(VALUES)),)))
    return Program((*ops, *(Get(put.id) for put in puts), Get(), List()))


@st.composite
def writes_focus(draw: Draw) -> Program:
    """Writes of a few tasks, before and after their checkpoint, repeated, ordinary and reserved."""
    reserved = st.sampled_from(sorted(contract.special_channels()))
    ops: list[Op] = [Put(1)]
    for _ in range(draw(st.integers(1, 5))):
        if draw(st.integers(0, 4)) == 0:
            items: tuple[tuple[str, Any], ...] = ((draw(reserved), draw(VALUES)),)
        else:
            items = tuple(draw(st.lists(st.tuples(CHANNELS, VALUES), max_size=3)))
        task = draw(st.sampled_from(["task-1", "task-2", "task-3"]))
        ops.append(Writes(1, task, items, _path(task)))
    if draw(st.booleans()):
        ops = [*ops[1:], ops[0]]
    return Program((*ops, Get(1), List()))


@st.composite
def tasks_focus(draw: Draw) -> Program:
    """Writes of a few tasks, each given once or repeated as it was, before and after the checkpoint."""
    ops: list[Op] = [Put(1)]
    tasks = draw(st.lists(st.sampled_from(["task-1", "task-2", "task-3"]), min_size=1, unique=True))
    for task in tasks:
        items = tuple(draw(st.lists(st.tuples(CHANNELS, VALUES), max_size=3)))
        ops += [Writes(1, task, items, _path(task))] * draw(st.integers(1, 2))
    if draw(st.booleans()):
        ops = [*ops[1:], ops[0]]
    return Program((*ops, Get(1), List()))


def _path(task: str) -> str:
    """A task has one path for life; paths sort the other way round than task ids."""
    return "~__pregel_push, " + str(9 - int(task[-1])).rjust(10, "0")


@st.composite
def list_focus(draw: Draw) -> Program:
    """A history and every combination of id, before, limit and filter."""
    puts = draw(history(most=6))
    numbers = st.sampled_from([put.id for put in puts])
    lists = [
        List(
            id=draw(st.none() | numbers) if draw(st.integers(0, 4)) == 0 else None,
            before=draw(st.none() | numbers),
            limit=draw(st.sampled_from([None, 1, 2, 0, 9])),
            filter=draw(
                st.none()
                | st.fixed_dictionaries({"source": st.sampled_from(["input", "loop", "update"])})
                | st.fixed_dictionaries({"step": st.integers(-1, 3)})
                | st.fixed_dictionaries({"source": st.just("loop"), "step": st.integers(-1, 3)})
            ),
        )
        for _ in range(3)
    ]
    return Program((*puts, *lists))


@st.composite
def namespace_focus(draw: Draw) -> Program:
    """Two threads and two namespaces whose names are near each other; sometimes one is deleted."""
    near = draw(
        st.sampled_from(
            [
                ("t", "t1"),
                ("t", "T"),
                ("a|b", "a"),
                ("a:b", "a"),
                ("a%", "ab"),
                ("a_", "ab"),
                ("a*", "ab"),
                ("a/b", "a"),
                ("a\\", "a"),
                ("\u00e9", "e\u0301"),
                ("a b", "a"),
            ]
        )
    )
    namespaces = draw(st.lists(NAMES, min_size=1, max_size=2, unique=True))
    ops: list[Op] = []
    number = 0
    for thread in near:
        for ns in ("", *namespaces):
            number += 1
            ops.append(Put(number, thread=thread, ns=ns, set={"a": f"{thread}/{ns}"}))
            ops.append(Writes(number, items=(("a", number),), thread=thread, ns=ns))
    if draw(st.booleans()):
        ops.append(DeleteThread(near[0]))
    for thread in near:
        ops += [List(thread, ns) for ns in ("", *namespaces)]
        ops += [Get(thread=thread, ns=ns) for ns in ("", *namespaces)]
    return Program(tuple(ops))


@st.composite
def delta_focus(draw: Draw, rising: bool = True) -> Program:
    """A tree in which channel ``d`` has versions without values, except at a few snapshots."""
    count = draw(st.integers(2, 6))
    numbers = list(range(1, count + 1))
    if not rising:
        numbers = list(draw(st.permutations(numbers)))
    ops: list[Op] = []
    for index, number in enumerate(numbers):
        parent = draw(st.sampled_from(numbers[:index])) if index else None
        snapshot = draw(st.integers(0, 3)) == 0
        ops.append(
            Put(
                number,
                parent,
                set={"d": [number]} if snapshot else {},
                empty=() if snapshot else ("d",),
            )
        )
        for task in draw(st.lists(st.sampled_from(["task-1", "task-2"]), unique=True)):
            ops.append(Writes(number, task, (("d", f"{number}{task}"), ("other", 1)), _path(task)))
    return Program((*ops, *(DeltaHistory(number) for number in numbers), DeltaHistory()))


@st.composite
def values_focus(draw: Draw) -> Program:
    """Values of the zoo, alone and inside lists and dicts, in channels and in writes."""
    odd = ("vanishing", "generator", "delta_snapshot", "negative_zero", "inf", "nan", "bigint")
    names = [name for name in zoo.ZOO if name not in odd and zoo.available(name)]
    specimens = st.sampled_from(names).map(zoo.ref)
    nested = st.recursive(
        VALUES | specimens,
        lambda inner: (
            st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("kl"), inner, max_size=2)
        ),
        max_leaves=4,
    )
    values = draw(st.dictionaries(CHANNELS, nested, min_size=1, max_size=2))
    items = draw(st.lists(st.tuples(CHANNELS, nested), max_size=2))
    # Each in a task of its own: what is left of a call that was refused is another law's business.
    writes = [Writes(1, f"task-{n}", (item,), lenient=True) for n, item in enumerate(items)]
    return Program(
        (
            Put(1),
            Put(2, 1, set=values, lenient=True),
            *writes,
            Get(1),
            Get(2),
            List(),
        )
    )


@st.composite
def reopen_focus(draw: Draw) -> Program:
    """Any of the tree programs, closed and opened again before it is read."""
    base = draw(st.one_of(fork_focus(), writes_focus(), put_focus()))
    reads = [op for op in base.ops if isinstance(op, (Get, List))]
    writing = [op for op in base.ops if not isinstance(op, (Get, List))]
    return Program((*writing, Reopen(), *reads))


@st.composite
def mixed_focus(draw: Draw) -> Program:
    """The general machine: every operation that is uncontested, on two threads."""
    ops: list[Op] = []
    ids: dict[str, list[int]] = {"t": [], "u": []}
    for number in range(1, draw(st.integers(3, 9))):
        thread = draw(st.sampled_from(["t", "u"]))
        kind = draw(st.integers(0, 5)) if ids[thread] else 0
        if kind <= 2:
            parent = draw(st.sampled_from(ids[thread])) if ids[thread] else None
            values = draw(st.dictionaries(CHANNELS, VALUES, max_size=2))
            ops.append(Put(number, parent, thread, set=values, meta=draw(META)))
            ids[thread].append(number)
        elif kind <= 4:
            target = draw(st.sampled_from(ids[thread]))
            ops.append(
                Writes(target, f"task-{number}", ((draw(CHANNELS), draw(VALUES)),), thread=thread)
            )
        else:
            ops.append(DeleteThread(thread))
            ids[thread] = []
    reads: list[Op] = []
    for thread, numbers in ids.items():
        reads += [Get(thread=thread), List(thread), *(Get(n, thread) for n in numbers)]
    return Program((*ops, *reads))


def _fields(put: Put) -> dict[str, Any]:
    return {f.name: getattr(put, f.name) for f in dataclasses.fields(put)}


FOCUSES: dict[str, Callable[[], st.SearchStrategy[Any]]] = {
    "put": put_focus,
    "line": line_focus,
    "fork": fork_focus,
    "writes": writes_focus,
    "tasks": tasks_focus,
    "list": list_focus,
    "namespaces": namespace_focus,
    "delta": delta_focus,
    "delta-any-ids": functools.partial(delta_focus, rising=False),
    "values": values_focus,
    "reopen": reopen_focus,
    "mixed": mixed_focus,
}
