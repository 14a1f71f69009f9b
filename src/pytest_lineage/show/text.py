"""A thread for the terminal: lanes at the left, oldest checkpoint first."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_lineage.report.style import Style, columns, safe
from pytest_lineage.show import words
from pytest_lineage.show.folding import Fold, Node, Section, Spaces
from pytest_lineage.show.thread import Thread

_TONES = {"bad": ("red", "bold"), "warn": ("yellow",), "good": ("green",)}


def render(
    thread: Thread,
    picture: list[Section | Spaces],
    head: str,
    style: Style,
    values: bool,
    full: bool,
) -> str:
    """The whole text, with a newline at its end."""
    ids = words.Ids(thread, full)
    lines = style.wrap(f"{head}: {words.thread(thread)}", "  ")
    lines = [style.paint(line, "bold") for line in lines]
    lines += [style.paint(f"note: {safe(note)}", "yellow") for note in thread.notes]
    for section in picture:
        lines.append("")
        if isinstance(section, Spaces):
            lines += style.wrap(words.spaces(section), "  ")
            continue
        title = style.wrap(words.namespace(section.space, ids), "  ")
        lines += [style.paint(line, "cyan") for line in title]
        for item in section.items:
            lines += _item(item, ids, style, values)
    lines += ["", style.paint("o checkpoint   @ head   . what its tasks stored", "dim")]
    return style.plain("\n".join(line.rstrip() for line in lines)) + "\n"


def _item(item: Node | Fold, ids: words.Ids, style: Style, values: bool) -> Iterator[str]:
    lanes = "  " + "│ " * item.depth
    if isinstance(item, Fold):
        yield from style.wrap(words.fold(item), f"{lanes}  ", lanes)
        return
    made = item.checkpoint
    before = lanes[:-2] + "├─" if item.first else lanes
    below = lanes + ("│" if item.goes_on else " ")
    mark = style.paint("@", "bold") if made.head else "o"
    title = f"{ids(made.id)}  {'  '.join(words.checkpoint(made))}"
    first, *more = style.wrap(title, " " * (columns(before) + 2), " " * (columns(before) + 2))
    yield f"{before}{mark} {first[columns(before) + 2 :]}"
    for line in more:
        yield f"{below} {line[columns(below) + 1 :]}"
    changes = words.changes(made)
    if changes and not values:
        yield from _hanging(below, changes, style, ("dim",), "  ")
    if values:
        for name in made.changed if made.changed is not None else made.data["sizes"]:
            value = made.data.get("values", {}).get(name)
            if value is not None:
                yield from _hanging(
                    below, f"{words.name_of(name)} = {value}", style, ("dim",), "  "
                )
        if made.data.get("metadata"):
            yield from _hanging(below, f"metadata {made.data['metadata']}", style, ("dim",), "  ")
    for said in words.about(made, ids, values):
        yield from _hanging(below, said.text, style, _TONES.get(said.tone, ()), ". ")


def _hanging(
    below: str, text: str, style: Style, colors: tuple[str, ...], dot: str
) -> Iterator[str]:
    width = columns(below) + 1 + len(dot)
    for number, line in enumerate(style.wrap(text, " " * width, " " * width)):
        lead = dot if not number else " " * len(dot)
        yield f"{below} {lead}{style.paint(line[width:], *colors)}"
