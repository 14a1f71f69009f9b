"""Where a run stands: on a terminal and in a log."""

from __future__ import annotations

import io

import pytest

from pytest_lineage.report.progress import Progress
from pytest_lineage.run.rows import Row


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def row(verdict: str = "holds") -> Row:
    return Row("put.is-readable", "sync", "acme", "MUST", verdict, "put")


def judge(progress: Progress, clock: Clock, seconds: float, verdict: str = "holds") -> None:
    progress.begins("put.is-readable", "sync")
    clock.now += seconds
    progress.done(row(verdict))


def test_a_log_gets_a_line_a_minute() -> None:
    clock, stream = Clock(), io.StringIO()
    progress = Progress(stream, clock)
    progress.started({"name": "acme"}, 40)
    for _ in range(20):
        judge(progress, clock, 10)
    judge(progress, clock, 300, "broken")
    progress.begins("fork.is-apart", "async")
    progress.clear()
    assert stream.getvalue().splitlines() == [
        "acme: 6/40, 6 min left, put.is-readable[sync]",
        "acme: 12/40, 5 min left, put.is-readable[sync]",
        "acme: 18/40, 4 min left, put.is-readable[sync]",
        "acme: 21/40, 1 broken, 8 min left, fork.is-apart[async]",
    ]


def test_a_short_run_says_nothing_in_a_log() -> None:
    clock, stream = Clock(), io.StringIO()
    progress = Progress(stream, clock)
    progress.started({"name": "acme"}, 40)
    for _ in range(40):
        judge(progress, clock, 1)
    progress.clear()
    assert stream.getvalue() == ""


def test_a_terminal_has_one_line_that_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "60")
    clock, stream = Clock(), Terminal()
    progress = Progress(stream, clock)
    progress.started({"name": "acme"}, 2)
    clock.now += 1
    judge(progress, clock, 5)
    progress.begins("fork.is-apart", "async")
    progress.clear()
    lines = stream.getvalue().split("\r")
    assert lines[1].rstrip() == "acme: 0/2, put.is-readable[sync]"
    assert lines[2].rstrip() == "acme: 1/2, 6 s left, fork.is-apart[async]"
    assert lines[3].strip() == ""
    assert "\n" not in stream.getvalue()
    assert all(len(line) < 60 for line in lines)
