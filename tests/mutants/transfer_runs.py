"""Threads and runs of the compact ``transfer`` backend, and what can be looked up."""

from __future__ import annotations

from dataclasses import replace

from lineage_conformance.kinds.transfer.records import (
    Cover,
    Run,
    StartContext,
    ThreadLineage,
)
from tests.mutants.transfer_book import OPEN, Desk, Line, Refused


class Runs(Desk):
    """What begins and ends runs, and answers questions."""

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
