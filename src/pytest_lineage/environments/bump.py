"""The bump gate: the same target in two environments, and only what differs.

Laws (profile quick), of every kind that is built on the target; facts; the handover of conversations; storage and
time. A difference counts only if it shows again when it is asked a second time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lineage_conformance import contract, facts, kinds
from pytest_lineage.environments import fingerprint
from pytest_lineage.environments.build import Side, changes
from pytest_lineage.environments.handover import Report, hand_over
from pytest_lineage.report import diffing, model
from pytest_lineage.report.diffing import Difference
from pytest_lineage.run import engine
from pytest_lineage.run.engine import Postgres, TargetRun, Unusable
from pytest_lineage.run.rows import TargetReport
from pytest_lineage.targets import builtin

FORMAT = 1
SIDES = ("old", "new")
PATIENCE = 20.0
"""Seconds without a step after which an operation hangs: two environments at work load a machine."""


@dataclass(frozen=True)
class Settings:
    """What is compared."""

    target: str
    kind: str = "saver"
    over: str = ""
    references: bool = True
    """Whether the references of other kinds are run over the user's saver too."""
    laws: tuple[str, ...] = ()
    with_laws: bool = True
    with_facts: bool = True
    with_handover: bool = True
    profile: str = "quick"
    allow_nonempty: bool = False
    pinned: Mapping[str, Any] = field(default_factory=dict)
    """Values of facts that the user pinned."""
    strict_facts: bool = False
    strict_handover: bool = False

    def kinds(self) -> list[tuple[str, str, str]]:
        """What is judged by laws, as (kind, target, over)."""
        found = [(self.kind, self.target, self.over)]
        if kinds.get(self.kind).is_saver and self.references and not self.laws:
            found += [(kind, "reference", self.target) for kind in builtin.references()]
        return found


class Shared(Postgres):
    """One server for both sides, asked for by two threads."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()

    def dsn(self) -> str:
        """The connection string of the server; see `Postgres.dsn`."""
        with self._lock:
            return super().dsn()


@dataclass
class Result:
    """What a bump changes."""

    settings: Settings
    sides: dict[str, Side]
    packages: list[tuple[str, str, str]]
    laws: dict[str, Difference] = field(default_factory=dict)
    flips: list[dict[str, Any]] = field(default_factory=list)
    asked: int = 0
    """Facts that were compared."""
    unsteady: list[str] = field(default_factory=list)
    """Laws and facts that differed once and not again: not counted."""
    handover: Report = field(default_factory=Report)
    costs: dict[str, dict[str, float]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def regressions(self) -> list[str]:
        """Why the bump fails, in sentences; empty when it does not."""
        found = [
            f"{change.law} of {change.target} held and is {change.after}"
            for difference in self.laws.values()
            for change in difference.changes
            if change.regression
        ]
        found += [
            f"{name} can no longer be used"
            for difference in self.laws.values()
            for name in difference.unusable
        ]
        for flip in self.flips:
            if self.settings.strict_facts or flip["pinned"]:
                found.append(
                    f"the fact {flip['id']} changed" + (" and is pinned" if flip["pinned"] else "")
                )
        for loss in self.handover.losses:
            if loss.plan == "old -> new" or self.settings.strict_handover:
                found.append(f"handover {loss.plan}: {loss.story} ends otherwise")
        return found

    @property
    def quiet(self) -> bool:
        """Whether nothing at all differs but packages."""
        changed = any(
            change.kind != "still"
            for difference in self.laws.values()
            for change in difference.changes
        )
        unusable = any(difference.unusable for difference in self.laws.values())
        return not (changed or unusable or self.flips or self.handover.losses)

    def to_json(self) -> dict[str, Any]:
        """The result as JSON data."""
        data: dict[str, Any] = model.redact(
            {
                "format": FORMAT,
                "suite": {
                    "name": "pytest-lineage",
                    "version": contract.version("pytest-lineage") or "0",
                },
                "target": self.settings.target,
                "kind": self.settings.kind,
                **{
                    side: {"name": self.sides[side].name, "packages": self.sides[side].family}
                    for side in SIDES
                },
                "changes": [
                    dict(zip(("name", "old", "new"), c, strict=True)) for c in self.packages
                ],
                "notes": self.notes,
                "laws": {kind: difference.to_json() for kind, difference in self.laws.items()},
                "facts": {"compared": self.asked, "flipped": self.flips},
                "handover": self.handover.to_json(),
                "costs": self.costs,
                "unsteady": self.unsteady,
                "regressions": self.regressions,
                "exit_code": 1 if self.regressions else 0,
            }
        )
        return data


def compare(
    old: Side, new: Side, settings: Settings, say: Callable[[str], None] = lambda text: None
) -> Result:
    """Compare two environments. Raises `Unusable` if the target cannot be used in the old one."""
    sides = {"old": old, "new": new}
    result = Result(settings, sides, changes(old.packages, new.packages))
    result.notes += [note for side in SIDES for note in sides[side].notes]
    postgres = Shared()
    try:
        if settings.with_laws:
            for kind, target, over in settings.kinds():
                say(f"laws of kind {kind}")
                _laws(result, kind, target, over, postgres)
        _behaviour(result, postgres, say)
    finally:
        postgres.close()
    return result


# -- laws ------------------------------------------------------------------------------------------


def _laws(result: Result, kind: str, target: str, over: str, postgres: Postgres) -> None:
    found = _judged(result, kind, target, over, result.settings.laws, postgres)
    doubtful = sorted({c.law for c in found.changes if c.kind != "still"})
    if doubtful:
        again = _judged(result, kind, target, over, doubtful, postgres)
        confirmed = {(c.law, face, c.kind) for c in again.changes for face in c.faces}
        kept = []
        for change in found.changes:
            faces = [
                f
                for f in change.faces
                if change.kind == "still" or (change.law, f, change.kind) in confirmed
            ]
            lost = [f for f in change.faces if f not in faces]
            result.unsteady += [f"{change.law}[{face}]" for face in lost]
            change.faces = faces
            kept += [change] if faces else []
        found.changes = kept
    result.laws[kind] = found


def _judged(
    result: Result, kind: str, target: str, over: str, laws: Sequence[str], postgres: Postgres
) -> Difference:
    """The difference between the reports of both sides, made at the same time."""

    def check(side: str) -> dict[str, Any]:
        options = result.sides[side].options(
            profile=result.settings.profile, kind=kind, over=over, laws=tuple(laws),
            allow_nonempty=result.settings.allow_nonempty, op_limit=PATIENCE,
        )  # fmt: skip
        report = engine.check(target, options, postgres)
        if (
            report.error or report.fault
        ):  # once more, so that a machine that stood still does not count
            report = engine.check(target, options, postgres)
        return _document(report, result.settings.profile, kind)

    with ThreadPoolExecutor(2) as pool:
        old, new = pool.map(check, SIDES)
    for target_ in old["targets"]:
        if target_.get("error") and kind == result.settings.kind:
            raise Unusable(f"{result.sides['old'].name}: {target_['error']}")
    if any(target_.get("error") for target_ in old["targets"]):
        result.notes.append(
            f"{kind}: cannot be used in {result.sides['old'].name}: {old['targets'][0]['error']}"
        )
        return Difference([], [], [], [])
    for document in (old, new):
        for target_ in document["targets"]:
            if target_.get("fault"):
                raise engine.SuiteFault(target_["fault"])
    if any(target_.get("error") for target_ in new["targets"]):
        new["targets"][0]["name"] = old["targets"][0]["name"]
        result.notes.append(f"{kind}: {new['targets'][0]['error']}")
    return diffing.compare(old, new)


def _document(report: TargetReport, profile: str, kind: str) -> dict[str, Any]:
    """The report as a document. What is the engine's fault is a fault here: the engine is what was bumped."""
    document = model.document([report], 0, profile, kind)
    document["versions"] = dict(report.about.get("versions", {}))
    for row in document["laws"]:
        if row["verdict"] == "engine":
            row["verdict"] = "broken"
            row["reason"] = f"the engine's: {row.get('reason', '')}"
    return document


# -- facts, handover, costs ------------------------------------------------------------------------


def _behaviour(result: Result, postgres: Postgres, say: Callable[[str], None]) -> None:
    """Everything that one worker per side can be asked: facts of savers, handover, costs."""
    settings = result.settings
    if not kinds.get(settings.kind).is_saver:
        result.handover.reason = "facts and handover are of savers"
        return
    runs = {
        side: TargetRun(
            settings.target,
            result.sides[side].options(bare=True, allow_nonempty=settings.allow_nonempty),
            postgres,
        )
        for side in SIDES
    }
    try:
        for side in SIDES:
            try:
                runs[side].start()
            except Unusable as error:
                if side == "old":
                    raise
                result.handover.reason = (
                    f"the target cannot be used in {result.sides[side].name}: {error}"
                )
                return
        if settings.with_facts:
            say("facts")
            _facts(result, runs)
        if settings.with_handover:
            say("handover")
            result.handover, result.costs = hand_over(runs, postgres)
    finally:
        for run in runs.values():
            run.close()


def _facts(result: Result, runs: Mapping[str, TargetRun]) -> None:
    with ThreadPoolExecutor(2) as pool:
        taken = dict(
            zip(SIDES, pool.map(lambda side: fingerprint.take(runs[side]), SIDES), strict=True)
        )
    result.asked = len(taken["new"]["facts"])
    values = {side: fingerprint.values(taken[side]) for side in SIDES}
    for id, old, new in facts.flips(values["old"], values["new"]):
        item = facts.get(id)
        again = [model.redact(fingerprint.value(runs[side], item)) for side in SIDES]
        if again != [old, new]:
            result.unsteady.append(id)
            continue
        pinned = id in result.settings.pinned and result.settings.pinned[id] != new
        result.flips.append(
            {
                "id": id,
                "sentence": item.sentence,
                "old": old,
                "new": new,
                "means": item.means,
                "pinned": pinned,
            }
        )


def pins(path: Path, target: str) -> dict[str, Any]:
    """The facts of a target that are pinned in a lock file; none where there is no file."""
    return fingerprint.read_lock(path).get(target, {}) if path.exists() else {}
