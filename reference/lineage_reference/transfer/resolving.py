"""Resolving: what a provider needs on a thread is looked up, fetched, and written down, once.

Three parts. *Plan*, a transaction: which transfers are open, which one is missing, who else is at it; the
thread is *claimed*. *Fetch*, outside of any transaction: messages are read and native forks asked for. *Settle*,
a transaction: what was fetched becomes the resolution of each transfer, and the claim is given back.

Of two calls at once one gets the claim; the other is refused ``busy`` before it has read or asked anything.
A claim is believed until its time is up, so that a process that died with it locks nobody out. What that
process had fetched is fetched again; a session that it had forked is known to nobody.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from lineage_reference.steps import Steps
from lineage_reference.transfer import commands, ledger, material, native, runs
from lineage_reference.transfer.ledger import Entry
from lineage_reference.transfer.records import ContextHandoff, Cover, Refused, StartContext
from lineage_reference.transfer.store import Book, Store, Thread

LEASE = 300.0
"""Seconds for which a claim is believed: longer than any provider takes to fork a session."""


@dataclass
class Job:
    """One transfer that the context consists of."""

    entry: Entry
    handoff: ContextHandoff | None = None
    """Its handoff, if it is resolved already; what was made, once it was fetched."""
    covers: Sequence[Cover] = ()
    wish: native.Wish | None = None
    reason: str | None = None
    session: str | None = None
    """The session that a native fork made."""
    failure: Refused | None = None
    done: bool = False
    """Whether something was fetched, or failed to be: it is to be settled."""


@dataclass
class Plan:
    """The jobs of one resolution, in the order in which they are injected."""

    session: str | None
    claim: str | None
    jobs: list[Job] = field(default_factory=list)


def resolve(
    store: Store, saver: Any, adapter: Any, thread_id: str, lease: float = LEASE
) -> Steps[StartContext]:
    """What a provider needs to be given a message. Refused ``busy``; what fails is told in the context."""
    plan: Plan = yield store.writing(lambda book: _plan(book, saver, adapter, thread_id, lease))
    if plan.claim is not None:
        try:
            yield from _fetch(saver, adapter, plan, store)
        finally:  # also for a task that is cancelled: what was made is written down, the claim given back
            yield store.writing(lambda book: _settle(book, saver, adapter, thread_id, plan))
    for job in plan.jobs:
        if job.failure is not None:
            return StartContext("failure", failure=job.failure.code, message=str(job.failure))
    return _context(plan)


def _context(plan: Plan) -> StartContext:
    records = [job.entry.record for job in plan.jobs]
    kind, session = "nothing", plan.session
    if records:
        kind = "delta" if records[0].resolution == "delta_context" else "portable"
        if records[0].resolution == "native_fork":
            kind, session = "native", records[0].native_thread
    handoffs = tuple(job.handoff for job in plan.jobs if job.handoff is not None)
    return StartContext(kind, session, handoffs, tuple(record.id for record in records))


# -- plan ----------------------------------------------------------------------------------------


def _plan(book: Book, saver: Any, adapter: Any, thread_id: str, lease: float) -> Plan:
    thread = book.thread(thread_id, lock=True)
    if thread.active_run is not None and book.run(thread.active_run).context:
        raise Refused("busy", f"run {thread.active_run} of {thread_id} is active")
    if thread.claim is not None and (thread.claimed_until or 0) > book.now:
        raise Refused("busy", f"{thread_id} is being resolved")
    needed = runs.need(book, thread, adapter.name)
    plan = Plan(needed.session, None)
    if needed.start is not None:
        plan.jobs.append(_start(book, thread, needed.start, adapter))
    elif needed.known < thread.length:
        plan.jobs.append(Job(_handoff(book, thread, needed, adapter.name)))
    plan.jobs += [Job(entry) for entry in needed.bringing]
    for job in plan.jobs:
        if not job.entry.resolved:
            if job.wish is None:
                job.covers = _covers(book, job.entry)
            plan.claim = plan.claim or uuid.uuid4().hex
        elif job.entry.record.handoff_id is not None:
            job.handoff = ledger.kept(book, job.entry.record.handoff_id, saver.serde)
    if plan.claim is not None:
        book.set_thread(thread_id, claim=plan.claim, claimed_until=book.now + lease)
    return plan


def _covers(book: Book, entry: Entry) -> list[Cover]:
    return [piece.cover for piece in ledger.covered(book, entry.slice)]


def _start(book: Book, thread: Thread, start: Entry, adapter: Any) -> Job:
    """The transfer that a thread begins with; a fork that was resolved for another provider is replaced."""
    record = start.record
    if record.type == "fork" and start.resolved and record.target_provider != adapter.name:
        made = ledger.create(
            book,
            "fork",
            record.source_thread,
            thread.id,
            record.created_by,
            source_point=record.source_point,
            source_provider=record.source_provider,
            slice=start.slice,
        )
        ledger.supersede(book, [start], made)
        book.set_thread(thread.id, start_id=made.id)
        start = made
    if start.resolved:
        return Job(start)
    wish, reason = native.wish(book, start, adapter)
    return Job(start, wish=wish, reason=reason)


def _handoff(book: Book, thread: Thread, needed: runs.Need, provider: str) -> Entry:
    """The handoff that says what is missing: the open one if it still does, else a new one."""
    mine = needed.handoff(provider, thread.length)
    if mine is None:
        mine = commands.handing(book, thread, provider, needed.known, "system")
        ledger.supersede(book, needed.handoffs, mine)
    return mine


# -- fetch ---------------------------------------------------------------------------------------


def _fetch(saver: Any, adapter: Any, plan: Plan, store: Store) -> Steps[None]:
    """Do what the jobs ask for, up to the first that fails."""
    for job in plan.jobs:
        if job.entry.resolved:
            continue
        try:
            yield from _fetch_one(saver, adapter, job, store)
        except Refused as failure:
            job.failure = failure
        job.done = True
        if job.failure is not None:
            return


def _fetch_one(saver: Any, adapter: Any, job: Job, store: Store) -> Steps[None]:
    if job.wish is not None:
        try:
            job.session = yield from native.granted(adapter, job.wish)
        except Exception as error:
            raise Refused("provider_error", f"{type(error).__name__}: {error}") from error
        if job.session is not None:
            return
        job.reason = native.UNSUPPORTED
        job.covers = yield store.reading(lambda book: _covers(book, job.entry))
    items = yield from material.read(saver, job.covers)
    record, now = job.entry.record, store.clock()
    delta = record.base_point is not None
    job.handoff = material.handoff(record.id, delta, job.covers, items, job.entry.task, now)


# -- settle --------------------------------------------------------------------------------------


def _settle(book: Book, saver: Any, adapter: Any, thread_id: str, plan: Plan) -> None:
    """Write down what was fetched. Refused ``busy`` if it took so long that another call took over."""
    if book.thread(thread_id, lock=True).claim != plan.claim:
        raise Refused("busy", f"another call has taken over {thread_id}")
    book.set_thread(thread_id, claim=None, claimed_until=None)
    for job in plan.jobs:
        if job.done:
            job.entry = _settled(book, saver, adapter, job)


def _settled(book: Book, saver: Any, adapter: Any, job: Job) -> Entry:
    entry = ledger.transfer(book, job.entry.id)
    fields: dict[str, Any] = {}
    if entry.record.type == "fork":
        fields["target_provider"] = adapter.name
    again = ("pending",) if entry.record.status == "failed" else ()
    if job.failure is not None:
        return ledger.move(book, entry, *again, "failed", reason=job.failure.code, **fields)
    if job.session is not None:
        fields |= {"resolution": "native_fork", "native_thread": job.session}
        return ledger.move(book, entry, *again, "resolved_native", **fields)
    assert job.handoff is not None  # a job that is done has one of the three
    ledger.keep(book, job.handoff, saver.serde)
    fields |= {"resolution": job.handoff.kind, "handoff_id": job.handoff.id}
    return ledger.move(book, entry, *again, "resolved_portable", reason=job.reason, **fields)
