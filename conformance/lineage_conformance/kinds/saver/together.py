"""Calls that are made at once: in threads, or in tasks of one event loop."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any

from lineage_conformance.handles import Half, Loop
from lineage_conformance.raised import guarded

Call = Callable[[Half], Any]
"""A call that is ready to be let go on one half."""


def at_once(loop: Loop, half: Half, calls: Sequence[Call]) -> list[BaseException | None]:
    """Let all calls go together; what each of them raised."""
    if half == "sync":
        return _in_threads([functools.partial(call, "sync") for call in calls])
    return guarded(lambda: loop.run(_in_tasks([call("async") for call in calls])))


def _in_threads(calls: Sequence[Callable[[], Any]]) -> list[BaseException | None]:
    barrier = threading.Barrier(len(calls))
    errors: list[BaseException | None] = [None] * len(calls)

    def work(number: int) -> None:
        barrier.wait()
        try:
            calls[number]()
        except BaseException as error:
            errors[number] = error

    threads = [threading.Thread(target=work, args=(n,), daemon=True) for n in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


async def _in_tasks(calls: Sequence[Any]) -> list[BaseException | None]:
    results = await asyncio.gather(*calls, return_exceptions=True)
    return [result if isinstance(result, BaseException) else None for result in results]
