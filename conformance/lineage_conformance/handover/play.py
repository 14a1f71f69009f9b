"""Plays one stage of a story on an open saver, and says what is seen of the conversation afterwards."""

from __future__ import annotations

import itertools
from typing import Any

from lineage_conformance.canon import canon
from lineage_conformance.graphs import Gates, Life, watched
from lineage_conformance.handles import Half, Handle
from lineage_conformance.handover.stories import Stage, Story

_LABEL = ("log", "deltas", "next", "asked", "messages", "began", "raised", "missed")


def play(handle: Handle, half: Half, story: Story, number: int, thread: str, beat: Any) -> Any:
    """Play stage `number` of a story on a conversation; what is seen then, as a canonical tree.

    A text that begins with ``absent:`` where the installed packages cannot make the graph.
    """
    steps = itertools.count(1)
    beat(next(steps))
    stage = story.stages[number]
    try:
        from lineage_conformance.graphs.build import Builder, build
        from lineage_conformance.graphs.driver import Driver
        from lineage_conformance.graphs.state import Lacking
    except ImportError as error:
        return f"absent: {error}"
    gates, life = Gates(), Life()
    with gates, watched(handle.saver, gates, life) as saver:
        try:
            shape = stage.shape or story.shape
            graph = build(shape, saver, gates, half)
            builder = Builder(shape, gates, half)
        except (Lacking, ImportError) as error:
            return f"absent: {error}"
        scene = _Scene(Driver(graph, gates, life, half, handle.loop), builder, thread)
        seen = scene.play(stage)
    beat(next(steps))
    if life.dead:  # a dead process reads nothing: what it left is read by a new one
        life.dead = False
    return canon({key: seen[key] for key in _LABEL if seen.get(key) not in (None, [], "")})


class _Scene:
    def __init__(self, driver: Any, builder: Any, thread: str) -> None:
        self.driver, self.builder = driver, builder
        self.config = {"configurable": {"thread_id": thread}}

    def play(self, stage: Stage) -> dict[str, Any]:
        seen: dict[str, Any] = {}
        if stage.do in ("resume", "go-on"):
            # Tasks that waited for a sibling did so in an earlier stage; the sibling does not run again.
            for tool in self.builder.shape.tools:
                self.driver.gates.post("landed", tool.name)
        try:
            outcome = self._do(stage)
            if outcome is not None and outcome.error and stage.do != "stop":
                seen["raised"] = outcome.error.partition(":")[0]
            if outcome is not None and stage.until and not outcome.met:
                seen["missed"] = True
        except Exception as error:
            seen["raised"] = type(error).__name__
        seen["began"] = sorted(self.driver.gates.names("began"))
        self.driver.life.dead = False
        try:
            self._look(seen)
        except Exception as error:
            seen["raised"] = f"{seen.get('raised', '')} then {type(error).__name__} when read"
        return seen

    def _do(self, stage: Stage) -> Any:
        if stage.do == "invoke":
            return self.driver.run(self.builder.input(stage.with_), self.config)
        if stage.do == "go-on":
            return self.driver.run(None, self.config)
        if stage.do == "resume":
            return self.driver.run(self._answer(stage.with_), self.config)
        if stage.do == "stop":
            self.driver.gates.hold(*stage.hold)
            stop = "cancel" if self.driver.half == "async" else "crash"
            given = self.builder.input(stage.with_)
            return self.driver.run(given, self.config, "sync", until=stage.until, stop=stop)
        if stage.do == "edit":
            self._update(self.config, self.builder.wrote(stage.with_), stage.at)
        elif stage.do == "fork":
            self._update(
                self._before(stage.at), self.builder.wrote(stage.with_), self._previous(stage.at)
            )
        else:
            self._update(self.config, None, "__copy__")
        return None

    def _update(self, config: Any, values: Any, node: str) -> None:
        self.driver.call("update_state", config, values, as_node=node)

    def _before(self, node: str) -> Any:
        history = self.driver.call("get_state_history", self.config)
        return next(item.config for item in history if item.next == (node,))

    def _previous(self, node: str) -> str:
        names = [tool.name for tool in self.builder.shape.tools]
        return str(names[names.index(node) - 1])

    def _answer(self, answers: Any) -> Any:
        from langgraph.types import Command

        if not isinstance(answers, dict):
            return Command(resume=answers)
        open_ = [
            item
            for task in self.driver.call("get_state", self.config).tasks
            for item in task.interrupts
        ]
        ids = {item.value: getattr(item, "id", None) or item.interrupt_id for item in open_}
        return Command(resume={ids[question]: answer for question, answer in answers.items()})

    def _look(self, seen: dict[str, Any]) -> None:
        state = self.driver.call("get_state", self.config)
        values = state.values or {}
        seen["log"] = values.get("log")
        # What is there counts, not its order: savers that mix up orders do so anew every time (see the facts).
        seen["deltas"] = sorted(values.get("deltas") or ())
        # Without ids and fields that a release of langchain-core may add: those are for facts.
        seen["messages"] = [
            f"{message.type}: {message.content}" for message in values.get("messages") or ()
        ]
        seen["next"] = sorted(state.next)
        seen["asked"] = sorted(str(item.value) for task in state.tasks for item in task.interrupts)
