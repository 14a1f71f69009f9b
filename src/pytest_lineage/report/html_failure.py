"""One failure as HTML: program, expected and got, lineage, what it means, how to run it again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from pytest_lineage.report import drawing, evidence, gist, roots, values
from pytest_lineage.report.block import CALLED
from pytest_lineage.report.roots import Failure
from pytest_lineage.report.style import clip, safe

LONGEST = 1200
"""Characters of one side of a difference."""

MOST = 3
"""Differences that are shown."""

LEFT_OUT = "<p>Left out to keep the page small.</p>"

_REPORT = re.compile(r"([\w.-]+/[\w.-]+)#(\d+)")


def _esc(text: object, most: int = 2000) -> str:
    return escape(clip(safe(text), most), quote=True)


def render(
    failure: Failure,
    document: Mapping[str, Any],
    anchor: str,
    target: int,
    seen: str,
    whole: bool,
    folded: bool = True,
) -> str:
    """A failure as an element that opens.

    Where the page has no room, without its programs, or without those of what follows (`folded`).
    """
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
    parts = list(_body(failure, document, folded)) if whole else [LEFT_OUT, *_context(failure)]
    return head + "\n".join(parts) + "</div></details>"


def _body(failure: Failure, document: Mapping[str, Any], folded: bool) -> Iterator[str]:
    row = failure.row
    yield from _evidence(row)
    ops = evidence.operations((row.get("evidence") or {}).get("program"))
    drawn = drawing.svg(ops, dict(_first(row))) if ops else ""
    if drawn:
        yield f'<h3>Lineage</h3><div class="lineage">{drawn}</div>'
    yield from _context(failure)
    yield _again(row, document)
    for some in failure.ways:
        faces = _esc(failure.listed([each["face"] for each in some]))
        yield f"<details><summary>In another way on {faces}</summary>"
        yield from _evidence(some[0])
        yield _again(some[0], document) + "</details>"
    for name, rows in failure.follows() if folded else ():
        tag = f"{_esc(rows[0]['level'])} {_esc(rows[0]['verdict'])}"
        yield f"<details><summary>Follows: <span class=id>{_esc(name)}</span> {tag}</summary>"
        yield f"<p>{_esc(rows[0].get('sentence', ''), 400)}</p>"
        for some in roots.alike(rows):
            if len(some) < len(rows):
                yield f"<h3>On {_esc(failure.listed([each['face'] for each in some]))}</h3>"
            yield from _evidence(some[0])
            yield _again(some[0], document)
        yield "</details>"


def _first(row: Mapping[str, Any]) -> Mapping[str, Any]:
    differences = (row.get("evidence") or {}).get("differences") or []
    return differences[0] if differences and isinstance(differences[0], Mapping) else {}


def _evidence(row: Mapping[str, Any]) -> Iterator[str]:
    """The program, what differed, where it stood, and what a graph's engine called on the saver."""
    found = row.get("evidence") or {}
    yield from _program(found.get("program"), _first(row))
    differences = found.get("differences") or []
    if _first(row) and row["verdict"] != "hangs":
        for difference in differences[:MOST]:
            yield from _difference(difference)
        if len(differences) > MOST:
            yield f'<p class="small soft">and {gist.many(len(differences) - MOST, "more difference")}</p>'
    elif row.get("reason"):
        yield f"<p>{_esc(row['reason'])}</p>"
    frames = evidence.frames_of(found["stack"] if isinstance(found.get("stack"), str) else "")
    if frames:
        shown = "\n".join(_esc(frame) for frame in frames)
        yield f"<h3>Where it stood, innermost call first</h3><pre>{shown}</pre>"
    recorded = found.get("recorded")
    if isinstance(recorded, Mapping) and recorded.get("program"):
        calls = {"evidence": recorded, "verdict": "broken"}
        yield from _program(recorded["program"], _first(calls), CALLED.capitalize())
        for difference in (recorded.get("differences") or [])[:1]:
            yield from _difference(difference)
        laws = ", ".join(f"<span class=id>{_esc(law)}</span>" for law in recorded.get("laws") or ())
        yield f"<p>It breaks {laws}</p>" if laws else ""


def _program(program: Any, difference: Mapping[str, Any], title: str = "") -> Iterator[str]:
    if not isinstance(program, Mapping):
        return
    ops = evidence.operations(program)
    yield f"<h3>{title or 'Smallest program that shows it'}</h3><pre>"
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
    yield f"<h3>{where}{_esc(evidence.field(difference), 300)}</h3>"
    expected, got = evidence.sides(dict(difference))
    start = evidence.shared(expected, got)
    end = evidence.shared(expected[start:][::-1], got[start:][::-1])
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
    if roots.words(row):
        facts.append(("At stake", _esc(roots.words(row))))
    for key, label in (("meaning", "It means"), ("source", "Source"), ("advisory", "Advisory")):
        if row.get(key):
            facts.append((label, _esc(row[key])))
    if len(failure.alike) > 1:
        facts.append(("The same on", _esc(failure.listed(failure.alike))))
    if failure.otherwise:
        facts.append(("In another way on", _esc(failure.listed(failure.otherwise))))
    for law, on in failure.elsewhere.items():
        text = f"<span class=id>{_esc(law)}</span>, on {_esc(failure.listed(on))}"
        facts.append(("Follows from", text))
    if failure.folded:
        names = ", ".join(f"<span class=id>{_esc(name)}</span>" for name, _ in failure.follows())
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


def _again(row: Mapping[str, Any], document: Mapping[str, Any]) -> str:
    commands = [" ".join(gist.rerun(document, row))]
    if row.get("program_id"):
        commands.append(gist.replay(document, row))
    shown = "</pre><pre class=cmd>".join(_esc(command, 600) for command in commands)
    return f"<h3>Run only this</h3><pre class=cmd>{shown}</pre>"
