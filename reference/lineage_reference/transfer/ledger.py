"""Transfers, their moves, handoffs and receipts, as they are read and written within a transaction."""

from __future__ import annotations

import dataclasses
import json
import uuid
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from sqlalchemy import bindparam, delete, or_, select, update

from lineage_reference.transfer.records import (
    CREATORS,
    MOVES,
    OPEN,
    ContextHandoff,
    ContextTransfer,
    Cover,
    Refused,
    StatusMove,
    dump,
    load_point,
    load_transfer,
)
from lineage_reference.transfer.store import Book, Piece, Thread
from lineage_reference.transfer.tables import HANDOFFS, RECEIPTS, STATUS_MOVES, TRANSFERS


class Slice(NamedTuple):
    """What a transfer brings: a range of the view of a thread, or the last item of its one piece."""

    thread: str | None = None
    start: int = 0
    stop: int = 0
    last_only: bool = False


class Entry(NamedTuple):
    """A transfer with what only the ledger needs to know."""

    record: ContextTransfer
    slice: Slice
    task: str | None
    changed_at: float

    @property
    def id(self) -> str:
        """Its id."""
        return self.record.id

    @property
    def resolved(self) -> bool:
        """Whether it is ready to be injected."""
        return self.record.status in ("resolved_native", "resolved_portable")


_FIELDS = [field.name for field in dataclasses.fields(ContextTransfer)]
_COLUMNS = [TRANSFERS.c[name] for name in _FIELDS]
_MORE = [
    TRANSFERS.c[name] for name in ("slice_thread", "slice_from", "slice_to", "task", "changed_at")
]
_POINTS = {_FIELDS.index("source_point"), _FIELDS.index("base_point")}


_MOVE = [STATUS_MOVES.c[name] for name in ("before", "after", "at", "reason")]
_KEPT = "id", "transfer_id", "kind", "covers", "form", "items", "text", "digest", "created_at"

# Statements are made once, see `lineage_reference.transfer.store`.
_ONE = select(*_COLUMNS, *_MORE).where(TRANSFERS.c.id == bindparam("id"))
_TOUCHING = (
    select(*_COLUMNS, *_MORE)
    .where(
        or_(
            TRANSFERS.c.source_thread == bindparam("id"),
            TRANSFERS.c.target_thread == bindparam("id"),
        )
    )
    .order_by(TRANSFERS.c.number)
)
_OPEN = (
    select(*_COLUMNS, *_MORE)
    .where(TRANSFERS.c.target_thread == bindparam("id"), TRANSFERS.c.status.in_(OPEN))
    .order_by(TRANSFERS.c.number)
)
_SET = update(TRANSFERS).where(TRANSFERS.c.id == bindparam("its_id"))
_STORY = (
    select(*_MOVE)
    .where(STATUS_MOVES.c.transfer_id == bindparam("id"))
    .order_by(STATUS_MOVES.c.number)
)
_HANDOFF = select(*(HANDOFFS.c[name] for name in _KEPT)).where(HANDOFFS.c.id == bindparam("id"))
_RECEIPT = select(
    RECEIPTS.c.command, RECEIPTS.c.argument, RECEIPTS.c.answer, RECEIPTS.c.run_id
).where(RECEIPTS.c.receipt == bindparam("id"))
_RECEIPT_FREE = delete(RECEIPTS).where(RECEIPTS.c.run_id == bindparam("its_run"))
_RECEIPT_ANSWER = update(RECEIPTS).where(RECEIPTS.c.receipt == bindparam("its_receipt"))
_RECEIPT_SET = update(RECEIPTS).where(RECEIPTS.c.run_id == bindparam("its_run"))


def _entry(row: Any) -> Entry:
    count = len(_FIELDS)
    values: list[Any] = [load_point(v) if n in _POINTS else v for n, v in enumerate(row[:count])]
    record = ContextTransfer(*values)
    thread, start, stop, task, changed_at = row[count:]
    slice = Slice(thread, start, stop, record.type == "subagent_result")
    return Entry(record, slice, task, changed_at)


def create(
    book: Book,
    type: str,
    source: str,
    target: str,
    created_by: str,
    *,
    slice: Slice = Slice(),  # noqa: B008  # a constant
    task: str | None = None,
    **fields: Any,
) -> Entry:
    """A new pending transfer. Raises `ValueError` for a creator that is none."""
    if created_by not in CREATORS:
        raise ValueError(f"a transfer is created by one of {CREATORS}, not {created_by!r}")
    given = {"source_point": None, "base_point": None, "source_provider": None}
    given |= {"target_provider": None, **fields}
    record = ContextTransfer(
        id=uuid.uuid4().hex,
        type=type,
        source_thread=source,
        target_thread=target,
        status="pending",
        resolution=None,
        created_by=created_by,
        created_at=book.now,
        **given,
    )
    book.add(
        TRANSFERS,
        **{name: getattr(record, name) for name in _FIELDS if not name.endswith("_point")},
        source_point=dump(record.source_point),
        base_point=dump(record.base_point),
        slice_thread=slice.thread,
        slice_from=slice.start,
        slice_to=slice.stop,
        task=task,
        changed_at=book.now,
    )
    first = {"transfer_id": record.id, "before": None, "after": "pending", "at": book.now}
    book.add(STATUS_MOVES, **first, reason=None)
    return Entry(record, slice, task, book.now)


def move(book: Book, entry: Entry, *path: str, reason: str | None = None, **fields: Any) -> Entry:
    """Move a transfer along a path of statuses, each of them recorded. `fields` are what the last one sets."""
    # A clock may be set back; the story of a transfer never runs backwards.
    at = max(book.now, entry.changed_at)
    before, steps = entry.record.status, []
    for after in path:
        if after not in MOVES[before]:
            raise RuntimeError(f"transfer {entry.id} cannot go from {before} to {after}")
        step = {"transfer_id": entry.id, "before": before, "after": after, "at": at}
        steps.append({**step, "reason": reason if after == path[-1] else None})
        before = after
    if path[-1].startswith("resolved"):
        fields["resolved_at"] = at
    if path[-1] == "consumed":
        fields["consumed_at"] = at
    elif path[-1] != "superseded":
        fields["reason"] = reason
    values = {"status": path[-1], "changed_at": at, **fields}
    book.do(_SET, {"its_id": entry.id, **values})
    book.add_all(STATUS_MOVES, steps)
    record = dataclasses.replace(entry.record, status=path[-1], **fields)
    return entry._replace(record=record, changed_at=at)


def transfer(book: Book, id: str) -> Entry:
    """A transfer. Raises `Refused` (``unknown_transfer``)."""
    found = book.one(_ONE, id=id)
    if found is None:
        raise Refused("unknown_transfer", id)
    return _entry(found)


def touching(book: Book, thread_id: str) -> list[ContextTransfer]:
    """All transfers from or to a thread, oldest first."""
    return [_entry(row).record for row in book.all(_TOUCHING, id=thread_id)]


def open_ones(book: Book, target: str) -> list[Entry]:
    """The open transfers to a thread, oldest first. Closed ones are not read."""
    return [_entry(row) for row in book.all(_OPEN, id=target)]


def story(book: Book, id: str) -> list[StatusMove]:
    """Every move of a transfer, oldest first."""
    return [StatusMove(*row) for row in book.all(_STORY, id=id)]


def replaceable(book: Book, target: Thread, old: Iterable[Entry]) -> list[Entry]:
    """Transfers to a thread that may be replaced. Refused ``busy`` while one is in use, or being resolved."""
    found = list(old)
    if found and target.claim is not None and (target.claimed_until or 0) > book.now:
        raise Refused("busy", f"{target.id} is being resolved")
    if found and target.active_run is not None:
        used = book.run(target.active_run).context
        if any(each.id in used for each in found):
            raise Refused("busy", f"run {target.active_run} was begun with it")
    return found


def supersede(book: Book, old: Iterable[Entry], by: Entry | None) -> None:
    """Replace transfers."""
    for each in old:
        move(book, each, "superseded", replaced_by=by.id if by else None)


def covered(book: Book, slice: Slice) -> list[Piece]:
    """The pieces of a slice."""
    if slice.thread is None or slice.start >= slice.stop:
        return []
    found = book.pieces(book.thread(slice.thread), slice.start, slice.stop)
    return [piece._replace(last_only=True) for piece in found] if slice.last_only else found


# -- handoffs ------------------------------------------------------------------------------------


def keep(book: Book, handoff: ContextHandoff, serde: Any) -> None:
    """Write a handoff down."""
    form, items = serde.dumps_typed(list(handoff.items))
    book.add(
        HANDOFFS,
        id=handoff.id,
        transfer_id=handoff.transfer_id,
        kind=handoff.kind,
        covers=json.dumps([dataclasses.astuple(cover) for cover in handoff.covers]),
        form=form,
        items=items,
        text=handoff.text.encode("utf-8", "surrogatepass"),
        digest=handoff.digest,
        created_at=handoff.created_at,
    )


def kept(book: Book, id: str, serde: Any) -> ContextHandoff:
    """A handoff as it was written down. Raises `Refused` (``unknown_transfer``)."""
    found = book.one(_HANDOFF, id=id)
    if found is None:
        raise Refused("unknown_transfer", id)
    covers = tuple(map(_cover, json.loads(found.covers)))
    return ContextHandoff(
        found.id,
        found.transfer_id,
        found.kind,
        covers,
        tuple(serde.loads_typed((found.form, bytes(found[5])))),
        bytes(found.text).decode("utf-8", "surrogatepass"),
        found.digest,
        found.created_at,
    )


def _cover(values: Any) -> Cover:
    *place, items = values
    every: list[Any] = [*place, None if items is None else tuple(items)]
    return Cover(*every)


# -- receipts ------------------------------------------------------------------------------------


class Answered(NamedTuple):
    """A receipt that was used. `answer` is None while its run is active."""

    answer: str | None
    run_id: str | None


def answered(book: Book, receipt: str | None, command: str, argument: str) -> Answered | None:
    """What a receipt was used for. Refused ``receipt_conflict`` if that was another command."""
    if receipt is None:
        return None
    found = book.one(_RECEIPT, id=receipt)
    if found is None:
        return None
    if (found.command, found.argument) != (command, argument):
        raise Refused("receipt_conflict", f"{receipt} is of {found.command} {found.argument}")
    return Answered(found.answer, found.run_id)


def use_receipt(
    book: Book,
    receipt: str | None,
    command: str,
    argument: str,
    answer: str | None,
    run_id: str | None = None,
) -> None:
    """Note a receipt with its answer, or with the run that will be it."""
    if receipt is not None:
        row = {"command": command, "argument": argument, "answer": answer, "run_id": run_id}
        book.add(RECEIPTS, receipt=receipt, **row)


def settle_receipt(book: Book, run_id: str, answer: str | None) -> None:
    """Give the receipt of a run its answer; None frees it, since nothing began."""
    if answer is None:
        book.do(_RECEIPT_FREE, {"its_run": run_id})
    else:
        book.do(_RECEIPT_SET, {"its_run": run_id, "answer": answer})


def once(
    book: Book, receipt: str | None, command: str, argument: str, work: Callable[[], Entry | None]
) -> ContextTransfer | None:
    """Carry out a command that makes a transfer, unless its receipt was used: then give its answer again."""
    known = answered(book, receipt, command, argument)
    if known is not None:
        return load_transfer(known.answer)
    # The receipt first: whoever comes with the same one waits here, not where it would be told that the
    # thread is there already.
    use_receipt(book, receipt, command, argument, None)
    made = work()
    record = made.record if made else None
    if receipt is not None:
        book.do(_RECEIPT_ANSWER, {"its_receipt": receipt, "answer": dump(record)})
    return record
