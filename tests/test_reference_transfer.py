"""The transfer reference beyond its laws: cancelled tasks, claims that were taken over, bad input."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")

from langgraph.checkpoint.memory import InMemorySaver

from lineage_conformance.kinds.transfer import adapter as transfer_adapter
from lineage_conformance.kinds.transfer import records as transfer_records
from lineage_conformance.kinds.transfer import terms
from lineage_reference.transfer import (
    Capabilities,
    Refused,
    TurnResult,
    make,
    records,
    sqlite_engine,
)
from lineage_reference.transfer.agent import AgentProvider
from lineage_reference.transfer.backend import AsyncTransfers, TransferBackend
from tests.transfer_kit import provider


@pytest.fixture
def backend(tmp_path: Path) -> Iterator[TransferBackend]:
    """A backend over memory with two agents, and a root with one run."""
    with make(InMemorySaver(), SimpleNamespace(path=tmp_path, dsn=None)) as made:
        assert isinstance(made, TransferBackend)
        provider(made, "one")
        provider(made, "two")
        made.open_thread("root", "one")
        made.dispatch("root", "hello")
        yield made


def refused(code: str) -> Any:
    return pytest.raises(Refused, match=records.WORDS[code])


def test_a_cancelled_dispatch_gives_its_claim_back(tmp_path: Path) -> None:
    class Slow(AgentProvider):
        async def afork(self, session: str, turn: str | None = None) -> str:
            held.set()
            await asyncio.Event().wait()
            raise AssertionError

    async def story() -> None:
        with make(InMemorySaver(), SimpleNamespace(path=tmp_path, dsn=None)) as made:
            assert isinstance(made, AsyncTransfers)
            slow = provider(made, "one", kind=Slow)
            await made.aopen_thread("root", "one")
            await made.adispatch("root", "hello")
            await made.afork("root", "fork")
            task = asyncio.create_task(made.adispatch("fork", "and now"))
            await held.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            made.use(AgentProvider("one", slow.graph))
            run = await made.adispatch("fork", "and now")
            assert run.status == "completed"
            story_of = await made.ahistory((await made.atransfers("fork"))[0].id)
            assert [m.after for m in story_of] == ["pending", "resolved_native", "consumed"]

    held = asyncio.Event()
    asyncio.run(story())


def test_a_result_that_comes_after_the_claim_was_taken_over_is_dropped(tmp_path: Path) -> None:
    now = [1000.0]
    backend = TransferBackend(
        InMemorySaver(), sqlite_engine(str(tmp_path / "t")), clock=lambda: now[0], lease=10
    )

    class Overtaken(AgentProvider):
        def fork(self, session: str, turn: str | None = None) -> str:
            made = super().fork(session, turn)
            if now[0] == 1000.0:
                now[0] += 11
                others.append(backend.resolve_start_context("fork", "one", "x"))
            return made

    others: list[Any] = []
    provider(backend, "one", kind=Overtaken)
    backend.open_thread("root", "one")
    backend.dispatch("root", "hello")
    backend.fork("root", "fork")
    with refused("busy"):
        backend.resolve_start_context("fork", "one", "x")
    assert backend.resolve_start_context("fork", "one", "x") == others[0]
    assert len(backend.history(backend.transfers("fork")[0].id)) == 2
    backend.store.engine.dispose()


@pytest.mark.parametrize(
    ("code", "method", "arguments"),
    [
        ("unknown_thread", "fork", ("nowhere", "x")),
        ("unknown_thread", "dispatch", ("nowhere", "x")),
        ("unknown_thread", "transfers", ("nowhere",)),
        ("unknown_thread", "lineage", ("nowhere",)),
        ("unknown_thread", "children", ("nowhere",)),
        ("unknown_thread", "spawn_subagent", ("nowhere", "x", "one", "t")),
        ("thread_exists", "open_thread", ("root",)),
        ("thread_exists", "fork", ("root", "root")),
        ("unknown_provider", "dispatch", ("root", "x", "nobody")),
        ("unknown_provider", "switch_provider", ("root", "nobody")),
        ("unknown_provider", "begin_run", ("root", "nobody")),
        ("unknown_provider", "resolve_start_context", ("root", "nobody", "x")),
        ("unknown_provider", "observe_native_children", ("root", "nobody")),
        ("unknown_point", "fork", ("root", "x", "no such run")),
        ("not_a_fork", "merge_back", ("root",)),
        ("not_a_subagent", "return_result", ("root",)),
        ("unknown_run", "run", ("nothing",)),
        ("unknown_run", "finish_run", ("nothing", TurnResult("completed", "s"))),
        ("unknown_run", "abandon_run", ("nothing",)),
        ("unknown_run", "record_checkpoint", ("nothing", "t", "c")),
        ("unknown_transfer", "transfer", ("nothing",)),
        ("unknown_transfer", "history", ("nothing",)),
        ("unknown_transfer", "handoff", ("nothing",)),
        ("unknown_transfer", "rebuild", ("nothing",)),
    ],
)
def test_bad_input_is_refused_and_changes_nothing(
    backend: TransferBackend, code: str, method: str, arguments: Any
) -> None:
    before = backend.counters()["transactions"]
    with refused(code) as caught:
        getattr(backend, method)(*arguments)
    assert caught.value.code == code
    assert backend.counters()["transactions"] == before
    assert backend.transfers("root") == []


def test_more_bad_input(backend: TransferBackend) -> None:
    with pytest.raises(ValueError, match="created by"):
        backend.fork("root", "x", created_by="nobody")
    assert not backend.children("root")
    run = backend.begin_run("root", "one")
    with pytest.raises(ValueError, match="a run ends"):
        backend.finish_run(run.id, TurnResult("exploded", "s"))
    backend.record_checkpoint(run.id, "s", "c")
    backend.record_checkpoint(run.id, "s", "c")
    with refused("running_point"):
        backend.fork("root", "x", "c")
    backend.abandon_run(run.id)
    with refused("run_ended"):
        backend.abandon_run(run.id)
    with refused("unstable_point"):
        backend.fork("root", "x", run.id)
    backend.fork("root", "y", receipt="r")
    with refused("receipt_conflict"):
        backend.dispatch("root", "x", receipt="r")
    backend.open_thread("bare")
    with refused("unknown_provider"):
        backend.dispatch("bare", "x")


def test_a_context_is_of_no_use_once_it_was_overtaken(backend: TransferBackend) -> None:
    backend.fork("root", "fork")
    backend.dispatch("fork", "aside")
    empty = backend.resolve_start_context("root", "one", "x")
    assert empty.kind == "nothing"
    backend.merge_back("fork")
    with refused("stale_context"):
        backend.begin_run("root", "one", empty)
    with refused("context_pending"):
        backend.begin_run("root", "one")
    backend.begin_run("root", "one", backend.resolve_start_context("root", "one", "x"))


def test_the_words_are_those_of_the_contract() -> None:
    assert set(records.WORDS) == set(terms.CODES)
    assert records.MOVES == terms.MOVES
    assert records.CREATORS == terms.CREATORS
    assert records.LATEST_STABLE == terms.LATEST_STABLE
    for name in ("SourcePoint", "ContextTransfer", "StatusMove", "Cover", "ContextHandoff", "Run"):
        ours, theirs = getattr(records, name), getattr(transfer_records, name)
        assert list(ours.__dataclass_fields__) == list(theirs.__dataclass_fields__)
    assert Capabilities() == Capabilities(**vars(transfer_adapter.Capabilities()))
