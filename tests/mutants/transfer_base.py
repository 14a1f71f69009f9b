"""A compact backend of kind ``transfer`` in plain dictionaries, for mutants to get one thing wrong in.

It is strict, and knows nothing of the reference. A `Book` is its store: backends over one see the same data.
"""

from __future__ import annotations

import hashlib
import itertools
import threading
import time
from dataclasses import dataclass, field, replace
from typing import Any

from lineage_conformance.contracts import transfer as contract
from lineage_conformance.contracts.transfer import (
    ContextHandoff,
    ContextTransfer,
    Cover,
    Run,
    SourcePoint,
    StartContext,
    StatusMove,
    ThreadLineage,
)
from lineage_reference.steps import arun, call, run

OPEN = ("pending", "failed", "resolved_native", "resolved_portable")


class Refused(Exception):
    """A refusal with its code."""

    def __init__(self, code: str, text: str = "") -> None:
        super().__init__(text or contract.CODES[code])
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


class Ledger:
    """The strict backend. Every operation is a generator `_name`, performed by `name` and awaited by `aname`."""

    def __init__(self, saver: Any, book: Book | None = None) -> None:
        self.saver, self.book = saver, book or Book()
        self.providers: dict[str, Any] = {}

    def use(self, provider: Any) -> None:
        self.providers[provider.name] = provider

    # -- small things ------------------------------------------------------------------------------

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
        assert status in contract.MOVES[old.status], (old.status, status)
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

    # -- threads and runs --------------------------------------------------------------------------

    def _open_thread(self, thread_id, provider=None, checkpoint_id=None):
        if thread_id in self.book.lines:
            raise Refused("thread_exists")
        line = self.book.lines[thread_id] = Line(thread_id, root=thread_id, provider=provider)
        if checkpoint_id is not None:
            line.view.append(Cover(thread_id, None, thread_id, checkpoint_id, None))
        return (yield from self._lineage(thread_id))

    def _begin_run(self, thread_id, provider, context=None):
        self.adapter(provider)
        line = self.line(thread_id)
        if line.active is not None:
            raise Refused("busy")
        self.fits(line, provider, context)
        made = Run(self.id("run"), thread_id, provider, "active")
        self.book.runs[made.id] = made
        self.book.contexts[made.id] = tuple(context.transfers) if context else ()
        line.active, line.provider = made.id, provider
        return made
        yield

    def fits(self, line: Line, provider: str, context: StartContext | None) -> None:
        named = [self.book.transfers[id] for id in context.transfers] if context else []
        if context is not None and context.kind == "failure":
            raise Refused("context_pending")
        if any(t.status not in ("resolved_native", "resolved_portable") for t in named):
            raise Refused("stale_context")
        told = [c for t in named if t.type == "provider_handoff" for c in self.book.slices[t.id]]
        starts = any(t.type in ("fork", "subagent_spawn") for t in named)
        if not starts and told != self.lacking(line, provider):
            raise Refused("stale_context" if named else "context_pending")
        if context is None:
            start = self.book.transfers[line.start] if line.start else None
            merges = self.open(line.id, "merge_back", "subagent_result")
            if merges or (start and start.status in OPEN):
                raise Refused("context_pending")

    def _record_checkpoint(self, run_id, checkpoint_thread, checkpoint_id):
        self.book.passed[checkpoint_id] = run_id
        return None
        yield

    def ended(self, run_id: str) -> Run:
        if run_id not in self.book.runs:
            raise Refused("unknown_run")
        if self.book.runs[run_id].status != "active":
            raise Refused("run_ended")
        return self.book.runs[run_id]

    def _finish_run(self, run_id, result):
        made = self.ended(run_id)
        line = self.line(made.thread_id)
        if line.active == run_id:
            line.active = None
        made = replace(
            made, status=result.status, native_thread=result.session, native_turn=result.turn,
            checkpoint_thread=result.checkpoint_thread, checkpoint_id=result.checkpoint_id,
            items=tuple(result.items),
        )  # fmt: skip
        self.book.runs[run_id] = made
        line.runs.append(run_id)
        for id in self.book.contexts[run_id]:
            self.consume(line, id, run_id)
        line.sessions[made.provider] = result.session
        if self.stable(run_id):
            place = (result.checkpoint_thread, result.checkpoint_id)
            line.view.append(Cover(line.id, run_id, *place, made.items))
        line.covered[made.provider] = self.covers(line)
        return made
        yield

    def covers(self, line: Line) -> int:
        return len(line.view)

    def consume(self, line: Line, id: str, run_id: str) -> None:
        made = self.move(id, "consumed", consumed_by=run_id)
        source = self.line(made.source_thread)
        if made.type in ("merge_back", "subagent_result"):
            line.view.extend(self.book.slices[id])
        if made.type == "merge_back":
            source.merged = self.book.ends[id]
        if made.type == "subagent_result" and made.source_point:
            source.returned = made.source_point.run_id

    def _abandon_run(self, run_id, error=""):
        made = self.book.runs[run_id] = replace(self.ended(run_id), status="abandoned")
        self.line(made.thread_id).active = None
        return made
        yield

    # -- commands ----------------------------------------------------------------------------------

    def length(self, line: Line, point: str) -> int:
        """How much of its view a thread has at a point."""
        for id in line.runs:
            made = self.book.runs[id]
            if point in (id, made.checkpoint_id):
                if not self.stable(id):
                    raise Refused("unstable_point")
                return self.position(line, id) + 1
        if line.active is not None and line.active in (point, self.book.passed.get(point)):
            raise Refused("running_point")
        if point == contract.LATEST_STABLE:
            latest = self.latest(line)
            if latest is not None:
                return self.position(line, latest) + 1
            if line.relationship == "fork" and line.start:
                return len(self.book.slices[line.start])
            if line.view and line.view[0].run_id is None:
                return 1
            raise Refused("no_stable_point")
        if line.view and line.view[0].run_id is None and line.view[0].checkpoint_id == point:
            return 1
        raise Refused("unknown_point")

    def _fork(self, source, thread_id, point="latest_stable", *, receipt=None, created_by="user"):
        def work():
            line = self.line(source)
            view = line.view[: self.length(line, point)]
            at = self.point(view[-1])
            provider = self.book.runs[at.run_id].provider if at.run_id else line.provider
            made = self.child(line, thread_id, "fork", provider)
            made.view, made.merged = list(view), len(view)
            record = self.record(
                "fork", source, thread_id, source_point=at, source_provider=provider,
                slice=view, created_by=created_by,
            )  # fmt: skip
            made.start = record.id
            return record

        return (yield from self.once(receipt, "fork", source, self._locked(work)))

    def _switch_provider(self, thread_id, provider, *, receipt=None, created_by="user"):
        def work():
            self.adapter(provider)
            line = self.line(thread_id)
            old = self.replaceable(self.open(thread_id, "provider_handoff"))
            before, line.provider = line.provider, provider
            start = self.book.transfers[line.start] if line.start else None
            made = None
            if self.lacking(line, provider) and not (start and start.status in OPEN):
                made = self.handing(line, provider, before, created_by)
            self.supersede(old, made)
            return made

        return (yield from self.once(receipt, "switch", thread_id, self._locked(work)))

    def handing(self, line: Line, provider: str, before: str | None, creator: str) -> Any:
        covered, lacking = line.covered.get(provider, 0), self.lacking(line, provider)
        return self.record(
            "provider_handoff", line.id, line.id, source_point=self.point(lacking[-1]),
            base_point=self.point(line.view[covered - 1]) if covered else None,
            source_provider=before, target_provider=provider, slice=lacking, created_by=creator,
        )  # fmt: skip

    def _merge_back(self, thread_id, *, receipt=None, created_by="user"):
        def work():
            line = self.line(thread_id)
            if line.relationship != "fork":
                raise Refused("not_a_fork")
            latest = self.latest(line)
            end = self.position(line, latest) + 1 if latest else 0
            if end <= line.merged:
                raise Refused("nothing_to_transfer")
            open = self.open(line.parent, "merge_back")
            old = self.replaceable([t for t in open if t.source_thread == thread_id])
            made = self.record(
                "merge_back", thread_id, line.parent, source_point=self.point(line.view[end - 1]),
                base_point=self.point(line.view[line.merged - 1]), source_provider=line.provider,
                target_provider=self.line(line.parent).provider,
                slice=line.view[line.merged : end], end=end, created_by=created_by,
            )  # fmt: skip
            self.supersede(old, made)
            return made

        return (yield from self.once(receipt, "merge", thread_id, self._locked(work)))

    def _spawn_subagent(
        self, parent, thread_id, provider, task, *, receipt=None, created_by="agent"
    ):
        def work():
            self.adapter(provider)
            return self.spawn(self.line(parent), thread_id, provider, task, created_by)

        return (yield from self.once(receipt, "spawn", parent, self._locked(work)))

    def spawn(self, parent: Line, id: str, provider: str, task: str, creator: str) -> Any:
        try:
            at = self.point(parent.view[self.length(parent, contract.LATEST_STABLE) - 1])
        except Refused:
            at = None
        made = self.child(parent, id, "subagent", provider)
        record = self.record(
            "subagent_spawn", parent.id, id, source_point=at, source_provider=parent.provider,
            target_provider=provider, created_by=creator,
        )  # fmt: skip
        self.book.tasks[record.id], made.start = task, record.id
        return record

    def _return_result(self, thread_id, *, receipt=None, created_by="agent"):
        def work():
            return self.result(self.line(thread_id), created_by)

        return (yield from self.once(receipt, "result", thread_id, self._locked(work)))

    def result(self, line: Line, creator: str) -> Any:
        if line.relationship != "subagent":
            raise Refused("not_a_subagent")
        latest = self.latest(line)
        if latest is None:
            raise Refused("no_stable_point")
        if latest == line.returned:
            raise Refused("nothing_to_transfer")
        open = self.open(line.parent, "subagent_result")
        old = self.replaceable([t for t in open if t.source_thread == line.id])
        cover = line.view[self.position(line, latest)]
        made = self.record(
            "subagent_result", line.id, line.parent, source_point=self.point(cover),
            source_provider=line.provider, target_provider=self.line(line.parent).provider,
            slice=[replace(cover, items=cover.items[-1:])], created_by=creator,
        )  # fmt: skip
        self.supersede(old, made)
        return made

    def _observe_native_children(self, thread_id, provider=None):
        line = self.line(thread_id)
        name = provider or line.provider
        if name not in line.sessions:
            return []
        found = yield from call(self.adapter(name), "children", line.sessions[name])
        made = []
        for child in found:
            key = (name, child.session)
            if key not in self.book.children:
                self.book.children[key] = self.id("child")
                made.append(
                    self.seen(self.spawn(line, self.book.children[key], name, "", "system"))
                )
            inner = self.line(self.book.children[key])
            inner.sessions[name] = child.session
            if child.result is not None and not inner.runs:
                begun = Run(self.id("run"), inner.id, name, "active")
                self.book.runs[begun.id], self.book.contexts[begun.id] = begun, ()
                yield from self._finish_run(begun.id, child.result)
                if self.stable(begun.id):
                    made.append(self.seen(self.result(inner, "system")))
                    inner.returned = begun.id
        return made

    def seen(self, record: Any) -> Any:
        self.move(record.id, "resolved_native", resolution="native_fork")
        return self.move(record.id, "consumed")

    # -- resolving ---------------------------------------------------------------------------------

    def _resolve_start_context(self, thread_id, provider, message):
        adapter, line = self.adapter(provider), self.line(thread_id)
        if line.active and self.book.contexts[line.active]:
            raise Refused("busy")
        self.claim(thread_id)
        try:
            return (yield from self.resolving(line, adapter))
        finally:
            self.book.claims.discard(thread_id)

    def claim(self, thread_id: str) -> None:
        with self.book.lock:
            if thread_id in self.book.claims:
                raise Refused("busy")
            self.book.claims.add(thread_id)

    def resolving(self, line: Line, adapter: Any) -> Any:
        named: list[ContextTransfer] = []
        try:
            start = self.book.transfers[line.start] if line.start else None
            if start is not None and start.status in OPEN:
                named.append((yield from self.starting(line, start, adapter)))
            elif self.lacking(line, adapter.name):
                named.append((yield from self.materialised(self.lacked(line, adapter.name))))
            for each in self.waiting(line):
                named.append((yield from self.materialised(each)))
        except Refused as failure:
            return StartContext("failure", failure=failure.code, message=str(failure))
        handoffs = [self.book.handoffs[t.handoff_id] for t in named if t.handoff_id]
        session = line.sessions.get(adapter.name)
        kind = "nothing"
        if named:
            kind = "delta" if named[0].resolution == "delta_context" else "portable"
        if named and named[0].resolution == "native_fork":
            kind, session = "native", named[0].native_thread
        return StartContext(kind, session, handoffs, [t.id for t in named])

    def waiting(self, line: Line) -> list[ContextTransfer]:
        return self.open(line.id, "merge_back", "subagent_result")

    def lacked(self, line: Line, provider: str) -> ContextTransfer:
        found = self.open(line.id, "provider_handoff")
        mine = next((t for t in found if t.target_provider == provider), None)
        if mine is None or self.book.slices[mine.id] != self.lacking(line, provider):
            mine = self.handing(line, provider, line.provider, "system")
            self.supersede(found, mine)
        return mine

    def starting(self, line: Line, start: ContextTransfer, adapter: Any) -> Any:
        resolved = start.status.startswith("resolved")
        if start.type == "fork" and resolved and start.target_provider != adapter.name:
            made = self.record(
                "fork", start.source_thread, line.id, source_point=start.source_point,
                source_provider=start.source_provider, slice=self.book.slices[start.id],
                created_by=start.created_by,
            )  # fmt: skip
            self.supersede([start], made)
            line.start, start, resolved = made.id, made, False
        if resolved:
            return start
        start = self.retried(start)
        start = replace(start, target_provider=adapter.name)
        self.book.transfers[start.id] = start
        if start.type == "fork":
            session = yield from self.native(start, adapter)
            if session is not None:
                return self.move(
                    start.id, "resolved_native", resolution="native_fork", native_thread=session
                )
        return (yield from self.materialised(self.book.transfers[start.id]))

    def retried(self, transfer: ContextTransfer) -> ContextTransfer:
        if transfer.status == "failed":
            return self.move(transfer.id, "pending", reason=None)
        return transfer

    def native(self, start: ContextTransfer, adapter: Any) -> Any:
        """Fork natively, if that can be done: the new session."""
        at, able = start.source_point, adapter.capabilities
        if not self.strong(start, adapter):
            return None
        try:
            if able.native_fork == "at_turn" and at.native_turn is not None:
                return (yield from call(adapter, "fork", at.native_thread, at.native_turn))
            source = self.line(at.thread_id)
            if source.active and self.book.runs[source.active].provider == adapter.name:
                return None
            later = self.later(source, at.run_id, adapter.name)
            if later and not able.rollback:
                return self.unsupported(start)
            if later and (yield from call(adapter, "probe", at.native_thread)) == "paginated":
                return self.unsupported(start)
            session = yield from call(adapter, "fork", at.native_thread, None)
            if later:
                yield from call(adapter, "rollback", session, later)
            return session
        except Exception as error:
            self.move(start.id, "failed", reason="provider_error")
            raise Refused("provider_error", str(error)) from error

    def strong(self, start: ContextTransfer, adapter: Any) -> bool:
        at = start.source_point
        return (
            at.run_id is not None
            and self.book.runs[at.run_id].provider == adapter.name
            and at.native_thread is not None
            and adapter.capabilities.native_fork != "none"
        )

    def unsupported(self, start: ContextTransfer) -> None:
        self.book.transfers[start.id] = replace(start, reason="rollback_unsupported")

    def later(self, source: Line, run_id: str, provider: str) -> int:
        after = source.runs[source.runs.index(run_id) + 1 :]
        return sum(self.book.runs[id].provider == provider for id in after)

    def materialised(self, transfer: ContextTransfer) -> Any:
        if transfer.status.startswith("resolved"):
            return transfer
        transfer = self.retried(transfer)
        slice = self.book.slices[transfer.id]
        try:
            items = yield from self.read(slice)
        except LookupError as error:
            self.move(transfer.id, "failed", reason="source_gone")
            raise Refused("source_gone", str(error)) from error
        handoff = self.hand(transfer, slice, items)
        self.book.handoffs[handoff.id] = handoff
        return self.move(
            transfer.id, "resolved_portable", resolution=handoff.kind, handoff_id=handoff.id
        )

    def hand(self, transfer: ContextTransfer, slice: list[Cover], items: list[Any]) -> Any:
        kind = "delta_context" if transfer.base_point else "portable_context"
        if not transfer.base_point and len(slice) == 1 and slice[0].run_id is None:
            kind = "checkpoint_context"
        text = self.text(items) or self.book.tasks.get(transfer.id, "")
        digest = hashlib.sha256(text.encode()).hexdigest()
        id = self.id("handoff")
        return ContextHandoff(
            id, transfer.id, kind, tuple(slice), tuple(items), text, digest, time.time()
        )

    def text(self, items: list[Any]) -> str:
        return "\n".join(f"{m.type}: {m.content}" for m in items)

    def read(self, slice: list[Cover]) -> Any:
        items: list[Any] = []
        for cover in slice:
            items += yield from self.cover(cover)
        return items

    def cover(self, cover: Cover) -> Any:
        config = {
            "configurable": {
                "thread_id": cover.checkpoint_thread,
                "checkpoint_ns": "",
                "checkpoint_id": cover.checkpoint_id,
            }
        }
        found = yield from call(self.saver, "get_tuple", config)
        if found is None:
            raise LookupError(cover.checkpoint_id)
        messages = found.checkpoint["channel_values"]["messages"]
        if cover.items is None:
            return list(messages)
        known = {message.id: message for message in messages}
        return [known[id] for id in cover.items]

    def _dispatch(self, thread_id, message, provider=None, *, receipt=None):
        def work():
            line = self.line(thread_id)
            if line.active is not None:
                raise Refused("busy")
            name = provider or line.provider
            adapter = self.adapter(name)
            context = yield from self._resolve_start_context(thread_id, name, message)
            if context.kind == "failure":
                raise Refused(context.failure, context.message)
            begun = yield from self._begin_run(thread_id, name, context)
            try:
                result = yield from self.handed(adapter, context, message)
            except Exception as error:
                yield from self._abandon_run(begun.id, str(error))
                raise Refused("provider_error", str(error)) from error
            return (yield from self._finish_run(begun.id, result))

        return (yield from self.once(receipt, "dispatch", thread_id, work()))

    def handed(self, adapter: Any, context: StartContext, message: str) -> Any:
        if context.session is None:
            return (yield from call(adapter, "start", context.handoffs, message))
        return (yield from call(adapter, "send", context.session, context.handoffs, message))

    # -- looking -----------------------------------------------------------------------------------

    def _transfer(self, transfer_id):
        if transfer_id not in self.book.transfers:
            raise Refused("unknown_transfer")
        return self.book.transfers[transfer_id]
        yield

    def _transfers(self, thread_id):
        self.line(thread_id)
        found = self.book.transfers.values()
        return [t for t in found if thread_id in (t.source_thread, t.target_thread)]
        yield

    def _history(self, transfer_id):
        yield from self._transfer(transfer_id)
        return list(self.book.moves[transfer_id])

    def _handoff(self, handoff_id):
        if handoff_id not in self.book.handoffs:
            raise Refused("unknown_transfer")
        return self.book.handoffs[handoff_id]
        yield

    def _rebuild(self, handoff_id):
        kept = yield from self._handoff(handoff_id)
        items = yield from self.read(list(kept.covers))
        text = self.text(items) or self.book.tasks.get(kept.transfer_id, "")
        digest = hashlib.sha256(text.encode()).hexdigest()
        return replace(kept, items=tuple(items), text=text, digest=digest)

    def _lineage(self, thread_id):
        line = self.line(thread_id)
        return ThreadLineage(line.id, line.parent, line.relationship, line.root, line.provider)
        yield

    def _children(self, thread_id):
        made = []
        for line in self.book.lines.values():
            if line.parent == thread_id:
                made.append((yield from self._lineage(line.id)))
        return made

    def _run(self, run_id):
        if run_id not in self.book.runs:
            raise Refused("unknown_run")
        return self.book.runs[run_id]
        yield

    def _counters(self):
        return {"transactions": self.book.transactions, "rows": self.book.rows}
        yield


OPERATIONS = (
    "open_thread", "begin_run", "record_checkpoint", "finish_run", "abandon_run", "fork",
    "switch_provider", "merge_back", "spawn_subagent", "return_result", "observe_native_children",
    "resolve_start_context", "dispatch", "transfer", "transfers", "history", "handoff", "rebuild",
    "lineage", "children", "run", "counters",
)  # fmt: skip


def _bind(name: str) -> None:
    def perform(self, *args, **options):
        return run(getattr(self, "_" + name)(*args, **options))

    async def await_(self, *args, **options):
        return await arun(getattr(self, "_" + name)(*args, **options))

    setattr(Ledger, name, perform)
    setattr(Ledger, "a" + name, await_)


for _name in OPERATIONS:
    _bind(_name)
