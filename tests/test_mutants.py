"""Every law bites: it is the first to notice a mutant that breaks nothing unrelated."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

from lineage_conformance import contract
from lineage_conformance import law as laws
from lineage_conformance.handles import FACES, Face
from lineage_conformance.law import Verdict
from tests.conftest import KILL
from tests.mutants import kit

MUTANTS = kit.load()

MOST_ROOTS = 5
"""One fault may show in ways that no program shows to be one; but not in as many as it breaks laws."""


@functools.cache
def breaks_anyway(face: Face) -> frozenset[str]:
    """Laws that the strict saver itself breaks here: old releases bring a faulty serializer."""
    return frozenset(kit.broken(kit.judge_all(kit.StrictSaver, face)))


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: f"{m.kills}-{m.name}")
def test_mutant_is_killed(mutant: kit.Mutant, record_property: Callable[[str, Any], None]) -> None:
    law = laws.get(mutant.kills)
    if reason := law.not_applicable():
        pytest.skip(reason)
    if not law.programs or law.id in breaks_anyway(mutant.face):
        pytest.skip("nothing to tell apart with the installed packages")
    record_property(KILL, (mutant.kills, mutant.name))
    known = breaks_anyway(mutant.face)
    with mutant.around():
        outcomes = kit.judge_all(mutant.make, mutant.face)
    kit.assert_killed(mutant, [id for id in kit.broken(outcomes) if id not in known])
    if not known:
        roots = kit.roots(outcomes, mutant.face)
        assert mutant.kills in roots, f"folded; roots are {roots}"
        assert len(roots) <= MOST_ROOTS, f"one fault, and so many roots: {roots}"


def test_every_law_has_a_mutant() -> None:
    named = {mutant.kills for mutant in MUTANTS}
    # A saver that hangs cannot be judged in this process: those laws are killed by the worker's tests.
    missing = [
        law.id
        for law in laws.all_laws("saver")
        if law.id not in named and not law.hang and not law.referee
    ]
    assert not missing, f"no mutant shows that these laws can fail: {missing}"


def test_every_mutant_names_laws_that_exist() -> None:
    known = {law.id for law in laws.all_laws("saver")}
    named = {id for mutant in MUTANTS for id in (mutant.kills, *mutant.also)}
    assert named <= known


def test_causes_exist_and_make_no_circle() -> None:
    known = {law.id for law in laws.all_laws()}
    for law in laws.all_laws():
        assert set(law.after) <= known, law.id
        assert law.id not in set(laws.causes(law)), law.id


@pytest.mark.parametrize("face", FACES)
def test_all_laws_hold_on_the_strict_saver(face: Face) -> None:
    outcomes = kit.judge_all(kit.StrictSaver, face)
    failed = {id: o.reason for id, o in outcomes.items() if o.verdict is not Verdict.HOLDS}
    if contract.unmet("langgraph-checkpoint>=4.3.0"):  # its serializer loses values before
        failed = {id: reason for id, reason in failed.items() if not id.startswith("serde.")}
    assert not failed
    assert outcomes
