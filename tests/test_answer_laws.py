"""The answer laws hold on the function and on the route, and each is the first to notice a mutant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lineage_conformance import law as laws
from lineage_conformance.kinds.answer.case import ENDS, AnswerCase
from lineage_conformance.law import Verdict
from lineage_reference import final_answer
from tests.conftest import KILL
from tests.mutants import answer, kit, rollback_kit

if laws.get("answer.is-the-last-text").not_applicable():
    pytest.skip("final answers need langgraph 0.6", allow_module_level=True)


@pytest.mark.parametrize("mutant", answer.MUTANTS, ids=lambda m: f"{m.kills}-{m.name}")
def test_mutant_is_killed(mutant: kit.Mutant, record_property: Callable[[str, Any], None]) -> None:
    record_property(KILL, (mutant.kills, mutant.name))
    broken = kit.broken(_judged(mutant.make, mutant.face))
    kit.assert_killed(mutant, broken)


def test_every_law_has_a_mutant() -> None:
    assert {law.id for law in laws.all_laws("answer")} == {
        mutant.kills for mutant in answer.MUTANTS
    }


@pytest.mark.parametrize(
    ("face", "over"),
    [("sync", "memory"), ("async", "memory"), ("sync", "sqlite"), ("async", "sqlite-async")],
)
def test_all_laws_hold_on_the_function(face: Any, over: str) -> None:
    if "sqlite" in over:
        pytest.importorskip("langgraph.checkpoint.sqlite")
    _holds(_judged(final_answer.make, face, over))


@pytest.mark.parametrize("face", ["sync", "async"])
def test_all_laws_hold_on_the_route(face: Any) -> None:
    pytest.importorskip("starlette")
    pytest.importorskip("httpx")
    from lineage_reference.http import make_route

    _holds(_judged(make_route, face))


def test_all_laws_hold_on_the_state_reader_of_the_sdk() -> None:
    pytest.importorskip("starlette")
    pytest.importorskip("langgraph_sdk.client")
    from tests.answer_sdk import SdkAnswers

    _holds(_judged(SdkAnswers, "async"))


@pytest.mark.parametrize("end", ENDS)
def test_a_case_survives_json(end: str) -> None:
    blocks = [{"type": "text", "text": "a"}, {"type": "reasoning", "reasoning": "b"}]
    case = AnswerCase((("ai", blocks), ("tool", "x")), end, earlier=True, form="dicts", before=True)
    assert AnswerCase.from_json(case.to_json()) == case


def test_smaller_cases_end() -> None:
    case = AnswerCase(
        (("ai", [{"type": "text", "text": "a"}] * 3), ("tool", "x")), earlier=True, form="dicts"
    )
    steps = 0
    while (smaller := next(case.smaller(), None)) is not None:
        case, steps = smaller, steps + 1
    assert steps < 20


def _judged(make: Any, face: Any, over: str = "memory") -> dict[str, Any]:
    with rollback_kit.bench(make, over) as judge:
        return {
            item.id: judge.judge(item, face)
            for item in rollback_kit.applicable("answer")
            if not item.faces or face in item.faces
        }


def _holds(outcomes: dict[str, Any]) -> None:
    failed = {id: o.reason for id, o in outcomes.items() if o.verdict is not Verdict.HOLDS}
    assert not failed
    assert len(outcomes) > 10
