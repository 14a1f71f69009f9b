"""Transfer: at once, and afterwards. Two first dispatches, receipts in use, and a store that was closed."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable, Iterator
from typing import Any

from lineage_conformance.canon import canon
from lineage_conformance.kinds.transfer.case import History, text
from lineage_conformance.kinds.transfer.fakes import Call
from lineage_conformance.kinds.transfer.laws.points import HISTORY_LAWS
from lineage_conformance.kinds.transfer.laws.transfer import CARRIED_OUT, SOURCE, lens, transfer
from lineage_conformance.kinds.transfer.player import Play, played
from lineage_conformance.kinds.transfer.view import Thread
from lineage_conformance.law import Level, Stake
from lineage_conformance.raised import Raised
from lineage_conformance.trace import Diff

PATIENCE = 0.04
"""Seconds that one call is held for the other to come as far. One that waits for it comes no further: no error."""


class Meeting:
    """Holds the first call that comes to a place until the other one comes too, or is over."""

    def __init__(self) -> None:
        self._both = threading.Event()
        self._lock = threading.Lock()
        self._came = 0

    def over(self) -> None:
        """One of the two calls is over: nobody need wait for it."""
        self._both.set()

    def _comes(self) -> bool:
        with self._lock:
            self._came += 1
            if self._came > 1:
                self._both.set()
            return self._came == 1

    def here(self) -> None:
        """A call comes by, in a thread."""
        if self._comes():
            self._both.wait(PATIENCE)

    async def ahere(self) -> None:
        """A call comes by, in the loop."""
        if self._comes():
            await asyncio.to_thread(self._both.wait, PATIENCE)


def _held(play: Play, saver: Any, meeting: Meeting) -> Callable[[], None]:
    """Let every read of a saver come by the meeting; gives what undoes it."""
    name = "get_tuple" if play.half == "sync" else "aget_tuple"
    method = getattr(saver, name)

    def sync(*args: Any, **kwargs: Any) -> Any:
        meeting.here()
        return method(*args, **kwargs)

    async def awaited(*args: Any, **kwargs: Any) -> Any:
        await meeting.ahere()
        return await method(*args, **kwargs)

    setattr(saver, name, sync if play.half == "sync" else awaited)
    return lambda: delattr(saver, name)


def _at_once(play: Play, backends: list[Any], thread: str, provider: str) -> list[Any]:
    """Dispatch to one thread on two backends at once: what each gave or raised."""
    meeting = Meeting()

    def hook(call: Call) -> Any:
        if call.method in ("fork", "start"):
            return meeting.here() if play.half == "sync" else meeting.ahere()
        return None

    play.world.hook = hook
    undo = [
        _held(play, saver, meeting) for saver in {id(b.saver): b.saver for b in backends}.values()
    ]
    futures: list[concurrent.futures.Future[Any]] = []
    try:
        for number, backend in enumerate(backends):
            words = (thread, f"first {number}", provider)
            if play.half == "async":
                work = backend.adispatch(*words)
                futures.append(asyncio.run_coroutine_threadsafe(work, play.bench.loop.loop))
            else:
                pool = concurrent.futures.ThreadPoolExecutor(1, "lineage-first")
                futures.append(pool.submit(backend.dispatch, *words))
                pool.shutdown(wait=False)
            futures[-1].add_done_callback(lambda future: meeting.over())
        concurrent.futures.wait(futures)
    finally:
        play.world.hook = None
        for each in undo:
            each()
    return [future.exception() or future.result() for future in futures]


def _once(play: Play, case: History, second: bool) -> Iterator[Diff]:
    found = list(play.play(case))
    yield from found
    if found or not play.threads:
        return
    thread = play.threads[-1]
    if thread.start is None or not thread.start.open or thread.relationship != "fork":
        return
    provider = thread.provider or "turns"
    backends = [play.backend, play.bench.handle(1).saver if second else play.backend]
    play.bind(backends[1])
    play.fakes[provider].outcome, play.fakes[provider].failing = "ok", []
    calls, handed = len(play.world.calls), len(play.world.handed)
    play.doing = "dispatch"
    play.bench.beat(play.at + 1)
    answers = _at_once(play, backends, thread.id, provider)
    yield from _resolved_once(play, thread, provider, answers, calls, handed)


def _resolved_once(
    play: Play, thread: Thread, provider: str, answers: list[Any], calls: int, handed: int
) -> Iterator[Diff]:
    refused = [a for a in answers if isinstance(a, BaseException)]
    play.observed("together", "refused")
    if len(refused) == len(answers):
        shown = [f"{type(a).__name__}: {a}"[:200] for a in refused]
        yield play.diff("together", ("refused",), "one of two runs", shown)
        return
    for error in refused:
        if getattr(error, "code", None) not in ("busy", "stale_context", "context_pending"):
            told = f"{type(error).__name__}: {error}"[:200]
            yield play.diff("together", ("raises",), "a run, or a refusal", told)
    forks = [call for call in play.called(calls) if call[1] == "fork"]
    yield from play.compare("together", ("forks",), min(len(forks), 1), len(forks))
    transfers = [t for t in play.call("transfers", thread.id) if t.target_thread == thread.id]
    statuses = [[t.type, t.status] for t in transfers]
    found = list(play.compare("together", ("transfers",), [["fork", "consumed"]], statuses))
    yield from found
    if found:
        return
    moves = [move.after for move in play.call("history", transfers[0].id)]
    yield from play.compare("together", ("moves",), 3, len(moves))
    runs = play.world.handed[handed:]
    sessions = {session for session, _ in runs}
    found = list(play.compare("together", ("sessions",), 1, len(sessions)))
    yield from found
    if found:
        return
    knows = [canon(m) for m in play.fakes[provider].knows(sessions.pop())]
    before = play.flat(thread.view)
    play.observed("together", "knows")
    if knows[: len(before)] != before or len(knows) != len(before) + 2 * len(runs):
        yield play.diff("together", ("knows",), len(before) + 2 * len(runs), len(knows))


@played
def _one_handle(play: Play, case: History) -> Iterator[Diff]:
    yield from _once(play, case, second=False)


@played
def _two_handles(play: Play, case: History) -> Iterator[Diff]:
    yield from _once(play, case, second=True)


ONCE = SOURCE + "two calls at once resolve once: the second waits or is refused busy"
SPLIT = "One click too many, and a fork has two native sessions: each run goes to another one."


@transfer(
    "transfer.first-dispatches-resolve-once",
    level=Level.MUST,
    stake=Stake.REPEATED,
    source=ONCE,
    check=_one_handle,
    focus="transfer-forked",
    lens=lens("together:*", about="dispatch"),
    after=(CARRIED_OUT, "transfer.exactly-what-is-missing", "transfer.consumed-once"),
    meaning=SPLIT,
)
def first_dispatches_resolve_once() -> Iterator[History]:
    """Two first dispatches at once make one resolution, and one session that both runs use, or one is refused."""
    yield text("open:p1 run fork")
    yield text("open:p4 run run fork")


@transfer(
    "transfer.handles-resolve-once",
    level=Level.MUST,
    stake=Stake.REPEATED,
    source=ONCE,
    check=_two_handles,
    focus="transfer-forked",
    lens=lens("together:*", about="dispatch"),
    needs=("store",),
    after=(CARRIED_OUT, "transfer.first-dispatches-resolve-once"),
    meaning=SPLIT,
)
def handles_resolve_once() -> Iterator[History]:
    """The same holds of two handles on one store, as two processes of a service have."""
    yield text("open:p1 run fork")
    yield text("open:p4 run run fork")


@played
def _reopened(play: Play, case: History) -> Iterator[Diff]:
    yield from play.play(case)  # what differs after the store was reopened is named so


@transfer(
    "transfer.nothing-is-lost-on-closing",
    level=Level.MUST,
    stake=Stake.LOST,
    source="data: records and receipts live in the store",
    check=_reopened,
    focus="transfer-reopened",
    lens=lens("reopened:*"),
    needs=("store",),
    after=HISTORY_LAWS,
    meaning="After a restart a thread has lost its context, or is told it again.",
)
def nothing_is_lost_on_closing() -> Iterator[History]:
    """A history goes on after the store was reopened as if it had not been: transfers, coverage, receipts are there."""
    yield text("open:p1 run fork run:t1 merge:t0 again run:t0 run:t0p2 run:t0", reopen=5)
    yield text("open:p4 run fork fail:t1p4=start run:t1 run:t1 run:t1", reopen=5)
    yield text("open:p2 run begin fork end run:t1 bear=ok observe", reopen=3)
    yield text("open:p1 run:n1 run:p2 heal run:p2 run:p1 again", reopen=3)


@played
def _conflicts(play: Play, case: History) -> Iterator[Diff]:
    found = list(play.play(case))
    yield from found
    thread = play.threads[0] if play.threads else None
    if found or thread is None or thread.latest() is None or thread.active is not None:
        return
    forked, asked, other = play.receipt(), play.receipt(), play.bench.name("other")
    play.call("fork", thread.id, play.bench.name("forked"), receipt=forked)
    play.call("open_thread", other, "bare")
    provider = thread.provider or "turns"
    yield from play.refused(
        "receipt_conflict", "switch_provider", thread.id, provider, receipt=forked
    )
    yield from play.refused("receipt_conflict", "dispatch", other, "hello", receipt=forked)
    play.call("switch_provider", thread.id, provider, receipt=play.receipt())  # it is the receipt
    play.fakes["bare"].outcome, play.fakes["bare"].failing = "ok", ["start"]
    runs = []
    for _ in range(3):
        try:
            made = play.call("dispatch", other, "hello", receipt=asked)
            runs.append(getattr(made, "id", "nothing"))
        except Raised as raised:
            runs.append(getattr(raised.error, "code", None))
    wanted = ["provider_error", runs[1], runs[1]]
    play.observed("receipts", "unused")
    if runs != wanted or runs[1] in ("provider_error", "nothing", None):
        yield play.diff("receipts", ("unused",), ["provider_error", "a run", "the same"], runs)


@transfer(
    "transfer.a-receipt-is-of-one-command",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source=SOURCE + "receipt_conflict; a command that raised has not used its receipt",
    check=_conflicts,
    focus="transfer-forked",
    lens=lens("receipts:* refused:receipt_conflict*", about="fork dispatch switch_provider"),
    after=(CARRIED_OUT, "transfer.receipts-act-once"),
    meaning="A retry after a failure is answered with nothing; or a command with another's answer.",
)
def a_receipt_is_of_one_command() -> Iterator[History]:
    """A receipt is refused for another command or thread; one whose command failed can be used again."""
    yield text("open:p1 run")
