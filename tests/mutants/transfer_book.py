"""The store of the compact ``transfer`` backend, and the small things that all of its operations do with it.

A `Book` is a store: backends over one see the same data.
"""

from __future__ import annotations

import itertools
import threading
import time
from dataclasses import dataclass, field, replace
from typing import Any

from lineage_conformance.kinds.transfer.records import (
    ContextHandoff,
    ContextTransfer,
    Cover,
    Run,
    SourcePoint,
    StatusMove,
)
from lineage_conformance.kinds.transfer.terms import CODES, MOVES

OPEN = ("pending", "failed", "resolved_native", "resolved_portable")


class Refused(Exception):
    """A refusal with its code."""

    def __init__(self, code: str, text: str = "") -> None:
        super().__init__(text or CODES[code])
        self.code = code


@dataclass
class Line:
    """A thread."""

    id: str
    parent: str | None = None
    relationship: str | None = None
    root: str = ""
    provider: str | None = None
    view: list[Cover] = field(default_factory=list)
    merged: int = 0
    start: str | None = None
    runs: list[str] = field(default_factory=list)
    active: str | None = None
    sessions: dict[str, str] = field(default_factory=dict)
    covered: dict[str, int] = field(default_factory=dict)
    returned: str | None = None


@dataclass
class Book:
    """What a store holds."""

    lines: dict[str, Line] = field(default_factory=dict)
    runs: dict[str, Run] = field(default_factory=dict)
    contexts: dict[str, tuple[str, ...]] = field(default_factory=dict)
    passed: dict[str, str] = field(default_factory=dict)
    transfers: dict[str, ContextTransfer] = field(default_factory=dict)
    slices: dict[str, list[Cover]] = field(default_factory=dict)
    ends: dict[str, int] = field(default_factory=dict)
    tasks: dict[str, str] = field(default_factory=dict)
    moves: dict[str, list[StatusMove]] = field(default_factory=dict)
    handoffs: dict[str, ContextHandoff] = field(default_factory=dict)
    receipts: dict[str, tuple[str, str, Any]] = field(default_factory=dict)
    children: dict[tuple[str, str], str] = field(default_factory=dict)
    claims: set[str] = field(default_factory=set)
    lock: Any = field(default_factory=threading.RLock)
    numbers: Any = field(default_factory=lambda: itertools.count(1))
    transactions: int = 0
    rows: int = 0


class Desk:
    """A handle on a book, with the adapters in use."""

    def __init__(self, saver: Any, book: Book | None = None) -> None:
        self.saver, self.book = saver, book or Book()
        self.providers: dict[str, Any] = {}

    def use(self, provider: Any) -> None:
        self.providers[provider.name] = provider

    def id(self, kind: str) -> str:
        return f"{kind}-{next(self.book.numbers)}"

    def line(self, id: str) -> Line:
        if id not in self.book.lines:
            raise Refused("unknown_thread")
        return self.book.lines[id]

    def adapter(self, name: str | None) -> Any:
        if name not in self.providers:
            raise Refused("unknown_provider")
        return self.providers[name]

    def record(self, type: str, source: str, target: str, **fields: Any) -> ContextTransfer:
        made = ContextTransfer(
            self.id("transfer"), type, source, target,
            fields.pop("source_point", None), fields.pop("base_point", None),
            fields.pop("source_provider", None), fields.pop("target_provider", None),
            "pending", None, fields.pop("created_by", "system"), time.time(),
        )  # fmt: skip
        self.book.transfers[made.id] = made
        self.book.slices[made.id] = list(fields.pop("slice", ()))
        self.book.ends[made.id] = fields.pop("end", 0)
        self.book.moves[made.id] = [StatusMove(None, "pending", made.created_at)]
        return made

    def move(self, id: str, status: str, **fields: Any) -> ContextTransfer:
        old, now = self.book.transfers[id], time.time()
        assert status in MOVES[old.status], (old.status, status)
        if status.startswith("resolved"):
            fields["resolved_at"] = now
        if status == "consumed":
            fields["consumed_at"] = now
        made = replace(old, status=status, **fields)
        self.book.transfers[id] = made
        self.book.moves[id].append(StatusMove(old.status, status, now, fields.get("reason")))
        return made

    def open(self, target: str, *types: str) -> list[ContextTransfer]:
        found = self.book.transfers.values()
        return [
            t for t in found if t.target_thread == target and t.status in OPEN and t.type in types
        ]

    def in_use(self, transfer: ContextTransfer) -> bool:
        active = self.line(transfer.target_thread).active
        return active is not None and transfer.id in self.book.contexts[active]

    def replaceable(self, found: list[ContextTransfer]) -> list[ContextTransfer]:
        if any(self.in_use(each) for each in found):
            raise Refused("busy")
        return found

    def supersede(self, old: list[ContextTransfer], by: ContextTransfer | None) -> None:
        for each in old:
            self.move(each.id, "superseded", replaced_by=by.id if by else None)

    def point(self, cover: Cover) -> SourcePoint:
        made = self.book.runs[cover.run_id] if cover.run_id else None
        return SourcePoint(
            cover.thread_id, cover.run_id, cover.checkpoint_thread, cover.checkpoint_id,
            made.items[-1] if made else None,
            made.native_thread if made else None, made.native_turn if made else None,
        )  # fmt: skip

    def stable(self, id: str) -> bool:
        made = self.book.runs[id]
        return made.status == "completed" and made.checkpoint_id is not None

    def latest(self, line: Line) -> str | None:
        return next((id for id in reversed(line.runs) if self.stable(id)), None)

    def position(self, line: Line, id: str) -> int:
        return next(n for n, c in enumerate(line.view) if c.run_id == id and c.thread_id == line.id)

    def lacking(self, line: Line, provider: str) -> list[Cover]:
        return line.view[line.covered.get(provider, 0) :]

    def child(self, parent: Line, id: str, relationship: str, provider: str | None) -> Line:
        if id in self.book.lines:
            raise Refused("thread_exists")
        made = Line(id, parent.id, relationship, parent.root, provider)
        self.book.lines[id] = made
        return made

    def once(self, receipt: str | None, command: str, first: str, work: Any) -> Any:
        if receipt is not None and receipt in self.book.receipts:
            name, argument, answer = self.book.receipts[receipt]
            if (name, argument) != (command, first):
                raise Refused("receipt_conflict")
            return answer
        answer = yield from work
        if receipt is not None:
            self.book.receipts[receipt] = (command, first, answer)
        return answer

    def _locked(self, work: Any) -> Any:
        """A command that is one transaction."""
        with self.book.lock:
            self.book.transactions += 1
            return work()
        yield
