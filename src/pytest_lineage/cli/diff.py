"""Say what changed between two reports: newly broken, fixed, still broken, newly run, no longer run.

Laws are compared by id, target and face. Reports are what `check --report` and `pytest --lineage-report`
write; the JSON of `check --format json` is read too.
"""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from pytest_lineage.cli.common import UsageError, add_format

if TYPE_CHECKING:
    from pytest_lineage.report.diffing import Change, Difference

EPILOG = """\
exit codes: 0 nothing got worse; 1 a regression: a law that held is broken, or a target can no longer be
checked; 2 wrong usage, or reports that cannot be read or compared.
"""
COLORS = {"new": "red", "still": "yellow", "run": "cyan", "not-run": "yellow", "fixed": "green"}
MOST = 40
"""Changes of one kind that are listed for people."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("old", metavar="OLD", help="the report to compare with")
    parser.add_argument("new", metavar="NEW", help="the report that may be worse")
    add_format(parser, "pretty", "json", "markdown")


def run(options: argparse.Namespace) -> int:
    """Compare; print; 1 for a regression."""
    from pytest_lineage.report import diffing, jsonl

    old, new = jsonl.read(options.old), jsonl.read(options.new)
    try:
        found = diffing.compare(old, new)
    except diffing.Unlike as error:
        raise UsageError(str(error)) from None
    if options.format == "json":
        print(json.dumps(found.to_json(), indent=2))
    elif options.format == "markdown":
        print(markdown(found))
    else:
        print(pretty(found))
    return 1 if found.regression else 0


def verdict(found: Difference) -> str:
    """The whole difference in a line."""
    from pytest_lineage.report import diffing
    from pytest_lineage.report.gist import many

    laws = {kind: len({(c.target, c.law) for c in found.of(kind)}) for kind, _ in diffing.KINDS}
    parts = [f"{many(laws[kind], 'law')} {words}" for kind, words in diffing.KINDS if laws[kind]]
    parts = [f"{many(len(found.unusable), 'target')} no longer usable"] * bool(
        found.unusable
    ) + parts
    word = "REGRESSION" if found.regression else "NO REGRESSION"
    return f"{word} — {', '.join(parts) if parts else 'nothing changed and nothing is broken'}"


def pretty(found: Difference) -> str:
    """The difference for a terminal."""
    from pytest_lineage.report import diffing
    from pytest_lineage.report.style import Style, clip, safe

    style = Style.detect()
    lines: list[str] = []
    if found.versions:
        changed = ", ".join(
            f"{safe(n)} {_step(safe(old), safe(new))}" for n, old, new in found.versions
        )
        lines += style.wrap(f"versions: {changed}", "    ")
    for note in found.notes:
        lines += style.wrap(f"note: {safe(note)}", "    ")
    for name in found.unusable:
        lines += [
            "",
            *style.wrap(style.paint(f"no longer usable: {safe(name)}", "red", "bold"), "    "),
        ]
    for kind, words in diffing.KINDS:
        changes = found.of(kind)
        if changes:
            lines += ["", style.paint(f"{words} ({len(changes)})", COLORS[kind], "bold")]
        for change in changes[:MOST]:
            more = _more(change)
            lines += style.wrap(
                safe(f"{_title(change, found)}{more}"), "      ", f"  {change.level:7}"
            )
            if kind in ("new", "run") and change.after in diffing.BAD and change.reason:
                lines += style.wrap(safe(clip(change.reason, 300)), " " * 9, " " * 9)
        if len(changes) > MOST:
            rest = ", ".join(safe(_title(change, found)) for change in changes[MOST:])
            lines += style.wrap(f"and: {rest}", "      ", "  ")
    lines += [""] if lines else []
    color = "red" if found.regression else "green"
    lines += [style.paint(line, color, "bold") for line in style.wrap(verdict(found), "    ")]
    return "\n".join(style.plain(line.rstrip()) for line in lines)


def _title(change: Change, found: Difference) -> str:
    target = f"{change.target}: " if len(found.targets) > 1 else ""
    return f"{target}{change.law}[{', '.join(change.faces)}]"


def _more(change: Change) -> str:
    if change.kind == "still":
        return "" if change.before == change.after else f" ({change.before}, now {change.after})"
    if change.kind == "run":
        return f" {change.after}"
    if change.kind == "not-run":
        why = f": {change.reason[:120]}" if change.reason and change.after else ""
        return f" {change.before} before, now {change.after or 'not there'}{why}"
    if change.kind == "new" and not change.regression:
        return " (known)" if change.after == "known" else " (advisory)"
    return ""


def _step(old: str, new: str) -> str:
    return f"{old} → {new}" if old and new else f"{new} (new)" if new else f"{old} (gone)"


def markdown(found: Difference) -> str:
    """The difference for a step summary or a comment."""
    from pytest_lineage.report import diffing
    from pytest_lineage.report.markdown import code, escape
    from pytest_lineage.report.style import clip

    lines = [f"## {'❌' if found.regression else '✅'} {escape(verdict(found))}", ""]
    lines += [f"- {code(name)} {escape(_step(old, new))}" for name, old, new in found.versions]
    lines += [f"- {escape(note)}" for note in found.notes]
    lines += [f"- ❌ {code(name)} can no longer be checked" for name in found.unusable]
    for kind, words in diffing.KINDS:
        changes = found.of(kind)
        if not changes:
            continue
        lines += [
            "",
            f"<details{' open' if kind == 'new' else ''}><summary><b>{words}</b> ({len(changes)})</summary>",
        ]
        lines += ["", "| level | target | law | faces | |", "|---|---|---|---|---|"]
        for change in changes[:MOST]:
            why = change.reason if change.after in diffing.BAD else _more(change)
            cells = (change.level, code(change.target), code(change.law), escape(", ".join(change.faces)),
                     escape(clip(why, 200)))  # fmt: skip
            lines.append("| " + " | ".join(cells) + " |")
        rest = ", ".join(escape(_title(change, found)) for change in changes[MOST:])
        lines += [f"\nand: {rest}"] if rest else []
        lines += ["", "</details>"]
    return "\n".join(lines)
