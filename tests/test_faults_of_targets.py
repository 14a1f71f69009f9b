"""A fault of the target is never taken for one of the suite: a verdict, or one error that names the operation."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lineage_conformance import law as laws
from pytest_lineage.run import engine, supervisor
from pytest_lineage.run.engine import Options, TargetRun, Unusable
from pytest_lineage.run.rows import Row

FILE = str(Path(__file__).parent / "misbehaving.py")
posix = pytest.mark.skipif(os.name == "nt", reason="needs POSIX")


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    runs: list[TargetRun] = []

    def opened(name: str, **options: Any) -> TargetRun:
        text = name if ":" in name else f"{FILE}:{name}"
        runs.append(TargetRun(text, Options(path=engine.default_path(), op_limit=1, **options)))
        return runs[-1]

    yield opened
    for run in runs:
        run.close()


def judged(run: TargetRun, law: str, face: str = "sync") -> Row:
    if not run.about:
        run.start()
    return run.judge(laws.get(law), face)


@pytest.mark.parametrize("saver", ["ListRaises", "ListLacksLimit"])
def test_a_list_that_fails_is_a_verdict(opened: Any, saver: str) -> None:
    run = opened(saver)
    row = judged(run, "list.limit")
    assert row.verdict == "broken"
    assert "list raised" in row.reason
    assert judged(run, "put.returns-its-config").verdict == "holds"


@pytest.mark.parametrize(
    ("saver", "words"),
    [
        ("DiesInProbe", "exit status 9"),
        pytest.param("Segfaults", "SIGSEGV", marks=posix),
        pytest.param("ClosesAll", "closed", marks=posix),
    ],
)
def test_a_probe_in_which_the_worker_dies_costs_its_own_laws_only(
    opened: Any, saver: str, words: str
) -> None:
    run = opened(saver)
    row = judged(run, "delete.implemented")
    assert row.verdict == "broken"
    assert words in row.reason
    assert "delete_thread" in row.reason
    assert judged(run, "put.is-readable").verdict == "holds"


@posix
def test_closed_standard_streams_do_no_harm(opened: Any) -> None:
    run = opened("ClosesStreams")
    assert judged(run, "delete.complete").verdict == "holds"
    assert judged(run, "delete.complete", "async").verdict == "holds"


@pytest.mark.parametrize(
    ("saver", "error"),
    [
        ("RaisesKeyboardInterrupt", "KeyboardInterrupt"),
        ("RaisesSystemExit", "SystemExit"),
        ("RaisesGeneratorExit", "GeneratorExit"),
        ("RaisesCancelled", "CancelledError"),
    ],
)
def test_whatever_a_method_or_an_iterator_raises_is_a_verdict(
    opened: Any, saver: str, error: str
) -> None:
    run = opened(saver)
    for law, face in (
        ("writes.round-trip", "sync"),
        ("list.limit", "sync"),
        ("put.is-readable", "async"),
    ):
        row = judged(run, law, face)
        assert (row.verdict, error in row.reason) == ("broken", True), row.reason
    assert judged(run, "put.returns-its-config").verdict == "holds"


def test_a_task_that_ends_the_event_loop_does_not_hang_the_next_law(opened: Any) -> None:
    run = opened("EndsItsLoop")
    assert judged(run, "writes.round-trip", "async").verdict == "broken"
    assert judged(run, "put.is-readable", "async").verdict == "holds"


@pytest.mark.parametrize(
    ("factory", "error"),
    [
        ("interrupts", "KeyboardInterrupt"),
        ("cancels", "CancelledError"),
        ("exits_generator", "GeneratorExit"),
        ("needs_a_running_loop", "no running event loop.*make it one"),
    ],
)
def test_whatever_a_factory_raises_is_an_error_of_the_target(
    opened: Any, factory: str, error: str
) -> None:
    with pytest.raises(Unusable, match=f"the factory raised .*{error}"):
        opened(factory).start()


@pytest.mark.parametrize(
    "error", ["KeyboardInterrupt", "SystemExit(3)", "GeneratorExit", "MemoryError"]
)
def test_whatever_an_import_raises_is_an_error_of_the_target(
    opened: Any, tmp_path: Path, error: str
) -> None:
    file = tmp_path / "raises_on_import.py"
    file.write_text(f"raise {error}\n")
    with pytest.raises(Unusable, match=f"importing .* failed: {error.partition('(')[0]}"):
        opened(f"{file}:x").start()


def test_a_factory_that_fails_later_is_a_verdict(opened: Any) -> None:
    run = opened("opens_once")
    row = judged(run, "put.is-readable")
    assert row.verdict == "broken"
    assert "too many connections" in row.reason
    assert "the factory" in row.reason


@pytest.mark.parametrize("saver", ["NoVersion", "NoAnswers"])
def test_a_saver_that_answers_nonsense_is_broken(opened: Any, saver: str) -> None:
    run = opened(saver)
    for law in ("put.is-readable", "fork.siblings-keep-their-values", "list.limit"):
        assert judged(run, law).verdict == "broken"
    row = judged(run, "graph_resume.order-is-kept")
    assert row.verdict in ("broken", "not-applicable")


def test_a_backend_that_lacks_what_a_check_reads_is_broken(opened: Any, tmp_path: Path) -> None:
    file = tmp_path / "lacks.py"
    file.write_text(
        "from lineage_reference.rollback import make as reference\n"
        "class Lacks:\n"
        "    def __init__(self, inner): self._inner = inner\n"
        "    def __getattr__(self, name): return getattr(self._inner, name)\n"
        "    def run(self, *args, **kwargs): return None\n"
        "    async def arun(self, *args, **kwargs): return None\n"
        "def make(store):\n"
        "    from langgraph.checkpoint.memory import InMemorySaver\n"
        "    return Lacks(reference(InMemorySaver(), store))\n"
    )
    run = opened(f"{file}:make", kind="rollback")
    run.start()
    rows = [run.judge(law, "sync") for law in laws.all_laws("rollback")[:6]]
    assert "broken" in {row.verdict for row in rows}
    assert {row.verdict for row in rows} <= {"broken", "holds", "not-applicable", "inconclusive"}


def test_a_wrong_declaration_is_one_error_about_the_declaration(opened: Any) -> None:
    with pytest.raises(Unusable, match=r"copy_thread is declared unsupported .*sync"):
        opened("wrongly_declared").start()


def test_a_refusal_that_changes_something_is_told_once(opened: Any) -> None:
    run = opened("refuses_and_changes")
    run.start()
    rows = [run.judge(law, "sync") for law in laws.all_laws("saver") if law.group == "copy"]
    told = [row for row in rows if row.verdict == "broken"]
    assert len(told) == 1
    assert told[0].evidence["differences"]  # type: ignore[index]
    rest = {row.verdict for row in rows if row is not told[0]}
    assert rest <= {"refused", "not-applicable"}
    assert any(told[0].law in row.reason for row in rows)


@pytest.mark.parametrize("saver", ["NeedsALoop", "AsyncElsewhere"])
def test_an_async_saver_from_a_sync_factory_is_one_hint(opened: Any, saver: str) -> None:
    with pytest.raises(Unusable, match="this factory is not async"):
        opened(saver).start()


def test_an_async_half_from_a_sync_factory_is_absent_with_the_hint(opened: Any) -> None:
    about = opened("BothElsewhere").start()
    assert about["faces"] == ["sync"]
    assert "this factory is not async" in about["absent"]["async"]


def test_an_async_factory_gets_no_such_hint(opened: Any) -> None:
    run = opened("async_complains")
    assert judged(run, "put.is-readable", "async").verdict == "broken"


@posix
def test_a_factory_that_hangs_shows_where_it_stands(opened: Any, tmp_path: Path) -> None:
    file = tmp_path / "hangs.py"
    file.write_text("import threading\ndef hangs_at_start():\n    threading.Event().wait()\n")
    with pytest.raises(Unusable) as caught:
        opened(f"{file}:hangs_at_start", start_limit=1.0).start()
    message = str(caught.value)
    assert "no answer for 1 s while the factory ran" in message
    assert "--start-limit" in message
    assert "in hangs_at_start" in message
    assert "lineage-loop" not in message


@posix
def test_an_import_that_hangs_shows_where_it_stands(opened: Any, tmp_path: Path) -> None:
    file = tmp_path / "hangs_on_import.py"
    file.write_text("import threading\nthreading.Event().wait()\n")
    with pytest.raises(Unusable, match="no answer for 1 s while importing it") as caught:
        opened(f"{file}:x", start_limit=1.0).start()
    assert "hangs_on_import.py" in str(caught.value)


def test_the_limit_for_opening_is_twenty_seconds() -> None:
    assert supervisor.Limits().start == 20.0


def test_hangs_of_one_operation_end(opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from pytest_lineage.run import endings

    monkeypatch.setattr(endings, "MOST", 1)
    run = opened("HangsInDelete")
    assert judged(run, "delete.complete").verdict == "hangs"
    row = judged(run, "delete.idempotent")
    assert row.verdict == "inconclusive"
    assert "in delete_thread before" in row.reason
    assert judged(run, "put.is-readable").verdict == "holds"


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
def test_a_killed_worker_leaves_nothing_behind(
    opened: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("LINEAGE_STORE_DIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    run = opened("LeavesTheGroup")
    run.start()
    mark = run._worker._own.mark.encode()
    assert judged(run, "writes.round-trip").verdict == "broken"
    run.close()
    assert list(tmp_path.iterdir()) == []
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline and (left := living(mark)):
        select.select([], [], [], 0.02)
    assert not left


def living(mark: bytes) -> list[str]:
    """Processes that carry a mark; what ended and was not waited for has no environment."""
    found = []
    for environ in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark in environ.read_bytes():
                found.append(environ.parent.name)
        except OSError:
            continue
    return found


@posix
def test_what_an_interrupt_left_unmade_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_STORE_DIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    def interrupted(*args: Any, **options: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(supervisor.subprocess, "Popen", interrupted)
    with pytest.raises(KeyboardInterrupt):
        supervisor.Worker({"target": "memory"}, supervisor.Limits())
    assert list(tmp_path.iterdir())
    supervisor._end_all()
    assert list(tmp_path.iterdir()) == []
