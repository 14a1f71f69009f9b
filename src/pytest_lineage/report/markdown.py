"""The report as markdown, sized for a step summary or a pull request comment: failures first."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

from pytest_lineage.report import gist, roots
from pytest_lineage.report.block import block
from pytest_lineage.report.roots import Failure
from pytest_lineage.report.style import Style, clip, safe

LIMIT = 65_000
"""Bytes of the whole text; GitHub refuses comments of more than 65 536 characters."""

NAMES = 8_000
"""Bytes that the names of failures may take that are left out."""

_SPECIAL = re.compile(r"[&<>|*_`\[\]#@\\~:$]")
_SIGNS = {"GOOD": "✅", "BROKEN": "❌", "FIXED": "⚠️", "INCOMPLETE": "⚠️", "ERROR": "❌"}


def render(document: Mapping[str, Any], limit: int = LIMIT) -> str:
    """The whole report as GitHub markdown of at most `limit` bytes."""
    head = ["## pytest-lineage", ""]
    for target in document["targets"]:
        verdict = gist.verdict(document, target)
        text = f"{verdict.word} — {escape(verdict.text)}, {verdict.seconds:.1f} s"
        head.append(f"- {_SIGNS.get(verdict.word, '❌')} {code(verdict.target)}: **{text}**")
    for target in document["targets"]:
        for key in ("error", "fault"):
            if target.get(key):
                head += ["", *fenced(clip(str(target[key]), 3000))]
    head += [f"- {escape(label)}: {escape(text)}" for label, text in gist.known(document)]
    tail = [line for target in document["targets"] for line in _target(document, target)]
    tail += ["", f"<sub>{_versions(document)}</sub>", ""]
    room = limit - _size([*head, *tail]) - 400
    if room < 0:  # so many targets that their tables alone are too much
        tail, room = [], limit - _size(head) - 400
    failures = roots.failures(document)
    shown, left = _failures(document, failures, room)
    if left:
        shown += [
            "",
            f"{gist.many(left, 'failure')} left out to keep this short: {_names(failures[-left:])}",
        ]
    return _cut("\n".join([*head, *shown, *tail]), limit)


def escape(text: object) -> str:
    """Plain text for markdown: nothing in it is a tag, a mark, a link, a mention or a reference."""
    return _SPECIAL.sub(lambda match: f"&#{ord(match.group())};", safe(text))


def code(text: object) -> str:
    """Text as inline code, safe in a table too."""
    inner = safe(text)
    escaped = re.sub(r"[&<>|`@\[\]*_\\~#:$]", lambda match: f"&#{ord(match.group())};", inner)
    return f"<code>{escaped}</code>"


def fenced(text: str) -> list[str]:
    """Text as a code block whose fence occurs nowhere in it."""
    lines = [safe(line) for line in text.split("\n")]
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"{fence}text", *lines, fence]


def _failures(
    document: Mapping[str, Any], failures: list[Failure], room: int
) -> tuple[list[str], int]:
    """As many failures as there is room for, and how many were left out."""
    lines: list[str] = []
    room -= min(_size([_names(failures)]), NAMES) if room > NAMES else 0
    for number, failure in enumerate(failures):
        part = _failure(document, failure)
        size = _size(part)
        if size > room:
            return lines, len(failures) - number
        lines += part
        room -= size
    return lines, 0


def _names(failures: list[Failure]) -> str:
    """What is left out, by name, as far as there is room for names."""
    names, size = [escape(f"{f.name} of {f.row['target']}") for f in failures[:NAMES]], 0
    for number, name in enumerate(names):
        size += _size([name]) + 1
        if size > NAMES:
            return ", ".join(names[:number]) + f", and {len(failures) - number} others"
    return ", ".join(names)


def _failure(document: Mapping[str, Any], failure: Failure) -> list[str]:
    row = failure.row
    where = failure.listed(failure.faces)
    title = f"<b>{escape(row['level'])} {escape(row['verdict'])}</b> {code(row['law'])} on {escape(where)}"
    if len(document["targets"]) > 1:
        title += f" of {code(row['target'])}"
    stake = f"<br>At stake: {roots.words(row)}" if roots.words(row) else ""
    body = "\n".join(block(failure, document, Style(100)))
    return [
        "", f"<details><summary>{title}<br>{escape(clip(row.get('sentence', ''), 300))}{stake}</summary>", "",
        *fenced(body), "", "</details>",
    ]  # fmt: skip


def _target(document: Mapping[str, Any], target: Mapping[str, Any]) -> list[str]:
    rows = [row for row in document["laws"] if row["target"] == target["name"]]
    if not rows:
        return []
    table = gist.counts(rows)
    faces = gist.faces_of(table)
    lines = ["", f"**{code(target['name'])}**, laws that hold on each face", ""]
    lines += ["| group | " + " | ".join(map(escape, faces)) + " |", "|---" * (len(faces) + 1) + "|"]
    for group, line in table.items():
        cells = [gist.cell(line.get(face, Counter()))[0] for face in faces]
        lines.append(f"| {escape(group)} | " + " | ".join(cells) + " |")
    used = {mark for line in lines[5:] for mark in line}
    legend = [
        f"{mark} {words}" for _, mark, words, _ in gist.MARKS if words and mark in used - set("ekf")
    ]
    lines += ["", ", ".join(legend)] if legend else []
    return [*lines, *_left_out(target, rows)]


def _left_out(target: Mapping[str, Any], rows: list[Any]) -> list[str]:
    items = gist.notes(target, rows)
    for words, reasons in gist.left_out(rows):
        items += [f"{words} ({count}): {reason} ({laws})" for count, reason, laws in reasons]
    if not items:
        return []
    body = [f"- {escape(item)}" for item in items]
    return [
        "",
        "<details><summary>What was not judged, and why</summary>",
        "",
        *body,
        "",
        "</details>",
    ]


def _versions(document: Mapping[str, Any]) -> str:
    parts = [f"Python {document.get('python', '?')} on {document.get('platform', '?')}"]
    parts += [f"{name} {version}" for name, version in document["versions"].items()]
    return escape(f"profile {document.get('profile', '?')}; installed: {', '.join(parts)}")


def _size(lines: list[str]) -> int:
    return sum(len(line.encode("utf-8", "backslashreplace")) + 1 for line in lines)


def _cut(text: str, limit: int) -> str:
    data = text.encode("utf-8", "backslashreplace")
    if len(data) <= limit:
        return text
    note = "\n\n... cut to fit.\n"
    kept = data[: limit - len(note)].decode("utf-8", "ignore").rpartition("\n")[0]
    return kept + note
