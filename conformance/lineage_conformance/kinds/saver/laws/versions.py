"""Channel versions: how a saver mints them, and that it gives them back."""

from __future__ import annotations

from collections.abc import Iterator

from lineage_conformance.kinds.saver.operations import Get, Mint, Put
from lineage_conformance.kinds.saver.program import Program, program
from lineage_conformance.law import Level, Stake, law


@law(
    "versions.mint-rises",
    level=Level.MUST,
    stake=Stake.FAILS,
    source="BaseCheckpointSaver.get_next_version: the next version must be increasing",
    lens="mint:minted",
    meaning="From the tenth step on, nodes are not triggered by newer values.",
)
def mint_rises() -> Iterator[Program]:
    """Versions that get_next_version makes of its own results rise and keep their type."""
    yield program(Mint())
    yield program(Mint(count=101))


@law(
    "versions.minted-come-back",
    level=Level.MUST,
    stake=Stake.REPEATED,
    source="engine: the loop compares the versions that get_tuple returns with those in versions_seen",
    lens="get:channel_versions*",
    after=("put.is-readable", "versions.mint-rises"),
    focus="line",
    meaning="Nodes run again after a reload, or never.",
)
def minted_come_back() -> Iterator[Program]:
    """Versions made by the saver's own get_next_version come back equal and with the same type."""
    yield program(
        Put(1, set={"a": 1, "branch:to:n": None}),
        Get(1),
        Put(2, 1, set={"b": 2}, empty=("e",)),
        Get(2),
    )


@law(
    "versions.foreign-types-come-back",
    level=Level.SHOULD,
    stake=Stake.FAILS,
    source="ChannelVersions: versions are text, int or float; copies from other savers bring theirs along",
    lens="get:channel_versions* get:channel_values*",
    after=("versions.minted-come-back", "values.complete"),
    meaning="A thread copied from another saver cannot be continued.",
)
def foreign_types_come_back() -> Iterator[Program]:
    """Integer, float and text versions come back equal and with the same type, and so do their values."""
    for form in ("int", "float", "str"):
        yield program(
            Put(1, set={"a": 1}, versions=form),
            Get(1),
            Put(2, 1, set={"b": 2}, versions=form),
            Get(2),
        )
