"""`pytest-lineage check` that is stopped halfway: by Ctrl-C, by a CI that cancels, by a terminal that closes."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pytest_lineage.cli import main
from pytest_lineage.report import jsonl

WAITS = """
import threading
from pathlib import Path

from langgraph.checkpoint.memory import InMemorySaver


class Waits(InMemorySaver):
    puts = 0

    def put(self, *args):
        Waits.puts += 1
        if Waits.puts == 200:
            Path("reached").touch()
            threading.Event().wait()
        return super().put(*args)
"""

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")


def stop_halfway(folder: Path, number: signal.Signals, *targets: str) -> subprocess.Popen[str]:
    """A check that stands in the 200th `put` and is sent a signal there; it has ended."""
    (folder / "waits.py").write_text(WAITS, encoding="utf-8")
    command = [sys.executable, "-m", "pytest_lineage", "check", "./waits.py:Waits", *targets]
    command += ["--face", "sync", "--op-limit", "300", "--report", "found.jsonl"]
    running = subprocess.Popen(
        command, cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    deadline = time.monotonic() + 60
    while not (folder / "reached").exists():
        if running.poll() is not None or time.monotonic() > deadline:
            running.kill()
            pytest.fail(f"did not come to the 200th put: {running.communicate()}")
        select.select([], [], [], 0.05)
    running.send_signal(number)
    return running


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_what_was_found_is_kept(tmp_path: Path, name: str) -> None:
    number = signal.Signals[name]
    running = stop_halfway(tmp_path, number, "memory")
    out, err = running.communicate(timeout=60)
    assert running.returncode == 128 + number, err
    assert "not run: interrupted" in out
    assert err.strip().endswith("interrupted")
    assert "not checked: memory" in err
    document = jsonl.read(tmp_path / "found.jsonl")
    assert document["exit_code"] == 4
    verdicts = [row["verdict"] for row in document["laws"]]
    assert verdicts.count("holds") > 3
    left = [row for row in document["laws"] if row.get("reason") == "not run: interrupted"]
    assert len(left) > 30
    assert {row["verdict"] for row in left} == {"inconclusive"}
    assert len(document["laws"]) == len({(row["law"], row["face"]) for row in document["laws"]})


def test_targets_that_were_done_are_kept_when_the_next_is_interrupted_while_it_opens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from pytest_lineage.run import engine

    opened: list[str] = []
    start = engine.TargetRun.start

    def interrupted(self: engine.TargetRun) -> object:
        opened.append(self.text)
        if len(opened) == 2:
            raise KeyboardInterrupt
        return start(self)

    monkeypatch.setattr(engine.TargetRun, "start", interrupted)
    monkeypatch.chdir(tmp_path)
    arguments = ["check", "memory", "sqlite", "memory", "--laws", "put", "--report", "found.jsonl"]
    assert main(arguments) == 130
    assert "not checked: sqlite, memory" in capsys.readouterr().err
    document = jsonl.read("found.jsonl")
    assert [target["name"] for target in document["targets"]] == ["memory"]
    assert document["exit_code"] == 0


def test_nothing_is_reported_where_nothing_was_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from pytest_lineage.run import engine

    def interrupted(self: engine.TargetRun) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr(engine.TargetRun, "start", interrupted)
    monkeypatch.chdir(tmp_path)
    assert main(["check", "memory", "--laws", "put"]) == 130
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.strip() == "interrupted"
