"""delete_thread: all of a thread goes, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator

from lineage_conformance.law import Level, law
from lineage_conformance.program import DeleteThread, Get, List, Program, Put, Writes, program
from lineage_conformance.session import Diff

ALL_GONE = "BaseCheckpointSaver.delete_thread: deletes all checkpoints and writes of the thread id"
NEEDS = ("delete_thread",)


def _refuses(diff: Diff) -> bool:
    missing = diff.path[:1] == ("raises",) and "NotImplementedError" in str(diff.got)
    return diff.kind == "delete_thread" and missing


@law(
    "delete.implemented",
    level=Level.SHOULD,
    source="BaseCheckpointSaver declares delete_thread; servers call it when a user deletes a conversation",
    lens=_refuses,
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
    source=ALL_GONE,
    lens="list:rows",
    needs=NEEDS,
    after=("put.is-readable", "delete.implemented"),
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
        List(ns=None),
    )
    yield program(Put(1, ns="child"), DeleteThread(), Get(ns="child"), List(ns=None), List(None, None))


@law(
    "delete.idempotent",
    level=Level.SHOULD,
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
    source=ALL_GONE,
    lens="get:pending_writes* get:channel_values* get:metadata* get:parent_config*"
    " list:rows list:row.pending_writes* list:row.channel_values*",
    needs=NEEDS,
    after=("delete.complete",),
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
        *old, DeleteThread(), Put(1), Put(2, 1), Writes(2, "task-2", (("a", "new"),)), Get(2), List()
    )
    yield program(Writes(1, items=(("a", "orphan"),)), DeleteThread(), Put(1), Get(1), List())


@law(
    "delete.spares-others",
    level=Level.MUST,
    source="data: other threads are not named in the call",
    lens="list:rows get:pending_writes* get:channel_values* list:row.pending_writes* list:row.channel_values*",
    needs=NEEDS,
    after=("put.is-readable", "delete.implemented"),
    focus="namespaces",
    meaning="Deleting one conversation destroys another.",
)
def spares_others() -> Iterator[Program]:
    """delete_thread leaves every other thread as it is, however alike the names."""
    kept = ("t1", "tt", "T", "t:1", "t|a", "t ", "at")
    puts = [Put(n, thread=name, set={"a": [name]}, lenient=True) for n, name in enumerate(kept, 2)]
    yield program(
        Put(1, set={"a": ["x"]}),
        *puts,
        Writes(2, items=(("a", "w"),), thread="t1"),
        DeleteThread(),
        *(Get(put.id, put.thread) for put in puts),
        *(List(put.thread) for put in puts),
    )
    for pattern in ("t%", "t_", "t*", "t?", "t[1]"):
        yield program(
            Put(1, thread=pattern, lenient=True),
            Put(2, thread="t1", set={"a": ["kept"]}),
            DeleteThread(pattern, lenient=True),
            Get(2, "t1"),
            List("t1"),
        )
