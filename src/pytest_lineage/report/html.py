"""The report as one HTML page that needs no network and runs no script but its own."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from lineage_conformance import kinds
from pytest_lineage.report import gist, html_failure, html_tables, roots
from pytest_lineage.report.html_tables import SHOWN, esc, letter
from pytest_lineage.report.roots import Failure, Row
from pytest_lineage.report.style import clip

PAGE = Path(__file__).parent / "page"

ROOM = 1_200_000
"""Characters that failures may take together; those after are listed in a line each."""

LINES = 200_000
"""Characters that those lines may take; what is left is counted."""


def render(document: Mapping[str, Any]) -> str:
    """The whole page."""
    script = (PAGE / "page.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'; base-uri 'none'; "
        "form-action 'none'"
    )
    rows: dict[str, list[Row]] = {target["name"]: [] for target in document["targets"]}
    for row in document["laws"]:
        rows.setdefault(row["target"], []).append(row)
    names = list(rows)
    failures = [f for name in names for f in roots.failures({**document, "laws": rows[name]}, name)]
    failures.sort(key=roots.order)
    told, shown = _failures(document, failures, names)
    anchors = {(f.row["target"], f.row["law"]): f"f{n}" for n, f in enumerate(failures[:shown], 1)}
    for number, failure in enumerate(failures[:shown], 1):
        for law in failure.folded:
            anchors.setdefault((failure.row["target"], law), f"f{number}")
    word = _overall(document)
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="referrer" content="no-referrer">',
        f"<title>{word}: pytest-lineage</title>",
        f"<style>{(PAGE / 'style.css').read_text(encoding='utf-8')}</style></head><body>",
        '<a class="skip" href="#laws">Skip to the laws</a>',
        *_head(document),
        '<nav aria-label="Sections"><a href="#failures">Failures</a> <a href="#list">Laws</a></nav>',
        "<main>",
        *_cards(document, names),
        *_notes(document),
        *_form(document, names, rows),
        *(
            [*html_tables.groups(rows), *told]
            if len(rows) > 1
            else [*told, *html_tables.groups(rows)]
        ),
        *html_tables.laws(rows, anchors),
        *_left_out(document, rows, names),
        "</main>",
        f"<script>{script}</script></body></html>\n",
    ]
    return "\n".join(parts)


def _overall(document: Mapping[str, Any]) -> str:
    order = ("ERROR", "BROKEN", "FIXED", "INCOMPLETE", "GOOD")
    found = [gist.verdict(document, target).word for target in document["targets"]]
    return min(found, key=order.index) if found else "INCOMPLETE"


def _head(document: Mapping[str, Any]) -> Iterator[str]:
    kind = (
        ""
        if document.get("kind", kinds.USUAL) == kinds.USUAL
        else f" of kind {esc(document['kind'])}"
    )
    packages = ", ".join(
        f"{esc(name)}&nbsp;{esc(version)}" for name, version in document["versions"].items()
    )
    yield "<header><h1>Does it keep LangGraph's promises?</h1>"
    yield (
        f'<p class="soft small">{gist.many(len(document["targets"]), "target")}{kind}, profile '
        f"{esc(document.get('profile', '?'))}. Python {esc(document.get('python', '?'))} on "
        f"{esc(document.get('platform', '?'))}; {packages}</p></header>"
    )


def _cards(document: Mapping[str, Any], names: list[str]) -> Iterator[str]:
    yield '<ul class="cards" aria-label="Verdicts">'
    for target in document["targets"]:
        verdict = gist.verdict(document, target)
        facts = [esc(target["class"])] if target.get("class") else []
        facts += [f"{esc(name)} {esc(v)}" for name, v in (target.get("versions") or {}).items()]
        yield (
            f'<li class="card {verdict.word}" data-t="{names.index(target["name"])}">'
            f"<h3>{esc(clip(target['name'], 200))}</h3><p><b>{verdict.word}</b> — "
            f"{esc(verdict.text)}, {verdict.seconds:.1f} s</p>"
            + (f'<p class="small soft">{", ".join(facts)}</p>' if facts else "")
        )
        for key in ("error", "fault"):
            if target.get(key):
                yield f"<pre>{esc_lines(clip(str(target[key]), 3000))}</pre>"
        yield "</li>"
    yield "</ul>"


def esc_lines(text: str) -> str:
    """Text of several lines as HTML."""
    return "\n".join(esc(line) for line in text.split("\n"))


def _notes(document: Mapping[str, Any]) -> Iterator[str]:
    notes = gist.known(document)
    if notes:
        items = "".join(
            f"<li><b>{esc(label)}</b>: {esc(clip(text, 600))}</li>" for label, text in notes
        )
        yield f'<ul class="why">{items}</ul>'


def _form(
    document: Mapping[str, Any], names: list[str], rows: Mapping[str, list[Row]]
) -> Iterator[str]:
    used = {letter(row) for some in rows.values() for row in some}
    groups = dict.fromkeys(row["group"] for some in rows.values() for row in some)
    levels = [
        level
        for level in roots.LEVELS
        if any(r["level"] == level for some in rows.values() for r in some)
    ]
    yield '<h2 id="find">Find</h2><form hidden role="search" aria-labelledby="find">'
    yield '<label><span>Text (<kbd>/</kbd>)</span><input type="search" name="q" autocomplete="off"></label>'
    if len(names) > 1:
        yield _select(
            "target", "Target", [(str(n), clip(name, 60)) for n, name in enumerate(names)]
        )
    yield _select("group", "Group", [(group, group) for group in groups])
    yield _select("level", "Level", [(level, level) for level in levels])
    yield _select("verdict", "Verdict", [(key, words) for key, words in SHOWN if key in used])
    yield '<button type="reset">Show all</button></form><p role="status" class="soft small"></p>'


def _select(name: str, label: str, options: Iterable[tuple[str, str]]) -> str:
    items = "".join(f'<option value="{esc(key)}">{esc(text)}</option>' for key, text in options)
    return (
        f'<label>{label}<select name="{name}"><option value="">all</option>{items}</select></label>'
    )


# -- failures ----------------------------------------------------------------------------------------


def _failures(
    document: Mapping[str, Any], failures: list[Failure], names: list[str]
) -> tuple[list[str], int]:
    """The section of the failures, and how many of them it holds."""
    lines = [f'<h2 id="failures">Failures ({len(failures)})</h2>']
    if not failures:
        none = '<p>Nothing is broken that is not known.</p><button type="button" id="all" hidden></button>'
        return [*lines, none], 0
    lines.append('<button type="button" id="all" aria-pressed="false">Open all</button>')
    room, shown = ROOM, 0
    while shown < len(failures) and room > -LINES:
        failure = failures[shown]
        shown += 1
        folded = (row for some in failure.folded.values() for row in some)
        seen = "".join(sorted({letter(row) for row in (failure.row, *folded)}))
        target = names.index(failure.row["target"])
        text = html_failure.render(
            failure, document, f"f{shown}", target, seen, room > 0, room > ROOM // 2
        )
        room -= len(text)
        lines.append(text)
    if shown < len(failures):
        ids = ", ".join(f"{esc(f.name)} of {esc(f.row['target'])}" for f in failures[shown:])
        lines.append(f"<p>Left out: {ids}</p>")
    return [*lines, '<p id="none" hidden>No failure fits what is looked for.</p>'], shown


def _left_out(
    document: Mapping[str, Any], rows: Mapping[str, list[Row]], names: list[str]
) -> Iterator[str]:
    parts: list[str] = []
    for target in document["targets"]:
        name = target["name"]
        items = gist.notes(target, rows[name])
        for words, reasons in gist.left_out(rows[name]):
            items += [f"{words} ({count}): {reason} ({laws})" for count, reason, laws in reasons]
        if items:
            shown = "".join(f"<li>{esc(item)}</li>" for item in items)
            number = names.index(name)
            head = f'<details data-t="{number}"><summary>{esc(clip(name, 200))}</summary>'
            parts.append(f'{head}<ul class="why">{shown}</ul></details>')
    if parts:
        yield '<h2 id="open">What was not judged, and why</h2>'
        yield from parts
