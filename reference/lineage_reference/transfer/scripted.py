"""Agents whose model is a script: for tests, benchmarks, and anybody who wants to see a transfer without a key."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages

Says = Callable[[Sequence[Any]], Any]
"""What a model answers to messages: text, an `AIMessage` (perhaps with tool calls), or an exception."""

Tool = Callable[..., Any]


def scripted(*answers: Any) -> Says:
    """A model that gives its answers one after the other, then tells how many messages it was shown."""
    left = list(answers)
    return lambda messages: left.pop(0) if left else f"I was shown {len(messages)} messages"


def agent(saver: Any, says: Says, tools: Sequence[Tool] = (), name: str = "model") -> Any:
    """A compiled agent: the model answers, and tools are run until it asks for none.

    A tool whose name begins with ``own_`` is also given the config, and what it returns, a message, is kept.
    """
    known = {tool.__name__: tool for tool in tools}

    def model(state: Any) -> Any:
        answer = says(state["messages"])
        if isinstance(answer, BaseException):
            raise answer
        if isinstance(answer, str):
            answer = AIMessage(answer)
        return {"messages": [answer.model_copy(update={"id": uuid.uuid4().hex})]}

    def work(state: Any, config: RunnableConfig) -> Any:
        made: list[Any] = []
        own: list[Any] = []
        for asked in state["messages"][-1].tool_calls:
            given, tool = asked["args"], known[asked["name"]]
            result = tool(config, **given) if asked["name"].startswith("own_") else tool(**given)
            if isinstance(result, AIMessage):
                own.append(result)
                result = result.content
            made.append(ToolMessage(result, tool_call_id=asked["id"], id=uuid.uuid4().hex))
        return {"messages": [*made, *own]}

    def next_one(state: Any) -> str:
        return "tools" if getattr(state["messages"][-1], "tool_calls", None) else END

    typed: Any = TypedDict
    graph: Any = StateGraph(typed("Conversation", {"messages": Annotated[list, add_messages]}))
    graph.add_node(name, model)
    graph.add_node("tools", work)
    graph.add_edge(START, name)
    graph.add_conditional_edges(name, next_one, ["tools", END])
    graph.add_edge("tools", name)
    return graph.compile(checkpointer=saver)


def asks(tool: str, **given: Any) -> AIMessage:
    """A model's answer that asks for one tool."""
    return AIMessage("", tool_calls=[{"name": tool, "args": given, "id": uuid.uuid4().hex}])
