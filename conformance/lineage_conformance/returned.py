"""Whether what an operation returned can be what its protocol says: a record, rows, a number, or nothing.

What is *in* a record is for the laws to judge. This only keeps them from stumbling over a target that gives
None where rows are due.
"""

from __future__ import annotations

import collections.abc
import functools
import types
import typing
from collections.abc import Iterable, Mapping
from typing import Any

from lineage_conformance import kinds
from lineage_conformance.handles import HALVES
from lineage_conformance.raised import Unlike

_SCALARS = (str, int, float)


def shaped(kind: str, method: str, value: Any) -> Any:
    """`value`, which `method` of a target of this kind returned. Raises `Unlike` if it cannot be right."""
    wrong = _wrong(_returns(kind, method), value)
    if wrong:
        raise Unlike(wrong, value)
    return value


@functools.cache
def _returns(kind: str, method: str) -> Any:
    for protocol in map(kinds.get(kind).half, HALVES):
        if hasattr(protocol, method):
            return typing.get_type_hints(getattr(protocol, method)).get("return", Any)
    return Any


def _wrong(form: Any, value: Any) -> str:
    """What should have been there; empty if the value will do."""
    if form in (Any, type(None), bool):
        return ""
    origin, inner = typing.get_origin(form), typing.get_args(form)
    if origin in (typing.Union, types.UnionType):
        found = [_wrong(option, value) for option in inner if option is not type(None)]
        missing = value is None and type(None) in inner
        return "" if missing or not all(found) else found[0]
    if origin is collections.abc.Mapping:
        return "" if isinstance(value, Mapping) else "a mapping"
    if origin is collections.abc.Sequence:
        if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
            return "a sequence"
        return next(filter(None, (_wrong(inner[0], item) for item in value)), "")
    if form in _SCALARS:
        return "" if isinstance(value, form) else f"a value of type {form.__name__}"
    if not isinstance(form, type):
        return ""
    if value is None or isinstance(value, (*_SCALARS, bytes, bool)):
        return f"a record {form.__name__}"
    return next(filter(None, (_part(form, name, value) for name in _parts(form))), "")


@functools.cache
def _parts(record: type) -> tuple[str, ...]:
    """The fields of a record that are records or sequences themselves."""
    plain = {Any, bool, type(None), *_SCALARS}
    hints = typing.get_type_hints(record)
    return tuple(n for n, form in hints.items() if not {form, *typing.get_args(form)} <= plain)


def _part(record: type, name: str, value: Any) -> str:
    if not hasattr(value, name):
        return ""  # which fields are needed is told by the laws that read them
    wrong = _wrong(typing.get_type_hints(record)[name], getattr(value, name))
    return f"a record {record.__name__} whose {name} is {wrong}" if wrong else ""
