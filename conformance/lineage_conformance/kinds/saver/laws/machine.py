"""The general machine: operations of every kind mixed, for faults that show only in combination."""

from __future__ import annotations

from collections.abc import Iterator

from lineage_conformance.kinds.saver.operations import DeleteThread, Get, List, Put, Writes
from lineage_conformance.kinds.saver.program import Program, program
from lineage_conformance.law import Level, Stake, law


@law(
    "machine.any-mixture",
    level=Level.MUST,
    stake=Stake.LOST,
    source="data: what single operations promise holds in every order of them",
    needs=("delete_thread",),
    after=(
        "put.is-readable", "put.keeps-every-field", "values.complete", "versions.minted-come-back",
        "latest.is-largest-id", "fork.parents", "fork.siblings-keep-their-values", "writes.round-trip",
        "writes.before-checkpoint", "writes.in-list-too", "list.newest-first", "metadata.round-trip",
        "metadata.keeps-unknown-keys", "namespaces.threads-are-apart", "delete.complete",
        "delete.spares-others", "delete.id-reusable", "delete.idempotent", "list.rows-equal-get-tuple",
        "fork.siblings-keep-their-writes",
    ),
    focus="mixed",
    meaning="A conversation loses something when another one is changed in between.",
)  # fmt: skip
def any_mixture() -> Iterator[Program]:
    """Operations on several threads, in any mixture and order, leave each thread as it was left."""
    yield program(
        Put(1, thread="u", set={"a": "x"}),
        Writes(2, items=(("a", "early"),), thread="u"),
        Put(3, thread="t"),
        DeleteThread("t"),
        Put(2, 1, "u", set={"b": "y"}),
        Get(2, "u"),
        List("u"),
    )
    yield program(
        Put(1, set={"a": "x"}),
        Put(5, thread="u"),
        Put(2, 1, set={"a": "y"}),
        DeleteThread("u"),
        Put(3, 1, set={"b": "z"}),
        Writes(3, items=(("a", 1),)),
        Put(4, thread="u"),
        DeleteThread("u"),
        Get(3),
        Get(2),
        List(),
    )
