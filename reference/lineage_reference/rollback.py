"""A runner of turns that can take a turn back: after a cancel, after an error, or on request.

    turns = Turns(saver)
    turns.use(lambda saver: builder.compile(checkpointer=saver))
    outcome = await turns.arun("thread-1", {"messages": [("user", "hello")]})
    # meanwhile, in another task:  await turns.acancel("thread-1")

A *turn* is one user message and all that follows from it, interrupts and their answers included. A turn
that is cancelled or fails is rolled back before `run` returns, under the turn's lock, and the result is
compared with the state before it: a rollback that cannot be proved complete raises.

The lock is one of this process. Against another process the ledger stands in (see `turns`): a head that
the turn did not write is never replaced. A saver that goes on storing after its awaiting task was
cancelled can still add a checkpoint later; none of LangGraph's own does.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from lineage_reference import remove, restore
from lineage_reference.steps import Steps, alead, call, lead
from lineage_reference.turns import (
    TURN,
    Busy,
    Held,
    Incomplete,
    Mark,
    NothingToResume,
    Outcome,
    Refused,
    RollbackError,
    head,
    id_of,
    turns_of,
)  # fmt: skip

STRATEGIES = {"restore": restore, "remove": remove}

OnEvent = Callable[[str, Any], None]


@dataclass
class _Live:
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
class _Lock:
    """Holds a thread's place before its turn has begun, or while there is no turn to cancel."""

    runs: bool
    """Whether a turn is about to begin, which a cancel that comes early is meant for."""
    stop: bool = False
    keep: bool = False


class _Unused:
    """Stands for the graph until there is one."""

    def __getattr__(self, name: str) -> Any:
        raise RollbackError("no graph to run: call use() first")


class _Core:
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
        self._live: dict[str, _Live | _Lock] = {}
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
            self._live[thread] = _Lock(runs)
        try:
            yield
        finally:
            with self._guard:
                del self._live[thread]

    def _started(self, thread: str, live: _Live) -> None:
        with self._guard:
            early = self._live[thread]
            live.stop, live.keep = early.stop, early.keep
            self._live[thread] = live

    def _ask(self, thread: str, keep: bool) -> _Live | _Lock | None:
        with self._guard:
            live = self._live.get(thread)
            if live is None or (isinstance(live, _Lock) and not live.runs):
                return None
            live.keep = keep if not live.stop else live.keep and keep
            live.stop = True
            return live

    # -- procedures ------------------------------------------------------------------------------

    def _begin(self, thread: str, input: Any) -> Steps[_Live]:
        row = yield from call(self.saver, "get_tuple", head(thread))
        if lost := restore.pending(row):
            raise Refused(
                "the thread waits in an earlier turn, and a rollback could not bring this back; "
                "resume that turn or roll it back first",
                lost,
            )
        return _Live(Mark(uuid.uuid4().hex, id_of(row), turns_of(row) + 1), input)

    def _again(self, thread: str, answer: Any) -> Steps[_Live]:
        from langgraph.types import Command

        row = yield from call(self.saver, "get_tuple", head(thread))
        mark = Mark.of(row)
        if mark is None:
            raise NothingToResume(f"thread {thread!r} holds no turn of this runner")
        state = yield from call(self.graph, "get_state", head(thread))
        if not state.next and not row.pending_writes:
            raise NothingToResume(f"the last turn of thread {thread!r} is finished")
        return _Live(mark, None if answer is None else Command(resume=answer), resumed=True)

    def _end(self, thread: str, live: _Live, error: BaseException | None) -> Steps[Outcome]:
        mark = live.mark
        if live.stop and live.keep:
            return Outcome("stopped", thread, mark.turn)
        if live.stop or error is not None:
            left = yield from self._undo(thread, live)
            status = "cancelled" if live.stop else "failed"
            return Outcome(status, thread, mark.turn, True, left, None if live.stop else error)
        return Outcome("interrupted" if live.interrupted else "done", thread, mark.turn)

    def _undo(self, thread: str, live: _Live) -> Steps[tuple[str, ...]]:
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
        yield from self._undo(thread, _Live(mark, None, resumed=True))

    def _listed(self, thread: str, mark: Mark) -> Steps[set[str]]:
        """Memory namespaces that a turn wrote, asked of the saver: the turn may have run elsewhere."""
        config = {"configurable": {"thread_id": thread}}
        rows = yield from call(_Rows(self.saver), "rows", config, {TURN: mark.turn})
        return {ns for ns in rows if ns and ":" not in ns}

    def _held(self, thread: str) -> Steps[Held]:
        row = yield from call(self.saver, "get_tuple", head(thread))
        return Held(row is not None, turns_of(row))

    # -- one event -------------------------------------------------------------------------------

    def _stream(self, thread: str, live: _Live, durability: str) -> dict[str, Any]:
        return {
            "input": live.input,
            "config": {**head(thread), "metadata": live.mark.metadata()},
            "stream_mode": list(dict.fromkeys((*self._modes, "updates", "tasks"))),
            "subgraphs": True,
            "durability": durability,
        }

    def _event(self, live: _Live, event: Any, on_event: OnEvent | None) -> None:
        place, mode, data = event
        if place and all(":" not in part for part in place):
            live.memories.add("|".join(place))
        if not place and mode == "updates" and isinstance(data, dict) and "__interrupt__" in data:
            live.interrupted = True
        if on_event is not None and not place and mode in self._modes:
            on_event(mode, data)


class SyncTurns(_Core):
    """The sync half of `Turns`, for savers that have no other."""

    def run(
        self, thread: str, input: Any, *, durability: str = "async", on_event: OnEvent | None = None
    ) -> Outcome:
        """Run one turn. Returns when it ended and, if it was cancelled or failed, is rolled back.

        `durability` is LangGraph's, `on_event` is called with ``(mode, data)``. Raises `Busy` if a turn of the thread
        runs, `Refused` if the thread is in a state that could not be put back, `Incomplete` if it was not.
        An exception that is no `Exception` (Ctrl-C) is raised again after the rollback.
        """
        with self._lock(thread, runs=True):
            live = lead(self._begin(thread, input))
            return self._go(thread, live, durability, on_event)

    def resume(
        self,
        thread: str,
        answer: Any = None,
        *,
        durability: str = "async",
        on_event: OnEvent | None = None,
    ) -> Outcome:
        """Go on with the unfinished turn; `answer` goes to its interrupt. Raises `NothingToResume`."""
        with self._lock(thread, runs=True):
            live = lead(self._again(thread, answer))
            return self._go(thread, live, durability, on_event)

    def cancel(self, thread: str, *, keep: bool = False) -> bool:
        """Ask the running turn to stop at its next event; False if none runs. Does not wait."""
        return self._ask(thread, keep) is not None

    def rollback(self, thread: str, turn: str) -> None:
        """Take back a turn that ended. Raises `Busy`, `Refused` (nothing changed) or `Incomplete`."""
        with self._lock(thread):
            lead(self._take_back(thread, turn))

    def held(self, thread: str) -> Held:
        """Whether a thread is known, and how many turns it holds."""
        return lead(self._held(thread))

    def forget(self, thread: str) -> None:
        """Remove all of a thread. Raises `Busy` while a turn of it runs."""
        with self._lock(thread):
            lead(call(self.saver, "delete_thread", thread))

    def _go(self, thread: str, live: _Live, durability: str, on_event: OnEvent | None) -> Outcome:
        self._started(thread, live)
        error: BaseException | None = None
        try:
            if live.stopped():
                return lead(self._end(thread, live, None))
            events = self.graph.stream(**self._stream(thread, live, durability))
            with contextlib.closing(events):
                for event in events:
                    self._event(live, event, on_event)
                    if live.stopped():
                        break
        except BaseException as raised:
            error = raised
        outcome = lead(self._end(thread, live, error))
        if error is not None and not isinstance(error, Exception):
            raise error
        return outcome


class AsyncTurns(_Core):
    """The async half of `Turns`, for savers that have no other."""

    async def arun(
        self, thread: str, input: Any, *, durability: str = "async", on_event: OnEvent | None = None
    ) -> Outcome:
        """Run one turn, see `SyncTurns.run`. If the calling task is cancelled, the turn is rolled back first."""
        with self._lock(thread, runs=True):
            live = await alead(self._begin(thread, input))
            return await self._ago(thread, live, durability, on_event)

    async def aresume(
        self,
        thread: str,
        answer: Any = None,
        *,
        durability: str = "async",
        on_event: OnEvent | None = None,
    ) -> Outcome:
        """Go on with the unfinished turn; `answer` goes to its interrupt. Raises `NothingToResume`."""
        with self._lock(thread, runs=True):
            live = await alead(self._again(thread, answer))
            return await self._ago(thread, live, durability, on_event)

    async def acancel(self, thread: str, *, keep: bool = False) -> bool:
        """Cancel the tasks of the running turn; False if none runs. Does not wait. Any loop may call it."""
        live = self._ask(thread, keep)
        if live is None:
            return False
        if isinstance(live, _Live) and live.task is not None:
            live.task.get_loop().call_soon_threadsafe(live.task.cancel)
        return True

    async def arollback(self, thread: str, turn: str) -> None:
        """Take back a turn that ended. Raises `Busy`, `Refused` (nothing changed) or `Incomplete`."""
        with self._lock(thread):
            await _unbroken(alead(self._take_back(thread, turn)))

    async def aheld(self, thread: str) -> Held:
        """Whether a thread is known, and how many turns it holds."""
        return await alead(self._held(thread))

    async def aforget(self, thread: str) -> None:
        """Remove all of a thread. Raises `Busy` while a turn of it runs."""
        with self._lock(thread):
            await alead(call(self.saver, "delete_thread", thread))

    async def _ago(
        self, thread: str, live: _Live, durability: str, on_event: OnEvent | None
    ) -> Outcome:
        live.task = asyncio.create_task(self._astream(thread, live, durability, on_event))
        self._started(thread, live)
        if live.stop:
            live.task.cancel()
        outer: asyncio.CancelledError | None = None
        while not live.task.done():
            try:
                await asyncio.wait({live.task})
            except asyncio.CancelledError as cancelled:
                outer = cancelled
                live.task.cancel()
        error: BaseException | None
        error = asyncio.CancelledError() if live.task.cancelled() else live.task.exception()
        outcome: Outcome = await _unbroken(alead(self._end(thread, live, outer or error)))
        if outer is not None:
            raise outer
        if error is not None and not isinstance(error, (Exception, asyncio.CancelledError)):
            raise error
        return outcome

    async def _astream(
        self, thread: str, live: _Live, durability: str, on_event: OnEvent | None
    ) -> None:
        async for event in self.graph.astream(**self._stream(thread, live, durability)):
            self._event(live, event, on_event)


class Turns(SyncTurns, AsyncTurns):
    """A runner of turns with both halves; a turn of one thread is run by one of them at a time."""


async def _unbroken(work: Any) -> Any:
    """Await `work` to its end, however often the caller is cancelled meanwhile; then pass the cancel on."""
    task = asyncio.ensure_future(work)
    outer: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as cancelled:
            outer = cancelled
    result = task.result()
    if outer is not None:
        raise outer
    return result


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


def make(saver: Any, store: Any = None) -> Any:
    """The built-in target of kind ``rollback``: the strategy ``restore`` with the halves that the saver has."""
    return halves(saver)(saver)


def removing(saver: Any, store: Any = None) -> Any:
    """The same with the strategy ``remove``."""
    return halves(saver)(saver, strategy="remove")


def halves(saver: Any) -> type[_Core]:
    """`Turns`, or the one half of it that a saver can serve."""
    sync, async_ = has(saver, "get_tuple"), has(saver, "aget_tuple")
    if sync == async_:
        return Turns
    return SyncTurns if sync else AsyncTurns


def has(saver: Any, method: str) -> bool:
    """Whether a saver really has a method: not the base class's, and not one that only refuses."""
    from langgraph.checkpoint.base import BaseCheckpointSaver

    mine = getattr(type(saver), method, None)
    if mine is None or mine is getattr(BaseCheckpointSaver, method, None):
        return False
    names = getattr(getattr(mine, "__code__", None), "co_names", ("?",))
    return not (len(names) <= 2 and "NotImplementedError" in names)


__all__ = [
    "AsyncTurns", "Busy", "Held", "Incomplete", "NothingToResume", "Outcome", "Refused", "RollbackError",
    "SyncTurns", "Turns", "halves", "make", "removing",
]  # fmt: skip
