"""Cases: what a law is checked on, as data. A dataclass of its own form that is JSON, and can be made smaller.

A case is a frozen dataclass of scalars, tuples, mappings and `Part`s. What is as usual is left out of its JSON.
"""

from __future__ import annotations

import dataclasses
import functools
import typing
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

FORMAT = 1

P = TypeVar("P", bound="Part")


class Part:
    """A part of a case, e.g. one of the things that happen in it."""

    HEAD: ClassVar[Mapping[str, Any]] = {}
    """What its JSON begins with, whatever it holds."""
    KEYS: ClassVar[Mapping[str, str]] = {}
    """Field: its key in JSON, where that is another name. ``op`` is always told."""
    LOOSE: ClassVar[Sequence[str]] = ()
    """Fields that can be made simpler while it stays what it is, the boldest first."""

    def __init_subclass__(
        cls,
        head: Mapping[str, Any] | None = None,
        keys: Mapping[str, str] | None = None,
        loose: Sequence[str] = (),
    ) -> None:
        cls.HEAD, cls.KEYS, cls.LOOSE = {**cls.HEAD, **(head or {})}, keys or {}, loose

    def to_json(self) -> dict[str, Any]:
        """The part as JSON data; what is as usual is left out."""
        made = dict(self.HEAD)
        for field in dataclasses.fields(self):  # type: ignore[arg-type]
            key, value = self.KEYS.get(field.name, field.name), getattr(self, field.name)
            if key == "op" or value != usual(field):
                made[key] = _told(value)
        return made

    @classmethod
    def from_json(cls: type[P], data: Mapping[str, Any]) -> P:
        """What `to_json` wrote. Raises `ValueError` for another format, `TypeError` for unknown fields."""
        known = cls.HEAD.get("format", data.get("format"))
        if data.get("format", known) != known:
            raise ValueError(f"a {cls.__name__} of format {data['format']!r} is unknown here")
        names = {key: name for name, key in cls.KEYS.items()}
        forms = _forms(cls)  # type: ignore[arg-type]
        given = {names.get(k, k): value for k, value in data.items() if k not in cls.HEAD}
        return cls(**{name: _read(forms.get(name), value) for name, value in given.items()})

    def smaller(self: P) -> Iterator[P]:
        """The same with less in it, one step at a time."""
        for name in self.LOOSE:
            for less in simpler(getattr(self, name), usual(_field(type(self), name))):
                yield dataclasses.replace(self, **{name: less})  # type: ignore[type-var]


class Case(Part, head={"format": FORMAT}):
    """A case. Of its smaller ones only those that are `valid` are tried."""

    def valid(self) -> bool:
        """Whether it can be played."""
        return True

    def smaller(self: P) -> Iterator[P]:
        """Cases that are simpler by one step, the boldest first; shrinking tries them."""
        for case in super().smaller():
            if case.valid():  # type: ignore[attr-defined]
                yield case


def usual(field: dataclasses.Field[Any]) -> Any:
    """The default of a field; `MISSING` if it has none."""
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default


def simpler(value: Any, default: Any = dataclasses.MISSING) -> Iterator[Any]:
    """Simpler values: the default, if it is not larger, and with less in it. A tuple in a tuple keeps its length."""
    number = type(value) is int
    if value == default:
        if number:
            yield from range(1, value)
        return
    if default is not dataclasses.MISSING and not (
        number and default is not None and default > value
    ):
        yield default
    if isinstance(value, Part):
        yield from value.smaller()
    elif number:
        yield from sorted({n for n in (1, value // 2, value - 1) if 0 < n < value} - {default})
    elif isinstance(value, Mapping):
        for key in value:
            yield {k: v for k, v in value.items() if k != key}
        for key, held in value.items():
            yield from ({**value, key: less} for less in simpler(held))
    elif isinstance(value, (tuple, list)):
        yield from fewer(value)
        for at, held in enumerate(value):
            yield from (_with(value, at, less) for less in _inner(held))


def _inner(held: Any) -> Iterator[Any]:
    """Simpler forms of what stands in a tuple or list."""
    if isinstance(held, tuple):
        for at, part in enumerate(held):
            yield from (_with(held, at, less) for less in _inner(part))
    elif not isinstance(held, int):
        yield from simpler(held)


def fewer(items: Any) -> Iterator[Any]:
    """The items without some of them: half of them first, at last without a single one."""
    size = max(len(items) // 2, 1)
    while size and items:
        for start in range(0, len(items), size):
            yield items[:start] + items[start + size :]
        size //= 2


def _with(items: Any, at: int, item: Any) -> Any:
    return type(items)((*items[:at], item, *items[at + 1 :]))


@functools.cache
def _forms(part: Any) -> dict[str, Any]:
    """The types of its fields."""
    return typing.get_type_hints(part)


def _field(part: type, name: str) -> dataclasses.Field[Any]:
    return next(field for field in dataclasses.fields(part) if field.name == name)


def _told(value: Any) -> Any:
    if isinstance(value, Part):
        return value.to_json()
    return [_told(item) for item in value] if isinstance(value, tuple) else value


def _read(form: Any, value: Any) -> Any:
    """A value of JSON as a field of this type holds it."""
    inner = typing.get_args(form)
    if typing.get_origin(form) is tuple and isinstance(value, (list, tuple)):
        forms = inner[:1] * len(value) if inner[-1] is ... else inner
        return tuple(_read(part, item) for part, item in zip(forms, value, strict=True))
    if isinstance(form, type) and issubclass(form, Part) and not isinstance(value, form):
        return form.from_json(value)
    return value
