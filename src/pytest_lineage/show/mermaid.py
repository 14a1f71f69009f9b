"""A thread as a Mermaid flowchart, for an issue or a wiki page."""

from __future__ import annotations

from collections.abc import Iterator

from pytest_lineage.report.style import clip, safe
from pytest_lineage.show import words
from pytest_lineage.show.folding import Fold, Node, Section, Spaces
from pytest_lineage.show.thread import Thread

MOST = 150
"""Boxes of checkpoints that are drawn: viewers refuse long texts (50,000 characters by default)."""

LABEL = 90
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 .,:+-()/=_")

STYLES = """\
  classDef head stroke-width:4px
  classDef warn stroke:#b07900,stroke-width:2px,stroke-dasharray:5 3
  classDef bad stroke:#b3241c,stroke-width:2px,stroke-dasharray:5 3
  classDef fold stroke-dasharray:2 4"""


def render(thread: Thread, picture: list[Section | Spaces], full: bool = False) -> str:
    """The chart. Every text in it is escaped character by character."""
    chart = _Chart(words.Ids(thread, False), full)
    lines = ["flowchart TD"]
    for number, section in enumerate(picture):
        if isinstance(section, Spaces):
            lines.append(f'  s{number}["{escaped(words.spaces(section), 200)}"]:::fold')
            continue
        title = escaped(words.namespace(section.space, chart.ids), 120)
        lines.append(f'  subgraph s{number}["{title}"]')
        lines.append("    direction TB")
        lines += [f"    {line}" for line in chart.section(section)]
        lines.append("  end")
    lines += [f"  {line}" for line in chart.across(picture)]
    if chart.left_out:
        lines.append(
            f'  rest["{escaped(words.many(chart.left_out, "more line"))} left out"]:::fold'
        )
    return "\n".join([*lines, STYLES]) + "\n"


def escaped(text: str, most: int = LABEL) -> str:
    """Text for a quoted label: everything but letters, digits and plain marks as a number entity."""
    shown = clip(safe(text), most)
    return "".join(char if char in _PLAIN else f"#{ord(char)};" for char in shown)


class _Chart:
    def __init__(self, ids: words.Ids, full: bool) -> None:
        self.ids, self.most = ids, 10**9 if full else MOST
        self.left_out = 0
        self._drawn = 0
        self._boxes: dict[tuple[str, str], str] = {}

    def section(self, section: Section) -> Iterator[str]:
        """Boxes and arrows of a namespace."""
        open: list[str] = []  # the last box of each lane
        for item in section.items:
            if self._drawn >= self.most:
                self.left_out += 1
                continue
            self._drawn += 1
            box = f"n{self._drawn}"
            above = open[item.depth] if len(open) > item.depth else ""
            if isinstance(item, Node):
                parent = self._boxes.get((section.space.name, item.checkpoint.parent or ""))
                above = parent or above
                if item.checkpoint.parent is None:
                    above = ""
            elif not above and item.depth and len(open) >= item.depth:
                above = open[item.depth - 1]
            yield from self._box(item, box)
            if above:
                yield f"{above} --> {box}"
            del open[item.depth :]
            open += [""] * (item.depth - len(open)) + [box]
            if isinstance(item, Node):
                self._boxes[section.space.name, item.checkpoint.id] = box
                yield from self._tasks(item, box)

    def _box(self, item: Node | Fold, box: str) -> Iterator[str]:
        if isinstance(item, Fold):
            yield f'{box}(["{escaped(words.fold(item), 200)}"]):::fold'
            return
        made = item.checkpoint
        text = f"{escaped(self.ids(made.id))}<br/>{escaped(', '.join(words.checkpoint(made)))}"
        yield f'{box}["{text}"]' + (":::head" if made.head else "")

    def _tasks(self, item: Node, box: str) -> Iterator[str]:
        said = [line for line in words.about(item.checkpoint, self.ids, False) if line.tone]
        for number, line in enumerate(said[:12]):
            yield f'{box}t{number}("{escaped(line.text, 140)}"):::{line.tone}'
            yield f"{box} -.- {box}t{number}"
        if len(said) > 12:
            yield f'{box} -.- {box}t12("{len(said) - 12} more"):::warn'

    def across(self, picture: list[Section | Spaces]) -> Iterator[str]:
        """Arrows from checkpoints to the namespaces of their subgraphs."""
        for section in picture:
            if not isinstance(section, Section) or not section.space.of or not section.items:
                continue
            outer = section.space.name.rpartition("|")[0]
            start = self._boxes.get((outer, section.space.of))
            space = section.space
            end = self._boxes.get((space.name, space.checkpoints[0].id))
            if start and end:
                yield f"{start} -.-> {end}"
