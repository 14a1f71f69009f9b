"""The document that every writer reads: plain data about a run, redacted."""

from __future__ import annotations

import json
import platform
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from lineage_conformance import contract
from pytest_lineage.report import roots
from pytest_lineage.report.redaction import PREVIEW, redact
from pytest_lineage.run.rows import TargetReport, incomplete

__all__ = ["FORMAT", "PREVIEW", "VERDICTS", "document", "dumps", "redact", "summary"]

FORMAT = 1
"""Version of the report format; a reader refuses a larger one."""

VERDICTS = (
    "broken", "hangs", "fixed", "inconclusive", "engine", "known", "refused", "holds", "not-applicable",
)  # fmt: skip
"""Every verdict, worst first."""


def document(
    reports: Iterable[TargetReport],
    code: int,
    profile: str,
    kind: str = "saver",
    known: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The whole run as JSON data. `known` tells what a known-failures file came to."""
    reports = list(reports)
    versions: dict[str, str] = contract.versions()
    for report in reports:
        versions.update(report.about.get("versions", {}))
    made: dict[str, Any] = redact(
        {
            "format": FORMAT,
            "suite": {
                "name": "pytest-lineage",
                "version": contract.version("pytest-lineage") or "0",
            },
            "kind": kind,
            "profile": profile,
            "python": platform.python_version(),
            "platform": platform.system(),
            "versions": versions,
            "targets": [_target(report) for report in reports],
            "laws": [row.to_json() for report in reports for row in report.rows],
            "summary": summary(reports),
            "exit_code": code,
            **({"known": known} if known else {}),
        }
    )
    made["summary"]["roots"] = roots.table(made)
    return made


def _target(report: TargetReport) -> dict[str, Any]:
    about = report.about
    keys = (
        "address",
        "class",
        "declared",
        "faces",
        "absent",
        "store",
        "limits",
        "unsupported",
        "postgres",
        "cut",
    )
    data: dict[str, Any] = {
        "name": report.name,
        **{k: about[k] for k in keys if about.get(k) not in (None, "")},
    }
    if report.error:
        data["error"] = report.error
    if report.fault:
        data["fault"] = report.fault
    too_little = "" if report.error or report.fault else incomplete(report)
    if too_little:
        data["incomplete"] = too_little
    data["seconds"] = round(report.seconds, 2)
    return data


def summary(reports: Iterable[TargetReport]) -> dict[str, Any]:
    """Counts of verdicts: in all, and per target and group."""
    rows = [row for report in reports for row in report.rows]
    groups: dict[str, dict[str, dict[str, int]]] = {}
    for row in rows:
        counts = groups.setdefault(row.target, {}).setdefault(row.group, {})
        counts[row.verdict] = counts.get(row.verdict, 0) + 1
    return {"verdicts": dict(Counter(row.verdict for row in rows)), "groups": groups}


def dumps(document: dict[str, Any]) -> str:
    """The document as indented JSON; lone surrogates are escaped, so it is always valid UTF-8."""
    return json.dumps(document, indent=2, ensure_ascii=True, default=repr)
