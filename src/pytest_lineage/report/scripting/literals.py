"""Python source of names and values, and source lines broken at commas."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Mapping
from typing import Any

LAST_RESORT = 100
"""Added to the depth of places that are ugly to break at."""

WIDTH = 120
"""Columns of a script."""

ABSENT = "(absent)"
"""How evidence writes that a side has nothing at a path."""

_ID = re.compile(r"1f([0-9a-f]{6})-0000-6000-8000-[0-9a-f]{12,}")
_RUN = re.compile(r"(.)\1{29,}", re.DOTALL)
_THREAD = re.compile(r"[0-9a-f]{12,}-(.*)", re.DOTALL)


class Unknown(Exception):
    """A value that has no source text of its own; the script must get at it in another way."""


def literal(text: str) -> str:
    """A text as source, long runs of one character kept short."""
    if not _RUN.search(text):
        return _chunks(text)
    start = 0
    parts: list[str] = []
    for run in _RUN.finditer(text):
        if run.start() > start:
            parts.append(_chunks(text[start : run.start()]))
        parts.append(f"{run.group(1)!r} * {len(run.group())}")
        start = run.end()
    return " + ".join([*parts, *([_chunks(text[start:])] if start < len(text) else [])])


def _chunks(text: str) -> str:
    """A text as adjacent texts, between which a line can be broken."""
    if len(text) <= 90:
        return repr(text)
    return "(" + " ".join(repr(text[at : at + 80]) for at in range(0, len(text), 80)) + ")"


def expression(tree: Any) -> str:
    """Source that makes the value of a canonical tree. Raises `Unknown` where only the saver can make it.

    Ids that a run made up become those of the script: ``cid(2)``.
    """
    if isinstance(tree, str):
        number = _ID.fullmatch(tree)
        return f"cid({int(number.group(1), 16)})" if number else literal(unprefixed(tree))
    if tree is None or isinstance(tree, (bool, int)):
        return repr(tree)
    if isinstance(tree, list):
        return f"[{', '.join(map(expression, tree))}]"
    if not isinstance(tree, Mapping):
        raise Unknown
    tagged = next(iter(tree), "")
    if len(tree) == 1 and isinstance(tagged, str) and tagged.startswith("~"):
        return _tagged(tagged, tree[tagged])
    if any(str(key).startswith("~") for key in tree):
        raise Unknown
    return "{" + ", ".join(f"{key!r}: {expression(item)}" for key, item in tree.items()) + "}"


def _tagged(tag: str, value: Any) -> str:
    if tag == "~float":
        return f"float({value!r})" if value in ("nan", "inf", "-inf") else str(value)
    if tag == "~tuple" and isinstance(value, list):
        return f"({', '.join(map(expression, value))}{',' if len(value) == 1 else ''})"
    if tag == "~bytes" and isinstance(value, str):
        return repr(bytes.fromhex(value))
    if tag in ("~set", "~frozenset") and isinstance(value, list):
        return f"{tag[1:]}([{', '.join(map(expression, value))}])"
    if tag == "~dict" and isinstance(value, list):
        return "{" + ", ".join(f"{expression(k)}: {expression(v)}" for k, v in value) + "}"
    raise Unknown


def unprefixed(text: str) -> str:
    """The label of a thread id that a run made up; any other text as it is."""
    match = _THREAD.fullmatch(text)
    return match.group(1) if match else text


def number(id: str) -> int | None:
    """The number of a checkpoint id that a run made up."""
    match = _ID.fullmatch(id)
    return int(match.group(1), 16) if match else None


def broken(line: str, width: int = WIDTH) -> list[str]:
    """A line of source, broken after commas (or between adjacent texts) inside brackets where it is too long."""
    if len(line) <= width:
        return [line]
    indent = " " * (len(line) - len(line.lstrip()))
    places = _places(line.lstrip())
    lines, start, text = [], 0, line.lstrip()
    room = width - len(indent)
    while len(text) - start > room:
        fits = [p for p in places if start < p[1] <= start + room]
        if not fits:
            fits = [p for p in places if p[1] > start][:1]
            if not fits:
                break
        late = [p for p in fits if p[1] > start + room // 3] or fits
        outermost = min(depth for depth, _ in late)
        end = max(offset for depth, offset in late if depth == outermost)
        lines.append(indent + text[start:end].strip())
        start = end
        if len(lines) == 1:
            indent, room = indent + "    ", room - 4
    return [*lines, indent + text[start:].lstrip()]


def _places(text: str) -> list[tuple[int, int]]:
    """Depth and offset of places at which a line may be broken: after a comma, or between two texts, in brackets."""
    places: list[tuple[int, int]] = []
    depth = before = 0
    try:
        for token in tokenize.generate_tokens(io.StringIO(text + "\n").readline):
            if token.type == tokenize.OP:
                depth += (token.string in "([{") - (token.string in ")]}")
                if token.string in "([{":
                    places.append((depth + LAST_RESORT, token.end[1]))
                if token.string == "," and depth:
                    places.append((depth, token.end[1]))
            adjacent = token.type == before == tokenize.STRING
            if adjacent and depth:
                places.append((depth, token.start[1]))
            before = token.type
    except (tokenize.TokenError, IndentationError, SyntaxError):
        return places
    return places


def is_thread(text: str) -> bool:
    """Whether a text is a thread id that a run made up."""
    head = text.partition("-")[0]
    return len(head) >= 12 and all(char in "0123456789abcdef" for char in head)


def told(tree: Any) -> Any:
    """A tree with the names that a run makes up replaced by those that last."""
    if isinstance(tree, str):
        found = number(tree)
        return found if found is not None else tree.partition("-")[2] if is_thread(tree) else tree
    if isinstance(tree, list):
        return [told(item) for item in tree]
    return {k: told(v) for k, v in tree.items()} if isinstance(tree, Mapping) else tree
