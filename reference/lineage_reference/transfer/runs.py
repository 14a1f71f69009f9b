"""Runs: begun with the context that was resolved for them, and ended. Each is one transaction."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import bindparam, update

from lineage_reference.transfer import ledger
from lineage_reference.transfer.ledger import Entry
from lineage_reference.transfer.records import BRINGING, Refused, Run, StartContext, dump
from lineage_reference.transfer.store import Book, Stored, Thread
from lineage_reference.transfer.tables import PASSED, PIECES, RUNS

_SET = update(RUNS).where(RUNS.c.id == bindparam("its_id"))

ENDED = ("completed", "failed", "cancelled")


@dataclass(frozen=True)
class Need:
    """What a provider needs on a thread now: open transfers, and how much of the view is nobody's yet."""

    start: Entry | None
    """The transfer that the thread begins with, while it is open."""
    handoffs: tuple[Entry, ...]
    """Open provider handoffs, to whichever provider."""
    bringing: tuple[Entry, ...]
    """Open merges and results."""
    known: int
    """How much of the view the provider's session covers."""
    session: str | None

    def handoff(self, provider: str, length: int) -> Entry | None:
        """The open handoff that says just what this provider lacks."""
        mine = next((e for e in self.handoffs if e.record.target_provider == provider), None)
        if mine is None or (mine.slice.start, mine.slice.stop) != (self.known, length):
            return None
        return mine


def need(book: Book, thread: Thread, provider: str) -> Need:
    """Look up what a provider needs on a thread."""
    found = ledger.open_ones(book, thread.id)
    session, known = book.session(thread.id, provider)
    return Need(
        next((e for e in found if e.id == thread.start_id), None),
        tuple(e for e in found if e.record.type == "provider_handoff"),
        tuple(e for e in found if e.record.type in BRINGING),
        known,
        session,
    )


def check(book: Book, thread: Thread, provider: str, context: StartContext | None) -> None:
    """Refuse a context that is not, or is no longer, what the provider needs."""
    now = need(book, thread, provider)
    wanted: list[Entry | None] = []
    if now.start is not None:
        # A fork was resolved for one provider; a task is told to whichever comes.
        fits = now.start.record.type != "fork" or now.start.record.target_provider == provider
        wanted.append(now.start if fits else None)
    elif now.known < thread.length:
        wanted.append(now.handoff(provider, thread.length))
    wanted += now.bringing
    if context is None or context.kind == "failure":
        if wanted:
            raise Refused("context_pending", f"{provider} on {thread.id}")
        return
    ready = [e.id if e is not None and e.resolved else None for e in wanted]
    if ready != list(context.transfers):
        raise Refused("stale_context", f"{provider} on {thread.id}")


def begin(book: Book, thread: Thread, provider: str, transfers: Sequence[str]) -> Run:
    """A new active run of a thread that is held."""
    made = Run(uuid.uuid4().hex, thread.id, provider, "active")
    book.add(
        RUNS,
        id=made.id,
        thread_id=thread.id,
        provider=provider,
        status=made.status,
        items="[]",
        context=json.dumps(list(transfers)),
    )
    book.set_thread(thread.id, active_run=made.id, provider=provider)
    return made


def begin_with(book: Book, thread_id: str, provider: str, context: StartContext | None) -> Run:
    """Begin a run with its context. Refused ``busy``, ``context_pending``, ``stale_context``."""
    thread = book.thread(thread_id, lock=True)
    if thread.active_run is not None:
        raise Refused("busy", f"run {thread.active_run} of {thread_id} is active")
    if thread.claim is not None and (thread.claimed_until or 0) > book.now:
        raise Refused("busy", f"{thread_id} is being resolved")
    check(book, thread, provider, context)
    return begin(book, thread, provider, context.transfers if context else ())


def passed(book: Book, run_id: str, checkpoint_thread: str, checkpoint_id: str) -> None:
    """Note a checkpoint that an active run has reached."""
    active(book, run_id)
    row = {"run_id": run_id, "checkpoint_thread": checkpoint_thread, "checkpoint_id": checkpoint_id}
    if book.one(PASSED.select().filter_by(**row)) is None:
        book.add(PASSED, **row)


def active(book: Book, run_id: str) -> tuple[Thread, Stored]:
    """An active run, and its thread, held. Refused ``unknown_run``, ``run_ended``."""
    thread = book.thread(book.run(run_id).run.thread_id, lock=True)
    found = book.run(run_id)  # once more: it may have ended while the thread was held by another
    if found.run.status != "active":
        raise Refused("run_ended", f"{run_id} is {found.run.status}")
    return thread, found


def finish(book: Book, run_id: str, result: Any) -> Stored:
    """End a run: its transfers are consumed whatever the status; if it is stable, the view grows by it."""
    if result.status not in ENDED:
        raise ValueError(f"a run ends {', '.join(ENDED)}, not {result.status!r}")
    thread, found = active(book, run_id)
    grown: list[dict[str, Any]] = []
    for id in found.context:
        grown += _consumed(book, ledger.transfer(book, id), found.run)
    stable = result.status == "completed" and result.checkpoint_id is not None
    if stable:
        grown.append({"run_id": run_id, "last_only": False, "checkpoint_id": None})
    length = thread.length + len(grown)
    if grown:
        place = {"thread_id": thread.id}
        rows = [{**place, **p, "position": thread.length + n} for n, p in enumerate(grown)]
        book.add_all(PIECES, rows)
    ended = Run(
        run_id,
        thread.id,
        found.run.provider,
        result.status,
        result.session,
        result.turn,
        result.checkpoint_thread or (result.session if result.checkpoint_id else None),
        result.checkpoint_id,
        tuple(result.items),
    )
    position = length - 1 if stable else None
    _write(book, ended, position)
    book.bind(thread.id, ended.provider, result.session, length)
    book.set_thread(thread.id, active_run=None, length=length)
    ledger.settle_receipt(book, run_id, dump(ended))
    return Stored(ended, found.number, position, found.context)


def _consumed(book: Book, entry: Entry, run: Run) -> list[dict[str, Any]]:
    """Consume a transfer: the pieces that the view grows by."""
    ledger.move(book, entry, "consumed", consumed_by=run.id, target_provider=run.provider)
    record = entry.record
    if record.type not in BRINGING:
        return []
    if record.type == "merge_back":
        book.set_thread(record.source_thread, merged=entry.slice.stop)
    elif record.source_point is not None:
        book.set_thread(record.source_thread, returned_run=record.source_point.run_id)
    return [
        {
            "run_id": piece.run.id if piece.run else None,
            "last_only": piece.last_only,
            "checkpoint_id": None,
        }
        for piece in ledger.covered(book, entry.slice)
    ]


def abandon(book: Book, run_id: str) -> Run:
    """Say that nothing began: the transfers of the run are as they were, its receipt is free."""
    thread, found = active(book, run_id)
    _write(book, Run(run_id, thread.id, found.run.provider, "abandoned"), None)
    book.set_thread(thread.id, active_run=None)
    ledger.settle_receipt(book, run_id, None)
    return book.run(run_id).run


def _write(book: Book, run: Run, position: int | None) -> None:
    names = "status", "native_thread", "native_turn", "checkpoint_thread", "checkpoint_id"
    values = {name: getattr(run, name) for name in names}
    values |= {"items": json.dumps(list(run.items)), "position": position}
    book.do(_SET, {"its_id": run.id, **values})
