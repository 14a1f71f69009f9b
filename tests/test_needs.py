"""What programs ask for, and that no sentence that must hold looks with the help of one that should."""

from __future__ import annotations

from typing import Any

import pytest

from lineage_conformance import law as laws
from lineage_conformance import needs, zoo
from lineage_conformance.kinds.saver.operations import (
    CopyThread,
    DeleteThread,
    DeltaHistory,
    Get,
    List,
    Put,
    Reopen,
    Together,
    Writes,
)
from lineage_conformance.kinds.saver.program import Program, program
from lineage_conformance.law import Level

LINE = (Put(1), Put(2, 1))

LIMITS: list[tuple[str, Program, set[str]]] = [
    ("one checkpoint", program(Put(1), Get(1), Get(), List()), set()),
    ("the latest of a line", program(*LINE, Get(), Get(2), List(limit=1)), set()),
    ("each as it is put", program(Put(1), Get(1), Put(2, 1), Get(2)), set()),
    ("an older one", program(*LINE, Get(1)), {"history"}),
    ("the list of a line", program(*LINE, List()), {"history"}),
    ("a page of it", program(*LINE, List(limit=2)), {"history"}),
    ("before", program(Put(1), List(before=1)), {"history"}),
    ("a smaller id put later", program(Put(2), Put(1, 2), Get()), {"history"}),
    ("a fork", program(*LINE, Put(3, 1), Get()), {"history"}),
    ("an id that was never put", program(Put(1), Get(2)), {"history"}),
    ("nothing was put", program(Get(1), List()), set()),
    ("another thread", program(*LINE, Put(3, thread="u"), Get(3, "u"), List("u")), set()),
    ("another namespace", program(*LINE, Put(3, ns="c"), Get(3, ns="c"), List(ns="c")), set()),
    ("all namespaces of one each", program(Put(1), Put(2, ns="c"), List(ns=None)), set()),
    ("after a deletion", program(*LINE, DeleteThread(), Put(3), Get(3), List()), set()),
    ("the copy of a line", program(*LINE, CopyThread(), List("copy")), {"history"}),
    ("the head of a copy", program(*LINE, CopyThread(), Get(thread="copy")), set()),
    ("a delta history", program(*LINE, DeltaHistory(2)), {"history"}),
    ("two at once", program(Put(1), Together((Put(2, 1), Put(3, 1))), Get()), {"history"}),
    ("one and its write at once", program(Together((Put(1), Writes(1))), Get(1)), set()),
    ("a filter", program(Put(1), List(filter={"source": "loop"})), {"filter"}),
    ("an empty filter", program(Put(1), List(filter={})), {"filter"}),
    ("a second handle", program(Put(1), Get(1, handle=1)), {"handles"}),
    ("a restart", program(Put(1), Reopen(), Get(1)), set()),
    ("an odd thread", program(Put(1, thread="a%")), {"text"}),
    ("a long thread", program(Put(1, thread="x" * 300)), {"text"}),
    ("an accent", program(Put(1, thread="é")), {"text"}),
    ("a task", program(Put(1), Writes(1, "a b", (("a", 1),))), {"text"}),
    ("a channel", program(Put(1, set={"'": 1})), {"text"}),
    ("what the engine names", program(
        Put(1, ns="child:1|sub:2", set={"branch:to:n": None, "__start__": 1}),
        Writes(1, "task-1", (("__interrupt__", 1),), "~__pregel_push, 0000000001"),
    ), set()),
    ("a value", program(Put(1, set={"a": zoo.ref("decimal")})), {"values"}),
    ("a value deep in a write", program(Writes(1, items=(("a", [{"k": zoo.ref("set")}]),))), {"values"}),
    ("plain JSON", program(Put(1, set={"a": [{"k": None}, 1, 0.5, "é"]})), set()),
    ("the engine's own record", program(Writes(1, items=(("a", zoo.ref("send")),))), set()),
]  # fmt: skip


@pytest.mark.parametrize(("asked", "expected"), [c[1:] for c in LIMITS], ids=[c[0] for c in LIMITS])
def test_limits_follow_from_what_a_program_does(asked: Program, expected: set[str]) -> None:
    assert needs.limits(asked) == expected


def test_operations_and_stores() -> None:
    assert needs.operations(program(Put(1), DeleteThread(), DeltaHistory())) == {
        "delete_thread", "get_delta_channel_history",
    }  # fmt: skip
    assert needs.operations(program(Together((DeleteThread(),)))) == {"delete_thread"}
    assert needs.reopens(program(Put(1), Reopen()))
    assert needs.reopens(program(Get(handle=1)))
    assert not needs.reopens(program(Put(1), Get()))


def _looks(op: Any) -> str:
    """What an operation looks with that only a SHOULD speaks of; empty if nothing."""
    if isinstance(op, List):
        if op.thread is None:
            return "list.all-threads"
        if op.ns is None:
            return "list.whole-thread"
        if op.id is not None:
            return "list.id"
        if op.limit == 0:
            return "list.limit-zero"
    return ""


@pytest.mark.parametrize(
    "law",
    [x for x in laws.all_laws("saver") if x.level is Level.MUST and x.check is None],
    ids=lambda law: law.id,
)
def test_what_must_hold_does_not_look_with_what_should(law: Any) -> None:
    used = {word for case in law.programs for op in case.walk() if (word := _looks(op))}
    assert not used
    if law.focus:
        from lineage_conformance import strategies

        made = strategies.programs(law.focus, 10)
        assert not any(_looks(op) for case in made for op in case.walk())
