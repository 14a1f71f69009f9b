"""delete_thread: all of a thread goes, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator

from lineage_conformance.kinds.saver.operations import DeleteThread, Get, List, Put, Writes
from lineage_conformance.kinds.saver.program import Program, program
from lineage_conformance.law import Level, Stake, law
from lineage_conformance.trace import Diff

ALL_GONE = "BaseCheckpointSaver.delete_thread: deletes all checkpoints and writes of the thread id"
NEEDS = ("delete_thread",)


def _refuses(diff: Diff) -> bool:
    missing = diff.path[:1] == ("raises",) and "NotImplementedError" in str(diff.got)
    return diff.kind == "delete_thread" and missing


@law(
    "delete.implemented",
    level=Level.SHOULD,
    stake=Stake.KEPT,
    source="BaseCheckpointSaver declares delete_thread; servers call it when a user deletes a conversation",
    lens=_refuses,
    sees="delete_thread:raises",
    versions=("langgraph-checkpoint>=2.0.25",),
    meaning="Deleting a conversation fails, or its data stays for ever.",
    reports=("aegra/aegra#499",),
)
def implemented() -> Iterator[Program]:
    """delete_thread is implemented."""
    yield program(Put(1), DeleteThread())


@law(
    "delete.complete",
    level=Level.MUST,
    stake=Stake.KEPT,
    source=ALL_GONE,
    lens="list:rows",
    needs=NEEDS,
    after=(
        "delete.implemented",
        "latest.is-largest-id",
        "list.whole-thread",
        "list.empty-namespace-is-root",
    ),
    meaning="A deleted conversation can still be read.",
    reports=("aegra/aegra#499",),
)
def complete() -> Iterator[Program]:
    """After delete_thread no checkpoint of the thread is found, in any namespace, nor its history."""
    yield program(
        Put(1, set={"a": "x"}),
        Put(2, 1, set={"a": "y"}),
        Writes(2, items=(("a", "w"),)),
        Put(3, ns="child", set={"a": "z"}),
        Put(4, ns="child:1|sub", set={"b": "z"}),
        DeleteThread(),
        Get(),
        Get(2),
        Get(ns="child"),
        Get(4, ns="child:1|sub"),
        List(),
        List(ns="child"),
        List(ns="child:1|sub"),
    )
    yield program(Put(1, ns="child"), DeleteThread(), Get(ns="child"), List(ns="child"))


@law(
    "delete.idempotent",
    level=Level.SHOULD,
    stake=Stake.FAILS,
    source="a delete is retried after a lost answer; stock savers accept unknown threads",
    lens="delete_thread:*",
    needs=NEEDS,
    after=("delete.complete",),
    meaning="A retried delete fails although the thread is gone.",
)
def idempotent() -> Iterator[Program]:
    """Deleting a thread twice, or one that never was, raises nothing."""
    yield program(DeleteThread("nobody"), Put(1), DeleteThread(), DeleteThread(), Get())


@law(
    "delete.id-reusable",
    level=Level.MUST,
    stake=Stake.KEPT,
    source=ALL_GONE,
    lens="get:pending_writes* get:channel_values* get:parent_config* list:rows",
    needs=NEEDS,
    after=("delete.complete", "values.complete", "writes.before-checkpoint", "fork.parents"),
    meaning="A new conversation under an old id starts with the answers of the old one.",
    reports=("aegra/aegra#499",),
)
def id_reusable() -> Iterator[Program]:
    """A thread id that was deleted starts empty: no old writes, values or history come back."""
    old = (
        Put(1, set={"a": "old", "b": "old"}),
        Writes(1, "task-1", (("a", "old"), ("__interrupt__", "old"))),
        Put(2, 1, set={"a": "old"}),
        Writes(2, "task-2", (("a", "old"),)),
    )
    yield program(*old, DeleteThread(), Put(1, set={"b": "new"}), Get(1), Get(), List())
    yield program(
        *old,
        DeleteThread(),
        Put(1),
        Put(2, 1),
        Writes(2, "task-2", (("a", "new"),)),
        Get(2),
        List(),
    )
    early = Writes(1, items=(("a", "orphan"),))
    yield program(early, DeleteThread(lenient=True), Put(1), Get(1), List())


@law(
    "delete.spares-others",
    level=Level.MUST,
    stake=Stake.DELETED,
    source="data: other threads are not named in the call",
    lens="list:rows get:pending_writes* get:channel_values* get:parent_config*",
    needs=NEEDS,
    after=("delete.complete", "namespaces.deletion-stays-inside", "namespaces.same-id-is-fine"),
    meaning="Deleting one conversation damages its copy, or one that shares data with it.",
)
def spares_others() -> Iterator[Program]:
    """delete_thread leaves every other thread whole, also one with the same values and tasks."""
    both = tuple(
        op
        for thread, first in (("t", 1), ("u", 11))
        for op in (
            Put(first, thread=thread, set={"a": ["same"], "b": "x"}),
            Writes(first, "task-1", (("a", "same"),), thread=thread),
            Put(first + 1, first, thread, set={"b": ["same"]}),
            Writes(first + 1, "task-1", (("b", "same"),), thread=thread),
        )
    )
    yield program(*both, DeleteThread(), Get(11, "u"), Get(12, "u"), Get(thread="u"), List("u"))
    yield program(*both, DeleteThread("u"), Put(3, 2), Get(1), Get(2), Get(3), List())
    yield program(*both, DeleteThread("u"), Get(2), Get())
