"""The law about the saver that a failing graph breaks is found in the calls of that graph."""

from __future__ import annotations

from typing import Any

import pytest

from lineage_conformance import contract, suspects
from lineage_conformance import law as laws
from lineage_conformance.kinds.saver.operations import CopyThread, Get, List, Put, Reopen, Writes
from lineage_conformance.kinds.saver.program import Program, program
from lineage_conformance.law import Verdict
from lineage_conformance.trace import Diff
from tests.mutants import graph_kit as kit

CURRENT = contract.unmet("langgraph>=1.2.20") is None

NAMED = {
    "FailureHidesTheOthers": "writes.round-trip",
    "SendsTurnRound": "values.complete",
    "UpdatesApplyWhatIsPending": "values.complete",
    "ForgetsChildren": "namespaces.are-apart",
    "BeforeIsNotForChildren": "list.before",
    "SeedsNeedATurn": "delta_history.equals-parent-walk",
    "OldValuesAreNoSeed": "delta_history.plain-value-is-a-seed",
    "ForksSeeSiblings": "delta_history.stays-on-its-branch",
    "UpdatesLoseTheirValue": "fork.siblings-keep-their-values",
    "WritesAreOfTheProcess": "durability.writes-survive",
    "CancelStopsReads": "",
}
"""Mutants of graph laws, and the law that comes first; nothing: only the recording itself shows it."""


@pytest.mark.skipif(not CURRENT, reason="mutants are made for langgraph 1.2.20 and later")
@pytest.mark.parametrize("mutant", [m for m in kit.load() if m.name in NAMED], ids=lambda m: m.name)
def test_the_cause_is_named(mutant: Any) -> None:
    law = laws.get(mutant.kills)
    with kit.judging(mutant.make) as judge:
        cases = (c for c in law.programs if _broken(judge, law, mutant.face, c))
        case = next(cases, None)
        if case is None:
            pytest.skip("tasks of this Python do not tell that they are being cancelled")
        found = suspects.evidence(judge.stores, law, mutant.face, case)
        assert found is not None
        named = [laws.get(id) for id in found["laws"]]
        assert not any(item.referee for item in named)
        assert found["again"] is bool(NAMED[mutant.name])
        if not found["again"]:
            assert found["differences"][0]["at"] == "get:raises"
            return
        assert named[0].id == NAMED[mutant.name]
        judge.stores.renew()
        small = Program.from_json(found["program"])
        assert len(small.ops) < 15
        shown = judge.stores.session(mutant.face, lambda step: None).run(small).diffs
        assert any(named[0].lens(diff) for diff in shown)
    with kit.judging(kit.StrictSaver) as right:
        assert not right.stores.session(mutant.face, lambda step: None).run(small).diffs


def _broken(judge: Any, law: Any, face: Any, case: Any) -> bool:
    return any(law.lens(diff) for diff in judge.run(law, case, face).diffs)


@pytest.mark.parametrize(
    "mutant", [m for m in kit.load() if m.verdict is Verdict.ENGINE][:3], ids=lambda m: m.name
)
@pytest.mark.skipif(not CURRENT, reason="mutants are made for langgraph 1.2.20 and later")
def test_a_fault_of_the_engine_names_no_law_about_the_saver(mutant: Any) -> None:
    law = laws.get(mutant.kills)
    with mutant.patch(), kit.judging(mutant.make) as judge:
        case = next(c for c in law.programs if _broken(judge, law, mutant.face, c))
        assert suspects.evidence(judge.stores, law, mutant.face, case) is None


BASE = (Put(1, set={"a": 1}), Get(1))
DIFF = (Diff(1, "get", ("channel_values", "a"), 1, 2),)
TABLE: tuple[tuple[str, tuple[Any, ...], tuple[Diff, ...], str, tuple[str, ...]], ...] = (
    ("values", BASE, DIFF, "values.complete", ("copy.", "fork.", "durability.", "security.")),
    ("reopen", (BASE[0], Reopen(), Get(1)), DIFF, "durability.", ("copy.", "fork.")),
    ("copy", (BASE[0], CopyThread(), Get(1, "copy")), DIFF, "copy.", ("fork.", "durability.")),
    ("writes", (Put(1), Writes(1, items=(("a", 1),)), Get(1)),
     (Diff(2, "get", ("pending_writes", "0", "2"), 1, 2),), "writes.", ("values.", "copy.", "fork.")),
    ("filter", (Put(1), List(filter={"step": 1})),
     (Diff(1, "list", ("rows",), ["t#1"], []),), "list.", ("copy.", "fork.", "values.")),
    ("lost", BASE, (Diff(1, "get", ("found",), "a checkpoint", "nothing"),),
     "put.is-readable", ("copy.", "durability.")),
)  # fmt: skip


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row[0])
def test_a_law_is_named_only_where_its_own_situation_came_up(row: Any) -> None:
    _, ops, diffs, first, never = row
    named = [item.id for item in suspects.suspects(program(*ops), list(diffs))]
    assert named[0].startswith(first)
    assert not [id for id in named if id.startswith(never)]


def test_the_earliest_difference_counts_first() -> None:
    later = Diff(2, "get", ("channel_values", "a"), 1, 2)
    sooner = Diff(1, "list", ("order",), ["t#2", "t#1"], ["t#1", "t#2"])
    made = program(Put(1, set={"a": 1}), List(), Get(1))
    assert suspects.suspects(made, [sooner, later])[0].id.startswith("list.")
