"""Real graphs on the strict saver, and the peer suite."""

from __future__ import annotations

import asyncio
import importlib
import operator
import threading
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

from lineage_reference import Space, StrictSaver
from tests.reference_saver.conftest import DELTA, ids


class State(TypedDict):
    log: Annotated[list, operator.add]
    size: int


def line_graph(saver: StrictSaver, runs: list[str], **options: Any) -> Any:
    def node(name: str) -> Callable[[Any], Any]:
        def run(state: Any) -> Any:
            runs.append(name)
            return {"log": [name], "size": len(state["log"])}

        return run

    graph = StateGraph(State)
    for name in "abc":
        graph.add_node(name, node(name))
    graph.add_edge(START, "a")
    graph.add_edge("a", "b")
    graph.add_edge("b", "c")
    graph.add_edge("c", END)
    return graph.compile(checkpointer=saver, **options)


def _forks_apply_nothing_stale() -> bool:
    saver: Any = InMemorySaver()
    config: Any = {"configurable": {"thread_id": "t"}}
    line_graph(saver, [], interrupt_before=["b"]).invoke({"log": ["in"]}, config)
    graph = line_graph(saver, [])
    paused = graph.get_state(config)
    graph.invoke(None, config)
    fork = graph.update_state(paused.config, {"log": ["fork"]}, as_node="a")
    return bool(graph.invoke(None, fork)["log"] == ["in", "a", "fork", "b", "c"])


def test_a_graph_pauses_resumes_in_another_handle_and_forks() -> None:
    space, runs = Space(), []  # type: ignore[var-annotated]
    config: Any = {"configurable": {"thread_id": "t"}}
    line_graph(StrictSaver(space), runs, interrupt_before=["b"]).invoke({"log": ["in"]}, config)
    graph = line_graph(StrictSaver(space), runs)
    paused = graph.get_state(config)
    assert paused.next == ("b",)
    assert graph.invoke(None, config)["log"] == ["in", "a", "b", "c"]
    assert runs == ["a", "b", "c"]

    if not _forks_apply_nothing_stale():
        pytest.skip("this LangGraph applies writes of the old line to a fork")
    fork = graph.update_state(paused.config, {"log": ["fork"]}, as_node="a")
    assert graph.invoke(None, fork)["log"] == ["in", "a", "fork", "b", "c"]
    assert graph.get_state(paused.config).values["log"] == ["in", "a"]
    assert runs == ["a", "b", "c", "b", "c"]
    history = [state.values.get("log", []) for state in graph.get_state_history(config)]
    assert history[:3] == [
        ["in", "a", "fork", "b", "c"],
        ["in", "a", "fork", "b"],
        ["in", "a", "fork"],
    ]
    assert ["in", "a", "b", "c"] in history

    saver = StrictSaver(space)
    saver.prune(["t"])
    assert len(ids(saver)) == 1
    assert graph.invoke({"log": ["again"]}, config)["log"][-4:] == ["again", "a", "b", "c"]


def test_an_async_graph_runs_and_its_turns_can_be_removed_by_run() -> None:
    saver, runs = StrictSaver(), []  # type: ignore[var-annotated]
    graph = line_graph(saver, runs)
    config: Any = {"configurable": {"thread_id": "t"}}

    async def turns() -> Any:
        for turn in ("one", "two"):
            await graph.ainvoke({"log": [turn]}, {**config, "metadata": {"run_id": turn}})
        return (await graph.aget_state(config)).values

    values = asyncio.run(turns())
    assert values["log"] == ["one", "a", "b", "c", "two", "a", "b", "c"]
    if not any("run_id" in row.metadata for row in saver.list(None)):
        pytest.skip("this release does not record the run")
    saver.delete_for_runs(["one"])
    assert {row.metadata["run_id"] for row in saver.list(None)} == {"two"}
    assert graph.get_state(config).values == values


def test_a_failed_step_keeps_the_finished_sibling() -> None:
    finished = threading.Event()
    runs: list[str] = []

    def good(_: Any) -> Any:
        runs.append("good")
        return {"log": ["good"]}

    def bad(_: Any) -> Any:
        runs.append("bad")
        if runs.count("bad") == 1:
            assert finished.wait(30)
            raise RuntimeError("first try")
        return {"log": ["bad"]}

    class Watched(StrictSaver):
        def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
            super().put_writes(config, writes, task_id, task_path)
            if ("log", ["good"]) in [*writes]:
                finished.set()

    graph: Any = StateGraph(State)
    graph.add_node("good", good)
    graph.add_node("bad", bad)
    graph.add_edge(START, "good")
    graph.add_edge(START, "bad")
    app = graph.compile(checkpointer=Watched())
    config: Any = {"configurable": {"thread_id": "t"}}
    with pytest.raises(RuntimeError, match="first try"):
        app.invoke({"log": []}, config)
    assert sorted(app.invoke(None, config)["log"]) == ["bad", "good"]
    assert sorted(runs) == ["bad", "bad", "good"]


def test_sends_wait_over_a_pause() -> None:
    types = pytest.importorskip("langgraph.types")
    graph: Any = StateGraph(State)
    graph.add_node("plan", lambda _: {"log": ["plan"]})
    graph.add_node("work", lambda state: {"log": [state["item"]]})
    graph.add_edge(START, "plan")
    graph.add_conditional_edges(
        "plan", lambda _: [types.Send("work", {"item": n}) for n in (1, 2, 3)], ["work"]
    )
    space, config = Space(), {"configurable": {"thread_id": "t"}}
    first = graph.compile(checkpointer=StrictSaver(space), interrupt_before=["work"])
    assert first.invoke({"log": []}, config)["log"] == ["plan"]
    second = graph.compile(checkpointer=StrictSaver(space))
    assert second.get_state(config).next == ("work", "work", "work")
    assert second.invoke(None, config)["log"] == ["plan", 1, 2, 3]


def test_an_interrupt_is_answered_once() -> None:
    types = importlib.import_module("langgraph.types")
    if not hasattr(types, "interrupt"):
        pytest.skip("this release has no interrupt()")
    graph: Any = StateGraph(State)
    graph.add_node("ask", lambda _: {"log": [types.interrupt("sure?")]})
    graph.add_node("side", lambda _: {"log": ["side"]})
    graph.add_edge(START, "ask")
    graph.add_edge(START, "side")
    app = graph.compile(checkpointer=StrictSaver())
    config: Any = {"configurable": {"thread_id": "t"}}
    app.invoke({"log": []}, config)
    assert app.get_state(config).next == ("ask",)
    assert app.invoke(types.Command(resume="yes"), config)["log"] == ["yes", "side"]
    assert app.get_state(config).next == ()


@pytest.mark.skipif(not DELTA, reason="no delta channels in this release")
@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@pytest.mark.parametrize("frequency", [1, 3, 100])
def test_a_delta_channel_equals_a_plain_one(durability: str, frequency: int) -> None:
    delta = importlib.import_module("langgraph.channels.delta")

    def fold(state: Any, writes: Any) -> Any:
        return [*(state or []), *(each for write in writes for each in write)]

    channel = delta.DeltaChannel(fold, list, snapshot_frequency=frequency)
    fields = {"d": Annotated[list, channel], "p": Annotated[list, operator.add]}
    graph: Any = StateGraph(TypedDict("Both", fields))  # type: ignore[operator]
    for name in "abc":
        graph.add_node(name, lambda s, n=name: {key: [f"{n}{len(s['p'])}"] for key in "dp"})
    graph.add_edge(START, "a")
    graph.add_edge(START, "b")
    graph.add_edge("a", "c")
    graph.add_edge("b", "c")
    graph.add_edge("c", END)
    saver = StrictSaver()
    app = graph.compile(checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "t"}}

    def agree() -> Any:
        for state in app.get_state_history(config):
            assert state.values.get("d", []) == state.values.get("p", [])
        return app.get_state(config).values

    def turn(name: str, where: Any = config) -> Any:
        run = {**where, "metadata": {"run_id": name}}
        app.invoke({"d": [name], "p": [name]}, run, durability=durability)
        return agree()

    turn("one")
    middle = app.get_state(config).config
    kept = turn("two")
    turn("three")
    saver.delete_for_runs(["three"])
    assert agree() == kept
    fork = app.update_state(middle, {"d": ["fork"], "p": ["fork"]})
    kept = turn("four", fork)
    assert "two" not in kept["p"]
    saver.copy_thread("t", "copy")
    assert app.get_state({"configurable": {"thread_id": "copy"}}).values == kept
    rows = len(ids(saver))
    saver.prune(["t"])
    assert len(ids(saver)) < rows
    assert agree() == kept
    assert turn("five")["p"][: len(kept["p"])] == kept["p"]


def test_the_peer_suite_is_fully_passed() -> None:
    peer = pytest.importorskip("langgraph.checkpoint.conformance")

    async def strict() -> Any:
        yield StrictSaver()

    report = asyncio.run(peer.validate(peer.checkpointer_test(name="StrictSaver")(strict)))
    assert {
        name: found.failures for name, found in report.results.items() if not found.passed
    } == {}
    assert len(report.results) == 8
