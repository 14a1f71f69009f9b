"""JUnit XML: a suite per target, a case per law and face, so that every CI shows the run."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_lineage.report import gist, roots
from pytest_lineage.report.block import block
from pytest_lineage.report.roots import Failure
from pytest_lineage.report.style import Style

_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 cannot hold, escaped or not."""


def write(path: str | Path, document: Mapping[str, Any]) -> None:
    """Write the document as JUnit XML."""
    root = ET.Element("testsuites", name="pytest-lineage")
    for target in document["targets"]:
        _suite(root, document, target)
    problems = (document.get("known") or {}).get("problems") or []
    if problems:
        suite = ET.SubElement(root, "testsuite", name="known failures")
        for number, problem in enumerate(problems, 1):
            case = ET.SubElement(
                suite, "testcase", classname="known", name=f"entry {number}", time="0"
            )
            ET.SubElement(case, "error", message=clean(problem)[:300], type="known").text = clean(
                problem
            )
        _count(suite, list(suite.iter("testcase")))
    _count(root, list(root.iter("testcase")))
    ET.indent(root)
    Path(path).write_bytes(ET.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n")


def _suite(root: ET.Element, document: Mapping[str, Any], target: Mapping[str, Any]) -> None:
    name = clean(target["name"])
    suite = ET.SubElement(root, "testsuite", name=name)
    about = {
        "profile": document.get("profile"),
        "kind": document.get("kind"),
        "class": target.get("class"),
        "verdict": gist.verdict(document, target).line,
    }
    about |= {"python": document.get("python"), **document.get("versions", {})}
    _properties(suite, about)
    for key, case in (("error", "target"), ("fault", "suite"), ("incomplete", "complete")):
        if target.get(key):
            text = clean(target[key])
            made = ET.SubElement(suite, "testcase", classname=name, name=case, time="0")
            ET.SubElement(made, "error", message=text[:300], type=key).text = text
    rows = [row for row in document["laws"] if row["target"] == target["name"]]
    first = {
        failure.row["law"]: n for n, failure in enumerate(roots.failures(document, target["name"]))
    }
    rows.sort(key=lambda row: first.get(row["law"], len(first)))  # the worst first
    for row in rows:
        _case(suite, document, row)
    _count(suite, list(suite.iter("testcase")), float(target.get("seconds") or 0))


def _case(suite: ET.Element, document: Mapping[str, Any], row: Mapping[str, Any]) -> None:
    case = ET.SubElement(
        suite, "testcase",
        classname=clean(f"{row['target']}.{row['group']}"),
        name=clean(f"{row['law']}[{row['face']}]"),
        time=f"{float(row.get('seconds') or 0):.3f}",
    )  # fmt: skip
    keys = ("law", "target", "face", "level", "verdict", "stake", "caused_by")
    _properties(case, {key: row[key] for key in keys if row.get(key)})
    verdict, reason = row["verdict"], clean(row.get("reason") or row["verdict"])
    if row.get("caused_by"):
        reason = clean(f"follows from {row['caused_by']}: {reason}")
    message = f"{verdict}: {reason}"[:300]
    fails = row["level"] == "MUST" and not row.get("advisory")
    if verdict == "fixed" or (verdict in roots.BAD and fails):
        failure = ET.SubElement(case, "failure", message=message, type=verdict)
        failure.text = clean("\n".join(block(Failure(row, [row["face"]]), document, Style(100))))
    elif verdict in roots.BAD:
        level = clean(f"{row['level']}{', advisory' if row.get('advisory') else ''}")
        ET.SubElement(case, "skipped", message=f"{level} {message}", type=verdict)
    elif verdict not in ("holds", "refused"):
        ET.SubElement(case, "skipped", message=message, type=verdict)


def _properties(parent: ET.Element, values: Mapping[str, Any]) -> None:
    box = ET.SubElement(parent, "properties")
    for name, value in values.items():
        if value is not None:
            ET.SubElement(box, "property", name=clean(name), value=clean(value))


def _count(element: ET.Element, cases: list[ET.Element], seconds: float | None = None) -> None:
    element.set("tests", str(len(cases)))
    for plural, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        element.set(plural, str(sum(case.find(tag) is not None for case in cases)))
    total = sum(float(case.get("time", "0")) for case in cases) if seconds is None else seconds
    element.set("time", f"{total:.3f}")


def clean(value: object) -> str:
    """Text without the characters that XML cannot hold."""
    return _ILLEGAL.sub("", str(value))
