"""Transfer backends with one fault each: receipts, races, what a store keeps, and what all costs."""

from __future__ import annotations

import contextlib
from dataclasses import replace

from lineage_reference.steps import call
from tests.mutants.transfer_book import Refused
from tests.mutants.transfer_kit import Ledger, mutant


@mutant(kills="transfer.receipts-act-once")
class ForksTwice(Ledger):
    """Keeps no receipts."""

    def once(self, receipt, command, first, work):
        return (yield from super().once(None, command, first, work))


@mutant(kills="transfer.receipts-act-once")
class AsksTwice(Ledger):
    """Keeps receipts of commands, but not of runs."""

    def once(self, receipt, command, first, work):
        kept = None if command == "dispatch" else receipt
        return (yield from super().once(kept, command, first, work))


@mutant(kills="transfer.a-receipt-is-of-one-command")
class AnswersAnything(Ledger):
    """Takes a receipt for an answer to whatever is asked."""

    def once(self, receipt, command, first, work):
        if receipt in self.book.receipts:
            return self.book.receipts[receipt][2]
        return (yield from super().once(receipt, command, first, work))


@mutant(kills="transfer.a-receipt-is-of-one-command")
class UsesReceiptsUp(Ledger):
    """Uses a receipt up although its command failed."""

    def once(self, receipt, command, first, work):
        try:
            return (yield from super().once(receipt, command, first, work))
        except Refused as refused:
            if receipt is not None and refused.code == "provider_error":
                self.book.receipts[receipt] = (command, first, None)
            raise


@mutant(kills="transfer.first-dispatches-resolve-once", also=("transfer.handles-resolve-once",))
class Races(Ledger):
    """Does not see that another call resolves the same just now."""

    def claim(self, thread_id):
        return None


@mutant(
    kills="transfer.first-dispatches-resolve-once",
    also=("transfer.handles-resolve-once",),
    face="async",
)
class RacesInTheLoop(Ledger):
    """Does not see that another task resolves the same just now."""

    def claim(self, thread_id):
        return None


@mutant(kills="transfer.handles-resolve-once")
class ClaimsInTheHandle(Ledger):
    """Sees only what its own handle resolves."""

    def __init__(self, saver, book=None):
        super().__init__(saver, book)
        self.mine = set()

    def claim(self, thread_id):
        with self.book.lock:
            if thread_id in self.mine:
                raise Refused("busy")
            self.mine.add(thread_id)

    def _resolve_start_context(self, thread_id, provider, message):
        try:
            return (yield from super()._resolve_start_context(thread_id, provider, message))
        except Refused:
            raise
        finally:
            if not self.book.claims:
                self.mine.discard(thread_id)


@mutant(kills="transfer.nothing-is-lost-on-closing")
class KeepsCoverageInMind(Ledger):
    """Keeps what sessions cover in the handle: after reopening everything is transferred again."""

    def __init__(self, saver, book=None):
        super().__init__(saver, book)
        for line in self.book.lines.values():
            line.covered.clear()


@mutant(kills="transfer.nothing-is-lost-on-closing")
class KeepsReceiptsInMind(Ledger):
    """Keeps receipts in the handle."""

    def __init__(self, saver, book=None):
        super().__init__(saver, book)
        self.book.receipts.clear()


@mutant(kills="transfer.a-fork-is-cheap")
class ReadsTheSource(Ledger):
    """Reads the newest checkpoint of the source when it forks."""

    def _fork(self, source, thread_id, point="latest_stable", **options):
        config = {"configurable": {"thread_id": source, "checkpoint_ns": ""}}
        yield from call(self.saver, "get_tuple", config)
        return (yield from super()._fork(source, thread_id, point, **options))


@mutant(kills="transfer.a-fork-is-cheap")
class CopiesTheView(Ledger):
    """Copies a row for each run that the fork begins with."""

    def _fork(self, source, thread_id, point="latest_stable", **options):
        made = yield from super()._fork(source, thread_id, point, **options)
        self.book.rows += len(self.line(thread_id).view)
        return made


@mutant(kills="transfer.a-fork-is-cheap")
class TwoTransactions(Ledger):
    """Makes the thread in one transaction and the transfer in another."""

    def _fork(self, source, thread_id, point="latest_stable", **options):
        self.book.transactions += 1
        return (yield from super()._fork(source, thread_id, point, **options))


@mutant(kills="transfer.reads-what-it-transfers")
class ReadsEverything(Ledger):
    """Reads all runs of a thread, and picks what is missing."""

    def resolving(self, line, adapter):
        with contextlib.suppress(LookupError):
            yield from self.read(line.view)
        return (yield from super().resolving(line, adapter))


@mutant(kills="transfer.reads-what-it-transfers")
class CountsEverything(Ledger):
    """Reads a row for each run of the thread to find what is missing."""

    def lacking(self, line, provider):
        self.book.rows += len(line.view)
        return super().lacking(line, provider)


@mutant(kills="transfer.subagents-make-one-graph")
class AgentsMakeAll(Ledger):
    """Says that the agent made the subagents that were observed."""

    def seen(self, record):
        made = super().seen(record)
        self.book.transfers[made.id] = replace(made, created_by="agent")
        return self.book.transfers[made.id]


__all__ = ["ForksTwice"]
