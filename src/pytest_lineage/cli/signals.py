"""Signals that end a long command without losing what it found."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")


class Interrupts:
    """What has become of the signals of one command."""

    def __init__(self) -> None:
        self._seen: list[int] = []
        self._holding = False
        self._held: int | None = None

    def stop(self, number: int, frame: object) -> None:
        """Handle a signal."""
        self._seen.append(number)
        first = len(self._seen) == 1
        if len(self._seen) == 2 or (first and self._holding):
            print("writing what was found; once more to give that up", file=sys.stderr)
            self._held = number if first else self._held
        else:
            raise KeyboardInterrupt(number)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Results are written meanwhile: a first signal interrupts afterwards."""
        self._holding = True
        try:
            yield
        finally:
            self._holding = False
        if self._held is not None:
            raise KeyboardInterrupt(self._held)


@contextmanager
def interrupt_once() -> Iterator[Interrupts]:
    """Ctrl-C, and the signals that end a job in CI or with its terminal, raise `KeyboardInterrupt`, once.

    Its argument is the signal's number. The second one only says that results are being written: people press
    Ctrl-C twice. The third one raises again. Signals that the process ignores or handles itself are left alone.
    """
    interrupts = Interrupts()
    kept: list[tuple[int, Any]] = []
    if threading.current_thread() is threading.main_thread():
        for name in _NAMES:
            number = getattr(signal, name, None)
            usual = (signal.SIG_DFL, signal.default_int_handler)
            if number is not None and signal.getsignal(number) in usual:
                kept.append((number, signal.signal(number, interrupts.stop)))
    try:
        yield interrupts
    finally:
        for number, before in kept:
            signal.signal(number, before)
