"""Stores: what was stored is there after a restart, and for everybody else at once."""

from __future__ import annotations

from collections.abc import Iterator

from lineage_conformance.kinds.saver.operations import DeleteThread, Get, List, Put, Reopen, Writes
from lineage_conformance.kinds.saver.program import Program, program
from lineage_conformance.law import Level, Stake, law

RESTART = "data: a call that returned has stored; the process may end at any moment after"
OTHERS = (
    "engine: another process resumes a thread from what the store holds, and runs what it does not"
)
STORE = ("store",)
VALUES = "get:channel_values* get:channel_versions*"


@law(
    "durability.checkpoints-survive",
    level=Level.MUST,
    stake=Stake.LOST,
    source=RESTART,
    lens=f"list:rows list:order {VALUES} get:parent_config*",
    needs=STORE,
    after=(
        "put.is-readable",
        "values.removed-stay-removed",
        "versions.minted-come-back",
        "fork.branches-are-independent",
        "latest.is-largest-id",
        "list.newest-first",
        "list.empty-namespace-is-root",
        "namespaces.absent-is-root",
    ),
    meaning="A restart loses conversations.",
)
def checkpoints_survive() -> Iterator[Program]:
    """After closing and opening the store, all checkpoints are there with values, versions and parents."""
    yield program(
        Put(1, set={"a": "x", "b": [1]}, seen=True),
        Put(2, 1, set={"a": ["y"]}, drop=("b",)),
        Put(3, 1, set={"a": "fork"}),
        Put(4, ns="child", set={"c": 1}),
        Put(5, thread="u", set={"a": 0}),
        Reopen(),
        Get(),
        Get(1),
        Get(2),
        Get(ns="child"),
        Get(thread="u"),
        List(),
        List(ns="child"),
    )
    yield program(Put(1, set={"a": 1}), Reopen(), Put(2, 1, set={"b": 2}), Reopen(), Get(2), Get(1))


@law(
    "durability.metadata-survives",
    level=Level.MUST,
    stake=Stake.METADATA,
    source=RESTART,
    lens="get:metadata* list:rows",
    needs=STORE,
    after=("durability.checkpoints-survive", "metadata.keeps-values", "list.filter"),
    meaning="After a restart history cannot be filtered, and steps are counted anew.",
)
def metadata_survives() -> Iterator[Program]:
    """After closing and opening the store, metadata is there and filters match it."""
    meta = {"source": "update", "step": 3, "user": "u", "deep": {"k": [1, None]}}
    yield program(Put(1, meta=meta), Put(2, 1), Reopen(), Get(1), List())
    yield program(Put(1, meta=meta), Put(2, 1), Reopen(), List(filter={"user": "u"}))


@law(
    "durability.writes-survive",
    level=Level.MUST,
    stake=Stake.LOST,
    source="engine: finished tasks of an interrupted step are known by their stored writes alone",
    lens="get:pending_writes*",
    needs=STORE,
    after=(
        "durability.checkpoints-survive",
        "writes.before-checkpoint",
        "writes.none-is-a-value",
        "writes.many-in-order",
        "writes.same-channel-twice",
        "writes.last-wins-on-reserved-channels",
    ),
    focus="reopen",
    meaning="Finished tools run again after a restart.",
)
def writes_survive() -> Iterator[Program]:
    """After closing and opening the store, all pending writes are there."""
    yield program(
        Put(1, set={"a": "x"}),
        Writes(1, "task-2", (("a", "one"), ("b", None), ("a", ["two"]))),
        Writes(1, "task-1", (("__interrupt__", "sure?"),)),
        Writes(1, "task-3", tuple(("a", n) for n in range(12))),
        Reopen(),
        Get(1),
        List(),
        Writes(1, "task-4", (("__resume__", "yes"),)),
        Reopen(),
        Get(1),
    )
    yield program(Writes(1, items=(("a", "early"),)), Reopen(), Put(1), Get(1))


@law(
    "durability.deletion-survives",
    level=Level.MUST,
    stake=Stake.KEPT,
    source=RESTART,
    lens="list:rows get:pending_writes*",
    needs=(*STORE, "delete_thread"),
    after=("durability.checkpoints-survive", "delete.complete", "delete.id-reusable"),
    meaning="Deleted conversations are back after a restart.",
)
def deletion_survives() -> Iterator[Program]:
    """A thread that was deleted is still gone after closing and opening the store."""
    yield program(
        Put(1, set={"a": "x"}),
        Writes(1, items=(("a", "w"),)),
        DeleteThread(),
        Reopen(),
        Get(),
        List(),
    )
    yield program(Put(1), DeleteThread(), Reopen(), Put(2), Get(2), List())


@law(
    "durability.others-see-checkpoints",
    level=Level.MUST,
    stake=Stake.LOST,
    source=OTHERS,
    lens=f"list:rows {VALUES} get:metadata*",
    needs=STORE,
    after=("durability.metadata-survives", "list.id"),
    meaning="A second worker continues from an old state, or from nothing.",
    reports=("PostHog/posthog#34648",),
)
def others_see_checkpoints() -> Iterator[Program]:
    """A checkpoint is seen, whole, by a second handle on the store as soon as put has returned."""
    yield program(
        Put(1, set={"a": ["x"]}),
        Get(1, handle=1),
        Put(2, 1, set={"b": {"k": 1}}),
        Get(2, handle=1),
        List(handle=1),
        Put(3, 2, set={"a": ["theirs"]}, handle=1),
        Get(3),
    )


@law(
    "durability.others-see-writes",
    level=Level.MUST,
    stake=Stake.LOST,
    source=OTHERS,
    lens="get:pending_writes*",
    needs=STORE,
    after=("durability.writes-survive", "durability.others-see-checkpoints"),
    meaning="If the process dies, tools that finished run again: the write was never committed.",
)
def others_see_writes() -> Iterator[Program]:
    """Writes are seen by a second handle on the store as soon as put_writes has returned."""
    yield program(
        Put(1),
        Get(1, handle=1),
        Writes(1, "task-1", (("a", "done"),)),
        Get(1, handle=1),
        Writes(1, "task-2", (("a", "theirs"),), handle=1),
        Get(1),
        List(),
    )


@law(
    "durability.handles-agree-on-latest",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source=OTHERS,
    lens=f"list:order {VALUES} get:config* get:id",
    needs=STORE,
    after=("durability.others-see-checkpoints",),
    meaning="Two workers answer the same user from two different states.",
    reports=("langgraph4j/langgraph4j#348",),
)
def handles_agree_on_latest() -> Iterator[Program]:
    """Two handles name the same latest checkpoint, whoever stored it."""
    yield program(
        Put(1, set={"a": 1}),
        Get(handle=1),
        Put(2, 1, set={"a": 2}, handle=1),
        Get(),
        Get(handle=1),
        Put(3, 2, set={"a": 3}),
        Get(handle=1),
        Get(),
    )


@law(
    "durability.two-writers-of-one-head",
    level=Level.MUST,
    stake=Stake.LOST,
    source="data: two runs that start from one checkpoint leave two children of it",
    lens=f"list:rows {VALUES} get:parent_config* get:pending_writes*",
    needs=STORE,
    after=("durability.others-see-checkpoints", "durability.others-see-writes"),
    meaning="One of two turns that came at once is forgotten.",
    reports=("alibaba/spring-ai-alibaba#4792",),
)
def two_writers_of_one_head() -> Iterator[Program]:
    """Two handles that store children of one checkpoint both keep theirs, with values and writes."""
    yield program(
        Put(1, set={"a": ["head"]}),
        Get(1, handle=1),
        Put(2, 1, set={"a": ["mine"]}),
        Put(3, 1, set={"a": ["theirs"]}, handle=1),
        Writes(2, "task-1", (("a", "mine"),)),
        Writes(3, "task-1", (("a", "theirs"),), handle=1),
        Get(2),
        Get(3),
        Get(2, handle=1),
        Get(3, handle=1),
        List(),
        List(handle=1),
    )


@law(
    "durability.others-see-deletion",
    level=Level.MUST,
    stake=Stake.KEPT,
    source=OTHERS,
    lens="list:rows get:pending_writes*",
    needs=(*STORE, "delete_thread"),
    after=("durability.deletion-survives", "durability.others-see-writes"),
    meaning="A deleted conversation goes on in another worker.",
)
def others_see_deletion() -> Iterator[Program]:
    """A thread that was deleted is gone for a second handle at once."""
    yield program(
        Put(1, set={"a": "x"}),
        Writes(1, items=(("a", "w"),)),
        Get(1, handle=1),
        DeleteThread(),
        Get(handle=1),
        List(handle=1),
        Put(1, handle=1),
        Get(1, handle=1),
    )
