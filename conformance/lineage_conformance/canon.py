"""Canonical trees: a form of any value in which equal means equal in value *and* type.

``==`` cannot judge a checkpointer: it calls ``1`` and ``True`` equal, ``0.0`` and ``-0.0``, sets
that differ only in element types, messages that differ only in class. It also calls NaN unequal to
itself. A canonical tree holds only ``None``, ``bool``, ``int``, ``str``, lists and dicts with text keys;
every other type is written as ``{"~Type": ...}``. Trees are JSON, so they can be saved and shown.
The order of dictionary keys never counts (PostgreSQL's JSONB reorders them).
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import enum
import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

MAX_DEPTH = 40


class Difference(NamedTuple):
    """One place where two trees differ: the path to it and both sides (``ABSENT`` if missing)."""

    path: tuple[str, ...]
    expected: Any
    got: Any


class _Absent:
    """Marks a side that has nothing at a path."""

    def __repr__(self) -> str:
        return "(absent)"


ABSENT = _Absent()


class Either(tuple[Any, ...]):
    """Stands in an expected tree where any of several trees is right; the first is what was given."""

    __slots__ = ()


def plain(tree: Any) -> Any:
    """The tree with the first choice of every `Either`: what can be shown and saved."""
    if type(tree) is Either:
        return plain(tree[0])
    if type(tree) is dict:
        return {key: plain(item) for key, item in tree.items()}
    if type(tree) is list:
        return [plain(item) for item in tree]
    return tree


def either(first: Any, second: Any) -> Any:
    """A tree that both trees match, and what lies between them; they are merged as deep as they are alike."""
    if type(first) is type(second) and first == second:
        return first
    if type(first) is dict and type(second) is dict and first.keys() == second.keys():
        return {key: either(item, second[key]) for key, item in first.items()}
    if type(first) is list and type(second) is list and len(first) == len(second):
        return [either(left, right) for left, right in zip(first, second, strict=True)]
    if type(first) is Either:
        return first if any(same(item, second) for item in first) else Either((*first, second))
    if type(first) is dict and type(second) is list and first.keys() == {"~tuple"}:
        items = first["~tuple"]
        if len(items) == len(
            second
        ):  # serializers turn tuples into lists; what is inside is judged
            both = [either(left, right) for left, right in zip(items, second, strict=True)]
            return Either(({"~tuple": both}, both))
    return Either((first, second))


def canon(value: Any, depth: int = 0) -> Any:
    """Return the canonical tree of `value`; never raises, never returns `value` itself if mutable."""
    if value is None or type(value) in (bool, int, str):
        return value
    if depth > MAX_DEPTH:
        return {"~deep": type(value).__name__}
    down = depth + 1
    if type(value) is list:
        return [canon(item, down) for item in value]
    if type(value) is dict:
        return _mapping(value, down)
    if isinstance(value, float):
        return {_tag(value, float): "nan" if value != value else repr(float(value))}
    for base, form in _SCALARS:
        if isinstance(value, base):
            return {_tag(value, base): form(value)}
    if isinstance(value, tuple):
        return {_tag(value, tuple): [canon(item, down) for item in value]}
    if isinstance(value, (set, frozenset)):
        items = [canon(item, down) for item in value]
        return {_tag(value, type(value)): sorted(items, key=_order)}
    if isinstance(value, Mapping):
        return {_tag(value, type(value)): _mapping(dict(value), down)}
    if type(value).__module__.partition(".")[0] == "numpy" and hasattr(value, "dtype"):
        return {
            "~numpy": [str(value.dtype), list(getattr(value, "shape", ())), canon(value.tolist())]
        }
    return {f"~{type(value).__name__}": _fields(value, down)}


def _fields(value: Any, depth: int) -> Any:
    if isinstance(value, BaseException):
        return [canon(arg, depth) for arg in value.args]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        return {name: canon(getattr(value, name, None), depth) for name in names}
    fields = getattr(type(value), "model_fields", None) or getattr(type(value), "__fields__", None)
    if isinstance(fields, Mapping):
        return {name: canon(getattr(value, name, None), depth) for name in fields}
    slots = getattr(type(value), "__slots__", ())
    slots = (slots,) if isinstance(slots, str) else tuple(slots)
    state = {name: getattr(value, name) for name in slots if hasattr(value, name)}
    state.update(getattr(value, "__dict__", {}))
    if state:
        return {str(name): canon(item, depth) for name, item in state.items()}
    return _text(value)


def _mapping(value: Mapping[Any, Any], depth: int) -> Any:
    if all(type(key) is str and not key.startswith("~") for key in value):
        return {key: canon(item, depth) for key, item in value.items()}
    pairs = [[canon(key, depth), canon(item, depth)] for key, item in value.items()]
    return {"~dict": sorted(pairs, key=lambda pair: _order(pair[0]))}


def _tag(value: Any, base: type) -> str:
    """The class name where it is a subclass: a `str` subclass is not a `str`."""
    return f"~{type(value).__name__}" if type(value) is not base else f"~{base.__name__}"


def _text(value: Any) -> str:
    try:
        text = repr(value)
    except Exception as error:
        return f"repr raised {type(error).__name__}"
    return type(value).__qualname__ if " at 0x" in text else text


def _order(tree: Any) -> str:
    return json.dumps(tree, sort_keys=True, default=str)


_SCALARS: tuple[tuple[type, Any], ...] = (
    (enum.Enum, lambda v: [type(v).__qualname__, v.name]),
    (bool, bool),
    (int, lambda v: int(v)),
    (str, lambda v: str.__str__(v)),
    (bytes, lambda v: bytes(v).hex()),
    (bytearray, lambda v: bytes(v).hex()),
    (dt.datetime, lambda v: [v.isoformat(), v.fold, str(v.tzinfo) if v.tzinfo else None]),
    (dt.date, lambda v: v.isoformat()),
    (dt.time, lambda v: [v.isoformat(), v.fold]),
    (dt.timedelta, lambda v: [v.days, v.seconds, v.microseconds]),
    (decimal.Decimal, lambda v: str(v.as_tuple())),
)


def differences(expected: Any, got: Any, path: tuple[str, ...] = ()) -> Iterable[Difference]:
    """Yield every place where two canonical trees differ, outermost first.

    `expected` may hold `Either`; the differences show its first choice.
    """
    if type(expected) is Either:
        if not any(same(choice, got) for choice in expected):
            yield from differences(expected[0], got, path)
    elif type(expected) is not type(got):
        yield Difference(path, plain(expected), got)
    elif isinstance(expected, dict):
        for key in sorted(set(expected) | set(got)):
            yield from differences(expected.get(key, ABSENT), got.get(key, ABSENT), (*path, key))
    elif isinstance(expected, list):
        if len(expected) != len(got):
            yield Difference(path, plain(expected), got)
        else:
            for index, (left, right) in enumerate(zip(expected, got, strict=False)):
                yield from differences(left, right, (*path, str(index)))
    elif expected is not got and expected != got:
        yield Difference(path, expected, got)


def same(expected: Any, got: Any) -> bool:
    """Whether two canonical trees are equal in values and types."""
    return next(iter(differences(expected, got)), None) is None
