"""Plays a scenario on a saver and writes down what is seen after each action."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from lineage_conformance import contract
from lineage_conformance.bench import Bench
from lineage_conformance.canon import canon
from lineage_conformance.graphs.gates import Gates
from lineage_conformance.graphs.watch import Life, found_in, watched
from lineage_conformance.kinds.graph.scenario import RUNS, Act, Scenario


@dataclass
class Seen:
    """What is seen of the thread after one action. Everything but `config` is comparable data."""

    act: int
    op: str
    error: str = ""
    """What the action raised, as ``Type: message``; empty when it did not."""
    met: bool = True
    log: list[str] = field(default_factory=list)
    deltas: Any = None
    messages: list[str] = field(default_factory=list)
    last: Any = None
    live: Any = None
    """``log`` as the run itself streamed it last; None if it did not."""
    next: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    """The nodes of the tasks that the latest step has, finished ones included."""
    asked: tuple[tuple[str, str], ...] = ()
    """Listed interrupts as (question, id)."""
    began: tuple[str, ...] = ()
    """Tools and nodes that began during the action, in order (parallel ones in any)."""
    landed: tuple[str, ...] = ()
    """Tools whose writes were stored during the action."""
    kept: tuple[str, ...] = ()
    """Tools whose results are among the pending writes of the latest checkpoint, sorted."""
    checkpoints: int = 0
    step: Any = None
    calls: tuple[Any, ...] = ()
    """What the saver was told, in order (see `Life.calls`)."""
    during: Any = None
    stored: tuple[str, ...] = ()
    """Channels that the latest checkpoint and its pending writes hold values of, sorted."""
    children: dict[str, Any] = field(default_factory=dict)
    """For ``look``: namespace label to the log of a subgraph that has a task."""
    config: Any = field(default=None, compare=False)
    compared: Counter[str] = field(default_factory=Counter, compare=False, repr=False)
    """How often each field was compared, see `Trace.seen`; the bench's own counter."""


def play(bench: Bench, scenario: Scenario, half: str = "", label: str = "") -> list[Seen]:
    """Run every action, under fresh thread ids, on the half of the bench's face unless `half` is given.

    Raises `graphs.state.Lacking` if the installed LangGraph cannot make the graph. Whatever a run raises is
    written down, not raised.
    """
    with Stage(bench, scenario, half or bench.writer, label) as stage:
        for index, act in enumerate(scenario.acts):
            bench.beat(index)
            stage.perform(index, act)
        return stage.story


class Stage:
    """One saver, one graph and the gates between them; the graph is built anew after a crash."""

    def __init__(self, bench: Bench, scenario: Scenario, half: str, label: str) -> None:
        self.bench, self.scenario, self.half, self.label = bench, scenario, half, label
        if any(act.answers for act in scenario.acts) and contract.unmet("langgraph>=0.4.0"):
            from lineage_conformance.graphs.state import Lacking

            raise Lacking("answers by id came with langgraph 0.4")
        if any(act.stop == "crash" for act in scenario.acts) and contract.unmet("langgraph>=0.6.0"):
            from lineage_conformance.graphs.state import Lacking

            # Before, a step began while the checkpoint that it starts from was still on its way to the saver.
            raise Lacking("durability sync came with langgraph 0.6")
        self.gates = Gates()
        self.story: list[Seen] = []
        self.ids: dict[str, str] = {}
        self._open()

    def _open(self) -> None:
        from lineage_conformance.graphs.build import build
        from lineage_conformance.graphs.driver import Driver

        self.life = Life()
        self._watch = contextlib.ExitStack()
        self.saver = self._watch.enter_context(watched(self.bench.subject, self.gates, self.life))
        try:
            graph = build(self.scenario.shape, self.saver, self.gates, self.half)
        except BaseException:
            self._watch.close()
            raise
        self.driver = Driver(graph, self.gates, self.life, self.half, self.bench.loop)

    def __enter__(self) -> Stage:
        return self

    def __exit__(self, *exc: object) -> None:
        self.gates.open_all()
        self._watch.close()

    # -- acting ----------------------------------------------------------------------------------

    def perform(self, index: int, act: Act) -> None:
        """Do one action and append what is seen."""
        since, calls = len(self.gates.events), len(self.life.calls)
        seen = Seen(index, act.op, compared=self.bench.seen)
        self.life.fails = act.fails
        try:
            self._do(act, seen)
        except Exception as error:
            seen.error = f"{type(error).__name__}: {str(error)[:300]}"
        finally:
            self.life.fails = ()
        seen.began = tuple(self.gates.names("began", since))
        seen.landed = tuple(self.gates.names("landed", since))
        seen.calls = tuple(self.life.calls[calls:])
        if self.life.raised and not self.bench.cut:
            self.bench.cut = self.life.raised[0]
        if self.life.dead or act.op == "reopen":
            self._watch.close()
            if act.op == "reopen":
                self.bench.reopen()
            self._open()
        self._observe(act, seen)
        self.story.append(seen)

    def _do(self, act: Act, seen: Seen) -> None:
        config = self.place(act.at, act.thread)
        if act.op in RUNS:
            self.gates.hold(*act.hold)
            mode = act.durability or self.scenario.durability
            meanwhile = None
            if act.until:
                meanwhile = self._peek if self.half == "sync" else self._apeek
            outcome = self.driver.run(
                self._input(act), config, mode, act.until, act.stop, meanwhile
            )
            seen.error, seen.met, seen.during = outcome.error, outcome.met, outcome.during
            live = outcome.live
            seen.live = self._log(live) if live is not None else None
        elif act.op == "update":
            note = self._wrote(act.note) if act.note else None
            self.driver.call("update_state", config, note, as_node=act.as_node or None)
        elif act.op == "bulk":
            from langgraph.types import StateUpdate

            steps = [[StateUpdate(self._wrote((n,)), act.as_node or None)] for n in act.note]
            self.driver.call("bulk_update_state", config, steps)
        elif act.op == "delete":
            self.bench.handle(0).call(self.half, "delete_thread", self.thread(act.thread))  # type: ignore[arg-type]

    def _input(self, act: Act) -> Any:
        from lineage_conformance.graphs.build import Builder

        if act.op == "invoke":
            if self.scenario.shape.layout.startswith("functional"):
                return act.text
            return Builder(self.scenario.shape, self.gates, self.half).input(act.text)
        if act.op == "continue":
            return None
        from langgraph.types import Command

        resume: Any = act.answer
        if act.answers:
            resume = {self.ids.get(question, question): value for question, value in act.answers}
        if act.note:
            return Command(resume=resume, update=self._wrote(act.note))
        return Command(resume=resume)

    def _wrote(self, note: tuple[str, ...]) -> dict[str, Any]:
        update: dict[str, Any] = {"log": list(note)}
        if self.scenario.shape.delta:
            update["deltas"] = list(note)
        return update

    # -- places ----------------------------------------------------------------------------------

    def thread(self, label: str) -> str:
        """The thread id for a label."""
        return self.bench.name(self.label + label)

    def place(self, at: str, thread: str) -> Any:
        """The config that an action's `at` names."""
        bare = {"configurable": {"thread_id": self.thread(thread)}}
        if not at:
            return bare
        if at == "head":
            return self.driver.call("get_state", bare).config
        kind, _, name = at.partition(":")
        if kind == "act":
            return self.story[int(name)].config
        name, _, nth = name.partition("@")
        matching = [
            state
            for state in self.driver.call("get_state_history", bare)
            if (name in state.next if kind == "before" else str(state.metadata.get("step")) == name)
        ]
        if len(matching) < int(nth or 1):
            raise LookupError(f"there is no checkpoint {at!r}")
        return matching[int(nth or 1) - 1].config

    # -- seeing ----------------------------------------------------------------------------------

    def _observe(self, act: Act, seen: Seen) -> None:
        bare = self.place("", act.thread)
        try:
            state = self.driver.call("get_state", bare)
            raw = self.bench.handle(0).call(self.half, "get_tuple", bare)  # type: ignore[arg-type]
        except Exception as error:
            seen.error = seen.error or f"{type(error).__name__}: {str(error)[:300]}"
            return
        seen.config = state.config
        values = state.values
        seen.log = self._log(values)
        if isinstance(values, dict):
            seen.deltas = list(values["deltas"]) if values.get("deltas") is not None else None
            seen.messages = [str(message.id) for message in values.get("messages", ())]
            seen.last = canon(values.get("last"))
        seen.next = tuple(state.next)
        seen.tasks = tuple(task.name for task in state.tasks)
        seen.step = (state.metadata or {}).get("step")
        seen.asked = tuple(sorted(_asked(state)))
        self.ids.update(seen.asked)
        if raw is not None:
            writes = [(channel, value) for _, channel, value in raw.pending_writes or ()]
            seen.kept = tuple(sorted(found_in(writes)[0]))
            held = {*raw.checkpoint["channel_values"], *(channel for channel, _ in writes)}
            seen.stored = tuple(sorted(held))
        if act.op == "look":
            seen.checkpoints = len(self.driver.call("get_state_history", bare))
            with contextlib.suppress(Exception):
                deep = self.driver.call("get_state", self.place(act.at, act.thread), subgraphs=True)
                seen.children = dict(_children(deep))
                seen.log, seen.next = self._log(deep.values), tuple(deep.next)

    def _log(self, values: Any) -> list[str]:
        if self.scenario.shape.layout.startswith("functional"):
            return ["in", *values] if isinstance(values, list) else []
        return list(values.get("log") or []) if isinstance(values, dict) else []

    def _peek(self) -> Any:
        raw = self.saver.get_tuple(self.place("", "t"))
        return None if raw is None else raw.checkpoint["id"]

    async def _apeek(self) -> Any:
        raw = await self.saver.aget_tuple(self.place("", "t"))
        return None if raw is None else raw.checkpoint["id"]


def _asked(state: Any) -> Iterator[tuple[str, str]]:
    """The interrupts that a state lists, as (question, id)."""
    for task in state.tasks:
        for item in getattr(task, "interrupts", ()):
            id = getattr(item, "id", None) or getattr(item, "interrupt_id", None)
            yield str(item.value), str(id or "|".join(getattr(item, "ns", None) or ()))


def _children(state: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for task in state.tasks:
        child = task.state
        if hasattr(child, "values") and not isinstance(child, dict):
            label = f"{prefix}{task.name}"
            yield label, {"log": list(child.values.get("log") or []), "next": list(child.next)}
            yield from _children(child, label + "/")
