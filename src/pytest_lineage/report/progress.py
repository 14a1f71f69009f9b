"""Where a run stands: one line on a terminal, written anew all the time; elsewhere a line a minute.

A line says the target, the law that is being judged, how many verdicts there are, and how long the rest may take.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from typing import Any, TextIO

from pytest_lineage.run.rows import Row

OFTEN, SELDOM = 0.1, 60.0
"""Seconds between two lines: on a terminal, and in a log."""


class Progress:
    """Tells `stream` where a run stands. `now` is a clock in seconds."""

    def __init__(self, stream: TextIO, now: Callable[[], float] = time.monotonic) -> None:
        self._stream, self._now = stream, now
        self._terminal = stream.isatty() and os.environ.get("TERM") != "dumb"
        self._total = self._done = self._bad = 0
        self._target = ""
        self._start = self._shown = now()
        self._line = False

    def started(self, about: dict[str, Any], total: int) -> None:
        """A target was opened and `total` verdicts will follow."""
        self._target, self._total, self._done, self._bad = about["name"], total, 0, 0
        self._start = self._now()

    def begins(self, law: str, face: str) -> None:
        """A law is going to be judged on a face."""
        now = self._now()
        if now - self._shown < (OFTEN if self._terminal else SELDOM):
            return
        self._shown = now
        bad = f", {self._bad} broken" if self._bad else ""
        left = ""
        if self._done:
            seconds = (now - self._start) / self._done * (self._total - self._done)
            left = f", {_time(seconds)} left"
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
        self._bad += row.verdict in ("broken", "hangs")

    def clear(self) -> None:
        """Take the line away."""
        if self._line:
            width = shutil.get_terminal_size().columns - 1
            self._stream.write("\r" + " " * width + "\r")
            self._stream.flush()
            self._line = False


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
