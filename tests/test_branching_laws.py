"""The branching laws hold on the reference, and each is the first to notice a mutant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")

from lineage_conformance import law as laws
from lineage_conformance.kinds.branching.case import BUSY, FURNISHED, REWRITTEN, Tale, tale
from lineage_conformance.law import Verdict
from tests.conftest import KILL
from tests.mutants import branching as mutants
from tests.mutants import branching_kit, kit

assert mutants.__all__


@pytest.mark.parametrize("mutant", branching_kit.MUTANTS, ids=lambda m: f"{m.kills}-{m.name}")
def test_mutant_is_killed(mutant: kit.Mutant, record_property: Callable[[str, Any], None]) -> None:
    law = laws.get(mutant.kills)
    if reason := law.not_applicable():
        pytest.skip(reason)
    record_property(KILL, (mutant.kills, mutant.name))
    broken = kit.broken(branching_kit.judge_all(mutant.make, mutant.face))
    kit.assert_killed(mutant, broken)


def test_every_law_has_a_mutant() -> None:
    named = {mutant.kills for mutant in branching_kit.MUTANTS}
    assert {law.id for law in laws.all_laws("branching")} == named


@pytest.mark.parametrize(
    ("face", "over"), [("sync", "strict"), ("async", "strict"), ("sync", "sqlite")]
)
def test_all_laws_hold_on_the_reference(face: Any, over: str) -> None:
    outcomes = branching_kit.judge_all(branching_kit.BranchingBackend, face, over)
    failed = {id: o.reason for id, o in outcomes.items() if o.verdict is not Verdict.HOLDS}
    assert not failed
    assert len(outcomes) == len(branching_kit.applicable())


@pytest.mark.parametrize("each", [BUSY, REWRITTEN, FURNISHED, tale(depth=51)])
def test_a_tale_survives_json(each: Tale) -> None:
    assert Tale.from_json(each.to_json()) == each


def test_smaller_tales_end() -> None:
    case, steps = REWRITTEN, 0
    while (smaller := next(case.smaller(), None)) is not None:
        case, steps = smaller, steps + 1
    assert steps < 50
    assert not case.moves
