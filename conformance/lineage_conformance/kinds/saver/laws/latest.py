"""The latest checkpoint of a thread, which is what the next run starts from."""

from __future__ import annotations

from collections.abc import Iterator

from lineage_conformance.kinds.saver.operations import Get, Put
from lineage_conformance.kinds.saver.program import Program, program
from lineage_conformance.law import Level, Stake, law


@law(
    "latest.is-largest-id",
    level=Level.MUST,
    stake=Stake.LOST,
    source="Checkpoint.id is unique and monotonically increasing, so it sorts checkpoints",
    lens="get:id",
    after=("put.is-readable",),
    meaning="A run starts from an old state, or from an abandoned branch.",
    reports=("langgraph4j/langgraph4j#347",),
)
def is_largest_id() -> Iterator[Program]:
    """Without an id get_tuple returns the checkpoint with the largest id, whenever it was put."""
    yield program(Put(1), Put(2, 1), Put(3, 2), Get())
    yield program(Put(2), Put(1, 2), Get())
    yield program(Put(1), Put(3, 1), Put(2, 1), Get(), Put(4, 2), Get())
    yield program(
        Put(1, meta={"source": "loop", "step": 5}),
        Put(2, 1, meta={"source": "loop", "step": 0}),
        Get(),
    )


@law(
    "latest.ignores-the-clock",
    level=Level.MUST,
    stake=Stake.LOST,
    source="Checkpoint.id is what sorts; ts has the resolution of a clock that steps back",
    lens="get:id",
    after=("latest.is-largest-id",),
    meaning="Two steps within one tick of the clock, and the older one wins.",
    reports=("langchain-ai/langchain-azure#1057", "langgraph4j/langgraph4j#347"),
)
def ignores_the_clock() -> Iterator[Program]:
    """Checkpoints with equal timestamps, or with timestamps that run backwards, are told apart by id."""
    day = 86400
    yield program(Put(1), Put(1 + day, 1), Get())  # the same time of the same day
    yield program(Put(1), Put(day, 1), Get())  # one second earlier than its parent


@law(
    "latest.names-itself",
    level=Level.MUST,
    stake=Stake.LOST,
    source="engine: the config of the loaded tuple is the parent of the next checkpoint",
    lens="get:config*",
    after=("latest.is-largest-id",),
    meaning="The next step has no parent, and writes go nowhere.",
    reports=("redis-developer/langgraph-redis#64",),
)
def names_itself() -> Iterator[Program]:
    """The config of a tuple that was asked for without an id names thread, namespace and id."""
    yield program(Put(1), Get())
    yield program(Put(1, ns="child"), Get(ns="child"))


@law(
    "latest.is-no-substitute",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source="BaseCheckpointSaver.get_tuple returns the requested checkpoint, or None if it is not found",
    lens="get:found",
    after=("put.is-readable", "list.unknown-thread-is-empty"),
    meaning="A resume at a checkpoint that is gone goes on from another one.",
)
def is_no_substitute() -> Iterator[Program]:
    """get_tuple with an id that was never put returns None, not the latest checkpoint."""
    yield program(Put(1), Get(2))
    yield program(Put(1), Put(3, 1), Get(2), Get(4))
