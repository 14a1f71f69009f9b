"""Witnesses: one form for one counterexample, keys, and what counts as the same failure."""

from __future__ import annotations

import pytest

from lineage_conformance import witness
from lineage_conformance.canon import ABSENT
from lineage_conformance.kinds.saver.operations import DeleteThread, Get, List, Put, Writes
from lineage_conformance.kinds.saver.program import Program, program
from lineage_conformance.shrink import shrink
from lineage_conformance.trace import Diff


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (program(Put(3), Put(7, 3), Get(7)), program(Put(1), Put(2, 1), Get(2))),
        (program(Put(1, thread="acme"), Get(1, "acme")), program(Put(1), Get(1))),
        (program(Put(1, ns="a|b"), Get(1, ns="a|b")), program(Put(1, ns="child"), Get(1, ns="child"))),
        (program(Put(1, set={"zz": 1}), Get(1)), program(Put(1, set={"a": 1}), Get(1))),
        (program(Writes(1, "t9", (("q", 1),))), program(Writes(1, "task-1", (("a", 1),)))),
        (program(Put(1, meta={"user": 1}), List(filter={"user": 1})),
         program(Put(1, meta={"k": 1}), List(filter={"k": 1}))),
    ],
)  # fmt: skip
def test_normal_form(left: Program, right: Program) -> None:
    assert witness.normal(left) == witness.normal(right)


def test_ids_keep_their_order() -> None:
    assert witness.normal(program(Put(9), Put(4, 9), Get())).ops == (Put(2), Put(1, 2), Get())


def test_shrinking_gives_names_up_only_if_they_do_not_matter() -> None:
    long = program(
        Put(5, thread="secret"), Put(6, thread="other"), DeleteThread("s*"), Get(5, "secret")
    )

    def pattern(case: Program) -> bool:  # as a saver would that takes a deleted id for a pattern
        gone = [op.thread for op in case.ops if isinstance(op, DeleteThread)]
        put = [op.thread for op in case.ops if isinstance(op, Put)]
        read = [op.thread for op in case.ops if isinstance(op, Get)]
        return any(g.endswith("*") and t.startswith(g[:-1]) and t != g
                   for g in gone for t in put if t in read)  # fmt: skip

    small = shrink(long, pattern)
    assert [type(op) for op in small.ops] == [Put, DeleteThread, Get]
    assert small.ops[1].thread.endswith("*")
    plain = shrink(long, lambda case: any(isinstance(op, DeleteThread) for op in case.ops))
    assert plain.ops == (DeleteThread("t"),)


def diff(kind: str, *path: str, expected: object = 1, got: object = 2) -> Diff:
    return Diff(0, kind, path, expected, got)


def test_signatures() -> None:
    sign = witness.signature
    assert sign(diff("get", "channel_values", "a")) == sign(diff("get", "channel_values", "b"))
    assert sign(diff("get", "metadata", "step")) != sign(diff("get", "metadata", "source"))
    assert sign(diff("get", "metadata", "u")) == sign(diff("get", "metadata", "v"))
    lost = diff("get", "channel_values", "a", got=ABSENT)
    assert sign(lost) != sign(diff("get", "channel_values", "a", expected=ABSENT))
    more = diff("list", "rows", expected=["t#1"], got=["t#1", "u#1"])
    other = diff("list", "rows", expected=["t#1"], got=["u#1"])
    less = diff("list", "rows", expected=["t#1"], got=[])
    assert sign(more) == sign(other) != sign(less)
    assert sign(diff("put", "raises", got="KeyError: 1")) == sign(
        diff("put", "raises", got="KeyError: 2")
    )


def test_keys_do_not_depend_on_leniency_or_origin() -> None:
    shown = diff("get", "found", expected="a checkpoint", got="nothing")
    one = program(Put(1, lenient=True), Get(1), origin="here")
    assert witness.key(one, shown) == witness.key(program(Put(1), Get(1)), shown)
    assert witness.key(one, shown) != witness.key(program(Put(1), Get()), shown)


@pytest.mark.parametrize(
    ("small", "big", "expected"),
    [
        (program(Put(1), Get(1)), program(Put(1, set={"a": 1}), Put(2, 1), Get(1)), True),
        (program(Put(1), Get(1)), program(Put(1), Get()), False),
        (program(Put(1), List()), program(Put(1), List(filter={"k": 1})), False),
        (program(Put(2), Put(1, 2), Get()), program(Put(1), Put(2, 1), Get()), False),
        (program(Put(1), DeleteThread(), Get(1)),
         program(Put(1, thread="a"), DeleteThread("a*"), Get(1, "a")), False),
        (program(Put(1), Get(1)), program(Get(1), Put(1)), False),
    ],
)  # fmt: skip
def test_embedding(small: Program, big: Program, expected: bool) -> None:
    assert witness.embeds(small, big) is expected
