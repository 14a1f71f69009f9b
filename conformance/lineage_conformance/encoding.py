"""Values as a program can hold them: plain JSON as it is, specimens of the zoo, and everything else as `made` data.

What comes out makes the same value again, in value and type; that is tried for each part that is not plain JSON.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import enum
import functools
import inspect
import json
import math
import sys
import uuid
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from lineage_conformance import contract, made, zoo
from lineage_conformance.canon import MAX_DEPTH, canon, same

Note = Callable[[str], None]

_UNSTEADY = ("generator", "live", "vanishing")
"""Specimens that are not equal to themselves when they are made twice, or stand for an accident."""


def encode(value: Any, note: Note = lambda text: None) -> Any:
    """The data for `value`; never raises. `note` is told, in a sentence, of each part that cannot be expressed."""
    return _encode(value, note, 0)


def _encode(value: Any, note: Note, depth: int) -> Any:
    if value is None or type(value) in (bool, int):
        return value
    if type(value) is str and _is_text(value):
        return value
    if type(value) is float and math.isfinite(value):
        return value
    if depth > MAX_DEPTH:
        return _opaque(value, note)
    if type(value) is list:
        return [_encode(item, note, depth + 1) for item in value]
    if type(value) is dict and _is_plain(value):
        return {key: _encode(item, note, depth + 1) for key, item in value.items()}
    for attempt in (_specimen, functools.partial(_called, note=note, depth=depth), _serialized):
        try:
            data = attempt(value)
            if data is not None and _again(data, value):
                return data
        except Exception:
            continue  # whatever a class of an application raises: the next form may do
    return _opaque(value, note)


def _again(data: Any, value: Any) -> bool:
    built = zoo.build(data)
    return type(built) is type(value) and same(canon(value), canon(built))


def _opaque(value: Any, note: Note) -> Any:
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    note(f"a value of type {kind} cannot be made again; a text that names it stands for it")
    return f"<{kind}>"


def _is_text(value: str) -> bool:
    return not any("\ud800" <= char <= "\udfff" for char in value)


def _is_plain(value: dict[Any, Any]) -> bool:
    return all(type(key) is str and not key.startswith("$") and _is_text(key) for key in value)


# -- the forms -----------------------------------------------------------------------------------


@functools.cache
def _specimens() -> dict[tuple[type, str], str]:
    """The zoo by type and canonical tree."""
    found: dict[tuple[type, str], str] = {}
    for name in zoo.ZOO:
        if name not in _UNSTEADY and zoo.available(name):
            value = zoo.build(zoo.ref(name))
            found[type(value), json.dumps(canon(value), sort_keys=True)] = name
    return found


def _specimen(value: Any) -> Any:
    kind = type(value)
    if not any(kind is known for known, _ in _specimens()):
        return None
    name = _specimens().get((kind, json.dumps(canon(value), sort_keys=True)))
    return None if name is None else zoo.ref(name)


def _serialized(value: Any) -> Any:
    return made.typed(value, contract.base_saver().serde)


def _called(value: Any, *, note: Note, depth: int) -> Any:
    """A call of the value's class; None if none is known."""

    def inner(item: Any) -> Any:
        return _encode(item, note, depth + 1)

    kind = type(value)
    if kind is dict:
        return made.new("builtins:dict", [[inner(k), inner(v)] for k, v in value.items()])
    if kind in (tuple, set, frozenset):
        items = list(value) if kind is tuple else sorted(value, key=repr)
        return made.new(f"builtins:{kind.__name__}", [inner(item) for item in items])
    if kind in _FORMS:
        path, *args = _FORMS[kind](value)
        return made.new(path, *args)
    if not made.is_value_class(kind) or (path := _path(kind)) is None:
        return None
    if isinstance(value, BaseException):
        return made.new(path, *(inner(arg) for arg in value.args))
    if isinstance(value, enum.Enum):
        return made.new(path, inner(value.value))
    return made.new(path, **{name: inner(item) for name, item in _given(value)})


def _bytes(text: str) -> Any:
    return made.new("builtins:bytes.fromhex", text.encode("utf-8", "surrogatepass").hex())


_FORMS: dict[type, Callable[[Any], tuple[Any, ...]]] = {
    str: lambda v: ("builtins:str", _bytes(v), "utf-8", "surrogatepass"),
    float: lambda v: ("builtins:float", repr(v)),
    bytes: lambda v: ("builtins:bytes.fromhex", v.hex()),
    bytearray: lambda v: ("builtins:bytearray.fromhex", v.hex()),
    dt.datetime: lambda v: ("datetime:datetime.fromisoformat", v.isoformat()),
    dt.date: lambda v: ("datetime:date.fromisoformat", v.isoformat()),
    dt.time: lambda v: ("datetime:time.fromisoformat", v.isoformat()),
    dt.timedelta: lambda v: ("datetime:timedelta", v.days, v.seconds, v.microseconds),
    decimal.Decimal: lambda v: ("decimal:Decimal", str(v)),
    uuid.UUID: lambda v: ("uuid:UUID", str(v)),
    deque: lambda v: ("collections:deque", [encode(item) for item in v], v.maxlen),
}


def _path(cls: type) -> str | None:
    """``module:name`` under which a class can be imported, by the shortest public module; None if there is none."""
    if "<" in cls.__qualname__ or cls.__module__ == "__main__":
        return None
    parts = cls.__module__.split(".")
    for size in range(1, len(parts) + 1):
        module = ".".join(parts[:size])
        if size < len(parts) and any(part.startswith("_") for part in parts[:size]):
            continue
        if getattr(sys.modules.get(module), cls.__qualname__, None) is cls:
            return f"{module}:{cls.__qualname__}"
    return f"{cls.__module__}:{cls.__qualname__}"


def _given(value: Any) -> Iterator[tuple[str, Any]]:
    """The arguments that make a record: fields that are not at their defaults."""
    cls: Any = type(value)
    if dataclasses.is_dataclass(value):
        for field in dataclasses.fields(value):
            if field.init and not _default(field, getattr(value, field.name)):
                yield field.name, getattr(value, field.name)
        return
    fields = getattr(cls, "model_fields", None) or getattr(cls, "__fields__", None)
    if isinstance(fields, dict):
        for name, info in fields.items():
            if not _default(info, getattr(value, name)):
                yield name, getattr(value, name)
        yield from (getattr(value, "model_extra", None) or {}).items()
        return
    names = getattr(cls, "_fields", None) or cls.__slots__
    parameters = inspect.signature(cls).parameters
    for name in (names,) if isinstance(names, str) else names:
        default = parameters[name].default if name in parameters else inspect.Parameter.empty
        if getattr(value, name) is not default:
            yield name, getattr(value, name)


def _default(field: Any, value: Any) -> bool:
    """Whether a field holds its default."""
    factory = getattr(field, "default_factory", None)
    default = field.default
    if callable(factory):
        try:
            default = factory()
        except Exception:
            return False
    if default is dataclasses.MISSING:
        return False
    return type(default) is type(value) and same(canon(default), canon(value))
