"""The matrix for people: on a terminal, as markdown, and as a page without network or script."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape as quoted

from pytest_lineage.matrix import Column, exit_code
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


_STYLE = """
:root{color-scheme:light dark;font:15px/1.5 system-ui,sans-serif}body{margin:2rem auto;max-width:80rem;padding:0 1rem}
.scroll{overflow-x:auto}table{border-collapse:collapse}th,td{border:1px solid #8886;padding:.3rem .6rem;text-align:left}
thead th{position:sticky;top:0;background:Canvas}.bad{background:#d33a}.good{background:#2a72}.none{opacity:.7}
"""


def html(columns: Sequence[Column]) -> str:
    """The matrix as one self-contained page."""
    head, *body = _table(columns)
    title = f"pytest-lineage: {WORDS[exit_code(columns)]}"
    parts = [
        '<!doctype html><html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width,initial-scale=1">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        f"<title>{quoted(title)}</title><style>{_STYLE}</style></head><body><main><h1>{quoted(title)}</h1>",
        '<div class="scroll" tabindex="0"><table><caption>Laws that hold, of those that apply, by stack</caption>',
        "<thead><tr>"
        + "".join(f'<th scope="col">{_text(text)}</th>' for text in head)
        + "</tr></thead><tbody>",
    ]
    for name, *cells in body:
        marked = "".join(f'<td class="{_class(text)}">{_text(text)}</td>' for text in cells)
        parts.append(f'<tr><th scope="row">{_text(name)}</th>{marked}</tr>')
    parts.append("</tbody></table></div>")
    broken = _broken(columns)
    if broken:
        items = "".join(
            f"<li><code>{_text(n)}</code>: {_text(', '.join(s))}</li>" for n, s in broken.items()
        )
        parts.append(f"<h2>Broken laws</h2><ul>{items}</ul>")
    if remarks := _remarks(columns):
        parts.append(
            "<h2>Remarks</h2><ul>"
            + "".join(f"<li>{_text(text)}</li>" for text in remarks)
            + "</ul>"
        )
    parts.append("<h2>Installed</h2><dl>")
    for column in columns:
        installed = ", ".join(f"{name} {version}" for name, version in column.packages.items())
        parts.append(f"<dt>{_text(column.stack)}</dt><dd>{_text(installed or 'nothing')}</dd>")
    return "".join([*parts, "</dl></main></body></html>\n"])


def _text(text: str) -> str:
    return quoted(safe(text))


def _class(text: str) -> str:
    if any(
        word in text for word in ("broken", "hang", "engine", "cannot", "fault", "not installable")
    ):
        return "bad"
    return "good" if "/" in text else "none"
