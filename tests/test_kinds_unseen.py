"""No law of a kind holds unseen: what an operation that raises leaves untold, no law calls good."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest

from lineage_conformance import kinds, returned
from lineage_conformance import law as laws
from lineage_conformance.judge import Judge
from lineage_conformance.law import Law
from lineage_conformance.raised import Unlike

KINDS = ("transfer", "rollback", "answer", "branching")
FREE = {("transfer", "transfer"), ("transfer", "run")}
"""Operations that no law calls."""

Wrap = Callable[[Any], Any]


def _transfer(wrap: Wrap) -> Any:
    from tests.mutants import transfer_kit

    return transfer_kit.bench(lambda saver, book: wrap(transfer_kit.Ledger(saver, book)))


def _rollback(wrap: Wrap) -> Any:
    from lineage_reference import rollback
    from tests.mutants import rollback_kit

    return rollback_kit.bench(lambda saver: wrap(rollback.make(saver)))


def _answer(wrap: Wrap) -> Any:
    from lineage_reference import final_answer
    from tests.mutants import rollback_kit

    return rollback_kit.bench(lambda saver: wrap(final_answer.make(saver)))


def _branching(wrap: Wrap) -> Any:
    from tests.mutants import branching_kit

    return branching_kit.bench(lambda saver, db: wrap(branching_kit.BranchingBackend(saver, db)))


def _bench(kind: str, wrap: Wrap = lambda backend: backend) -> AbstractContextManager[Judge]:
    if kind in ("transfer", "branching"):
        pytest.importorskip("sqlalchemy")
    made: AbstractContextManager[Judge] = globals()["_" + kind](wrap)
    return made


def _laws(kind: str) -> list[Law]:
    return [law for law in laws.all_laws(kind) if not law.not_applicable()]


def _told(judge: Judge, law: Law) -> str:
    """What the law's own cases say of it: ``broken``, ``cut``, ``unseen`` or ``holds``."""
    seen, cut = 0, ""
    for case in law.programs:
        trace = judge.run(law, case, "sync")
        if any(law.lens(diff) for diff in trace.diffs):
            return "broken"
        cut, seen = cut or trace.cut, seen + law.observed(trace)
    return "cut" if cut else "holds" if seen else "unseen"


@pytest.mark.parametrize("kind", KINDS)
def test_every_law_sees_something_of_the_reference(kind: str) -> None:
    with _bench(kind) as judge:
        told = {
            law.id: _told(judge, law) for law in _laws(kind) if "sync" in law.faces or not law.faces
        }
    assert {id: how for id, how in told.items() if how != "holds"} == {}


def _operations() -> list[tuple[str, str]]:
    found = [(kind, name) for kind in KINDS for name in kinds.get(kind).required("sync")]
    return [each for each in found if each not in FREE]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "name"), _operations())
def test_no_law_holds_whose_cases_ran_into_an_operation_that_raises(kind: str, name: str) -> None:
    calls: list[int] = []

    def boom(self: Any, *args: Any, **options: Any) -> Any:
        calls.append(1)
        raise RuntimeError("not implemented yet")

    def wrap(backend: Any) -> Any:
        plain = type(backend)
        backend.__class__ = type(plain.__name__, (plain,), {name: boom})
        return backend

    with _bench(kind, wrap) as judge:
        told, ran = {}, 0
        for law in _laws(kind):
            if law.faces and "sync" not in law.faces:
                continue
            before = len(calls)
            told[law.id] = _told(judge, law)
            if len(calls) > before:
                ran += 1
                assert told[law.id] != "holds", f"{law.id} holds though {name} raised"
    assert ran
    assert "broken" in told.values()


def test_what_cannot_be_right_is_named() -> None:
    with pytest.raises(Unlike, match="None"):
        returned.shaped("branching", "branch", None)
    with pytest.raises(Unlike):
        returned.shaped("transfer", "transfers", None)
    with pytest.raises(Unlike):
        returned.shaped("delta", "mode", 3)
    with pytest.raises(Unlike):
        returned.shaped("branching", "branches", [None])
    assert returned.shaped("transfer", "switch_provider", None) is None
    assert returned.shaped("answer", "final_answer", None) is None
    assert returned.shaped("rollback", "forget", "whatever") == "whatever"
