"""The stage: plays tales on a branching backend with a scripted agent, and keeps a model of what must be.

The agent is an ordinary graph of the application: a model that calls tools in parallel, on the backend's own
saver. What it remembers after each turn is read through that graph, so the model of a conversation owes
nothing to the backend.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import wraps
from typing import Any

from lineage_conformance import contract, observe
from lineage_conformance.bench import Bench
from lineage_conformance.canon import canon
from lineage_conformance.kinds.branching.agent import Agent, script
from lineage_conformance.kinds.branching.case import Move, Tale
from lineage_conformance.kinds.branching.protocol import DEPTH
from lineage_conformance.raised import Raised, Unlike, guarded, unlike
from lineage_conformance.returned import shaped
from lineage_conformance.trace import Diff

Future = concurrent.futures.Future[Any]
Check = Callable[["Stage", Tale], Iterator[Diff]]


def staged(check: Check) -> Callable[[Bench, Tale], Iterator[Diff]]:
    """Make a law's check of a function on a stage: what the backend or its saver raises is a difference."""

    @wraps(check)
    def run(bench: Bench, tale: Tale) -> Iterator[Diff]:
        stage: Stage | None = None
        wrong: Raised
        try:
            stage = Stage(bench)
            yield from check(stage, tale)
            return
        except Raised as raised:
            wrong = raised
        except AttributeError as error:
            wrong = unlike(error)
        at, doing = (stage.at, stage.doing) if stage else (0, "open")
        yield Diff(at, doing, wrong.path, wrong.expected, str(wrong))

    return run


@dataclass
class State:
    """A conversation after a turn: its messages as a canonical tree, its workspace as sorted rows."""

    messages: Any
    rows: list[list[Any]]


@dataclass
class Line:
    """The model of one conversation."""

    thread: str
    parent: Line | None = None
    base: int = 0
    origin: str = "root"
    states: dict[int, State] = field(default_factory=lambda: {0: State([], [])})
    live: dict[tuple[str, str, int | None], str] = field(default_factory=dict)
    last: int = 0
    """Its last turn."""

    def rows(self) -> list[list[Any]]:
        """The workspace now, as rows."""
        return sorted(([k, n, b, t] for (k, n, t), b in self.live.items()), key=repr)

    def history(self) -> tuple[list[list[Any]], bool]:
        """Number and owner of every turn that can be read, and whether those are all."""
        found: list[list[Any]] = []
        line, limit, depth = self, self.last, 0
        while True:
            found = [[n, line.thread] for n in range(line.base + 1, limit + 1)] + found
            if line.parent is None:
                return found, True
            if depth == DEPTH:
                return found, False
            line, limit, depth = line.parent, line.base, depth + 1

    def top(self) -> tuple[Line, bool]:
        """The highest ancestor within reach, and whether it is the root."""
        line, depth = self, 0
        while line.parent is not None and depth < DEPTH:
            line, depth = line.parent, depth + 1
        return line, line.parent is None


class Stage:
    """One example of a law: a backend, a face, an agent, and the models of the conversations on it."""

    def __init__(self, bench: Bench, delta: bool = False) -> None:
        self.bench, self.at, self.doing = bench, 0, "open"
        self.backend = guarded(lambda: bench.subject)
        self.saver = guarded(lambda: self.backend.saver)
        self.half = bench.writer
        self.agent = Agent(self.saver, delta)
        self.lines: dict[str, Line] = {}
        self._ids = 0

    # -- calling -----------------------------------------------------------------------------------

    def call(self, method: str, *args: Any, on: Any = None, **kwargs: Any) -> Any:
        """Call a method of the backend (or of `on`) on this face. Raises `Raised`."""
        subject = self.backend if on is None else on
        self._step(method)
        if self.half == "sync":
            made = guarded(lambda: getattr(subject, method)(*args, **kwargs))
        else:
            made = guarded(lambda: self.bench.loop.run(_await(subject, method, args, kwargs)))
        return shaped("branching", method, made)

    def refused(self, method: str, *args: Any, on: Any = None, **kwargs: Any) -> bool:
        """Whether a call raises an ordinary exception."""
        try:
            self.call(method, *args, on=on, **kwargs)
        except Raised as raised:
            if isinstance(raised, Unlike) or not isinstance(raised.error, Exception):
                raise
            return True
        return False

    def start(self, method: str, *args: Any, on: Any = None, **kwargs: Any) -> Future:
        """Begin a call and go on meanwhile; ask the result for its `exception()` or `result()`."""
        subject = self.backend if on is None else on
        self._step(method)
        if self.half == "async":
            loop = self.bench.loop.loop
            return asyncio.run_coroutine_threadsafe(_await(subject, method, args, kwargs), loop)
        future: Future = concurrent.futures.Future()

        def work() -> None:
            try:
                future.set_result(getattr(subject, method)(*args, **kwargs))
            except BaseException as error:
                future.set_exception(error)

        threading.Thread(target=work, daemon=True).start()
        return future

    def _step(self, doing: str) -> None:
        self.doing = doing
        self.at += 1
        self.bench.beat(self.at)

    # -- the saver, through the agent --------------------------------------------------------------

    def config(self, thread: str) -> dict[str, Any]:
        """The config of a thread."""
        return {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}

    def snapshot(self, thread: str, agent: Agent | None = None) -> Any:
        """The state of a thread as the agent's graph sees it."""
        return self.call("get_state", self.config(thread), on=(agent or self.agent).graph)

    def messages(self, thread: str) -> Any:
        """The messages of a thread, as a canonical tree."""
        return canon(list(self.snapshot(thread).values.get("messages") or []))

    def head(self, thread: str) -> str | None:
        """The id of the newest checkpoint of a thread."""
        found = self.snapshot(thread).config["configurable"].get("checkpoint_id")
        return None if found is None else str(found)

    def dump(self, thread: str) -> list[Any]:
        """Everything that the saver holds of a thread."""
        self._step("list")
        config = {"configurable": {"thread_id": thread}}
        if self.half == "sync":
            rows = guarded(lambda: list(self.saver.list(config)))
        else:
            rows = guarded(lambda: self.bench.loop.run(_collect(self.saver.alist(config))))
        return [observe.tuple_(row) for row in rows]

    # -- playing -----------------------------------------------------------------------------------

    def name(self) -> str:
        """A fresh name for messages."""
        self._ids += 1
        return f"m{self._ids}"

    def play(self, tale: Tale, recorded: bool = True) -> Line:
        """A new conversation with all turns of a tale. Unrecorded: made known when they are over."""
        line = Line(self.bench.name(f"t{len(self.lines)}"))
        self.lines[line.thread] = line
        if recorded:
            self.call("create", line.thread)
        for move in tale.moves:
            self.turn(line, move) if recorded else self.run(line, move)
            line.states[line.last] = State(self.messages(line.thread), line.rows())
        if not recorded:
            self.call("create", line.thread, len(tale.moves))
            line.base = line.last
        return line

    def turn(self, line: Line, move: Move, agent: Agent | None = None) -> int:
        """One recorded turn; its number as the backend gave it."""
        number = self.begin(line, move)
        self.run(line, move, agent, number=line.last)
        self.end(line, move)
        return number

    def begin(self, line: Line, move: Move) -> int:
        """Begin a turn and write what is written while it runs."""
        number = int(self.call("begin_turn", line.thread))
        line.last += 1
        self.furnish(line, move.rows)
        return number

    def end(self, line: Line, move: Move) -> None:
        """End a turn, and write what is written after it."""
        self.call("end_turn", line.thread, line.last, self.head(line.thread))
        self.furnish(line, move.after)
        line.states[line.last] = State(self.messages(line.thread), line.rows())

    def furnish(self, line: Line, rows: Sequence[tuple[str, str, str | None]]) -> None:
        """Write rows to a workspace and to its model."""
        for kind, name, body in rows:
            self.call("write", line.thread, kind, name, body)
            key = (kind, name, line.last if kind == "artifacts" else None)
            if body is None:
                line.live.pop(key, None)
            else:
                line.live[key] = body

    def run(
        self, line: Line, move: Move, agent: Agent | None = None, number: int | None = None
    ) -> str:
        """Let the agent answer one message; the id of that message."""
        if number is None:
            line.last += 1
        player, name = agent or self.agent, self.name()
        player.steps.clear()
        player.steps.extend(script(move, name))
        self.call(*self.input(line, move, name), on=player.graph)
        return name

    def input(self, line: Line, move: Move, name: str) -> tuple[str, Any, Any]:
        """The call that gives the agent a human message."""
        from langchain_core.messages import HumanMessage

        update = {"messages": [HumanMessage(f"question {name}", id=f"{name}-human")]}
        given: Any = update
        if move.command and not contract.unmet("langgraph>=1.0"):
            from langgraph.types import Command

            given = Command(update=update, goto="model")
        return "invoke", given, self.config(line.thread)

    def branch(self, line: Line, turn: int, method: str = "branch", **options: Any) -> Line:
        """Branch a conversation at one of its turns, inherited ones included; the model of the branch."""
        made = self.call(method, line.thread, turn, **options)
        return self.adopt(line, turn, str(made.thread_id), method)

    def adopt(self, line: Line, turn: int, thread: str, origin: str = "branch") -> Line:
        """The model of a branch that was made."""
        owner = line
        while turn < owner.base and owner.parent is not None:
            owner = owner.parent
        state = line.states[turn]
        kept = {(k, n, t): b for k, n, b, t in state.rows}
        states = {n: s for n, s in line.states.items() if n <= turn}
        child = Line(thread, owner, turn, origin, states, kept, turn)
        self.lines[thread] = child
        return child

    # -- comparing ---------------------------------------------------------------------------------

    def compare(self, kind: str, path: Sequence[str], expected: Any, got: Any) -> Iterator[Diff]:
        """Differences of two canonical trees; counts the comparison."""
        yield from self.bench.compare_trees(self.at, kind, tuple(path), expected, got)

    def rows(self, thread: str, on: Any = None) -> list[list[Any]]:
        """A workspace as the backend shows it, as sorted rows."""
        found = self.call("workspace", thread, on=on)
        return sorted(([r.kind, r.name, r.body, r.turn] for r in found), key=repr)

    def history(self, thread: str) -> tuple[list[list[Any]], bool]:
        """Number and owner of every turn, as the backend tells it, and whether those are all."""
        found = self.call("history", thread)
        return [[turn.number, turn.thread_id] for turn in found.turns], bool(found.complete)

    def whole(self, line: Line, kind: str = "branch") -> Iterator[Diff]:
        """Whether a conversation has all that its model has: messages, workspace, turns."""
        last = line.states[line.last]
        yield from self.compare(kind, ("messages",), last.messages, self.messages(line.thread))
        yield from self.compare(kind, ("workspace",), line.rows(), self.rows(line.thread))
        turns, complete = line.history()
        found, said = self.history(line.thread)
        yield from self.compare(kind, ("history",), turns, found)
        yield from self.compare(kind, ("complete",), complete, said)

    def visible(self, line: Line, on: Any = None, new: bool = True) -> list[str]:
        """Branches of a conversation that can be seen, in the list or in the map; `new`: only unknown ones."""
        found = {str(each.thread_id) for each in self.call("branches", line.thread, on=on)}
        for node in self.call("decision_map", line.thread, on=on).nodes:
            if node.conversation.parent_id == line.thread:
                found.add(str(node.conversation.thread_id))
        return sorted(found - self.lines.keys() if new else found)

    @contextmanager
    def tampered(self, method: str, wrap: Callable[[Callable[..., Any]], Any]) -> Iterator[None]:
        """Replace one method of the saver, on this face, for a while."""
        name = method if self.half == "sync" else "a" + method
        setattr(self.saver, name, wrap(getattr(self.saver, name)))
        try:
            yield
        finally:
            delattr(self.saver, name)


async def _await(subject: Any, method: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    return await getattr(subject, "a" + method)(*args, **kwargs)


async def _collect(rows: Any) -> list[Any]:
    return [row async for row in rows]
