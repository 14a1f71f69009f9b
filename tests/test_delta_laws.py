"""Every law of kind delta bites, and all of them hold on the reference."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lineage_conformance import law as laws
from lineage_conformance.handles import Face
from lineage_conformance.law import Verdict
from tests.conftest import KILL
from tests.mutants import delta_blobs, delta_kit, kit

assert delta_blobs


@pytest.mark.parametrize("mutant", delta_kit.MUTANTS, ids=lambda m: f"{m.kills}-{m.name}")
def test_mutant_is_killed(
    mutant: delta_kit.Faulty, record_property: Callable[[str, Any], None]
) -> None:
    record_property(KILL, (mutant.kills, mutant.name))
    broken = kit.broken(delta_kit.judge_all(mutant.make))
    assert mutant.kills in broken, f"{mutant.kills} does not notice {mutant.name}; broken: {broken}"
    roots = kit.roots(broken)
    assert roots[0] == mutant.kills, f"{roots[0]} is named as the cause; broken: {broken}"
    explained = {mutant.kills, *mutant.also}
    unrelated = [
        id
        for id in broken
        if id not in explained and not explained & set(laws.causes(laws.get(id)))
    ]
    assert not unrelated, f"{mutant.name} also breaks {unrelated}"


def test_every_law_has_a_mutant() -> None:
    named = {mutant.kills for mutant in delta_kit.MUTANTS}
    assert {law.id for law in laws.all_laws("delta")} == named


class Tail(delta_kit.Good):
    """The reference with the other encoding."""

    encoding = "tail"


@pytest.mark.parametrize("face", ["sync", "async"])
@pytest.mark.parametrize("make", [delta_kit.Good, Tail])
def test_all_laws_hold_on_the_reference(make: Callable[[Any, Path], Any], face: Face) -> None:
    outcomes = delta_kit.judge_all(make, face, "default")
    failed = {id: o.reason for id, o in outcomes.items() if o.verdict is not Verdict.HOLDS}
    assert not failed
    assert outcomes
