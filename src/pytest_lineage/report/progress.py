"""A progress line on a terminal: target, law, how many are done, time left. Silent elsewhere."""

from __future__ import annotations

import os
import shutil
import time
from typing import Any, TextIO

from pytest_lineage.run.rows import Row


class Progress:
    """Rewrites one line on `stream` while it is a terminal."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._on = stream.isatty() and os.environ.get("TERM") != "dumb"
        self._total = self._done = self._bad = 0
        self._target = ""
        self._start = self._shown = 0.0

    def started(self, about: dict[str, Any], total: int) -> None:
        """A target was opened and `total` verdicts will follow."""
        self._target, self._total, self._done, self._bad = about["name"], total, 0, 0
        self._start = time.monotonic()

    def done(self, row: Row) -> None:
        """One more verdict."""
        self._done += 1
        self._bad += row.verdict in ("broken", "hangs")
        now = time.monotonic()
        if not self._on or now - self._shown < 0.1:
            return
        self._shown = now
        left = (now - self._start) / self._done * (self._total - self._done)
        bad = f", {self._bad} broken" if self._bad else ""
        text = f"{self._target}: {self._done}/{self._total}{bad}, {left:.0f} s left, {row.law}[{row.face}]"
        width = shutil.get_terminal_size().columns - 1
        self._stream.write("\r" + text[:width].ljust(width))
        self._stream.flush()

    def clear(self) -> None:
        """Take the line away."""
        if self._on and self._shown:
            width = shutil.get_terminal_size().columns - 1
            self._stream.write("\r" + " " * width + "\r")
            self._stream.flush()
            self._shown = 0.0
