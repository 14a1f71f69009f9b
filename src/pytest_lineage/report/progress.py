"""Where a run stands: one line on a terminal, written anew all the time; elsewhere a line a minute.

A line says the target, the law that is being judged, how many verdicts there are, and how long the rest may take.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Mapping
from typing import Any, TextIO

from pytest_lineage.run.rows import Row

EARLY = 5.0
"""Seconds after which a run can be estimated."""

OFTEN, SELDOM = 0.1, 60.0
"""Seconds between two lines: on a terminal, and in a log."""


class Progress:
    """Tells `stream` where a run stands. `now` is a clock in seconds."""

    def __init__(self, stream: TextIO, now: Callable[[], float] = time.monotonic) -> None:
        self._stream, self._now = stream, now
        self._terminal = stream.isatty() and os.environ.get("TERM") != "dumb"
        self._total = self._done = self._bad = 0
        self._target = ""
        self._costs: Mapping[str, float] = {}
        self._spent, self._whole, self._told = 0.0, 0.0, True
        self._start = self._shown = now()
        self._line = False

    def started(self, about: dict[str, Any], total: int) -> None:
        """A target was opened and `total` verdicts will follow."""
        self._target, self._total, self._done, self._bad = about["name"], total, 0, 0
        self._costs, self._spent = about.get("costs") or {}, 0.0
        self._whole = (
            sum(self._costs.values()) * (total / len(self._costs)) if self._costs else total
        )
        self._start, self._told = self._now(), not self._costs

    def begins(self, law: str, face: str) -> None:
        """A law is going to be judged on a face."""
        now = self._now()
        if not self._told and now - self._start >= EARLY:
            self._estimate(now)
        if now - self._shown < (OFTEN if self._terminal else SELDOM):
            return
        self._shown = now
        bad = f", {self._bad} broken" if self._bad else ""
        left = ""
        if self._done:
            left = f", {_time(self._left(now))} left"
        text = f"{self._target}: {self._done}/{self._total}{bad}{left}, {law}[{face}]"
        if self._terminal:
            width = shutil.get_terminal_size().columns - 1
            self._stream.write("\r" + text[:width].ljust(width))
            self._line = True
        else:
            self._stream.write(text + "\n")
        self._stream.flush()

    def done(self, row: Row) -> None:
        """One more verdict."""
        self._done += 1
        self._spent += self._costs.get(row.law, 1.0)
        self._bad += row.verdict in ("broken", "hangs")

    def _left(self, now: float) -> float:
        """Seconds that the rest may take: laws cost as much as others of their kind did."""
        return (now - self._start) / self._spent * max(self._whole - self._spent, 0.0)

    def _estimate(self, now: float) -> None:
        """Say once in a log how long the whole run may take, if that is long."""
        self._told = True
        seconds = now - self._start + self._left(now) if self._spent else 0.0
        if seconds >= SELDOM and not self._terminal:
            self._stream.write(f"{self._target}: {self._total} verdicts, about {_time(seconds)}\n")
            self._stream.flush()

    def clear(self) -> None:
        """Take the line away."""
        if self._line:
            width = shutil.get_terminal_size().columns - 1
            self._stream.write("\r" + " " * width + "\r")
            self._stream.flush()
            self._line = False


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
