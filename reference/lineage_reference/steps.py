"""Steps: one piece of logic for the sync and the async half of a backend.

An operation is a generator that yields `Step`s and is sent their results (or thrown their errors). `run`
performs them in the calling thread, `arun` awaits them. So there is one text to read, and the halves
cannot drift apart.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Step:
    """One thing to do, said twice: as a call, and as a coroutine function."""

    call: Callable[[], Any]
    acall: Callable[[], Awaitable[Any]]
    whole: bool = True
    """Whether a cancelled task awaits it to its end: right for a transaction, wrong for somebody's callback."""


Steps = Generator[Step, Any, T]
"""An operation whose result is a `T`."""


def blocking(call: Callable[[], Any]) -> Step:
    """A step that has no async form, such as a database transaction: it is awaited in a thread."""
    return Step(call, lambda: asyncio.to_thread(call))


def call(target: Any, method: str, *arguments: Any, **options: Any) -> Steps[Any]:
    """Call a method, or its async twin with an ``a`` before the name.

    ``row = yield from call(saver, "get_tuple", config)``
    """
    result = yield Step(
        lambda: getattr(target, method)(*arguments, **options),
        lambda: getattr(target, "a" + method)(*arguments, **options),
        whole=False,
    )
    return result


def run(steps: Steps[T]) -> T:
    """Perform an operation in this thread. Raises what a step raises and the operation lets through."""
    try:
        step = next(steps)
        while True:
            try:
                result = step.call()
            except BaseException as error:
                step = steps.throw(error)
            else:
                step = steps.send(result)
    except StopIteration as stop:
        value: T = stop.value
        return value


async def arun(steps: Steps[T]) -> T:
    """Perform an operation in the running event loop.

    A step that began is awaited to its end even when the task is cancelled: a transaction in a thread
    cannot be stopped, and what undoes it must come after it. The cancellation then reaches the
    operation as an exception of that step.
    """
    try:
        step = next(steps)
        while True:
            try:
                result = await (_whole(step.acall()) if step.whole else step.acall())
            except BaseException as error:
                step = steps.throw(error)
            else:
                step = steps.send(result)
    except StopIteration as stop:
        value: T = stop.value
        return value


async def _whole(work: Awaitable[Any]) -> Any:
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError as error:
            if task.cancelled():
                raise
            cancelled = error
        except BaseException:
            break
    if cancelled is not None:
        if not task.cancelled():
            task.exception()  # seen: the cancellation is what the caller is told
        raise cancelled
    return task.result()
