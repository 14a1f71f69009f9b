"""The agent of the branching laws: an ordinary graph of an application, with a script in place of a model."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from lineage_conformance.canon import canon
from lineage_conformance.kinds.branching.case import Move

Says = Callable[[list[Any]], list[Any]]
"""What the model does next: from the messages that it is shown to those that it adds."""


class Agent:
    """A scripted agent on a saver. `steps` are what the model does, one by one; `inputs` what it was shown."""

    def __init__(self, saver: Any, delta: bool = False) -> None:
        self.steps: deque[Callable[[list[Any]], list[Any]]] = deque()
        self.inputs: list[Any] = []
        self.graph = self._compile(saver, delta)

    def _compile(self, saver: Any, delta: bool) -> Any:
        from typing import Annotated, TypedDict

        from langchain_core.messages import AIMessage, ToolMessage
        from langgraph.graph import END, START, StateGraph
        from langgraph.graph import message as messages
        from langgraph.types import Send

        channel: Any = messages.add_messages
        if delta:
            from langgraph.channels import DeltaChannel

            reducer: Any = messages._messages_delta_reducer
            channel = DeltaChannel(reducer)

        def model(state: Any) -> Any:
            shown = list(state["messages"])
            self.inputs.append(canon(shown))
            step = self.steps.popleft() if self.steps else lambda _: [AIMessage("not asked for")]
            return {"messages": step(shown)}

        def tools(state: Any) -> Any:
            call = state["call"]
            said = ToolMessage(f"did {call['id']}", tool_call_id=call["id"], id=f"r-{call['id']}")
            return {"messages": [said]}

        def route(state: Any) -> Any:
            calls = getattr(state["messages"][-1], "tool_calls", None)
            return [Send("tools", {"call": call}) for call in calls] if calls else END

        typed: Any = TypedDict
        graph: Any = StateGraph(typed("State", {"messages": Annotated[list, channel]}))
        graph.add_node("model", model)
        graph.add_node("tools", tools)
        graph.add_edge(START, "model")
        graph.add_conditional_edges("model", route, ["tools", END])
        graph.add_edge("tools", "model")
        return graph.compile(checkpointer=saver)


def script(move: Move, name: str) -> list[Says]:
    """What the model does in one turn. `name` makes the ids of its messages, which nobody else uses."""
    from langchain_core.messages import AIMessage, RemoveMessage, SystemMessage

    steps: list[Says] = []
    if move.calls:
        calls = [
            {"name": "work", "args": {"n": n}, "id": f"{name}-c{n}"} for n in range(move.calls)
        ]
        steps.append(lambda shown: [AIMessage("", tool_calls=calls, id=f"{name}-call")])

    def answer(shown: list[Any]) -> list[Any]:
        last = max(n for n, message in enumerate(shown) if message.type == "human")
        said: list[Any] = []
        if move.summary:
            said += [RemoveMessage(id=m.id) for n, m in enumerate(shown) if n != last]
            said += [SystemMessage(f"summary of {len(shown)}", id=f"{name}-summary")]
        elif move.edit is not None:
            old = shown[move.edit % len(shown)]
            said += [old.model_copy(update={"content": f"{old.content} (edited in {name})"})]
        return [*said, AIMessage(move.text, id=f"{name}-answer")]

    return [*steps, answer]
