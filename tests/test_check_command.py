"""`pytest-lineage check` on targets that behave, and on all that do not."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from pytest_lineage.cli import main

HERE = Path(__file__).parent
FILE = str(HERE / "misbehaving.py")


def check(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any], str]:
    """Run `check` with JSON output: exit code, document, what went to standard error."""
    capsys.readouterr()
    code = main(["check", *arguments, "--format", "json", "--profile", "quick"])
    captured = capsys.readouterr()
    return code, json.loads(captured.out), captured.err


def verdicts(document: dict[str, Any], law: str) -> dict[str, str]:
    return {row["face"]: row["verdict"] for row in document["laws"] if row["law"] == law}


def test_a_sound_saver_is_good_on_four_faces(capsys: pytest.CaptureFixture[str]) -> None:
    code, document, _ = check(capsys, "memory", "--laws", "put,fork")
    assert code == 0
    assert set(verdicts(document, "put.is-readable")) == {
        "sync",
        "async",
        "sync->async",
        "async->sync",
    }
    assert {"law", "face", "target", "level", "verdict"} <= set(document["laws"][0])
    assert document["versions"]["langgraph-checkpoint"]
    assert document["exit_code"] == 0


@pytest.mark.parametrize(
    "factory",
    ["as_context_manager", "as_async_context_manager", "as_coroutine", "as_async_generator", "instance",
     "Sound", "declared"],
)  # fmt: skip
def test_every_shape_of_factory_is_opened(capsys: pytest.CaptureFixture[str], factory: str) -> None:
    code, document, _ = check(capsys, f"{FILE}:{factory}", "--laws", "put.is-readable")
    assert code == 0, document
    assert document["targets"][0]["class"].endswith("Sound")


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("sqlit", "did you mean sqlite"),
        ("no_such_module_here:x", "there is no module 'no_such_module_here'"),
        ("./no_such_file.py:x", "there is no file 'no_such_file.py'"),
        (f"{FILE}:nothin", "did you mean"),
        (f"{FILE}:nothing", "gave None"),
        (f"{FILE}:a_number", "gave int"),
        (f"{FILE}:yields_nothing", "yielded nothing"),
        (f"{FILE}:raises", "ConnectionError"),
        (f"{FILE}:exits", "exit status 3"),
        (f"{FILE}:filled", "--allow-nonempty"),
    ],
)
def test_a_target_that_cannot_be_used_is_one_message_and_exit_2(
    capsys: pytest.CaptureFixture[str], target: str, message: str
) -> None:
    code, document, error = check(capsys, target, "--laws", "put")
    assert code == 2
    assert message in document["targets"][0]["error"]
    assert message in error
    assert "Traceback" not in error
    assert "secret" not in error
    assert "secret" not in json.dumps(document)


def test_other_targets_are_still_checked(capsys: pytest.CaptureFixture[str]) -> None:
    code, document, _ = check(capsys, "nosuch", "memory", "--laws", "put.is-readable")
    assert code == 2
    assert set(verdicts(document, "put.is-readable").values()) == {"holds"}


def test_a_nonempty_target_is_checked_when_asked_to(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, _ = check(capsys, f"{FILE}:filled", "--laws", "put.is-readable", "--allow-nonempty")
    assert code == 0


@pytest.mark.parametrize("saver", ["HangsInGet", "HangsInC", "Swallows"])
def test_a_hang_is_a_verdict_and_the_run_goes_on(
    capsys: pytest.CaptureFixture[str], saver: str
) -> None:
    wanted = "put.is-readable,writes.round-trip,put.returns-its-config"
    code, document, _ = check(
        capsys, f"{FILE}:{saver}", "--laws", wanted, "--face", "sync", "--op-limit", "1"
    )
    assert code == 1
    hung = [row for row in document["laws"] if row["verdict"] == "hangs"]
    assert hung
    assert all(row["evidence"]["program"]["ops"] for row in hung)
    assert verdicts(document, "put.returns-its-config") == {"sync": "holds"}


def test_a_hang_of_an_optional_operation_costs_its_own_laws_only(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, document, _ = check(
        capsys, f"{FILE}:HangsInDelete", "--laws", "put.is-readable,delete.complete", "--face", "sync",
        "--op-limit", "1",
    )  # fmt: skip
    assert code == 1
    assert verdicts(document, "put.is-readable") == {"sync": "holds"}
    assert verdicts(document, "delete.complete") == {"sync": "hangs"}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs POSIX signals")
def test_a_hang_shows_where_the_saver_stands(capsys: pytest.CaptureFixture[str]) -> None:
    _, document, _ = check(
        capsys,
        f"{FILE}:HangsInGet",
        "--laws",
        "put.is-readable",
        "--face",
        "sync",
        "--op-limit",
        "1",
    )
    assert "in get_tuple" in document["laws"][0]["evidence"]["stack"]


@pytest.mark.parametrize(
    ("saver", "words"),
    [("Dies", "exit status 7"), ("SysExits", "SystemExit"),
     pytest.param("Killed", "SIGKILL", marks=pytest.mark.skipif(os.name == "nt", reason="no SIGKILL"))],
)  # fmt: skip
def test_a_death_is_a_verdict_and_the_run_goes_on(
    capsys: pytest.CaptureFixture[str], saver: str, words: str
) -> None:
    code, document, _ = check(
        capsys, f"{FILE}:{saver}", "--laws", "writes.round-trip,put.is-readable", "--face", "sync"
    )
    assert code == 1
    row = next(row for row in document["laws"] if row["law"] == "writes.round-trip")
    assert row["verdict"] == "broken"
    assert words in row["reason"]
    assert verdicts(document, "put.is-readable") == {"sync": "holds"}


@pytest.mark.skipif(os.name == "nt", reason="no fork")
def test_a_process_that_outlives_a_dead_worker_is_not_waited_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    started = time.monotonic()
    code, document, _ = check(
        capsys, f"{FILE}:LeavesAProcess", "--laws", "writes.round-trip", "--face", "sync"
    )
    assert code == 1
    assert "exit status 7" in document["laws"][0]["reason"]
    assert time.monotonic() - started < 18, "waited for the process that was left behind"


@pytest.mark.parametrize("saver", ["Prints", "Forks"])
def test_a_saver_that_prints_or_forks_does_no_harm(
    capsys: pytest.CaptureFixture[str], saver: str
) -> None:
    code, document, _ = check(
        capsys, f"{FILE}:{saver}", "--laws", "put.is-readable,writes.round-trip", "--face", "sync"
    )
    assert code == 0, document["laws"]


@pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")
def test_a_worker_that_hangs_ends_when_its_supervisor_is_killed() -> None:
    code = (
        "import os, signal\n"
        "from pytest_lineage.run.supervisor import Limits, Worker\n"
        f"worker = Worker({{'target': {FILE + ':hangs_at_start'!r}}}, Limits())\n"
        "print(worker._process.pid, flush=True)\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    pid = int(done.stdout)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        select.select([], [], [], 0.2)
    os.kill(pid, signal.SIGKILL)
    pytest.fail("the worker was still there after a minute")


def test_a_factory_that_never_returns_is_a_target_error(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from pytest_lineage.run import supervisor

    monkeypatch.setattr(supervisor.Limits, "start", 3.0)
    original = supervisor.Limits.__init__
    monkeypatch.setattr(
        supervisor.Limits, "__init__", lambda self, **kw: original(self, start=3.0, **kw)
    )
    code, document, _ = check(capsys, f"{FILE}:hangs_at_start", "--laws", "put")
    assert code == 2
    assert "no answer for 3 s" in document["targets"][0]["error"]


def test_a_method_that_is_not_implemented_is_no_face(capsys: pytest.CaptureFixture[str]) -> None:
    code, document, _ = check(capsys, f"{FILE}:NotImplementedAsync", "--laws", "put.is-readable")
    assert code == 0
    assert document["targets"][0]["faces"] == ["sync"]
    assert "use the sync half" in document["targets"][0]["absent"]["async"]


def test_declared_limits_and_operations_are_honoured(capsys: pytest.CaptureFixture[str]) -> None:
    code, document, _ = check(
        capsys, f"{FILE}:declared", "--laws", "fork.siblings-keep-their-values,copy,put.is-readable"
    )
    assert code == 0
    assert set(verdicts(document, "fork.siblings-keep-their-values").values()) == {"not-applicable"}
    copies = {row["verdict"] for row in document["laws"] if row["group"] == "copy"}
    assert copies - {"not-applicable"} == {"refused"}
    assert document["targets"][0]["limits"] == {"history": "keeps the head only"}


def test_nothing_ran_is_incomplete(capsys: pytest.CaptureFixture[str]) -> None:
    code, document, _ = check(capsys, "memory", "--laws", "copy")
    assert code == 4
    assert document["targets"][0]["incomplete"]


def test_the_time_limit_leaves_the_rest_inconclusive(capsys: pytest.CaptureFixture[str]) -> None:
    code, document, _ = check(capsys, "memory", "--time-limit", "0.001")
    assert code == 4
    assert {"inconclusive"} <= {row["verdict"] for row in document["laws"]}


def test_exitfirst_stops_at_the_first_broken_must(capsys: pytest.CaptureFixture[str]) -> None:
    code, document, _ = check(capsys, f"{FILE}:LosesWrites", "--laws", "writes", "--exitfirst")
    assert code == 1
    assert sum(row["verdict"] == "broken" for row in document["laws"]) == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["check", "memory", "--laws", "frok.*"], "no law"),
        (["check", "memory", "--time-limit", "0"], "more than 0"),
        (["check", "memory", "--report", "/proc/no/such/file"], "cannot be written"),
        (["explain", "put.is-readible"], "put.is-readable"),
        (["explain"], "name a law"),
        (["init", "not a module"], "MODULE:ATTRIBUTE"),
    ],
)
def test_wrong_usage_is_one_message_and_exit_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    assert main(arguments) == 2
    captured = capsys.readouterr()
    assert words in captured.err
    assert captured.err.count("\n") <= 2


def test_langgraph_json_is_a_door(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "my_saver.py").write_text(
        "from langgraph.checkpoint.memory import InMemorySaver\ndef make():\n    return InMemorySaver()\n"
    )
    file = tmp_path / "langgraph.json"
    file.write_text('{"checkpointer": {"path": "./my_saver.py:make"}}')
    code, _, _ = check(capsys, str(file), "--laws", "put.is-readable")
    assert code == 0
    file.write_text("{}")
    code, document, _ = check(capsys, str(file), "--laws", "put.is-readable")
    assert code == 2
    assert "checkpointer.path" in document["targets"][0]["error"]


def test_the_peer_suites_object_is_a_target(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    pytest.importorskip("langgraph.checkpoint.conformance")
    file = tmp_path / "peer_object.py"
    file.write_text(
        "from langgraph.checkpoint.conformance import checkpointer_test\n"
        "from langgraph.checkpoint.memory import InMemorySaver\n"
        "@checkpointer_test(name='Peer', skip_capabilities={'prune'})\n"
        "async def peer():\n    yield InMemorySaver()\n"
    )
    code, document, _ = check(capsys, f"{file}:peer", "--laws", "put.is-readable")
    assert code == 0
    assert document["targets"][0]["name"] == "Peer"
    assert "prune" in document["targets"][0]["unsupported"]


def test_coverage_of_the_target_names_lines_that_no_law_reached(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("coverage")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "covered.py").write_text(
        "from langgraph.checkpoint.memory import InMemorySaver\n"
        "class Saver(InMemorySaver):\n"
        "    def put(self, *args, **kwargs):\n"
        "        return super().put(*args, **kwargs)\n"
        "    def never(self):\n"
        "        return 1\n"
    )
    code, _, error = check(capsys, "./covered.py:Saver", "--laws", "put.is-readable", "--cov")
    assert code == 0
    assert "covered.py" in error
    assert "no law reached 6" in error


def test_the_console_script_runs_as_a_module_too() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest_lineage", "laws", "put", "--format", "json"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert json.loads(done.stdout)["laws"][0]["id"] == "put.is-readable"
