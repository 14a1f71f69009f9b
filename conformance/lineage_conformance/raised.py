"""What a target raises, or returns against its contract, kept apart from errors of the suite."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

_PASSING: tuple[type[BaseException], ...] = (KeyboardInterrupt,)


class Raised(Exception):
    """Wraps whatever a target raised, so that an error of the suite is never taken for one of the target."""

    path: tuple[str, ...] = ("raises",)
    """The path of the difference that this is."""
    expected: str = "no exception"

    def __init__(self, error: BaseException) -> None:
        super().__init__(f"{type(error).__name__}: {str(error)[:500]}")
        self.error = error


class Unlike(Raised):
    """The target returned something that its contract does not allow."""

    path = ("found",)

    def __init__(self, expected: str, got: Any) -> None:
        self.expected = expected
        super().__init__(TypeError(got if isinstance(got, str) else repr(got)[:200]))

    def __str__(self) -> str:
        return str(self.error)


def hears_no_keyboard() -> None:
    """Say that no Ctrl-C reaches this process: a `KeyboardInterrupt` is one that the saver raised."""
    global _PASSING
    _PASSING = ()


def guarded(work: Callable[[], T]) -> T:
    """Call the target; turn anything it raises, `SystemExit` included, into `Raised`."""
    try:
        return work()
    except BaseException as error:
        if isinstance(error, (Raised, *_PASSING)):
            raise
        raise Raised(error) from error


def unlike(error: AttributeError) -> Unlike:
    """What a law ran into when it read what a target gave it. Raises `error` if that object is the suite's."""
    if type(error.obj).__module__.startswith("lineage_conformance"):
        raise error
    return Unlike("a record of the contract", str(error))
