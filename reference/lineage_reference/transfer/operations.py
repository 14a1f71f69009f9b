"""The operations of the orchestrator, said once for both halves.

It owns threads, points, records and receipts; adapters own what is native. A command is one transaction. Only
resolving and dispatching do more, and nothing of what they do outside of a transaction changes a record.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import Engine

from lineage_reference.steps import Step, Steps, call
from lineage_reference.transfer import commands, ledger, material, resolving, runs
from lineage_reference.transfer.adapters import hand
from lineage_reference.transfer.ledger import Entry
from lineage_reference.transfer.records import (
    ContextHandoff,
    ContextTransfer,
    Refused,
    Run,
    StartContext,
    ThreadLineage,
    load_run,
)
from lineage_reference.transfer.store import Book, Store


class Operations:
    """Threads and transfers over one saver and one database.

    `clock` gives the time in seconds; `lease` says for how many of them a call that resolves a thread keeps
    others from doing so, if it never comes back.
    """

    def __init__(
        self,
        saver: Any,
        engine: Engine,
        *,
        clock: Callable[[], float] = time.time,
        lease: float = resolving.LEASE,
    ) -> None:
        self.saver, self.lease = saver, lease
        self.store = Store(engine, clock)
        self.providers: dict[str, Any] = {}

    def use(self, provider: Any) -> None:
        """Register an adapter under its name; one of the same name is replaced. Kept in no store."""
        self.providers[provider.name] = provider

    def _adapter(self, name: str | None) -> Any:
        if name is None or name not in self.providers:
            raise Refused("unknown_provider", str(name))
        return self.providers[name]

    # -- one transaction each ----------------------------------------------------------------------

    def _once(
        self,
        command: str,
        argument: str,
        receipt: str | None,
        work: Callable[[Book], Entry | None],
    ) -> Step:
        """A command that makes a transfer: carried out once for each receipt."""
        return self.store.writing(
            lambda book: ledger.once(book, receipt, command, argument, lambda: work(book))
        )

    def _open_thread(self, id: str, provider: str | None, checkpoint_id: str | None) -> Step:
        def work(book: Book) -> ThreadLineage:
            commands.open_thread(book, id, provider, checkpoint_id)
            return book.thread(id).lineage

        return self.store.writing(work)

    def _begin_run(self, thread_id: str, provider: str, context: StartContext | None) -> Step:
        self._adapter(provider)
        return self.store.writing(lambda book: runs.begin_with(book, thread_id, provider, context))

    def _record_checkpoint(self, run_id: str, checkpoint_thread: str, checkpoint_id: str) -> Step:
        return self.store.writing(
            lambda book: runs.passed(book, run_id, checkpoint_thread, checkpoint_id)
        )

    def _finish_run(self, run_id: str, result: Any) -> Step:
        return self.store.writing(lambda book: runs.finish(book, run_id, result).run)

    def _abandon_run(self, run_id: str) -> Step:
        return self.store.writing(lambda book: runs.abandon(book, run_id))

    def _fork(self, source: str, id: str, point: str, receipt: str | None, created_by: str) -> Step:
        return self._once(
            "fork", source, receipt, lambda book: commands.fork(book, source, id, point, created_by)
        )

    def _switch(self, id: str, provider: str, receipt: str | None, created_by: str) -> Step:
        self._adapter(provider)
        return self._once(
            "switch_provider",
            id,
            receipt,
            lambda book: commands.switch(book, id, provider, created_by),
        )

    def _merge_back(self, id: str, receipt: str | None, created_by: str) -> Step:
        return self._once(
            "merge_back", id, receipt, lambda book: commands.merge_back(book, id, created_by)
        )

    def _spawn(
        self,
        parent: str,
        id: str,
        provider: str,
        task: str,
        receipt: str | None,
        created_by: str,
    ) -> Step:
        self._adapter(provider)
        return self._once(
            "spawn_subagent",
            parent,
            receipt,
            lambda book: commands.spawn(book, parent, id, provider, task, created_by),
        )

    def _return_result(self, id: str, receipt: str | None, created_by: str) -> Step:
        return self._once(
            "return_result", id, receipt, lambda book: commands.return_result(book, id, created_by)
        )

    # -- looking -----------------------------------------------------------------------------------

    def _transfer(self, id: str) -> Step:
        return self.store.reading(lambda book: ledger.transfer(book, id).record)

    def _transfers(self, thread_id: str) -> Step:
        def work(book: Book) -> list[ContextTransfer]:
            book.thread(thread_id)
            return ledger.touching(book, thread_id)

        return self.store.reading(work)

    def _history(self, id: str) -> Step:
        def work(book: Book) -> Any:
            found = ledger.story(book, id)
            return found or ledger.transfer(book, id)  # which raises: every transfer has a move

        return self.store.reading(work)

    def _handoff(self, id: str) -> Step:
        return self.store.reading(lambda book: ledger.kept(book, id, self.saver.serde))

    def _lineage(self, thread_id: str) -> Step:
        return self.store.reading(lambda book: book.thread(thread_id).lineage)

    def _children(self, thread_id: str) -> Step:
        def work(book: Book) -> list[ThreadLineage]:
            book.thread(thread_id)
            return [child.lineage for child in book.children(thread_id)]

        return self.store.reading(work)

    def _run(self, run_id: str) -> Step:
        return self.store.reading(lambda book: book.run(run_id).run)

    # -- what takes more than a transaction --------------------------------------------------------

    def _rebuild(self, id: str) -> Steps[ContextHandoff]:
        kept = yield self._handoff(id)
        made = yield from material.rebuilt(self.saver, kept)
        return made

    def _resolve(self, thread_id: str, provider: str) -> Steps[StartContext]:
        found = yield from resolving.resolve(
            self.store, self.saver, self._adapter(provider), thread_id, self.lease
        )
        return found

    def _observe(self, thread_id: str, provider: str | None) -> Steps[Sequence[ContextTransfer]]:
        def session(book: Book) -> tuple[str, str | None]:
            name = provider or book.thread(thread_id).provider
            return str(name), book.session(thread_id, str(name))[0]

        name, native = yield self.store.reading(session)
        adapter = self._adapter(name)
        if native is None:
            return []
        found = yield from call(adapter, "children", native)
        made: Sequence[ContextTransfer] = yield self.store.writing(
            lambda book: commands.observe(book, thread_id, name, found)
        )
        return made

    def _dispatch(
        self, thread_id: str, message: str, provider: str | None, receipt: str | None
    ) -> Steps[Run]:
        """Resolve, begin, hand over, finish."""
        name, before = yield self.store.reading(
            lambda book: _asked(book, thread_id, provider, receipt)
        )
        if before is not None:
            return before  # type: ignore[no-any-return]
        adapter = self._adapter(name)
        context = yield from self._resolve(thread_id, name)
        if context.failure is not None:
            raise Refused(context.failure, context.message)
        begun: Run = yield self.store.writing(
            lambda book: _begun(book, thread_id, name, context, receipt)
        )
        if begun.status != "active":
            return begun  # the receipt was used meanwhile
        try:
            result = yield from hand(adapter, context, message)
        except Exception as error:
            yield self._abandon_run(begun.id)
            raise Refused("provider_error", f"{type(error).__name__}: {error}") from error
        except BaseException:
            yield self._abandon_run(begun.id)
            raise
        ended: Run = yield self._finish_run(begun.id, result)
        return ended


def _asked(
    book: Book, thread_id: str, provider: str | None, receipt: str | None
) -> tuple[str | None, Run | None]:
    """The provider of a dispatch, and the run that its receipt stands for, if it was used. Refused ``busy``."""
    thread = book.thread(thread_id)
    known = _answer(book, thread_id, receipt)
    if known is None and thread.active_run is not None:
        raise Refused("busy", f"run {thread.active_run} of {thread_id} is active")
    return provider or thread.provider, known


def _answer(book: Book, thread_id: str, receipt: str | None) -> Run | None:
    known = ledger.answered(book, receipt, "dispatch", thread_id)
    if known is None:
        return None
    if known.answer is None:
        raise Refused("busy", f"run {known.run_id} of this receipt is active")
    return load_run(known.answer)


def _begun(
    book: Book, thread_id: str, provider: str, context: StartContext, receipt: str | None
) -> Run:
    """Begin the run of a dispatch, and note its receipt: from here on it is in use."""
    book.thread(thread_id, lock=True)
    known = _answer(book, thread_id, receipt)
    if known is not None:
        return known
    made = runs.begin_with(book, thread_id, provider, context)
    ledger.use_receipt(book, receipt, "dispatch", thread_id, None, made.id)
    return made
