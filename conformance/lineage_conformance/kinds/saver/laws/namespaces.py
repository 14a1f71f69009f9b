"""Threads and namespaces: nothing of one ever shows in another, however near their names are."""

from __future__ import annotations

from collections.abc import Iterator

from lineage_conformance.kinds.saver.operations import DeleteThread, Get, List, Op, Put, Writes
from lineage_conformance.kinds.saver.program import Program, program
from lineage_conformance.law import Level, Stake, law

_LENS = "get:config* get:channel_values* get:pending_writes* list:rows"
_AFTER = (
    "put.is-readable",
    "values.complete",
    "writes.round-trip",
    "latest.names-itself",
    "list.unknown-thread-is-empty",
)
_KEY = "BaseCheckpointSaver: thread_id is the primary key to store and retrieve checkpoints"


def _threads(*labels: str, lenient: bool = False) -> Program:
    """One checkpoint with a write in each thread; then each thread is read."""
    ops: list[Op] = []
    for number, label in enumerate(labels, 1):
        ops.append(Put(number, thread=label, set={"a": number}, lenient=lenient))
        ops.append(Writes(number, items=(("a", number),), thread=label, lenient=lenient))
    for label in labels:
        ops += [Get(thread=label, lenient=lenient), List(label, lenient=lenient)]
    return Program(tuple(ops))


def _namespaces(*names: str, lenient: bool = False) -> Program:
    """One checkpoint with a write in each namespace; then each namespace is read."""
    ops: list[Op] = []
    for number, ns in enumerate(names, 1):
        ops.append(Put(number, ns=ns, set={"a": number}, lenient=lenient))
        ops.append(Writes(number, items=(("a", number),), ns=ns, lenient=lenient))
    for ns in names:
        ops.append(Get(ns=ns, lenient=lenient))
        ops += [List(ns=ns, lenient=lenient)] if ns else []
    return Program(tuple(ops))


@law(
    "namespaces.threads-are-apart",
    level=Level.MUST,
    stake=Stake.EXPOSED,
    source=_KEY,
    lens=_LENS,
    after=_AFTER,
    meaning="One user sees, and continues, the conversation of another.",
    reports=("aegra/aegra#468",),
)
def threads_are_apart() -> Iterator[Program]:
    """Threads whose ids share a beginning, an ending or differ only in case see nothing of each other."""
    yield _threads("t", "t1", "T")
    yield _threads("a-b", "a", "b", "a-B")
    yield program(Put(1, thread="t1"), Get(thread="t"), List("t"))


@law(
    "namespaces.are-apart",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source="engine: each subgraph keeps its state under the same thread in a namespace of its own",
    lens=_LENS,
    after=_AFTER,
    meaning="A subgraph starts from the state of another, or the root graph from that of a subgraph.",
    reports=("langchain-ai/deepagents#2781", "skamalj/langgraph_checkpoint_firestore#6"),
)
def are_apart() -> Iterator[Program]:
    """Namespaces of a thread, also one that begins with the other, see nothing of each other."""
    yield _namespaces("", "child", "child2", "Child")
    yield _namespaces("child", "child|sub", "child:1", "child:1|sub:2")
    yield program(Put(1), Put(2, ns="child"), Get(), Get(ns="child"))
    yield program(Put(1, ns="child|sub"), Get(ns="child"), List(ns="child"), Get())


@law(
    "namespaces.absent-is-root",
    level=Level.MUST,
    stake=Stake.FAILS,
    source="engine: a run at the root and get_state call get_tuple without a namespace",
    lens="get:config.configurable.thread_id get:config.configurable.checkpoint_id get:channel_values*",
    after=("put.is-readable", "latest.is-largest-id", "namespaces.are-apart"),
    meaning="Every run fails at its first step, or starts from a subgraph's state.",
)
def absent_is_root() -> Iterator[Program]:
    """get_tuple with a config that names no namespace reads the root namespace."""
    yield program(Put(1, set={"a": "root"}), Get(ns=None), Get(1, ns=None))
    yield program(Put(1, set={"a": "root"}), Put(2, ns="child", set={"a": "child"}), Get(ns=None))
    yield program(Put(1, ns="child"), Get(ns=None))


@law(
    "namespaces.absent-is-named",
    level=Level.MUST,
    stake=Stake.FAILS,
    source="engine: update_state takes the namespace from the config of the tuple that it read without one",
    lens="get:config.configurable.checkpoint_ns",
    after=("namespaces.absent-is-root", "latest.names-itself"),
    meaning="update_state fails on every thread.",
)
def absent_is_named() -> Iterator[Program]:
    """The latest checkpoint, asked for without a namespace, names the root namespace in its config."""
    yield program(Put(1), Get(ns=None))


@law(
    "namespaces.odd-names-are-apart",
    level=Level.MUST,
    stake=Stake.EXPOSED,
    source=_KEY,
    lens=_LENS,
    after=("namespaces.threads-are-apart", "namespaces.are-apart"),
    meaning="Whoever may choose a thread id can read the threads of others.",
    reports=("redis-developer/langgraph-redis#39",),
)
def odd_names_are_apart() -> Iterator[Program]:
    """Separators, wildcards, accents, normal forms and long ids make no two names the same."""
    yield _threads("a%", "ab", "a_", "a*", "a?", "a", lenient=True)
    yield _threads("a|b", "a:b", "a/b", "a\\b", "a b", "a  b", "a\\", lenient=True)
    yield _threads("\u00e9", "e\u0301", "e", "\u00c9", "\u212a", "k", "\u00df", "ss", lenient=True)
    yield _threads("x" * 300 + "1", "x" * 300 + "2", "x" * 300, lenient=True)
    yield _threads("'", '"', "''", "a'--", "a ", " a", "A", "a", lenient=True)
    yield _namespaces(
        "a%", "ab", "\u00e9", "e\u0301", "a/b", "x" * 300 + "1", "x" * 300 + "2", lenient=True
    )


@law(
    "namespaces.edges-do-not-shift",
    level=Level.MUST,
    stake=Stake.EXPOSED,
    source=_KEY,
    lens=_LENS,
    after=("namespaces.odd-names-are-apart",),
    meaning="A crafted thread id reaches into a subgraph of another thread.",
    reports=("redis-developer/langgraph-redis#39",),
)
def edges_do_not_shift() -> Iterator[Program]:
    """A separator inside a thread id cannot make thread and namespace look like another pair."""
    for mark in ":|/":
        yield program(
            Put(1, thread=f"a{mark}b", ns="c", set={"a": 1}, lenient=True),
            Writes(1, thread=f"a{mark}b", ns="c", items=(("a", 1),), lenient=True),
            Put(2, thread="a", ns=f"b{mark}c", set={"a": 2}),
            Writes(2, thread="a", ns=f"b{mark}c", items=(("a", 2),)),
            Get(thread=f"a{mark}b", ns="c", lenient=True),
            Get(thread="a", ns=f"b{mark}c"),
            List(f"a{mark}b", "c", lenient=True),
            List("a", f"b{mark}c"),
        )


@law(
    "namespaces.same-id-is-fine",
    level=Level.SHOULD,
    stake=Stake.LOST,
    source="BaseCheckpointSaver.copy_thread: a copied thread has the checkpoints of its source",
    lens="get:found get:channel_values* get:pending_writes* get:metadata* list:rows",
    after=(
        "namespaces.threads-are-apart",
        "namespaces.are-apart",
        "metadata.round-trip",
        "delete.implemented",
    ),
    meaning="A copied thread and its source overwrite each other.",
)
def same_id_is_fine() -> Iterator[Program]:
    """The same checkpoint id in two threads, or in two namespaces, names two checkpoints."""
    yield program(
        Put(1, thread="t", set={"a": "t"}, meta={"source": "loop", "step": 1}),
        Put(1, thread="u", set={"a": "u"}, meta={"source": "fork", "step": 2}),
        Writes(1, thread="u", items=(("a", "of u"),)),
        Get(1, thread="t"),
        Get(1, thread="u"),
        List("t"),
    )
    yield program(
        Put(1, set={"a": "root"}),
        Put(1, ns="child", set={"a": "child"}),
        Writes(1, ns="child", items=(("a", "of child"),)),
        Get(1),
        Get(1, ns="child"),
    )
    yield program(
        Put(1, thread="t", set={"a": "t"}),
        Put(1, thread="u", set={"a": "u"}),
        Writes(1, thread="u", items=(("a", "of u"),)),
        DeleteThread("t"),
        Get(1, thread="u"),
        List("u"),
    )


@law(
    "namespaces.deletion-stays-inside",
    level=Level.MUST,
    stake=Stake.DELETED,
    source="BaseCheckpointSaver.delete_thread: deletes what belongs to one specific thread id",
    lens="get:found get:channel_values* get:pending_writes* list:rows",
    after=("namespaces.threads-are-apart", "namespaces.edges-do-not-shift", "delete.implemented"),
    needs=("delete_thread",),
    focus="namespaces",
    meaning="Deleting one conversation deletes others.",
)
def deletion_stays_inside() -> Iterator[Program]:
    """Deleting a thread leaves threads alone whose ids are near, match as a pattern, or differ in case."""
    for gone, near in (
        ("t", ("t1", "T")),
        ("a%", ("ab", "a")),
        ("a_", ("ab",)),
        ("a*", ("ab", "a")),
    ):
        lenient = gone != "t"
        puts = [Put(n, thread=label, set={"a": n}) for n, label in enumerate(near, 2)]
        writes = [Writes(n, thread=label, items=(("a", n),)) for n, label in enumerate(near, 2)]
        reads: list[Op] = []
        for label in near:
            reads += [Get(thread=label), List(label)]
        yield program(
            Put(1, thread=gone, lenient=lenient),
            *puts,
            *writes,
            DeleteThread(gone, lenient=lenient),
            *reads,
        )
