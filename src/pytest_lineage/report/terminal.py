"""The report on a terminal: what is broken and why, then a table, then what was left out, then the verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from pytest_lineage.report import gist
from pytest_lineage.report.block import block
from pytest_lineage.report.style import Style, clip, columns, pad, safe

FACES = ("sync", "async", "sync->async", "async->sync")
SHORT = {"sync": "sync", "async": "async", "sync->async": "s->a", "async->sync": "a->s"}
WORDS = {"GOOD": "green", "BROKEN": "red", "FIXED": "yellow", "INCOMPLETE": "yellow", "ERROR": "red"}

LEFT_OUT = (
    ("fixed", "fixed: known failures that no longer happen"),
    ("inconclusive", "no verdict"),
    ("engine", "the engine's fault, not the target's"),
    ("known", "known failures"),
    ("refused", "declared unsupported, and refused cleanly"),
    ("not-applicable", "does not apply"),
)
MOST_REASONS = 12
"""Reasons that are listed of one verdict."""


def render(
    document: Mapping[str, Any], *, verbose: bool = False, color: bool | None = None, width: int | None = None
) -> str:
    """The whole report as text.

    Colour and width are taken from the terminal unless they are given; `verbose` lists every row.
    """
    style = Style.detect(color, width)
    lines: list[str] = []
    for target in document["targets"]:
        lines += [*_target(document, target, style, verbose), ""]
    lines += [*_versions(document, style), ""]
    for target in document["targets"]:
        lines += _verdict(gist.verdict(document, target), style)
    if not document["targets"]:
        lines.append("INCOMPLETE — no target was checked")
    return "\n".join(style.plain(line.rstrip()) for line in lines)


def _target(
    document: Mapping[str, Any], target: Mapping[str, Any], style: Style, verbose: bool
) -> list[str]:
    rows = [row for row in document["laws"] if row["target"] == target["name"]]
    lines: list[str] = []
    for failure in gist.failures(document, target["name"]):
        lines += [*block(failure, document, style), "", ""]
    lines += _heading(document, target, style)
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
    kind = "" if document.get("kind", "saver") == "saver" else f" ({document['kind']})"
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


def _table(rows: Sequence[gist.Row], style: Style) -> list[str]:
    """Groups down, faces across: how many laws hold, and what does not."""
    table = gist.counts(rows)
    faces = [face for face in FACES if any(face in line for line in table.values())]
    faces += sorted({face for line in table.values() for face in line} - set(faces))
    cells = {g: [_cell(line.get(f, Counter())) for f in faces] for g, line in table.items()}
    totals = [
        _cell(sum((line.get(face, Counter()) for line in table.values()), Counter())) for face in faces
    ]
    heads = [safe(face) for face in faces]
    first = max(map(columns, [*map(safe, table), "laws that hold"]))
    widths = [max(len(h), *(len(c) for c, _ in col)) for h, *col in zip(heads, *cells.values(), totals)]
    if first + sum(widths) + 3 * len(widths) > style.width:
        heads = [SHORT.get(head, head) for head in heads]
        widths = [max(len(h), *(len(c) for c, _ in col)) for h, *col in zip(heads, *cells.values(), totals)]
    gap = "   " if first + sum(widths) + 3 * len(widths) <= style.width else " "
    lines = ["", style.paint(_line("laws that hold", first, heads, widths, gap), "cyan")]
    for group, line in [*cells.items(), ("in all", totals)]:
        shown = [style.paint(pad(text, size), *names) for (text, names), size in zip(line, widths)]
        lines.append(pad(safe(group), first) + gap + gap.join(shown))
    return [*lines, *_legend([text for line in cells.values() for text, _ in line], style)]


def _line(first: str, size: int, cells: Sequence[str], widths: Sequence[int], gap: str) -> str:
    return pad(first, size) + gap + gap.join(pad(cell, width) for cell, width in zip(cells, widths))


MARKS = (
    ("broken", "✗", "MUST broken", "red"),
    ("hangs", "✗", "", "red"),
    ("lesser", "!", "SHOULD or MAY broken", "yellow"),
    ("inconclusive", "?", "no verdict", "yellow"),
    ("engine", "e", "the engine's fault", "yellow"),
    ("known", "k", "known failure", "dim"),
    ("fixed", "f", "known failure that is fixed", "yellow"),
)


def _cell(counted: Counter[str]) -> tuple[str, tuple[str, ...]]:
    """A cell's text and colours: ``9``, ``8 1✗``, or a dot where nothing applies."""
    held = counted["holds"] + counted["refused"]
    found: dict[str, int] = {}
    colors = []
    for verdict, mark, _, color in MARKS:
        if counted[verdict]:
            found[mark] = found.get(mark, 0) + counted[verdict]
            colors.append(color)
    if not held and not found:
        return "·", ("dim",)
    text = " ".join([str(held), *(f"{number}{mark}" for mark, number in found.items())])
    return text, (colors[0] if colors else "green",)


def _legend(cells: Sequence[str], style: Style) -> list[str]:
    used = set("".join(cells))
    parts = [f"{mark} {words}" for _, mark, words, _ in MARKS if words and mark in used]
    parts += ["· does not apply"] if "·" in used else []
    return [style.paint(line, "dim") for line in style.wrap(", ".join(parts))] if parts else []


def _left_out(target: Mapping[str, Any], rows: Sequence[gist.Row], style: Style) -> list[str]:
    """What was not judged, and why: absent faces, declared limits, inapplicable laws, open verdicts."""
    lines: list[str] = []
    absent: dict[str, list[str]] = {}
    for face, reason in (target.get("absent") or {}).items():
        absent.setdefault(str(reason), []).append(face)
    for reason, faces in absent.items():
        names = "async" if set(faces) == set(FACES) - {"sync"} else ", ".join(faces)
        names = "sync" if set(faces) == set(FACES) - {"async"} else names
        lines += style.wrap(f"no {safe(names)} face: {safe(reason)}", "    ")
    for key, word in (("limits", "limit"), ("unsupported", "unsupported")):
        for name, reason in (target.get(key) or {}).items():
            lines += style.wrap(f"declared {word} {safe(name)}: {safe(reason)}", "    ")
    if target.get("postgres"):
        lines += style.wrap(f"PostgreSQL: {safe(target['postgres'])}", "    ")
    for verdict, words in LEFT_OUT:
        found = gist.reasons(rows, verdict)
        if found:
            count = sum(len(rows) for _, _, rows in found)
            lines += ["", f"{words} ({gist.many(count, 'verdict')})"]
        for _, reason, some in found[:MOST_REASONS]:
            text = f"{safe(clip(reason, 300))} ({safe(gist.laws_of(some))})"
            lines += style.wrap(text, " " * 7, f"{len(some):5}  ")
        if len(found) > MOST_REASONS:
            lines.append(f"       and {gist.many(len(found) - MOST_REASONS, 'more reason')}")
    return ["", *lines] if lines and lines[0] else lines


def _row(row: gist.Row, style: Style) -> list[str]:
    colors = {"holds": "green", "broken": "red", "hangs": "red", "not-applicable": "dim"}
    text = f"{row['law']}[{row['face']}]"
    reason = row.get("reason", "")
    if row.get("caused_by"):
        reason = f"follows from {row['caused_by']}"
    verdict = style.paint(pad(row["verdict"], 15), colors.get(row["verdict"], "yellow"))
    first = style.wrap(f"{row['level']:7}{safe(text)}" + (f"  {safe(clip(reason, 300))}" if reason else ""),
                       indent=" " * 24, first=" " * 15)  # fmt: skip
    return [verdict + first[0][15:], *first[1:]]


def _versions(document: Mapping[str, Any], style: Style) -> list[str]:
    packages = [f"{safe(name)} {safe(version)}" for name, version in document["versions"].items()]
    python = f"Python {safe(document.get('python', '?'))} on {safe(document.get('platform', '?'))}"
    text = ", ".join([python, *packages]).replace(" ", "\N{NO-BREAK SPACE}").replace(",\N{NO-BREAK SPACE}", ", ")
    lines = style.wrap(f"installed: {text}", "    ")
    return [style.paint(line.replace("\N{NO-BREAK SPACE}", " "), "dim") for line in lines]


def _verdict(verdict: gist.Verdict, style: Style) -> list[str]:
    lines = style.wrap(safe(verdict.line), "    ")
    return [style.paint(line, WORDS.get(verdict.word, "red"), "bold") for line in lines]
