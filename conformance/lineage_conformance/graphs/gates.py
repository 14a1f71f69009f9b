"""Gates: how a test waits for an exact point of a run, and holds a task there.

Tasks and the watched saver *post* events such as ``reached:g`` or ``landed:a``. Whoever waits, in a thread or
in an asyncio task of any loop, is woken by the event itself; nothing polls and nothing sleeps.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from types import TracebackType

Predicate = Callable[[], bool]

KINDS = (
    "began", "reached", "finished", "raised", "asked", "failed", "landed", "committed", "settled", "done",
)  # fmt: skip
"""``began``, ``finished``, ``raised``: a tool or node. ``reached``: a gate. ``landed``, ``asked``, ``failed``: the
saver has stored the tool's write, its question, its error. ``committed``: the engine has accepted the write.
``settled``: the one of ``landed`` and ``committed`` that the durability of the run can show. ``done``: the run
has ended."""


class Gates:
    """Named gates and a journal of events, shared by a test, a graph and a watched saver.

    A gate is open unless it is held. As a context manager, it opens every gate on exit, so that no task
    is left hanging.
    """

    def __init__(self) -> None:
        self.events: list[tuple[str, str]] = []
        self.settles = "landed"
        self._changed = threading.Condition()
        self._held: set[str] = set()
        self._freed = False
        self._waiters: list[tuple[Predicate, asyncio.AbstractEventLoop, asyncio.Future[None]]] = []

    # -- what a test does ------------------------------------------------------------------------

    def hold(self, *names: str) -> None:
        """Close gates: a task that comes to one stays there until it is opened."""
        with self._changed:
            self._freed = False
            self._held.update(names)

    def open(self, *names: str) -> None:
        """Open gates."""
        with self._changed:
            self._held.difference_update(names)
            self._wake()

    def open_all(self) -> None:
        """Open every gate, also for those who wait for an event that will not come."""
        with self._changed:
            self._held.clear()
            self._freed = True
            self._wake()

    def wait(self, *conditions: str, since: int = 0, timeout: float | None = None) -> bool:
        """Block until every condition was posted, or until ``done`` was; whether all were posted.

        `since` is the length of `events` from which on they count. Raises `TimeoutError` that names what
        is missing, if `timeout` (seconds) is given and passes.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: self._over(conditions, since), timeout):
                raise TimeoutError(self._missing(conditions, since))
            return not self._missing(conditions, since)

    async def wait_async(
        self, *conditions: str, since: int = 0, timeout: float | None = None
    ) -> bool:
        """The same in an asyncio task."""
        try:
            await asyncio.wait_for(self._until(lambda: self._over(conditions, since)), timeout)
        except asyncio.TimeoutError:
            raise TimeoutError(self._missing(conditions, since)) from None
        return not self._missing(conditions, since)

    def count(self, kind: str, name: str, since: int = 0) -> int:
        """How often an event was posted."""
        return self.events[since:].count((kind, name))

    def names(self, kind: str, since: int = 0) -> list[str]:
        """The names posted with a kind, in order."""
        return [name for k, name in self.events[since:] if k == kind]

    # -- what tasks and savers do ----------------------------------------------------------------

    def post(self, kind: str, name: str) -> None:
        """Write an event into the journal and wake who waits for it."""
        with self._changed:
            self.events.append((kind, name))
            self._wake()

    def is_open(self, name: str) -> bool:
        """Whether a task may pass a gate."""
        return self._freed or name not in self._held

    def is_settled(self, tool: str) -> bool:
        """Whether the write of a tool is settled, or will not come (it asked, or failed)."""
        kinds = (self.settles, "asked", "failed" if self.settles == "landed" else "raised")
        return self._freed or any((kind, tool) in self.events for kind in kinds)

    def stay(self, predicate: Predicate) -> None:
        """Block a worker thread until `predicate` holds."""
        with self._changed:
            self._changed.wait_for(predicate)

    async def stay_async(self, predicate: Predicate) -> None:
        """The same in an asyncio task."""
        await self._until(predicate)

    # -- inside ----------------------------------------------------------------------------------

    def _over(self, conditions: tuple[str, ...], since: int) -> bool:
        return (
            self._freed
            or ("done", "") in self.events[since:]
            or not self._missing(conditions, since)
        )

    def _missing(self, conditions: tuple[str, ...], since: int) -> str:
        """Conditions that were not posted, as text; empty when all were."""
        there = self.events[since:]
        missing = []
        for condition in conditions:
            kind, _, name = condition.partition(":")
            if kind not in KINDS:
                raise ValueError(f"unknown condition {condition!r}; kinds are {', '.join(KINDS)}")
            if (self.settles if kind == "settled" else kind, name) not in there:
                missing.append(condition)
        return ", ".join(missing)

    async def _until(self, predicate: Predicate) -> None:
        loop = asyncio.get_running_loop()
        with self._changed:
            if predicate():
                return
            future: asyncio.Future[None] = loop.create_future()
            waiter = (predicate, loop, future)
            self._waiters.append(waiter)
        try:
            await future
        finally:
            with self._changed:
                if waiter in self._waiters:
                    self._waiters.remove(waiter)

    def _wake(self) -> None:
        """Wake threads, and the tasks whose predicate holds. Called with the lock held."""
        self._changed.notify_all()
        for waiter in [w for w in self._waiters if w[0]()]:
            self._waiters.remove(waiter)
            _, loop, future = waiter
            if not loop.is_closed():
                loop.call_soon_threadsafe(_resolve, future)

    def __enter__(self) -> Gates:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.open_all()


def _resolve(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
