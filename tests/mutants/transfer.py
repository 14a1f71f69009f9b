"""Transfer backends with one fault each: what is transferred, and how it is resolved."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lineage_reference.steps import call
from tests.mutants.transfer_book import OPEN, Refused
from tests.mutants.transfer_kit import Ledger, mutant

# -- commands --------------------------------------------------------------------------------------


@mutant(kills="transfer.commands-are-carried-out")
class MergesAsHandoffs(Ledger):
    """Calls a merge a provider handoff."""

    def record(self, type, source, target, **fields):
        renamed = "provider_handoff" if type == "merge_back" else type
        return super().record(renamed, source, target, **fields)


@mutant(kills="transfer.commands-are-carried-out")
class SendsAnew(Ledger):
    """Begins a new native session for every run."""

    def handed(self, adapter, context, message):
        return (yield from call(adapter, "start", context.handoffs, message))


@mutant(kills="transfer.commands-are-carried-out")
class UserMakesAll(Ledger):
    """Says that the user made what the system did."""

    def handing(self, line, provider, before, creator):
        return super().handing(line, provider, before, "user")


@mutant(kills="transfer.nothing-before-the-first-dispatch")
class ForksAtOnce(Ledger):
    """Forks the native session as soon as the thread is forked."""

    def _fork(self, source, thread_id, point="latest_stable", **options):
        made = yield from super()._fork(source, thread_id, point, **options)
        adapter = self.providers.get(made.source_provider)
        if adapter is not None and made.source_point.native_thread and adapter.name != "bare":
            yield from call(adapter, "fork", made.source_point.native_thread, None)
        return made


@mutant(kills="transfer.nothing-before-the-first-dispatch")
class ResolvesAtOnce(Ledger):
    """Materialises a merge when it is asked for."""

    def _merge_back(self, thread_id, **options):
        made = yield from super()._merge_back(thread_id, **options)
        if made.status != "pending":
            return made
        return (yield from self.materialised(made))


# -- slices ----------------------------------------------------------------------------------------


@mutant(kills="transfer.exactly-what-is-missing")
class TellsAllAgain(Ledger):
    """Transfers the whole view to a provider that comes back."""

    def materialised(self, transfer):
        kept = self.book.slices[transfer.id]
        if transfer.type == "provider_handoff":
            self.book.slices[transfer.id] = list(self.line(transfer.target_thread).view)
        made = yield from super().materialised(transfer)
        self.book.slices[transfer.id] = kept
        return made


@mutant(kills="transfer.exactly-what-is-missing")
class TakesTheCheckpoint(Ledger):
    """Transfers all messages of a run's checkpoint, those that were injected there included."""

    def cover(self, cover):
        return (yield from super().cover(replace(cover, items=None)))


@mutant(kills="transfer.exactly-what-is-missing")
class DropsEmptyMessages(Ledger):
    """Drops messages without text, and so the tool calls in them."""

    def read(self, slice):
        return [m for m in (yield from super().read(slice)) if m.content]


@mutant(kills="transfer.exactly-what-is-missing")
class ForgetsMerges(Ledger):
    """Does not tell another provider what was merged into the thread."""

    def consume(self, line, id, run_id):
        made = self.book.transfers[id]
        if made.type != "merge_back":
            return super().consume(line, id, run_id)
        view = list(line.view)
        super().consume(line, id, run_id)
        line.view[:] = view


@mutant(kills="transfer.exactly-what-is-missing")
class CoversTooMuch(Ledger):
    """Takes every provider of a thread to know a run that one of them made."""

    def _finish_run(self, run_id, result):
        made = yield from super()._finish_run(run_id, result)
        line = self.line(made.thread_id)
        for provider in line.sessions:
            line.covered[provider] = len(line.view)
        return made


@mutant(kills="transfer.merge-brings-the-gain")
class MergesAll(Ledger):
    """Merges what the fork began with, too."""

    def _merge_back(self, thread_id, **options):
        made = yield from super()._merge_back(thread_id, **options)
        line = self.line(thread_id)
        self.book.slices[made.id] = line.view[: self.book.ends[made.id]]
        return made


@mutant(kills="transfer.merge-brings-the-gain")
class MergesOwnRunsOnly(Ledger):
    """Leaves out of a merge what was merged into the fork."""

    def _merge_back(self, thread_id, **options):
        made = yield from super()._merge_back(thread_id, **options)
        slice = self.book.slices[made.id]
        self.book.slices[made.id] = [c for c in slice if c.thread_id == thread_id]
        return made


@mutant(kills="transfer.result-is-the-last-item")
class ReturnsAllItems(Ledger):
    """Returns every item of the subagent's run."""

    def result(self, line, creator):
        made = super().result(line, creator)
        self.book.slices[made.id] = [line.view[self.position(line, self.latest(line))]]
        return made


@mutant(kills="transfer.returning-is-a-delta")
class BasesOnTheBeginning(Ledger):
    """Names the first thing that a provider covers as the base point, not the last."""

    def handing(self, line, provider, before, creator):
        made = super().handing(line, provider, before, creator)
        if made.base_point is not None:
            made = replace(made, base_point=self.point(line.view[0]))
            self.book.transfers[made.id] = made
        return made


@mutant(kills="transfer.returning-is-a-delta")
class BasesOnTheFork(Ledger):
    """Names the fork's source point as base of every merge, also of a second one."""

    def _merge_back(self, thread_id, **options):
        made = yield from super()._merge_back(thread_id, **options)
        start = self.book.transfers[self.line(thread_id).start]
        made = replace(self.book.transfers[made.id], base_point=start.source_point)
        self.book.transfers[made.id] = made
        return made


# -- native or portable ----------------------------------------------------------------------------


@mutant(kills="transfer.native-where-it-can")
class NeverNative(Ledger):
    """Resolves every fork as text."""

    def strong(self, start, adapter):
        return False


@mutant(kills="transfer.native-where-it-can")
class ForksWhileRunning(Ledger):
    """Forks the latest of a session although a run is active in it."""

    def native(self, start, adapter):
        source = self.line(start.source_point.thread_id)
        kept, source.active = source.active, None
        try:
            return (yield from super().native(start, adapter))
        finally:
            source.active = kept


@mutant(kills="transfer.native-where-it-can")
class CallsCheckpointsPortable(Ledger):
    """Calls the context of an adopted checkpoint a portable one."""

    def hand(self, transfer, slice, items):
        made = super().hand(transfer, slice, items)
        kind = made.kind
        return replace(made, kind="portable_context" if kind == "checkpoint_context" else kind)


@mutant(kills="transfer.fork-includes-its-turn")
class ForksBeforeTheTurn(Ledger):
    """Takes the boundary for the first turn that is left out: forks at the one before."""

    def native(self, start, adapter):
        at = start.source_point
        runs = self.line(at.thread_id).runs
        place = runs.index(at.run_id) if at.run_id in runs else 0
        if at.native_turn and place:
            turn = self.book.runs[runs[place - 1]].native_turn
            start = replace(start, source_point=replace(at, native_turn=turn))
        return (yield from super().native(start, adapter))


@mutant(kills="transfer.rollback-by-the-later-turns")
class CountsCompletedTurns(Ledger):
    """Does not count failed and cancelled turns when it rolls back."""

    def later(self, source, run_id, provider):
        after = source.runs[source.runs.index(run_id) + 1 :]
        runs = [self.book.runs[id] for id in after]
        return sum(r.provider == provider and r.status == "completed" for r in runs)


@mutant(kills="transfer.rollback-by-the-later-turns")
class CountsOtherProviders(Ledger):
    """Counts the turns that other providers had when it rolls back."""

    def later(self, source, run_id, provider):
        mine = super().later(source, run_id, provider)
        return len(source.runs[source.runs.index(run_id) + 1 :]) if mine else 0


@mutant(kills="transfer.probe-before-rollback")
class TriesRollback(Ledger):
    """Asks for a rollback without a look at the history."""

    def native(self, start, adapter):
        return (yield from super().native(start, Unprobed(adapter)))


class Unprobed:
    """An adapter whose every history is plain, as somebody believes."""

    def __init__(self, adapter: Any) -> None:
        self.adapter, self.name, self.capabilities = adapter, adapter.name, adapter.capabilities
        self.fork, self.afork = adapter.fork, adapter.afork
        self.rollback, self.arollback = adapter.rollback, adapter.arollback

    def probe(self, session: str) -> str:
        return "plain"

    async def aprobe(self, session: str) -> str:
        return "plain"


@mutant(kills="transfer.probe-before-rollback")
class SaysNothing(Ledger):
    """Does not say why a fork could not be native."""

    def unsupported(self, start):
        return None


# -- handoffs --------------------------------------------------------------------------------------


@mutant(kills="transfer.handoff-is-what-was-injected")
class RebuildsFromTheHead(Ledger):
    """Rebuilds a handoff from the newest checkpoint of each thread."""

    def _rebuild(self, handoff_id):
        kept = yield from self._handoff(handoff_id)
        items = []
        for cover in kept.covers:
            config = {"configurable": {"thread_id": cover.checkpoint_thread, "checkpoint_ns": ""}}
            found = yield from call(self.saver, "get_tuple", config)
            items += found.checkpoint["channel_values"]["messages"]
        return replace(kept, items=tuple(items))


@mutant(kills="transfer.handoff-is-what-was-injected")
class ShortensTexts(Ledger):
    """Cuts what it tells providers that take text."""

    def text(self, items):
        return "\n".join(f"{m.type}: {m.content[:12]}" for m in items)


@mutant(kills="transfer.handoff-is-what-was-injected")
class ForgetsTasks(Ledger):
    """Does not tell a subagent its task."""

    def spawn(self, parent, id, provider, task, creator):
        return super().spawn(parent, id, provider, "", creator)


@mutant(kills="transfer.handoff-is-what-was-injected")
class CoversNothing(Ledger):
    """Keeps no record of where the items of a handoff were read."""

    def hand(self, transfer, slice, items):
        return replace(super().hand(transfer, slice, items), covers=tuple(slice[:1]))


# -- records ---------------------------------------------------------------------------------------


@mutant(kills="transfer.moves-are-recorded")
class SkipsPending(Ledger):
    """Does not record that a failed transfer was tried again."""

    def retried(self, transfer):
        made = super().retried(transfer)
        if made is not transfer:
            self.book.moves[made.id].pop()
        return made


@mutant(kills="transfer.moves-are-recorded")
class ForgetsSuperseding(Ledger):
    """Does not record what became of a transfer that was superseded."""

    def supersede(self, old, by):
        super().supersede(old, by)
        for each in old:
            self.book.moves[each.id].pop()


@mutant(kills="transfer.consumed-once", also=("transfer.first-dispatches-resolve-once",))
class ConsumesCompletedOnly(Ledger):
    """Leaves the context of a failed run open: it is injected again."""

    def _finish_run(self, run_id, result):
        if result.status != "completed":
            self.book.contexts[run_id] = ()
        return (yield from super()._finish_run(run_id, result))


@mutant(kills="transfer.consumed-once")
class NamesNoRun(Ledger):
    """Does not record which run consumed a transfer."""

    def consume(self, line, id, run_id):
        super().consume(line, id, run_id)
        self.book.transfers[id] = replace(self.book.transfers[id], consumed_by=None)


@mutant(kills="transfer.superseded-when-replaced")
class KeepsOldMerges(Ledger):
    """Leaves an open merge open when the fork is merged again."""

    def replaceable(self, found):
        return [t for t in super().replaceable(found) if t.type != "merge_back"]


@mutant(kills="transfer.superseded-when-replaced")
class NamesNoSuccessor(Ledger):
    """Does not record what took the place of a superseded transfer."""

    def supersede(self, old, by):
        super().supersede(old, None)


@mutant(kills="transfer.superseded-when-replaced")
class LeavesOldSwitches(Ledger):
    """Leaves a switch open when the thread is switched again."""

    def replaceable(self, found):
        return [t for t in super().replaceable(found) if t.type != "provider_handoff"]


@mutant(kills="transfer.failure-is-retryable")
class FailsForGood(Ledger):
    """Takes a transfer that failed once for one that failed."""

    def starting(self, line, start, adapter):
        if start.status == "failed":
            raise Refused("provider_error")
        return (yield from super().starting(line, start, adapter))


@mutant(kills="transfer.failure-is-retryable")
class ConsumesOnTrying(Ledger):
    """Consumes a context although the provider never began."""

    def _abandon_run(self, run_id, error=""):
        line = self.line(self.book.runs[run_id].thread_id)
        for id in self.book.contexts[run_id]:
            self.consume(line, id, run_id)
        return (yield from super()._abandon_run(run_id, error))


@mutant(kills="transfer.failure-is-retryable")
class SkipsWhatIsGone(Ledger):
    """Transfers what it can where a checkpoint is missing, and says nothing."""

    def read(self, slice):
        items: list[Any] = []
        for cover in slice:
            try:
                items += yield from self.cover(cover)
            except LookupError:
                continue
        return items


@mutant(kills="transfer.failure-is-retryable")
class ForksAgain(Ledger):
    """Forks the native session anew when the provider could not begin."""

    def _abandon_run(self, run_id, error=""):
        made = yield from super()._abandon_run(run_id, error)
        for id in self.book.contexts[run_id]:
            kept = self.book.transfers[id]
            if kept.status == "resolved_native":
                self.book.transfers[id] = replace(kept, status="pending")
                self.book.moves[id].pop()
        return made


@mutant(kills="transfer.lineage-is-a-forest")
class ParentIsRoot(Ledger):
    """Takes the parent of a thread for its root."""

    def child(self, parent, id, relationship, provider):
        made = super().child(parent, id, relationship, provider)
        made.root = parent.id
        return made


@mutant(kills="transfer.lineage-is-a-forest")
class ForksAreSiblings(Ledger):
    """Hangs the fork of a fork on the first thread."""

    def _lineage(self, thread_id):
        made = yield from super()._lineage(thread_id)
        return replace(made, parent_id=made.root_id) if made.parent_id else made


@mutant(kills="transfer.merge-keeps-the-provider")
class MergesTheProvider(Ledger):
    """Lets the thread go on with the provider of the fork that was merged."""

    def _merge_back(self, thread_id, **options):
        made = yield from super()._merge_back(thread_id, **options)
        line = self.line(thread_id)
        self.line(line.parent).provider = line.provider
        return made


# -- points ----------------------------------------------------------------------------------------


@mutant(kills="transfer.only-stable-points", also=("transfer.refusals-are-named",))
class ForksTheRunning(Ledger):
    """Takes the latest stable run where an explicit one is active."""

    def length(self, line, point):
        if line.active is not None and line.active in (point, self.book.passed.get(point)):
            point = "latest_stable"
        return super().length(line, point)


@mutant(kills="transfer.only-stable-points")
class ForksTheFailed(Ledger):
    """Takes the latest stable run where an explicit one failed."""

    def length(self, line, point):
        if point in line.runs and not self.stable(point):
            point = "latest_stable"
        return super().length(line, point)


@mutant(kills="transfer.latest-stable-ignores-the-running")
class TakesTheFirst(Ledger):
    """Takes the first stable run for the latest where a run is active."""

    def latest(self, line):
        if line.active is None:
            return super().latest(line)
        return next((id for id in line.runs if self.stable(id)), None)


@mutant(kills="transfer.latest-stable-ignores-the-running")
class NoLastItem(Ledger):
    """Names the first item of a run as the last one of a point."""

    def point(self, cover):
        made = super().point(cover)
        first = self.book.runs[cover.run_id].items[0] if cover.run_id else None
        return replace(made, item_id=first)


@mutant(kills="transfer.context-in-use-stays")
class ReplacesInUse(Ledger):
    """Supersedes a transfer that an active run was begun with."""

    def in_use(self, transfer):
        return False


@mutant(kills="transfer.context-in-use-stays")
class RunsWithoutContext(Ledger):
    """Lets a run begin whose provider lacks context."""

    def fits(self, line, provider, context):
        return None


@mutant(kills="transfer.nothing-is-not-transferred")
class MergesNothing(Ledger):
    """Merges a fork that has nothing new."""

    def _merge_back(self, thread_id, *, receipt=None, created_by="user"):
        line = self.line(thread_id)
        try:
            return (
                yield from super()._merge_back(thread_id, receipt=receipt, created_by=created_by)
            )
        except Refused as refused:
            if refused.code != "nothing_to_transfer":
                raise
            at = self.point(line.view[-1])
            return self.record("merge_back", thread_id, line.parent, source_point=at, slice=())


@mutant(kills="transfer.nothing-is-not-transferred")
class ReturnsAgain(Ledger):
    """Returns a result that the parent has."""

    def result(self, line, creator):
        kept, line.returned = line.returned, None
        try:
            return super().result(line, creator)
        finally:
            line.returned = kept


@mutant(kills="transfer.refusals-are-named")
class Speechless(Ledger):
    """Refuses without a word."""

    def length(self, line, point):
        try:
            return super().length(line, point)
        except Refused:
            raise ValueError("no") from None


@mutant(kills="transfer.children-are-observed-once")
class ObservesAnew(Ledger):
    """Makes a new thread of a child each time that it is seen."""

    def _observe_native_children(self, thread_id, provider=None):
        self.book.children.clear()
        return (yield from super()._observe_native_children(thread_id, provider))


@mutant(kills="transfer.children-are-observed-once")
class OverlooksChildren(Ledger):
    """Does not look for children once it has seen one."""

    def _observe_native_children(self, thread_id, provider=None):
        if any(line.parent == thread_id for line in self.book.lines.values()):
            return []
        return (yield from super()._observe_native_children(thread_id, provider))


__all__ = ["OPEN"]
