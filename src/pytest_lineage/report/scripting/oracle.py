"""What an ideal saver answers to a program, for the parts of an expectation that evidence leaves out.

It is the suite's own model, driven by a session over a saver that stores nothing: what the saver answers
does not matter here, only what the model says.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from lineage_conformance import contract, observe
from lineage_conformance.canon import plain
from lineage_conformance.handles import Handle, Loop
from lineage_conformance.kinds.saver.operations import (
    DeltaHistory,
    Get,
    List,
    Op,
    OwnLoop,
    Together,
    walk,
)
from lineage_conformance.kinds.saver.program import Program
from lineage_conformance.kinds.saver.session import Session
from pytest_lineage.report.scripting.literals import ABSENT, told

MOST_LENIENT = 4
"""Operations that may have been refused together."""

MOST_TRIED = 64
"""Combinations of refused operations that are tried, and operations looked at one by one."""


class _Deaf:
    """A saver that takes everything and stores nothing."""

    def __init__(self) -> None:
        self.serde = contract.base_saver().serde

    def get_next_version(self, current: Any, channel: Any) -> str:
        return f"{int(str(current or 0).partition('.')[0]) + 1:08d}.0"

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        return {"configurable": {**config["configurable"], "checkpoint_id": checkpoint["id"]}}

    def list(self, *args: Any, **kwargs: Any) -> Iterator[Any]:
        return iter(())

    def __getattr__(self, name: str) -> Any:
        return lambda *args, **kwargs: None


class Oracle:
    """The model after a program, up to and including the operation that showed a difference."""

    def __init__(self, ops: Sequence[Op]) -> None:
        saver, self.ops = _Deaf(), ops
        own = any(isinstance(op, OwnLoop) for op in walk(tuple(ops)))
        loop = Loop() if own else cast(Loop, None)
        try:
            self.session = Session(lambda: Handle(saver, loop), "sync")
            self.session.run(Program(tuple(ops)))
        finally:
            if own:
                loop.close()
        self.model = self.session.model

    def expected(self, op: Get | List | DeltaHistory) -> Any:
        """What an operation that reads answers, as a tree or trees."""
        return op.expected(self.session)

    def survives(self, value: Any) -> bool:
        """Whether the usual serializer gives this live value back as it is."""
        expected = self.model.expect(value)
        return bool(plain(expected) == expected)


def place(tree: Mapping[str, Any], path: Sequence[str]) -> Any:
    """The subtree of a tuple's tree at a path of a difference; `ABSENT` where there is none."""
    node: Any = tree
    if path and path[0] not in tree:
        node = tree["checkpoint"]
    for part in path:
        if isinstance(node, Mapping) and part in node:
            node = node[part]
        elif isinstance(node, list) and part.isdigit() and int(part) < len(node):
            node = node[int(part)]
        else:
            return ABSENT
    return node


def sorted_writes(tree: Mapping[str, Any]) -> dict[str, Any]:
    """The tree with its pending writes in the order in which a session compares them."""
    return {**tree, "pending_writes": sorted(tree["pending_writes"], key=observe.slot)}


def refusals(ops: Sequence[Op]) -> Iterator[tuple[int, ...]]:
    """Combinations of operations that a saver may have refused: none first."""
    lenient = [n for n, op in enumerate(ops[:-1]) if getattr(op, "lenient", False)]
    inner = [n for n, op in enumerate(ops) if isinstance(op, (Together, OwnLoop))]
    for size in range(min(len(lenient), MOST_LENIENT) + 1):
        yield from (c for c in itertools.combinations(lenient, size) if not set(c) & set(inner))


def matching(ops: Sequence[Op], difference: Mapping[str, Any]) -> tuple[tuple[int, ...], Oracle]:
    """The model after the program, and the operations that the saver must have refused."""
    best: tuple[tuple[int, ...], Oracle] | None = None
    for refused in itertools.islice(refusals(ops), MOST_TRIED):
        oracle = Oracle([op for n, op in enumerate(ops) if n not in refused])
        if best is None:
            best = (refused, oracle)
        if _fits(oracle, ops[-1], difference):
            return refused, oracle
    assert best is not None
    return best


def harmless(ops: Sequence[Op], refused: Sequence[int], difference: Mapping[str, Any]) -> set[int]:
    """Operations whose refusal would change nothing about what is expected."""
    found = set()
    for number, op in enumerate(ops[:-1][:MOST_TRIED]):
        if getattr(op, "lenient", False) and number not in refused:
            rest = [other for n, other in enumerate(ops) if n not in (*refused, number)]
            if _fits(Oracle(rest), ops[-1], difference):
                found.add(number)
    return found


def _fits(oracle: Oracle, op: Op, difference: Mapping[str, Any]) -> bool:
    """Whether the model expects what the evidence says was expected."""
    kind, _, dotted = str(difference["at"]).partition(":")
    path, expected = dotted.split("."), difference["expected"]
    if isinstance(op, Get) and kind == "get":
        tree = oracle.expected(op)
        if path[0] == "found":
            return bool((tree is None) == (expected == "nothing"))
        if path[0] in ("lost", "writes_order", "channel_versions", "reserved_metadata"):
            return tree is not None
        if tree is None:
            return False
        tree = sorted_writes(tree)
        if expected == ABSENT and place(tree, path[:-1]) == ABSENT:
            return False
        return bool(told(place(tree, path)) == told(expected))
    if isinstance(op, List) and path[0] == "rows":
        return len(oracle.expected(op)) == len(expected)
    return True
