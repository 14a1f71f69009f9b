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
from typing import Any

from lineage_reference.steps import arun, call, run
from lineage_reference.turn_core import Core, Live, OnEvent
from lineage_reference.turns import (
    Busy,
    Held,
    Incomplete,
    NothingToResume,
    Outcome,
    Refused,
    RollbackError,
)


class SyncTurns(Core):
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
            live = run(self._begin(thread, input))
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
            live = run(self._again(thread, answer))
            return self._go(thread, live, durability, on_event)

    def cancel(self, thread: str, *, keep: bool = False) -> bool:
        """Ask the running turn to stop at its next event; False if none runs. Does not wait."""
        return self._ask(thread, keep) is not None

    def rollback(self, thread: str, turn: str) -> None:
        """Take back a turn that ended. Raises `Busy`, `Refused` (nothing changed) or `Incomplete`."""
        with self._lock(thread):
            run(self._take_back(thread, turn))

    def held(self, thread: str) -> Held:
        """Whether a thread is known, and how many turns it holds."""
        return run(self._held(thread))

    def forget(self, thread: str) -> None:
        """Remove all of a thread. Raises `Busy` while a turn of it runs."""
        with self._lock(thread):
            run(call(self.saver, "delete_thread", thread))

    def _go(self, thread: str, live: Live, durability: str, on_event: OnEvent | None) -> Outcome:
        self._started(thread, live)
        error: BaseException | None = None
        try:
            if live.stopped():
                return run(self._end(thread, live, None))
            events = self.graph.stream(**self._stream(thread, live, durability))
            with contextlib.closing(events):
                for event in events:
                    self._event(live, event, on_event)
                    if live.stopped():
                        break
        except BaseException as raised:
            error = raised
        outcome = run(self._end(thread, live, error))
        if error is not None and not isinstance(error, Exception):
            raise error
        return outcome


class AsyncTurns(Core):
    """The async half of `Turns`, for savers that have no other."""

    async def arun(
        self, thread: str, input: Any, *, durability: str = "async", on_event: OnEvent | None = None
    ) -> Outcome:
        """Run one turn, see `SyncTurns.run`. If the calling task is cancelled, the turn is rolled back first."""
        with self._lock(thread, runs=True):
            live = await arun(self._begin(thread, input))
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
            live = await arun(self._again(thread, answer))
            return await self._ago(thread, live, durability, on_event)

    async def acancel(self, thread: str, *, keep: bool = False) -> bool:
        """Cancel the tasks of the running turn; False if none runs. Does not wait. Any loop may call it."""
        live = self._ask(thread, keep)
        if live is None:
            return False
        if isinstance(live, Live) and live.task is not None:
            live.task.get_loop().call_soon_threadsafe(live.task.cancel)
        return True

    async def arollback(self, thread: str, turn: str) -> None:
        """Take back a turn that ended. Raises `Busy`, `Refused` (nothing changed) or `Incomplete`."""
        with self._lock(thread):
            await _unbroken(arun(self._take_back(thread, turn)))

    async def aheld(self, thread: str) -> Held:
        """Whether a thread is known, and how many turns it holds."""
        return await arun(self._held(thread))

    async def aforget(self, thread: str) -> None:
        """Remove all of a thread. Raises `Busy` while a turn of it runs."""
        with self._lock(thread):
            await arun(call(self.saver, "delete_thread", thread))

    async def _ago(
        self, thread: str, live: Live, durability: str, on_event: OnEvent | None
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
        outcome: Outcome = await _unbroken(arun(self._end(thread, live, outer or error)))
        if outer is not None:
            raise outer
        if error is not None and not isinstance(error, (Exception, asyncio.CancelledError)):
            raise error
        return outcome

    async def _astream(
        self, thread: str, live: Live, durability: str, on_event: OnEvent | None
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


def make(saver: Any, store: Any = None) -> Any:
    """The built-in target of kind ``rollback``: the strategy ``restore`` with the halves that the saver has."""
    return halves(saver)(saver)


def removing(saver: Any, store: Any = None) -> Any:
    """The same with the strategy ``remove``."""
    return halves(saver)(saver, strategy="remove")


def halves(saver: Any) -> type[Core]:
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
