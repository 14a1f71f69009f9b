"""Badges: how many laws hold, as a whole and per group, as SVG and as JSON for a shields endpoint."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from pytest_lineage.report import gist, roots
from pytest_lineage.report.style import clip, safe

COLORS = {"brightgreen": "#4c1", "yellow": "#dfb317", "red": "#e05d44", "lightgrey": "#9f9f9f"}

_NARROW, _WIDE = "fijlrt.,:;'|!()[] I1", "mwMWGOQ@%"


@dataclass(frozen=True)
class Badge:
    """One badge: the file it is written to (without an end), its two halves, a named colour."""

    file: str
    label: str
    message: str
    color: str
    worst: str = ""
    """What is at stake at worst, in words; shown where the pointer rests."""

    def to_json(self) -> dict[str, Any]:
        """What a shields endpoint expects."""
        return {
            "schemaVersion": 1,
            "label": self.label,
            "message": self.message,
            "color": self.color,
        }


def badges(document: Mapping[str, Any]) -> list[Badge]:
    """For each target one badge for all laws, then one for each group."""
    made: list[Badge] = []
    used: set[str] = set()
    several = len(document["targets"]) > 1
    for target in document["targets"]:
        rows = [row for row in document["laws"] if row["target"] == target["name"]]
        name = clip(safe(target["name"]), 40)
        label = f"lineage: {name}" if several else "langgraph lineage"
        stem = _file(target["name"], used) if several else "lineage"
        word = gist.verdict(document, target).word
        worst = roots.worst(document, target["name"]) if word == "BROKEN" else None
        words = roots.words(worst) if worst else ""
        made.append(Badge(stem, label, *_whole(rows, word), words))
        groups: dict[str, list[roots.Row]] = {}
        for row in rows:
            groups.setdefault(row["group"], []).append(row)
        for group, some in groups.items():
            label = f"{name} {safe(group)}" if several else f"lineage {safe(group)}"
            made.append(Badge(_file(f"{stem}-{group}", used), clip(label, 60), *_counted(some)))
    return made


def _whole(rows: Iterable[roots.Row], word: str) -> tuple[str, str]:
    message, color = _counted(rows)
    if word in ("ERROR", "INCOMPLETE"):
        return word.lower(), "lightgrey"
    return message, color


def _counted(rows: Iterable[roots.Row]) -> tuple[str, str]:
    """Laws that hold of those that said anything, and a colour: what is known counts as broken."""
    told: dict[str, set[str]] = {}
    broken: Counter[str] = Counter()
    for row in rows:
        if row["verdict"] not in gist.SILENT:
            told.setdefault(row["law"], set()).add(row["verdict"])
        if row["verdict"] in (*roots.BAD, "known"):
            broken[row["level"]] += 1
    if not told:
        return "does not apply", "lightgrey"
    good = [law for law, verdicts in told.items() if verdicts <= {"holds", "refused", "fixed"}]
    color = "red" if broken["MUST"] else "yellow" if broken else "brightgreen"
    return f"{len(good)}/{len(told)} laws", color


def _file(text: str, used: set[str]) -> str:
    """A file name that no other badge has, plain on every system."""
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-.")[:60] or "target"
    name, number = stem, 2
    while name.lower() in used:
        name, number = f"{stem}-{number}", number + 1
    used.add(name.lower())
    return name


def write(folder: Path, document: Mapping[str, Any]) -> list[Badge]:
    """Write each badge as ``.json`` and ``.svg``; the badges. Raises `OSError`."""
    made = badges(document)
    for item in made:
        text = json.dumps(item.to_json(), indent=1, ensure_ascii=True) + "\n"
        (folder / f"{item.file}.json").write_text(text, encoding="ascii", newline="\n")
        (folder / f"{item.file}.svg").write_text(svg(item), encoding="utf-8", newline="\n")
    return made


def svg(badge: Badge) -> str:
    """The badge as SVG that needs no font of its own: text lengths are fixed."""
    left, right = _width(badge.label), _width(badge.message)
    width = left + right
    told = f"{badge.label}: {badge.message}" + (f"; worst: {badge.worst}" if badge.worst else "")
    title = quoteattr(told)
    texts = "".join(
        f'<text x="{x}" y="14" textLength="{size - 10}" lengthAdjust="spacingAndGlyphs">{escape(text)}</text>'
        for text, x, size in (
            (badge.label, left / 2, left),
            (badge.message, left + right / 2, right),
        )
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" aria-label={title}>'
        f"<title>{escape(told)}</title>"
        f'<clipPath id="r"><rect width="{width}" height="20" rx="3"/></clipPath><g clip-path="url(#r)">'
        f'<rect width="{left}" height="20" fill="#555"/>'
        f'<rect x="{left}" width="{right}" height="20" fill="{COLORS[badge.color]}"/></g>'
        '<g fill="#fff" text-anchor="middle" font-family="Verdana,Geneva,DejaVu Sans,sans-serif" font-size="11">'
        f"{texts}</g></svg>\n"
    )


def _width(text: str) -> int:
    sizes = (
        4.0 if c in _NARROW else 9.5 if c in _WIDE else 6.8 if ord(c) < 0x2E80 else 12.0
        for c in text
    )
    return round(sum(sizes)) + 10


def snippet(made: Iterable[Badge], url: str = "") -> str:
    """Markdown that shows the badges, from a folder beside the README or from where they are served."""
    made = list(made)
    base = url.rstrip("/") or "badges"
    lines = [f"![{_alt(b)}]({base}/{b.file}.svg)" for b in made]
    if url.startswith("https://"):
        lines += ["", "As shields endpoints:"]
        lines += [
            f"![{_alt(b)}](https://img.shields.io/endpoint?url={_quoted(f'{base}/{b.file}.json')})"
            for b in made
        ]
    return "\n".join(lines)


def _alt(badge: Badge) -> str:
    return re.sub(r"[\[\]()<>`\\!]", "", f"{badge.label}: {badge.message}")


def _quoted(text: str) -> str:
    from urllib.parse import quote

    return quote(text, safe="")
