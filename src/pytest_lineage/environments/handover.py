"""The handover of a bump: both sides play every story in every plan on stores that are kept here."""

from __future__ import annotations

import shutil
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lineage_conformance import handover
from lineage_conformance.canon import differences
from pytest_lineage.run.engine import Postgres, TargetRun

CONTROLS = ("old", "new")

MEANINGS = {
    "old -> new": "after the upgrade, conversations that are under way lose something",
    "new -> old": "going back after the upgrade, conversations that are under way lose something",
    "old and new in turns": "while both run side by side, conversations lose something",
}


@dataclass(frozen=True)
class Loss:
    """A story that ends otherwise when two stacks share it than when either plays it alone."""

    story: str
    sentence: str
    plan: str
    stage: int
    """The stage, from 1, after which the difference shows first."""
    expected: Any
    got: Any

    def to_json(self) -> dict[str, Any]:
        """The loss as JSON data."""
        return {**vars(self), "meaning": MEANINGS[self.plan]}


@dataclass
class Report:
    """What the handover came to."""

    losses: list[Loss] = field(default_factory=list)
    played: int = 0
    left_out: dict[str, str] = field(default_factory=dict)
    """Story to why it was not compared."""
    reason: str = ""
    """Why there was no handover at all."""

    def to_json(self) -> dict[str, Any]:
        """The report as JSON data."""
        return {"losses": [loss.to_json() for loss in self.losses], "played": self.played,
                "left_out": self.left_out, **({"reason": self.reason} if self.reason else {})}  # fmt: skip


class Keeper:
    """Keeps one store per plan, which workers of either side open."""

    def __init__(self, dsn: str | None) -> None:
        self._root = Path(tempfile.mkdtemp(prefix="lineage-handover-"))
        self._made: dict[str, dict[str, Any]] = {}
        self._databases: Any = None
        if dsn is not None:
            from pytest_lineage.postgres import StoreMaker

            self._databases = StoreMaker(dsn)

    def store(self, label: str) -> dict[str, Any]:
        """The store with this label, as a worker is told it."""
        if label not in self._made:
            id = f"h{uuid.uuid4().hex[:10]}"
            path = self._root / id
            path.mkdir()
            dsn = self._databases.create(id) if self._databases else None
            self._made[label] = {"id": id, "path": str(path), "dsn": dsn}
        return self._made[label]

    def size(self, label: str) -> int:
        """Bytes that a store takes: its files, or the tables of its database."""
        store = self._made[label]
        if store["dsn"]:
            from pytest_lineage.postgres.dsn import connect

            with connect(store["dsn"]) as connection:
                row = connection.execute(
                    "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0) FROM pg_class c"
                    " WHERE c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace"
                ).fetchone()
            return int(row[0]) if row else 0
        return sum(file.stat().st_size for file in Path(store["path"]).rglob("*") if file.is_file())

    def close(self) -> None:
        """Drop every store."""
        if self._databases:
            for store in self._made.values():
                self._databases.drop(store["id"])
            self._databases.close()
        shutil.rmtree(self._root, ignore_errors=True)


Costs = dict[str, dict[str, float]]
"""For ``old`` and ``new``: bytes that the stories leave, and seconds that they took on that side alone."""


def hand_over(
    runs: dict[str, TargetRun], postgres: Postgres, done: Callable[[str], None] = lambda plan: None
) -> tuple[Report, Costs]:
    """Play every story in every plan with the runs ``old`` and ``new`` of one target, and compare."""
    report, costs = Report(), Costs()
    about = {side: run.about or run.start() for side, run in runs.items()}
    face = next((f for f in ("sync", "async") if all(f in a["faces"] for a in about.values())), "")
    if not face:
        report.reason = "the two sides have no half in common"
    elif not all(a["store"] for a in about.values()):
        report.reason = "the factory takes no store, so that two processes cannot share one"
    if report.reason:
        return report, costs
    keeper = Keeper(postgres.dsn() if any(a.get("postgres") for a in about.values()) else None)
    try:
        seen = {}
        for side in CONTROLS:
            for warm in (True, False):  # first calls import much; the second time is what counts
                begin = time.monotonic()
                seen[side] = _plan(side, runs, keeper, face, "w" if warm else "t")
                took = time.monotonic() - begin
                if warm:
                    before = keeper.size(side)
            costs[side] = {"seconds": round(took, 2), "bytes": keeper.size(side) - before}
        if not _durable(runs["old"], keeper, face, seen["old"]):
            report.reason = (
                "the store does not outlive the process, so that there is nothing to hand over"
            )
            return report, costs
        for plan in handover.PLANS:
            if plan not in CONTROLS:
                seen[plan] = _plan(plan, runs, keeper, face)
                done(plan)
    finally:
        keeper.close()
    _compare(seen, report)
    return report, costs


def _plan(
    plan: str, runs: dict[str, TargetRun], keeper: Keeper, face: str, thread: str = "t"
) -> dict[str, list[Any]]:
    """What is seen after each stage of each story. All stories take a stage before the next stage begins."""
    store = keeper.store(plan)
    seen: dict[str, list[Any]] = {story.id: [] for story in handover.STORIES}
    for number in range(max(len(story.stages) for story in handover.STORIES)):
        run = runs[handover.player(plan, number)]
        for story in handover.STORIES:
            if number < len(story.stages) and not _over(seen[story.id]):
                command = {"story": story.id, "stage": number, "thread": thread, "face": face}
                seen[story.id].append(run.hand(**command, store=store)["seen"])
    return seen


def _over(seen: list[Any]) -> bool:
    """Whether a story cannot go on: a stack lacks something, or gave no answer."""
    return bool(seen) and isinstance(seen[-1], str)


def _durable(run: TargetRun, keeper: Keeper, face: str, control: dict[str, list[Any]]) -> bool:
    """Whether a new process finds what another left, asked by a story that a worker leaves and its successor ends."""
    story = handover.STORIES[0]
    store = keeper.store("durable")
    for number in range(2):
        command = {"story": story.id, "stage": number, "thread": "t", "face": face}
        answer = run.hand(**command, store=store)["seen"]
        run.restart()
    return bool(answer == control[story.id][1])


def _compare(seen: dict[str, dict[str, list[Any]]], report: Report) -> None:
    for story in handover.STORIES:
        alone = [seen[side][story.id] for side in CONTROLS]
        reason = next((found[-1] for found in alone if _over(found)), "")
        if reason:
            report.left_out[story.id] = reason
            continue
        report.played += 1
        for plan in MEANINGS:
            loss = _loss(story, plan, alone, seen[plan][story.id])
            if loss is not None:
                report.losses.append(loss)


def _loss(story: Any, plan: str, alone: list[list[Any]], together: list[Any]) -> Loss | None:
    """The first stage that was handed over and after which something is seen that neither side shows alone."""
    for number, got in enumerate(together):
        if number and got not in (alone[0][number], alone[1][number]):
            wanted = alone[1 if handover.player(plan, number) == "new" else 0][number]
            expected, shown = _narrow(wanted, got)
            return Loss(story.id, story.sentence, plan, number + 1, expected, shown)
    return None


def _narrow(wanted: Any, got: Any) -> tuple[Any, Any]:
    """The parts of two observations that differ."""
    if not isinstance(wanted, dict) or not isinstance(got, dict):
        return wanted, got
    names = list(dict.fromkeys(_first(wanted, got)))
    return {n: wanted.get(n) for n in names}, {n: got.get(n) for n in names}


def _first(wanted: Any, got: Any) -> Iterator[str]:
    for difference in differences(wanted, got):
        yield difference.path[0]
