"""Every law says what is at stake, in an order that puts the worst first."""

from __future__ import annotations

import pytest

from lineage_conformance import law
from lineage_conformance.law import Level, Stake


def test_the_worst_comes_first() -> None:
    assert [stake.value for stake in Stake] == [
        "others-deleted",
        "others-exposed",
        "lost",
        "kept",
        "changed",
        "repeated",
        "fails",
        "misordered",
        "metadata",
        "cost",
    ]
    assert [stake.rank for stake in Stake] == list(range(len(Stake)))


@pytest.mark.parametrize("stake", Stake)
def test_words_are_a_sentence_that_goes_on_in_a_line(stake: Stake) -> None:
    assert Stake(stake.value) is stake
    assert stake.words[0].islower()
    assert stake.words[-1].isalpha()
    assert len(stake.words) <= 45


def test_every_law_says_what_is_at_stake() -> None:
    assert all(isinstance(item.stake, Stake) for item in law.all_laws())
    assert {item.stake for item in law.all_laws()} == set(Stake)


def test_a_law_without_a_stake_is_none() -> None:
    with pytest.raises(TypeError, match="stake"):
        law.law("put.nothing-at-stake", level=Level.MUST, source="")  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("id", "stake"),
    [
        ("namespaces.deletion-stays-inside", Stake.DELETED),
        ("security.delete-takes-no-pattern", Stake.DELETED),
        ("delete.spares-others", Stake.DELETED),
        ("prune.spares-others", Stake.DELETED),
        ("namespaces.threads-are-apart", Stake.EXPOSED),
        ("security.filter-key-is-data", Stake.EXPOSED),
        ("list.filter-never-ignores-a-key", Stake.EXPOSED),
        ("writes.round-trip", Stake.LOST),
        ("durability.checkpoints-survive", Stake.LOST),
        ("delete.complete", Stake.KEPT),
        ("serde.plain-json", Stake.CHANGED),
        ("fork.siblings-keep-their-values", Stake.CHANGED),
        ("writes.exactly-once", Stake.REPEATED),
        ("graph_resume.stored-tasks-run-once", Stake.REPEATED),
        ("metadata.live-objects-do-no-harm", Stake.FAILS),
        ("writes.many-in-order", Stake.MISORDERED),
        ("list.newest-first", Stake.MISORDERED),
        ("metadata.round-trip", Stake.METADATA),
        ("branching.cost-is-the-prefix", Stake.COST),
    ],
)
def test_what_is_at_stake(id: str, stake: Stake) -> None:
    assert law.get(id).stake is stake


def test_what_merely_costs_is_never_about_anothers_data() -> None:
    for item in law.all_laws():
        if item.stake is Stake.COST:
            assert "delete" not in item.meaning.lower(), item.id
        if item.stake in (Stake.DELETED, Stake.EXPOSED):
            assert item.level is Level.MUST, item.id
        if "is-cheap" in item.id or "linear" in item.id:
            assert item.stake is Stake.COST, item.id
        if "order" in item.id.partition(".")[2].split("-") and "before" not in item.id:
            assert item.stake is Stake.MISORDERED, item.id
