"""The list of all stories, as text, markdown and JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence

from lineage_conformance.defects import Defect
from pytest_lineage.report import markdown as md
from pytest_lineage.report.style import Style, pad, safe
from pytest_lineage.repro.stories import Story, entry

FORMAT = 1


def listing(some: Sequence[Story], form: str, style: Style) -> str:
    """All stories, in one of the formats."""
    if form == "json":
        return json.dumps({"format": FORMAT, "defects": [entry(s) for s in some]}, indent=2)
    if form == "markdown":
        lines = [
            "| id | title | area | law | faulty | fixed | upstream |",
            "|---|---|---|---|---|---|---|",
        ]
        for story in some:
            faulty, fixed, link = _listed(story)
            cells = [story.id, story.title, story.area]
            lines.append(
                "| " + " | ".join([*map(md.escape, cells), md.code(story.law), md.code(faulty), md.code(fixed),
                                   f"<{link}>" if link.startswith("http") else md.escape(link)]) + " |"
            )  # fmt: skip
        return "\n".join(lines)
    lines = []
    for story in some:
        faulty, fixed, link = _listed(story)
        lines += [
            style.paint(line, "bold") for line in style.wrap(f"{story.id}  {story.title}", " " * 6)
        ]
        told = {
            "area": story.area,
            "law": story.law,
            "faulty": faulty,
            "fixed": fixed,
            "upstream": link,
        }
        for label, text in told.items():
            if text:
                lines += style.wrap(safe(text), " " * 16, pad(f"      {label}", 16))
        lines.append("")
    lines += style.wrap(
        "pytest-lineage repro ID shows one. D: defects of releases; W: wrong first fixes."
    )
    return "\n".join(style.plain(line.rstrip()) for line in lines)


def _listed(story: Story) -> tuple[str, str, str]:
    if isinstance(story, Defect):
        return ", ".join(story.faulty), ", ".join(story.fixed), story.upstream
    return story.fix, f"lineage_reference.rollback:{story.instead}", ""
