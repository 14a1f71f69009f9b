"""Handles: a live saver, and how its sync or async half is called.

One event loop runs in a thread of its own. Async methods run there; sync methods run in the thread that
asks, never in the loop, which is how savers that bridge sync calls into their loop expect it.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeVar

from lineage_conformance import contract

T = TypeVar("T")
Half = Literal["sync", "async"]
Face = Literal["sync", "async", "sync->async", "async->sync"]

HALVES: tuple[Half, Half] = ("sync", "async")
FACES: tuple[Face, ...] = ("sync", "async", "sync->async", "async->sync")
BASIC = ("put", "put_writes", "get_tuple", "list")
OPTIONAL = ("delete_thread", "copy_thread", "prune", "delete_for_runs", "get_delta_channel_history")


class Loop:
    """An event loop in a daemon thread."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._closing = False
        self._thread = threading.Thread(target=self._serve, name="lineage-loop", daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        """Run for ever: a task that raises `SystemExit` or `KeyboardInterrupt` ends the loop, which then goes on."""
        while not self._closing:
            with contextlib.suppress(SystemExit, KeyboardInterrupt):
                self.loop.run_forever()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the loop and wait for its result."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()

    def call(self, function: Callable[[], T]) -> T:
        """Run a plain function inside the loop's thread, blocking the loop meanwhile."""

        async def inside() -> T:
            return function()

        return self.run(inside())

    def close(self) -> None:
        """Stop the loop and its thread."""
        self._closing = True
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(5)
        if not self._thread.is_alive():
            self.loop.close()


class Handle:
    """One open saver and the way to close it."""

    def __init__(self, saver: Any, loop: Loop, close: Callable[[], None] = lambda: None) -> None:
        self.saver = saver
        self.loop = loop
        self.close = close

    def call(self, half: Half, method: str, *args: Any, **kwargs: Any) -> Any:
        """Call a method of one half, e.g. ``call("async", "put", ...)`` awaits `aput`."""
        if half == "sync":
            return getattr(self.saver, method)(*args, **kwargs)
        return self.loop.run(self.acall(method, *args, **kwargs))

    async def acall(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """Await the async twin of `method`."""
        return await getattr(self.saver, "a" + method)(*args, **kwargs)

    def put_writes(
        self, half: Half, config: Any, writes: Sequence[tuple[str, Any]], task: str, path: str
    ) -> Any:
        """Store writes, passing a task path only to a saver that accepts one, as LangGraph does."""
        method = getattr(self.saver, "put_writes" if half == "sync" else "aput_writes")
        if path and contract.takes(method, "task_path"):
            return self.call(half, "put_writes", config, writes, task, path)
        return self.call(half, "put_writes", config, writes, task)

    def rows(self, half: Half, config: Any, **options: Any) -> Iterator[Any]:
        """Iterate `list` or `alist` row by row."""
        if half == "sync":
            yield from self.saver.list(config, **options)
            return
        iterator = self.saver.alist(config, **options)
        try:
            while True:
                try:
                    yield self.loop.run(iterator.__anext__())
                except StopAsyncIteration:
                    return
        finally:
            if hasattr(iterator, "aclose"):
                self.loop.run(iterator.aclose())

    def all_rows(self, half: Half, config: Any, **options: Any) -> list[Any]:
        """Every row of `list` or `alist`."""
        if half == "sync":
            return list(self.saver.list(config, **options))

        async def collect() -> list[Any]:
            return [row async for row in self.saver.alist(config, **options)]

        return self.loop.run(collect())


def halves(face: Face) -> tuple[Half, Half]:
    """The half that writes and the half that reads."""
    writer, _, reader = face.partition("->")
    return writer, reader or writer  # type: ignore[return-value]


def present(handle: Handle, half: Half) -> tuple[bool, str]:
    """Whether a saver really has a half, and why not.

    A method that is inherited from the base class, or that answers `NotImplementedError` when it is
    called, is not there. Any other error is a fault for the laws to name, so the half counts as there.
    """
    prefix = "" if half == "sync" else "a"
    for method in BASIC:
        if not contract.overrides(handle.saver, prefix + method):
            return False, f"{prefix + method} is not implemented"
    probes = {
        "get_tuple": (PROBE,),
        "put": (PROBE, _probe_checkpoint(), {"source": "input", "step": -1}, {}),
    }
    for method, arguments in probes.items():
        try:
            handle.call(half, method, *arguments)
        except NotImplementedError as error:
            return False, f"{prefix + method} raises NotImplementedError: {str(error)[:120]}"
        except BaseException:
            return True, ""
    return True, ""


PROBE = {"configurable": {"thread_id": "lineage-probe", "checkpoint_ns": ""}}


def _probe_checkpoint() -> Any:
    from langgraph.checkpoint.base import empty_checkpoint

    return empty_checkpoint()


def capability(handle: Handle, half: Half, method: str) -> str | None:
    """Why an optional operation is not there on a half; None if it is (or can only be told by calling).

    `get_delta_channel_history` has a working default in the base class, so inheriting it is having it.
    """
    name = method if half == "sync" else "a" + method
    function = getattr(handle.saver, name, None)
    if function is None:
        return f"{name} does not exist in this version"
    if method == "get_delta_channel_history":
        return None
    if not contract.overrides(handle.saver, name):
        return f"{name} is not implemented"
    if method in ("delete_thread", "copy_thread", "prune", "delete_for_runs"):
        arguments: Mapping[str, tuple[Any, ...]] = {
            "delete_thread": ("lineage-probe",),
            "copy_thread": ("lineage-probe", "lineage-probe-2"),
            "prune": ([],),
            "delete_for_runs": ([],),
        }
        try:
            handle.call(half, method, *arguments[method])
        except NotImplementedError as error:
            return f"{name} raises NotImplementedError: {str(error)[:120]}"
        except BaseException:
            return None
    return None
