"""Puts a recorder between a saver and whoever calls it: a subclass, made at run time, of the saver's own class.

That survives everything an engine does to a saver: `compile` refuses proxies, and strict msgpack mode copies savers.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import inspect
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any, Protocol

from lineage_conformance import contract
from lineage_conformance.handles import BASIC, OPTIONAL, Half
from lineage_conformance.kinds.saver.written import Call

METHODS = (*BASIC, *OPTIONAL)
"""Methods that are recorded, with their async twins. Others (`get`) call these."""


class Tape(Protocol):
    """What is told of the calls."""

    def begin(self, method: str, half: Half, given: dict[str, Any]) -> Call | None:
        """A call that begins; None if it is not to be told of."""

    def show(self, call: Call, made: Any) -> None:
        """What a read gave."""

    def add(self, call: Call) -> None:
        """The call takes its place in the order."""

    def end(self, call: Call, given: dict[str, Any], error: BaseException | None = None) -> None:
        """The call is over, or raised `error`."""

    def close(self, given: dict[str, Any]) -> None:
        """The call with these arguments is over."""


Fits = list[inspect.Signature]

_inside: contextvars.ContextVar[bool] = contextvars.ContextVar("lineage_recorded", default=False)


def inside() -> bool:
    """Whether what runs now is part of a call that is being recorded."""
    return _inside.get()


@contextlib.contextmanager
def _within() -> Iterator[None]:
    token = _inside.set(True)
    try:
        yield
    finally:
        _inside.reset(token)


def subclass(plain: type[Any], saver: Any, tape: Tape) -> type[Any]:
    """A subclass of a saver's class that tells `tape` of every call on a method that the class has itself."""
    body: dict[str, Any] = {
        "__slots__": (),
        "__module__": plain.__module__,
        "__doc__": plain.__doc__,
        "__qualname__": plain.__qualname__,
    }
    for method in METHODS:
        makers: tuple[tuple[Half, str, Callable[..., Any]], ...] = (
            ("sync", method, _rows if method == "list" else _sync),
            ("async", "a" + method, _arows if method == "list" else _async),
        )
        for half, name, make in makers:
            if contract.overrides(
                saver, name
            ):  # what is inherited calls what is recorded, or is not there
                own = getattr(plain, name)
                fits = _signatures(own, name)
                body[name] = functools.wraps(own)(make(own, method, half, fits, tape))
    return type(plain.__name__, (plain,), body)


def _signatures(own: Any, name: str) -> Fits:
    """How a method can be called: as the base class says, where it has it, or as the saver says."""
    found = []
    functions: tuple[Any, ...] = (getattr(contract.base_saver(), name, None), own)
    for function in functions:
        with contextlib.suppress(TypeError, ValueError):
            found.append(inspect.signature(function))
    return found


def _given(signatures: Fits, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments by name, without the saver; what fits no signature is left for the saver to refuse."""
    for signature in signatures:
        try:
            named = dict(signature.bind(None, *args, **kwargs).arguments)
        except TypeError:
            continue
        named.pop(next(iter(signature.parameters)), None)
        for name, parameter in signature.parameters.items():
            if parameter.kind is parameter.VAR_KEYWORD:
                named.update(named.pop(name, {}))
        return named
    return dict(kwargs)


def _sync(own: Any, method: str, half: Half, fits: Fits, tape: Tape) -> Callable[..., Any]:
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        given = _given(fits, args, kwargs)
        this = tape.begin(method, half, given)
        with _within():
            if this is None:
                return own(self, *args, **kwargs)
            try:
                made = own(self, *args, **kwargs)
                if method == "get_tuple":
                    tape.show(this, made)
            except BaseException as error:
                tape.end(this, given, error)
                raise
            tape.end(this, given)
            return made

    return call


def _async(own: Any, method: str, half: Half, fits: Fits, tape: Tape) -> Callable[..., Any]:
    async def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        given = _given(fits, args, kwargs)
        this = tape.begin(method, half, given)
        with _within():
            if this is None:
                return await own(self, *args, **kwargs)
            try:
                made = await own(self, *args, **kwargs)
                if method == "get_tuple":
                    tape.show(this, made)
            except BaseException as error:
                tape.end(this, given, error)
                raise
            tape.end(this, given)
            return made

    return call


def _rows(own: Any, method: str, half: Half, fits: Fits, tape: Tape) -> Callable[..., Any]:
    def call(self: Any, *args: Any, **kwargs: Any) -> Iterator[Any]:
        given = _given(fits, args, kwargs)
        this = tape.begin(method, half, given)
        if this is None:
            yield from own(self, *args, **kwargs)
            return
        this.ended = "left"
        placed = False
        try:
            with _within():
                rows = iter(own(self, *args, **kwargs))
            while True:
                with _within():  # between rows the caller may do what it likes
                    row = next(rows, _END)
                    if row is not _END:
                        tape.show(this, row)
                if not placed:
                    placed = True
                    tape.add(this)
                if row is _END:
                    this.ended = "returned"
                    return
                yield row
        except Exception as error:
            tape.end(this, given, error)
            raise
        finally:
            tape.close(given)

    return call


def _arows(own: Any, method: str, half: Half, fits: Fits, tape: Tape) -> Callable[..., Any]:
    async def call(self: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        given = _given(fits, args, kwargs)
        this = tape.begin(method, half, given)
        if this is None:
            async for row in own(self, *args, **kwargs):
                yield row
            return
        this.ended = "left"
        placed = False
        try:
            with _within():
                rows = own(self, *args, **kwargs).__aiter__()
            while True:
                with _within():
                    try:
                        row = await rows.__anext__()
                        tape.show(this, row)
                    except StopAsyncIteration:
                        row = _END
                if not placed:
                    placed = True
                    tape.add(this)
                if row is _END:
                    this.ended = "returned"
                    return
                yield row
        except (Exception, asyncio.CancelledError) as error:
            tape.end(this, given, error)
            raise
        finally:
            tape.close(given)

    return call


_END = object()
