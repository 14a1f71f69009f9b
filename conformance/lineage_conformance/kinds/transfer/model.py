"""What must be transferred: a pure model of threads, views and coverage. It calls nothing and reads nothing.

A thread has a *view*, a list of pieces; each provider's session covers a prefix of it. That is all the
arithmetic there is: what a provider lacks is what stands behind its prefix.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from lineage_conformance.kinds.transfer.adapter import Capabilities
from lineage_conformance.kinds.transfer.view import Piece, Plan, Refusal, Run, Thread, Transfer


class Model:
    """All threads and transfers of one example."""

    def __init__(self, abilities: Mapping[str, tuple[Capabilities, str]]) -> None:
        self.abilities = abilities
        self.threads: dict[str, Thread] = {}
        self.transfers: list[Transfer] = []
        self.lost: set[str] = set()
        """Checkpoints that are not on the saver for now."""

    def touching(self, thread: Thread) -> list[Transfer]:
        """The transfers from or to a thread."""
        return [t for t in self.transfers if thread in (t.source, t.target)]

    def _add(self, transfer: Transfer) -> Transfer:
        self.transfers.append(transfer)
        return transfer

    def _open(self, target: Thread, *types: str) -> Iterator[Transfer]:
        return (t for t in self.transfers if t.target is target and t.open and t.type in types)

    def _replaceable(self, old: Iterable[Transfer]) -> list[Transfer]:
        """Open transfers that may be superseded. Raises `Refusal` if one is in use."""
        found = list(old)
        for each in found:
            if each.target.active is not None and each in each.target.active.context:
                raise Refusal("busy")
        return found

    # -- commands --------------------------------------------------------------------------------

    def open_thread(self, id: str, provider: str | None, adopted: Piece | None = None) -> Thread:
        """A new root."""
        thread = Thread(id, provider=provider, adopted=adopted)
        if adopted is not None:
            thread.view.append(adopted)
        self.threads[id] = thread
        return thread

    def point(self, source: Thread, run: Run | None) -> int:
        """The length of the view that a fork begins with (`run`: an explicit one). Raises `Refusal`."""
        if run is not None:
            if run.status == "active":
                raise Refusal("running_point")
            if not run.stable:
                raise Refusal("unstable_point")
            return source.position(run) + 1
        latest = source.latest()
        if latest is not None:
            return source.position(latest) + 1
        if source.relationship == "fork" and source.start is not None:
            assert source.start.point is not None
            return source.view.index(source.start.point) + 1
        if source.adopted is not None:
            return 1
        raise Refusal("no_stable_point")

    def fork(self, source: Thread, id: str, run: Run | None) -> Transfer:
        """A fork at a run (None: the latest stable point)."""
        length = self.point(source, run)
        point = source.view[length - 1]
        provider = point.run.provider if point.run else source.provider
        view = source.view[:length]
        made = Thread(id, source, "fork", provider, view, merged=length)
        self.threads[id] = made
        made.start = self._add(Transfer("fork", source, made, point, "user", slice=list(view)))
        return made.start

    def switch(self, thread: Thread, provider: str, creator: str = "user") -> Transfer | None:
        """Another provider."""
        old = self._replaceable(self._open(thread, "provider_handoff"))
        lacking = thread.lacks(provider)
        thread.provider = provider
        made = None
        if lacking and not (thread.start is not None and thread.start.open):
            made = self._handoff(thread, provider, creator)
        for each in old:
            each.supersede(made)
        return made

    def _handoff(self, thread: Thread, provider: str, creator: str) -> Transfer:
        covered = thread.covered.get(provider, 0)
        base = thread.view[covered - 1] if covered else None
        lacking = thread.lacks(provider)
        return self._add(
            Transfer(
                "provider_handoff", thread, thread, lacking[-1], creator, provider, base, lacking
            )
        )

    def merge(self, fork: Thread) -> Transfer:
        """A fork's gain, to its parent."""
        if fork.relationship != "fork" or fork.parent is None:
            raise Refusal("not_a_fork")
        latest = fork.latest()
        end = fork.position(latest) + 1 if latest else 0
        if end <= fork.merged:
            raise Refusal("nothing_to_transfer")
        old = self._replaceable(
            t for t in self._open(fork.parent, "merge_back") if t.source is fork
        )
        made = Transfer("merge_back", fork, fork.parent, fork.view[end - 1], "user", end=end)
        made.base, made.slice = fork.view[fork.merged - 1], fork.view[fork.merged : end]
        for each in old:
            each.supersede(made)
        return self._add(made)

    def spawn(self, parent: Thread, id: str, provider: str, task: str) -> Transfer:
        """A subagent."""
        try:
            point = parent.view[self.point(parent, None) - 1]
        except Refusal:
            point = None
        made = Thread(id, parent, "subagent", provider)
        self.threads[id] = made
        made.start = Transfer("subagent_spawn", parent, made, point, "agent", task=task)
        return self._add(made.start)

    def result(self, child: Thread) -> Transfer:
        """A subagent's result."""
        if child.relationship != "subagent" or child.parent is None:
            raise Refusal("not_a_subagent")
        latest = child.latest()
        if latest is None:
            raise Refusal("no_stable_point")
        if latest is child.returned:
            raise Refusal("nothing_to_transfer")
        old = self._replaceable(
            t for t in self._open(child.parent, "subagent_result") if t.source is child
        )
        whole = child.view[child.position(latest)]
        made = Transfer("subagent_result", child, child.parent, whole, "agent")
        made.slice = [Piece(latest, whole.items[-1:], whole.place)]
        for each in old:
            each.supersede(made)
        return self._add(made)

    # -- resolving -------------------------------------------------------------------------------

    def needs(self, thread: Thread, provider: str) -> bool:
        """Whether a provider cannot be given a message yet."""
        if thread.start is not None and thread.start.open:
            return True
        merges = any(self._open(thread, "merge_back", "subagent_result"))
        return merges or bool(thread.lacks(provider))

    def resolve(self, thread: Thread, provider: str, failing: Iterable[str] = ()) -> Plan:
        """What resolving must give now, where these methods of the adapter will fail."""
        plan = Plan(session=thread.sessions.get(provider))
        if thread.start is not None and thread.start.open:
            self._resolve_start(thread, provider, set(failing), plan)
        elif thread.lacks(provider):
            self._resolve_handoff(thread, provider, plan)
        waiting = list(self._open(thread, "merge_back", "subagent_result"))
        for each in waiting:
            if plan.failure:
                each.loose = True
            else:
                self._materialise(each, plan)
        return plan

    def _resolve_start(self, thread: Thread, provider: str, failing: set[str], plan: Plan) -> None:
        start = thread.start
        assert start is not None
        resolved = start.status.startswith("resolved")
        if start.type == "fork" and resolved and start.provider != provider:
            made = Transfer("fork", start.source, thread, start.point, start.creator)
            made.slice = list(start.slice)
            start.supersede(self._add(made))
            thread.start = start = made
            resolved = False
        if resolved:
            plan.transfers.append(start)
            plan.session = start.session
            return
        self._retry(start)
        start.provider, start.reason = provider, None
        if start.type == "fork":
            self._ask(start, provider, failing, plan)
        if plan.failure:
            self._fail(start, plan.failure)
        elif plan.forked:
            start.moves.append("resolved_native")
            start.resolution = "native_fork"
            plan.transfers.append(start)
        else:
            self._materialise(start, plan)

    def _ask(self, start: Transfer, provider: str, failing: set[str], plan: Plan) -> None:
        """Decide between native and portable, and what the adapter is asked for it."""
        able, history = self.abilities[provider]
        run = start.point.run if start.point else None
        if run is None or run.provider != provider or not run.session:
            return
        if able.native_fork == "none":
            return
        rollback = 0
        turn = run.turn if able.native_fork == "at_turn" else None
        if turn is None:
            active = run.thread.active
            if active is not None and active.provider == provider:
                return
            later = run.thread.runs[run.thread.runs.index(run) + 1 :]
            rollback = sum(each.provider == provider for each in later)
            if rollback and not able.rollback:
                start.reason = "rollback_unsupported"
                return
            if rollback:
                plan.calls.append(("probe", run.session, None))
                if "probe" in failing:
                    plan.failure = "provider_error"
                    return
                if history == "paginated":
                    start.reason = "rollback_unsupported"
                    return
        plan.calls.append(("fork", run.session, turn))
        if "fork" in failing:
            plan.failure = "provider_error"
            return
        if rollback:
            plan.calls.append(("rollback", None, rollback))
            if "rollback" in failing:
                plan.failure = "provider_error"
                return
        plan.forked = True

    def _resolve_handoff(self, thread: Thread, provider: str, plan: Plan) -> None:
        found = list(self._open(thread, "provider_handoff"))
        mine = next((t for t in found if t.provider == provider), None)
        if mine is None or mine.slice != thread.lacks(provider):
            made = self._handoff(thread, provider, "system")
            for each in found:
                each.supersede(made)
            mine = made
        self._materialise(mine, plan)

    def _retry(self, transfer: Transfer) -> None:
        if transfer.status == "failed":
            transfer.moves.append("pending")

    def _fail(self, transfer: Transfer, code: str) -> None:
        transfer.moves.append("failed")
        transfer.reason = code

    def _materialise(self, transfer: Transfer, plan: Plan) -> None:
        if transfer.status.startswith("resolved"):
            plan.transfers.append(transfer)
            return
        self._retry(transfer)
        if any(piece.place[1] in self.lost for piece in transfer.slice):
            plan.failure = "source_gone"
            self._fail(transfer, plan.failure)
            return
        if transfer.reason != "rollback_unsupported":
            transfer.reason = None
        transfer.moves.append("resolved_portable")
        only = transfer.slice[0] if len(transfer.slice) == 1 else None
        if transfer.base is not None:
            transfer.resolution = "delta_context"
        elif only is not None and only.run is None:
            transfer.resolution = "checkpoint_context"
        else:
            transfer.resolution = "portable_context"
        plan.transfers.append(transfer)

    # -- runs ------------------------------------------------------------------------------------

    def begin(self, thread: Thread, provider: str, context: list[Transfer], id: str = "") -> Run:
        """A run begins."""
        thread.active = Run(id, thread, provider, list(context))
        thread.provider = provider
        return thread.active

    def drop(self, thread: Thread) -> None:
        """Nothing began."""
        thread.active = None

    def finish(self, run: Run, result: Any, keep: bool = True) -> None:
        """A run ends. `keep`: whether it belongs to the thread's turns at all."""
        thread = run.thread
        if thread.active is run:
            thread.active = None
        run.status, run.session, run.turn = result.status, result.session, result.turn
        run.checkpoint, run.items = result.checkpoint_id, tuple(result.items)
        thread.runs.append(run)
        for each in run.context:
            each.moves.append("consumed")
            each.consumed_by = run.id
            if each.type in ("merge_back", "subagent_result"):
                thread.view.extend(each.slice)
            if each.type == "merge_back":
                each.source.merged = each.end
            if each.type == "subagent_result" and each.point is not None:
                each.source.returned = each.point.run
        thread.sessions[run.provider] = run.session
        if run.stable:
            place = (result.checkpoint_thread, result.checkpoint_id)
            thread.view.append(Piece(run, run.items, place))
        thread.covered[run.provider] = len(thread.view)

    def observe(self, parent: Thread, id: str, provider: str, session: str) -> Thread:
        """A child that a provider started by itself."""
        transfer = self.spawn(parent, id, provider, "")
        transfer.creator, transfer.task = "system", None
        transfer.moves += ["resolved_native", "consumed"]
        child = transfer.target
        child.sessions[provider] = session
        return child

    def observe_end(self, child: Thread, provider: str, result: Any, id: str) -> Transfer | None:
        """The end of such a child's turn: its result, if it has one."""
        run = Run(id, child, provider, [])
        self.finish(run, result)
        if not run.stable:
            return None
        made = self.result(child)
        made.creator = "system"
        made.moves += ["resolved_native", "consumed"]
        child.returned = run
        return made
