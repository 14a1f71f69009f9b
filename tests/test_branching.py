"""The branching reference beyond its laws: killed processes, cancelled tasks, tampered tables, sizes."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")

from langchain_core.messages import AIMessage, HumanMessage
from sqlalchemy import func, select, update

from lineage_reference.branching import BranchingBackend, make, sqlite_engine
from lineage_reference.branching.records import (
    BrokenLineage,
    HasBranches,
    NotCompleted,
    Refused,
    Row,
    Swept,
    UnknownConversation,
)
from lineage_reference.branching.tables import (
    BODIES,
    CONVERSATIONS,
    OWNED,
    SNAPSHOTS,
    reading,
    writing,
)
from lineage_reference.saver import StrictSaver
from lineage_reference.steps import run
from tests.branching_victim import opened
from tests.mutants.branching import CopiesSnapshots


def turn(backend: Any, thread: str, *rows: tuple[str, str, str]) -> int:
    """One recorded turn, its thread written without an agent."""
    number = int(backend.begin_turn(thread))
    for row in rows:
        backend.write(thread, *row)
    seeder = backend.seeder.seeder
    config = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
    messages = list(seeder.get_state(config).values.get("messages") or [])
    messages += [HumanMessage("q", id=f"h{number}"), AIMessage("a", id=f"a{number}")]
    made = seeder.update_state(config, {"messages": messages}, as_node="__start__")
    backend.end_turn(thread, number, made["configurable"]["checkpoint_id"])
    return number


def ids(backend: Any, thread: str) -> list[str]:
    config: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
    return [m.id for m in backend.seeder.seeder.get_state(config).values.get("messages") or []]


@pytest.fixture
def backend(tmp_path: Path) -> Iterator[BranchingBackend]:
    with make(StrictSaver(), SimpleNamespace(path=tmp_path, dsn=None)) as made:
        assert isinstance(made, BranchingBackend)
        made.create("source")
        turn(made, "source", ("documents", "plan", "one"), ("artifacts", "chart", "one"))
        turn(made, "source", ("documents", "plan", "two"))
        yield made


def rows_of(backend: Any, thread: str) -> dict[str, int]:
    """How many rows of each table a conversation has."""
    with reading(backend.engine) as db:
        found = {
            table.name: db.execute(
                select(func.count()).select_from(table).where(table.c.thread_id == thread)
            ).scalar_one()
            for table in OWNED
        }
    return {name: count for name, count in found.items() if count}


# -- killed ------------------------------------------------------------------------------------------


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, str]]:
    """A folder, and the DSN of an empty database or "-"."""
    if request.param == "sqlite":
        pytest.importorskip("langgraph.checkpoint.sqlite")
        yield str(tmp_path), "-"
        return
    pytest.importorskip("langgraph.checkpoint.postgres")
    from pytest_lineage.postgres import PostgresUnavailable, StoreMaker, open_server

    try:
        server = open_server()
    except PostgresUnavailable as error:
        pytest.skip(str(error).splitlines()[0])
    try:
        with StoreMaker(server.dsn) as stores:
            yield str(tmp_path), stores.create("victim")
    finally:
        server.close()


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_killed_process_leaves_a_whole_branch_or_nothing(place: tuple[str, str]) -> None:
    folder, dsn = place
    with ExitStack() as stack:
        backend = opened(stack, folder, dsn)
        backend.create("source")
        turn(backend, "source", ("documents", "plan", "one"))
        turn(backend, "source", ("documents", "plan", "two"))
    for phase in ("rows", "inside", "seeded", "active"):
        command = [sys.executable, "-m", "tests.branching_victim", folder, dsn, phase]
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=Path(__file__).parents[1]
        )
        assert done.returncode == -signal.SIGKILL, done.stderr
        with ExitStack() as stack:
            backend = opened(stack, folder, dsn)
            known = list(map(_thread, backend.saver.list(None)))
            visible = backend.branches("source")
            assert len(visible) == (phase == "active")
            swept = backend.sweep(0)
            assert len(swept) == (phase != "active")
            if phase in ("inside", "seeded"):
                assert swept[0] in known
            for each in visible:
                assert ids(backend, each.thread_id) == ["h1", "a1"]
                assert backend.workspace(each.thread_id) == [Row("documents", "plan", "one", None)]
            threads = set(map(_thread, backend.saver.list(None)))
            assert threads == {"source", *(each.thread_id for each in visible)}
            assert all(rows_of(backend, thread) == {} for thread in swept)
            assert backend.sweep(0) == []
            for each in visible:
                backend.delete(each.thread_id)


def _thread(found: Any) -> str:
    return str(found.config["configurable"]["thread_id"])


# -- failing, cancelled, swept -----------------------------------------------------------------------


@pytest.mark.parametrize("phase", ["rows", "seeded", "active"])
def test_a_cancelled_creation_is_taken_back(backend: BranchingBackend, phase: str) -> None:
    async def go() -> None:
        reached = asyncio.Event()

        async def passing(at: str) -> None:
            if at == phase:
                reached.set()
                await asyncio.Event().wait()

        task = asyncio.ensure_future(backend.abranch("source", 1, passing))
        await reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(go())
    # Once active it is whole, so that it may stay; this backend takes nothing back then.
    visible = backend.branches("source")
    assert len(visible) == (phase == "active")
    assert {_thread(t) for t in backend.saver.list(None)} == {
        "source",
        *(v.thread_id for v in visible),
    }


def test_what_cannot_be_taken_back_now_is_left_to_the_sweeper_unseen(
    backend: BranchingBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(thread: str) -> None:
        raise ConnectionError("the saver is away")

    def passing(phase: str) -> None:
        if phase == "seeded":
            raise RuntimeError("failed")

    with monkeypatch.context() as patch:
        patch.setattr(backend.saver, "delete_thread", refuse)
        with pytest.raises(RuntimeError, match="failed"):
            backend.branch("source", 1, passing)
        assert backend.branches("source") == []
        assert len({_thread(t) for t in backend.saver.list(None)}) == 2
    assert len(backend.sweep(0)) == 1
    assert {_thread(t) for t in backend.saver.list(None)} == {"source"}


def test_a_saver_that_deletes_no_threads_keeps_them_and_nobody_knows(
    backend: BranchingBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(thread: str) -> None:
        raise NotImplementedError

    monkeypatch.setattr(backend.saver, "delete_thread", refuse)
    made = backend.branch("source", 1)
    backend.delete(made.thread_id)
    assert rows_of(backend, made.thread_id) == {}


def test_a_creation_that_was_swept_says_so(backend: BranchingBackend) -> None:
    def passing(phase: str) -> None:
        if phase == "seeded":
            assert len(backend.sweep(0)) == 1

    with pytest.raises(Swept):
        backend.branch("source", 1, passing)
    assert backend.branches("source") == []
    assert {_thread(t) for t in backend.saver.list(None)} == {"source"}


def test_the_sweeper_goes_by_age(tmp_path: Path) -> None:
    now = [1000.0]
    engine = sqlite_engine(str(tmp_path / "b.sqlite"))
    backend = BranchingBackend(StrictSaver(), engine, clock=lambda: now[0])
    backend.create("source")
    with writing(engine) as db:
        db.execute(update(CONVERSATIONS).values(status="pending"))
    now[0] += 3599
    assert backend.sweep() == []
    now[0] += 1
    assert backend.sweep() == ["source"]
    engine.dispose()


def test_many_branches_at_once(backend: BranchingBackend) -> None:
    made: list[Any] = []
    barrier = threading.Barrier(6)

    def work() -> None:
        barrier.wait()
        made.append(backend.branch("source", 1))

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 6
    assert sorted(each.thread_id for each in made) == sorted(
        each.thread_id for each in backend.branches("source")
    )
    for each in made:
        assert ids(backend, each.thread_id) == ["h1", "a1"]
        assert [row.body for row in backend.workspace(each.thread_id)] == ["one", "one"]


# -- lineage -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("read", ["history", "decision_map", "graph"])
def test_parents_in_a_circle_are_refused(backend: BranchingBackend, read: str) -> None:
    one = backend.branch("source", 1)
    two = backend.branch(one.thread_id, 1)
    with writing(backend.engine) as db:
        db.execute(
            update(CONVERSATIONS)
            .where(CONVERSATIONS.c.thread_id == "source")
            .values(parent_id=two.thread_id)
        )
    with pytest.raises(BrokenLineage):
        getattr(backend, read)(one.thread_id)
    with pytest.raises(BrokenLineage):
        backend.branch(one.thread_id, 0)


def test_a_branch_at_an_inherited_turn_hangs_on_whose_turn_it_is(backend: BranchingBackend) -> None:
    one = backend.branch("source", 2)
    turn(backend, one.thread_id)
    assert backend.branch(one.thread_id, 1).parent_id == "source"
    assert backend.branch(one.thread_id, 2).parent_id == one.thread_id
    assert backend.branch(one.thread_id, 3).parent_id == one.thread_id


def test_an_edit_between_turns_can_be_recorded(backend: BranchingBackend) -> None:
    config = {"configurable": {"thread_id": "source", "checkpoint_ns": ""}}
    made = backend.seeder.seeder.update_state(
        config, {"messages": [HumanMessage("all new", id="n")]}, as_node="__start__"
    )
    assert ids(backend, backend.branch("source", 2).thread_id) == ["h1", "a1", "h2", "a2"]
    backend.end_turn("source", 2, made["configurable"]["checkpoint_id"])
    assert ids(backend, backend.branch("source", 2).thread_id) == ["n"]


def test_the_graph_endpoint_is_json_data(backend: BranchingBackend) -> None:
    made = backend.restore("source", 1)
    name = made.thread_id
    turn(backend, name)
    assert backend.graph(name) == {
        "nodes": [
            {"id": "source#0", "origin": "root"},
            {"id": "source#1", "completed": True},
            {"id": "source#2", "completed": True},
            {"id": f"{name}#1", "origin": "restore"},
            {"id": f"{name}#2", "completed": True},
        ],
        "edges": [
            {"from": "source#0", "to": "source#1", "kind": "turn"},
            {"from": "source#1", "to": "source#2", "kind": "turn"},
            {"from": "source#1", "to": f"{name}#1", "kind": "restore"},
            {"from": f"{name}#1", "to": f"{name}#2", "kind": "turn"},
        ],
        "complete": True,
    }
    assert asyncio.run(backend.agraph(name)) == backend.graph(name)


def test_refusals(backend: BranchingBackend) -> None:
    with pytest.raises(Refused, match="already"):
        backend.create("source")
    with pytest.raises(Refused, match="a workspace holds"):
        backend.write("source", "secrets", "x", "y")
    with pytest.raises(Refused, match="artifacts are kept"):
        backend.write("source", "artifacts", "chart", None)
    with pytest.raises(Refused, match="the last turn"):
        backend.end_turn("source", 1)
    with pytest.raises(UnknownConversation):
        backend.workspace("nobody")
    backend.begin_turn("source")
    with pytest.raises(NotCompleted):
        backend.begin_turn("source")
    backend.branch("source", 1)
    with pytest.raises(HasBranches):
        backend.delete("source")


# -- sizes -------------------------------------------------------------------------------------------


def grown(backend: Any, turns: int) -> dict[str, int]:
    """Rows of a branch of a conversation with so many turns."""
    backend.create("long")
    for number in range(turns):
        turn(backend, "long", ("documents", "plan", f"{number}"))
    backend.write("long", "documents", "big", "x" * 2**20)
    return rows_of(backend, backend.branch("long", turns).thread_id)


def test_rows_of_a_branch_do_not_grow_with_the_turns_before_it(tmp_path: Path) -> None:
    def rows(cls: Any, turns: int) -> dict[str, int]:
        engine = sqlite_engine(str(tmp_path / f"{cls.__name__}-{turns}.sqlite"))
        try:
            return grown(cls(StrictSaver(), engine), turns)
        finally:
            engine.dispose()

    few = rows(BranchingBackend, 3)
    assert few == rows(BranchingBackend, 9)
    assert SNAPSHOTS.name not in few
    assert rows(CopiesSnapshots, 3) != rows(CopiesSnapshots, 9), "the mutant is not noticed"


def test_a_body_is_stored_once_however_many_turns_keep_it(backend: BranchingBackend) -> None:
    backend.write("source", "documents", "big", "x" * 2**20)
    for _ in range(5):
        turn(backend, "source")
    with reading(backend.engine) as db:
        size = db.execute(
            select(func.sum(func.length(BODIES.c.body))).where(BODIES.c.thread_id == "source")
        ).scalar_one()
    assert size == 2**20 + len("one" + "two")
    assert run(backend._sweep(0)) == []
