"""The fixtures: gates, the parallel tool graph, and the watched saver, as an application's tests use them."""

from __future__ import annotations

import asyncio
import copy
import threading
from typing import Any

import pytest

from lineage_conformance.graphs import Crashed, Gates, Life, Shape, Tool, tools, watched
from lineage_reference.saver import StrictSaver

langgraph_types = pytest.importorskip("langgraph.types")
if not hasattr(langgraph_types, "interrupt"):
    pytest.skip("graphs need langgraph 0.2.62", allow_module_level=True)


def in_memory() -> Any:
    from langgraph.checkpoint import memory

    return getattr(memory, "InMemorySaver", None or memory.MemorySaver)()


@pytest.fixture(params=[in_memory, StrictSaver], ids=["memory", "strict"])
def saver(request: pytest.FixtureRequest) -> Any:
    return request.param()


# -- gates ---------------------------------------------------------------------------------------


def test_a_gate_is_open_unless_it_is_held() -> None:
    gates = Gates()
    assert gates.is_open("g")
    gates.hold("g")
    assert not gates.is_open("g")
    gates.open("g")
    assert gates.is_open("g")


def test_leaving_opens_all() -> None:
    with Gates() as gates:
        gates.hold("g")
        thread = threading.Thread(
            target=gates.stay, args=(lambda: gates.is_open("g"),), daemon=True
        )
        thread.start()
    thread.join(5)
    assert not thread.is_alive()


def test_waiting_ends_with_the_run() -> None:
    gates = Gates()
    gates.post("done", "")
    assert gates.wait("reached:g") is False


def test_what_is_missing_is_named() -> None:
    gates = Gates()
    gates.post("reached", "g")
    with pytest.raises(TimeoutError, match="landed:a"):
        gates.wait("reached:g", "landed:a", timeout=0.01)


def test_an_unknown_condition_is_refused() -> None:
    with pytest.raises(ValueError, match="reachd:g"):
        Gates().wait("reachd:g")


@pytest.mark.asyncio
async def test_a_task_is_woken_by_a_thread() -> None:
    gates = Gates()
    waiter = asyncio.ensure_future(gates.wait_async("landed:a"))
    await asyncio.sleep(0)
    threading.Thread(target=gates.post, args=("landed", "a")).start()
    assert await waiter


@pytest.mark.asyncio
async def test_what_is_missing_is_named_in_a_task_too() -> None:
    with pytest.raises(TimeoutError, match="landed:a"):
        await Gates().wait_async("landed:a", timeout=0.01)


# -- the watched saver ---------------------------------------------------------------------------


def test_the_saver_has_its_own_class_again(saver: Any) -> None:
    plain = type(saver)
    with watched(saver, Gates()):
        assert type(saver) is not plain
        assert isinstance(saver, plain)
        assert type(saver).__name__ == plain.__name__
    assert type(saver) is plain


def test_a_copy_is_watched_too(saver: Any) -> None:
    gates = Gates()
    with watched(saver, gates):
        twin = copy.copy(saver)
        twin.put_writes(_place(), [("log", ["a=yes"])], "task", "")
    assert gates.names("landed") == ["a"]


def test_the_signature_is_the_savers_own(saver: Any) -> None:
    import inspect

    with watched(saver, Gates()):
        assert "task_path" in inspect.signature(saver.put_writes).parameters


def test_a_dead_process_stores_nothing(saver: Any) -> None:
    life = Life(dead=True)
    with watched(saver, Gates(), life), pytest.raises(Crashed):
        saver.put_writes(_place(), [("log", ["a"])], "task", "")


def _place() -> Any:
    return {"configurable": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": "1"}}


# -- the graph -----------------------------------------------------------------------------------


def test_plain_turn(saver: Any, lineage_parallel_tools: Any) -> None:
    graph = lineage_parallel_tools(saver, {"a": [], "b": ["command"]}, rounds=2)
    state = graph.start()
    assert state["log"] == graph.shape.log() == ["in", "a", "b", "a#2", "b#2"]
    assert [m.type for m in state["messages"]] == [
        "human",
        "ai",
        "tool",
        "tool",
        "ai",
        "tool",
        "tool",
        "ai",
    ]


@pytest.mark.asyncio
async def test_cancel_and_resume(
    saver: Any, lineage_gates: Gates, lineage_parallel_tools: Any
) -> None:
    graph = lineage_parallel_tools(saver, {"fast": [], "slow": ["gate:slow"]})
    lineage_gates.hold("slow")
    task = asyncio.create_task(graph.run())
    assert await lineage_gates.wait_async("reached:slow", "landed:fast")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    lineage_gates.open("slow")
    state = await graph.graph.ainvoke(None, graph.config())
    assert state["log"] == ["in", "fast", "slow"]
    assert (graph.ran("fast"), graph.ran("slow")) == (1, 2)


def test_hold_in_a_thread(saver: Any, lineage_gates: Gates, lineage_parallel_tools: Any) -> None:
    graph = lineage_parallel_tools(saver, {"a": ["gate:g"], "b": []})
    lineage_gates.hold("g")
    thread = threading.Thread(target=graph.start)
    thread.start()
    assert lineage_gates.wait("reached:g", "landed:b")
    assert lineage_gates.count("landed", "a") == 0
    lineage_gates.open("g")
    thread.join(10)
    assert graph.graph.get_state(graph.config()).values["log"] == ["in", "a", "b"]


def test_a_held_write(saver: Any, lineage_gates: Gates, lineage_parallel_tools: Any) -> None:
    graph = lineage_parallel_tools(saver, {"a": [], "b": []})
    lineage_gates.hold("write:a")
    thread = threading.Thread(target=graph.start)
    thread.start()
    assert lineage_gates.wait("reached:write:a", "landed:b")
    assert lineage_gates.count("landed", "a") == 0
    lineage_gates.open("write:a")
    thread.join(10)
    assert lineage_gates.count("landed", "a") == 1


@pytest.mark.parametrize("layout", ["send", "edges", "line"])
def test_questions(saver: Any, lineage_parallel_tools: Any, layout: str) -> None:
    graph = lineage_parallel_tools(saver, Shape((Tool("a"), Tool("b", ("ask",))), layout))
    graph.start()
    state = graph.graph.invoke(langgraph_types.Command(resume="yes"), graph.config())
    assert state["log"] == ["in", "a", "b=yes"]


def test_a_shape_that_asks_for_nonsense_is_refused() -> None:
    with pytest.raises(ValueError, match="explode"):
        tools(2, "explode")


def test_idle_cost_is_nil(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        "import sys\ndef test_it():\n    assert 'langgraph' not in sys.modules\n"
        "    assert 'pytest_lineage.plugin.fixtures' not in sys.modules\n"
    )
    pytester.runpytest_subprocess("-p", "no:cacheprovider").assert_outcomes(passed=1)


ASYNC_TEST = """
import asyncio
import pytest
from lineage_reference.saver import StrictSaver

{mark}
async def test_stop(lineage_gates, lineage_parallel_tools):
    graph = lineage_parallel_tools(StrictSaver(), {{"fast": [], "slow": ["gate:slow"]}})
    lineage_gates.hold("slow")
    task = asyncio.create_task(graph.run())
    assert await lineage_gates.wait_async("reached:slow", "landed:fast")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await graph.graph.aget_state(graph.config())).next == ("tools",)

@pytest.fixture
def anyio_backend():
    return "asyncio"
"""


@pytest.mark.parametrize(
    ("mark", "mode"),
    [("@pytest.mark.asyncio", "strict"), ("", "auto"), ("@pytest.mark.anyio", "strict")],
    ids=["asyncio-strict", "asyncio-auto", "anyio"],
)
def test_fixtures_under_async_plugins(pytester: pytest.Pytester, mark: str, mode: str) -> None:
    pytester.makepyfile(ASYNC_TEST.format(mark=mark))
    args = ("-p", "no:cacheprovider", "-o", f"asyncio_mode={mode}")
    pytester.runpytest_subprocess(*args).assert_outcomes(passed=1)
