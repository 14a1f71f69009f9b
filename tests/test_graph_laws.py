"""Graph laws: they hold on the strict saver, and each notices a faulty saver or a faulty engine."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from lineage_conformance import contract
from lineage_conformance import law as laws
from lineage_conformance.law import Verdict
from tests.conftest import KILL
from tests.mutants import graph_kit as kit

MUTANTS = kit.load()
CURRENT = contract.unmet("langgraph>=1.2.20") is None
"""Mutants patch functions of a current engine, and a saver cannot show what an old engine does not do."""


@pytest.mark.skipif(not CURRENT, reason="mutants are made for langgraph 1.2.20 and later")
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: f"{m.kills}-{m.name}")
def test_mutant_is_killed(
    mutant: kit.GraphMutant, record_property: Callable[[str, Any], None]
) -> None:
    if mutant.name == "CancelStopsReads" and sys.version_info < (3, 11):
        pytest.skip("tasks of Python 3.10 do not tell that they are being cancelled")
    law = laws.get(mutant.kills)
    record_property(KILL, (mutant.kills, mutant.name))
    outcome = kit.judge(mutant, law)
    assert outcome.verdict is mutant.verdict, outcome.reason
    causes = [laws.get(id) for id in laws.causes(law)]
    for cause in causes:  # the laws that would explain the breach do not show the fault
        if cause.referee and cause.id not in kit.TODAY and mutant.face in cause.faces:
            assert kit.judge(mutant, cause).verdict is Verdict.HOLDS, cause.id


def test_every_law_has_a_mutant() -> None:
    named = {mutant.kills for mutant in MUTANTS} | set(kit.TODAY)
    missing = [law.id for law in kit.graph_laws() if law.id not in named]
    assert not missing, f"no mutant shows that these laws can fail: {missing}"


@pytest.mark.parametrize("law", kit.graph_laws(), ids=lambda law: law.id)
def test_verdict_on_the_strict_saver(law: Any) -> None:
    if reason := law.not_applicable():
        pytest.skip(reason)
    with kit.judging(kit.StrictSaver) as judge:
        found = {face: judge.judge(law, face).verdict for face in law.faces}
    allowed = {Verdict.ENGINE} if law.id in kit.TODAY else {Verdict.HOLDS}
    if not CURRENT:
        allowed = {Verdict.HOLDS, Verdict.ENGINE}
    assert set(found.values()) <= allowed, found


@pytest.mark.parametrize("law", kit.graph_laws(), ids=lambda law: law.id)
def test_cases_are_data(law: Any) -> None:
    for case in law.programs:
        assert law.decode(case.to_json()) == case
        for smaller in case.smaller():
            assert law.decode(smaller.to_json()) == smaller
            assert smaller != case
