"""What a probe has to work with: a saver on one half, under names of its own."""

from __future__ import annotations

import contextlib
import contextvars
import functools
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lineage_conformance.bench import Bench
from lineage_conformance.handles import Half

_inside: contextvars.ContextVar[bool] = contextvars.ContextVar("lineage_fact_inside", default=False)


class Absent(Exception):
    """The installed packages do not have what a probe asks about. The message says what."""


class Probe:
    """Calls the saver, and graphs over it, on one half. Every probe has threads of its own."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.half: Half = bench.writer
        self.thread = bench.name("t")
        self._steps = itertools.count(1)

    @property
    def saver(self) -> Any:
        """The saver."""
        return self.bench.subject

    def need(self, condition: Any, what: str) -> None:
        """Raise `Absent` unless the installed packages have what the probe asks about."""
        if not condition:
            raise Absent(what)

    # -- the saver -------------------------------------------------------------------------------

    def place(self, thread: str = "", **more: Any) -> dict[str, Any]:
        """A config of a thread in the root namespace; `more` is added to it, None takes a key out."""
        found = {"thread_id": thread or self.thread, "checkpoint_ns": "", **more}
        return {"configurable": {key: value for key, value in found.items() if value is not None}}

    def call(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """Call a method of the saver on this half."""
        self.bench.beat(next(self._steps))
        if not hasattr(self.saver, method if self.half == "sync" else "a" + method):
            raise Absent(f"the saver has no {method}")
        return self.bench.handle().call(self.half, method, *args, **kwargs)

    def version(self, current: Any = None) -> Any:
        """The version that the saver itself gives after `current`."""
        return self.saver.get_next_version(current, None)

    def put(
        self,
        values: Mapping[str, Any] | None = None,
        meta: Mapping[str, Any] | None = None,
        config: Any = None,
        versions: Mapping[str, Any] | None = None,
        new: Mapping[str, Any] | None = None,
        id: str = "",
    ) -> Any:
        """Store a checkpoint; the config that `put` returned."""
        made = self.checkpoint(values or {}, versions)
        if id:
            made["id"] = id
        given = made["channel_versions"] if new is None else new
        metadata = {"source": "loop", "step": next(self._steps), "parents": {}, **(meta or {})}
        return self.call("put", config or self.place(), made, metadata, given)

    def checkpoint(
        self, values: Mapping[str, Any], versions: Mapping[str, Any] | None = None
    ) -> Any:
        """A checkpoint that holds the values, each under a version that the saver gave."""
        from langgraph.checkpoint.base import empty_checkpoint

        made: Any = empty_checkpoint()
        made["channel_values"] = dict(values)
        made["channel_versions"] = (
            {name: self.version() for name in values} if versions is None else dict(versions)
        )
        return made

    def writes(self, config: Any, *items: tuple[str, Any], task: str = "t", path: str = "") -> None:
        """Store the writes of a task."""
        self.bench.beat(next(self._steps))
        self.bench.handle().put_writes(self.half, config, list(items), task, path)

    def get(self, config: Any = None) -> Any:
        """The tuple at a config (the latest of the probe's own thread); None where there is none."""
        return self.call("get_tuple", config or self.place())

    def pending(self, config: Any = None) -> list[list[Any]]:
        """The pending writes, as task, channel and value."""
        return [list(write) for write in self.get(config).pending_writes or ()]

    def rows(self, config: Any = None, **options: Any) -> list[Any]:
        """What `list` gives, for the probe's own thread unless a config is given."""
        self.bench.beat(next(self._steps))
        return self.bench.handle().all_rows(self.half, config or self.place(), **options)

    # -- graphs over it --------------------------------------------------------------------------

    def graph(self, **nodes: Any) -> Any:
        """A graph whose nodes run one after the other; its state is ``log``, a list that is added to."""
        from langgraph.graph import START

        made = state_graph()
        previous = START
        for name, node in nodes.items():
            made.add_node(name, node)
            made.add_edge(previous, name)
            previous = name
        return made.compile(checkpointer=self.saver)

    def together(self, **nodes: Any) -> Any:
        """A graph whose nodes run in one step."""
        from langgraph.graph import START

        made = state_graph()
        for name, node in nodes.items():
            made.add_node(name, node)
            made.add_edge(START, name)
        return made.compile(checkpointer=self.saver)

    def config(self, label: str = "") -> dict[str, Any]:
        """The config of a conversation of the probe."""
        return {"configurable": {"thread_id": self.thread + label}}

    def on(self, graph: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        """Call a method of a graph on this half: ``invoke``, ``get_state``, ``update_state``, ..."""
        self.bench.beat(next(self._steps))
        history = method.endswith("history")
        if self.half == "sync":
            made = getattr(graph, method)(*args, **kwargs)
            return list(made) if history else made
        bound = getattr(graph, "a" + method)
        if not history:
            return self.bench.loop.run(bound(*args, **kwargs))

        async def collect() -> list[Any]:
            return [item async for item in bound(*args, **kwargs)]

        return self.bench.loop.run(collect())

    def run(self, graph: Any, input: Any, config: Any = None, **kwargs: Any) -> Any:
        """Invoke a graph on the probe's conversation."""
        return self.on(graph, "invoke", input, config or self.config(), **kwargs)

    def attempt(self, graph: Any, input: Any, config: Any = None, **kwargs: Any) -> str:
        """Invoke a graph; the name of the exception that it raised, or ``ends``."""
        try:
            self.run(graph, input, config, **kwargs)
        except Exception as error:
            return f"raises {type(error).__name__}"
        return "ends"

    def state(self, graph: Any, config: Any = None) -> Any:
        """The state snapshot."""
        return self.on(graph, "get_state", config or self.config())

    def log(self, graph: Any, config: Any = None) -> Any:
        """The channel ``log`` as `get_state` shows it."""
        return self.state(graph, config).values.get("log")

    def before(self, graph: Any, node: str) -> Any:
        """The config of the latest checkpoint at which a node was to run next."""
        history = self.on(graph, "get_state_history", self.config())
        return next(item.config for item in history if item.next == (node,))

    @contextlib.contextmanager
    def listening(self) -> Iterator[list[tuple[Any, ...]]]:
        """The calls that reach the saver: ``("put", source, step, id)`` and ``("writes", channels, path, id)``.

        The id is that of the checkpoint.
        """
        calls: list[tuple[Any, ...]] = []
        plain = type(self.saver)
        saver = self.saver
        saver.__class__ = _listening(plain, calls)
        try:
            yield calls
        finally:
            saver.__class__ = plain


def state_graph(schema: Any = None) -> Any:
    """An empty `StateGraph`, of the state ``{"log": [...]}`` unless a schema is given."""
    from langgraph.graph import StateGraph

    return StateGraph(log_state() if schema is None else schema)


def log_state() -> Any:
    """The state ``{"log": [...]}`` with a reducer that adds."""
    import operator
    from typing import Annotated

    from typing_extensions import TypedDict

    return TypedDict("LogState", {"log": Annotated[list, operator.add]})  # type: ignore[operator]


def says(text: str) -> Any:
    """A node that writes a word into ``log``."""
    return lambda state: {"log": [text]}


def noted(ran: list[str], name: str, update: Any) -> Any:
    """The update of a node, whose run is written down."""
    ran.append(name)
    return update


def asks(*questions: str) -> Any:
    """A node that asks questions, one after the other, and writes the answers into ``log``."""

    def node(state: Any) -> Any:
        from langgraph.types import interrupt

        return {"log": [interrupt(question) for question in questions]}

    return node


def resume(value: Any, **more: Any) -> Any:
    """``Command(resume=value)``."""
    from langgraph.types import Command

    return Command(resume=value, **more)


def _listening(plain: type[Any], calls: list[tuple[Any, ...]]) -> type[Any]:
    """A subclass made at run time that writes down calls; calls of the saver to itself do not count."""

    def put(
        self: Any, config: Any, checkpoint: Any, metadata: Any, *args: Any, **kwargs: Any
    ) -> Any:
        if not _inside.get():
            calls.append(("put", metadata.get("source"), metadata.get("step"), checkpoint["id"]))
        return plain.put(self, config, checkpoint, metadata, *args, **kwargs)

    async def aput(
        self: Any, config: Any, checkpoint: Any, metadata: Any, *args: Any, **kwargs: Any
    ) -> Any:
        calls.append(("put", metadata.get("source"), metadata.get("step"), checkpoint["id"]))
        with _within():
            return await plain.aput(self, config, checkpoint, metadata, *args, **kwargs)

    def put_writes(self: Any, config: Any, writes: Sequence[Any], *args: Any, **kwargs: Any) -> Any:
        if not _inside.get():
            calls.append(_written(config, writes, args, kwargs))
        return plain.put_writes(self, config, writes, *args, **kwargs)

    async def aput_writes(
        self: Any, config: Any, writes: Sequence[Any], *args: Any, **kwargs: Any
    ) -> Any:
        calls.append(_written(config, writes, args, kwargs))
        with _within():
            return await plain.aput_writes(self, config, writes, *args, **kwargs)

    body: dict[str, Any] = {"__slots__": (), "__module__": plain.__module__}
    for function in (put, aput, put_writes, aput_writes):
        method = getattr(plain, function.__name__, None)
        if (
            method is not None
        ):  # the engine reads the signature to learn whether a task path is taken
            body[function.__name__] = functools.wraps(method)(function)
    return type(plain.__name__, (plain,), body)


def _written(
    config: Any, writes: Sequence[Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[Any, ...]:
    path = kwargs.get("task_path", args[1] if len(args) > 1 else "")
    at = config["configurable"].get("checkpoint_id")
    return ("writes", sorted(channel for channel, _ in writes), path, at)


@contextlib.contextmanager
def _within() -> Iterator[None]:
    token = _inside.set(True)
    try:
        yield
    finally:
        _inside.reset(token)
