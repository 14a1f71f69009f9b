"""Fixtures for an application's own tests: a graph whose tools stop where a test says, and the gates for it.

``lineage_gates`` is a `Gates`; it opens every gate when the test ends, so no task is left hanging.
``lineage_parallel_tools`` makes the Send-based parallel tool graph over any saver. Both work in plain tests, with
pytest-asyncio (strict and auto mode) and with anyio on asyncio: neither is a coroutine, neither binds a loop.

    async def test_stop_keeps_finished_tools(lineage_gates, lineage_parallel_tools):
        saver = InMemorySaver()
        graph = lineage_parallel_tools(saver, {"fast": [], "slow": ["gate:slow"]})
        lineage_gates.hold("slow")
        task = asyncio.create_task(graph.run())
        await lineage_gates.wait_async("reached:slow", "landed:fast")
        task.cancel()
        ...
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

from lineage_conformance.graphs import Gates, Life, Shape, Tool, watched
from lineage_conformance.graphs.build import Builder, build


class ParallelTools:
    """A compiled graph over a watched saver: ``model`` → ``review`` → one Send a tool call → ``model``.

    `graph` is the compiled graph, for all that LangGraph offers; `run` and `start` begin a turn.
    """

    def __init__(self, saver: Any, shape: Shape, gates: Gates, half: str) -> None:
        self.saver, self.shape, self.gates = saver, shape, gates
        self.graph = build(shape, saver, gates, half)
        self._builder = Builder(shape, gates, half)

    def config(self, thread: str = "t", **more: Any) -> dict[str, Any]:
        """The config of a thread; `more` joins its ``configurable``."""
        return {"configurable": {"thread_id": thread, **more}}

    def input(self, text: str = "in") -> dict[str, Any]:
        """The input of a turn."""
        return self._builder.input(text)

    def start(self, text: str = "in", thread: str = "t", **options: Any) -> Any:
        """Run a turn in a plain test and return the state; `options` go to ``invoke``."""
        try:
            return self.graph.invoke(self.input(text), self.config(thread), **options)
        finally:
            self.gates.post("done", "")

    async def run(self, text: str = "in", thread: str = "t", **options: Any) -> Any:
        """Run a turn in an async test and return the state; `options` go to ``ainvoke``."""
        try:
            return await self.graph.ainvoke(self.input(text), self.config(thread), **options)
        finally:
            self.gates.post("done", "")

    def ran(self, tool: str) -> int:
        """How often a tool has begun."""
        return self.gates.count("began", tool)


class Maker:
    """What the fixture ``lineage_parallel_tools`` gives: call it with a saver and the tools' behaviours."""

    def __init__(self, gates: Gates, asynchronous: bool) -> None:
        self.gates, self._asynchronous = gates, asynchronous
        self._open = contextlib.ExitStack()

    def __call__(
        self,
        saver: Any,
        tools: Mapping[str, Sequence[str]] | Shape,
        *,
        asynchronous: bool | None = None,
        life: Life | None = None,
        **options: Any,
    ) -> ParallelTools:
        """Make a graph over `saver`, which is watched until the test ends.

        `tools` maps each tool's name to its steps (see `lineage_conformance.graphs.Tool`), or is a whole
        `Shape`; `options` are further fields of one. `asynchronous` says whether nodes are coroutines; by
        default they are in a test that is one. `life` makes the saver fail or die on request.
        Raises `ValueError` for an unknown step.
        """
        if not isinstance(tools, Shape):
            tools = Shape(
                tuple(Tool(name, tuple(steps)) for name, steps in tools.items()), **options
            )
        half = "async" if (self._asynchronous if asynchronous is None else asynchronous) else "sync"
        self._open.enter_context(watched(saver, self.gates, life))
        return ParallelTools(saver, tools, self.gates, half)

    def close(self) -> None:
        """Open every gate and give the savers their own classes back."""
        self.gates.open_all()
        self._open.close()
