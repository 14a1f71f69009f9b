"""From a shape to a compiled graph. Runs from langgraph 0.2.62 on; what is missing raises `Lacking`."""

from __future__ import annotations

import asyncio
import inspect
import operator
from collections.abc import Callable
from typing import Annotated, Any

from lineage_conformance.graphs.actors import Steps, node, perform, share
from lineage_conformance.graphs.gates import Gates
from lineage_conformance.graphs.shape import Shape, Tool
from lineage_conformance.graphs.state import Lacking, overwrite_class, state_of


def build(shape: Shape, saver: Any, gates: Gates, half: str = "sync") -> Any:
    """Compile the graph of a shape over a saver; its nodes are coroutines on the async half."""
    maker = Builder(shape, gates, half)
    if shape.layout.startswith("functional"):
        return maker.functional(saver)
    return maker.parent(saver) if shape.child else maker.compiled(saver)


class Builder:
    """Makes the nodes and edges of one shape."""

    def __init__(self, shape: Shape, gates: Gates, half: str) -> None:
        self.shape, self.gates, self.half = shape, gates, half
        self.state = state_of(shape)
        self.by_name = {tool.name: tool for tool in shape.tools}
        if any("overwrite" in tool.steps for tool in shape.tools):
            overwrite_class()
        self.inner = {t.name: self._inner(t) for t in shape.tools if "subgraph" in t.steps}

    def wrote(self, *texts: str, **more: Any) -> dict[str, Any]:
        """An update of ``log``, and of the delta channel if there is one."""
        update: dict[str, Any] = {"log": list(texts), **more}
        if self.shape.delta:
            update["deltas"] = list(texts)
        return update

    def input(self, text: str) -> dict[str, Any]:
        """The input of a turn."""
        from langchain_core.messages import HumanMessage

        messages = [HumanMessage(text, id=f"human-{text}")]
        return self.wrote(text, messages=messages, last=text)

    # -- nodes -----------------------------------------------------------------------------------

    def plain(self, name: str, act: Callable[[Any], dict[str, Any]]) -> Callable[..., Any]:
        """A node that posts that it began and finished, and returns what `act` says."""

        def body(state: Any, config: Any) -> Steps:
            self.gates.post("began", name)
            self.gates.post("reached", name)
            yield lambda: self.gates.is_open(name)
            update = act(state)
            self.gates.post("finished", name)
            return update

        return node(body, self.half, self.gates)

    def tool(self, tool: Tool | None) -> Callable[..., Any]:
        """The node of one tool, or (None) the one that is sent the tool's name."""

        def body(state: Any, config: Any) -> Steps:
            mine = tool or self.by_name[state["name"]]
            round = 1 if tool else state["round"]
            said = yield from perform(mine, round, self.gates, self.inner.get(mine.name))
            return self._returned(mine, said, state.get("id"))

        return node(body, self.half, self.gates)

    def _returned(self, tool: Tool, said: str, call: str | None) -> Any:
        from langchain_core.messages import ToolMessage
        from langgraph.types import Command

        more = (
            {}
            if call is None
            else {"messages": [ToolMessage(said, tool_call_id=call, id=f"tool-{call}")]}
        )
        update = self.wrote(said, **more)
        if "overwrite" in tool.steps:
            overwrite = overwrite_class()
            update = {k: overwrite(v) if k in ("log", "deltas") else v for k, v in update.items()}
        goto = [step.partition(":")[2] for step in tool.steps if step.startswith("goto:")]
        if goto:
            return Command(update=update, goto=goto[0])
        return Command(update=update) if "command" in tool.steps else update

    def _inner(self, tool: Tool) -> Any:
        """The graph that a tool calls: ``first``, then a node with the rest of the tool's steps."""
        from langgraph.graph import START, StateGraph
        from typing_extensions import TypedDict

        rest = Tool(tool.name, tool.steps[tool.steps.index("subgraph") + 1 :])

        def second(state: Any, config: Any) -> Steps:
            said = yield from perform(rest, 1, self.gates)
            return {"said": said}

        graph = StateGraph(TypedDict("Inner", {"said": str}))  # type: ignore[operator]
        graph.add_node("first", self.plain(f"{tool.name}.first", lambda state: {"said": "first"}))
        graph.add_node("second", node(second, self.half, self.gates))
        graph.add_edge(START, "first")
        graph.add_edge("first", "second")
        return graph.compile()

    # -- graphs ----------------------------------------------------------------------------------

    def compiled(self, saver: Any, **schemas: Any) -> Any:
        """The graph itself."""
        from langgraph.graph import StateGraph

        graph = StateGraph(self.state, **schemas)
        {"send": self._send, "line": self._line}.get(self.shape.layout, self._edges)(graph)
        options: dict[str, Any] = {"interrupt_before": list(self.shape.before) or None}
        if self.shape.cached:
            from langgraph.cache.memory import InMemoryCache

            options["cache"] = InMemoryCache()
        return graph.compile(checkpointer=saver, **options)

    def parent(self, saver: Any) -> Any:
        """A graph with this one in its node ``sub``, and a node ``tail`` after it."""
        from langgraph.graph import START, StateGraph
        from typing_extensions import TypedDict

        out = {"log": Annotated[list[str], operator.add]}
        if self.shape.delta:
            out["deltas"] = self.state.__annotations__["deltas"]
        names = inspect.signature(StateGraph.__init__).parameters
        given, made = (
            ("input_schema", "output_schema") if "input_schema" in names else ("input", "output")
        )
        schemas = {given: TypedDict("Given", {"last": str}), made: TypedDict("Made", out)}  # type: ignore[operator]
        child = self.compiled(True if self.shape.child == "own" else None, **schemas)
        graph = StateGraph(self.state)
        graph.add_node("sub", child)
        graph.add_node("tail", self.plain("tail", lambda state: self.wrote("tail")))
        graph.add_edge(START, "sub")
        graph.add_edge("sub", "tail")
        return graph.compile(checkpointer=saver)

    def _send(self, graph: Any) -> None:
        from langgraph.graph import END, START
        from langgraph.types import Send

        def model(state: Any) -> dict[str, Any]:
            return {"messages": [self._reply(state)], "note": "thinking", "cursor": "model"}

        def route(state: Any) -> Any:
            calls = state["messages"][-1].tool_calls
            return [Send("tools", {**call["args"], "id": call["id"]}) for call in calls] or END

        graph.add_node("model", self.plain("model", model))
        graph.add_node("review", self.plain("review", lambda state: {"last": "reviewed"}))
        graph.add_node("tools", self.tool(None))
        graph.add_edge(START, "model")
        graph.add_edge("model", "review")
        graph.add_conditional_edges("review", route, ["tools", END])
        graph.add_edge("tools", "model")
        if any(step.startswith("goto:") for tool in self.shape.tools for step in tool.steps):
            graph.add_node("aside", self.plain("aside", lambda state: self.wrote("aside")))

    def _reply(self, state: Any) -> Any:
        """What the scripted model says: the calls of the next round, or its last word."""
        from langchain_core.messages import AIMessage

        messages = state.get("messages") or []
        turn = sum(message.type == "human" for message in messages)
        tail: list[Any] = []
        for message in reversed(messages):
            if message.type == "human":
                break
            tail.append(message)
        round = 1 + sum(bool(getattr(message, "tool_calls", None)) for message in tail)
        if round > self.shape.rounds:
            return AIMessage("done", id=f"ai-{turn}-last")
        calls = [
            {
                "name": tool.name,
                "args": {"name": tool.name, "round": round},
                "id": f"{turn}-{round}-{tool.name}",
                "type": "tool_call",
            }
            for tool in self.shape.tools
        ]
        return AIMessage("", id=f"ai-{turn}-{round}", tool_calls=calls)

    def _add_tool(self, graph: Any, tool: Tool) -> None:
        options: dict[str, Any] = {}
        if tool.name in self.shape.cached:
            from langgraph.types import CachePolicy

            options["cache_policy"] = CachePolicy(key_func=lambda state: "same")
        if tool.name in self.shape.handled:
            if "error_handler" not in inspect.signature(graph.add_node).parameters:
                raise Lacking("add_node takes no error_handler in this release")
            name = f"{tool.name}.handled"
            options["error_handler"] = self.plain(name, lambda state: self.wrote(name))
        graph.add_node(tool.name, self.tool(tool), **options)

    def _line(self, graph: Any) -> None:
        from langgraph.graph import START

        previous = START
        for tool in self.shape.tools:
            self._add_tool(graph, tool)
            graph.add_edge(previous, tool.name)
            previous = tool.name

    def _edges(self, graph: Any) -> None:
        from langgraph.graph import START
        from langgraph.types import Send

        for tool in self.shape.tools:
            self._add_tool(graph, tool)
            graph.add_edge(START, tool.name)
            if self.shape.layout == "nested":
                packet = {"name": tool.name}
                graph.add_conditional_edges(
                    tool.name, lambda state, packet=packet: [Send("work", packet)], ["work"]
                )
        if self.shape.layout == "nested":
            graph.add_node("work", self.plain("work", lambda s: self.wrote(f"{s['name']}.work")))
        elif self.shape.join:
            graph.add_node("tail", self.plain("tail", lambda state: self.wrote("tail")))
            graph.add_edge([tool.name for tool in self.shape.tools], "tail")

    def functional(self, saver: Any) -> Any:
        """The tools as tasks of an entrypoint, which returns the list of their results."""
        try:
            from langgraph.func import entrypoint, task
        except ImportError as error:
            raise Lacking("the functional API is not in this release") from error
        one_by_one = self.shape.layout == "functional-line"
        tasks = {}
        for tool in self.shape.tools:
            run = self._task(tool)
            run.__name__ = run.__qualname__ = tool.name
            tasks[tool.name] = task(run)

        def flow(text: str) -> list[str]:
            if one_by_one:
                return [start(text).result() for start in tasks.values()]
            futures = [start(text) for start in tasks.values()]
            return [future.result() for future in futures]

        async def aflow(text, config=None):  # type: ignore[no-untyped-def]
            share(config)
            if one_by_one:
                return [await start(text) for start in tasks.values()]
            futures = [start(text) for start in tasks.values()]
            # Not one after the other: what the others raise would never be looked at.
            return list(await asyncio.gather(*futures))

        return entrypoint(checkpointer=saver)(flow if self.half == "sync" else aflow)

    def _task(self, tool: Tool) -> Callable[..., Any]:
        def body(state: Any, config: Any) -> Steps:
            return (yield from perform(tool, 1, self.gates))

        function = node(body, self.half, self.gates)
        if self.half == "sync":
            return lambda text: function(text, None)

        async def run(text, config=None):  # type: ignore[no-untyped-def]
            return await function(text, config)

        return run
