"""A scripted agent for laws about turns: what its model and tools do is data, and what the model saw is kept.

The toy graph has the layout of real agents: ``enter`` (as middleware before the model), ``model``, one ``tools``
task per call through `Send`, and ``leave``, which alone routes to END, by a router that reads the last
message. The same script also drives an agent that a backend brings along (`chat_model`, `tools`).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lineage_conformance import agent_graph
from lineage_conformance.graphs.gates import Gates


class ToolFailed(Exception):
    """What a scripted step raises where a case asks for an error."""


@dataclass(frozen=True)
class Plan:
    """What one turn does: its tool calls, and the place (see `Agent.pass_`) where it asks or raises."""

    tools: int = 1
    asks: bool = False
    """Whether the last tool interrupts with a question."""
    subgraph: bool = False
    """Whether the first tool works in a subgraph of two steps."""
    edits: bool = False
    """Whether ``enter`` rewrites the first message of the thread."""


class Agent:
    """One example's agent: plans by question, gates, and a record of what ran and what the model saw."""

    def __init__(self) -> None:
        self.gates = Gates()
        self.plans: dict[str, Plan] = {}
        self.raises: set[str] = set()
        """Places that raise when they are passed."""
        self.seen: list[list[Any]] = []
        """The messages of every call of the model, without ids: ``[type, text, calls]``."""
        self.ran: list[str] = []
        """Tools that began, as ``question/number``."""
        self.memory: bool = False
        """Whether the toy graph has a subgraph with a memory of its own (``checkpointer=True``)."""
        self._numbers = itertools.count(1)

    def plan(self, question: str) -> Plan:
        """What the turn of a question does."""
        return self.plans.get(question, Plan())

    @staticmethod
    def question(messages: Sequence[Any]) -> str:
        """The text of the last message of a user."""
        texts = [m.content for m in messages if getattr(m, "type", "") == "human"]
        return str(texts[-1]) if texts else ""

    # -- places ----------------------------------------------------------------------------------

    def pass_(self, place: str) -> None:
        """Pass a place: tell that it was reached, stay while its gate is held, raise if it is to."""
        self.gates.post("reached", place)
        self.gates.stay(lambda: self.gates.is_open(place))
        self._leave(place)

    async def apass(self, place: str) -> None:
        """The same in a task."""
        self.gates.post("reached", place)
        await self.gates.stay_async(lambda: self.gates.is_open(place))
        self._leave(place)

    def _leave(self, place: str) -> None:
        if place in self.raises:
            raise ToolFailed(f"{place} was told to fail")

    # -- model and tools -------------------------------------------------------------------------

    def look(self, messages: Sequence[Any]) -> str:
        """Record what the model is given; the place that this call of the model is."""
        self.seen.append([plain(message) for message in messages])
        return "model" if self._calls(messages) else "model again"

    def reply(self, messages: Sequence[Any]) -> Any:
        """The model's answer: the plan's tool calls first, a final text once their results are there."""
        from langchain_core.messages import AIMessage

        question = self.question(messages)
        calls = self._calls(messages)
        number = next(self._numbers)
        if calls:
            return AIMessage(
                f"looking into {question}", id=f"{question}-ai-{number}", tool_calls=calls
            )
        results = [plain(m)[1] for m in messages if getattr(m, "type", "") == "tool"]
        text = f"answer to {question} from {len(results)}"
        return AIMessage(text, id=f"{question}-ai-{number}")

    def _calls(self, messages: Sequence[Any]) -> list[dict[str, Any]]:
        question = self.question(messages)
        if getattr(messages[-1], "type", "") != "human":
            return []
        return [
            {"name": "work", "args": {"n": n, "question": question}, "id": f"{question}-call-{n}"}
            for n in range(self.plan(question).tools)
        ]

    def work(self, n: int, question: str) -> str:
        """Tool number `n` of a turn."""
        asks = self._begin(n, question)
        self.pass_(f"tool {n}")
        if self._inner(n, question):
            agent_graph.inner(self).invoke({"log": []})
        return self._finish(n, question, asks)

    async def awork(self, n: int, question: str) -> str:
        """The same in a task."""
        asks = self._begin(n, question)
        await self.apass(f"tool {n}")
        if self._inner(n, question):
            await agent_graph.inner(self).ainvoke({"log": []})
        return self._finish(n, question, asks)

    def _begin(self, n: int, question: str) -> bool:
        self.ran.append(f"{question}/{n}")
        plan = self.plan(question)
        return plan.asks and n == plan.tools - 1

    def _inner(self, n: int, question: str) -> bool:
        return n == 0 and self.plan(question).subgraph

    def _finish(self, n: int, question: str, asks: bool) -> str:
        if not asks:
            return f"result {n} of {question}"
        from langgraph.types import interrupt

        return f"result {n} of {question} with {interrupt(f'{question}?')}"

    # -- for real agents -------------------------------------------------------------------------

    def chat_model(self) -> Any:
        """The script as a `BaseChatModel` that accepts `bind_tools`."""
        from lineage_conformance.agent_model import scripted

        return scripted(self)

    def tools(self) -> list[Any]:
        """The script's tool as a `BaseTool`."""
        from langchain_core.tools import StructuredTool

        return [
            StructuredTool.from_function(
                func=self.work,
                coroutine=self.awork,
                name="work",
                description="Does one piece of work.",
            )
        ]

    def landed(self, mode: str, data: Any) -> None:
        """Give this to a run as ``on_event``: it tells the gates which tools have handed in a result."""
        if mode != "updates" or not isinstance(data, Mapping):
            return
        for written in data.values():
            for part in written if isinstance(written, (list, tuple)) else [written]:
                messages = part.get("messages", ()) if isinstance(part, Mapping) else ()
                for message in messages if isinstance(messages, (list, tuple)) else [messages]:
                    if getattr(message, "type", "") == "tool":
                        number = str(message.tool_call_id).rpartition("-")[2]
                        self.gates.post("committed", f"tool {number}")

    # -- the toy graph ---------------------------------------------------------------------------

    def build(self, checkpointer: Any) -> Any:
        """The toy graph over a checkpointer."""
        return agent_graph.toy(self).compile(checkpointer=checkpointer)


def plain(message: Any) -> list[Any]:
    """A message without ids: its type, its text, and the ids of its tool calls or of the call it answers."""
    calls = [call["id"] for call in getattr(message, "tool_calls", None) or ()]
    answered = getattr(message, "tool_call_id", None)
    return [message.type, str(message.content), calls or ([answered] if answered else [])]
