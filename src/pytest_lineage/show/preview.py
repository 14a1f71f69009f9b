"""Short previews of stored values: bounded in time and length, without secrets, running no code of theirs."""

from __future__ import annotations

import dataclasses
import enum
import functools
import hashlib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pytest_lineage.report import model
from pytest_lineage.report.style import clip, safe

_BEYOND = 300
"""Characters of a text that are looked at beyond those that are told, so that no half of a secret is told."""

_SECRET = re.compile(r"(?i)(password|passwd|pwd|secret|token|api_?key|authorization)$")
_LONGEST_KEY = 400


class Size(NamedTuple):
    """How much of a value is told: characters, items of a container, containers in containers."""

    text: int
    items: int
    depth: int


SHORT = Size(60, 3, 3)
LONG = Size(1000, 40, 8)


class _Room:
    """What is left of the characters that a preview may take: whatever a value holds, no more is looked at."""

    def __init__(self, size: Size) -> None:
        self.text, self.items, self.depth = size
        self.left = 2 * size.text

    def take(self, text: str) -> str:
        """Note that a text was told."""
        self.left -= len(text) + 1
        return text


def preview(value: Any, size: Size = SHORT) -> str:
    """`value` as one printable line of at most ``size.text`` characters. Never raises."""
    try:
        text = _text(value, _Room(size), 0)
    except Exception:
        text = _kind(value)
    return clip(safe(text), size.text)


def key(name: Any) -> str:
    """An id or a name, kept whole unless it is very long; equal texts stay equal, others stay different."""
    text: str = str(name) if isinstance(name, str) else repr(name)
    if len(text) <= _LONGEST_KEY:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{text[:100]}…{digest} ({len(text):,} characters)"


def amount(size: int | None) -> str:
    """A number of bytes for people."""
    if size is None:
        return "? B"
    number = float(size)
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000 or unit == "GB":
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1000
    raise AssertionError


def _text(value: Any, size: _Room, depth: int) -> str:
    if size.left <= 0:
        return "…"
    if value is None or isinstance(value, (bool, float)):
        return size.take(repr(value))
    if isinstance(value, enum.Enum):
        return size.take(f"{type(value).__name__}.{value.name}")
    if isinstance(value, int):
        small = abs(value) < 10**40
        return size.take(str(value) if small else f"<int of {value.bit_length():,} bits>")
    if isinstance(value, str):
        return size.take(_string(value, size.text))
    if isinstance(value, (bytes, bytearray, memoryview)):
        return size.take(f"<{len(value):,} bytes>")
    if depth >= size.depth:
        return size.take(_kind(value))
    if isinstance(value, Mapping):
        shown = _pairs(value.items(), len(value), size, depth, "{}: {}")
        return "{" + shown + "}"
    if isinstance(value, (list, tuple, set, frozenset)):
        return _items(value, size, depth)
    return size.take(_thing(value, size, depth))


def _string(value: str, most: int) -> str:
    shown = _redacted(value[: most + _BEYOND])
    if len(value) <= most:
        return repr(str(shown))
    return f"{str(shown)[:most]!r}… ({len(value):,} characters)"


def _items(value: Any, size: _Room, depth: int) -> str:
    left, right = "[]" if isinstance(value, list) else "()" if isinstance(value, tuple) else "{}"
    parts: list[str] = []
    for item in value:
        if len(parts) == size.items:
            parts.append(f"… {len(value) - size.items:,} more")
            break
        parts.append(_text(item, size, depth + 1))
    name = "" if type(value) in (list, tuple, set) else type(value).__name__
    return f"{name}{left}{', '.join(parts)}{right}"


def _pairs(pairs: Any, count: int, size: _Room, depth: int, form: str) -> str:
    parts: list[str] = []
    for name, item in pairs:
        if len(parts) == size.items:
            parts.append(f"… {count - size.items:,} more")
            break
        hidden = isinstance(name, str) and _SECRET.search(name)
        shown = "***" if hidden else _text(item, size, depth + 1)
        label = name if form[2] == "=" else _text(name, size, depth + 1)
        parts.append(form.format(label, shown))
    return ", ".join(parts)


def _thing(value: Any, size: _Room, depth: int) -> str:
    """A value of a class: its fields where the class declares them; its own code is not asked."""
    name = type(value).__name__
    if isinstance(value, BaseException):
        return f"{name}({', '.join(_text(arg, size, depth + 1) for arg in value.args[:3])})"
    fields = dict(_fields(value))
    if not fields:
        return _kind(value)
    if name == "Send" and {"node", "arg"} <= set(fields):
        return f"Send({fields['node']!r}, {_text(fields['arg'], size, depth + 1)})"
    if {"content", "type"} <= set(fields):  # a message: its words say more than its fields
        calls = [call.get("name") for call in fields.get("tool_calls") or ()]
        more = f", calls {', '.join(map(str, calls[: size.items]))}" if calls else ""
        return f"{name}({_text(fields['content'], size, depth + 1)}{more})"
    return f"{name}({_pairs(fields.items(), len(fields), size, depth, '{}={}')})"


def _fields(value: Any) -> Iterator[tuple[str, Any]]:
    kind = type(value)
    if dataclasses.is_dataclass(value):
        names = [field.name for field in dataclasses.fields(value)]
    else:
        names = list(getattr(kind, "model_fields", None) or getattr(kind, "_fields", None) or ())
        names = names or [name for name in getattr(kind, "__slots__", ()) if name[:1] != "_"]
    for name in names:
        yield name, getattr(value, name, None)


def _redacted(text: str) -> str:
    """The text as reports show it. Most texts hold nothing that could be a secret, and the search is slow."""
    if "://" in text or "=" in text or _home() in text:
        return str(model.redact(text))
    return text


@functools.cache
def _home() -> str:
    return str(Path.home())


def _kind(value: Any) -> str:
    return f"<{type(value).__name__}>"
