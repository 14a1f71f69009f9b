"""The section that a pytest run ends with when it judged targets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pytest_lineage.failure import clean

if TYPE_CHECKING:
    from pytest_lineage.run.rows import Row, TargetReport

ORDER = (
    "broken", "hangs", "fixed", "inconclusive", "engine", "known", "refused", "holds", "not-applicable",
)  # fmt: skip
BAD = ("broken", "hangs")

Line = tuple[str, dict[str, bool]]


def lines(reports: Iterable[TargetReport], document: Mapping[str, Any]) -> Iterator[Line]:
    """Lines with their markup: for each target a table of groups, then what is broken by itself."""
    for report in reports:
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
        yield from _roots(report)


def _counts(rows: Iterable[Row]) -> str:
    """How many of each verdict, worst first; what no MUST is about is told apart."""
    found = Counter(_word(row) for row in rows)
    order = {word: number for number, word in enumerate(ORDER)}
    ranked = sorted(found.items(), key=lambda item: (order[item[0].split()[-1]], item[0]))
    return ", ".join(f"{count} {word}" for word, count in ranked)


def _word(row: Row) -> str:
    lesser = row.verdict in BAD and row.level != "MUST"
    return f"{row.level} {row.verdict}" if lesser else row.verdict


def _roots(report: TargetReport) -> Iterator[Line]:
    """Broken laws that no other broken law explains, with the number of those that they explain."""
    bad = [row for row in report.rows if row.verdict in BAD]
    folded = Counter(row.caused_by for row in bad if row.caused_by)
    roots: dict[str, list[Row]] = {}
    for row in bad:
        if not row.caused_by:
            roots.setdefault(row.law, []).append(row)
    for law, rows in roots.items():
        first = rows[0]
        faces = ", ".join(row.face for row in rows)
        more = f" (and {folded[law]} that follow from it)" if folded[law] else ""
        text = f"  {first.level} {first.verdict}: {law}[{faces}]{more}"
        yield clean(text), {"red": True} if first.level == "MUST" else {"yellow": True}
