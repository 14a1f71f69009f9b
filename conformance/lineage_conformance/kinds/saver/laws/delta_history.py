"""get_delta_channel_history: what a delta channel is rebuilt from.

A delta channel stores its whole value only now and then; in between, its value is the last stored one
with the writes of every step since. These laws read the seed and the writes, not the folded value.
"""

from __future__ import annotations

from collections.abc import Iterator

from lineage_conformance import zoo
from lineage_conformance.kinds.saver.operations import DeltaHistory, Put, Writes
from lineage_conformance.kinds.saver.program import Program, program
from lineage_conformance.law import Level, Stake, law

CONTRACT = "BaseCheckpointSaver.get_delta_channel_history: walks ancestors by parent_config; "
NEEDS = ("get_delta_channel_history",)
VERSIONS = ("langgraph-checkpoint>=4.1.0",)
LENS = "delta_history:*"
REBUILT = "Reloaded state differs from what the run returned."
FIRST, SECOND, THIRD = (f"~__pregel_push, {n:010d}" for n in range(3))


@law(
    "delta_history.equals-parent-walk",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source=CONTRACT + "the return contract is fixed there for every saver",
    lens=LENS,
    versions=VERSIONS,
    needs=NEEDS,
    after=("fork.parents", "fork.siblings-keep-their-writes", "values.old-ones-stay"),
    meaning=REBUILT,
    reports=("langchain-ai/langgraph#8534", "langchain-ai/langgraph#8443"),
)
def equals_parent_walk() -> Iterator[Program]:
    """The history of a channel is its ancestors' writes, oldest first, from the nearest stored value on."""
    yield program(
        Put(1, set={"d": ["old"]}),
        Writes(1, "task-1", (("d", "before the seed"),)),
        Put(2, 1, set={"d": ["seed"]}),
        Put(3, 2, empty=("d",)),
        Writes(3, "task-2", (("d", "two"), ("other", 1), ("d", "three"))),
        Put(4, 3, empty=("d",)),
        Put(5, 4, empty=("d",)),
        DeltaHistory(5),
        DeltaHistory(4),
        DeltaHistory(),
    )


@law(
    "delta_history.starts-at-the-root-without-seed",
    level=Level.MUST,
    stake=Stake.LOST,
    source=CONTRACT + "without a stored value the seed is left out, and the consumer starts empty",
    lens=LENS,
    versions=VERSIONS,
    needs=NEEDS,
    after=("delta_history.equals-parent-walk",),
    meaning="A channel that has no snapshot yet loses its first writes, or starts from None.",
    reports=("langchain-ai/langgraph#8384",),
)
def starts_at_the_root_without_seed() -> Iterator[Program]:
    """Where no ancestor holds a value, all writes since the root come back and no seed is given."""
    yield program(
        Put(1),
        Writes(1, "task-1", (("d", "one"),)),
        Put(2, 1, empty=("d",)),
        Writes(2, "task-1", (("d", None),)),
        Put(3, 2, empty=("d",)),
        DeltaHistory(3),
        DeltaHistory(thread="nobody"),
    )


@law(
    "delta_history.includes-writes-of-the-seed",
    level=Level.MUST,
    stake=Stake.LOST,
    source="engine: a stored value is the one before the writes of its own checkpoint, which make the child",
    lens=LENS,
    versions=VERSIONS,
    needs=NEEDS,
    after=("delta_history.equals-parent-walk",),
    meaning="The first message after a channel became a delta channel is lost.",
    reports=("langchain-ai/langgraph#8384", "langchain-ai/langgraph#8534"),
)
def includes_writes_of_the_seed() -> Iterator[Program]:
    """The writes stored at the ancestor that gave the seed belong to the history."""
    yield program(
        Put(1, set={"d": ["plain"]}),
        Writes(1, "task-1", (("d", "first"),)),
        Put(2, 1, empty=("d",)),
        DeltaHistory(2),
    )


@law(
    "delta_history.excludes-own-writes",
    level=Level.MUST,
    stake=Stake.REPEATED,
    source=CONTRACT + "writes at the target itself are pending for the next step",
    lens=LENS,
    versions=VERSIONS,
    needs=NEEDS,
    after=("delta_history.equals-parent-walk",),
    meaning="A write is applied twice when a run is resumed.",
)
def excludes_own_writes() -> Iterator[Program]:
    """The pending writes and the value of the checkpoint that is asked about are not in its history."""
    yield program(
        Put(1, set={"d": ["seed"]}),
        Put(2, 1, empty=("d",)),
        Writes(2, "task-1", (("d", "pending"),)),
        DeltaHistory(2),
        DeltaHistory(),
    )
    yield program(
        Put(1, set={"d": ["own"]}), Writes(1, "task-1", (("d", "pending"),)), DeltaHistory(1)
    )


@law(
    "delta_history.orders-parallel-writes",
    level=Level.MUST,
    stake=Stake.MISORDERED,
    source="engine: applies the writes of one step by task path; another order is another value",
    lens=LENS,
    versions=VERSIONS,
    needs=NEEDS,
    after=(
        "delta_history.equals-parent-walk",
        "writes.ordered-by-path",
        "writes.many-in-order",
    ),
    meaning="Messages of parallel tasks change places after a reload.",
    reports=("langchain-ai/langgraph#8382", "langchain-ai/langgraphjs#2544"),
)
def orders_parallel_writes() -> Iterator[Program]:
    """Within one step writes come in the order of task path, task id and index."""
    yield program(
        Put(1, set={"d": ["seed"]}),
        Put(2, 1, empty=("d",)),
        Writes(2, "mmm", (("d", "second"),), SECOND),
        Writes(2, "aaa", (("d", "third"), ("d", "fourth")), THIRD),
        Writes(2, "zzz", (("d", "first"),), FIRST),
        Put(3, 2, empty=("d",)),
        DeltaHistory(3),
    )


@law(
    "delta_history.stays-on-its-branch",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source=CONTRACT + "in forked threads only ancestors on the path contribute",
    lens=LENS,
    versions=VERSIONS,
    needs=NEEDS,
    after=(
        "delta_history.includes-writes-of-the-seed",
        "delta_history.excludes-own-writes",
        "delta_history.starts-at-the-root-without-seed",
        "delta_history.orders-parallel-writes",
    ),
    focus="delta",
    meaning="A fork replays the messages of the branch that was left.",
    reports=("langchain-ai/langgraph#8443", "bytedance/deer-flow#4460"),
)
def stays_on_its_branch() -> Iterator[Program]:
    """Writes and values of sibling branches never show in a history."""
    yield program(
        Put(1, set={"d": ["seed"]}),
        Put(2, 1, empty=("d",)),
        Writes(2, "task-1", (("d", "shared"),)),
        Put(3, 2, empty=("d",)),
        Writes(3, "task-2", (("d", "left"),)),
        Put(4, 3, set={"d": ["left snapshot"]}),
        Put(5, 2, empty=("d",)),
        Writes(5, "task-3", (("d", "right"),)),
        Put(6, 5, empty=("d",)),
        DeltaHistory(6),
        DeltaHistory(4),
    )


@law(
    "delta_history.plain-value-is-a-seed",
    level=Level.MUST,
    stake=Stake.LOST,
    source=CONTRACT
    + "a seed may be a plain value, in threads from before the channel was a delta channel",
    lens=LENS,
    versions=VERSIONS,
    needs=NEEDS,
    after=("delta_history.equals-parent-walk",),
    meaning="An old conversation starts again from nothing after an upgrade.",
    reports=("langchain-ai/langgraph#8534",),
)
def plain_value_is_a_seed() -> Iterator[Program]:
    """A list, a text, a number, True and an empty list are seeds, whatever the saver does to store them."""
    for value in (["m"], "text", 7, True, []):
        yield program(
            Put(1, set={"d": ["older"]}),
            Put(2, 1, set={"d": value}),
            Put(3, 2, empty=("d",)),
            Put(4, 3, empty=("d",)),
            DeltaHistory(4),
        )


@law(
    "delta_history.snapshot-is-a-seed",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source=CONTRACT + "a seed is typically a snapshot, and the channel opens only that type",
    lens=LENS,
    versions=VERSIONS,
    needs=NEEDS,
    after=("delta_history.equals-parent-walk",),
    meaning="A snapshot comes back as a list in a list, or as a truth value.",
)
def snapshot_is_a_seed() -> Iterator[Program]:
    """A snapshot of a delta channel comes back as a snapshot, and ends the walk."""
    if zoo.available("delta_snapshot"):
        yield program(
            Put(1, set={"d": ["older"]}),
            Put(2, 1, set={"d": zoo.ref("delta_snapshot")}),
            Put(3, 2, empty=("d",)),
            Writes(3, "task-1", (("d", "after"),)),
            Put(4, 3, empty=("d",)),
            DeltaHistory(4),
        )


@law(
    "delta_history.answers-each-channel",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source=CONTRACT + "each channel ends at its own seed; no channels, empty mapping",
    lens=LENS,
    versions=VERSIONS,
    needs=NEEDS,
    after=("delta_history.equals-parent-walk",),
    meaning="A graph with two delta channels reloads one of them wrongly.",
)
def answers_each_channel() -> Iterator[Program]:
    """Asked about several channels, each gets its own seed and writes; asked about none, nothing."""
    yield program(
        Put(1, set={"d": ["deep"], "e": ["old"]}),
        Put(2, 1, empty=("d",)),
        Writes(2, "task-1", (("d", "d1"), ("e", "e1"))),
        Put(3, 2, set={"e": ["near"]}, empty=("d",)),
        Put(4, 3, empty=("d", "e")),
        Writes(4, "task-1", (("e", "e2"), ("d", "d2"))),
        Put(5, 4, empty=("d", "e")),
        DeltaHistory(5, ("d", "e", "branch:to:n", "never")),
        DeltaHistory(5, ("e",)),
        DeltaHistory(5, ()),
    )


@law(
    "delta_history.stays-in-its-namespace",
    level=Level.MUST,
    stake=Stake.EXPOSED,
    source="engine: a subgraph reloads its own channels, which may be named as those of its parent",
    lens=LENS,
    versions=VERSIONS,
    needs=NEEDS,
    after=("delta_history.equals-parent-walk",),
    meaning="Messages of a subgraph or of another user show up in a conversation.",
)
def stays_in_its_namespace() -> Iterator[Program]:
    """The same checkpoint ids in another thread or namespace never add to a history."""
    places = (("t", ""), ("t", "child"), ("u", ""))
    ops = [
        op
        for thread, ns in places
        for op in (
            Put(1, None, thread, ns, set={"d": [thread + ns]}),
            Put(2, 1, thread, ns, empty=("d",)),
            Writes(2, "task-1", (("d", f"{thread}/{ns}"),), thread=thread, ns=ns),
            Put(3, 2, thread, ns, empty=("d",)),
        )
    ]
    yield program(*ops, *(DeltaHistory(3, ("d",), thread, ns) for thread, ns in places))


@law(
    "delta_history.ids-need-not-rise",
    level=Level.SHOULD,
    stake=Stake.LOST,
    source=CONTRACT
    + "nothing of ids is said; processes whose clocks differ give a child the smaller id",
    lens=LENS,
    versions=VERSIONS,
    needs=NEEDS,
    after=("delta_history.stays-on-its-branch", "delta_history.includes-writes-of-the-seed"),
    focus="delta-any-ids",
    meaning="A thread that moved between hosts loses delta writes.",
    reports=("langchain-ai/langgraphjs#2854",),
)
def ids_need_not_rise() -> Iterator[Program]:
    """The walk follows parents, also where a child's id is smaller than its parent's."""
    yield program(
        Put(5, set={"d": ["seed"]}),
        Put(3, 5, empty=("d",)),
        Writes(3, "task-1", (("d", "two"),)),
        Put(4, 3, empty=("d",)),
        DeltaHistory(4),
        DeltaHistory(3),
    )
