"""One failure as HTML: program, expected and got, lineage, what it means, how to run it again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from pytest_lineage.report import block, drawing, gist, values
from pytest_lineage.report.gist import Failure
from pytest_lineage.report.style import clip, safe

LONGEST = 1200
"""Characters of one side of a difference."""

MOST = 3
"""Differences that are shown."""

_REPORT = re.compile(r"([\w.-]+/[\w.-]+)#(\d+)")


def _esc(text: object, most: int = 2000) -> str:
    return escape(clip(safe(text), most), quote=True)


def render(
    failure: Failure, document: Mapping[str, Any], anchor: str, target: int, seen: str, whole: bool
) -> str:
    """A failure as an element that opens; without what is inside where the page has no room for it."""
    row = failure.row
    faces = failure.listed([*failure.alike, *failure.otherwise])
    several = len(document["targets"]) > 1
    of = f" of <code>{_esc(row['target'], 100)}</code>" if several else ""
    head = (
        f'<details class="fail {_esc(failure.level)}" id="{anchor}" data-t="{target}" data-l="{_esc(row["level"])}" '
        f'data-g="{_esc(row["group"])}" data-v="{seen}"><summary><span class="tag">{_esc(row["level"])} '
        f'{_esc(row["verdict"])}</span> <span class="id">{_esc(row["law"])}</span> on {_esc(faces)}{of}'
        f'<span class="small soft">{_esc(row.get("sentence", ""), 400)}</span></summary><div>'
    )
    parts = list(_body(failure, document)) if whole else ["<p>Left out to keep the page small.</p>"]
    return head + "\n".join(parts) + "</div></details>"


def _body(failure: Failure, document: Mapping[str, Any]) -> Iterator[str]:
    row = failure.row
    evidence = row.get("evidence") or {}
    program = evidence.get("program")
    ops = block.operations(program)
    differences = evidence.get("differences") or []
    first = differences[0] if differences and isinstance(differences[0], Mapping) else {}
    yield from _program(program, ops, first)
    if first and row["verdict"] != "hangs":
        for difference in differences[:MOST]:
            yield from _difference(difference)
        if len(differences) > MOST:
            yield f'<p class="small soft">and {gist.many(len(differences) - MOST, "more difference")}</p>'
    elif row.get("reason"):
        yield f"<p>{_esc(row['reason'])}</p>"
    frames = block.frames_of(evidence["stack"] if isinstance(evidence.get("stack"), str) else "")
    if frames:
        shown = "\n".join(_esc(frame) for frame in frames)
        yield f"<h3>Where it stood, innermost call first</h3><pre>{shown}</pre>"
    drawn = drawing.svg(ops, first) if ops else ""
    if drawn:
        yield f'<h3>Lineage</h3><div class="lineage">{drawn}</div>'
    yield from _context(failure)
    yield _again(failure, document)


def _program(program: Any, ops: list[Any], difference: Mapping[str, Any]) -> Iterator[str]:
    if not isinstance(program, Mapping):
        return
    yield "<h3>Smallest program that shows it</h3><pre>"
    lines = [
        f"<span class=step>{_esc(f'{key}: {values.text(value)}')}</span>"
        for key, value in program.items()
        if key not in ("format", "ops", "origin")
    ]
    raw = program.get("ops")
    steps = [values.operation(op) for op in ops]
    steps = steps or [values.step(item) for item in (raw if isinstance(raw, list) else [])]
    for number, step in enumerate(steps[:60]):
        wrong = number == difference.get("op")
        text = "\n".join(_esc(line) for line in step)
        mark = "<span class=vh>it shows here: </span>" if wrong else ""
        lines.append(
            f"<span class='step{' at' if wrong else ''}'>{number + 1:<3}{mark}{text}</span>"
        )
    yield "".join(lines) + "</pre>"


def _difference(difference: Mapping[str, Any]) -> Iterator[str]:
    where = f"Operation {difference['op'] + 1}: " if isinstance(difference.get("op"), int) else ""
    yield f"<h3>{where}{_esc(block._field(difference), 300)}</h3>"
    expected, got = block._sides(dict(difference))
    start = block._shared(expected, got)
    end = block._shared(expected[start:][::-1], got[start:][::-1])
    yield '<dl class="sides">'
    for name, text in (("exp", expected), ("got", got)):
        word = "expected" if name == "exp" else "got"
        side = _marked(text, start, len(text) - end)
        yield f'<dt class="soft">{word}</dt><dd class="{name}"><code>{side}</code></dd>'
    yield "</dl>"


def _marked(text: str, start: int, stop: int) -> str:
    """A side with its differing part marked, long parts that are alike left out."""
    before, middle, after = text[:start], text[start:stop], text[stop:]
    if len(before) > 300:
        before = "…" + before[-200:]
    return f"{_esc(before)}<mark>{_esc(middle, LONGEST)}</mark>{_esc(after, 300)}"


def _context(failure: Failure) -> Iterator[str]:
    row = failure.row
    facts: list[tuple[str, str]] = []
    for key, label in (("meaning", "It means"), ("source", "Source"), ("advisory", "Advisory")):
        if row.get(key):
            facts.append((label, _esc(row[key])))
    if len(failure.alike) > 1:
        facts.append(("The same on", _esc(failure.listed(failure.alike))))
    if failure.otherwise:
        facts.append(("In another way on", _esc(failure.listed(failure.otherwise))))
    if failure.folded:
        names = ", ".join(
            f"<span class=id>{_esc(name)}</span>" for name in list(failure.folded)[:40]
        )
        facts.append((f"{gist.many(failure.consequences, 'verdict')} that follow", names))
    if row.get("reports"):
        facts.append(("Seen in", ", ".join(_report(str(item)) for item in row["reports"][:20])))
    if facts:
        items = "".join(f'<dt class="soft">{label}</dt><dd>{text}</dd>' for label, text in facts)
        yield f'<dl class="sides">{items}</dl>'


def _report(text: str) -> str:
    match = _REPORT.fullmatch(text)
    if match is None:
        return _esc(text, 200)
    return f'<a href="https://github.com/{match[1]}/issues/{match[2]}" rel="noreferrer">{_esc(text)}</a>'


def _again(failure: Failure, document: Mapping[str, Any]) -> str:
    commands = [" ".join(gist.rerun(document, failure.row))]
    if failure.row.get("program_id"):
        commands.append(gist.replay(document, failure.row))
    shown = "</pre><pre class=cmd>".join(_esc(command, 600) for command in commands)
    return f"<h3>Run only this</h3><pre class=cmd>{shown}</pre>"
