"""Signals that end a long command without losing what it found."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")


@contextmanager
def interrupt_once() -> Iterator[None]:
    """Ctrl-C, and the signals that end a job in CI or with its terminal, raise `KeyboardInterrupt`, once.

    Its argument is the signal's number. The second one only says that results are being written: people press
    Ctrl-C twice. The third one raises again. Signals that the process ignores or handles itself are left alone.
    """
    seen: list[int] = []

    def stop(number: int, frame: object) -> None:
        seen.append(number)
        if len(seen) == 2:
            print("writing what was found; once more to give that up", file=sys.stderr)
        else:
            raise KeyboardInterrupt(number)

    kept: list[tuple[int, Any]] = []
    if threading.current_thread() is threading.main_thread():
        for name in _NAMES:
            number = getattr(signal, name, None)
            usual = (signal.SIG_DFL, signal.default_int_handler)
            if number is not None and signal.getsignal(number) in usual:
                kept.append((number, signal.signal(number, stop)))
    try:
        yield
    finally:
        for number, before in kept:
            signal.signal(number, before)
