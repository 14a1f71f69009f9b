"""Commands that make transfers: fork, switch, merge, spawn, return, observe. Each is one transaction.

None of them calls a provider or reads the saver: what a transfer brings is named, not fetched.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from sqlalchemy import bindparam, select

from lineage_reference.transfer import ledger, runs
from lineage_reference.transfer.ledger import Entry, Slice
from lineage_reference.transfer.records import (
    LATEST_STABLE,
    ContextTransfer,
    Refused,
    SourcePoint,
)
from lineage_reference.transfer.store import Book, Stored, Thread
from lineage_reference.transfer.tables import CHILDREN, PASSED, PIECES, RUNS

_KNOWN = select(CHILDREN.c.thread_id).where(
    CHILDREN.c.provider == bindparam("provider"), CHILDREN.c.session == bindparam("session")
)


def open_thread(book: Book, id: str, provider: str | None, checkpoint_id: str | None) -> None:
    """A new root; its view begins with a checkpoint that is there already, if one is named."""
    if checkpoint_id is None:
        book.new_thread(id, provider=provider)
        return
    book.new_thread(id, provider=provider, length=1, adopted=True)
    book.add(
        PIECES, thread_id=id, position=0, run_id=None, last_only=False, checkpoint_id=checkpoint_id
    )


# -- points --------------------------------------------------------------------------------------


def reach(book: Book, thread: Thread, point: str) -> int:
    """The length of the view that a point stands for. Refused where it is not a stable one."""
    if point == LATEST_STABLE:
        latest = book.latest(thread.id)
        if latest is not None and latest.position is not None:
            return latest.position + 1
        if thread.relationship == "fork":
            return thread.inherited
        if thread.adopted:
            return 1
        raise Refused("no_stable_point", thread.id)
    found = book.run_where(RUNS.c.id == point, RUNS.c.thread_id == thread.id)
    if found is None:
        found = book.run_where(RUNS.c.thread_id == thread.id, RUNS.c.checkpoint_id == point)
    if found is not None:
        return _reach_of(found)
    if thread.active_run is not None:
        passed = select(PASSED.c.run_id).where(
            PASSED.c.run_id == thread.active_run, PASSED.c.checkpoint_id == point
        )
        if book.one(passed) is not None:
            raise Refused("running_point", point)
    if thread.adopted and book.piece(thread, 0).place[1] == point:
        return 1
    raise Refused("unknown_point", f"{point} of {thread.id}")


def _reach_of(found: Stored) -> int:
    if found.run.status == "active":
        raise Refused("running_point", found.run.id)
    if found.position is None:
        raise Refused("unstable_point", found.run.id)
    return found.position + 1


# -- forks and merges ----------------------------------------------------------------------------


def fork(book: Book, source: str, id: str, point: str, created_by: str) -> Entry:
    """A new thread, and a pending transfer to it. What it inherits is a number, not a copy."""
    thread = book.thread(source, lock=True)
    length = reach(book, thread, point)
    piece = book.piece(thread, length - 1)
    provider = piece.run.provider if piece.run else thread.provider
    made = ledger.create(
        book,
        "fork",
        source,
        id,
        created_by,
        source_point=piece.point,
        source_provider=provider,
        slice=Slice(source, 0, length),
    )
    book.new_thread(
        id,
        thread,
        relationship="fork",
        provider=provider,
        inherited=length,
        length=length,
        merged=length,
        start_id=made.id,
    )
    return made


def merge_back(book: Book, id: str, created_by: str) -> Entry:
    """What a fork has gained, for its parent."""
    parent, thread = _family(book, id, "fork", "not_a_fork")
    latest = book.latest(id)
    end = 0 if latest is None or latest.position is None else latest.position + 1
    if end <= thread.merged:
        raise Refused("nothing_to_transfer", f"{parent.id} has all of {id}")
    old = ledger.replaceable(book, parent, _open(book, parent.id, "merge_back", id))
    made = ledger.create(
        book,
        "merge_back",
        id,
        parent.id,
        created_by,
        source_point=book.piece(thread, end - 1).point,
        base_point=book.piece(thread, thread.merged - 1).point,
        source_provider=thread.provider,
        target_provider=parent.provider,
        slice=Slice(id, thread.merged, end),
    )
    ledger.supersede(book, old, made)
    return made


def _family(book: Book, id: str, relationship: str, code: str) -> tuple[Thread, Thread]:
    """A child and its parent, both held. A parent is held before its child, always."""
    child = book.thread(id)
    if child.relationship != relationship or child.parent_id is None:
        raise Refused(code, id)
    parent = book.thread(child.parent_id, lock=True)
    return parent, book.thread(id, lock=True)


def _open(book: Book, target: str, type: str, source: str) -> list[Entry]:
    found = ledger.open_ones(book, target)
    return [e for e in found if e.record.type == type and e.record.source_thread == source]


# -- providers -----------------------------------------------------------------------------------


def switch(book: Book, id: str, provider: str, created_by: str) -> Entry | None:
    """Another provider for a thread, and a pending transfer of what that one lacks."""
    thread = book.thread(id, lock=True)
    found = ledger.open_ones(book, id)
    old = [e for e in found if e.record.type == "provider_handoff"]
    old = ledger.replaceable(book, thread, old)
    book.set_thread(id, provider=provider)
    made = None
    if all(each.id != thread.start_id for each in found):
        _, known = book.session(id, provider)
        if known < thread.length:
            made = handing(book, thread, provider, known, created_by)
    ledger.supersede(book, old, made)
    return made


def handing(book: Book, thread: Thread, provider: str, known: int, created_by: str) -> Entry:
    """A pending transfer of all that a provider's session does not cover."""
    return ledger.create(
        book,
        "provider_handoff",
        thread.id,
        thread.id,
        created_by,
        source_point=book.piece(thread, thread.length - 1).point,
        base_point=book.piece(thread, known - 1).point if known else None,
        source_provider=thread.provider,
        target_provider=provider,
        slice=Slice(thread.id, known, thread.length),
    )


# -- subagents -----------------------------------------------------------------------------------


def spawn(book: Book, parent_id: str, id: str, provider: str, task: str, created_by: str) -> Entry:
    """A child thread with an empty view, and a pending transfer that tells it its task."""
    parent = book.thread(parent_id, lock=True)
    made = ledger.create(
        book,
        "subagent_spawn",
        parent_id,
        id,
        created_by,
        source_point=_stable_point(book, parent),
        source_provider=parent.provider,
        target_provider=provider,
        task=task,
    )
    book.new_thread(id, parent, relationship="subagent", provider=provider, start_id=made.id)
    return made


def _stable_point(book: Book, thread: Thread) -> SourcePoint | None:
    try:
        return book.piece(thread, reach(book, thread, LATEST_STABLE) - 1).point
    except Refused:
        return None


def return_result(book: Book, id: str, created_by: str) -> Entry:
    """The last item of a subagent's latest stable run, for its parent."""
    parent, thread = _family(book, id, "subagent", "not_a_subagent")
    latest = book.latest(id)
    if latest is None or latest.position is None:
        raise Refused("no_stable_point", id)
    if latest.run.id == thread.returned_run:
        raise Refused("nothing_to_transfer", f"{parent.id} has the result of {id}")
    old = ledger.replaceable(book, parent, _open(book, parent.id, "subagent_result", id))
    made = ledger.create(
        book,
        "subagent_result",
        id,
        parent.id,
        created_by,
        source_point=book.piece(thread, latest.position).point,
        source_provider=latest.run.provider,
        target_provider=parent.provider,
        slice=Slice(id, latest.position, latest.position + 1, last_only=True),
    )
    ledger.supersede(book, old, made)
    return made


def observe(book: Book, id: str, provider: str, found: Sequence[Any]) -> list[ContextTransfer]:
    """Record what is new of the subagents that a provider started by itself in a session of a thread."""
    book.thread(id, lock=True)
    made: list[Entry] = []
    for child in found:
        known = book.one(_KNOWN, provider=provider, session=child.session)
        thread_id = known[0] if known else uuid.uuid4().hex
        if known is None:
            made.append(_seen(book, spawn(book, id, thread_id, provider, "", "system")))
            book.add(CHILDREN, provider=provider, session=child.session, thread_id=thread_id)
            book.bind(thread_id, provider, child.session, 0)
        if child.result is not None and _unseen(book, thread_id):
            thread = book.thread(thread_id, lock=True)
            run = runs.begin(book, thread, provider, ())
            if runs.finish(book, run.id, child.result).position is not None:
                made.append(_seen(book, return_result(book, thread_id, "system")))
                book.set_thread(thread_id, returned_run=run.id)
            # The provider's own turn came before whatever the application has begun there.
            book.set_thread(thread_id, active_run=thread.active_run)
    return [each.record for each in made]


def _seen(book: Book, entry: Entry) -> Entry:
    """The provider has told its session already."""
    return ledger.move(book, entry, "resolved_native", "consumed", resolution="native_fork")


def _unseen(book: Book, thread_id: str) -> bool:
    """Whether no run of an observed child has ended yet, its own first one included."""
    ended = RUNS.c.status.in_(runs.ENDED)
    return book.run_where(RUNS.c.thread_id == thread_id, ended) is None
