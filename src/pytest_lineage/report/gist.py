"""What a document says, worked out once for every writer: failures, verdict, table, reasons."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lineage_conformance import kinds
from pytest_lineage.report import roots
from pytest_lineage.report.roots import BAD, LEVELS, Row
from pytest_lineage.report.style import clip
from pytest_lineage.targets import address

_ASYNC = re.compile(r"\ba(?=(put|get_tuple|list|delete_|copy_|prune|get_delta))")
"""Reasons about an async method and its sync twin are told once."""
_TOO = re.compile(r"; (the strict reference|InMemorySaver) shows it too.*")
"""That somebody else shows it too is said by the verdict."""
SILENT = ("not-applicable", "inconclusive")
FACES = ("sync", "async", "sync->async", "async->sync")

MOST_REASONS = 12
"""Reasons that are told one by one of one verdict."""

LEFT_OUT = (
    ("fixed", "fixed: known failures that no longer happen"),
    ("inconclusive", "no verdict"),
    ("engine", "the engine's fault, not the target's"),
    ("known", "known failures"),
    ("refused", "declared unsupported, and refused cleanly"),
    ("not-applicable", "does not apply"),
)
"""Verdicts that are summed up by reason, with the words for each."""
MARKS = (
    ("broken", "✗", "MUST broken", "red"),
    ("hangs", "✗", "", "red"),
    ("lesser", "!", "broken, which does not fail the run", "yellow"),
    ("inconclusive", "?", "no verdict", "yellow"),
    ("engine", "e", "the engine's fault", "yellow"),
    ("known", "k", "known failure", "dim"),
    ("fixed", "f", "known failure that is fixed", "yellow"),
)
"""Verdicts that are not good, the mark for each in a table, the words for the mark, a colour."""


def rerun(document: Mapping[str, Any], row: Row) -> list[str]:
    """The command that checks only this law on this face, as parts that belong on one line each."""
    profile = str(document.get("profile", "default"))
    return address.command(_address(document, row), row["law"], row["face"], profile)


def replay(document: Mapping[str, Any], row: Row) -> str:
    """The command that runs the row's saved program again; empty where none was saved."""
    id = row.get("program_id")
    return address.replay(_address(document, row), id) if id else ""


def _address(document: Mapping[str, Any], row: Row) -> Mapping[str, Any]:
    for target in document["targets"]:
        if target["name"] == row["target"] and target.get("address"):
            found: Mapping[str, Any] = target["address"]
            return found
    kind = document.get("kind", kinds.USUAL)  # a report of an older version
    return {"text": row["target"], **({"kind": kind} if kind != kinds.USUAL else {})}


@dataclass(frozen=True)
class Verdict:
    """The last word about a target."""

    target: str
    word: str
    """GOOD, BROKEN, FIXED, INCOMPLETE or ERROR."""
    text: str
    seconds: float | None = None

    @property
    def line(self) -> str:
        """The verdict as one line."""
        took = "" if self.seconds is None else f", {self.seconds:.1f} s"
        return f"{self.target}: {self.word} — {self.text}{took}"


def verdict(document: Mapping[str, Any], target: Mapping[str, Any]) -> Verdict:
    """The last word about a target, with the numbers that matter."""
    name, seconds = target["name"], float(target.get("seconds", 0))
    if target.get("error"):
        return Verdict(name, "ERROR", "the target could not be checked", seconds)
    if target.get("fault"):
        return Verdict(name, "ERROR", "a fault of this suite, not of the target", seconds)
    rows = [row for row in document["laws"] if row["target"] == name]
    found = [row for row in rows if row["verdict"] in BAD]
    bad = {row["law"]: row["level"] for row in found if not row.get("advisory")}
    advised = len({row["law"] for row in found} - set(bad))
    levels = Counter(bad.values())
    holding = _holding(rows)
    faces = len({row["face"] for row in rows if row["verdict"] not in SILENT})
    hold = f"{many(holding, 'law')} {'holds' if holding == 1 else 'hold'} on {many(faces, 'face')}"
    broken = " and ".join(f"{levels[level]} {level}" for level in LEVELS if levels[level])
    fixed = sum(row["verdict"] == "fixed" for row in rows)
    strict = (
        document["exit_code"] == 1 and len(document["targets"]) == 1 and bool(bad) and not fixed
    )
    if levels["MUST"] or strict:
        causes = len({f.row["law"] for f in roots.failures(document, name)})
        text = f"{broken} broken" + (f" in {many(causes, 'root')}" if causes < len(bad) else "")
        worst = roots.worst(document, name)
        text += f"; worst: {roots.words(worst)} ({worst['law']})" if worst else ""
        return Verdict(name, "BROKEN", f"{text}; {hold}", seconds)
    if fixed:
        text = f"{many(fixed, 'known failure')} no longer happen; take the entries out"
        return Verdict(name, "FIXED", text, seconds)
    if target.get("incomplete"):
        text = f"too little ran to call it good: {target['incomplete']}"
        return Verdict(name, "INCOMPLETE", text + (f"; {hold}" if holding else ""), seconds)
    parts = [f"{broken} broken"] if bad else []
    parts += [f"{many(advised, 'law')} broken that nobody reviewed yet"] if advised else []
    return Verdict(name, "GOOD", hold + (f" ({', '.join(parts)})" if parts else ""), seconds)


def verdicts(document: Mapping[str, Any]) -> list[Verdict]:
    """The last words of a run: about each target, the good ones first, and about the known-failures file.

    What is read last goes with the exit code: it is GOOD only where all is good.
    """
    told = [verdict(document, target) for target in document["targets"]]
    told.sort(key=lambda verdict: verdict.word != "GOOD")
    known = document.get("known") or {}
    if problems := known.get("problems"):
        text = f"{many(len(problems), 'error')} in the file of known failures, told above"
        told.append(Verdict(str(known.get("file", "known failures")), "ERROR", text))
    return told


def known(document: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What a known-failures file came to, as label and text: its errors, and laws newer than it."""
    told = document.get("known") or {}
    lines = [
        ("error in " + str(told.get("file", "")), str(text)) for text in told.get("problems", [])
    ]
    new = [str(law) for law in told.get("unreviewed", [])]
    if new:
        shown = laws_of(new, [row["law"] for row in document["laws"]])
        text = f"{shown}; a breach does not fail the run until they are reviewed"
        lines.append((f"{many(len(new), 'law')} newer than {told.get('file', 'the file')}", text))
    return lines


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
    """Per group and face, how often each verdict; a breach that fails no run counts as ``lesser``."""
    table: dict[str, dict[str, Counter[str]]] = {}
    for row in rows:
        word = row["verdict"]
        if word in BAD and (row["level"] != "MUST" or row.get("advisory")):
            word = "lesser"
        table.setdefault(row["group"], {}).setdefault(row["face"], Counter())[word] += 1
    return table


def faces_of(table: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The faces that occur in a table, in their usual order."""
    found = {face for line in table.values() for face in line}
    return [face for face in FACES if face in found] + sorted(found - set(FACES))


def cell(counted: Counter[str]) -> tuple[str, tuple[str, ...]]:
    """A cell's text and colours: ``9``, ``8 1✗``, or a dot where nothing applies."""
    held = counted["holds"] + counted["refused"]
    found: dict[str, int] = {}
    colors = []
    for verdict, mark, _, color in MARKS:
        if counted[verdict]:
            found[mark] = found.get(mark, 0) + counted[verdict]
            colors.append(color)
    if not held and not found:
        return "·", ("dim",)
    text = " ".join([str(held), *(f"{number}{mark}" for mark, number in found.items())])
    return text, (colors[0] if colors else "green",)


def absent(target: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Faces that a target does not have, put together by reason."""
    found: dict[str, list[str]] = {}
    for face, reason in (target.get("absent") or {}).items():
        found.setdefault(str(reason), []).append(face)
    halves = {"async": set(FACES) - {"sync"}, "sync": set(FACES) - {"async"}}
    whole = {
        reason: half
        for half, faces in halves.items()
        for reason in found
        if faces == set(found[reason])
    }
    return [(whole.get(reason, ", ".join(faces)), reason) for reason, faces in found.items()]


def reasons(rows: Iterable[Row], *verdicts: str) -> list[tuple[str, str, list[Row]]]:
    """Rows with these verdicts, put together by verdict and reason, the most frequent first."""
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row["verdict"] in verdicts:
            reason = _ASYNC.sub("", row.get("reason") or "no reason given")
            reason = _TOO.sub("", reason)
            found.setdefault((row["verdict"], reason), []).append(row)
    order = sorted(found.items(), key=lambda item: (verdicts.index(item[0][0]), -len(item[1])))
    return [(verdict, reason, rows) for (verdict, reason), rows in order]


def laws_of(names: Iterable[str], every: Iterable[str]) -> str:
    """Laws by id; ``group.*`` where all laws of a group in `every` are among them, three or more."""
    wanted = dict.fromkeys(names)
    groups: dict[str, list[str]] = {}
    for name in dict.fromkeys(every):
        groups.setdefault(name.partition(".")[0], []).append(name)
    whole = {
        group for group, some in groups.items() if len(some) > 2 and wanted.keys() >= set(some)
    }
    shown = (
        f"{group}.*" if (group := name.partition(".")[0]) in whole else name for name in wanted
    )
    return ", ".join(dict.fromkeys(shown))


def notes(target: Mapping[str, Any], rows: Sequence[Row]) -> list[str]:
    """What a report says about a target beside its verdicts: faces it lacks, what it declares, what it refused."""
    lines = [f"no {names} face: {clip(reason, 300)}" for names, reason in absent(target)]
    for key, word in (("limits", "limit"), ("unsupported", "unsupported")):
        lines += [
            f"declared {word} {name}: {clip(str(why), 300)}"
            for name, why in (target.get(key) or {}).items()
        ]
    if target.get("postgres"):
        lines.append(f"PostgreSQL: {target['postgres']}")
    if target.get("cut"):
        lines.append(str(target["cut"]))
    refusing = [row for row in rows if row.get("refused")]
    if refusing:
        calls = many(sum(int(row["refused"]) for row in refusing), "call")
        laws = dict.fromkeys(row["law"] for row in refusing)
        shown = laws_of(laws, (row["law"] for row in rows))
        lines.append(f"refused loudly, as it may: {calls} of {many(len(laws), 'law')} ({shown})")
    return lines


def left_out(rows: Sequence[Row]) -> list[tuple[str, list[tuple[int, str, str]]]]:
    """What was not judged: for each such verdict its words, and its reasons with a count and the laws."""
    every = [row["law"] for row in rows]
    told = []
    for verdict, words in LEFT_OUT:
        found = [(reason, some) for _, reason, some in reasons(rows, verdict)]
        rest = [row for _, some in found[MOST_REASONS:] for row in some]
        if rest:
            reason = f"{many(len(found) - MOST_REASONS, 'other reason')}, told with --verbose"
            found = [*found[:MOST_REASONS], (reason, rest)]
        if found:
            lines = [
                (len(some), clip(reason, 300), laws_of((row["law"] for row in some), every))
                for reason, some in found
            ]
            told.append((words, lines))
    return told
