"""Facts about reading: `list` and `get_tuple` in corners of which the contract says nothing."""

from __future__ import annotations

from typing import Any

from lineage_conformance.facts import fact
from lineage_conformance.facts.probe import Probe

PAGES = "History that is read page by page shows more or fewer checkpoints."


def _steps(rows: list[Any]) -> list[Any]:
    return [row.metadata["step"] for row in rows]


def _three(p: Probe) -> list[Any]:
    """Three checkpoints in a row with steps 10, 11, 12; their configs."""
    configs: list[Any] = []
    for step in (10, 11, 12):
        parent = configs[-1] if configs else None
        configs.append(p.put(meta={"step": step, "even": step % 2 == 0}, config=parent))
    return configs


@fact("list.limit-zero", PAGES)
def limit_zero(p: Probe) -> Any:
    """How many of three rows list gives with limit 0."""
    _three(p)
    return len(p.rows(limit=0))


@fact("list.newest-first", PAGES)
def newest_first(p: Probe) -> Any:
    """The steps of three checkpoints in the order of list."""
    _three(p)
    return _steps(p.rows())


@fact("list.before-without-id", PAGES)
def before_without_id(p: Probe) -> Any:
    """How many of three rows list gives with a `before` that names no checkpoint."""
    _three(p)
    return len(p.rows(before=p.place()))


@fact("list.filter-limit-before", PAGES)
def filter_limit_before(p: Probe) -> Any:
    """The steps that list gives with a filter, a limit of 1 and a `before` together."""
    _three(p)
    last = p.put(meta={"step": 14, "even": True})
    return _steps(p.rows(filter={"even": True}, limit=1, before=last))


@fact("list.with-checkpoint-id", PAGES)
def with_checkpoint_id(p: Probe) -> Any:
    """The steps that list gives for a config that names one checkpoint."""
    return _steps(p.rows(_three(p)[1]))


@fact("list.without-namespace", "A view over all namespaces shows subgraphs, or ceases to.")
def without_namespace(p: Probe) -> Any:
    """The namespaces that list gives for a config that names none."""
    p.put()
    p.put(config=p.place(checkpoint_ns="child"))
    rows = p.rows(p.place(checkpoint_ns=None))
    return sorted(row.config["configurable"]["checkpoint_ns"] for row in rows)


@fact("list.pending-writes-of-rows", "History shows the results of unfinished steps, or ceases to.")
def pending_writes_of_rows(p: Probe) -> Any:
    """How many pending writes the rows of list carry."""
    p.writes(p.put(), ("a", 1), ("b", 2))
    return [len(row.pending_writes or ()) for row in p.rows()]


@fact("list.unknown-thread", PAGES)
def list_unknown_thread(p: Probe) -> Any:
    """What list gives for a thread that does not exist."""
    return len(p.rows())


@fact("get.unknown-thread")
def unknown_thread(p: Probe) -> Any:
    """What get_tuple gives for a thread that does not exist."""
    return p.get() is None


@fact("get.unknown-id")
def unknown_id(p: Probe) -> Any:
    """What get_tuple gives for a checkpoint that does not exist."""
    p.put()
    return p.get(p.place(checkpoint_id="1ef00000-0000-6000-8000-000000000000")) is None


@fact("get.without-namespace")
def get_without_namespace(p: Probe) -> Any:
    """Whether get_tuple finds a checkpoint for a config without a namespace."""
    p.put()
    return p.get(p.place(checkpoint_ns=None)) is not None


@fact("get.empty-id")
def get_empty_id(p: Probe) -> Any:
    """Whether get_tuple takes an empty checkpoint id for none."""
    p.put()
    return p.get(p.place(checkpoint_id="")) is not None


@fact("get.config-keys", "Code that reads the returned config finds more or fewer keys.")
def get_config_keys(p: Probe) -> Any:
    """The keys of the config that get_tuple returns."""
    p.put()
    return sorted(p.get().config["configurable"])


@fact("get.parent-of-the-first")
def parent_of_the_first(p: Probe) -> Any:
    """The parent config of the first checkpoint of a thread."""
    p.put()
    return p.get().parent_config


@fact("get.latest-by", "The head of a thread is another checkpoint.")
def latest_by(p: Probe) -> Any:
    """Which of two checkpoints is the latest: the one stored last, or the one with the greater id."""
    p.put(meta={"step": 1}, id="1ef00000-0000-6000-8000-000000000009")
    p.put(meta={"step": 2}, id="1ef00000-0000-6000-8000-000000000002")
    return {1: "greater id", 2: "stored last"}[p.get().metadata["step"]]


@fact("get.number-as-thread", "Threads that are named by numbers are lost, found, or refused.")
def number_as_thread(p: Probe) -> Any:
    """Whether a thread that was stored under a number is found by the number, by its text, and the type returned."""
    number = int(p.bench.nonce, 16) % 10**9
    p.put(config=p.place(checkpoint_ns="", thread_id=number))
    by_number, by_text = p.get(p.place(thread_id=number)), p.get(p.place(thread_id=str(number)))
    found = by_number or by_text
    kind = type(found.config["configurable"]["thread_id"]).__name__ if found else None
    return [by_number is not None, by_text is not None, kind]
