"""The matrix: targets in several stacks, judged by the laws, one column per stack."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from lineage_conformance import contract, kinds
from lineage_conformance.stacks import Stack
from pytest_lineage.environments.build import Side, Unbuildable, of_stack
from pytest_lineage.environments.bump import PATIENCE, Shared
from pytest_lineage.report import model
from pytest_lineage.report.matrix import combine
from pytest_lineage.run import engine, rows
from pytest_lineage.run.rows import TargetReport
from pytest_lineage.targets import builtin

FORMAT = 1


@dataclass(frozen=True)
class Settings:
    """What is judged in each stack."""

    targets: tuple[str, ...]
    kind: str = "saver"
    over: str = ""
    references: bool = True
    laws: tuple[str, ...] = ()
    profile: str = "quick"
    more: tuple[str, ...] = ()
    """Requirements of the targets themselves, put into each environment."""
    allow_nonempty: bool = False

    def runs(self) -> list[tuple[str, str, str]]:
        """What is judged, as (kind, target, over)."""
        found = [(self.kind, target, self.over) for target in self.targets]
        if kinds.get(self.kind).is_saver and self.references and not self.laws:
            found += [
                (kind, "reference", target)
                for target in self.targets
                for kind in builtin.references()
            ]
        return found


@dataclass
class Column:
    """One stack: what it has installed and what was judged there, or why nothing was."""

    stack: str
    packages: dict[str, str] = field(default_factory=dict)
    unbuildable: str = ""
    """Why the environment could not be made."""
    notes: list[str] = field(default_factory=list)
    reports: dict[str, list[TargetReport]] = field(default_factory=dict)
    """By kind of target."""
    documents: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def code(self) -> int:
        """The exit code of the stack alone."""
        if self.unbuildable:
            return rows.USAGE
        return rows.exit_code(report for some in self.reports.values() for report in some)

    def cells(self) -> dict[tuple[str, str], str]:
        """By target and group: how many laws hold of those that said something, or a state in words."""
        found: dict[tuple[str, str], str] = {}
        for report in (report for some in self.reports.values() for report in some):
            if report.error or report.fault:
                found[report.name, ""] = "cannot be used" if report.error else "fault of this suite"
            groups: dict[str, Counter[str]] = {}
            for row in report.rows:
                groups.setdefault(row.group, Counter())[row.verdict] += 1
            for group, counts in groups.items():
                found[report.name, group] = cell(counts)
        return found


def cell(counts: Counter[str]) -> str:
    """A group of laws in a few characters, e.g. ``4/5`` (4 of 5 hold) or ``older API`` where none applies."""
    told = sum(count for verdict, count in counts.items() if verdict not in rows.SILENT)
    if not told:
        return "no verdict" if counts["inconclusive"] else "does not apply"
    good = counts["holds"] + counts["refused"] + counts["known"]
    words = [f"{good}/{told}"]
    for verdict, mark in (
        ("broken", "broken"),
        ("hangs", "hang"),
        ("engine", "engine"),
        ("inconclusive", "?"),
    ):
        if counts[verdict]:
            words.append(f"{counts[verdict]} {mark}")
    return " ".join(words)


def run(
    stacks: Sequence[Stack],
    settings: Settings,
    jobs: int = 2,
    say: Callable[[str], None] = lambda text: None,
) -> list[Column]:
    """Judge the targets in every stack, `jobs` stacks at a time. One column per stack, whatever happens."""
    postgres = Shared()

    def one(stack: Stack) -> Column:
        say(f"{stack.id}: environment")
        try:
            side = of_stack(stack, settings.more)
        except Unbuildable as error:
            return Column(stack.id, unbuildable=str(error))
        return _judged(
            Column(stack.id, side.family, notes=list(side.notes)), side, settings, postgres, say
        )

    try:
        with ThreadPoolExecutor(jobs) as pool:
            return list(pool.map(one, stacks))
    finally:
        postgres.close()


def _judged(
    column: Column, side: Side, settings: Settings, postgres: Shared, say: Callable[[str], None]
) -> Column:
    for kind, target, over in settings.runs():
        say(f"{side.name}: {target}, kind {kind}")
        options = side.options(
            profile=settings.profile, kind=kind, over=over, laws=settings.laws,
            allow_nonempty=settings.allow_nonempty, op_limit=PATIENCE,
        )  # fmt: skip
        report = engine.check(target, options, postgres)
        if over and report.name == target:
            report.name = f"{target} over {over}"
        if kind != kinds.USUAL and kind not in report.name:
            report.name = f"{kind} {report.name}"
            for row in report.rows:
                row.target = report.name
        column.reports.setdefault(kind, []).append(report)
    for kind, reports in column.reports.items():
        document = model.document(reports, column.code, settings.profile, kind)
        document["versions"] = {**column.packages}
        document["stack"] = column.stack
        column.documents[kind] = document
    return column


def combined(columns: Sequence[Column], settings: Settings) -> dict[str, Any]:
    """The columns as one report, as `combine` makes it, with a target per target and stack."""
    made = []
    for column in columns:
        reports = [report for some in column.reports.values() for report in some]
        if column.unbuildable:
            reports = [
                TargetReport(target, error=column.unbuildable) for target in settings.targets
            ]
        document = model.document(reports, column.code, settings.profile, settings.kind)
        document["versions"] = dict(column.packages)
        for entry in document["targets"]:
            entry["name"] = f"{entry['name']} @ {column.stack}"
        for row in document["laws"]:
            row["target"] = f"{row['target']} @ {column.stack}"
        made.append((column.stack, document))
    return combine(made)


def exit_code(columns: Sequence[Column]) -> int:
    """The exit code of the whole matrix: the first of 2, 3, 1, 4 that a column has, else 0."""
    codes = {column.code for column in columns}
    return next(
        (c for c in (rows.USAGE, rows.SUITE, rows.FAILED, rows.INCOMPLETE) if c in codes), rows.GOOD
    )


def document(columns: Sequence[Column]) -> dict[str, Any]:
    """The matrix as JSON data: per stack its packages, state, table and the reports by kind of target."""
    data: dict[str, Any] = model.redact(
        {
            "format": FORMAT,
            "suite": {
                "name": "pytest-lineage",
                "version": contract.version("pytest-lineage") or "0",
            },
            "stacks": [
                {
                    "stack": column.stack,
                    "packages": column.packages,
                    "unbuildable": column.unbuildable,
                    "notes": column.notes,
                    "exit_code": column.code,
                    "groups": [
                        {"target": target, "group": group, "cell": text}
                        for (target, group), text in column.cells().items()
                    ],
                    "reports": column.documents,
                }
                for column in columns
            ],
            "exit_code": exit_code(columns),
        }
    )
    return data
