"""Threads for the tests of `show`: real graphs on real savers, and rows made up by the thousand."""

from __future__ import annotations

import operator
import re
from collections.abc import Sequence
from typing import Annotated, Any

import pytest
from typing_extensions import TypedDict

from pytest_lineage.show import words
from pytest_lineage.show.reading import _Summary
from pytest_lineage.show.thread import Thread, build

SECRET = "postgresql://me:hunter2@db.example/x"


class State(TypedDict, total=False):
    """What the graphs work on."""

    messages: Annotated[list[str], operator.add]
    n: int


def agent(saver: Any, fails: bool = True) -> Any:
    """A model that sends three tools and a subgraph that interrupts; the second tool may fail."""
    from langgraph.graph import END, START, StateGraph
    from langgraph.types import Send, interrupt

    def ask(state: State) -> State:
        return {"messages": [interrupt("really delete?")]}

    def tools(state: State) -> State:
        if state["n"] == 1 and fails:
            raise ValueError(f"boom {SECRET}")
        return {"messages": [f"tool {state['n']}"]}

    def route(state: State) -> list[Any]:
        return [*(Send("tools", {"n": n}) for n in range(3)), "inner"]

    inner = StateGraph(State)
    inner.add_node("ask", ask)
    inner.add_edge(START, "ask")
    inner.add_edge("ask", END)
    outer = StateGraph(State)
    outer.add_node("model", lambda state: {"messages": ["plan"], "n": 1})
    outer.add_node("tools", tools)
    outer.add_node("inner", inner.compile())
    outer.add_node("after", lambda state: {"n": 9})
    outer.add_edge(START, "model")
    outer.add_conditional_edges("model", route, ["tools", "inner"])
    outer.add_edge("tools", "after")
    outer.add_edge("after", END)
    return outer.compile(checkpointer=saver)


def config(thread: str) -> dict[str, Any]:
    """Where a thread lies."""
    return {"configurable": {"thread_id": thread}}


def paused(saver: Any) -> Any:
    """Thread ``paused``: one tool failed, two have stored their writes, a subgraph waits at an interrupt."""
    with pytest.raises(ValueError, match="boom"):
        agent(saver).invoke({"messages": ["hi"]}, config("paused"))
    return saver


def forked(saver: Any) -> Any:
    """Thread ``forked``: finished, then the caller went back and changed the state beside the old branch."""
    from langgraph.types import Command

    graph = agent(saver, fails=False)
    graph.invoke({"messages": ["hi"]}, config("forked"))
    graph.invoke(Command(resume="yes"), config("forked"))
    old = list(graph.get_state_history(config("forked")))[1]
    graph.update_state(old.config, {"n": 77}, as_node="after")
    return saver


def dropped(saver: Any) -> Any:
    """Thread ``dropped``: finished work of a step is passed by, since new input came instead of an answer."""
    graph = agent(saver, fails=False)
    graph.invoke({"messages": ["hi"]}, config("dropped"))
    graph.invoke({"messages": ["never mind"]}, config("dropped"))
    return saver


def read(saver: Any, thread: str, values: bool = False, namespace: str | None = None) -> Thread:
    """A thread of a sync saver, read in this process."""
    summary = _Summary(getattr(saver, "serde", None), thread, namespace, values)
    for row in saver.list(config(thread)):
        summary.take(row)
    return build(thread, summary.rows)


def row(
    number: int, parent: int | None, *, ns: str = "", source: str = "loop", writes: Sequence[Any] = (), **more: Any
) -> dict[str, Any]:  # fmt: skip
    """A row as the worker gives it: every checkpoint has a new version of channel ``a``."""
    made = {
        "id": f"{number:08}", "own_id": f"{number:08}", "ns": ns, "parent": None if parent is None else f"{parent:08}",
        "step": number - 2, "source": source, "ts": "", "v": 4, "parents": {}, "versions": {"a": number}, "seen": {},
        "sizes": {"a": 10}, "delta": [], "rest": 5, "metadata_size": 3, "sends": [],
        "writes": [
            {"task": task, "channel": channel, "size": 1, "preview": value} for task, channel, value in writes
        ],
    }  # fmt: skip
    return {**made, **more}


def chain(count: int, **more: Any) -> list[dict[str, Any]]:
    """A straight thread, newest first; each step's write is committed by the next."""
    return [
        row(id, id - 1 if id > 1 else None, writes=[("t", "a", "1")] if id < count else (), **more)
        for id in range(count, 0, -1)
    ]


def plain_names(text: str, thread: Thread) -> str:
    """A text with ids and sizes replaced by names that are the same in every run."""
    made = text
    short = words.Ids(thread, False)
    for number, id in enumerate(sorted({item.id for item in thread.checkpoints}), 1):
        made = made.replace(id, f"C{number}").replace(short(id), f"C{number}")
    made = re.sub(r"\[[0-9a-f]{8}\]", "[task]", made)
    made = re.sub(r":[0-9a-f]{8}-[0-9a-f-]{27}", ":TASK", made)
    made = re.sub(r"interrupt [0-9a-f]{12}", "interrupt ID", made)
    return re.sub(r"\d+(\.\d)? (B|kB)\b", "N B", made)


def ordered(thread: Thread) -> Thread:
    """The thread with the tasks of each checkpoint in an order that does not hang on their ids."""
    for item in thread.checkpoints:
        if item.tasks:
            item.tasks.sort(key=lambda task: (task.name, [write.preview for write in task.writes]))
    return thread
