"""prune: fewer checkpoints, and the same conversation.

A saver may refuse to prune a thread, as long as it then changes nothing. Whether a kept checkpoint still
names a parent that is gone is nobody's promise, so no law looks at it. Namespaces with a ``:`` belong to
single calls of subgraphs and may go with their call; the laws use names without one.
"""

from __future__ import annotations

from collections.abc import Iterator

from lineage_conformance.kinds.saver.operations import (
    DeltaHistory,
    Get,
    List,
    Op,
    Prune,
    Put,
    Writes,
)
from lineage_conformance.kinds.saver.program import Program, program
from lineage_conformance.law import Level, Stake, law

LATEST = (
    "BaseCheckpointSaver.prune: keep_latest retains only the most recent checkpoint per namespace"
)
ALL = "BaseCheckpointSaver.prune: the strategy delete removes all checkpoints"
DELTA = "BaseCheckpointSaver.prune: implementations must be aware of delta channels"
NEEDS = ("prune",)
KEPT = (
    "get:channel_values* get:channel_versions* get:versions_seen* get:metadata* get:pending_writes*"
)
READS = (
    "put.keeps-every-field",
    "latest.is-largest-id",
    "fork.branches-are-independent",
    "list.whole-thread",
    "list.empty-namespace-is-root",
    "metadata.keeps-unknown-keys",
    "namespaces.are-apart",
)


def _line() -> tuple[Op, ...]:
    """Three steps, a child namespace of two, and writes on old and new ones."""
    return (
        Put(1, set={"a": ["x"], "old": [1]}, seen=True),
        Writes(1, "task-1", (("a", "done"),)),
        Put(2, 1, set={"a": ["x", "y"]}),
        Put(3, 2, set={"b": "z"}, seen=True, meta={"source": "loop", "step": 1, "user": "u"}),
        Writes(3, "task-2", (("a", "waiting"), ("__interrupt__", "sure?"))),
        Put(4, ns="child", set={"c": [1]}),
        Put(5, 4, ns="child", set={"c": [2]}),
        Writes(5, "task-3", (("c", "waiting"),), ns="child"),
    )


@law(
    "prune.keeps-heads",
    level=Level.MUST,
    stake=Stake.LOST,
    source=LATEST,
    lens=KEPT,
    needs=NEEDS,
    after=READS,
    meaning="Pruning loses the state of a conversation, or finished tools run again.",
    reports=("redis-developer/langgraph-redis#159",),
)
def keeps_heads() -> Iterator[Program]:
    """keep_latest leaves the newest checkpoint of each namespace with values, metadata and writes."""
    heads = (Get(), Get(3), Get(ns="child"), Get(5, ns="child"))
    yield program(*_line(), Prune(), *heads)
    yield program(Put(1, set={"a": [1]}), Prune(), Prune(), Get(1))
    yield program(
        *_line(), Prune(), Put(6, 3, set={"d": 1}), Writes(6, items=(("a", 1),)), Get(6), Get()
    )


@law(
    "prune.drops-older",
    level=Level.SHOULD,
    stake=Stake.COST,
    source=LATEST,
    lens="list:rows",
    needs=NEEDS,
    after=("prune.keeps-heads",),
    meaning="Pruned threads keep growing.",
    reports=("redis-developer/langgraph-redis#13",),
)
def drops_older() -> Iterator[Program]:
    """keep_latest removes the older checkpoints of each namespace, forks included."""
    yield program(*_line(), Prune(), List(), List(ns="child"))
    yield program(Put(1), Put(2, 1), Put(3, 1), Prune(), List())


@law(
    "prune.delete-removes-all",
    level=Level.MUST,
    stake=Stake.KEPT,
    source=ALL,
    lens="list:rows get:pending_writes*",
    needs=NEEDS,
    after=READS,
    meaning="Data that was to be removed can still be read.",
)
def delete_removes_all() -> Iterator[Program]:
    """The strategy delete leaves no checkpoint and no write of the threads that it names."""
    yield program(
        *_line(),
        Put(7, thread="u"),
        Prune(("t", "u"), "delete"),
        Get(),
        Get(ns="child"),
        List(),
        List(ns="child"),
        Get(thread="u"),
        Put(3),
        Get(3),
    )


@law(
    "prune.spares-others",
    level=Level.MUST,
    stake=Stake.DELETED,
    source="data: other threads are not named in the call",
    lens="list:rows get:*",
    needs=NEEDS,
    after=READS,
    meaning="Pruning one conversation thins out another.",
)
def spares_others() -> Iterator[Program]:
    """prune leaves every thread alone that it does not name, whatever the strategy."""
    others = tuple(
        Put(n, n - 1 if n % 2 else None, thread, set={"a": [n]})
        for n, thread in ((12, "t1"), (13, "t1"), (14, "T"), (15, "T"))
    )
    reads = (*(Get(put.id, put.thread) for put in others), List("t1"), List("T"))
    yield program(*_line(), *others, Prune(), *reads)
    yield program(*_line(), *others, Prune(strategy="delete"), *reads)
    yield program(*others, Prune(()), *reads)


@law(
    "prune.unknown-strategy-changes-nothing",
    level=Level.SHOULD,
    stake=Stake.LOST,
    source="data: a misspelt strategy is no order to delete",
    lens="list:rows get:*",
    needs=NEEDS,
    after=READS,
    meaning="A typing error in a maintenance job deletes history.",
)
def unknown_strategy_changes_nothing() -> Iterator[Program]:
    """A strategy that the saver does not know changes nothing; at best it is refused."""
    yield program(
        Put(1, set={"a": [1]}), Put(2, 1), Prune(strategy="keep-latest!"), Get(1), Get(), List()
    )


@law(
    "prune.is-delta-safe",
    level=Level.MUST,
    stake=Stake.LOST,
    source=DELTA,
    lens="delta_history:*",
    versions=("langgraph-checkpoint>=4.1.0",),
    needs=(*NEEDS, "get_delta_channel_history"),
    after=("prune.keeps-heads", "delta_history.stays-on-its-branch"),
    meaning="Delta channels of a pruned thread are rebuilt empty: messages are lost for good.",
    reports=("langchain-ai/langgraph#8531",),
)
def is_delta_safe() -> Iterator[Program]:
    """After prune, or its refusal, delta channels of the head have the same seed and writes."""

    def meta(steps: int) -> dict[str, object]:
        return {
            "source": "loop",
            "step": steps,
            "counters_since_delta_snapshot": {"d": [steps, steps]},
        }

    chain = (
        Writes(1, "task-1", (("d", "one"),)),
        Put(2, 1, empty=("d",), meta=meta(1)),
        Writes(2, "task-2", (("d", "two"),)),
        Put(3, 2, empty=("d",), meta=meta(2)),
        Prune(),
        DeltaHistory(),
        DeltaHistory(3),
    )
    yield program(Put(1, set={"d": ["seed"]}, meta=meta(0)), *chain)
    yield program(Put(1, meta=meta(0)), *chain)
