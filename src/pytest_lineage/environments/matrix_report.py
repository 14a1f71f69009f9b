"""The matrix for people: stacks across, groups of laws down. The page is that of combined reports (`report.html`)."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_lineage.environments.matrix import Column, exit_code
from pytest_lineage.report.markdown import code, escape
from pytest_lineage.report.style import Style, clip, safe

WORDS = {
    0: "GOOD — every stack is good",
    1: "BROKEN — a MUST is broken in at least one stack",
    2: "ERROR — a stack cannot be made, or a target cannot be used in it",
    3: "ERROR — a fault of this suite",
    4: "INCOMPLETE — too little ran in at least one stack",
}
NAME = 22
"""Columns that the name of a stack may take on a terminal."""


def _rows(columns: Sequence[Column]) -> list[tuple[str, str]]:
    """Targets and groups in the order in which they first occur."""
    return list(dict.fromkeys(key for column in columns for key in column.cells()))


def _remarks(columns: Sequence[Column]) -> list[str]:
    found = []
    for column in columns:
        if column.unbuildable:
            found.append(f"{column.stack} cannot be installed: {column.unbuildable}")
        found += [f"{column.stack}: {note}" for note in column.notes]
        for report in (report for some in column.reports.values() for report in some):
            if report.error or report.fault:
                found.append(f"{column.stack}: {report.error or report.fault}")
    return found


def _broken(columns: Sequence[Column]) -> dict[str, list[str]]:
    """Broken laws of targets, with the stacks in which they are, one level of folding left out."""
    found: dict[str, list[str]] = {}
    for column in columns:
        for report in (report for some in column.reports.values() for report in some):
            for row in report.rows:
                if row.verdict in ("broken", "hangs", "engine") and row.caused_by is None:
                    name = f"{row.level} {row.law} of {report.name} ({row.verdict})"
                    if column.stack not in found.setdefault(name, []):
                        found[name].append(column.stack)
    return found


def _table(columns: Sequence[Column]) -> list[list[str]]:
    """The table: a head, then a line per target and group; a stack without a verdict says so in each line."""
    cells = [column.cells() for column in columns]
    lines = [["", *(column.stack for column in columns)]]
    for target, group in _rows(columns) or [("", "")]:
        line = [f"{target}: {group}" if group else target]
        for column, found in zip(columns, cells, strict=True):
            if column.unbuildable:
                line.append("not installable")
            else:
                line.append(found.get((target, group)) or found.get((target, ""), "not run"))
        lines.append(line)
    return lines


def pretty(columns: Sequence[Column]) -> str:
    """The matrix for a terminal."""
    style = Style.detect()
    table = _table(columns)
    table[0] = [clip(name, NAME) for name in table[0]]
    widths = [max(len(line[i]) for line in table) for i in range(len(table[0]))]
    lines = [
        "  ".join(safe(text).ljust(width) for text, width in zip(line, widths, strict=True))
        for line in table
    ]
    broken = _broken(columns)
    lines += (
        ["", *(f"{safe(name)}: {', '.join(names)}" for name, names in broken.items())]
        if broken
        else []
    )
    for remark in _remarks(columns):
        lines += ["", *style.wrap(safe(remark), "    ")]
    worst = exit_code(columns)
    lines += ["", style.paint(WORDS[worst], "green" if not worst else "red", "bold")]
    return "\n".join(style.plain(line.rstrip()) for line in lines)


def markdown(columns: Sequence[Column]) -> str:
    """The matrix for a step summary or a comment."""
    worst = exit_code(columns)
    lines = [f"## {'❌' if worst else '✅'} {WORDS[worst]}", ""]
    head, *body = _table(columns)
    lines += ["| " + " | ".join(escape(text) for text in head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(escape(text) for text in line) + " |" for line in body]
    broken = _broken(columns)
    if broken:
        lines += ["", f"<details><summary>broken laws ({len(broken)})</summary>", ""]
        lines += [f"- {code(name)}: {escape(', '.join(names))}" for name, names in broken.items()]
        lines += ["", "</details>"]
    lines += ["", *(f"- {escape(remark)}" for remark in _remarks(columns)), ""]
    for column in columns:
        installed = ", ".join(f"{name} {version}" for name, version in column.packages.items())
        lines.append(
            f"<sub>{escape(column.stack)}: {escape(installed or 'not installed')}</sub><br>"
        )
    return "\n".join(lines)
