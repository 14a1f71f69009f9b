"""Plays a history on a backend, next to the model, and stops at the first step that differs.

The first difference names its kind: which law it breaks is told by that alone, so that one fault is not
reported by everything that follows from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

from lineage_conformance.bench import Bench
from lineage_conformance.laws.transfer_case import NAMES, History, Step
from lineage_conformance.laws.transfer_play import Stage
from lineage_conformance.raised import Raised
from lineage_conformance.session import Diff
from lineage_conformance.transfer_model import Piece, Plan, Refusal, Thread, Transfer

Check = Callable[["Play", History], Iterator[Diff]]


def played(check: Check) -> Callable[[Bench, History], Iterator[Diff]]:
    """Make a law's check of a function on a play: what the backend raises unasked is a difference."""

    @wraps(check)
    def run(bench: Bench, case: History) -> Iterator[Diff]:
        play = Play(bench)
        try:
            yield from check(play, case)
        except Raised as raised:
            yield play.raised(raised)
        except AttributeError as error:
            if type(error.obj).__module__.startswith("lineage_conformance.laws"):
                raise  # ours
            yield play.diff(play.doing, ("record-raises",), "a record of the contract", str(error))

    return run


class Play(Stage):
    """A history being played."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench)
        self.begun: dict[str, Any] = {}
        """By run: the context that a run in steps was begun with."""

    # -- steps -------------------------------------------------------------------------------------

    def play(self, case: History) -> Iterator[Diff]:
        """Play all steps up to the first that differs; then look at the whole."""
        for number, step in enumerate(case.steps, 1):
            if not self.threads and step.do != "open":
                continue
            found = list(self.step(step))
            self.trying = ""
            yield from found
            if found:
                return
            if number == case.reopen:
                self.reopen()
        for thread in list(self.model.threads.values()):
            found = [*self.records(thread, moves=True), *self.forest(thread)]
            yield from found
            if found:
                return
        yield from self.kept()

    def step(self, step: Step) -> Iterator[Diff]:
        """Play one step."""
        if step.do == "open":
            return self.open(step)
        thread = self.thread(step)
        act: Callable[[Step, Thread], Iterator[Diff]] = getattr(self, "do_" + step.do)
        return act(step, thread)

    def open(self, step: Step) -> Iterator[Diff]:
        """A new root, perhaps with a checkpoint that is there already."""
        from langchain_core.messages import AIMessage, HumanMessage

        id, provider = self.name(), NAMES[(step.p - 1) % len(NAMES)] if step.p else None
        piece = None
        if step.n:
            number = self.world.number()
            held = [HumanMessage("long ago", id=f"o{number}"), AIMessage("yes", id=f"p{number}")]
            checkpoint, put = self.world.put(id, held)
            self.put(put)
            piece = Piece(None, (), (id, checkpoint))
            self.adopted[piece.place] = held
        self.call("open_thread", id, provider, piece.place[1] if piece else None)
        thread = self.model.open_thread(id, provider, piece)
        self.threads.append(thread)
        yield from self.forest(thread)

    def do_run(self, step: Step, thread: Thread) -> Iterator[Diff]:
        """A dispatch, with everything it brings about."""
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
            got = getattr(raised.error, "code", None)
            if got != code:
                yield self.diff("failure", (code,), code, f"{got}: {raised}"[:200])
        else:
            yield self.diff("failure", (code,), code, "no exception")

    # -- runs in steps -----------------------------------------------------------------------------

    def do_begin(self, step: Step, thread: Thread) -> Iterator[Diff]:
        """A run in steps: resolve and begin."""
        provider = self.provider(step, thread)
        if thread.active is not None:
            yield from self.refused("busy", "begin_run", thread.id, provider)
            return
        if self.model.needs(thread, provider):
            early = list(self.refused("context_pending", "begin_run", thread.id, provider))
            yield from early
            if early:
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
        if not found and context.kind != plan.kind:
            found.append(self.diff("choice", ("context",), plan.kind, context.kind))
        if not found and context.failure != plan.failure:
            found.append(self.diff("failure", ("context",), plan.failure, context.failure))
        if not found and not plan.failure:
            if context.session != plan.session:
                found.append(self.diff("calls", ("session",), plan.session, context.session))
            found += self.injected(plan, list(context.handoffs))
        found = found or list(self.records(thread))
        yield from found
        ids = [t.id for t in plan.transfers]
        if not found and not plan.failure and list(context.transfers) != ids:
            yield self.diff("consumed", ("named",), ids, list(context.transfers))

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

    # -- commands ----------------------------------------------------------------------------------

    def do_fork(self, step: Step, thread: Thread) -> Iterator[Diff]:
        """A fork, at the latest or at an explicit point."""
        runs = [r for r in (*thread.runs, *([thread.active] if thread.active else [])) if r.id]
        run = runs[(step.n - 1) % len(runs)] if step.n and runs else None
        point = "latest_stable" if run is None else run.id
        if run is not None and step.how == "checkpoint":
            passed = run.passed[-1] if run.passed and run.status == "active" else run.id
            point = run.checkpoint or passed
        id = self.name()
        yield from self.made("fork", lambda: self.model.fork(thread, id, run), thread.id, id, point)

    def made(self, method: str, plan: Callable[[], Transfer | None], *args: Any) -> Iterator[Diff]:
        """A command that makes a transfer, or must be refused."""
        try:
            transfer = plan()
        except Refusal as refusal:
            yield from self.refused(refusal.code, method, *args, receipt=self.receipt())
            return
        calls = len(self.world.calls)
        record = self.command(method, *args)
        if len(self.world.calls) != calls:
            yield self.diff("lazy", (method,), [], self.called(calls))
            return
        if transfer is None:
            if record is not None:
                yield self.diff("graph", (method,), None, record.type)
            touched = [self.model.threads[args[0]]]
        elif record is None:
            yield self.diff("graph", (method,), transfer.type, None)
            return
        else:
            transfer.id = record.id
            if record.status != "pending":
                yield self.diff("status", ("pending",), "pending", record.status)
                return
            touched = [transfer.source, transfer.target]
        for thread in dict.fromkeys(t.id for t in touched):
            if self.model.threads[thread] not in self.threads:
                self.threads.append(self.model.threads[thread])
            found = [*self.records(self.model.threads[thread])]
            found += self.forest(self.model.threads[thread])
            yield from found
            if found:
                return

    def do_switch(self, step: Step, thread: Thread) -> Iterator[Diff]:
        """Another provider."""
        provider = self.provider(step, thread)
        plan = lambda: self.model.switch(thread, provider)  # noqa: E731
        yield from self.made("switch_provider", plan, thread.id, provider)

    def do_merge(self, step: Step, thread: Thread) -> Iterator[Diff]:
        """A fork is merged back."""
        thread = self.among(step, "fork", thread)
        yield from self.made("merge_back", lambda: self.model.merge(thread), thread.id)

    def do_result(self, step: Step, thread: Thread) -> Iterator[Diff]:
        """A subagent returns its result."""
        thread = self.among(step, "subagent", thread)
        yield from self.made("return_result", lambda: self.model.result(thread), thread.id)

    def among(self, step: Step, relationship: str, thread: Thread) -> Thread:
        """The thread that a step names among those of a relationship, if there are any."""
        if step.n:
            return thread
        found = [t for t in self.threads if t.relationship == relationship]
        return found[step.t % len(found)] if found else thread

    def do_spawn(self, step: Step, thread: Thread) -> Iterator[Diff]:
        """A subagent of the application's own."""
        id, provider = self.name(), self.provider(step, thread)
        task = f"task {self.world.number()}"
        plan = lambda: self.model.spawn(thread, id, provider, task)  # noqa: E731
        yield from self.made("spawn_subagent", plan, thread.id, id, provider, task)

    def do_again(self, step: Step, thread: Thread) -> Iterator[Diff]:
        """The last command once more, with its receipt: nothing happens, the answer is the same."""
        if self.last is None:
            return
        method, args, options, before = self.last
        calls, threads = len(self.world.calls), [self.model.threads[args[0]]]
        after = self.call(method, *args, **options)
        if getattr(after, "id", None) != getattr(before, "id", None):
            yield self.diff("receipt", (method, "answer"), str(before)[:200], str(after)[:200])
        if len(self.world.calls) != calls:
            yield self.diff("receipt", (method, "calls"), [], self.called(calls))
            return
        for each in threads:
            for diff in (*self.records(each), *self.forest(each)):
                path = (method, diff.kind, *diff.path)
                yield self.diff("receipt", path, diff.expected, diff.got)

    # -- what happens outside ----------------------------------------------------------------------

    def do_fail(self, step: Step, thread: Thread) -> Iterator[Diff]:
        """The next call of a method of a provider raises."""
        self.fakes[self.provider(step, thread)].failing.append(step.how or "start")
        yield from ()

    def do_heal(self, step: Step, thread: Thread) -> Iterator[Diff]:
        """The checkpoints that were missing are there now."""
        for put in self.world.lost:
            self.put(put)
        self.world.lost.clear()
        self.model.lost.clear()
        yield from ()

    def do_bear(self, step: Step, thread: Thread) -> Iterator[Diff]:
        """A provider starts a subagent of its own in the thread's session."""
        provider = self.provider(step, thread)
        if provider in thread.sessions:
            _, put = self.fakes[provider].bear(thread.sessions[provider], step.how or "running")
            self.put(put)
        yield from ()

    def do_grow(self, step: Step, thread: Thread) -> Iterator[Diff]:
        """Such a subagent ends."""
        provider = self.provider(step, thread)
        fake, session = self.fakes[provider], thread.sessions.get(provider, "")
        for index, child in enumerate(fake.born.get(session, [])):
            if child.status == "running":
                _, put = fake.grow(session, index, step.how or "ok")
                self.put(put)
                break
        yield from ()

    def do_observe(self, step: Step, thread: Thread) -> Iterator[Diff]:
        """The children are observed, and once more."""
        provider = self.provider(step, thread)
        session = thread.sessions.get(provider, "")
        for _ in range(2):
            made = list(self.call("observe_native_children", thread.id, provider))
            for child in self.fakes[provider].born.get(session, []):
                known = self.known(thread, provider, child.session)
                if known is None:
                    if not made:
                        yield self.diff("observed", ("child",), child.session, None)
                        return
                    spawn = made.pop(0)
                    known = self.model.observe(thread, spawn.target_thread, provider, child.session)
                    self.threads.append(known)
                if child.result is not None and not known.runs:
                    stable = child.status == "completed" and child.result.checkpoint_id is not None
                    if stable and not made:
                        yield self.diff("observed", ("result",), child.session, None)
                        return
                    result = made.pop(0) if stable else None
                    point = result.source_point if result else None
                    run = point.run_id if point else ""
                    self.model.observe_end(known, provider, child.result, run)
            if made:
                types = [transfer.type for transfer in made]
                yield self.diff("observed", ("again",), [], types)
                return
            found = [*self.records(thread), *self.forest(thread)]
            yield from found
            if found:
                return

    def known(self, parent: Thread, provider: str, session: str) -> Thread | None:
        """The child thread of a native session."""
        children = (t for t in self.model.threads.values() if t.parent is parent)
        return next((t for t in children if t.sessions.get(provider) == session), None)
