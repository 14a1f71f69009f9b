"""Every law of kind delta bites, and all of them hold on the reference."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lineage_conformance import law as laws
from lineage_conformance.handles import Face
from lineage_conformance.law import Verdict
from lineage_reference.delta import DeltaSaver, SqliteStore
from lineage_reference.saver import Space, StrictSaver
from tests.conftest import KILL
from tests.mutants import delta_blobs, delta_kit, kit

assert delta_blobs


@pytest.mark.parametrize("mutant", delta_kit.MUTANTS, ids=lambda m: f"{m.kills}-{m.name}")
def test_mutant_is_killed(mutant: kit.Mutant, record_property: Callable[[str, Any], None]) -> None:
    record_property(KILL, (mutant.kills, mutant.name))
    broken = kit.broken(delta_kit.judge_all(mutant.make))
    kit.assert_killed(mutant, broken)


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


def _wrapped(mode: str, encoding: str) -> Callable[[Space], Any]:
    """A wrapped strict saver whose handles on one space share one blob store too."""

    def make(space: Space) -> Any:
        store = vars(space).get("blobs")
        if store is None:
            store = vars(space)["blobs"] = SqliteStore()
            store.set_mode(mode)
        return DeltaSaver(StrictSaver(space), store, encoding=encoding, trust_new=True)

    return make


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "encoding", "face"),
    [
        ("shadow", "splice", "sync"),
        ("read", "splice", "sync"),
        ("read", "splice", "async"),
        ("read", "tail", "sync"),
    ],
)
def test_a_wrapped_saver_passes_every_saver_law(mode: str, encoding: str, face: Face) -> None:
    outcomes = kit.judge_all(_wrapped(mode, encoding), face)
    failed = {id: o.reason for id, o in outcomes.items() if o.verdict is not Verdict.HOLDS}
    assert not failed
    assert len(outcomes) > 80


@pytest.mark.slow
@pytest.mark.parametrize(
    "over", ["memory", "sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]
)
def test_the_reference_holds_over_stock_savers(over: str) -> None:
    from pytest_lineage.run import engine

    postgres = engine.Postgres()
    if over == "postgres":
        try:
            postgres.dsn()
        except engine.Unusable as error:
            pytest.skip(str(error).splitlines()[0])
    try:
        options = engine.Options(kind="delta", over=over, op_limit=30.0, path=engine.default_path())
        report = engine.check("reference", options, postgres)
    finally:
        postgres.close()
    assert not report.error
    assert not report.fault
    verdicts = {(row.law, row.verdict) for row in report.rows}
    allowed = {"holds"} if over != "memory" else {"holds", "not-applicable"}
    assert {verdict for _, verdict in verdicts} <= allowed
    assert len(verdicts) == len(laws.all_laws("delta"))
