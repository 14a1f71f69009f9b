"""Asks the worker for a thread: one process, one pass, limits on both."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pytest_lineage.report import model
from pytest_lineage.run.engine import Options, TargetRun, default_path
from pytest_lineage.show.preview import key
from pytest_lineage.show.thread import Thread, build

MOST_INNER = 8
"""Namespaces that are asked for by name."""

SERVICE = "pytest_lineage.show.reading:Reader"


class Missing(Exception):
    """There is no such thread, namespace or checkpoint. The message says what there is."""


@dataclass(frozen=True)
class Question:
    """What to read. `namespace` None is every one; `limit` is a number of checkpoints, newest first."""

    target: str
    thread: str
    namespace: str | None = None
    limit: int | None = None
    values: bool = False
    op_limit: float = 30.0


def read(asked: Question) -> tuple[Thread, dict[str, Any]]:
    """The thread, and what is known of the target: ``name``, ``class``, ``stopped`` (why the saver gave no more).

    Raises `Missing`; `Unusable` and `SuiteFault` of the engine for a target that cannot be read.
    """
    settings = Options(
        op_limit=asked.op_limit, start_limit=asked.op_limit, service=SERVICE, path=default_path()
    )
    run = TargetRun(asked.target, settings)
    try:
        about = run.start()
        answer = _ask(run, asked, asked.namespace)
        if not answer["rows"]:
            raise Missing(_missing(asked, about, answer))
        rows = answer["rows"]
        cut = asked.limit is not None and len(rows) + answer["foreign"] >= asked.limit
        thread = build(asked.thread, rows, cut)
        inner = [] if asked.namespace is not None else _inner(thread)
        more = [row for name in inner for row in _ask(run, asked, name)["rows"]]
    finally:
        run.close()
    if more:
        thread = build(asked.thread, [*rows, *more], cut)
        thread.notes.append(
            "list() gives the root namespace only; namespaces of subgraphs that stand still were asked for by name"
        )
    about = {**about, "stopped": model.redact(answer["stopped"])}
    if answer["stopped"]:
        thread.notes.append(
            f"list() raised {about['stopped']} after {len(rows):,} checkpoints: what follows is missing"
        )
    if answer["foreign"]:
        thread.notes.append(
            f"list() gave {answer['foreign']:,} checkpoints of another thread or namespace; they are left out"
        )
    return thread, about


def _ask(run: TargetRun, asked: Question, namespace: str | None) -> dict[str, Any]:
    return run.ask(
        "reading the thread", do="read", thread=asked.thread, namespace=namespace,
        limit=asked.limit, values=asked.values,
    )  # fmt: skip


def _inner(thread: Thread) -> list[str]:
    """Namespaces of subgraphs that tasks may stand in, where the saver listed no other than the root.

    Savers differ in what they list without a namespace: all, or the root's checkpoints only.
    """
    if [space.name for space in thread.namespaces] != [""]:
        return []
    tasks = [task for item in thread.checkpoints for task in item.tasks or ()]
    still = [task for task in tasks if task.how == "id" and (task.waits or task.status == "failed")]
    return [f"{task.name}:{task.id}" for task in still[-MOST_INNER:]]


def _missing(asked: Question, about: dict[str, Any], answer: dict[str, Any]) -> str:
    name = about["name"]
    if answer.get("namespaces"):
        named = ", ".join(repr(space) for space in answer["namespaces"])
        return f"{name}: thread {key(asked.thread)!r} has no namespace {key(asked.namespace)!r}; it has {named}"
    threads = answer.get("threads")
    if threads:
        there = f"there are {', '.join(repr(thread) for thread in threads)}"
    elif threads is None:
        there = "the saver cannot say which threads there are"
    else:
        there = "it holds no threads at all"
    store = (
        ". Its factory takes `store`, and a new and empty one is what it was given: "
        "name a factory that opens your data"
    )
    return f"{name}: no thread {key(asked.thread)!r}; {there}" + (store if about["store"] else "")
