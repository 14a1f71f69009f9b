"""What a saver raises, kept apart from errors of the suite."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_PASSING: tuple[type[BaseException], ...] = (KeyboardInterrupt,)


class Raised(Exception):
    """Wraps whatever a saver raised, so that an error of the suite is never taken for one of the saver."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(f"{type(error).__name__}: {str(error)[:500]}")
        self.error = error


def hears_no_keyboard() -> None:
    """Say that no Ctrl-C reaches this process: a `KeyboardInterrupt` is one that the saver raised."""
    global _PASSING
    _PASSING = ()


def guarded(work: Callable[[], T]) -> T:
    """Call the saver; turn anything it raises, `SystemExit` included, into `Raised`."""
    try:
        return work()
    except BaseException as error:
        if isinstance(error, (Raised, *_PASSING)):
            raise
        raise Raised(error) from error
