"""The lineage of a program as SVG: its checkpoints as a tree per thread, the wrong one marked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from lineage_conformance.kinds.saver.operations import Op
from pytest_lineage.report import tree
from pytest_lineage.report.style import clip, safe

ROW, STEP, LEFT, CHAR = 22, 26, 14, 7.3
"""Pixels of a line, of one generation, of the left margin, of a character."""

MOST = 60
"""Checkpoints that are drawn."""

LONGEST = 90
"""Characters of one label."""


def svg(ops: Sequence[Op], difference: Mapping[str, Any]) -> str:
    """The drawing, or nothing for a program without checkpoints."""
    forest = tree._grow(ops)
    marks = tree._marks(forest, ops, dict(difference))
    drawn = _Drawing()
    for place in sorted(forest.places):
        drawn.heading(tree._heading(forest, place))
        _draw(drawn, place, forest.places[place], marks)
    return drawn.svg() if drawn.nodes else ""


def _draw(
    drawn: _Drawing, place: tuple[str, str], nodes: Mapping[int, Any], marks: Mapping[Any, str]
) -> None:
    children: dict[int | None, list[Any]] = {}
    for node in sorted(nodes.values(), key=lambda node: node.id):
        parent = node.parent if node.parent in nodes and node.parent != node.id else None
        children.setdefault(parent, []).append(node)
    queue: list[tuple[Any, int, tuple[int, int] | None]]
    queue = [(node, 0, None) for node in reversed(children.get(None, []))]
    while queue and drawn.nodes < MOST:
        node, depth, above = queue.pop()
        mark = marks.get((place, node.id), "")
        text = f"#{node.id}" + (f"  {', '.join(node.notes)}" if node.notes else "")
        at = drawn.node(depth, above, text, node.writes, mark)
        queue += [(child, depth + 1, at) for child in reversed(children.get(node.id, []))]


class _Drawing:
    def __init__(self) -> None:
        self.parts: list[str] = []
        self.lines: list[str] = []
        self.said: list[str] = []
        self.nodes, self.y, self.width = 0, 0, 0.0

    def heading(self, text: str) -> None:
        self.y += ROW
        self._text(2, text, "t")

    def node(
        self, depth: int, above: tuple[int, int] | None, text: str, writes: Sequence[str], mark: str
    ) -> tuple[int, int]:
        """Draw one checkpoint below the last; where it is."""
        self.nodes += 1
        self.y += ROW
        x, y = LEFT + depth * STEP, self.y - 4
        if above is not None:
            self.lines.append(f"M{above[0]} {above[1] + 5}V{y}H{x - 5}")
        kind = ' class="m"' if mark else ""
        self.parts.append(f'<circle cx="{x}" cy="{y}" r="5"{kind}/>')
        end = self._text(x + 12, text)
        if mark:
            self._text(end + 14, f"◄ {mark}", "m")
        for write in writes[:8]:
            self.y += ROW - 4
            self._text(x + 12, write, "w")
        return x, y

    def _text(self, x: float, text: str, kind: str = "") -> float:
        shown = clip(safe(text), LONGEST)
        self.said.append(shown)
        name = f' class="{kind}"' if kind else ""
        self.parts.append(f'<text x="{x:g}" y="{self.y}"{name}>{escape(shown)}</text>')
        end = x + len(shown) * CHAR
        self.width = max(self.width, end)
        return end

    def svg(self) -> str:
        width, height = round(self.width) + 8, self.y + 8
        path = f'<path d="{"".join(self.lines)}"/>' if self.lines else ""
        label = escape("Lineage: " + "; ".join(self.said[:40]), quote=True)
        return (
            f'<svg role="img" aria-label="{label}" width="{width}" height="{height}" '
            f'viewBox="0 0 {width} {height}">{path}{"".join(self.parts)}</svg>'
        )
