"""Versions of the strict saver, and several handles and threads on one space."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from inspect import signature
from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver

from lineage_reference import Space, StrictSaver
from tests.reference_saver.conftest import at, ids, put

# Versions


@pytest.mark.parametrize("current", [None, 0, 41, 2.5, "0009.x", f"{99:032}.{0.5:016}", "7"])
def test_the_next_version_is_larger_text_and_never_the_same(current: Any) -> None:
    saver = StrictSaver()
    made = [saver.get_next_version(current, None) for _ in range(50)]
    assert len(set(made)) == 50
    if isinstance(current, str):
        assert min(made) > current
    chain = [current, made[0]]
    for _ in range(20 if current != "7" else 1):
        chain.append(saver.get_next_version(chain[-1]))
    assert chain[1:] == sorted(chain[1:])
    assert [int(v.split(".")[0]) for v in chain[1:]] == list(
        range(int(made[0].split(".")[0]), int(made[0].split(".")[0]) + len(chain) - 1)
    )


def test_a_full_version_is_refused_rather_than_wrapped() -> None:
    with pytest.raises(ValueError, match="width"):
        StrictSaver().get_next_version("99.x")


# One space, several handles


def test_two_handles_see_the_same_data() -> None:
    one, other = StrictSaver(Space.named("shop")), StrictSaver(Space.named("shop"))
    put(one, "1", values={"a": 1})
    assert ids(other) == ["1"]
    other.put_writes(at(cid="1"), [("a", 2)], "task")
    assert one.get_tuple(at()).pending_writes == [("task", "a", 2)]  # type: ignore[union-attr]
    assert ids(StrictSaver(Space.named("another"))) == ids(StrictSaver()) == []
    Space.forget("shop")
    Space.forget("shop")
    assert ids(StrictSaver(Space.named("shop"))) == []
    assert ids(one) == ["1"]
    Space.forget("shop")
    Space.forget("another")


def test_a_shallow_copy_is_another_handle() -> None:
    saver = StrictSaver()
    clones = [copy.copy(saver)]
    if hasattr(saver, "with_allowlist"):
        clones.append(saver.with_allowlist([("some.module", "Thing")]))
    for n, clone in enumerate(clones):
        put(clone, str(n))
        assert str(n) in ids(saver)


def test_both_faces_have_the_same_signatures() -> None:
    names = [n for n in vars(StrictSaver) if hasattr(StrictSaver, f"a{n}")]
    assert len(names) == 9
    for name in names:
        mine, twin = getattr(StrictSaver, name), getattr(StrictSaver, f"a{name}")
        assert signature(mine).parameters == signature(twin).parameters
        if ours := getattr(BaseCheckpointSaver, name, None):
            assert [*signature(ours).parameters] == [
                p for p in signature(mine).parameters if p in signature(ours).parameters
            ]


def together(*jobs: Callable[[], Any]) -> list[Any]:
    """Run the jobs in threads that start at one moment."""
    barrier = threading.Barrier(len(jobs), timeout=30)

    def start(job: Callable[[], Any]) -> Any:
        barrier.wait()
        return job()

    with ThreadPoolExecutor(len(jobs)) as pool:
        return [each.result() for each in [pool.submit(start, job) for job in jobs]]


def test_many_threads_lose_nothing_and_see_whole_writes() -> None:
    space = Space()
    put(StrictSaver(space), "0")

    def work(worker: int) -> None:
        saver = StrictSaver(space)
        for n in range(20):
            put(saver, f"{worker}-{n}", values={"a": [worker, n]})
            saver.put_writes(at(cid="0"), [("a", 1), ("b", 2), ("c", 3)], f"task{worker}-{n}")
            found = saver.get_tuple(at(cid="0"))
            assert found is not None
            assert len(found.pending_writes or ()) % 3 == 0
            assert all(len(row.pending_writes or ()) % 3 == 0 for row in saver.list(at(), limit=9))

    together(*(partial(work, worker) for worker in range(4)))
    saver = StrictSaver(space)
    assert len(ids(saver)) == 81
    assert len(saver.get_tuple(at(cid="0")).pending_writes) == 240  # type: ignore[union-attr,arg-type]


def test_of_two_writers_of_one_task_exactly_one_wins() -> None:
    for _ in range(20):
        saver = StrictSaver()
        put(saver, "1")
        pairs = [[("a", who), ("b", who)] for who in ("left", "right")]
        together(*(partial(saver.put_writes, at(cid="1"), pair, "task") for pair in pairs))
        found = saver.get_tuple(at())
        assert found is not None
        assert len({value for _, _, value in found.pending_writes or ()}) == 1
