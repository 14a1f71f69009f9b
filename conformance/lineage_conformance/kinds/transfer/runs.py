"""The runs of a history: dispatches, runs in steps, and resolving on its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lineage_conformance.bench import Bench
from lineage_conformance.kinds.transfer.case import Step
from lineage_conformance.kinds.transfer.recorded import Records
from lineage_conformance.kinds.transfer.view import Plan, Thread
from lineage_conformance.raised import Raised
from lineage_conformance.trace import Diff


class Runs(Records):
    """Plays the runs."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self.begun: dict[str, Any] = {}
        """By run: the context that a run in steps was begun with."""

    def do_run(self, step: Step, thread: Thread) -> Iterator[Diff]:
        """A dispatch, with everything it brings about."""
        if self.runs_by_itself(thread):
            return
        provider = self.provider(step, thread)
        named = provider if step.p or thread.provider is None else None
        message = f"message {self.world.number()}"
        if thread.active is not None:
            yield from self.refused("busy", "dispatch", thread.id, message, named)
            return
        fake = self.fakes[provider]
        plan = self.plan(thread, provider)
        starts = "start" if plan.session is None and not plan.forked else "send"
        breaks = plan.failure is None and starts in fake.failing
        fake.outcome, self.world.losing = step.how or "ok", bool(step.n)
        calls, handed = len(self.world.calls), len(self.world.handed)
        try:
            if plan.failure or breaks:
                code = plan.failure or "provider_error"
                yield from self.fails(code, thread, message, named)
            else:
                run = self.command("dispatch", thread.id, message, named)
        finally:
            self.world.losing = False
        self.forks(plan)
        if breaks:
            thread.provider = provider
        wanted = [*plan.calls, *([] if plan.failure else [(starts, plan.session, None)])]
        found = list(self.calls(provider, wanted, self.world.calls[calls:]))
        if len(self.world.handed) > handed:
            found += self.injected(plan, self.world.handed[-1][1])
        yield from found
        if found:
            return
        if not (plan.failure or breaks):
            yield from self.ran(thread, provider, plan, run)
        yield from self.records(thread)

    def runs_by_itself(self, thread: Thread) -> bool:
        """Whether it is a native child whose own turn was not observed: what else happens there is not defined."""
        children = (c for fake in self.fakes.values() for born in fake.born.values() for c in born)
        return not thread.runs and any(c.session in thread.sessions.values() for c in children)

    def plan(self, thread: Thread, provider: str) -> Plan:
        """What the model says of resolving now; remembers whether that is a second try."""
        before = [t for t in self.model.touching(thread) if t.target is thread and t.open]
        if any(t.status != "pending" for t in before):
            self.trying = "retry"
        return self.model.resolve(thread, provider, self.fakes[provider].failing)

    def forks(self, plan: Plan) -> None:
        """Learn the name of the session that a fork made."""
        if plan.forked and self.world.forked:
            plan.session = plan.transfers[0].session = self.world.forked[-1]

    def fails(
        self, code: str, thread: Thread, message: str, provider: str | None
    ) -> Iterator[Diff]:
        """A dispatch that must fail, before or at the start of the provider's work."""
        try:
            self.call("dispatch", thread.id, message, provider, receipt=self.receipt())
        except Raised as raised:
            found = getattr(raised.error, "code", None)
            got = code if found == code else f"{found}: {raised}"[:200]
        else:
            got = "no exception"
        yield from self.compare("failure", (code,), code, got)

    # -- runs in steps -----------------------------------------------------------------------------

    def do_begin(self, step: Step, thread: Thread) -> Iterator[Diff]:
        """A run in steps: resolve and begin."""
        if self.runs_by_itself(thread):
            return
        provider = self.provider(step, thread)
        if thread.active is not None:
            yield from self.refused("busy", "begin_run", thread.id, provider)
            return
        if self.model.needs(thread, provider):
            early = list(self.refused("context_pending", "begin_run", thread.id, provider))
            yield from early
            if any(diff.kind != "code" for diff in early):
                return
        found, plan, context = self.resolve(thread, provider)
        yield from found
        if found or plan.failure:
            return
        run = self.call("begin_run", thread.id, provider, context)
        self.begun[run.id] = context
        made = self.model.begin(thread, provider, plan.transfers, run.id)
        checkpoint, put = self.world.put(f"{self.bench.nonce}-part-{self.world.number()}", [])
        self.put(put)
        self.call("record_checkpoint", run.id, put[0]["configurable"]["thread_id"], checkpoint)
        made.passed.append(checkpoint)
        yield from self.records(thread)

    def resolve(self, thread: Thread, provider: str) -> tuple[list[Diff], Plan, Any]:
        """Resolve without a dispatch: what differs, what was planned, and the context."""
        calls = len(self.world.calls)
        plan = self.plan(thread, provider)
        context = self.call("resolve_start_context", thread.id, provider, "what next")
        self.forks(plan)
        return list(self.resolving(thread, provider, plan, context, calls)), plan, context

    def resolving(
        self, thread: Thread, provider: str, plan: Plan, context: Any, calls: int
    ) -> Iterator[Diff]:
        """Whether a context is what it must be, and what it took to make it."""
        found = list(self.calls(provider, plan.calls, self.world.calls[calls:]))
        if not found:
            found += self.compare("choice", ("context",), plan.kind, context.kind)
        if not found:
            found += self.compare("failure", ("context",), plan.failure, context.failure)
        if not found and not plan.failure:
            found += self.compare("calls", ("session",), plan.session, context.session)
            found += self.injected(plan, list(context.handoffs))
        found = found or list(self.records(thread))
        yield from found
        ids = [t.id for t in plan.transfers]
        if not found and not plan.failure:
            yield from self.compare("consumed", ("named",), ids, list(context.transfers))

    def do_resolve(self, step: Step, thread: Thread) -> Iterator[Diff]:
        """Resolve, and once more: nothing is done twice."""
        if thread.active is not None and thread.active.context:
            return
        provider = self.provider(step, thread)
        found, plan, _ = self.resolve(thread, provider)
        yield from found
        if not found and not plan.failure:
            yield from self.resolve(thread, provider)[0]

    def do_end(self, step: Step, thread: Thread) -> Iterator[Diff]:
        """A run in steps: the provider's turn, and the end."""
        run = thread.active
        if run is None:
            return
        fake = self.fakes[run.provider]
        context = self.begun.pop(run.id)
        fake.outcome, fake.failing = step.how or "ok", []
        session = context.session
        method, args = ("start", ()) if session is None else ("send", (session,))
        result = self.act(fake, method, *args, context.handoffs, "driven by hand")
        self.call("finish_run", run.id, result)
        self.model.finish(run, result)
        yield from self.knows(thread, run.provider)
        yield from self.records(thread)

    def act(self, fake: Any, method: str, *args: Any) -> Any:
        """Let a fake work, driven by us."""
        if self.half == "sync":
            return getattr(fake, method)(*args)
        return self.bench.loop.run(getattr(fake, "a" + method)(*args))

    def do_drop(self, step: Step, thread: Thread) -> Iterator[Diff]:
        """A run in steps that never began: its transfers are as they were."""
        if thread.active is None:
            return
        self.begun.pop(thread.active.id)
        self.call("abandon_run", thread.active.id, "the provider was away")
        self.model.drop(thread)
        yield from self.records(thread)
