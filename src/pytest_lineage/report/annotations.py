"""GitHub: annotations on the line that declares a target, and the step summary of a job."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_lineage.report import gist, markdown, roots
from pytest_lineage.report.evidence import operations
from pytest_lineage.report.style import clip, safe
from pytest_lineage.report.values import operation

MOST = 10
"""Annotations of one severity that GitHub shows of a step."""

SUMMARY = 1024 * 1024
"""Bytes that GitHub takes as the summary of a step; one byte more and it shows nothing."""

LONGEST = 3000
"""Characters of one message."""

NAMES = 60_000
"""Characters of the message that names what has no annotation of its own; GitHub takes 64 KiB."""


def wanted() -> bool:
    """Whether this is a GitHub job."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


def lines(document: Mapping[str, Any]) -> list[str]:
    """Workflow commands, errors first: broken laws, known failures that are fixed, errors in their file."""
    found: dict[str, list[tuple[str, str, str]]] = {"error": [], "warning": []}
    known = document.get("known") or {}
    for problem in known.get("problems") or ():
        found["error"].append((_known_place(known, str(problem)), "known failures", str(problem)))
    places = {target["name"]: _place(target) for target in document["targets"]}
    for target in document["targets"]:
        for key, title in (("error", "cannot be checked"), ("fault", "fault of pytest-lineage")):
            if target.get(key):
                found["error"].append(
                    (places[target["name"]], f"{target['name']}: {title}", str(target[key]))
                )
    for failure in roots.failures(document):
        kind = "error" if failure.level == "MUST" else "warning"
        title = f"{failure.row['level']} {failure.row['verdict']}: {failure.name} of {failure.row['target']}"
        found[kind].append(
            (places.get(failure.row["target"], ""), title, "\n".join(_message(failure)))
        )
    fixed = dict.fromkeys(
        (r["target"], r["law"], r.get("reason", ""))
        for r in document["laws"]
        if r["verdict"] == "fixed"
    )
    for name, law, reason in fixed:
        found["error"].append((places.get(name, ""), f"fixed: {law} of {name}", str(reason)))
    return [line for kind, items in found.items() for line in _limited(kind, items)]


def _limited(kind: str, items: list[tuple[str, str, str]]) -> Iterator[str]:
    shown = items if len(items) <= MOST else items[: MOST - 1]
    for place, title, message in shown:
        yield command(kind, place, title, message)
    if len(items) > len(shown):
        rest = [title for _, title, _ in items[len(shown) :]]
        yield command(kind, "", f"and {len(rest)} others", "\n".join(rest), NAMES)


def command(kind: str, place: str, title: str, message: str, most: int = LONGEST) -> str:
    """One workflow command. Whatever the texts hold, it stays one line and one command."""
    text = "\n".join(safe(line) for line in clip(message, most).split("\n"))
    text = text.replace("%", "%25").replace("\n", "%0A")
    properties = f"{place}title={_property(clip(title, 200))}"
    return f"::{kind} {properties}::{text}"


def _property(text: str) -> str:
    shown = safe(text).replace("%", "%25")
    return shown.replace(":", "%3A").replace(",", "%2C")


def _message(failure: roots.Failure) -> Iterator[str]:
    row = failure.row
    yield str(row.get("sentence", ""))
    evidence = row.get("evidence") or {}
    for number, op in enumerate(operations(evidence.get("program"))[:20], 1):
        yield from (f"{number}  {line}" for line in operation(op)[:1])
    yield str(row.get("reason", ""))
    if row.get("meaning"):
        yield f"It means: {row['meaning']}"
    if roots.words(row):
        yield f"At stake: {roots.words(row)}"
    if failure.folded:
        names = ", ".join(name for name, _ in failure.follows())
        yield f"{gist.many(failure.consequences, 'verdict')} that follow: {names}"


def _place(target: Mapping[str, Any]) -> str:
    """``file=…,line=…,`` of a target's declaration, seen from the root of the repository."""
    declared = target.get("declared")
    if not isinstance(declared, str) or ":" not in declared:
        return ""
    file, _, line = declared.rpartition(":")
    root = os.environ.get("GITHUB_WORKSPACE")
    if root and Path.cwd().is_relative_to(root):
        file = (Path.cwd().relative_to(root) / file).as_posix()
    return f"file={_property(file)},line={line},col=1," if line.isdigit() else ""


def _known_place(known: Mapping[str, Any], problem: str) -> str:
    """Where an entry stands in the known-failures file: its problem starts with name and line."""
    head = problem.partition(": ")[0]
    line = head.rpartition(":")[2]
    return f"file={_property(str(known.get('file', '')))}," + (
        f"line={line}," if line.isdigit() else ""
    )


def summarize(file: Path, document: Mapping[str, Any]) -> None:
    """Append the report to a step summary, cut to what GitHub still shows. Raises `OSError`."""
    there = file.stat().st_size if file.exists() else 0
    room = min(SUMMARY - there - 2000, 10 * markdown.LIMIT)
    note = "_The report of pytest-lineage did not fit into this step's summary any more._\n"
    text = markdown.render(document, room) if room > 4000 else note if SUMMARY - there > 200 else ""
    with file.open("a", encoding="utf-8", newline="\n") as stream:
        stream.write(text + "\n" if text else "")
