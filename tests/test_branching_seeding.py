"""Seeding on the installed LangGraph: each trap that was measured is shown, and avoided."""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

import pytest

pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages

from lineage_conformance import contract
from lineage_reference.branching import NODE, Seeder
from lineage_reference.branching.records import NotCompleted
from lineage_reference.branching.seeding import Mark
from lineage_reference.saver import StrictSaver
from lineage_reference.steps import arun, run

DELTA = hasattr(BaseCheckpointSaver, "get_delta_channel_history")
PREFIX = [HumanMessage("hello", id="h1"), AIMessage("hi", id="a1")]


class Agent:
    """A graph of one model node on a saver, which counts what the model was shown."""

    def __init__(self, saver: Any, channel: Any = add_messages, node: str = "model") -> None:
        self.shown: list[list[str]] = []
        typed: Any = TypedDict
        graph: Any = StateGraph(typed("State", {"messages": Annotated[list, channel]}))

        def model(state: Any) -> Any:
            self.shown.append([m.id for m in state["messages"]])
            return {"messages": [AIMessage("ok", id=f"a{len(self.shown)}")]}

        graph.add_node(node, model)
        graph.add_edge(START, node)
        graph.add_edge(node, END)
        self.graph = graph.compile(checkpointer=saver)

    def ask(self, thread: str, name: str) -> str:
        """One turn; the id of the checkpoint at its end."""
        self.graph.invoke({"messages": [HumanMessage(name, id=name)]}, at(thread))
        return str(self.graph.get_state(at(thread)).config["configurable"]["checkpoint_id"])

    def ids(self, thread: str) -> list[str]:
        return [m.id for m in self.graph.get_state(at(thread)).values.get("messages", [])]


def at(thread: str, **more: Any) -> Any:
    return {"configurable": {"thread_id": thread, "checkpoint_ns": "", **more}}


@pytest.fixture
def saver() -> StrictSaver:
    return StrictSaver()


@pytest.fixture(params=["sync", "async"])
def perform(request: pytest.FixtureRequest) -> Callable[[Any], Any]:
    """Performs steps on one half."""
    return run if request.param == "sync" else lambda steps: asyncio.run(arun(steps))


def test_nothing_waits_for_the_agent_but_our_own_graph_says_otherwise(saver, perform) -> None:
    agent, seeder = Agent(saver), Seeder(saver)
    perform(seeder.seed("branch", PREFIX))
    assert agent.graph.get_state(at("branch")).next == ()
    # A reader that asks the wrong graph calls the branch unfinished.
    assert seeder.seeder.get_state(at("branch")).next == (NODE,)
    agent.graph.invoke(None, at("branch"))
    assert agent.shown == []
    assert agent.ids("branch") == ["h1", "a1"]


def test_seeding_through_the_agents_graph_would_run_the_model(saver) -> None:
    agent = Agent(saver)
    agent.graph.update_state(at("branch"), {"messages": PREFIX}, as_node=START)
    assert agent.graph.get_state(at("branch")).next == ("model",)
    agent.graph.invoke(None, at("branch"))
    assert agent.shown == [["h1", "a1"]]


def test_a_seeding_node_named_like_one_of_the_agents_would_run_the_model(saver, perform) -> None:
    agent = Agent(saver, node=NODE)
    perform(Seeder(saver).seed("branch", PREFIX))
    assert agent.graph.get_state(at("branch")).next == (NODE,)


@pytest.mark.skipif(not DELTA, reason="no delta channels in this version")
@pytest.mark.parametrize("frequency", [1, 2, 1000])
def test_a_delta_channel_is_replayed_where_one_raw_checkpoint_is_empty(
    saver, perform, frequency: int
) -> None:
    from langgraph.channels import DeltaChannel
    from langgraph.graph.message import _messages_delta_reducer

    channel = DeltaChannel(_messages_delta_reducer, snapshot_frequency=frequency)
    agent, seeder = Agent(saver, channel), Seeder(saver)
    marks = [agent.ask("source", f"h{n}") for n in range(3)]
    raw = saver.get_tuple(at("source", checkpoint_id=marks[1]))
    assert raw is not None
    if frequency == 1000:
        assert "messages" not in raw.checkpoint["channel_values"]
    messages = perform(seeder.read("source", Mark(marks[1])))
    assert [m.id for m in messages] == ["h0", "a1", "h1", "a2"]
    perform(seeder.seed("branch", messages))
    agent.ask("branch", "new")
    assert agent.shown[-1] == ["h0", "a1", "h1", "a2", "new"]
    agent.ask("branch", "newer")
    assert agent.shown[-1] == ["h0", "a1", "h1", "a2", "new", "a4", "newer"]


def test_ids_survive_so_that_an_edit_by_id_hits(saver, perform) -> None:
    agent = Agent(saver)
    perform(Seeder(saver).seed("branch", PREFIX))
    edited = AIMessage("hi, edited", id="a1")
    agent.graph.update_state(at("branch"), {"messages": [edited]}, as_node="model")
    values = agent.graph.get_state(at("branch")).values["messages"]
    assert [(m.id, m.content) for m in values] == [("h1", "hello"), ("a1", "hi, edited")]


def test_messages_without_ids_stay_without(saver, perform) -> None:
    seeder = Seeder(saver)
    made = perform(seeder.seed("branch", [HumanMessage("x"), AIMessage("y")]))
    assert [m.id for m in perform(seeder.read("branch", Mark(made)))] == [None, None]


def test_an_overwrite_as_first_write_would_be_stored_unopened(saver) -> None:
    types = pytest.importorskip("langgraph.types")
    if not hasattr(types, "Overwrite"):
        pytest.skip("no Overwrite in this version")
    typed: Any = TypedDict
    # A union cannot be called, so this channel begins without a value.
    graph: Any = StateGraph(typed("State", {"messages": Annotated[list | None, add_messages]}))
    graph.add_node("other", lambda state: {})
    graph.add_edge(START, "other")
    wrong = graph.compile(checkpointer=saver)
    wrong.update_state(at("branch"), {"messages": types.Overwrite(PREFIX)}, as_node=START)
    found = saver.get_tuple(at("branch"))
    assert found is not None
    assert isinstance(found.checkpoint["channel_values"]["messages"], types.Overwrite)


@pytest.mark.skipif(
    contract.unmet("langgraph>=1.0") is not None, reason="no Command as input in this version"
)
def test_input_that_came_as_a_command_hangs_on_the_turn_before_it(saver, perform) -> None:
    from langgraph.types import Command

    agent, seeder = Agent(saver), Seeder(saver)
    mark = agent.ask("source", "h1")
    given = Command(update={"messages": [HumanMessage("two", id="h2")]}, goto="model")
    agent.graph.invoke(given, at("source"))
    shown = agent.graph.get_state(at("source", checkpoint_id=mark)).values["messages"]
    assert [m.id for m in shown] == ["h1", "a1", "h2"]  # what the agent's graph tells of turn 1
    assert [m.id for m in perform(seeder.read("source", Mark(mark)))] == ["h1", "a1"]


def test_copy_thread_is_never_asked_for(saver, perform, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: Any) -> None:
        raise AssertionError("copy_thread was called")

    for name in ("copy_thread", "acopy_thread"):
        monkeypatch.setattr(StrictSaver, name, refuse, raising=False)
    seeder = Seeder(saver)
    mark = Agent(saver).ask("source", "h1")
    perform(seeder.seed("branch", perform(seeder.read("source", Mark(mark)))))


class TestFind:
    """Turns that nobody recorded."""

    @pytest.mark.parametrize("turn", [0, 1, 2, 3])
    def test_a_seed_holds_several_turns_in_one_checkpoint(self, saver, perform, turn: int) -> None:
        agent, seeder = Agent(saver), Seeder(saver)
        first = [HumanMessage("1", id="h1"), AIMessage("1", id="x1")]
        perform(seeder.seed("t", [*first, HumanMessage("2", id="h2"), AIMessage("2", id="x2")]))
        agent.ask("t", "h3")
        mark = perform(seeder.find("t", turn))
        messages = perform(seeder.read("t", mark))
        assert [m.id for m in messages] == ["h1", "x1", "h2", "x2", "h3", "a1"][: 2 * turn]

    def test_a_fork_beside_the_line_does_not_count(self, saver, perform) -> None:
        agent, seeder = Agent(saver), Seeder(saver)
        first = agent.ask("t", "h1")
        agent.ask("t", "left")
        agent.graph.invoke(
            {"messages": [HumanMessage("right", id="right")]}, at("t", checkpoint_id=first)
        )
        mark = perform(seeder.find("t", 2))
        assert [m.id for m in perform(seeder.read("t", mark))] == ["h1", "a1", "right", "a3"]

    def test_a_turn_without_an_answer_is_not_completed(self, saver, perform) -> None:
        agent, seeder = Agent(saver), Seeder(saver)
        agent.ask("t", "h1")
        call = {"name": "work", "args": {}, "id": "c"}
        messages = [HumanMessage("2", id="h2"), AIMessage("", tool_calls=[call], id="x")]
        agent.graph.update_state(at("t"), {"messages": messages}, as_node="model")
        with pytest.raises(NotCompleted, match="still running"):
            perform(seeder.find("t", 2))
        assert perform(seeder.find("t", 1)) is not None
        with pytest.raises(NotCompleted, match="has 2 turns"):
            perform(seeder.find("t", 3))

    def test_an_unknown_thread_has_no_turns(self, saver, perform) -> None:
        with pytest.raises(NotCompleted):
            perform(Seeder(saver).find("nobody", 1))


@pytest.mark.skipif(
    importlib.util.find_spec("langgraph.prebuilt") is None,
    reason="langgraph-prebuilt is not installed",
)
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_prebuilt_agent_goes_on_in_a_branch(saver, perform) -> None:
    from langchain_core.language_models import GenericFakeChatModel
    from langgraph.prebuilt import create_react_agent

    class Scripted(GenericFakeChatModel):
        def bind_tools(self, tools: Any, **options: Any) -> Any:
            return self

    def weather(city: str) -> str:
        """The weather in a city."""
        return f"sun in {city}"

    calls = [{"name": "weather", "args": {"city": c}, "id": f"call-{c}"} for c in ("Oslo", "Rome")]
    said = [
        AIMessage("", tool_calls=calls, id="a1"),
        AIMessage("sun", id="a2"),
        AIMessage("you are welcome", id="a3"),
        AIMessage("in the branch", id="a4"),
    ]
    agent = create_react_agent(Scripted(messages=iter(said)), [weather], checkpointer=saver)
    agent.invoke({"messages": [HumanMessage("weather?", id="h1")]}, at("source"))
    mark = agent.get_state(at("source")).config["configurable"]["checkpoint_id"]
    expected = agent.get_state(at("source")).values["messages"]
    agent.invoke({"messages": [HumanMessage("thanks", id="h2")]}, at("source"))
    seeder = Seeder(saver)
    for found in (Mark(mark), perform(seeder.find("source", 1))):
        messages = perform(seeder.read("source", found))
        assert messages == expected
        assert [type(m) for m in messages] == [
            HumanMessage,
            AIMessage,
            ToolMessage,
            ToolMessage,
            AIMessage,
        ]
    perform(seeder.seed("branch", messages))
    assert agent.get_state(at("branch")).next == ()
    agent.invoke({"messages": [HumanMessage("and now?", id="h3")]}, at("branch"))
    assert [m.id for m in agent.get_state(at("branch")).values["messages"]][-2:] == ["h3", "a4"]


def test_other_messages_are_kept_as_they_are(saver, perform) -> None:
    seeder = Seeder(saver)
    odd = [SystemMessage("s", id="s"), HumanMessage([{"type": "text", "text": "x"}], id="h")]
    made = perform(seeder.seed("t", odd))
    assert perform(seeder.read("t", Mark(made))) == odd
