"""The toy graph that an `Agent` drives, in the layout of real agents. Imports LangGraph when it is built."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any


def inner(agent: Any) -> Any:
    """The subgraph of a tool: ``first`` finishes, ``second`` passes the place ``inner``."""
    from langgraph.graph import START, StateGraph

    graph = StateGraph(_inner_state())
    graph.add_node("first", lambda state: {"log": ["first"]})
    graph.add_node(
        "second", _node(lambda state: agent.pass_("inner"), lambda state: agent.apass("inner"))
    )
    graph.add_edge(START, "first")
    graph.add_edge("first", "second")
    return graph.compile()


def toy(agent: Any) -> Any:
    """The toy graph, not compiled."""
    from langgraph.graph import END, START, StateGraph
    from langgraph.types import Send

    def enter(state: Any) -> dict[str, Any]:
        question = agent.question(state["messages"])
        first = state["messages"][0]
        edit = [type(first)("(summary)", id=first.id)] if _edits(agent, question) else []
        return {
            "status": f"busy with {question}",
            "todos": [question],
            "messages": edit,
            "log": ["enter"],
        }

    def after_model(state: Any) -> Any:
        calls = state["messages"][-1].tool_calls
        return [Send("tools", call) for call in calls] or "leave"

    def answer(state: Any) -> dict[str, Any]:
        return {"messages": [agent.reply(state["messages"])], "log": ["model"]}

    def result(call: Any, text: str) -> dict[str, Any]:
        from langchain_core.messages import ToolMessage

        update = {"messages": [ToolMessage(text, tool_call_id=call["id"], name="work")]}
        return {**update, "log": [f"tool {call['args']['n']}"], "trail": [text]}

    def model(state: Any) -> Any:
        agent.pass_(agent.look(state["messages"]))
        return answer(state)

    async def amodel(state: Any) -> Any:
        await agent.apass(agent.look(state["messages"]))
        return answer(state)

    async def atools(call: Any) -> Any:
        return result(call, await agent.awork(**call["args"]))

    def passing(place: str, update: Any) -> Any:
        def sync(state: Any) -> Any:
            agent.pass_(place)
            return update(state)

        async def async_(state: Any) -> Any:
            await agent.apass(place)
            return update(state)

        return _node(sync, async_)

    def way_out(state: Any) -> str:
        return END if not getattr(state["messages"][-1], "tool_calls", None) else "model"

    graph = StateGraph(_state())
    graph.add_node("enter", passing("enter", enter))
    graph.add_node("model", _node(model, amodel))
    graph.add_node("tools", _node(lambda call: result(call, agent.work(**call["args"])), atools))
    graph.add_node("leave", passing("leave", lambda state: {"status": "idle", "log": ["leave"]}))
    graph.add_edge(START, "enter")
    if agent.memory:
        graph.add_node("memory", _memory(agent))
        graph.add_edge("enter", "memory")
        graph.add_edge("memory", "model")
    else:
        graph.add_edge("enter", "model")
    graph.add_conditional_edges("model", after_model, ["tools", "leave"])
    graph.add_edge("tools", "model")
    graph.add_conditional_edges("leave", way_out, ["model", END])
    return graph


def _edits(agent: Any, question: str) -> bool:
    return bool(agent.plan(question).edits)


def _memory(agent: Any) -> Any:
    """A subgraph that remembers: it counts the turns that it has seen."""
    from langgraph.graph import START, StateGraph

    graph = StateGraph(_memory_state())
    graph.add_node("count", lambda state: {"count": [len(state.get("count") or ()) + 1]})
    graph.add_edge(START, "count")
    return graph.compile(checkpointer=True)


def _node(sync: Any, async_: Any) -> Any:
    from langchain_core.runnables import RunnableLambda

    return RunnableLambda(sync, afunc=async_)


def _state() -> Any:
    from typing import Annotated

    from langgraph.graph.message import add_messages
    from typing_extensions import TypedDict

    fields: dict[str, Any] = {
        "messages": Annotated[list, add_messages],
        "todos": list,
        "status": str,
        "log": Annotated[list, operator.add],
        "trail": Annotated[list, _delta()],
    }
    return TypedDict("State", fields, total=False)  # type: ignore[operator]


def _inner_state() -> Any:
    from typing import Annotated

    from typing_extensions import TypedDict

    return TypedDict("Inner", {"log": Annotated[list, operator.add]}, total=False)  # type: ignore[operator]


def _memory_state() -> Any:
    from typing import Annotated

    from typing_extensions import TypedDict

    return TypedDict("Memory", {"count": Annotated[list, operator.add]}, total=False)  # type: ignore[operator]


def _delta() -> Any:
    """A delta channel where the engine has one, else a plain reducer."""
    try:
        from langgraph.channels.delta import DeltaChannel
    except ImportError:
        return operator.add
    return DeltaChannel(_extend, list)


def _extend(value: Any, writes: Sequence[Any]) -> list[Any]:
    return [*(value or ()), *(item for write in writes for item in write)]
