"""The transfer laws hold on a strict ledger and on the reference, and each is the first to notice a mutant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("sqlalchemy", reason="SQLAlchemy is not installed")

from lineage_conformance import law as laws
from lineage_conformance import strategies
from lineage_conformance.kinds.transfer import terms
from lineage_conformance.kinds.transfer.case import DEEDS, History, Step, text
from lineage_conformance.kinds.transfer.fakes import ABILITIES, OUTCOMES
from lineage_conformance.kinds.transfer.player import Play
from lineage_conformance.law import Verdict
from tests.conftest import KILL
from tests.mutants import kit, transfer_kit
from tests.mutants import transfer as mutants
from tests.mutants import transfer_stores as others

assert mutants.__all__
assert others.__all__


@pytest.mark.parametrize("mutant", transfer_kit.MUTANTS, ids=lambda m: f"{m.kills}-{m.name}")
def test_mutant_is_killed(mutant: kit.Mutant, record_property: Callable[[str, Any], None]) -> None:
    record_property(KILL, (mutant.kills, mutant.name))
    outcomes = transfer_kit.judge_all(mutant.make, mutant.face)
    kit.assert_killed(mutant, kit.broken(outcomes))


def test_every_law_has_a_mutant() -> None:
    named = {mutant.kills for mutant in transfer_kit.MUTANTS}
    assert {law.id for law in laws.all_laws("transfer")} == named


@pytest.mark.parametrize("face", ["sync", "async"])
def test_all_laws_hold_on_a_strict_ledger(face: Any) -> None:
    outcomes = transfer_kit.judge_all(transfer_kit.Ledger, face, "default")
    failed = {id: o.reason for id, o in outcomes.items() if o.verdict is not Verdict.HOLDS}
    assert not failed
    assert len(outcomes) == len(transfer_kit.applicable())


@pytest.mark.parametrize(
    "over",
    ["memory", "sqlite", "sqlite-async", pytest.param("postgres", marks=pytest.mark.postgres)],
)
def test_all_laws_hold_on_the_reference(over: str) -> None:
    from pytest_lineage.run import engine

    postgres = engine.Postgres()
    if over == "postgres":
        try:
            postgres.dsn()
        except engine.Unusable as error:
            pytest.skip(str(error).splitlines()[0])
    try:
        options = engine.Options(
            kind="transfer",
            over=over,
            op_limit=30.0,
            path=engine.default_path(),
        )
        report = engine.check("reference", options, postgres)
    finally:
        postgres.close()
    assert not report.error
    assert not report.fault
    verdicts = {(row.law, row.verdict) for row in report.rows}
    allowed = {"holds"} if over != "memory" else {"holds", "not-applicable"}
    assert {verdict for _, verdict in verdicts} <= allowed
    assert len({law for law, _ in verdicts}) == len(laws.all_laws("transfer"))


def test_histories_reach_every_type_status_and_resolution() -> None:
    """What the generator never brings about is what no law was tried on."""
    seen: set[tuple[str, str]] = set()
    with transfer_kit.bench(transfer_kit.Ledger) as judge:
        for case in strategies.programs("transfer", 300):
            play = Play(judge.stores.bench("sync", lambda step: None, None))
            assert not list(play.play(case))
            for transfer in play.model.transfers:
                seen.add(("type", transfer.type))
                seen.update(("status", status) for status in transfer.moves)
                seen.add(("resolution", str(transfer.resolution)))
    assert {name for kind, name in seen if kind == "type"} == set(terms.TYPES)
    assert {name for kind, name in seen if kind == "status"} == set(terms.STATUSES)
    assert {name for kind, name in seen if kind == "resolution"} >= set(terms.RESOLUTIONS)


def test_no_legal_move_leaves_a_settled_transfer() -> None:
    assert {status for status, after in terms.MOVES.items() if not after} == {
        "consumed",
        "superseded",
    }
    assert {after for moves in terms.MOVES.values() for after in moves} == set(terms.STATUSES)


def test_fakes_are_of_unlike_abilities() -> None:
    assert len({repr(ability) for ability in ABILITIES.values()}) == len(ABILITIES)
    assert "ok" in OUTCOMES


def test_a_history_survives_json() -> None:
    made = History((*[Step(do, 1, 2, 1, "how") for do in DEEDS],), 3)
    assert History.from_json(made.to_json()) == made
    with pytest.raises(ValueError, match="format"):
        History.from_json({"format": 0, "ops": []})


def test_smaller_histories_end() -> None:
    case, steps = text("open:p1n1 run:p2=tool fork:t0n1=checkpoint run:t1p3 merge:t0"), 0
    while (smaller := next(case.smaller(), None)) is not None:
        case, steps = smaller, steps + 1
    assert steps < 30
    assert not case.steps
