"""Plays a history on a backend, next to the model, and stops at the first step that differs.

The first difference names its kind: which law it breaks is told by that alone, so that one fault is not
reported by everything that follows from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any

from lineage_conformance.bench import Bench
from lineage_conformance.kinds.transfer.case import NAMES, History, Step
from lineage_conformance.kinds.transfer.runs import Runs
from lineage_conformance.kinds.transfer.view import Piece, Refusal, Thread, Transfer
from lineage_conformance.raised import Raised, unlike
from lineage_conformance.trace import Diff

Check = Callable[["Play", History], Iterator[Diff]]


def played(check: Check) -> Callable[[Bench, History], Iterator[Diff]]:
    """Make a law's check of a function on a play: what the backend raises unasked is a difference."""

    @wraps(check)
    def run(bench: Bench, case: History) -> Iterator[Diff]:
        try:
            play = Play(bench)
        except Raised as raised:
            bench.cut = f"use raised {raised}"
            yield Diff(0, "use", raised.path, raised.expected, str(raised))
            return
        try:
            yield from check(play, case)
        except Raised as raised:
            yield play.raised(raised)
        except AttributeError as error:
            yield play.raised(unlike(error))

    return run


class Play(Runs):
    """A history being played."""

    # -- steps -------------------------------------------------------------------------------------

    def play(self, case: History) -> Iterator[Diff]:
        """Play all steps up to the first that differs; then look at the whole."""
        for number, step in enumerate(case.steps, 1):
            if not self.threads and step.do != "open":
                continue
            found = list(self.step(step))
            self.trying, self.repeating = "", ()
            yield from found
            if any(diff.kind != "code" for diff in found):
                return  # a refusal by another name changes nothing: the history goes on
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
        wanted, shown = transfer and transfer.type, record and record.type
        found = list(self.compare("lazy", (method,), [], self.called(calls)))
        found = found or list(self.compare("graph", (method,), wanted, shown))
        if transfer is None or found:
            touched = [self.model.threads[args[0]]]
        else:
            transfer.id = record.id
            found = list(self.compare("status", ("pending",), "pending", record.status))
            touched = [transfer.source, transfer.target]
        yield from found
        if found:
            return
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
        ids = [str(getattr(made, "id", None)) for made in (before, after)]
        yield from self.compare("receipt", (method, "answer"), *ids)
        acted = list(self.compare("receipt", (method, "calls"), [], self.called(calls)))
        yield from acted
        if acted:
            return
        self.repeating = ("receipt", method)
        for each in threads:
            yield from self.records(each)
            yield from self.forest(each)

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
                    self.observed("observed", "child")
                    if not made:
                        yield self.diff("observed", ("child",), child.session, None)
                        return
                    spawn = made.pop(0)
                    known = self.model.observe(thread, spawn.target_thread, provider, child.session)
                    self.threads.append(known)
                if child.result is not None and not known.runs:
                    stable = child.status == "completed" and child.result.checkpoint_id is not None
                    if stable:
                        self.observed("observed", "result")
                    if stable and not made:
                        yield self.diff("observed", ("result",), child.session, None)
                        return
                    result = made.pop(0) if stable else None
                    point = result.source_point if result else None
                    run = point.run_id if point else ""
                    self.model.observe_end(known, provider, child.result, run)
            found: list[Diff] = []
            if self.fakes[provider].born.get(session) or made:
                types = [transfer.type for transfer in made]
                found += self.compare("observed", ("again",), [], types)
            if not found:
                found += [*self.records(thread), *self.forest(thread)]
            yield from found
            if found:
                return

    def known(self, parent: Thread, provider: str, session: str) -> Thread | None:
        """The child thread of a native session."""
        children = (t for t in self.model.threads.values() if t.parent is parent)
        return next((t for t in children if t.sessions.get(provider) == session), None)
