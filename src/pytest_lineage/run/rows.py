"""Rows: one verdict about one law on one face of one target, and what a run adds up to."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

USAGE, SUITE, FAILED, INCOMPLETE, GOOD = 2, 3, 1, 4, 0
"""Exit codes, in the order in which the first that applies is taken."""

ONLY_FOR = "only for "
"""How the reason begins where a law is not meant for a face: that face does not count as left out."""

SILENT = ("not-applicable", "inconclusive")
"""Verdicts that say nothing about the law."""


@dataclass
class Row:
    """One verdict."""

    law: str
    face: str
    target: str
    level: str
    verdict: str
    group: str
    sentence: str = ""
    source: str = ""
    meaning: str = ""
    reports: tuple[str, ...] = ()
    reason: str = ""
    evidence: dict[str, Any] | None = None
    caused_by: str | None = None
    seconds: float = 0.0
    examples: int = 0
    program_id: str = ""
    """Under which id the program of a broken law is saved."""
    advisory: str = ""
    """Why a breach does not fail the run yet: nobody reviewed the law since it was added."""
    stake: str = ""
    """What is at stake where the law is broken: the key of a `Stake`."""
    observations: int = 0
    """Comparisons within the law's own subject that a wrong target could fail."""
    refused: int = 0
    """Operations that the target refused loudly, as it may."""

    def to_json(self) -> dict[str, Any]:
        """The row as JSON data, empty fields left out."""
        data = dataclasses.asdict(self)
        always = ("law", "face", "target", "level", "verdict", "group")
        return {k: v for k, v in data.items() if k in always or v not in (None, "", (), [], 0, 0.0)}


@dataclass
class TargetReport:
    """One target of a run: what it is, its rows, or why it could not be used."""

    name: str
    about: dict[str, Any] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)
    error: str = ""
    """Why the target could not be used (exit code 2)."""
    fault: str = ""
    """A fault of the suite itself (exit code 3)."""
    seconds: float = 0.0
    unsaved: str = ""
    """Why programs of broken laws could not be saved."""


def incomplete(report: TargetReport) -> str:
    """Why a run says too little about a target; empty when it says enough."""
    if not report.rows:
        return "nothing ran"
    told = [row for row in report.rows if row.verdict not in SILENT]
    if not told:
        return "no law got a verdict"
    undecided = [r for r in report.rows if r.level == "MUST" and r.verdict == "inconclusive"]
    if undecided:
        return f"{len(undecided)} MUST without a verdict, first {undecided[0].law}[{undecided[0].face}]"
    for face in report.about.get("faces_run", report.about.get("faces", [])):
        meant = [
            row for row in report.rows if row.face == face and not row.reason.startswith(ONLY_FOR)
        ]
        if meant and not any(row.face == face for row in told):
            return f"the face {face} ran nothing"
    return ""


def fails(row: Row, fail_on_should: bool = False, fail_on: str = "new") -> bool:
    """Whether a verdict fails a run. `fail_on` is ``new`` (known failures do not), ``any`` or ``never``."""
    if fail_on == "never":
        return False
    if row.verdict == "fixed":
        return True
    bad = ("broken", "hangs", "known") if fail_on == "any" else ("broken", "hangs")
    if row.verdict not in bad or (row.advisory and fail_on == "new"):
        return False
    return row.level in (("MUST", "SHOULD") if fail_on_should else ("MUST",))


def exit_code(
    reports: Iterable[TargetReport],
    fail_on_should: bool = False,
    fail_on: str = "new",
    problems: Sequence[str] = (),
) -> int:
    """The exit code of a run: the first of 2, 3, 1, 4 that applies, else 0.

    `problems` are errors in the known-failures file; they count as wrong usage.
    """
    reports = list(reports)
    if not reports or problems or any(report.error for report in reports):
        return USAGE
    if any(report.fault for report in reports):
        return SUITE
    rows = [row for report in reports for row in report.rows]
    if any(fails(row, fail_on_should, fail_on) for row in rows):
        return FAILED
    if any(incomplete(report) for report in reports):
        return INCOMPLETE
    return GOOD
