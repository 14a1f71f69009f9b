"""A thread as one HTML page that needs no network and has no script: lanes in SVG beside text that stays text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pytest_lineage.report.html import PAGE
from pytest_lineage.report.html_tables import esc
from pytest_lineage.show import words
from pytest_lineage.show.folding import Fold, Node, Section, Spaces
from pytest_lineage.show.preview import amount
from pytest_lineage.show.thread import Checkpoint, Thread

LANE, TOP, RADIUS = 18, 15, 6
"""Pixels: width of a lane, where a checkpoint's dot lies in its row, radius of the dot."""

MOST = 60
"""Lines of one checkpoint, and findings at the top."""

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def render(thread: Thread, picture: list[Section | Spaces], head: str, values: bool) -> str:
    """The whole page."""
    ids = words.Ids(thread, False)
    anchors = {
        (section.space.name, item.checkpoint.id): f"c{number}-{place}"
        for number, section in enumerate(picture)
        if isinstance(section, Section)
        for place, item in enumerate(section.items)
        if isinstance(item, Node)
    }
    style = (PAGE / "style.css").read_text(encoding="utf-8")
    own = (Path(__file__).parent / "page.css").read_text(encoding="utf-8")
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="referrer" content="no-referrer">',
        f"<title>{esc(head)}: pytest-lineage</title>",
        f"<style>{style}{own}</style></head><body>",
        '<a class="skip" href="#tree">Skip to the checkpoints</a>',
        f'<header><h1>{esc(head)}</h1><p class="soft">{esc(words.thread(thread))}</p></header>',
        "<main>",
        *_findings(thread, ids, anchors),
        '<div id="tree"></div>',
    ]
    for number, section in enumerate(picture):
        if isinstance(section, Spaces):
            parts.append(f'<p class="soft">{esc(words.spaces(section))}</p>')
        else:
            parts += _section(section, number, ids, anchors, values)
    parts += [
        '<p class="soft small">Filled dots: green is the head, amber holds unfinished work, red a failure or damage. '
        "Oldest first.</p>",
        "</main></body></html>",
    ]
    return "\n".join(parts) + "\n"


def _findings(thread: Thread, ids: words.Ids, anchors: dict[tuple[str, str], str]) -> Iterator[str]:
    """What a reader looks for, first: unfinished work, waiting interrupts, failures, with links."""
    found: list[str] = [f"<li>{esc(note)}</li>" for note in thread.notes]
    count = 0
    for item in thread.checkpoints:
        if not item.hot:
            continue
        for line in words.about(item, ids, False):
            if not line.tone:
                continue
            count += 1
            if count <= MOST:
                anchor = anchors.get((item.ns, item.id))
                at = esc(f"{_space(item.ns)}step {item.step}, {ids(item.id)}")
                where = f'<a href="#{anchor}">{at}</a>' if anchor else at
                found.append(f"<li>{where}: {esc(line.text)}</li>")
    if count > MOST:
        found.append(f"<li>and {count - MOST:,} more</li>")
    yield '<h2 id="open">What is open</h2>'
    yield f'<ul class="need">{"".join(found)}</ul>' if found else "<p>Nothing.</p>"


def _section(
    section: Section, number: int, ids: words.Ids, anchors: dict[tuple[str, str], str], values: bool
) -> Iterator[str]:
    space = section.space
    yield f'<h2 id="s{number}">{esc(words.namespace(space, ids))}</h2>'
    yield f'<ol class="lanes" aria-labelledby="s{number}">'
    for item in section.items:
        if isinstance(item, Fold):
            yield f'<li>{_gutter(item)}<div class="it fold">{esc(words.fold(item))}</div></li>'
            continue
        made = item.checkpoint
        anchor = anchors[space.name, made.id]
        branch = f" in branch of depth {item.depth}" if item.depth else ""
        begins = ", begins a branch" if item.first else branch
        marks = ", ".join(word for word in words.checkpoint(made) if word != "head")
        head = ' <span class="tag head-tag">head</span>' if made.head else ""
        yield (
            f'<li id="{anchor}">{_gutter(item)}<div class="it"><p><b class="id">{esc(ids(made.id))}</b>{head} '
            f'{esc(marks)}<span class="vh">{begins}</span></p>'
        )
        lines = list(words.about(made, ids, values))
        if lines:
            shown = "".join(
                f'<li class="{line.tone}">{esc(line.text)}</li>' for line in lines[:MOST]
            )
            more = f"<li>{len(lines) - MOST:,} more</li>" if len(lines) > MOST else ""
            yield f"<ul>{shown}{more}</ul>"
        yield f"{_details(made, anchors, ids, values)}</div></li>"
    yield "</ol>"


def _details(
    item: Checkpoint, anchors: dict[tuple[str, str], str], ids: words.Ids, values: bool
) -> str:
    facts = [("id", f'<code class="id">{esc(item.id)}</code>')]
    if item.parent is not None:
        anchor = anchors.get((item.ns, item.parent))
        text = esc(ids(item.parent))
        facts.append(("parent", f'<a href="#{anchor}">{text}</a>' if anchor else text))
    if item.ts:
        facts.append(("time", esc(item.ts)))
    if item.changed is not None:
        names = [words.name_of(name) for name in item.changed]
        facts.append(("sets", esc(words.listed(names, 40)) or "nothing"))
    sizes = sorted(item.data["sizes"].items(), key=lambda pair: -(pair[1] or 0))
    told = [f"{words.name_of(name)} {amount(size)}" for name, size in sizes]
    facts.append(("channels", esc(words.listed(told, 40)) or "none"))
    if values:
        facts += [
            (esc(words.name_of(name)), f"<code>{esc(value)}</code>")
            for name, value in item.data.get("values", {}).items()
        ]
        facts.append(("metadata", f"<code>{esc(item.data.get('metadata', ''))}</code>"))
    rows = "".join(f'<dt class="soft">{name}</dt><dd>{text}</dd>' for name, text in facts)
    label = f'<span class="vh"> of {esc(ids(item.id))}</span>'
    return f'<details><summary>details{label}</summary><dl class="sides">{rows}</dl></details>'


def _gutter(item: Node | Fold) -> str:
    """The lanes of one row: they stretch with it, whatever it holds and however wide the page is."""
    depth = item.depth
    x = depth * LANE + LANE // 2
    parts = [_line(lane * LANE + LANE // 2, "0", "100%") for lane in range(depth)]
    if isinstance(item, Fold):
        parts.append(_line(x, "0", "100%", ' class="f"'))
    else:
        made = item.checkpoint
        if item.first:
            parts.append(f'<path d="M{x - LANE} 0V4Q{x - LANE} {TOP} {x} {TOP}"/>')
        elif made.parent is not None:
            parts.append(_line(x, "0", str(TOP)))
        if item.goes_on:
            parts.append(_line(x, str(TOP), "100%"))
        tones = {line.tone for line in words.about(made, _same, False)} if made.hot else set()
        kind = "b" if "bad" in tones else "w" if "warn" in tones else "h" if made.head else ""
        mark = f' class="{kind}"' if kind else ""
        parts.append(f'<circle cx="{x}" cy="{TOP}" r="{RADIUS}"{mark}/>')
    width = (depth + 1) * LANE
    drawn = f'<svg width="{width}" aria-hidden="true" focusable="false">{"".join(parts)}</svg>'
    return f'<div class="g" style="width:{width}px">{drawn}</div>'


def _space(name: str) -> str:
    return f"{words.name_of(name)}, " if name else ""


def _line(x: int, top: str, bottom: str, more: str = "") -> str:
    return f'<line x1="{x}" x2="{x}" y1="{top}" y2="{bottom}"{more}/>'


def _same(id: str) -> str:
    return id
