"""The rollback laws hold on the reference, and each is the first to notice a mutant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lineage_conformance import law as laws
from lineage_conformance.kinds.rollback.case import POINTS, TurnCase
from lineage_conformance.law import Verdict
from lineage_reference.rollback import AsyncTurns, SyncTurns, Turns, make, removing
from tests.conftest import KILL
from tests.mutants import kit, rollback_kit
from tests.mutants import rollback as mutants

assert mutants.__doc__

if laws.get("rollback.restores-messages").not_applicable():
    pytest.skip("rollback needs langgraph 0.6", allow_module_level=True)


@pytest.mark.parametrize("mutant", rollback_kit.MUTANTS, ids=lambda m: f"{m.kills}-{m.name}")
def test_mutant_is_killed(mutant: kit.Mutant, record_property: Callable[[str, Any], None]) -> None:
    if reason := mutant.unless():
        pytest.skip(reason)
    record_property(KILL, (mutant.kills, mutant.name))
    broken = kit.broken(rollback_kit.judge_all(mutant.make, mutant.face))
    kit.assert_killed(mutant, broken)


def test_every_law_has_a_mutant() -> None:
    named = {mutant.kills for mutant in rollback_kit.MUTANTS}
    assert {law.id for law in laws.all_laws("rollback")} == named


@pytest.mark.parametrize("strategy", [make, removing], ids=["restore", "remove"])
@pytest.mark.parametrize(
    ("face", "over"),
    [("sync", "memory"), ("async", "memory"), ("sync", "sqlite"), ("async", "sqlite-async")],
)
def test_all_laws_hold_on_the_reference(face: Any, over: str, strategy: Any) -> None:
    if "sqlite" in over:
        pytest.importorskip("langgraph.checkpoint.sqlite")
    outcomes = rollback_kit.judge_all(strategy, face, over)
    failed = {id: o.reason for id, o in outcomes.items() if o.verdict is not Verdict.HOLDS}
    assert not failed
    assert len(outcomes) == len(rollback_kit.applicable("rollback"))


def test_a_saver_with_one_half_gives_one_half() -> None:
    sqlite = pytest.importorskip("langgraph.checkpoint.sqlite")
    with sqlite.SqliteSaver.from_conn_string(":memory:") as saver:
        assert type(make(saver)) is SyncTurns
    from langgraph.checkpoint.memory import InMemorySaver

    assert type(make(InMemorySaver())) is Turns
    assert issubclass(Turns, AsyncTurns)


@pytest.mark.parametrize("point", POINTS)
def test_a_case_survives_json(point: str) -> None:
    case = TurnCase(point, tools=5, durability="exit", how="error", earlier=0, times=2, memory=True)
    assert TurnCase.from_json(case.to_json()) == case


def test_smaller_cases_end() -> None:
    case = TurnCase(
        "landed", tools=12, durability="exit", earlier=3, times=2, reopen=True, edits=True
    )
    steps = 0
    while (smaller := next(case.smaller(), None)) is not None:
        case, steps = smaller, steps + 1
    assert steps < 20
    assert case == TurnCase("landed")
