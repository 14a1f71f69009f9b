"""Listing: which rows, in which order, and what is in them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lineage_conformance.kinds.saver.operations import Get, List, Put, Writes
from lineage_conformance.kinds.saver.program import Program, program
from lineage_conformance.law import Level, Stake, law

_READABLE = ("put.is-readable",)
_FILTER = "BaseCheckpointSaver.list: filter is a criterion that the returned rows match"


def _line(*metas: dict[str, Any]) -> tuple[Put, ...]:
    """A line of checkpoints 1, 2, … with these metadata."""
    return tuple(Put(n, n - 1 or None, meta=meta) for n, meta in enumerate(metas, 1))


_STEPS = _line(
    {"source": "input", "step": -1},
    {"source": "loop", "step": 0},
    {"source": "loop", "step": 1},
    {"source": "update", "step": 1},
)


@law(
    "list.rows-equal-get-tuple",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source="engine: get_state_history builds each state from a row of list, get_state from get_tuple",
    lens="list:row.config* list:row.parent_config* list:row.metadata* list:row.v list:row.id list:row.ts"
    " list:row.channel_* list:row.versions_seen* list:row.updated_channels*",
    after=(
        "put.keeps-every-field",
        "values.old-ones-stay",
        "versions.minted-come-back",
        "fork.branches-are-independent",
        "metadata.keeps-values",
    ),
    focus="fork",
    meaning="The history shows other states than those that a run would resume from.",
)
def rows_equal_get_tuple() -> Iterator[Program]:
    """Every field of a row of list is what get_tuple returns for that checkpoint."""
    meta = {"source": "loop", "step": 1, "parents": {"": "x"}, "notes": [None, "é"]}
    yield program(
        Put(1, set={"a": ["x"], "n": None}, seen=True, meta=meta),
        Put(2, 1, set={"b": {"k": 1}}, empty=("e",), seen=True),
        Put(3, 1, set={"a": ["y"]}, drop=("n",)),
        Writes(2, items=(("a", "w"),)),
        List(),
        List(limit=1),
    )


@law(
    "list.newest-first",
    level=Level.MUST,
    stake=Stake.MISORDERED,
    source="engine: time travel takes the first row as the newest; Checkpoint.id sorts checkpoints",
    lens="list:order",
    after=(*_READABLE, "latest.is-largest-id"),
    meaning="The history is upside down, and a subgraph resumes from the wrong state.",
    reports=("redis-developer/langgraph-redis#106", "langchain-ai/langgraph#775"),
)
def newest_first() -> Iterator[Program]:
    """Within a thread and namespace rows come by id, the largest first, whatever order they were put in."""
    yield program(Put(1), Put(2, 1), Put(3, 2), List())
    yield program(Put(2), Put(1, 2), Put(3, 1), List())
    yield program(*(Put(n, n - 1 or None) for n in range(1, 13)), List())


@law(
    "list.before",
    level=Level.MUST,
    stake=Stake.METADATA,
    source="BaseCheckpointSaver.list: before lists the checkpoints created before that one; engine: time"
    " travel loads the state of a subgraph by it",
    lens="list:rows",
    after=_READABLE,
    meaning="Paging through the history repeats rows; time travel shows a subgraph's later state.",
    reports=("aaronsu11/langgraph-checkpoint-dynamodb#9",),
)
def before() -> Iterator[Program]:
    """before gives exactly the rows whose id is smaller, that checkpoint itself not among them."""
    yield program(Put(1), Put(2, 1), Put(3, 2), List(before=3), List(before=2), List(before=1))
    yield program(Put(1), Put(3, 1), Put(2, 1), List(before=3), List(before=2))
    yield program(Put(1), Put(3, 1), List(before=2), List(before=9))
    yield program(Put(1, ns="child"), Put(3, 1, ns="child"), Put(2), List(ns="child", before=2))


@law(
    "list.limit",
    level=Level.MUST,
    stake=Stake.METADATA,
    source="BaseCheckpointSaver.list: limit is the maximum number of checkpoints to return",
    lens="list:rows",
    after=("put.is-readable", "list.newest-first"),
    meaning="A page of the history is the whole history, or the wrong part of it.",
)
def limit() -> Iterator[Program]:
    """limit gives the newest rows, as many as it says or as there are."""
    yield program(
        Put(1), Put(2, 1), Put(3, 2), List(limit=1), List(limit=2), List(limit=3), List(limit=9)
    )


@law(
    "list.limit-zero",
    level=Level.SHOULD,
    stake=Stake.METADATA,
    source="BaseCheckpointSaver.list: limit is the maximum number; LangGraph's own savers return nothing",
    lens="list:rows",
    after=("list.limit",),
    meaning="A caller that wants nothing is sent everything.",
)
def limit_zero() -> Iterator[Program]:
    """A limit of zero gives no rows."""
    yield program(Put(1), List(limit=0))


@law(
    "list.id",
    level=Level.SHOULD,
    stake=Stake.METADATA,
    source="BaseCheckpointSaver.list: config is the base configuration for filtering checkpoints",
    lens="list:rows",
    after=_READABLE,
    meaning="The history of one checkpoint is the history of the thread.",
)
def by_id() -> Iterator[Program]:
    """A config with a checkpoint id lists that checkpoint only."""
    yield program(Put(1), Put(2, 1), Put(3, 2), List(id=2), List(id=3))


@law(
    "list.filter",
    level=Level.MUST,
    stake=Stake.METADATA,
    source=_FILTER,
    lens="list:rows",
    after=("put.is-readable", "metadata.round-trip"),
    meaning="A search finds nothing, or everything.",
    reports=("langchain-ai/langgraphjs#581",),
)
def by_filter() -> Iterator[Program]:
    """filter gives exactly the rows whose metadata has that value under that key."""
    yield program(*_STEPS, List(filter={"source": "loop"}), List(filter={"source": "input"}))
    yield program(
        *_STEPS, List(filter={"step": -1}), List(filter={"step": 1}), List(filter={"step": 7})
    )
    yield program(*_STEPS, List(filter={"source": "fork"}), List(filter={}))


@law(
    "list.filter-never-ignores-a-key",
    level=Level.MUST,
    stake=Stake.EXPOSED,
    source=_FILTER,
    lens="list:rows",
    after=("list.filter",),
    meaning="A search for one user's checkpoints returns those of all users.",
    reports=("langchain-ai/langgraphjs#2504",),
)
def filter_never_ignores_a_key() -> Iterator[Program]:
    """A filter on a key that no row has gives no rows."""
    yield program(Put(1), List(filter={"user": "u1"}))
    mine = {"source": "loop", "step": 1, "user": "u1"}
    yield program(Put(1, meta=mine), List(filter={"user": "u1"}), List(filter={"user": "u2"}))


@law(
    "list.filter-several-keys",
    level=Level.MUST,
    stake=Stake.METADATA,
    source=_FILTER,
    lens="list:rows",
    after=("list.filter", "list.filter-never-ignores-a-key"),
    meaning="A search that says more finds more.",
)
def filter_several_keys() -> Iterator[Program]:
    """A filter with several keys gives the rows that match all of them."""
    yield program(*_STEPS, List(filter={"source": "loop", "step": 1}))
    yield program(*_STEPS, List(filter={"source": "update", "step": 0}))
    yield program(*_STEPS, List(filter={"user": "u1", "source": "loop"}))


@law(
    "list.filter-value-types",
    level=Level.SHOULD,
    stake=Stake.METADATA,
    source=f"{_FILTER}; LangGraph's own savers agree on these types",
    lens="list:rows",
    after=("list.filter-never-ignores-a-key", "metadata.keeps-values"),
    meaning="A search finds nothing, depending on the type of what is searched for.",
    reports=("langchain-ai/langgraphjs#581", "oracle/langchain-oracle#293"),
)
def filter_value_types() -> Iterator[Program]:
    """A filter matches text, numbers, booleans, None and whole nested values, and tells 1 from "1"."""
    for values in ((True, False), (0.5, 1.5), (1, "1"), (None, "None")):
        yield program(*_line(*({"source": "loop", "k": v} for v in values)),
                      *(List(filter={"k": v}, lenient=True) for v in values))  # fmt: skip
    yield program(
        *_line(*({"source": "loop", "k": v} for v in ("é", 'it\'s "q"', "a%b", "ab", ""))),
        *(List(filter={"k": v}, lenient=True) for v in ("é", 'it\'s "q"', "a%b", "ab", "")),
    )
    yield program(
        *_line({"source": "loop", "k": {"n": [1, None]}}, {"source": "loop", "k": {"n": [2]}}),
        List(filter={"k": {"n": [1, None]}}, lenient=True),
        List(filter={"k": {"n": [3]}}, lenient=True),
    )


@law(
    "list.limit-counts-matches",
    level=Level.MUST,
    stake=Stake.METADATA,
    source="BaseCheckpointSaver.list: limit is about the checkpoints that are returned",
    lens="list:rows",
    after=("list.limit", "list.filter", "list.before"),
    meaning="A search says that there is nothing, because the match was not on the first page.",
)
def limit_counts_matches() -> Iterator[Program]:
    """limit counts the rows that filter and before leave."""
    yield program(
        *_STEPS, List(filter={"source": "input"}, limit=1), List(filter={"source": "loop"}, limit=2)
    )
    yield program(*_STEPS, List(before=3, limit=1), List(before=3, limit=2))


@law(
    "list.combinations",
    level=Level.SHOULD,
    stake=Stake.METADATA,
    source="BaseCheckpointSaver.list: every criterion that is given counts",
    lens="list:rows list:order",
    after=("list.limit-counts-matches", "list.limit-zero", "list.id", "list.filter-several-keys"),
    focus="list",
    meaning="One of several criteria is silently ignored.",
)
def combinations() -> Iterator[Program]:
    """Id, filter, before and limit can be combined: a row is listed if it meets all of them."""
    yield program(
        *_STEPS,
        List(filter={"source": "loop"}, before=3),
        List(filter={"step": 1}, before=4, limit=1),
        List(filter={"source": "loop"}, before=2, limit=1),
    )
    yield program(
        *_STEPS, List(id=2, filter={"source": "loop"}), List(id=2, filter={"source": "input"})
    )
    yield program(*_STEPS, List(id=2, before=3), List(id=3, before=3), List(id=2, limit=1))


@law(
    "list.empty-namespace-is-root",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source="engine: get_state_history of a root graph lists with the empty namespace",
    lens="list:rows",
    after=(*_READABLE, "namespaces.are-apart"),
    meaning="The history of a graph shows its subgraphs' states as its own.",
)
def empty_namespace_is_root() -> Iterator[Program]:
    """Listing the empty namespace gives the rows of the root graph only."""
    yield program(Put(1), Put(2, ns="child"), Put(3, ns="child|sub"), List(), List(limit=1))


@law(
    "list.whole-thread",
    level=Level.SHOULD,
    stake=Stake.METADATA,
    source="LangGraph's own savers agree: a config without a namespace does not filter by one",
    lens="list:rows",
    after=_READABLE,
    meaning="A tool that cleans up or copies a thread misses its subgraphs.",
)
def whole_thread() -> Iterator[Program]:
    """A config without a namespace lists the checkpoints of all namespaces of its thread."""
    yield program(Put(1), Put(2, ns="child"), Put(3, thread="u"), List(ns=None))


@law(
    "list.all-threads",
    level=Level.SHOULD,
    stake=Stake.METADATA,
    source="BaseCheckpointSaver.list: the config may be None",
    lens="list:rows",
    after=_READABLE,
    meaning="Tools that look for threads find none.",
)
def all_threads() -> Iterator[Program]:
    """Without a config the checkpoints of all threads are listed."""
    yield program(Put(1), Put(2, thread="u"), Put(3, thread="u", ns="child"), List(None, None))


@law(
    "list.unknown-thread-is-empty",
    level=Level.MUST,
    stake=Stake.EXPOSED,
    source="BaseCheckpointSaver.get_tuple returns None if the requested checkpoint is not found",
    lens="get:found list:rows",
    after=_READABLE,
    meaning="The first run of a new conversation fails, or starts from the state of another.",
)
def unknown_thread_is_empty() -> Iterator[Program]:
    """A thread or namespace that was never put is not found: None from get_tuple, no rows from list."""
    yield program(Get(thread="nobody"), List("nobody"))
    yield program(Put(1), Get(ns="child"), List(ns="child"))
