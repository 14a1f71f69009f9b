"""The transfer reference beyond its laws: killed processes, two handles at once, bad input, what it costs."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")
pytest.importorskip("langgraph.checkpoint.sqlite", reason="the SQLite saver is not installed")

from langgraph.checkpoint.memory import InMemorySaver

from lineage_conformance.contracts import transfer as contract
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
from tests.transfer_kit import opened, provider, said, statuses


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Path, str | None]]:
    """A durable store: a folder, and a DSN where it is Postgres."""
    if request.param == "sqlite":
        yield tmp_path, None
        return
    pytest.importorskip("langgraph.checkpoint.postgres")
    from pytest_lineage.postgres import PostgresUnavailable, StoreMaker, open_server

    try:
        server = open_server()
    except PostgresUnavailable as error:
        pytest.skip(str(error))
    with StoreMaker(server.dsn) as maker:
        yield tmp_path, maker.create("transfer")
    server.close()


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


def killed(store: tuple[Path, str | None], phase: str) -> None:
    folder, dsn = store
    command = [sys.executable, "-m", "tests.transfer_victim", str(folder), dsn or "-", phase]
    ended = subprocess.run(command, check=False, timeout=120, cwd=Path(__file__).parents[1])
    assert ended.returncode == -signal.SIGKILL


def test_a_process_that_dies_in_a_native_fork_locks_nobody_out_for_longer_than_its_claim(
    store: tuple[Path, str | None],
) -> None:
    killed(store, "fork")
    with ExitStack() as stack:
        now = opened(stack, *store)
        provider(now, "one", "again")
        with refused("busy"):
            now.dispatch("fork", "and now", receipt="r3")
        assert statuses(now, "fork") == [("fork", "pending", None)]
        later = opened(stack, *store, clock=lambda: time.time() + 1000)
        provider(later, "one", "again")
        run = later.dispatch("fork", "and now", receipt="r3")
        assert statuses(later, "fork") == [("fork", "consumed", "native_fork")]
        assert said(later, run.native_thread) == ["hello", "first", "and now", "again"]


@pytest.mark.parametrize("phase", ["before", "turn"])
def test_a_run_whose_process_died_is_active_until_somebody_says_what_became_of_it(
    store: tuple[Path, str | None], phase: str
) -> None:
    killed(store, phase)
    with ExitStack() as stack:
        backend = opened(stack, *store)
        provider(backend, "one", "again")
        with refused("busy"):
            backend.dispatch("fork", "and now", receipt="r3")
        (active,) = [backend.lineage("fork").active_run]
        assert active is not None
        assert backend.transfers("fork")[0].status == "resolved_native"
        backend.abandon_run(active)
        run = backend.dispatch("fork", "and now", receipt="r3")
        assert run.native_thread == backend.transfers("fork")[0].native_thread
        assert backend.transfers("fork")[0].consumed_by == run.id


def test_what_was_done_before_a_process_died_is_done(store: tuple[Path, str | None]) -> None:
    killed(store, "committed")
    with ExitStack() as stack:
        backend = opened(stack, *store)
        provider(backend, "one")
        for thread, receipt, message in (("root", "r1", "hello"), ("fork", "r3", "and now")):
            run = backend.dispatch(thread, message, receipt=receipt)
            assert said(backend, run.native_thread)[-2] == message
        assert backend.fork("root", "fork", receipt="r2").status == "pending"
        assert [c.thread_id for c in backend.children("root")] == ["fork"]


class Gated(AgentProvider):
    """Holds its forks until it is let go; counts them."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.entered, self.leave, self.forks = threading.Event(), threading.Event(), 0

    def fork(self, session: str, turn: str | None = None) -> str:
        self.forks += 1
        self.entered.set()
        assert self.leave.wait(30)
        return super().fork(session, turn)


def in_thread(results: list[Any], call: Any, *args: Any) -> threading.Thread:
    def work() -> None:
        try:
            results.append(call(*args))
        except Refused as refusal:
            results.append(refusal.code)

    thread = threading.Thread(target=work)
    thread.start()
    return thread


def test_the_second_of_two_handles_is_refused_before_it_asks_anybody(
    store: tuple[Path, str | None],
) -> None:
    with ExitStack() as stack:
        handles = [opened(stack, *store), opened(stack, *store)]
        agents = [provider(handle, "one", kind=Gated) for handle in handles]
        handles[0].open_thread("root", "one")
        handles[0].dispatch("root", "hello")
        handles[0].fork("root", "fork")
        results: list[Any] = []
        first = in_thread(results, handles[0].dispatch, "fork", "from the first")
        assert agents[0].entered.wait(30)
        for attempt in (
            lambda: handles[1].dispatch("fork", "from the second"),
            lambda: handles[1].resolve_start_context("fork", "one", "x"),
            lambda: handles[1].begin_run("fork", "one"),
        ):
            with refused("busy"):
                attempt()
        agents[0].leave.set()
        first.join(30)
        assert results[0].status == "completed"
        assert [agent.forks for agent in agents] == [1, 0]
        second = handles[1].dispatch("fork", "from the second")
        assert second.native_thread == results[0].native_thread
        moves = [move.after for move in handles[1].history(handles[1].transfers("fork")[0].id)]
        assert moves == ["pending", "resolved_native", "consumed"]


def test_first_dispatches_of_two_handles_at_a_barrier_resolve_once(
    store: tuple[Path, str | None],
) -> None:
    with ExitStack() as stack:
        handles = [opened(stack, *store), opened(stack, *store)]
        agents = [provider(handle, "one", kind=Gated) for handle in handles]
        for agent in agents:
            agent.leave.set()
        handles[0].open_thread("root", "one")
        handles[0].dispatch("root", "hello")
        for number in range(10):
            name, barrier = f"fork {number}", threading.Barrier(2)
            handles[0].fork("root", name)
            results: list[Any] = []

            def dispatch(handle: Any, name: str = name, barrier: Any = barrier) -> Any:
                barrier.wait(30)
                return handle.dispatch(name, "at once")

            threads = [in_thread(results, dispatch, handle) for handle in handles]
            for thread in threads:
                thread.join(60)
            runs = [each for each in results if not isinstance(each, str)]
            assert runs, results
            assert set(results) - set(runs) <= {"busy", "stale_context", "context_pending"}
            assert len({run.native_thread for run in runs}) == 1
            assert statuses(handles[1], name) == [("fork", "consumed", "native_fork")]
        assert sum(agent.forks for agent in agents) == 10


def test_a_receipt_at_a_barrier_acts_once(store: tuple[Path, str | None]) -> None:
    with ExitStack() as stack:
        handles = [opened(stack, *store), opened(stack, *store)]
        handles[0].use(provider(handles[1], "one"))
        handles[0].open_thread("root", "one")
        handles[0].dispatch("root", "hello")
        for number in range(10):
            barrier, results = threading.Barrier(2), []

            def fork(handle: Any, number: int = number, barrier: Any = barrier) -> Any:
                barrier.wait(30)
                return handle.fork("root", f"fork {number}", receipt=f"receipt {number}")

            threads = [in_thread(results, fork, handle) for handle in handles]
            for thread in threads:
                thread.join(60)
            assert results[0] == results[1], results
        assert len(handles[0].children("root")) == 10


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
    assert set(records.WORDS) == set(contract.CODES)
    assert records.MOVES == contract.MOVES
    assert records.CREATORS == contract.CREATORS
    assert records.LATEST_STABLE == contract.LATEST_STABLE
    for name in ("SourcePoint", "ContextTransfer", "StatusMove", "Cover", "ContextHandoff", "Run"):
        ours, theirs = getattr(records, name), getattr(contract, name)
        assert list(ours.__dataclass_fields__) == list(theirs.__dataclass_fields__)
    assert Capabilities() == Capabilities(**vars(contract.Capabilities()))


def test_odd_text_is_kept_as_it_is(store: tuple[Path, str | None]) -> None:
    odd = "a\x00b \ud800 \u202e end" if store[1] is None else "a \u202e end"
    with ExitStack() as stack:
        backend = opened(stack, *store)
        provider(backend, "one")
        backend.open_thread("root", "one")
        backend.spawn_subagent("root", "child", "one", "task: \u202e")
        context = backend.resolve_start_context("child", "one", odd)
        assert context.handoffs[0].text == "task: \u202e"
        assert backend.rebuild(context.handoffs[0].id) == context.handoffs[0]
