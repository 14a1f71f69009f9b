"""The section that a pytest run ends with when it judged targets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pytest_lineage.plugin.outcome import clean

if TYPE_CHECKING:
    from pytest_lineage.run.rows import Row, TargetReport

ORDER = (
    "broken", "hangs", "fixed", "inconclusive", "engine", "known", "refused", "holds", "not-applicable",
)  # fmt: skip
BAD = ("broken", "hangs")

Line = tuple[str, dict[str, bool]]


def lines(reports: Iterable[TargetReport], document: Mapping[str, Any]) -> Iterator[Line]:
    """Lines with their markup: for each target a table of groups, then what is broken by itself."""
    for report, target in zip(reports, document["targets"], strict=True):
        if report.error:
            yield f"{report.name}: not opened: {clean(report.error)}", {"red": True}
            continue
        faces = ", ".join(report.about.get("faces", []))
        yield (
            f"{report.name} ({document['profile']}; {faces}): {_counts(report.rows)}",
            {"bold": True},
        )
        groups: dict[str, list[Row]] = {}
        for row in report.rows:
            groups.setdefault(row.group, []).append(row)
        width = max(len(group) for group in groups) if groups else 0
        for group, rows in groups.items():
            bad = any(row.verdict in BAD and row.level == "MUST" for row in rows)
            yield f"  {group:{width}}  {_counts(rows)}", {"red": True} if bad else {}
        yield from _roots(document, target)


def _counts(rows: Iterable[Row]) -> str:
    """How many of each verdict, worst first; what no MUST is about is told apart."""
    found = Counter(_word(row) for row in rows)
    order = {word: number for number, word in enumerate(ORDER)}
    ranked = sorted(found.items(), key=lambda item: (order[item[0].split()[-1]], item[0]))
    return ", ".join(f"{count} {word}" for word, count in ranked)


def _word(row: Row) -> str:
    lesser = row.verdict in BAD and row.level != "MUST"
    return f"{row.level} {row.verdict}" if lesser else row.verdict


def _roots(document: Mapping[str, Any], target: Mapping[str, Any]) -> Iterator[Line]:
    """Laws that are broken by themselves, the worst first, what follows from each, and the last word."""
    from pytest_lineage.report import gist, roots

    for failure in roots.failures(document, target["name"]):
        row, color = failure.row, "red" if failure.level == "MUST" else "yellow"
        stake = f": {roots.words(row)}" if roots.words(row) else ""
        yield clean(f"  {row['level']} {row['verdict']}: {failure.name}{stake}"), {color: True}
        if failure.folded:
            names = ", ".join(name for name, _ in failure.follows())
            yield clean(f"    from it follow: {names}"), {}
    for note in gist.notes(target, [r for r in document["laws"] if r["target"] == target["name"]]):
        if note.startswith("refused"):
            yield clean(f"  {note}"), {}
    last = gist.verdict(document, target)
    yield clean(f"  {last.line}"), {"bold": True}
