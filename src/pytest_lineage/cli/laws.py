"""List the laws: id, level, the versions they apply to, and the sentence."""

from __future__ import annotations

import argparse
import json
import shutil
import textwrap
from typing import Any

from lineage_conformance.kinds import KINDS, USUAL
from lineage_conformance.law import Law
from pytest_lineage.cli.common import add_format, choose


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "patterns", nargs="*", metavar="GLOB", help="ids, groups or globs; none: all"
    )
    parser.add_argument("--kind", choices=KINDS, default=USUAL)
    parser.add_argument("--level", choices=["MUST", "SHOULD", "MAY"], help="only this level")
    add_format(parser, "pretty", "json", "markdown")


def run(options: argparse.Namespace) -> int:
    """Print the laws."""
    chosen = [
        item
        for item in choose(options.patterns, options.kind)
        if options.level in (None, item.level.value)
    ]
    if options.format == "json":
        print(json.dumps({"laws": [as_json(item) for item in chosen]}, indent=2))
    elif options.format == "markdown":
        print(_markdown(chosen))
    else:
        print(_pretty(chosen))
    return 0


def as_json(item: Law) -> dict[str, Any]:
    """A law as JSON data."""
    return {
        "id": item.id,
        "kind": item.kind,
        "group": item.group,
        "level": item.level.value,
        "stake": item.stake.value,
        "sentence": item.sentence,
        "source": item.source,
        "meaning": item.meaning,
        "versions": list(item.versions),
        "needs": list(item.needs),
        "not_promised_under": list(item.limits),
        "after": list(item.after),
        "reports": list(item.reports),
        "programs": len(item.programs),
        "applies_here": item.not_applicable() is None,
        "why_not": item.not_applicable(),
    }


def _markdown(chosen: list[Law]) -> str:
    rows = ["| law | level | versions | sentence |", "|---|---|---|---|"]
    for item in chosen:
        cells = (f"`{item.id}`", item.level.value, ", ".join(item.versions), item.sentence)
        rows.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(rows)


def _pretty(chosen: list[Law]) -> str:
    width = max(shutil.get_terminal_size().columns, 40)
    lines: list[str] = []
    group = ""
    for item in chosen:
        if item.group != group:
            group = item.group
            lines.append(f"\n{group}" if lines else group)
        why_not = item.not_applicable()
        note = f"  (not here: {why_not})" if why_not else ""
        lines.append(f"  {item.level.value:6} {item.id}{note}")
        lines += textwrap.wrap(
            item.sentence, width, initial_indent=" " * 9, subsequent_indent=" " * 9
        )
    lines.append(f"\n{len(chosen)} laws; `pytest-lineage explain LAW` says more about one.")
    return "\n".join(lines)
