"""One text for sync and async: a procedure is a generator that yields the calls it wants made.

`lead` makes the calls one after the other, `alead` awaits their async twins (``get_tuple`` and
``aget_tuple``). The procedure itself is written once and cannot differ between the two halves.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")


class Call(NamedTuple):
    """A method to call on an object; `alead` puts an ``a`` before its name."""

    target: Any
    method: str
    arguments: tuple[Any, ...] = ()
    options: Mapping[str, Any] = MappingProxyType({})


Steps = Generator[Call, Any, T]
"""A procedure: yields calls, is sent their results (or thrown their errors), returns a `T`."""


def call(target: Any, method: str, *arguments: Any, **options: Any) -> Steps[Any]:
    """Make one call from within a procedure: ``row = yield from call(saver, "get_tuple", config)``."""
    result = yield Call(target, method, arguments, options)
    return result


def lead(steps: Steps[T]) -> T:
    """Run a procedure with sync calls."""
    answer: Any = None
    error: Exception | None = None
    while True:
        try:
            wanted = steps.send(answer) if error is None else steps.throw(error)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        answer, error = None, None
        try:
            method = getattr(wanted.target, wanted.method)
            answer = method(*wanted.arguments, **wanted.options)
        except Exception as raised:
            error = raised


async def alead(steps: Steps[T]) -> T:
    """Run a procedure with async calls."""
    answer: Any = None
    error: Exception | None = None
    while True:
        try:
            wanted = steps.send(answer) if error is None else steps.throw(error)
        except StopIteration as end:
            return end.value  # type: ignore[no-any-return]
        answer, error = None, None
        try:
            method = getattr(wanted.target, "a" + wanted.method)
            answer = await method(*wanted.arguments, **wanted.options)
        except Exception as raised:
            error = raised
