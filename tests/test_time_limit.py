"""A time limit is spent on the most telling programs first, and the whole run is estimated."""

from __future__ import annotations

import io
from typing import Any

import pytest

from lineage_conformance import law as laws
from lineage_conformance.law import Level
from pytest_lineage.report import model, terminal
from pytest_lineage.report.progress import Progress
from pytest_lineage.run import engine, plan
from pytest_lineage.run.rows import Row
from tests.test_progress import Clock

FACES = ("sync", "async", "sync->async", "async->sync")


def test_without_a_limit_laws_keep_their_order() -> None:
    chosen = laws.all_laws("saver")[:5]
    pairs = plan.order(chosen, FACES, hurry=False)
    assert pairs == [(item, face) for item in chosen for face in FACES]


def test_with_a_limit_the_most_telling_comes_first() -> None:
    chosen = laws.all_laws("saver")
    pairs = plan.order(chosen, FACES, hurry=True)
    assert len(pairs) == len({(item.id, face) for item, face in pairs}) == 4 * len(chosen)
    levels = [item.level for item, _ in pairs]
    assert levels == sorted(levels, key=list(Level).index)
    musts = [(item, face) for item, face in pairs if item.level is Level.MUST]
    simple = [len(list(laws.causes(item))) <= plan.SIMPLE for item, face in musts if face == "sync"]
    assert simple == sorted(simple, reverse=True)
    first = [item.stake.rank for item, face in musts if face == "sync" and not item.referee]
    basics = simple.index(False)
    for part in (first[:basics], first[basics:]):
        assert part == sorted(part)
    crossings = ["->" in face for _, face in musts]
    assert crossings == sorted(crossings)
    dear = [item.referee for item, face in musts if "->" not in face]
    assert dear == sorted(dear)


class FakeRun:
    """A run in which each verdict takes ten seconds, and each with generated programs a hundred."""

    def __init__(
        self, clock: Clock, asked: list[Any], text: str, options: Any, postgres: Any
    ) -> None:
        self.clock, self.asked, self.options, self.profile = clock, asked, options, ""

    def start(self) -> dict[str, Any]:
        return {"name": "acme", "faces": ["sync", "async"]}

    def judge(self, item: Any, face: str) -> Row:
        quick = self.profile == "quick" or self.options.profile == "quick"
        self.clock.now += 10 if quick else 100
        self.asked.append((item.id, face, "quick" if quick else "default"))
        return Row(item.id, face, "acme", item.level.value, "holds", item.group)

    def close(self, at_once: bool = False) -> None:
        pass


def run(
    monkeypatch: pytest.MonkeyPatch, limit: float | None, profile: str = "default"
) -> tuple[Any, list[Any]]:
    clock, asked = Clock(), []  # type: ignore[var-annotated]
    monkeypatch.setattr(engine.time, "monotonic", clock)
    monkeypatch.setattr(engine, "TargetRun", lambda *args: FakeRun(clock, asked, *args))
    options = engine.Options(profile=profile, time_limit=limit, laws=("put", "list"))
    return engine.check("acme", options, engine.Postgres()), asked


def test_every_corpus_comes_before_generated_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    count = 2 * len(laws.select(["put", "list"]))
    report, asked = run(monkeypatch, 10.0 * count + 150)
    assert [how for _, _, how in asked[:count]] == ["quick"] * count
    assert [how for _, _, how in asked[count:]] == ["default"] * 2
    assert {row.verdict for row in report.rows} == {"holds"}
    order = [item.id for item in laws.select(["put", "list"]) for _ in range(2)]
    assert [row.law for row in report.rows] == order
    assert "left no time for generated programs" in report.about["cut"]
    document = model.document([report], 0, "default")
    assert "left no time for generated programs" in " ".join(
        terminal.render(document, color=False).split()
    )


def test_enough_time_leaves_nothing_out(monkeypatch: pytest.MonkeyPatch) -> None:
    report, _ = run(monkeypatch, 1e6)
    assert "cut" not in report.about
    assert {row.verdict for row in report.rows} == {"holds"}


def test_too_little_time_leaves_the_least_telling_out(monkeypatch: pytest.MonkeyPatch) -> None:
    report, asked = run(monkeypatch, 55)
    assert len(asked) == 6
    assert {laws.get(id).level for id, _, _ in asked} == {Level.MUST}
    left = [row for row in report.rows if row.verdict == "inconclusive"]
    assert {row.reason for row in left} == {"not run: the time limit of 55 s was reached"}
    assert "cut" not in report.about


def test_no_limit_judges_each_law_once(monkeypatch: pytest.MonkeyPatch) -> None:
    _, asked = run(monkeypatch, None)
    assert {how for _, _, how in asked} == {"default"}
    assert len(asked) == 2 * len(laws.select(["put", "list"]))


def test_what_is_left_is_told_by_what_laws_cost() -> None:
    clock, stream = Clock(), io.StringIO()
    progress = Progress(stream, clock)
    progress.started({"name": "acme", "costs": {"put.cheap": 1.0, "graph.dear": 9.0}}, 20)
    for number in range(10):
        progress.begins("put.cheap", "sync")
        clock.now += 6
        progress.done(Row("put.cheap", "sync", "acme", "MUST", "holds", "put"))
        assert (number < 9) or progress._left(clock.now) == pytest.approx(540)
    progress.begins("graph.dear", "sync")
    assert stream.getvalue().splitlines() == [
        "acme: 20 verdicts, about 10 min",
        "acme: 10/20, 9 min left, graph.dear[sync]",
    ]


def test_a_short_run_is_not_estimated_in_a_log() -> None:
    clock, stream = Clock(), io.StringIO()
    progress = Progress(stream, clock)
    progress.started({"name": "acme", "costs": {"put.cheap": 1.0}}, 20)
    for _ in range(20):
        progress.begins("put.cheap", "sync")
        clock.now += 1
        progress.done(Row("put.cheap", "sync", "acme", "MUST", "holds", "put"))
    assert stream.getvalue() == ""
