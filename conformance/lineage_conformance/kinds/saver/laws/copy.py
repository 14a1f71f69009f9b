"""copy_thread: the whole history under another thread id, and two histories from then on."""

from __future__ import annotations

from collections.abc import Iterator

from lineage_conformance.kinds.saver.operations import (
    CopyThread,
    DeleteThread,
    DeltaHistory,
    Get,
    List,
    Op,
    Put,
    Writes,
)
from lineage_conformance.kinds.saver.program import Program, program
from lineage_conformance.law import Level, Stake, law

ALL = (
    "BaseCheckpointSaver.copy_thread: copies all checkpoints and writes from one thread to another"
)
CHAIN = "BaseCheckpointSaver.copy_thread: the complete parent chain must be copied, writes included"
NEEDS = ("copy_thread",)
READS = (
    "latest.is-largest-id",
    "fork.branches-are-independent",
    "fork.parents",
    "writes.none-is-a-value",
    "writes.ordered-by-path",
    "list.empty-namespace-is-root",
    "metadata.keeps-unknown-keys",
    "namespaces.same-id-is-fine",
)


def _fork() -> tuple[Op, ...]:
    """Two branches, a child namespace, and writes at three places."""
    return (
        Put(1, set={"a": ["x"], "b": "kept"}, meta={"source": "input", "step": -1, "user": "u"}),
        Writes(1, "task-1", (("a", "first"),)),
        Put(2, 1, set={"a": ["x", "left"]}),
        Put(3, 1, set={"a": ["x", "right"]}),
        Writes(3, "task-2", (("a", "second"), ("b", None)), "~__pregel_push, 0000000001"),
        Writes(3, "task-1", (("a", "third"),), "~__pregel_push, 0000000002"),
        Put(4, ns="child", set={"c": {"k": 1}}),
        Writes(4, "task-3", (("c", "deep"),), ns="child"),
    )


def _reads(thread: str) -> tuple[Op, ...]:
    numbers = (Get(1, thread), Get(2, thread), Get(3, thread), Get(4, thread, "child"))
    latest = (Get(thread=thread), Get(thread=thread, ns="child"))
    return (*numbers, *latest, List(thread), List(thread, "child"))


@law(
    "copy.complete",
    level=Level.MUST,
    stake=Stake.LOST,
    source=ALL,
    lens="get:channel_values* get:channel_versions* get:metadata* list:rows",
    needs=NEEDS,
    after=READS,
    meaning="A branched conversation misses part of what it was branched from.",
    reports=("bytedance/deer-flow#4358",),
)
def complete() -> Iterator[Program]:
    """The copy has every checkpoint of every namespace, with its values, versions and metadata."""
    yield program(*_fork(), CopyThread(), *_reads("copy"))


@law(
    "copy.keeps-writes",
    level=Level.MUST,
    stake=Stake.REPEATED,
    source=ALL,
    lens="get:pending_writes*",
    needs=NEEDS,
    after=("copy.complete",),
    meaning="A branch of a paused run asks again, or runs finished tools again.",
)
def keeps_writes() -> Iterator[Program]:
    """The copy has every pending write, in the same order."""
    yield program(*_fork(), CopyThread(), *_reads("copy"))


@law(
    "copy.keeps-parents",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source=CHAIN,
    lens="get:parent_config* get:config*",
    needs=NEEDS,
    after=("copy.complete",),
    meaning="Time travel in the copy leads nowhere, or into the source.",
)
def keeps_parents() -> Iterator[Program]:
    """Each checkpoint of the copy has the copy of its parent as parent."""
    yield program(*_fork(), CopyThread(), *_reads("copy"))


@law(
    "copy.keeps-delta-history",
    level=Level.MUST,
    stake=Stake.LOST,
    source=CHAIN,
    lens="delta_history:*",
    versions=("langgraph-checkpoint>=4.1.0",),
    needs=(*NEEDS, "get_delta_channel_history"),
    after=("copy.keeps-parents", "copy.keeps-writes", "delta_history.stays-on-its-branch"),
    meaning="Delta channels of the copy are rebuilt empty.",
    reports=("bytedance/deer-flow#4358",),
)
def keeps_delta_history() -> Iterator[Program]:
    """Delta channels of the copy are rebuilt from the same seed and the same writes."""
    yield program(
        Put(1, set={"d": ["seed"]}),
        Writes(1, "task-1", (("d", "one"),)),
        Put(2, 1, empty=("d",)),
        Writes(2, "task-2", (("d", "two"),)),
        Put(3, 2, empty=("d",)),
        CopyThread(),
        DeltaHistory(thread="copy"),
        DeltaHistory(2, thread="copy"),
    )


@law(
    "copy.leaves-source",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source="data: copying is not moving",
    lens="get:* list:rows",
    needs=NEEDS,
    after=READS,
    meaning="Branching a conversation damages the original.",
)
def leaves_source() -> Iterator[Program]:
    """copy_thread changes nothing in the thread that it reads from, nor in a third one."""
    yield program(
        *_fork(),
        Put(9, thread="third", set={"a": 1}),
        CopyThread(),
        *_reads("t"),
        Get(9, "third"),
        List("third"),
    )


@law(
    "copy.is-independent",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source="data: two threads share nothing after the copy",
    lens="get:channel_values* get:pending_writes* get:metadata* list:rows",
    needs=NEEDS,
    after=("copy.complete", "copy.leaves-source", "copy.keeps-writes"),
    meaning="What happens in a branch shows up in the original conversation.",
)
def is_independent() -> Iterator[Program]:
    """What is put or written in one of the two threads later does not show in the other."""
    yield program(
        *_fork(),
        CopyThread(),
        Put(5, 3, thread="copy", set={"a": ["copy only"]}),
        Writes(1, "task-9", (("a", "copy only"),), thread="copy"),
        Put(6, 3, set={"a": ["source only"]}),
        Writes(2, "task-9", (("a", "source only"),)),
        *_reads("copy"),
        *_reads("t"),
        Get(6),
        Get(5, "copy"),
    )


@law(
    "copy.outlives-source",
    level=Level.MUST,
    stake=Stake.DELETED,
    source="data: delete_thread names one thread",
    lens="get:channel_values* get:pending_writes* list:rows",
    needs=(*NEEDS, "delete_thread"),
    after=("copy.is-independent", "delete.spares-others", "delete.complete"),
    meaning="Deleting the original conversation destroys its branches.",
)
def outlives_source() -> Iterator[Program]:
    """Deleting one of the two threads leaves the other whole."""
    yield program(*_fork(), CopyThread(), DeleteThread(), *_reads("copy"))
    yield program(*_fork(), CopyThread(), DeleteThread("copy"), *_reads("t"))
