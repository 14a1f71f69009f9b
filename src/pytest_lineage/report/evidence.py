"""Evidence on a terminal: the program, what differed, where it stood, and the checkpoints as a tree."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from lineage_conformance.kinds.saver.operations import Op
from lineage_conformance.kinds.saver.program import Program
from pytest_lineage.report import gist, scene, tree, values
from pytest_lineage.report.style import Style, clip, columns, pad, safe

LABEL = 12
"""Columns of the label at the left of a paragraph."""

MORE = 2
"""Further differences that are told in a line each."""

_FRAME = re.compile(r'\s*File "(?P<file>[^"]*)", line (?P<line>\d+),? in (?P<name>.*)')
_OURS = ("pytest_lineage", "lineage_conformance", "lineage_reference")
_PLUMBING = ("threading.py", "asyncio", "<frozen", "concurrent", "selectors.py", "queue.py")


def operations(program: Any) -> list[Op]:
    """The operations of a program in a document; none where it is another kind of case, or newer."""
    try:
        return [] if not program or "graph" in program else list(Program.from_json(program).ops)
    except (ValueError, TypeError, AttributeError, KeyError):
        return []


def program_lines(
    data: Any, ops: list[Op], difference: Mapping[str, Any], style: Style, title: str = ""
) -> list[str]:
    """A program or a scenario under a title, the operation that shows the difference marked."""
    if not isinstance(data, Mapping):
        return []
    word = "scenario" if scene.scenario(data) else "program"
    title = style.paint(title or f"smallest {word} that shows it", "cyan")
    return ["", title, *steps(data, style, ops, difference.get("op"))]


def steps(
    data: Mapping[str, Any], style: Style, ops: list[Op] | None = None, wrong: Any = None
) -> list[str]:
    """The lines that tell a program, scenario or other case in a document; step `wrong` is marked."""
    case = scene.scenario(data)
    ops = operations(data) if ops is None else ops
    lines: list[str] = []
    if case is not None:
        lines += style.wrap(safe(f"graph  {scene.graph(case.shape)}"), "           ", "    ")
        for note in scene.notes(case.shape):
            lines += style.wrap(safe(note), "             ", "           ")
    for key, value in data.items():
        if key not in ("format", "ops", "origin", "graph") or (key == "graph" and case is None):
            shown = str(value) if case is not None else values.text(value)
            lines += style.wrap(safe(f"{key}: {shown}"[:2000]), "        ", "    ")
    acts = [scene.act(act) for act in case.acts] if case is not None else []
    told = (
        acts
        or [values.operation(op) for op in ops]
        or [values.step(d) for d in _list(data.get("ops"))]
    )
    for number, step in enumerate(told):
        here = number == wrong
        mark = ">" if here else " "
        for part, text in enumerate(step):
            first = f"  {mark} {number + 1:<2} " if part == 0 else "       "
            nested = " " * (len(text) - len(text.lstrip()))
            wrapped = style.wrap(safe(text.lstrip()), "         " + nested, first + nested)
            lines += [style.paint(line, "bold") if here else line for line in wrapped]
    return lines


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def difference_lines(
    difference: Mapping[str, Any],
    others: list[Mapping[str, Any]],
    style: Style,
    graph: bool = False,
) -> list[str]:
    """What was expected and what was got, and in a line each what else differs."""
    at = str(difference.get("at", ""))
    what = "action" if graph else "operation"
    where = f"{what} {difference['op'] + 1}: " if isinstance(difference.get("op"), int) else ""
    lines = ["", *style.wrap(where + safe(field(difference, graph)))]
    expected, got = sides(difference)
    under = not at.endswith((":raises", "found", ":minted"))
    lines += marked(expected, got, style, under)
    for other in others[:MORE]:
        expected, got = (clip(side, 200) for side in sides(other))
        lines += style.wrap(
            f"{safe(field(other, graph))}: expected {expected}, got {got}", "    ", "  and "
        )
    if len(others) > MORE:
        lines.append(f"  and {gist.many(len(others) - MORE, 'more difference')}")
    return lines


def field(difference: Mapping[str, Any], graph: bool = False) -> str:
    """What a difference is about, in words."""
    told = scene.field(str(difference.get("at", ""))) if graph else ""
    return told or values.tidy(values.field(str(difference.get("at", ""))))


def sides(difference: Mapping[str, Any]) -> tuple[str, str]:
    """Expected and got as text; told apart even where they look alike."""
    at = str(difference.get("at", ""))
    expected, got = (values.side(at, difference.get(key)) for key in ("expected", "got"))
    if expected == got:
        expected, got = repr(difference.get("expected")), repr(difference.get("got"))
    return safe(expected), safe(got)


def marked(expected: str, got: str, style: Style, underline: bool = True) -> list[str]:
    """Two lines, expected and got, and a third that underlines where they differ."""
    start = shared(expected, got)
    end = shared(expected[start:][::-1], got[start:][::-1])
    room = max(style.width - LABEL, 20)
    shift = max(0, start - room // 3) if max(len(expected), len(got)) > room else 0
    lines, unders = [], []
    for label, text, color in (("expected", expected, "green"), ("got", got, "red")):
        shown, left, right = _window(text, start, len(text) - end, shift, room)
        painted = shown[:left] + style.paint(shown[left:right], color, "bold") + shown[right:]
        lines.append(f"  {pad(label, LABEL - 2)}{painted}")
        carets = "^" * max(columns(shown[left:right]), 1)
        unders.append((" " * (LABEL + columns(shown[:left])) + carets)[: style.width])
    if not underline or not (start or end):
        return lines
    missing = unders[1].count("^") == 1 < unders[0].count("^")
    if missing:  # what is not there cannot be underlined where it is not
        return [lines[0], style.paint(unders[0], "green"), lines[1]]
    return [*lines, style.paint(unders[1], "red")]


def _window(text: str, start: int, stop: int, shift: int, room: int) -> tuple[str, int, int]:
    """The part of a text that fits, and where the differing part lies in it."""
    shown = text[shift : shift + room]
    if shift:
        shown = "…" + shown[1:]
    if len(text) > shift + room:
        shown = shown[:-1] + "…"
    return shown, min(start - shift, len(shown)), max(min(stop - shift, len(shown)), start - shift)


def shared(left: str, right: str) -> int:
    """How many characters two texts have in common at the start."""
    number = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        number += 1
    return number


def stack_lines(stack: Any, style: Style) -> list[str]:
    """Where an operation stood that gave no answer."""
    frames = frames_of(stack if isinstance(stack, str) else "")
    if not frames:
        return []
    lines = ["", style.paint("where it stood (innermost call first)", "cyan")]
    return [
        *lines,
        *(line for frame in frames for line in style.wrap(safe(frame), "        ", "    ")),
    ]


def frames_of(stack: str, most: int = 8) -> list[str]:
    """The frames of a stack dump that are neither ours nor Python's own plumbing, without machine paths."""
    threads = re.split(r"\n(?=(?:Current thread|Thread) )", stack)
    best: list[str] = []
    for thread in threads:
        frames = [match for line in thread.splitlines() if (match := _FRAME.fullmatch(line))]
        theirs = [match for match in frames if not _skip(match["file"], _OURS)]
        while theirs and _skip(theirs[-1]["file"], _PLUMBING):
            theirs.pop()
        shown = [f"{_place(match['file'])}:{match['line']} in {match['name']}" for match in theirs]
        if len(shown) > len(best):
            best = shown
    return best[:most]


def _skip(file: str, parts: Iterable[str]) -> bool:
    return any(part in re.split(r"[\\/]", file) or file.startswith(part) for part in parts)


def _place(file: str) -> str:
    """The last parts of a path: enough to find it, nothing about the machine."""
    parts = re.split(r"[\\/]", file)
    if "site-packages" in parts:
        return "/".join(parts[parts.index("site-packages") + 1 :])
    return "/".join(parts[-2:])


def lineage_lines(ops: list[Op], difference: dict[str, Any], style: Style) -> list[str]:
    """The checkpoints of a program as a tree, the wrong one marked."""
    lines = tree.lineage(ops, difference)
    if not lines:
        return []
    shown = ["", style.paint("lineage", "cyan")]
    for text, mark in lines:
        note = f"   ◄ {mark}" if mark else ""
        room = max(style.width - 4 - columns(note), 8)
        text = safe(text)
        while columns(text) > room:
            text = text[: max(len(text) - 2, 0)].rstrip("…") + "…"
        shown.append("    " + text + style.paint(note, "red", "bold"))
    return shown
