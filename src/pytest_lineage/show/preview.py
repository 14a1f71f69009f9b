"""Short previews of stored values: bounded in time and length, without secrets, running no code of theirs."""

from __future__ import annotations

import dataclasses
import enum
import hashlib
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from pytest_lineage.report import model
from pytest_lineage.report.style import clip, safe

_WINDOW = 1900
"""Characters of a text that are looked at; a report's redaction would cut longer ones by itself."""

_SECRET = re.compile(r"(?i)(password|passwd|pwd|secret|token|api_?key|authorization)$")
_LONGEST_KEY = 400


class Size(NamedTuple):
    """How much of a value is told: characters, items of a container, containers in containers."""

    text: int
    items: int
    depth: int


SHORT = Size(60, 3, 3)
LONG = Size(1000, 40, 8)


def preview(value: Any, size: Size = SHORT) -> str:
    """`value` as one printable line of at most ``size.text`` characters. Never raises."""
    try:
        text = _text(value, size, 0)
    except Exception:
        text = _kind(value)
    return clip(safe(_redacted(text)), size.text)


def key(text: Any) -> str:
    """An id or a name, kept whole unless it is very long; equal texts stay equal, others stay different."""
    text = text if isinstance(text, str) else repr(text)
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


def _text(value: Any, size: Size, depth: int) -> str:
    if value is None or isinstance(value, (bool, float)):
        return repr(value)
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, int):
        return str(value) if abs(value) < 10**40 else f"<int of {value.bit_length():,} bits>"
    if isinstance(value, str):
        return _string(value, size.text)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return f"<{len(value):,} bytes>"
    if depth >= size.depth:
        return _kind(value)
    if isinstance(value, Mapping):
        shown = _pairs(value.items(), len(value), size, depth, "{}: {}")
        return "{" + shown + "}"
    if isinstance(value, (list, tuple, set, frozenset)):
        return _items(value, size, depth)
    return _thing(value, size, depth)


def _string(value: str, most: int) -> str:
    shown = _redacted(value[:_WINDOW])
    if len(value) <= most:
        return repr(str(shown))
    return f"{str(shown)[:most]!r}… ({len(value):,} characters)"


def _items(value: Any, size: Size, depth: int) -> str:
    left, right = {list: "[]", tuple: "()"}.get(type(value), "{}")
    parts = []
    for item in value:
        if len(parts) == size.items:
            parts.append(f"… {len(value) - size.items:,} more")
            break
        parts.append(_text(item, size, depth + 1))
    name = "" if type(value) in (list, tuple, set) else type(value).__name__
    return f"{name}{left}{', '.join(parts)}{right}"


def _pairs(pairs: Any, count: int, size: Size, depth: int, form: str) -> str:
    parts = []
    for name, item in pairs:
        if len(parts) == size.items:
            parts.append(f"… {count - size.items:,} more")
            break
        hidden = isinstance(name, str) and _SECRET.search(name)
        shown = "***" if hidden else _text(item, size, depth + 1)
        label = name if form[2] == "=" else _text(name, size, depth + 1)
        parts.append(form.format(label, shown))
    return ", ".join(parts)


def _thing(value: Any, size: Size, depth: int) -> str:
    """A value of a class: its fields where the class declares them; its own code is not asked."""
    name = type(value).__name__
    if isinstance(value, BaseException):
        return f"{name}({', '.join(_text(arg, size, depth + 1) for arg in value.args[:3])})"
    fields = dict(_fields(value))
    if not fields:
        return _kind(value)
    if "content" in fields and "type" in fields:  # a message says more by its words than by its fields
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
    return str(model.redact(text))


def _kind(value: Any) -> str:
    return f"<{type(value).__name__}>"
