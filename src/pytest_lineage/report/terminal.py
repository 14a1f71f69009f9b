"""The report on a terminal: what is broken and why, then a table, then what was left out, then the verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from lineage_conformance import kinds
from pytest_lineage.report import gist, roots
from pytest_lineage.report.block import block
from pytest_lineage.report.style import Style, clip, columns, pad, safe

TITLE = "laws that hold"
Cell = tuple[str, tuple[str, ...]]
"""Text and colours of one cell of the table."""
SHORT = {"sync": "sync", "async": "async", "sync->async": "s->a", "async->sync": "a->s"}
WORDS = {
    "GOOD": "green",
    "BROKEN": "red",
    "FIXED": "yellow",
    "INCOMPLETE": "yellow",
    "ERROR": "red",
}


def render(
    document: Mapping[str, Any],
    *,
    verbose: bool = False,
    programs: bool = False,
    color: bool | None = None,
    width: int | None = None,
) -> str:
    """The whole report as text.

    Colour and width are taken from the terminal unless they are given; `verbose` lists every row,
    `programs` shows the programs of what follows from a failure.
    """
    style = Style.detect(color, width)
    lines: list[str] = []
    for target in document["targets"]:
        lines += [*_target(document, target, style, verbose, programs), ""]
    lines += [*_versions(document, style), ""]
    for label, text in gist.known(document):
        wrapped = style.wrap(f"{safe(label)}: {safe(text)}", "    ")
        lines += [
            style.paint(line, *(("red",) if label.startswith("error") else ())) for line in wrapped
        ]
    lines += [""] if document.get("known") and lines[-1] else []
    for verdict in gist.verdicts(document):
        lines += _verdict(verdict, style)
    if not document["targets"]:
        lines.append("INCOMPLETE — no target was checked")
    return "\n".join(style.plain(line.rstrip()) for line in lines)


def _target(
    document: Mapping[str, Any],
    target: Mapping[str, Any],
    style: Style,
    verbose: bool,
    programs: bool,
) -> list[str]:
    rows = [row for row in document["laws"] if row["target"] == target["name"]]
    heading, lines = _heading(document, target, style), []
    for failure in roots.failures(document, target["name"]):
        lines += [*block(failure, document, style, programs), "", ""]
    # What one target breaks comes before all; with several, it must be clear whose failure it is.
    one = len(document["targets"]) == 1 or not lines
    lines = [*lines, *heading] if one else [*heading, "", *lines[:-1]]
    for key, label in (("error", "error"), ("fault", "fault of this suite")):
        if target.get(key):
            lines += _message(label, str(target[key]).removeprefix(f"{target['name']}: "), style)
    if rows:
        lines += _table(rows, style)
    lines += _left_out(target, rows, style)
    if verbose:
        lines += ["", *(line for row in rows for line in _row(row, style))]
    return lines


def _heading(document: Mapping[str, Any], target: Mapping[str, Any], style: Style) -> list[str]:
    kind = "" if document.get("kind", kinds.USUAL) == kinds.USUAL else f" ({document['kind']})"
    lines = [style.paint(style.rule(safe(clip(target["name"], style.width - 8))), "bold")]
    facts = [safe(target["class"])] if target.get("class") else []
    facts.append(f"profile {safe(document.get('profile', '?'))}{kind}")
    if target.get("store") is False:
        facts.append("the factory takes no store")
    return [*lines, *style.wrap(", ".join(facts))]


def _message(label: str, text: str, style: Style) -> list[str]:
    lines = [style.paint(f"{label}:", "red", "bold")]
    for line in text.splitlines()[:40]:
        lines += style.wrap(safe(line), "  ", "  ")
    return lines


def _table(rows: Sequence[roots.Row], style: Style) -> list[str]:
    """Groups down, faces across: how many laws hold, and what does not."""
    table = gist.counts(rows)
    faces = gist.faces_of(table)
    cells = {g: [gist.cell(line.get(f, Counter())) for f in faces] for g, line in table.items()}
    totals = [
        gist.cell(sum((line.get(face, Counter()) for line in table.values()), Counter()))
        for face in faces
    ]
    heads = [safe(face) for face in faces]
    lines = {**cells, "in all": totals}
    first = max(map(columns, [*map(safe, table), TITLE]))
    for gap, names in (("   ", heads), ("   ", _short(heads)), (" ", _short(heads))):
        widths = _widths(names, list(zip(*lines.values(), strict=True)))
        if first + sum(widths) + len(gap) * len(widths) <= style.width:
            shown = _across(lines, names, widths, first, gap, style)
            break
    else:
        shown = _down(lines, _short(heads), style)
    return ["", *shown, *_legend([text for line in cells.values() for text, _ in line], style)]


def _short(heads: Sequence[str]) -> list[str]:
    return [SHORT.get(head, head) for head in heads]


def _across(
    lines: Mapping[str, Sequence[Cell]],
    heads: Sequence[str],
    widths: Sequence[int],
    first: int,
    gap: str,
    style: Style,
) -> list[str]:
    title = [pad(text, size) for text, size in zip([TITLE, *heads], [first, *widths], strict=True)]
    shown = [style.paint(gap.join(title).rstrip(), "cyan")]
    for group, line in lines.items():
        cells = [
            style.paint(text, *names) + " " * (size - columns(text))
            for (text, names), size in zip(line, widths, strict=True)
        ]
        shown.append(gap.join([pad(safe(group), first), *cells]).rstrip())
    return shown


def _down(lines: Mapping[str, Sequence[Cell]], heads: Sequence[str], style: Style) -> list[str]:
    """The table for narrow terminals: under each group a line for each of its different cells."""
    shown = [style.paint(TITLE, "cyan")]
    for group, line in lines.items():
        alike: dict[Cell, list[str]] = {}
        for cell, head in zip(line, heads, strict=True):
            alike.setdefault(cell, []).append(head)
        if len(alike) > 1:
            alike = {cell: faces for cell, faces in alike.items() if cell[0] != "·"}
        shown.append(safe(group))
        for (text, names), faces in alike.items():
            where = "" if len(faces) == len(heads) else f"  on {', '.join(faces)}"
            shown.append(f"  {style.paint(text, *names)}{where}")
    return shown


def _widths(heads: Sequence[str], cells: Sequence[Sequence[Any]]) -> list[int]:
    texts = [[head, *(text for text, _ in rest)] for head, rest in zip(heads, cells, strict=True)]
    return [max(map(columns, column)) for column in texts]


def _legend(cells: Sequence[str], style: Style) -> list[str]:
    used = set("".join(cells))
    parts = [f"{mark} {words}" for _, mark, words, _ in gist.MARKS if words and mark in used]
    parts += ["· does not apply"] if "·" in used else []
    return [style.paint(line, "dim") for line in style.wrap(", ".join(parts))] if parts else []


def _left_out(target: Mapping[str, Any], rows: Sequence[roots.Row], style: Style) -> list[str]:
    """What was not judged, and why: absent faces, declared limits, inapplicable laws, open verdicts."""
    lines = [line for note in gist.notes(target, rows) for line in style.wrap(safe(note), "    ")]
    for words, reasons in gist.left_out(rows):
        lines += ["", *style.wrap(f"{words} ({sum(count for count, _, _ in reasons)})")]
        for count, reason, laws in reasons:
            lines += style.wrap(f"{safe(reason)} ({safe(laws)})", " " * 7, f"{count:5}  ")
    return ["", *lines] if lines and lines[0] else lines


def _row(row: roots.Row, style: Style) -> list[str]:
    colors = {"holds": "green", "broken": "red", "hangs": "red", "not-applicable": "dim"}
    text = f"{row['law']}[{row['face']}]"
    reason = row.get("reason", "")
    if row.get("caused_by"):
        reason = f"follows from {row['caused_by']}"
    counted = (
        [f"{gist.many(row['observations'], 'observation')}"] if row.get("observations") else []
    )
    counted += [f"{row['refused']} refused"] if row.get("refused") else []
    reason = "; ".join([clip(reason, 300), *counted] if reason else counted)
    verdict = style.paint(pad(row["verdict"], 15), colors.get(row["verdict"], "yellow"))
    first = style.wrap(f"{row['level']:7}{safe(text)}" + (f"  {safe(reason)}" if reason else ""),
                       indent=" " * 24, first=" " * 15)  # fmt: skip
    return [verdict + first[0][15:], *first[1:]]


def _versions(document: Mapping[str, Any], style: Style) -> list[str]:
    packages = [f"{safe(name)} {safe(version)}" for name, version in document["versions"].items()]
    python = f"Python {safe(document.get('python', '?'))} on {safe(document.get('platform', '?'))}"
    text = (
        ", ".join([python, *packages])
        .replace(" ", "\N{NO-BREAK SPACE}")
        .replace(",\N{NO-BREAK SPACE}", ", ")
    )
    lines = style.wrap(f"installed: {text}", "    ")
    return [style.paint(line.replace("\N{NO-BREAK SPACE}", " "), "dim") for line in lines]


def _verdict(verdict: gist.Verdict, style: Style) -> list[str]:
    lines = style.wrap(safe(verdict.line), "    ")
    return [style.paint(line, WORDS.get(verdict.word, "red"), "bold") for line in lines]
