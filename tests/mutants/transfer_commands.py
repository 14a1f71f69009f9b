"""Commands of the compact ``transfer`` backend: fork, switch, merge, spawn, return, observe."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lineage_conformance.kinds.transfer.records import Run
from lineage_conformance.kinds.transfer.terms import LATEST_STABLE
from lineage_reference.steps import call
from tests.mutants.transfer_book import OPEN, Line, Refused
from tests.mutants.transfer_runs import Runs


class Commands(Runs):
    """What makes transfers."""

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
        if point == LATEST_STABLE:
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
            at = self.point(parent.view[self.length(parent, LATEST_STABLE) - 1])
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
