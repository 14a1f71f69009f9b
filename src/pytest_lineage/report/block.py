"""The failure block: one broken law, told so that a stranger can act on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_lineage.report import gist, roots
from pytest_lineage.report.evidence import (
    LABEL,
    difference_lines,
    lineage_lines,
    operations,
    program_lines,
    stack_lines,
)
from pytest_lineage.report.roots import Failure, Row
from pytest_lineage.report.style import Style, columns, pad, safe

CALLED = "what the engine called, made small"
"""Title of the recorded calls of a law about a graph."""


def block(
    failure: Failure, document: Mapping[str, Any], style: Style, programs: bool = False
) -> list[str]:
    """The lines of a failure block; the last are the commands that run only this.

    `programs`: what follows from the failure is told with its own programs, after it.
    """
    row = failure.row
    color = "red" if failure.level == "MUST" else "yellow"
    title = f"{row['level']} {row['verdict']}  {safe(failure.name)}"
    lines = [style.paint(text, color, "bold") for text in _title(title, style)]
    lines += [style.paint(line, "bold") for line in style.wrap(safe(row.get("sentence", "")))]
    if roots.words(row):
        lines += _labelled("at stake", roots.words(row), style)
    if row.get("source"):
        lines += _labelled("source", safe(row["source"]), style)
    lines += _evidence(row, style)
    evidence = row.get("evidence") or {}
    lines += lineage_lines(operations(evidence.get("program")), _first(evidence), style)
    lines += _recorded(evidence.get("recorded"), style)
    lines += ["", *_context(failure, document, style), *_commands(document, row, style)]
    for some in failure.ways:
        faces = failure.listed([each["face"] for each in some])
        lines += _other(f"in another way on {faces}", some[0], document, style)
    if programs:
        for rows in failure.folded.values():
            for some in roots.alike(rows):
                shown = f"{rows[0]['law']}[{failure.listed([each['face'] for each in some])}]"
                lines += _other(f"follows  {shown}", some[0], document, style)
    return lines


def _first(evidence: Mapping[str, Any]) -> dict[str, Any]:
    first: dict[str, Any] = (evidence.get("differences") or [{}])[0]
    return first


def _evidence(row: Row, style: Style, title: str = "") -> list[str]:
    """The program, and what it shows: a difference, a reason, where it stood."""
    evidence = row.get("evidence") or {}
    difference, program = _first(evidence), evidence.get("program")
    lines = program_lines(program, operations(program), difference, style, title)
    if difference and row["verdict"] != "hangs":
        graph = "graph" in (program or {})
        lines += difference_lines(difference, evidence["differences"][1:], style, graph)
    elif row.get("reason"):
        lines += ["", *style.wrap(safe(row["reason"]))]
    return lines + stack_lines(evidence.get("stack", ""), style)


def _recorded(recorded: Any, style: Style) -> list[str]:
    """The engine's calls on the saver during a scenario, as a program, and the laws that see a difference."""
    if not isinstance(recorded, Mapping) or not recorded.get("program"):
        return []
    shown = {"evidence": recorded, "verdict": "broken"}
    laws = ", ".join(safe(law) for law in recorded.get("laws") or ())
    lines = _evidence(shown, style, CALLED)
    return lines + (["", *_labelled("breaks", laws, style)] if laws else [])


def _other(title: str, row: Row, document: Mapping[str, Any], style: Style) -> list[str]:
    """Another way of a failure, or what follows from it: its program and the commands, under a title."""
    lines = ["", *(style.paint(line, "bold") for line in style.wrap(safe(title), "    "))]
    if title.startswith("follows") and row.get("sentence"):
        lines += style.wrap(safe(row["sentence"]))
    lines += _evidence(row, style)
    lines += _recorded((row.get("evidence") or {}).get("recorded"), style)
    return [*lines, "", *_commands(document, row, style)]


def _title(title: str, style: Style) -> list[str]:
    lines = style.wrap(title, indent="    ")
    if len(lines) == 1:
        lines[0] += " " + "─" * max(style.width - columns(lines[0]) - 1, 0)
    return lines


def _labelled(label: str, text: str, style: Style) -> list[str]:
    """A paragraph with a label at its left, or above it where there is no room."""
    if style.width < 60:
        return [style.paint(label, "cyan"), *style.wrap(text, "  ", "  ")]
    lines = style.wrap(text, " " * LABEL, " " * LABEL)
    lines[0] = style.paint(pad(label, LABEL), "cyan") + lines[0][LABEL:]
    return lines


def _context(failure: Failure, document: Mapping[str, Any], style: Style) -> list[str]:
    row, lines = failure.row, []
    if row.get("advisory"):
        lines += _labelled("advisory", safe(row["advisory"]), style)
    if row.get("meaning"):
        lines += _labelled("it means", safe(row["meaning"]), style)
    if len(failure.alike) > 1:
        lines += _labelled("the same on", safe(failure.listed(failure.alike)), style)
    if failure.otherwise:
        lines += _labelled("differs on", safe(failure.listed(failure.otherwise)), style)
    for law, faces in failure.elsewhere.items():
        text = f"from {safe(law)}, on {safe(failure.listed(faces))}"
        lines += _labelled("follows", text, style)
    if row.get("caused_by"):
        lines += _labelled("follows", f"from {safe(row['caused_by'])}, on this face", style)
    lines += _folded(failure, document, style)
    if row.get("reports"):
        lines += _labelled("seen in", ", ".join(map(safe, row["reports"])), style)
    return lines


def _folded(failure: Failure, document: Mapping[str, Any], style: Style) -> list[str]:
    """What follows from a failure: every law by id, with the id of its program."""
    if not failure.folded:
        return []
    count, laws = failure.consequences, len(failure.folded)
    head = f"{gist.many(count, 'verdict')} of {gist.many(laws, 'law')}"
    head += f" {'follows' if count == 1 else 'follow'} from this"
    if failure.level == "MUST" != failure.row["level"]:
        head += " (a MUST among them)"
    saved = [row for rows in failure.folded.values() for row in rows if row.get("program_id")]
    way = "--all-programs"
    if saved:
        command = gist.replay(document, {**saved[0], "program_id": "ID"})
        way += f", or `{safe(command)}`,"
    lines = _labelled("also broken", f"{head}; {way} shows the program of each:", style)
    indent = " " * (LABEL if style.width >= 60 else 2)
    for name, rows in failure.follows():
        ids = ", ".join(dict.fromkeys(str(r["program_id"]) for r in rows if r.get("program_id")))
        lines += style.wrap(safe(f"{name}  {ids}".rstrip()), indent + "    ", indent)
    return lines


def _commands(document: Mapping[str, Any], row: Row, style: Style) -> list[str]:
    """What runs only this law on this face again, and the saved program alone, where one was saved."""
    parts = gist.rerun(document, row)
    lines = ["  " + safe(" ".join(parts))]
    if columns(lines[0]) > style.width:
        first, *rest = map(safe, parts)
        lines = [f"  {first}", *(f"    {part}" for part in rest)]
        lines[:-1] = [f"{line} \\" for line in lines[:-1]]
    command = safe(gist.replay(document, row))
    lines += [f"  {command}"] if command else []
    return [style.paint("run only this", "cyan"), *(style.paint(line, "bold") for line in lines)]
