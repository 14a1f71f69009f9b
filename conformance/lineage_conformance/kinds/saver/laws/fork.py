"""Forks: two children of one checkpoint know their parent and nothing of each other."""

from __future__ import annotations

from collections.abc import Iterator

from lineage_conformance.kinds.saver.operations import Get, List, Put, Writes
from lineage_conformance.kinds.saver.program import Program, program
from lineage_conformance.law import Level, Stake, law

_FORKED = (Put(1, set={"a": "root"}), Put(2, 1, set={"a": "left"}), Put(3, 1, set={"a": "right"}))
_ALL = (Get(1), Get(2), Get(3))


@law(
    "fork.parents",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source="BaseCheckpointSaver.get_delta_channel_history walks from parent_config to parent_config",
    lens="get:parent_config*",
    after=("fork.removes-nothing",),
    meaning="The history of a branch leads into another branch, or ends too soon.",
    reports=("bytedance/deer-flow#3874",),
)
def parents() -> Iterator[Program]:
    """parent_config names the checkpoint in the config that put was given, and is None for a root."""
    yield program(Put(1), Put(2, 1), Put(3, 2), Get(1), Get(2), Get(3))
    yield program(*_FORKED, *_ALL)
    yield program(Put(1), Put(2, 1), Put(3, 2), Put(4, 1), Put(5, 4), Get(4), Get(5), Get())
    yield program(Put(1), Put(2, 1, via="returned"), Put(3, 1, via="returned"), Get(2), Get(3))
    yield program(Put(1, ns="child"), Put(2, 1, ns="child"), Get(2, ns="child"))


@law(
    "fork.removes-nothing",
    level=Level.MUST,
    stake=Stake.LOST,
    source="data: a fork is a new branch, the old one can still be read and resumed",
    lens="get:found list:rows",
    after=("put.is-readable",),
    meaning="Editing an old message deletes the conversation that followed it.",
)
def removes_nothing() -> Iterator[Program]:
    """Putting a child under an older checkpoint leaves every other checkpoint where it is."""
    yield program(Put(1), Put(2, 1), Put(3, 2), Put(4, 1), Get(1), Get(2), Get(3), List())


@law(
    "fork.siblings-keep-their-values",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source="Checkpoint.channel_values: the values of *this* checkpoint, whatever its siblings hold",
    lens="get:channel_values*",
    after=("fork.removes-nothing", "values.old-ones-stay"),
    meaning="A regenerated answer overwrites the first one, or shows in its place.",
    reports=("langchain-ai/langgraph#8443",),
)
def siblings_keep_their_values() -> Iterator[Program]:
    """Two children of one checkpoint that set the same channel each keep their own value."""
    yield program(*_FORKED, *_ALL, Get())
    yield program(
        Put(1, set={"a": "root"}), Put(2, 1, set={"a": "left"}), Put(3, 1, empty=("a",)), *_ALL
    )
    yield program(Put(1, ns="c"), Put(2, 1, ns="c", set={"a": 2}), Put(3, 1, ns="c", set={"a": 3}),
                  Get(2, ns="c"), Get(3, ns="c"))  # fmt: skip


@law(
    "fork.siblings-keep-their-writes",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source="BaseCheckpointSaver.put_writes: writes are linked to one checkpoint",
    lens="get:pending_writes*",
    after=("fork.removes-nothing", "writes.round-trip"),
    meaning="A fork replays the writes of the branch it left.",
    reports=("langchain-ai/langgraph#8443", "langchain-ai/langgraphjs#2737"),
)
def siblings_keep_their_writes() -> Iterator[Program]:
    """Pending writes of a checkpoint show on that checkpoint only, not on a sibling, parent or child."""
    yield program(
        *_FORKED, Writes(2, items=(("a", "of left"),)), Writes(3, items=(("a", "of right"),)), *_ALL
    )
    yield program(*_FORKED, Writes(2, items=(("a", "of left"),)), *_ALL)
    yield program(*_FORKED, Writes(1, items=(("a", "of the root"),)), *_ALL)


@law(
    "fork.siblings-keep-their-metadata",
    level=Level.MUST,
    stake=Stake.METADATA,
    source="CheckpointMetadata: what is associated with one checkpoint",
    lens="get:metadata*",
    after=("fork.removes-nothing", "metadata.round-trip"),
    meaning="Step, source and run of a branch are those of another.",
)
def siblings_keep_their_metadata() -> Iterator[Program]:
    """Two children of one checkpoint, made at the same step, each keep their own metadata."""
    yield program(
        Put(1),
        Put(2, 1, meta={"source": "loop", "step": 1, "run_id": "r1"}),
        Put(3, 1, meta={"source": "fork", "step": 1, "run_id": "r2"}),
        *_ALL,
    )


@law(
    "fork.branches-are-independent",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source="data: what branches hold is theirs at any depth, as the parent links say",
    lens="get:channel_values* get:pending_writes* get:metadata* get:parent_config*",
    after=(
        "fork.parents",
        "fork.siblings-keep-their-values",
        "fork.siblings-keep-their-writes",
        "fork.siblings-keep-their-metadata",
        "writes.tasks-are-apart",
    ),
    focus="fork",
    meaning="Two branches that went on for a while show each other's state.",
)
def branches_are_independent() -> Iterator[Program]:
    """Descendants of two siblings, at any depth, hold what their own line wrote and nothing else."""
    yield program(
        *_FORKED,
        Put(4, 2, set={"b": "left"}),
        Put(5, 3, set={"b": "right"}),
        Writes(4, items=(("b", 4),)),
        Writes(5, items=(("b", 5),)),
        *(Get(number) for number in range(1, 6)),
    )
    yield program(
        *_FORKED,
        Put(4, 2, set={"b": "left"}),
        Put(5, 4, set={"b": "left again"}),
        Put(6, 1, set={"b": "third"}),
        Put(7, 6, set={"a": "third"}),
        *(Get(number) for number in range(1, 8)),
    )
