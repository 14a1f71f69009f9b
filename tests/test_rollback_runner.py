"""The runner of turns in an application: its own task cancelled, Ctrl-C, restarts, odd graphs, unusable stores."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from lineage_conformance import law as laws
from lineage_conformance.agent import Agent, Plan
from lineage_reference.remove import final_node
from lineage_reference.rollback import Busy, NothingToResume, Refused, RollbackError, Turns

if laws.get("rollback.restores-messages").not_applicable():
    pytest.skip("rollback needs langgraph 0.6", allow_module_level=True)


def ask(text: str) -> dict[str, Any]:
    return {"messages": [HumanMessage(text, id=f"human {text}")]}


def config(thread: str = "t") -> dict[str, Any]:
    return {"configurable": {"thread_id": thread}}


@pytest.fixture
def agent() -> Any:
    agent = Agent()
    with agent.gates:
        yield agent


@pytest.fixture
def turns(agent: Agent) -> Turns:
    made = Turns(InMemorySaver())
    made.use(agent.build)
    return made


async def _begun(turns: Turns, agent: Agent) -> asyncio.Task[Any]:
    since = len(agent.gates.events)
    agent.gates.hold("model")
    task = asyncio.create_task(turns.arun("t", ask("oops")))
    await agent.gates.wait_async("reached:model", since=since)
    return task


@pytest.mark.asyncio
async def test_the_callers_own_cancel_rolls_back_and_goes_on(turns: Turns, agent: Agent) -> None:
    await turns.arun("t", ask("q1"))
    before = (await turns.graph.aget_state(config())).values
    task = await _begun(turns, agent)
    task.cancel()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await turns.graph.aget_state(config())).values == before
    assert not turns.running("t")


@pytest.mark.asyncio
async def test_a_cancel_that_comes_before_the_run_is_kept(turns: Turns) -> None:
    task = asyncio.create_task(turns.arun("t", ask("q1")))
    await asyncio.sleep(0)  # the task takes the lock in its first step
    assert turns.running("t")
    assert await turns.acancel("t")
    assert (await task).status == "cancelled"
    assert not (await turns.aheld("t")).known
    assert not await turns.acancel("t")


@pytest.mark.asyncio
async def test_a_second_turn_and_a_rollback_wait_outside(turns: Turns, agent: Agent) -> None:
    task = await _begun(turns, agent)
    for refused in (turns.arun("t", ask("x")), turns.aforget("t"), turns.arollback("t", "x")):
        with pytest.raises(Busy):
            await refused
    await turns.acancel("t")
    assert (await task).rolled_back


def test_ctrl_c_rolls_back_and_is_raised_again(turns: Turns) -> None:
    turns.run("t", ask("q1"))
    before = turns.graph.get_state(config()).values

    def stop(mode: str, data: Any) -> None:
        if "model" in data:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        turns.run("t", ask("oops"), on_event=stop)
    assert turns.graph.get_state(config()).values == before
    assert turns.held("t").turns == 1


def test_what_the_agent_raised_is_handed_over(turns: Turns, agent: Agent) -> None:
    agent.raises.add("leave")
    outcome = turns.run("t", ask("q1"))
    assert (outcome.status, outcome.rolled_back, str(outcome.error)) == (
        "failed", True, "leave was told to fail",
    )  # fmt: skip


def test_a_refusal_names_what_waits_and_leaves_it(turns: Turns, agent: Agent) -> None:
    agent.plans["q1"] = Plan(tools=2, asks=True)
    assert turns.run("t", ask("q1")).status == "interrupted"
    with pytest.raises(Refused) as error:
        turns.run("t", ask("q2"))
    assert any("interrupt" in text for text in error.value.left)
    assert any("result of task" in text for text in error.value.left)
    assert turns.graph.get_state(config()).interrupts
    assert turns.resume("t", "yes").status == "done"


def test_nothing_to_resume(turns: Turns) -> None:
    with pytest.raises(NothingToResume):
        turns.resume("t")
    turns.run("t", ask("q1"))
    with pytest.raises(NothingToResume):
        turns.resume("t", "yes")


def test_a_foreign_checkpoint_is_not_replaced(turns: Turns, agent: Agent) -> None:
    """An update by somebody else, made while the turn runs, is newer work."""
    turns.run("t", ask("q1"))

    def meddle(mode: str, data: Any) -> None:
        if "model" in data:
            turns.graph.update_state(config(), {"status": "mine"}, as_node="leave")
            turns.cancel("t")

    with pytest.raises(Refused) as error:
        turns.run("t", ask("oops"), on_event=meddle)
    assert "no turn" in error.value.left[0]
    assert turns.graph.get_state(config()).values["status"] == "mine"


def test_a_runner_without_a_graph_says_so() -> None:
    assert "use()" in str(Turns(InMemorySaver()).run("t", ask("q")).error)
    with pytest.raises(ValueError, match="restore, remove"):
        Turns(InMemorySaver(), strategy="undo")


def test_memory_of_subgraphs_is_put_back(agent: Agent) -> None:
    agent.memory = True
    turns = Turns(InMemorySaver())
    graph = turns.use(agent.build)
    memory = {"configurable": {"thread_id": "t", "checkpoint_ns": "memory"}}
    turns.run("t", ask("q1"))
    assert graph.get_state(memory).values == {"count": [1]}
    agent.raises.add("leave")
    assert turns.run("t", ask("oops")).rolled_back
    assert graph.get_state(memory).values == {"count": [1]}
    agent.raises.clear()
    turns.run("t", ask("q2"))
    assert graph.get_state(memory).values == {"count": [1, 2]}


# -- the node that ends a turn -------------------------------------------------------------------


class _Edge:
    def __init__(self, source: str, target: str, conditional: bool = False) -> None:
        self.source, self.target, self.conditional = source, target, conditional


class _Drawn:
    def __init__(self, *edges: _Edge) -> None:
        self.edges = edges

    def get_graph(self) -> _Drawn:
        return self


def test_the_final_node_is_found_in_the_edges(turns: Turns) -> None:
    assert final_node(turns.graph) == "leave"
    several = _Drawn(_Edge("model", "__end__", True), _Edge("audit", "__end__"))
    assert final_node(several) == "audit"
    with pytest.raises(Refused):
        final_node(_Drawn(_Edge("__start__", "__end__"), _Edge("a", "b")))


# -- restarts ------------------------------------------------------------------------------------

PROGRAM = """
import sys
from langchain_core.messages import HumanMessage
from lineage_conformance.agent import Agent
from lineage_reference.sessions import durable_or_exit
agent = Agent()
with durable_or_exit(sys.argv[1]) as turns:
    graph = turns.use(agent.build)
    held = turns.held("t")
    question = f"q{held.turns + 1}"
    if sys.argv[2] == "fail":
        agent.raises.add("leave")
    outcome = turns.run("t", {"messages": [HumanMessage(question, id=question)]})
    print(held.known, held.turns, outcome.status, len(agent.seen[0]))
"""


def _process(path: Path, how: str = "run") -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "PYTHONWARNINGS": "ignore",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, str(path), how],
        capture_output=True, text=True, check=False, env=environment, timeout=120,
    )  # fmt: skip


def test_sessions_survive_a_real_restart(tmp_path: Path) -> None:
    pytest.importorskip("langgraph.checkpoint.sqlite")
    database = tmp_path / "talk.sqlite"
    assert _process(database).stdout.split() == ["False", "0", "done", "1"]
    assert _process(database, "fail").stdout.split() == ["True", "1", "failed", "5"]
    # After the failed turn the next one is as long as if it had never been.
    assert _process(database).stdout.split() == ["True", "1", "done", "5"]
    assert _process(database).stdout.split() == ["True", "2", "done", "9"]


def test_an_unusable_database_is_said_and_ends(tmp_path: Path) -> None:
    folder = tmp_path / "no database"
    folder.mkdir()
    ended = _process(folder)
    assert ended.returncode == 2
    assert "cannot be opened" in ended.stderr
    assert ended.stdout == ""
    text = tmp_path / "text.sqlite"
    text.write_text("this is no database at all, it only looks like one by its name")
    ended = _process(text)
    assert ended.returncode == 2
    assert "cannot be written" in ended.stderr


def test_memory_is_refused_as_a_durable_store() -> None:
    from lineage_reference.sessions import StoreUnusable, durable

    with pytest.raises(StoreUnusable), durable(":memory:"):
        pass


def test_two_threads_of_a_sync_runner_do_not_meet(turns: Turns, agent: Agent) -> None:
    agent.gates.hold("model")
    results: list[Any] = []
    first = threading.Thread(target=lambda: results.append(turns.run("a", ask("q"))))
    first.start()
    agent.gates.wait("reached:model", timeout=60)
    with pytest.raises(RollbackError):
        turns.run("a", ask("x"))
    agent.gates.open_all()
    assert turns.run("b", ask("q")).status == "done"
    first.join()
    assert results[0].status == "done"
