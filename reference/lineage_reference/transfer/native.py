"""Native forks: whether a provider can make one, and what it is asked for. What it cannot, it is not asked."""

from __future__ import annotations

from typing import Any, NamedTuple

from sqlalchemy import func, select

from lineage_reference.steps import Steps, call
from lineage_reference.transfer.ledger import Entry
from lineage_reference.transfer.runs import ENDED
from lineage_reference.transfer.store import Book
from lineage_reference.transfer.tables import RUNS

UNSUPPORTED = "rollback_unsupported"


class Wish(NamedTuple):
    """A native fork to ask for: a session, up to and with a turn, or all of it less so many later turns."""

    session: str
    turn: str | None
    later: int = 0


def wish(book: Book, start: Entry, adapter: Any) -> tuple[Wish | None, str | None]:
    """The native fork that would resolve a transfer, or None; and the reason where a rollback is lacking."""
    point, able = start.record.source_point, adapter.capabilities
    if start.record.type != "fork" or point is None or point.run_id is None:
        return None, None
    source = book.run(point.run_id)
    if source.run.provider != adapter.name or not point.native_thread or able.native_fork == "none":
        return None, None
    if able.native_fork == "at_turn" and point.native_turn is not None:
        return Wish(point.native_thread, point.native_turn), None
    # Only the latest can be copied. While a run is active nobody can say what that is.
    active = book.thread(point.thread_id).active_run
    if active is not None and book.run(active).run.provider == adapter.name:
        return None, None
    counted = select(func.count()).where(
        RUNS.c.provider == adapter.name,
        RUNS.c.native_thread == point.native_thread,
        RUNS.c.number > source.number,
        RUNS.c.status.in_(ENDED),
    )
    found = book.one(counted)
    later = found[0] if found else 0
    if later and not able.rollback:
        return None, UNSUPPORTED
    return Wish(point.native_thread, None, later), None


def granted(adapter: Any, wish: Wish) -> Steps[str | None]:
    """Ask for a native fork: the new session. None where its history refuses the rollback that it needs."""
    if wish.later:
        # Before the copy, not after: a copy that cannot be rolled back is a session that nobody wants.
        history = yield from call(adapter, "probe", wish.session)
        if history != "plain":
            return None
    session = yield from call(adapter, "fork", wish.session, wish.turn)
    if wish.later:
        yield from call(adapter, "rollback", session, wish.later)
    return str(session)
