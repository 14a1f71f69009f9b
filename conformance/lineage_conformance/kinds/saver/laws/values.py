"""Channel values: what a checkpoint holds, no more and no less."""

from __future__ import annotations

from collections.abc import Iterator

from lineage_conformance.kinds.saver.operations import Get, Put
from lineage_conformance.kinds.saver.program import Program, program
from lineage_conformance.law import Level, Stake, law


@law(
    "values.complete",
    level=Level.MUST,
    stake=Stake.LOST,
    source="Checkpoint.channel_values: the values of the channels at the time of the checkpoint",
    lens="get:channel_values*",
    after=("put.is-readable",),
    meaning="State that an earlier step wrote is gone after a reload.",
    reports=(
        "langchain-ai/langgraphjs#2334",
        "langchain-ai/langgraph#8083",
        "langchain-ai/langgraphjs#577",
    ),
)
def complete() -> Iterator[Program]:
    """A checkpoint holds the values of all its channels, those that earlier steps wrote included."""
    yield program(Put(1, set={"a": "x", "branch:to:n": None}), Get(1), Get())
    yield program(Put(1, set={"a": "x", "b": [1]}), Put(2, 1, set={"b": [1, 2]}), Get(2), Get())
    yield program(Put(1, set={"a": "x"}), Put(2, 1), Put(3, 2, set={"b": 1}), Get(3))


@law(
    "values.empty-is-not-none",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source="engine: a channel without a value is empty, one whose value is None is not",
    lens="get:channel_values*",
    after=("values.complete",),
    meaning="A node is triggered by a value that nobody wrote, or a None is forgotten.",
)
def empty_is_not_none() -> Iterator[Program]:
    """A channel that has a version but no value is absent from the values; a None is a value."""
    yield program(Put(1, set={"a": None}), Get(1))
    yield program(Put(1, set={"a": "x"}, empty=("e",)), Get(1))
    yield program(Put(1, set={"a": 0, "b": "", "c": [], "d": False, "f": {}}), Get(1))


@law(
    "values.removed-stay-removed",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source="engine: a channel that was consumed has no value any more, and must not be consumed twice",
    lens="get:channel_values*",
    after=("values.empty-is-not-none",),
    focus="line",
    meaning="A value that was consumed comes back and triggers its node again.",
)
def removed_stay_removed() -> Iterator[Program]:
    """A channel that was emptied or removed does not get its parent's value back."""
    yield program(Put(1, set={"a": "x", "b": 1}), Put(2, 1, empty=("a",)), Get(2))
    yield program(Put(1, set={"a": "x", "b": 1}), Put(2, 1, drop=("a",)), Get(2))
    yield program(
        Put(1, set={"a": "x"}), Put(2, 1, empty=("a",)), Put(3, 2, set={"a": "y"}), Get(3)
    )


@law(
    "values.old-ones-stay",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source="Checkpoint.channel_values: the values at the time of the checkpoint, not of a later one",
    lens="get:channel_values*",
    after=("values.removed-stay-removed",),
    focus="put",
    meaning="Time travel shows, and restarts from, values that were written later.",
    reports=("ag-ui-protocol/ag-ui#2486",),
)
def old_ones_stay() -> Iterator[Program]:
    """A checkpoint keeps its values when later checkpoints change, empty or remove them."""
    yield program(Put(1, set={"a": "x"}), Put(2, 1, set={"a": "y"}), Get(1), Get(2))
    yield program(Put(1, set={"a": "x", "b": 1}), Put(2, 1, empty=("a",), drop=("b",)), Get(1))
