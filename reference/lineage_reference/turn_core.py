"""What both halves of the turn runner share: its locks, and its procedures as steps (see `steps`)."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from lineage_reference import remove, restore
from lineage_reference.steps import Steps, call
from lineage_reference.turns import (
    TURN,
    Busy,
    Held,
    Mark,
    NothingToResume,
    Outcome,
    Refused,
    RollbackError,
    head,
    id_of,
    turns_of,
)

STRATEGIES = {"restore": restore, "remove": remove}

OnEvent = Callable[[str, Any], None]


@dataclass
class Live:
    """A turn while it runs."""

    mark: Mark
    input: Any
    resumed: bool = False
    stop: bool = False
    keep: bool = False
    interrupted: bool = False
    memories: set[str] = field(default_factory=set)
    task: asyncio.Task[None] | None = None

    def stopped(self) -> bool:
        """Whether a cancel has been asked for."""
        return self.stop


@dataclass
class Lock:
    """Holds a thread's place before its turn has begun, or while there is no turn to cancel."""

    runs: bool
    """Whether a turn is about to begin, which a cancel that comes early is meant for."""
    stop: bool = False
    keep: bool = False


class _Unused:
    """Stands for the graph until there is one."""

    def __getattr__(self, name: str) -> Any:
        raise RollbackError("no graph to run: call use() first")


class Core:
    """What both halves share: the graph, the turns that run, and the procedures."""

    def __init__(
        self, saver: Any, *, strategy: str = "restore", modes: Sequence[str] = ("updates",)
    ) -> None:
        """Run turns over `saver`, with the strategy ``restore`` or ``remove``.

        `modes` are the stream modes that `on_event` is called for. Raises `ValueError` for an unknown strategy.
        """
        if strategy not in STRATEGIES:
            raise ValueError(f"unknown strategy {strategy!r}; known are {', '.join(STRATEGIES)}")
        self.saver = saver
        self.graph: Any = _Unused()
        self._strategy: Any = STRATEGIES[strategy]
        self.promises: str = self._strategy.PROMISES
        self._modes = tuple(modes)
        self._live: dict[str, Live | Lock] = {}
        self._guard = threading.Lock()

    def use(self, build: Callable[[Any], Any]) -> Any:
        """Compile the agent over the saver, run all later turns with it, and return it."""
        self.graph = build(self.saver)
        return self.graph

    def running(self, thread: str) -> bool:
        """Whether a turn of a thread runs, or is being rolled back, in this process."""
        with self._guard:
            return thread in self._live

    @contextlib.contextmanager
    def _lock(self, thread: str, runs: bool = False) -> Iterator[None]:
        with self._guard:
            if thread in self._live:
                raise Busy(f"a turn of thread {thread!r} is running")
            self._live[thread] = Lock(runs)
        try:
            yield
        finally:
            with self._guard:
                del self._live[thread]

    def _started(self, thread: str, live: Live) -> None:
        with self._guard:
            early = self._live[thread]
            live.stop, live.keep = early.stop, early.keep
            self._live[thread] = live

    def _ask(self, thread: str, keep: bool) -> Live | Lock | None:
        with self._guard:
            live = self._live.get(thread)
            if live is None or (isinstance(live, Lock) and not live.runs):
                return None
            live.keep = keep if not live.stop else live.keep and keep
            live.stop = True
            return live

    # -- procedures ------------------------------------------------------------------------------

    def _begin(self, thread: str, input: Any) -> Steps[Live]:
        row = yield from call(self.saver, "get_tuple", head(thread))
        if lost := restore.pending(row):
            raise Refused(
                "the thread waits in an earlier turn, and a rollback could not bring this back; "
                "resume that turn or roll it back first",
                lost,
            )
        return Live(Mark(uuid.uuid4().hex, id_of(row), turns_of(row) + 1), input)

    def _again(self, thread: str, answer: Any) -> Steps[Live]:
        from langgraph.types import Command

        row = yield from call(self.saver, "get_tuple", head(thread))
        mark = Mark.of(row)
        if mark is None:
            raise NothingToResume(f"thread {thread!r} holds no turn of this runner")
        state = yield from call(self.graph, "get_state", head(thread))
        if not state.next and not row.pending_writes:
            raise NothingToResume(f"the last turn of thread {thread!r} is finished")
        return Live(mark, None if answer is None else Command(resume=answer), resumed=True)

    def _end(self, thread: str, live: Live, error: BaseException | None) -> Steps[Outcome]:
        mark = live.mark
        if live.stop and live.keep:
            return Outcome("stopped", thread, mark.turn)
        if live.stop or error is not None:
            left = yield from self._undo(thread, live)
            status = "cancelled" if live.stop else "failed"
            return Outcome(status, thread, mark.turn, True, left, None if live.stop else error)
        return Outcome("interrupted" if live.interrupted else "done", thread, mark.turn)

    def _undo(self, thread: str, live: Live) -> Steps[tuple[str, ...]]:
        memories = live.memories
        if live.resumed:
            memories = memories | (yield from self._listed(thread, live.mark))
        undo = self._strategy.undo
        left: tuple[str, ...] = yield from undo(self.graph, self.saver, thread, live.mark, memories)
        return left

    def _take_back(self, thread: str, turn: str) -> Steps[None]:
        row = yield from call(self.saver, "get_tuple", head(thread))
        mark = Mark.of(row)
        if mark is None or mark.turn != turn:
            found = (
                f"turn {mark.turn}"
                if mark
                else "a checkpoint that no turn wrote"
                if row
                else "nothing"
            )
            raise Refused(f"turn {turn} is not the last one of the thread", (f"on top is {found}",))
        yield from self._undo(thread, Live(mark, None, resumed=True))

    def _listed(self, thread: str, mark: Mark) -> Steps[set[str]]:
        """Memory namespaces that a turn wrote, asked of the saver: the turn may have run elsewhere."""
        config = {"configurable": {"thread_id": thread}}
        rows = yield from call(_Rows(self.saver), "rows", config, {TURN: mark.turn})
        return {ns for ns in rows if ns and ":" not in ns}

    def _held(self, thread: str) -> Steps[Held]:
        row = yield from call(self.saver, "get_tuple", head(thread))
        return Held(row is not None, turns_of(row))

    # -- one event -------------------------------------------------------------------------------

    def _stream(self, thread: str, live: Live, durability: str) -> dict[str, Any]:
        return {
            "input": live.input,
            "config": {**head(thread), "metadata": live.mark.metadata()},
            "stream_mode": list(dict.fromkeys((*self._modes, "updates", "tasks"))),
            "subgraphs": True,
            "durability": durability,
        }

    def _event(self, live: Live, event: Any, on_event: OnEvent | None) -> None:
        place, mode, data = event
        if place and all(":" not in part for part in place):
            live.memories.add("|".join(place))
        if not place and mode == "updates" and isinstance(data, dict) and "__interrupt__" in data:
            live.interrupted = True
        if on_event is not None and not place and mode in self._modes:
            on_event(mode, data)


class _Rows:
    """Namespaces of listed rows, as a call that both halves have."""

    def __init__(self, saver: Any) -> None:
        self._saver = saver

    def rows(self, config: Any, filter: dict[str, Any]) -> list[str]:
        return [_ns(row) for row in self._saver.list(config, filter=filter)]

    async def arows(self, config: Any, filter: dict[str, Any]) -> list[str]:
        return [_ns(row) async for row in self._saver.alist(config, filter=filter)]


def _ns(row: Any) -> str:
    return str(row.config["configurable"].get("checkpoint_ns") or "")
