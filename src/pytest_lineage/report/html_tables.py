"""The tables of the HTML page: groups and laws, and the letters that stand for verdicts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from html import escape

from pytest_lineage.report import gist, roots
from pytest_lineage.report.roots import Row
from pytest_lineage.report.style import clip, safe

MANY = 6
"""Columns from which the heads of the law table stand upright."""

WORDS = {
    "b": ("✗", "broken"), "x": ("✗", "hangs"), "f": ("f", "fixed"), "l": ("!", "broken, fails no run"),
    "i": ("?", "no verdict"), "e": ("e", "the engine's fault"), "k": ("k", "known"), "r": ("✓", "refuses cleanly"),
    "h": ("✓", "holds"), "n": ("·", "does not apply"),
}  # fmt: skip
"""Verdicts by letter, worst first: the mark and the words."""

LETTERS = {
    "broken": "b", "hangs": "x", "fixed": "f", "inconclusive": "i", "engine": "e", "known": "k",
    "refused": "r", "holds": "h", "not-applicable": "n",
}  # fmt: skip
SHOWN = (("b", "broken"), ("x", "hangs"), ("l", "broken, fails no run"), ("f", "fixed"), ("k", "known"),
         ("i", "no verdict"), ("e", "the engine's fault"), ("h", "holds"), ("r", "refuses cleanly"),
         ("n", "does not apply"))  # fmt: skip


def esc(text: object) -> str:
    """Text as HTML: no tag, no attribute's end, and nothing that moves or hides what is around it."""
    return escape(safe(text), quote=True)


def letter(row: Row) -> str:
    """The letter of a verdict."""
    if row["verdict"] in roots.BAD and (row["level"] != "MUST" or row.get("advisory")):
        return "l"
    return LETTERS.get(row["verdict"], "i")


def groups(rows: Mapping[str, list[Row]]) -> Iterator[str]:
    """The section of groups: targets down, groups across where there are several; else groups down, faces across."""
    names = list(dict.fromkeys(row["group"] for some in rows.values() for row in some))
    if not names:
        return
    yield '<h2 id="groups">Groups</h2><div class="scroll" role="region" tabindex="0" aria-labelledby="groups">'
    if len(rows) == 1:
        (table,) = (gist.counts(some) for some in rows.values())
        faces = gist.faces_of(table)
        caption = "How often the laws of each group hold on each face, and how often they do not"
        cells = {(g, f): counted for g, line in table.items() for f, counted in line.items()}
        yield from _table(caption, "group", faces, names, cells)
    else:
        caption = "How often the laws of each group hold on each target, and how often they do not"
        cells = {
            (name, group): sum(line.values(), Counter())
            for name, some in rows.items()
            for group, line in gist.counts(some).items()
        }
        yield from _table(caption, "target", names, list(rows), cells)
    yield "</div>"
    yield f'<p class="soft small">{_legend(rows)}</p>'


def _legend(rows: Mapping[str, list[Row]]) -> str:
    used = {letter(row) for some in rows.values() for row in some}
    meant: dict[str, list[str]] = {}
    for key, (mark, words) in WORDS.items():
        if key in used:
            meant.setdefault(mark, []).append(words)
    return ", ".join(f"{mark} {' or '.join(words)}" for mark, words in meant.items())


def _table(
    caption: str,
    first: str,
    heads: list[str],
    lines: list[str],
    counted: Mapping[tuple[str, str], Counter[str]],
) -> Iterator[str]:
    many = ' class="many"' if len(heads) > MANY else ""
    yield f"<table{many}><caption>{caption}</caption><thead><tr><th scope=col>{first}</th>"
    yield (
        "".join(f"<th scope=col>{esc(clip(head, 60))}</th>" for head in heads)
        + "</tr></thead><tbody>"
    )
    for line in lines:
        cells = []
        for head in heads:
            text, colors = gist.cell(counted.get((line, head), Counter()))
            kind = {"red": "b", "yellow": "l", "green": "h"}.get(colors[0], "n")
            cells.append(f"<td class={kind}>{text}</td>")
        yield f"<tr><th scope=row>{esc(clip(line, 80))}</th>{''.join(cells)}</tr>"
    yield "</tbody></table>"


def laws(rows: Mapping[str, list[Row]], anchors: Mapping[tuple[str, str], str]) -> Iterator[str]:
    """The section of laws: each in a line, with its verdict on each face or target."""
    known: dict[str, Row] = {}
    cells: dict[tuple[str, str], list[Row]] = {}
    one = len(rows) == 1
    for name, some in rows.items():
        for row in some:
            known.setdefault(row["law"], row)
            cells.setdefault((row["law"], row["face"] if one else name), []).append(row)
    if not known:
        return
    heads = (
        [f for f in gist.FACES if any((law, f) in cells for law in known)] if one else list(rows)
    )
    many = ' class="many"' if len(heads) > MANY else ""
    yield f'<h2 id="list">Laws ({len(known)})</h2>'
    yield '<div class="scroll" id="laws" role="region" tabindex="0" aria-labelledby="list">'
    across = "face" if one else "target"
    yield f"<table{many}><caption>What each law came to on each {across}</caption><thead><tr><th scope=col>law</th>"
    columns = ["" if one else f" data-t={number}" for number in range(len(heads))]
    shown = (
        f"<th scope=col{c}>{esc(clip(h, 60))}</th>" for c, h in zip(columns, heads, strict=True)
    )
    yield "".join(shown) + "</tr></thead>"
    group = None
    for law, first in known.items():
        if first["group"] != group:
            yield "</tbody>" if group is not None else ""
            group = first["group"]
            yield f"<tbody><tr><th scope=rowgroup colspan={len(heads) + 1}><span>{esc(group)}</span></th></tr>"
        yield _law(law, first, heads, cells, anchors, one)
    yield "</tbody></table></div>"


def _law(
    law: str, first: Row, heads: list[str], cells: Mapping[tuple[str, str], list[Row]],
    anchors: Mapping[tuple[str, str], str], one: bool,
) -> str:  # fmt: skip
    found = [cells.get((law, head), []) for head in heads]
    letters = ["".join(sorted({letter(row) for row in some})) or "n" for some in found]
    seen = " ".join(letters) if not one else "".join(sorted(set("".join(letters))))
    made = []
    for number, some in enumerate(found):
        column = "" if one else f" data-t={number}"
        made.append(_cell(some, anchors, column))
    return (
        f'<tr data-v="{seen}" data-l="{esc(first["level"])}" data-g="{esc(first["group"])}"><th scope=row>'
        f'<span class=id>{esc(law)}</span> <span class="soft small">{esc(first["level"])}</span>'
        f'<div class="s soft small">{esc(clip(str(first.get("sentence") or ""), 400))}</div></th>{"".join(made)}</tr>'
    )


def _cell(some: list[Row], anchors: Mapping[tuple[str, str], str], column: str) -> str:
    if not some:
        return f"<td class=n{column}><span class=vh>not run</span></td>"
    letters = Counter(letter(row) for row in some)
    worst = next(key for key in WORDS if key in letters)
    mark, words = WORDS[worst]
    told = sum(count for key, count in letters.items() if key != "n")
    number = (
        f" {letters[worst]}/{told}"
        if len(some) > 1 and worst in "bxlfike" and letters[worst] < told
        else ""
    )
    text = f"{mark}{number}<span class=vh> {words}</span>"
    row = next(row for row in some if letter(row) == worst)
    anchor = anchors.get((row["target"], row["law"])) if worst in "bxl" else None
    title = ""
    if worst in "fike" and row.get("reason"):
        title = f' title="{esc(clip(str(row["reason"]), 160))}"'
    return (
        f"<td class={worst}{column}{title}>"
        + (f"<a href=#{anchor}>{text}</a>" if anchor else text)
        + "</td>"
    )
