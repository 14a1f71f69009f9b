"""Canonical trees and programs as short text for people."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping
from typing import Any

from lineage_conformance import zoo
from lineage_conformance.kinds.saver.operations import Op, default_of

LONGEST = 4000
"""Characters of one value that are looked at; more would help nobody."""

_ID = re.compile(r"1f([0-9a-f]{6})-0000-6000-8000-[0-9a-f]{12,}")
_THREAD = re.compile(r"(?<![0-9a-f])[0-9a-f]{12,}-(?=\S)")


def tidy(text: str) -> str:
    """`text` with the ids that a run makes up shortened to the names in its program."""
    return _THREAD.sub("", _ID.sub(lambda match: f"#{int(match.group(1), 16)}", text))


def text(tree: Any) -> str:
    """A canonical tree as Python-like text on one line."""
    return tidy(_text(tree, 0))[:LONGEST]


def _text(tree: Any, depth: int) -> str:
    if depth > 12:
        return "..."
    if isinstance(tree, str):
        return repr(tree[:LONGEST])
    if isinstance(tree, list):
        return "[" + ", ".join(_text(item, depth + 1) for item in tree) + "]"
    if isinstance(tree, Mapping):
        if len(tree) == 1:
            ((key, value),) = tree.items()
            if isinstance(key, str) and key.startswith("~"):
                return _tagged(key[1:], value, depth + 1)
            if key == "configurable" and isinstance(value, Mapping):
                return _config(value)
        return "{" + ", ".join(f"{k!r}: {_text(v, depth + 1)}" for k, v in tree.items()) + "}"
    return repr(tree)


def _tagged(name: str, value: Any, depth: int) -> str:
    if name in ("float", "int") and isinstance(value, (str, int)):
        return str(value)
    if name == "tuple" and isinstance(value, list):
        inner = ", ".join(_text(item, depth) for item in value)
        return f"({inner},)" if len(value) == 1 else f"({inner})"
    if name == "dict" and isinstance(value, list):
        pairs = (f"{_text(k, depth)}: {_text(v, depth)}" for k, v in value)
        return "{" + ", ".join(pairs) + "}"
    if name == "bytes" and isinstance(value, str):
        try:
            return repr(bytes.fromhex(value))
        except ValueError:
            return f"bytes({value!r})"
    if isinstance(value, Mapping):
        return f"{name}({', '.join(f'{k}={_text(v, depth)}' for k, v in value.items())})"
    if isinstance(value, list):
        return f"{name}({', '.join(_text(item, depth) for item in value)})"
    return f"{name}({_text(value, depth)})"


def _config(conf: Mapping[str, Any]) -> str:
    parts = [str(conf.get("thread_id"))]
    if conf.get("checkpoint_ns"):
        parts.append(f"ns {conf['checkpoint_ns']!r}")
    if conf.get("checkpoint_id") is not None:
        parts.append(str(conf["checkpoint_id"]))
    return f"<config of {' '.join(parts)}>"


def source(value: Any) -> str:
    """A value of a program as Python source, the names of the zoo spelled out."""
    return zoo.source(dict(value) if isinstance(value, Mapping) else value)


def operation(op: Op, most: int = 300) -> list[str]:
    """One operation as lines: its name and the fields that say something."""
    parts: list[str] = []
    for f in dataclasses.fields(op):
        value = getattr(op, f.name)
        if f.name in ("inner", "ops", "lenient") or value == default_of(f):
            continue
        shown = source(value)
        if len(shown) > most:
            shown = shown[: most // 2] + " ... " + shown[-most // 4 :]
        parts.append(f"{f.name}={shown}")
    lines = [f"{op.name}({', '.join(parts)})"]
    for inner in (*getattr(op, "inner", ()), *getattr(op, "ops", ())):
        lines += [f"    {line}" for line in operation(inner, most)]
    return lines


def step(data: Any, most: int = 300) -> list[str]:
    """One step of a case that is no program of this version, told from its JSON data."""
    if not isinstance(data, Mapping) or "op" not in data:
        return [text(data)[:most]]
    parts = [f"{key}={text(value)[:most]}" for key, value in data.items() if key != "op"]
    return [f"{data['op']}({', '.join(parts)})"]


def field(at: str) -> str:
    """What a difference is about, in words: ``get:metadata.step`` is 'metadata.step that get read'."""
    kind, _, path = at.partition(":")
    head, _, rest = path.partition(".")
    whose = f"as {kind} shows it" if kind in ("get", "list", "delta_history") else f"after {kind}"
    if head == "row":
        head, _, rest = rest.partition(".")
        whose = "in a row of list"
    known = {
        "raises": f"what {kind} answers",
        "found": f"what {kind} finds",
        "rows": "the rows that list gives",
        "order": "the order of the rows that list gives",
        "minted": "the versions that get_next_version makes",
        "writes_order": f"the order of the pending writes {whose}",
        "arguments": f"the caller's own arguments {whose}" + (f" ({rest})" if rest else ""),
        "returned": f"the config that {kind} returned" + (f" ({_last(rest)})" if rest else ""),
        "parent_config": f"the parent {whose}" + (f" ({_last(rest)})" if rest else ""),
        "config": f"the config {whose}" + (f" ({_last(rest)})" if rest else ""),
        "lost": f"{rest}, stored with a value, {whose}",
        "history": f"the history of channel {rest.replace('.', ': ')} {whose}",
    }
    if head == "pending_writes" and rest:
        number, _, part = rest.partition(".")
        names = {"0": "task id", "1": "channel", "2": "value"}
        first, _, deeper = part.partition(".")
        inside = f" ({deeper})" if deeper else ""
        return f"the {names.get(first, first)}{inside} of pending write {_next(number)} {whose}"
    if head == "pending_writes":
        return f"the pending writes {whose}"
    return known.get(head, f"{head}.{rest} {whose}" if rest else f"{head} {whose}")


def side(at: str, value: Any) -> str:
    """One side of a difference: rows and answers in words, everything else as Python would write it."""
    head = at.partition(":")[2].partition(".")[0]
    if head in ("rows", "order") and isinstance(value, list):
        return ", ".join(str(item) for item in value) or "(no rows)"
    if head in ("found", "raises", "minted") and isinstance(value, str):
        return tidy(value[:LONGEST])
    if value == "(absent)":
        return "(absent)"
    return text(value)


def _last(path: str) -> str:
    return path.rpartition(".")[2]


def _next(number: str) -> str:
    return str(int(number) + 1) if number.isdigit() else number


def faces(names: Iterable[str]) -> str:
    """Face names as a list for people."""
    return ", ".join(names)
