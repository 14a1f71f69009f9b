"""What a document says, worked out once for every writer: failures, verdict, table, reasons."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

Row = Mapping[str, Any]
_ASYNC = re.compile(r"\ba(?=(put|get_tuple|list|delete_|copy_|prune|get_delta))")
"""Reasons about an async method and its sync twin are told once."""
BAD = ("broken", "hangs")
SILENT = ("not-applicable", "inconclusive")
LEVELS = ("MUST", "SHOULD", "MAY")


@dataclass
class Failure:
    """One law that one target breaks by itself: the rows, and what is folded under them."""

    row: Row
    """The first row: what is shown."""
    alike: list[str] = field(default_factory=list)
    """Faces that show the same difference with the same program, the first row's own first."""
    otherwise: list[str] = field(default_factory=list)
    """Faces on which the law is broken in another way."""
    folded: dict[str, list[str]] = field(default_factory=dict)
    """Laws that are broken because of this one, each with its faces."""

    every: tuple[str, ...] = ()
    """The faces that the target has."""

    @property
    def name(self) -> str:
        """The law with its faces: ``fork.siblings[sync, async]``."""
        return f"{self.row['law']}[{self.listed([*self.alike, *self.otherwise])}]"

    def listed(self, faces: list[str]) -> str:
        """Faces by name, or how many where it is all of them."""
        if len(faces) > 2 and set(faces) >= set(self.every):
            return f"all {len(faces)} faces"
        return ", ".join(faces)

    @property
    def consequences(self) -> int:
        """How many verdicts are folded under this one."""
        return sum(len(faces) for faces in self.folded.values())


def failures(document: Mapping[str, Any], target: str | None = None) -> list[Failure]:
    """The root failures of a target (or of all), MUST before SHOULD, in the order of the laws."""
    bad = [r for r in document["laws"] if r["verdict"] in BAD and target in (None, r["target"])]
    made: dict[tuple[str, str], Failure] = {}
    every = {t["name"]: tuple(t.get("faces", ())) for t in document["targets"]}
    for row in bad:
        if row.get("caused_by"):
            continue
        key = (row["target"], row["law"])
        if key not in made:
            made[key] = Failure(row, every=every.get(row["target"], ()))
        first = made[key]
        (first.alike if _shown(row) == _shown(first.row) else first.otherwise).append(row["face"])
    for row in bad:
        if row.get("caused_by"):
            root = _root(row, bad, made)
            if (row["target"], row["law"]) == root or root not in made:
                root = (row["target"], row["law"])
                made.setdefault(root, Failure(row, every=every.get(row["target"], ()))).otherwise.append(row["face"])
            else:
                made[root].folded.setdefault(row["law"], []).append(row["face"])
    return sorted(made.values(), key=lambda f: _level(f.row))


def _root(row: Row, bad: Iterable[Row], made: Mapping[Any, Any]) -> tuple[str, str]:
    """Follow `caused_by` to a law that is broken by itself; a circle ends where it began."""
    causes = {(r["target"], r["law"]): r.get("caused_by") for r in bad if r.get("caused_by")}
    key, seen = (row["target"], str(row["caused_by"])), {row["law"]}
    while key not in made and causes.get(key) and key[1] not in seen:
        seen.add(key[1])
        key = (key[0], str(causes[key]))
    return key


def _shown(row: Row) -> Any:
    evidence = row.get("evidence") or {}
    differences = evidence.get("differences") or [{}]
    return (row["verdict"], evidence.get("program"), differences[0].get("at"))


def _level(row: Row) -> int:
    return LEVELS.index(row["level"]) if row["level"] in LEVELS else len(LEVELS)


def rerun(document: Mapping[str, Any], row: Row) -> list[str]:
    """The command that checks only this law on this face, as parts that belong on one line each."""
    start = f"pytest-lineage check {shlex.quote(row['target'])}"
    if document.get("kind", "saver") != "saver":
        start += f" --kind {document['kind']}"
    rest = f"--laws {row['law']} --face {shlex.quote(row['face'])}"
    if document.get("profile") == "deep":
        rest += " --profile deep"
    return [start, rest]


@dataclass(frozen=True)
class Verdict:
    """The last word about a target."""

    target: str
    word: str
    """GOOD, BROKEN, INCOMPLETE or ERROR."""
    text: str
    seconds: float

    @property
    def line(self) -> str:
        """The verdict as one line."""
        return f"{self.target}: {self.word} — {self.text}, {self.seconds:.1f} s"


def verdict(document: Mapping[str, Any], target: Mapping[str, Any]) -> Verdict:
    """The last word about a target, with the numbers that matter."""
    name, seconds = target["name"], float(target.get("seconds", 0))
    if target.get("error"):
        return Verdict(name, "ERROR", "the target could not be checked", seconds)
    if target.get("fault"):
        return Verdict(name, "ERROR", "a fault of this suite, not of the target", seconds)
    roots = failures(document, name)
    levels = Counter(failure.row["level"] for failure in roots)
    rows = [row for row in document["laws"] if row["target"] == name]
    holding = _holding(rows)
    faces = len({row["face"] for row in rows if row["verdict"] not in SILENT})
    hold = f"{many(holding, 'law')} {'holds' if holding == 1 else 'hold'} on {many(faces, 'face')}"
    lesser = ", ".join(f"{levels[level]} {level}" for level in LEVELS[1:] if levels[level])
    fixed = sum(row["verdict"] == "fixed" for row in rows)
    if levels["MUST"]:
        more = sum(failure.consequences for failure in roots if failure.row["level"] == "MUST")
        text = f"{levels['MUST']} MUST" + (f" and {lesser}" if lesser else "") + " broken"
        text += f" (plus {many(more, 'verdict')} that follow)" if more else ""
        return Verdict(name, "BROKEN", f"{text}; {hold}", seconds)
    if fixed:
        text = f"{many(fixed, 'known failure')} no longer happen; take the entries out"
        return Verdict(name, "FIXED", text, seconds)
    if target.get("incomplete"):
        text = f"too little ran to call it good: {target['incomplete']}"
        return Verdict(name, "INCOMPLETE", text + (f"; {hold}" if holding else ""), seconds)
    word = "BROKEN" if document["exit_code"] == 1 and lesser and len(document["targets"]) == 1 else "GOOD"
    return Verdict(name, word, hold + (f" ({lesser} broken)" if lesser else ""), seconds)


def _holding(rows: Iterable[Row]) -> int:
    """How many laws hold on every face that said something."""
    told: dict[str, set[str]] = {}
    for row in rows:
        if row["verdict"] not in SILENT:
            told.setdefault(row["law"], set()).add(row["verdict"])
    return sum(verdicts <= {"holds", "refused"} for verdicts in told.values())


def many(count: int, noun: str) -> str:
    """``1 law``, ``2 laws``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def counts(rows: Iterable[Row]) -> dict[str, dict[str, Counter[str]]]:
    """Per group and face, how often each verdict; a broken SHOULD or MAY counts as ``lesser``."""
    table: dict[str, dict[str, Counter[str]]] = {}
    for row in rows:
        word = row["verdict"]
        if word in BAD and row["level"] != "MUST":
            word = "lesser"
        table.setdefault(row["group"], {}).setdefault(row["face"], Counter())[word] += 1
    return table


def reasons(rows: Iterable[Row], *verdicts: str) -> list[tuple[str, str, list[Row]]]:
    """Rows with these verdicts, put together by verdict and reason, the most frequent first."""
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row["verdict"] in verdicts:
            reason = _ASYNC.sub("", row.get("reason") or "no reason given")
            found.setdefault((row["verdict"], reason), []).append(row)
    order = sorted(found.items(), key=lambda item: (verdicts.index(item[0][0]), -len(item[1])))
    return [(verdict, reason, rows) for (verdict, reason), rows in order]


def laws_of(rows: Iterable[Row], most: int = 2) -> str:
    """The laws of some rows: a few by id, many by group."""
    names = list(dict.fromkeys(row["law"] for row in rows))
    if len(names) <= most:
        return ", ".join(names)
    groups = list(dict.fromkeys(name.partition(".")[0] for name in names))
    shown = ", ".join(groups[:6]) + (", ..." if len(groups) > 6 else "")
    return f"{len(names)} laws of {shown}"
