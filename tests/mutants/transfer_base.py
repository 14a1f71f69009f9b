"""A compact backend of kind ``transfer`` in plain dictionaries, for mutants to get one thing wrong in.

It is strict, and knows nothing of the reference but how steps are performed. Here it resolves and dispatches;
below it are its commands, its runs and its book.
"""

from __future__ import annotations

import hashlib
import time
from dataclasses import replace
from typing import Any

from lineage_conformance.kinds.transfer.records import (
    ContextHandoff,
    ContextTransfer,
    Cover,
    StartContext,
)
from lineage_reference.steps import arun, call, run
from tests.mutants.transfer_book import OPEN, Line, Refused
from tests.mutants.transfer_commands import Commands


class Ledger(Commands):
    """The strict backend. Every operation is a generator `_name`, performed by `name` and awaited by `aname`."""

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

    def _rebuild(self, handoff_id):
        kept = yield from self._handoff(handoff_id)
        items = yield from self.read(list(kept.covers))
        text = self.text(items) or self.book.tasks.get(kept.transfer_id, "")
        digest = hashlib.sha256(text.encode()).hexdigest()
        return replace(kept, items=tuple(items), text=text, digest=digest)


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
