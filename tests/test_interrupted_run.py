"""`pytest-lineage check` that is stopped halfway: by Ctrl-C, by a CI that cancels, by a terminal that closes."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest

from pytest_lineage.cli import main, signals
from pytest_lineage.report import jsonl
from pytest_lineage.run import engine

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

# Whoever runs the tests may have had signals ignored (nohup, a job in the background), which is inherited.
AS_USUAL = """
import signal
import sys

signal.signal(signal.SIGINT, signal.default_int_handler)
for number in (signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_DFL)

from pytest_lineage.cli import main

sys.exit(main())
"""

pytestmark = pytest.mark.skipif(os.name == "nt", reason="needs POSIX signals")


def stop_halfway(folder: Path, number: signal.Signals, *targets: str) -> subprocess.Popen[str]:
    """A check that stands in the 200th `put` and is sent a signal there; it has ended."""
    (folder / "waits.py").write_text(WAITS, encoding="utf-8")
    command = [sys.executable, "-c", AS_USUAL, "check", "./waits.py:Waits", *targets]
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


def test_a_second_ctrl_c_loses_nothing(tmp_path: Path) -> None:
    running = stop_halfway(tmp_path, signal.SIGINT)
    running.send_signal(signal.SIGINT)
    _, err = running.communicate(timeout=60)
    assert running.returncode == 130, err
    document = jsonl.read(tmp_path / "found.jsonl")
    assert {"holds", "inconclusive"} <= {row["verdict"] for row in document["laws"]}


def test_signals_interrupt_once_say_so_and_then_again(capsys: pytest.CaptureFixture[str]) -> None:
    outer = signal.signal(signal.SIGINT, signal.default_int_handler)
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    assert before[1] is signal.SIG_DFL
    with signals.interrupt_once():
        with pytest.raises(KeyboardInterrupt) as caught:
            signal.raise_signal(signal.SIGTERM)
        assert caught.value.args == (signal.SIGTERM,)
        signal.raise_signal(signal.SIGINT)
        assert "writing what was found" in capsys.readouterr().err
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert before == [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    signal.signal(signal.SIGINT, outer)


def test_an_ignored_signal_stays_ignored() -> None:
    kept = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as under nohup
    try:
        with signals.interrupt_once():
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, kept)


def interrupt_at(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Let the opening of the target of that number be interrupted."""
    opened: list[str] = []
    start = engine.TargetRun.start

    def interrupted(self: engine.TargetRun) -> object:
        opened.append(self.text)
        if len(opened) == number:
            raise KeyboardInterrupt
        return start(self)

    monkeypatch.setattr(engine.TargetRun, "start", interrupted)


def test_targets_that_were_done_are_kept_when_the_next_is_interrupted_while_it_opens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    interrupt_at(monkeypatch, 2)
    monkeypatch.chdir(tmp_path)
    arguments = ["check", "memory", "sqlite", "memory", "--laws", "put", "--report", "found.jsonl"]
    assert main(arguments) == 130
    assert "not checked: memory" in capsys.readouterr().err
    document = jsonl.read("found.jsonl")
    errors = {target["name"]: target.get("error", "") for target in document["targets"]}
    assert errors == {"memory": "", "sqlite": "sqlite: interrupted while it was opened"}
    assert {row["verdict"] for row in document["laws"] if row["target"] == "memory"} == {"holds"}


def test_an_interrupt_before_anything_was_found_leaves_a_report_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    interrupt_at(monkeypatch, 1)
    monkeypatch.chdir(tmp_path)
    arguments = ["check", "memory", "--laws", "put", "--report", "r.jsonl", "--junit", "r.xml"]
    assert main(arguments) == 130
    captured = capsys.readouterr()
    assert "interrupted while it was opened" in captured.out
    assert captured.err.strip() == "interrupted"
    assert jsonl.read("r.jsonl")["exit_code"] == 2
    assert main(["report", "show", "r.jsonl"]) in (0, 2)
    ElementTree.parse("r.xml")
