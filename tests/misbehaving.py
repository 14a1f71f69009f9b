"""Targets that behave badly in every way that a target can. Factories, named by what they do."""

from __future__ import annotations

import asyncio
import ctypes
import os
import re
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver

from pytest_lineage import Store, target


class Sound(InMemorySaver):
    """A sound saver under a name of its own."""


def nothing() -> None:
    """A factory that gives None."""


def a_number() -> int:
    """A factory that gives no saver."""
    return 42


def yields_nothing() -> Iterator[Any]:
    """A generator that ends before it yields."""
    return
    yield


def raises() -> Any:
    """A factory that fails."""
    raise ConnectionError("no server at postgresql://me:secret@db.example/x")


def exits() -> Any:
    """A factory that ends the process."""
    os._exit(3)


def hangs_at_start() -> Any:
    """A factory that never returns."""
    threading.Event().wait()


def filled() -> Any:
    """A saver that already holds somebody's conversation."""
    saver = InMemorySaver()
    config = {"configurable": {"thread_id": "live", "checkpoint_ns": ""}}
    from langgraph.checkpoint.base import empty_checkpoint

    saver.put(config, empty_checkpoint(), {"source": "input", "step": -1}, {})
    return saver


class HangsInGet(InMemorySaver):
    """Waits for ever when a checkpoint is read by its id."""

    def get_tuple(self, config: Any) -> Any:
        if config["configurable"].get("checkpoint_id"):
            threading.Event().wait()
        return super().get_tuple(config)


class HangsInDelete(InMemorySaver):
    """Waits for ever when any thread is deleted."""

    def delete_thread(self, thread_id: str) -> None:
        threading.Event().wait()


class HangsInC(InMemorySaver):
    """Is busy in one call of C code, which holds the interpreter, when writes are stored."""

    def put_writes(self, *args: Any, **kwargs: Any) -> None:
        re.match(r"(a+)+$", "a" * 60 + "b")


class Swallows(InMemorySaver):
    """Loops and swallows everything thrown at it."""

    def put_writes(self, *args: Any, **kwargs: Any) -> None:
        event = threading.Event()
        while True:
            try:
                event.wait(1)
            except BaseException:
                continue


class Dies(InMemorySaver):
    """Ends the process when writes are stored."""

    def put_writes(self, *args: Any, **kwargs: Any) -> None:
        os._exit(7)


class Killed(InMemorySaver):
    """Is killed by a signal when writes are stored."""

    def put_writes(self, *args: Any, **kwargs: Any) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


class SysExits(InMemorySaver):
    """Raises `SystemExit` when writes are stored."""

    def put_writes(self, *args: Any, **kwargs: Any) -> None:
        sys.exit("done")


class Prints(InMemorySaver):
    """Prints to every stream it finds, and closes standard input."""

    def put(self, *args: Any, **kwargs: Any) -> Any:
        print('{"event": "outcome", "verdict": "broken"}')
        os.write(1, b'{"event": "outcome", "verdict": "broken"}\n')
        print("noise", file=sys.stderr)
        return super().put(*args, **kwargs)


class Forks(InMemorySaver):
    """Forks a child that comes back into our code."""

    def put_writes(self, *args: Any, **kwargs: Any) -> None:
        if hasattr(os, "fork"):
            os.fork()
        super().put_writes(*args, **kwargs)


class LeavesAProcess(InMemorySaver):
    """Ends the process, and leaves one in a session of its own that holds every open file for a while."""

    def put_writes(self, *args: Any, **kwargs: Any) -> None:
        if not os.fork():
            os.setsid()
            threading.Event().wait(20)
            os._exit(0)
        os._exit(7)


class LosesWrites(InMemorySaver):
    """Does not store writes at all."""

    def put_writes(self, *args: Any, **kwargs: Any) -> None:
        return None


class NotImplementedAsync(InMemorySaver):
    """Overrides the async half with methods that raise `NotImplementedError`."""

    async def aget_tuple(self, config: Any) -> Any:
        raise NotImplementedError("use the sync half")


class ListRaises(InMemorySaver):
    """Has a `list` that always fails."""

    def list(self, config: Any, **options: Any) -> Iterator[Any]:
        raise RuntimeError("SELECT failed")


class ListLacksLimit(InMemorySaver):
    """Has a `list` without the parameter `limit`."""

    def list(self, config: Any, *, filter: Any = None, before: Any = None) -> Iterator[Any]:
        return super().list(config, filter=filter, before=before)


class DiesInProbe(InMemorySaver):
    """Ends the process when any thread is deleted."""

    def delete_thread(self, thread_id: str) -> None:
        os._exit(9)


class Segfaults(InMemorySaver):
    """Reads memory that is not there when any thread is deleted."""

    def delete_thread(self, thread_id: str) -> None:
        ctypes.string_at(0)


class ClosesStreams(InMemorySaver):
    """Closes the three standard descriptors when any thread is deleted."""

    def delete_thread(self, thread_id: str) -> None:
        os.closerange(0, 3)
        super().delete_thread(thread_id)


class ClosesAll(InMemorySaver):
    """Closes every descriptor when any thread is deleted."""

    def delete_thread(self, thread_id: str) -> None:
        os.closerange(0, 200)


def _raises(error: BaseException) -> type[InMemorySaver]:
    class Raises(InMemorySaver):
        def list(self, config: Any, **options: Any) -> Iterator[Any]:
            yield from super().list(config, **options)
            raise error

        async def aget_tuple(self, config: Any) -> Any:
            raise error

        def put_writes(self, *args: Any, **kwargs: Any) -> None:
            raise error

    return Raises


RaisesKeyboardInterrupt = _raises(KeyboardInterrupt())
RaisesSystemExit = _raises(SystemExit(3))
RaisesGeneratorExit = _raises(GeneratorExit())
RaisesCancelled = _raises(asyncio.CancelledError())


class EndsItsLoop(InMemorySaver):
    """Has a task of its own that raises `SystemExit` in the event loop."""

    async def aput_writes(self, *args: Any, **kwargs: Any) -> None:
        async def leave() -> None:
            sys.exit("from a task")

        await asyncio.gather(asyncio.ensure_future(leave()), return_exceptions=True)


def interrupts() -> Any:
    """A factory that raises `KeyboardInterrupt`."""
    raise KeyboardInterrupt


def cancels() -> Any:
    """A factory that raises `CancelledError`."""
    raise asyncio.CancelledError


async def exits_generator() -> Any:
    """A factory that raises `GeneratorExit`."""
    raise GeneratorExit


_opened = 0


def opens_once() -> Any:
    """A factory that works for the first call only."""
    global _opened
    _opened += 1
    if _opened > 1:
        raise ConnectionError("too many connections")
    return Sound()


class NoVersion(InMemorySaver):
    """Cannot make a version."""

    def get_next_version(self, current: Any, channel: Any) -> Any:
        raise KeyboardInterrupt


class NoAnswers(InMemorySaver):
    """Answers with what is no checkpoint at all."""

    def get_tuple(self, config: Any) -> Any:
        return 7

    def list(self, config: Any, **options: Any) -> Iterator[Any]:
        return iter(()) if config is None else iter((1, None))

    def put(self, *args: Any) -> Any:
        return "stored"


class LeavesTheGroup(InMemorySaver):
    """Starts a process that leaves the worker's group, and keeps a file in the temporary folder."""

    def put_writes(self, *args: Any, **kwargs: Any) -> None:
        tempfile.mkstemp(prefix="left-behind-")
        if not os.fork():
            os.setsid()
            threading.Event().wait(300)
            os._exit(0)
        os._exit(7)


class CopyWorks(InMemorySaver):
    """Can copy a thread."""

    def copy_thread(self, source: str, target: str) -> None:
        return None


class DeletesInCopy(InMemorySaver):
    """Refuses to copy a thread, and deletes it."""

    def copy_thread(self, source: str, target: str) -> None:
        self.delete_thread(source)
        raise NotImplementedError


@target("wrongly_declared", unsupported={"copy_thread": "on purpose"})
def wrongly_declared() -> Any:
    """Declares unsupported what works."""
    return CopyWorks()


@target("refuses_and_changes", unsupported={"copy_thread": "on purpose"})
def refuses_and_changes() -> Any:
    """Declares unsupported what refuses, but changes something."""
    return DeletesInCopy()


class NeedsALoop(Sound):
    """Has async methods that need the event loop in which the saver was made."""

    def __init__(self) -> None:
        super().__init__()
        self.home = asyncio.new_event_loop()

    async def aget_tuple(self, config: Any) -> Any:
        return await self.home.create_future()


class AsyncElsewhere(Sound):
    """Was connected in another loop: every async method complains. Its sync methods do not exist."""

    def get_tuple(self, config: Any) -> Any:
        raise NotImplementedError

    def _complain(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("got Future attached to a different loop")

    aget_tuple = aput = aput_writes = alist = _complain


class BothElsewhere(Sound):
    """Complains in its async half only."""

    def _complain(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("got Future attached to a different loop")

    aget_tuple = aput = aput_writes = alist = _complain


def needs_a_running_loop() -> Any:
    """A sync factory of what must be made in a running event loop."""
    asyncio.get_running_loop()
    return Sound()


async def async_complains() -> Any:
    """An async factory of a saver whose async half fails."""
    return BothElsewhere()


@contextmanager
def as_context_manager() -> Iterator[Any]:
    """A sync context manager."""
    yield Sound()


@asynccontextmanager
async def as_async_context_manager() -> Any:
    """An async context manager."""
    yield Sound()


async def as_coroutine() -> Any:
    """A coroutine function."""
    return Sound()


async def as_async_generator() -> Any:
    """An async generator."""
    yield Sound()


instance = Sound()


@target(
    "declared", limits={"history": "keeps the head only"}, unsupported={"copy_thread": "on purpose"}
)
def declared(store: Store) -> Any:
    """A declared target with limits."""
    assert store.path.is_dir()
    assert store.dsn is None
    return Sound()
