"""delete_for_runs: what some runs left behind goes, and other runs stay readable."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lineage_conformance.kinds.saver.operations import (
    DeleteForRuns,
    DeltaHistory,
    Get,
    List,
    Op,
    Put,
    Writes,
)
from lineage_conformance.kinds.saver.program import Program, program
from lineage_conformance.law import Level, Stake, law

ALL = "BaseCheckpointSaver.delete_for_runs: deletes all checkpoints and writes of the given run ids"
NEEDS = ("delete_for_runs",)
READS = (
    "latest.is-largest-id",
    "fork.branches-are-independent",
    "list.whole-thread",
    "list.empty-namespace-is-root",
    "metadata.keeps-unknown-keys",
    "namespaces.are-apart",
)


def _of(run: str, step: int = 0) -> dict[str, Any]:
    return {"source": "loop", "step": step, "run_id": run}


def _two_runs() -> tuple[Op, ...]:
    """A run of two steps, one that went on from it, and the first run in another namespace."""
    return (
        Put(1, set={"a": ["x"]}, meta=_of("run-1")),
        Writes(1, "task-1", (("a", "one"),)),
        Put(2, 1, set={"a": ["x", "y"]}, meta=_of("run-1", 1)),
        Writes(2, "task-1", (("a", "two"),)),
        Put(3, 2, set={"b": "z"}, meta=_of("run-2", 2)),
        Writes(3, "task-1", (("a", "three"),)),
        Put(4, ns="child", set={"c": 1}, meta=_of("run-1")),
    )


@law(
    "runs.removes-its-checkpoints",
    level=Level.MUST,
    stake=Stake.KEPT,
    source=ALL,
    lens="list:rows",
    needs=NEEDS,
    after=READS,
    meaning="What a cancelled run stored stays in the conversation.",
)
def removes_its_checkpoints() -> Iterator[Program]:
    """No checkpoint of the given runs is found afterwards, in any thread or namespace."""
    yield program(
        *_two_runs(),
        Put(5, thread="u", meta=_of("run-1")),
        DeleteForRuns(("run-1",)),
        Get(1),
        Get(2),
        Get(ns="child"),
        Get(thread="u"),
        List(),
        List(ns="child"),
    )
    yield program(*_two_runs(), DeleteForRuns(("run-1", "run-2")), Get(), List(), List(ns="child"))


@law(
    "runs.removes-their-writes",
    level=Level.MUST,
    stake=Stake.KEPT,
    source=ALL,
    lens="get:pending_writes*",
    needs=NEEDS,
    after=("runs.removes-its-checkpoints",),
    meaning="Writes of a deleted run are applied to a checkpoint that takes its place.",
)
def removes_their_writes() -> Iterator[Program]:
    """The writes of a removed checkpoint go with it: they do not come back when its id does."""
    yield program(
        *_two_runs(), DeleteForRuns(("run-1",)), Put(1, meta=_of("run-3")), Get(1), List()
    )


@law(
    "runs.spares-other-runs",
    level=Level.MUST,
    stake=Stake.LOST,
    source="data: other runs are not named in the call",
    lens="list:rows get:channel_values* get:metadata* get:pending_writes*",
    needs=NEEDS,
    after=READS,
    meaning="Rolling one run back destroys another.",
)
def spares_other_runs() -> Iterator[Program]:
    """Checkpoints of other runs, or of none, keep their values, metadata and writes."""
    yield program(*_two_runs(), DeleteForRuns(("run-1",)), Get(3), Get(), List())
    yield program(
        *_two_runs(), DeleteForRuns(("run-2",)), Get(1), Get(2), Get(), Get(4, ns="child")
    )
    yield program(
        Put(1, meta=_of("run-1")),
        Put(2, meta=_of("run-10"), thread="u", set={"a": [1]}),
        Put(3, meta={"source": "loop", "step": 0, "note": "run-1"}, thread="v"),
        DeleteForRuns(("run-1",)),
        Get(2, "u"),
        Get(3, "v"),
        List("u"),
        List("v"),
    )
    yield program(
        *_two_runs(), DeleteForRuns(("run-%",), lenient=True), Get(1), Get(2), Get(3), List()
    )


@law(
    "runs.unknown-run-is-a-no-op",
    level=Level.SHOULD,
    stake=Stake.FAILS,
    source="a delete is retried after a lost answer, and a run may end before it stores anything",
    lens="delete_for_runs:* list:rows get:channel_values* get:pending_writes*",
    needs=NEEDS,
    after=("runs.spares-other-runs",),
    meaning="Cleaning up after a run that stored nothing fails.",
)
def unknown_run_is_a_no_op() -> Iterator[Program]:
    """A run that nobody knows, the same run twice, or no run at all raises nothing."""
    yield program(*_two_runs(), DeleteForRuns(("nobody",)), DeleteForRuns(()), Get(1), Get(3))
    yield program(*_two_runs(), DeleteForRuns(("run-1",)), DeleteForRuns(("run-1",)), Get(3))


@law(
    "runs.is-delta-safe",
    level=Level.SHOULD,
    stake=Stake.LOST,
    source="BaseCheckpointSaver.delete_for_runs warns that rows which a delta channel needs may go; a careful"
    " saver keeps them or refuses",
    lens="delta_history:*",
    versions=("langgraph-checkpoint>=4.1.0",),
    needs=(*NEEDS, "get_delta_channel_history"),
    after=("runs.spares-other-runs", "delta_history.stays-on-its-branch"),
    meaning="Deleting an old run empties the messages of the conversation that went on from it.",
)
def is_delta_safe() -> Iterator[Program]:
    """Delta channels of the runs that stay have the same seed and writes, or the call is refused."""
    yield program(
        Put(1, set={"d": ["seed"]}, meta=_of("run-1")),
        Writes(1, "task-1", (("d", "one"),)),
        Put(2, 1, empty=("d",), meta=_of("run-1", 1)),
        Writes(2, "task-2", (("d", "two"),)),
        Put(3, 2, empty=("d",), meta=_of("run-2", 2)),
        DeleteForRuns(("run-1",), lenient=True),
        DeltaHistory(3),
        DeltaHistory(),
    )
