"""The transfer reference on durable stores: killed processes, and two handles at once."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")
pytest.importorskip("langgraph.checkpoint.sqlite", reason="the SQLite saver is not installed")

from langgraph.checkpoint.memory import InMemorySaver

from lineage_reference.transfer import Refused, make, records
from lineage_reference.transfer.agent import AgentProvider
from tests.transfer_kit import opened, provider, said, statuses


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    """A Postgres server, if there is one."""
    pytest.importorskip("langgraph.checkpoint.postgres")
    from pytest_lineage.postgres import PostgresUnavailable, StoreMaker, open_server

    try:
        found = open_server()
    except PostgresUnavailable as error:
        pytest.skip(str(error).splitlines()[0])
    try:
        with StoreMaker(found.dsn) as stores:
            yield stores
    finally:
        found.close()


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, str | None]:
    """A durable store: a folder, and a DSN where it is Postgres."""
    if request.param == "sqlite":
        return tmp_path, None
    name = "transfer" + uuid.uuid4().hex[:12]
    return tmp_path, str(request.getfixturevalue("server").create(name))


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


def test_odd_text_is_kept_as_it_is(store: tuple[Path, str | None]) -> None:
    odd = "a\x00b \u202e end"
    with ExitStack() as stack:
        saver = InMemorySaver()
        folder = SimpleNamespace(path=store[0], dsn=store[1])
        backend: Any = stack.enter_context(make(saver, folder))
        provider(backend, "one", odd)
        provider(backend, "two")
        backend.open_thread("root", "one")
        backend.dispatch("root", "x")
        context = backend.resolve_start_context("root", "two", "y")
        again = backend.resolve_start_context("root", "two", "y")
        assert odd in context.handoffs[0].text
        assert context.handoffs[0].items[-1].content == odd
        assert again == context
        assert backend.rebuild(context.handoffs[0].id) == context.handoffs[0]
