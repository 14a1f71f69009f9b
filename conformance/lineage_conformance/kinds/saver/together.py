"""Operations that run at once: in threads or tasks of their own, or inside the saver's own event loop."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from lineage_conformance import zoo
from lineage_conformance.handles import Half
from lineage_conformance.kinds.saver.program import DeleteThread, Op, OwnLoop, Put, Together, Writes
from lineage_conformance.raised import Raised, guarded

if TYPE_CHECKING:
    from lineage_conformance.kinds.saver.session import Session

Call = Callable[[Half], Any]


def run(session: Session, op: Together) -> None:
    """Run the branches at once; afterwards the model runs them one by one."""
    calls = [_prepared(session, inner) for inner in op.ops]
    errors: list[BaseException | None]
    if session.writer == "sync":
        errors = _in_threads([functools.partial(call, "sync") for call in calls])
    else:
        loop = session.handle(0).loop
        errors = guarded(lambda: loop.run(_in_tasks([call("async") for call in calls])))
    for inner, error in zip(op.ops, errors, strict=False):
        if error is not None:
            session.failed(inner, Raised(error))
        else:
            _applied(session, inner)


def run_in_own_loop(session: Session, op: OwnLoop) -> None:
    """A sync call inside the saver's own loop answers or refuses; it must not hang."""
    loop = session.handle(0).loop
    for inner in op.ops:
        work = functools.partial(_prepared(session, inner), "sync")
        try:
            guarded(functools.partial(loop.call, work))
        except Raised as raised:
            session.trace.refused.append((session.at, str(raised)))
        else:
            _applied(session, inner)


def _prepared(session: Session, op: Op) -> Call:
    """The call of a writing operation with its arguments made, ready to be let go."""
    args: tuple[Any, ...]
    if isinstance(op, Put):
        handle = session.handle(op.handle)
        values, versions, new = session.channels(op, handle)
        config = session.config(op, op.parent)
        args = (config, session.checkpoint(op, values, versions), session.metadata(op), new)
        session.state[op.thread, op.ns, op.id] = (values, versions)
        method = "put"
    elif isinstance(op, Writes):
        handle = session.handle(op.handle)
        items = [(channel, zoo.build(value)) for channel, value in op.items]
        args, method = (session.config(op, op.id), items, op.task), "put_writes"
    else:
        assert isinstance(op, DeleteThread), "only writing operations run together"
        handle = session.handle(op.handle)
        args, method = (session.thread(op.thread),), "delete_thread"
    saver = handle.saver

    def call(half: Half) -> Any:
        return getattr(saver, method if half == "sync" else "a" + method)(*args)

    return call


def _applied(session: Session, op: Op) -> None:
    """Let the model do what the saver has done."""
    if isinstance(op, Put):
        values, versions = session.state[op.thread, op.ns, op.id]
        checkpoint = session.checkpoint(op, values, versions)
        session.model.put(session.oracle_config(op), checkpoint, session.metadata(op))
    elif isinstance(op, Writes):
        key = (session.thread(op.thread), op.ns, session.id(op.id))
        items = [(channel, zoo.build(value)) for channel, value in op.items]
        session.model.put_writes(key, op.task, items, "")
    elif isinstance(op, DeleteThread):
        session.model.delete_thread(session.thread(op.thread))


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
