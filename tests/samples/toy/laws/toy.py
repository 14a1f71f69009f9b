"""Counting."""

from __future__ import annotations

from collections.abc import Iterator

from lineage_conformance.kinds.toy.case import Sums

from lineage_conformance.bench import Bench
from lineage_conformance.law import Level, Stake, law
from lineage_conformance.trace import Diff

TOY = {"kind": "toy", "decode": Sums.from_json, "faces": ("sync", "async"), "focus": "toy"}


def count(bench: Bench, case: Sums) -> Iterator[Diff]:
    """Add the amounts, and compare each total."""
    for at, amount in enumerate(case.amounts):
        bench.beat(at)
        got = bench.handle().call(bench.writer, "add", bench.name("thread"), amount)
        yield from bench.compare(at, "add", ("total",), sum(case.amounts[: at + 1]), got)


@law(
    "toy.adds-up",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source="kinds.toy.protocol.Counter.add",
    check=count,
    lens="add:total",
    meaning="The counter of a thread shows another number than was counted.",
    **TOY,
)
def adds_up() -> Iterator[Sums]:
    """The total is the sum of all amounts."""
    yield Sums((1,))
    yield Sums((2, 3, 4))
