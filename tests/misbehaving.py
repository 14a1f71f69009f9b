"""Targets that behave badly in every way that a target can. Factories, named by what they do."""

from __future__ import annotations

import os
import re
import signal
import sys
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
