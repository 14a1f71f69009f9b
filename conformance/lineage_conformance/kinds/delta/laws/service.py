"""Delta blobs: restarts, forks, gateways, failures, read mode, removal, records and sizes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lineage_conformance.bench import Bench
from lineage_conformance.kinds.delta.case import Act, History
from lineage_conformance.kinds.delta.laws.delta_blobs import (
    APPENDS,
    DATA,
    OFF,
    ON,
    READ,
    SHADOW,
    SIZE,
    A,
    B,
    C,
    D,
    blobs,
    history,
    line,
)
from lineage_conformance.kinds.delta.player import Play
from lineage_conformance.law import Level, Stake
from lineage_conformance.raised import Raised
from lineage_conformance.trace import Diff


@blobs(
    "delta_blobs.survives-restart",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source=DATA,
    lens="rebuild:*",
    needs=("store",),
    after=(
        "delta_blobs.rebuilds-appends",
        "delta_blobs.survives-compaction",
        "delta_blobs.gap-begins-anew",
    ),
    meaning="After a deployment conversations are rebuilt from a mixture of old and new generations.",
)
def survives_restart() -> Iterator[History]:
    """After a restart histories go on, although generations begin at 0 again and old ones are still there."""
    again = Act("reopen")
    yield history(
        ON, APPENDS, again, line({"log": [A, B, C, D, A]}, {"log": [A]}, first=5, parent=4)
    )
    yield history(
        ON,
        line({"log": [A, B, C], "quiet": [D]}, {"log": [A]}),
        again,
        line({"log": [A, B]}, first=3, parent=2),
        again,
        line({"log": [B]}, {"log": [B, C]}, first=4, parent=3),
    )


@blobs(
    "delta_blobs.verify-tells",
    level=Level.MUST,
    stake=Stake.LOST,
    source="contract: verify compares what blobs rebuild with full checkpoints",
    lens="verify:*",
    after=(
        "delta_blobs.rebuilds-appends",
        "delta_blobs.survives-compaction",
        "delta_blobs.namespaces-are-apart",
        "delta_blobs.only-lists",
    ),
    meaning="Read mode begins on threads whose blobs are incomplete, or never.",
)
def verify_tells() -> Iterator[History]:
    """verify counts the checkpoints, proves a thread whose blobs are complete, and none that has no blobs."""
    yield history(ON, APPENDS, Act("verify"))
    yield history(APPENDS, Act("verify"))
    yield history(ON, line({"log": [A, B]}, {"log": [A]}, {"log": [A, C]}), Act("verify"))


@blobs(
    "delta_blobs.read-waits-for-proof",
    level=Level.MUST,
    stake=Stake.LOST,
    source="contract: read mode refuses threads that verify has not proved",
    lens="mode:*",
    after=("delta_blobs.off-by-default", "delta_blobs.flag-by-thread", "delta_blobs.verify-tells"),
    meaning="The only copy of a conversation is one that nobody has ever compared.",
)
def read_waits_for_proof() -> Iterator[History]:
    """A thread that was not verified, or failed, stays in shadow mode where read mode is asked for."""
    yield history(ON, line({"log": [A]}), Act("mode", mode="read"))
    yield history(line({"log": [A]}), *READ)
    yield history(ON, line({"log": [A]}), *READ, Act("mode", mode="off"), Act("mode", mode="read"))


@blobs(
    "delta_blobs.refused-step-leaves-nothing",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source=DATA,
    lens="rebuild:* get:*",
    after=(
        "delta_blobs.rebuilds-appends",
        "delta_blobs.shadow-leaves-reads",
        "delta_blobs.read-waits-for-proof",
    ),
    meaning="What a failed step would have said is part of the conversation that goes on without it.",
)
def refused_step_leaves_nothing() -> Iterator[History]:
    """Blobs of a checkpoint that never landed are part of no other checkpoint."""
    failed = Act("refused", 8, 1, set={"log": [A, "never"]})
    then = line({"log": [A, B]}, {"log": [A, B, C]}, first=9, parent=1)
    yield history(ON, line({"log": [A]}), failed, then)
    yield history(ON, line({"log": [A]}), READ, failed, then)


@blobs(
    "delta_blobs.forks-are-apart",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source=DATA,
    lens="rebuild:*",
    after=(
        "delta_blobs.rebuilds-appends",
        "delta_blobs.gap-begins-anew",
        "delta_blobs.survives-restart",
        "delta_blobs.refused-step-leaves-nothing",
    ),
    meaning="An answer that was tried once shows up in the other branch.",
)
def forks_are_apart() -> Iterator[History]:
    """Children of one checkpoint are rebuilt each with its own lists and what both inherit."""
    start = {"log": [A], "talk": {"a": [A]}, "quiet": [D]}
    yield history(
        ON,
        line(start),
        Act("put", 2, 1, set={"log": [A, "left"]}),
        Act("put", 3, 1, set={"log": [A, "right"]}),
        Act("put", 4, 2, set={"talk": {"a": [A, "left"]}}),
        Act("put", 5, 3, set={"log": [A, "right", B]}),
        Act("put", 6, 4, set={"log": [A, "left", C]}),
    )
    yield history(ON, APPENDS, line({"log": [A, "again"]}, {"log": []}, first=7, parent=1))


@blobs(
    "delta_blobs.two-gateways",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source=DATA,
    lens="rebuild:* put:*",
    needs=("store",),
    after=("delta_blobs.survives-restart", "delta_blobs.forks-are-apart"),
    meaning="Whichever gateway answers next rebuilds what the other one did not see.",
)
def two_gateways() -> Iterator[History]:
    """Two gateways that take turns on one thread, or go on from the same step, damage nothing."""
    yield history(
        ON,
        Act("put", 1, set={"log": [A], "talk": {"a": [A]}}),
        Act("put", 2, 1, set={"log": [A, B]}, handle=1),
        Act("put", 3, 2, set={"log": [A, B, C]}),
        Act("put", 4, 3, set={"talk": {"a": [A, B]}}, handle=1),
        Act("put", 5, 4, set={"log": [D], "talk": {"a": [A, B, C]}}),
        Act("put", 6, 5, set={"log": [D, A]}, handle=1),
    )
    yield history(
        ON,
        Act("put", 1, set={"log": [A]}),
        Act("put", 2, 1, set={"log": [A, "mine"]}),
        Act("put", 3, 1, set={"log": [A, "theirs"]}, handle=1),
        Act("put", 4, 2, set={"log": [A, "mine", B]}),
        Act("put", 5, 3, set={"log": [A, "theirs", B]}, handle=1),
    )


@blobs(
    "delta_blobs.outage-breaks-no-run",
    level=Level.MUST,
    stake=Stake.FAILS,
    source=SHADOW,
    lens="put:* get:* rebuild:*",
    needs=("fail",),
    after=("delta_blobs.gap-begins-anew", "delta_blobs.shadow-leaves-reads"),
    meaning="A conversation stops because a copy of it could not be stored.",
)
def outage_breaks_no_run() -> Iterator[History]:
    """While blobs cannot be stored in shadow mode the run goes on, and later blobs do not skip what was lost."""
    yield history(
        ON,
        line({"log": [A], "quiet": [D]}),
        Act("fail", on=True),
        line({"log": [A, B]}, first=2, parent=1),
        Act("fail"),
        line({"log": [A, B, C]}, {"quiet": [D, D]}, first=3, parent=2),
    )


@blobs(
    "delta_blobs.read-returns-all",
    level=Level.MUST,
    stake=Stake.LOST,
    source="BaseCheckpointSaver.get_tuple returns the requested checkpoint, wherever its values are kept",
    lens="get:* rebuild:*",
    focus="delta-blobs",
    after=(
        "delta_blobs.rebuilds-appends",
        "delta_blobs.shadow-leaves-reads",
        "delta_blobs.read-waits-for-proof",
        "delta_blobs.survives-compaction",
        "delta_blobs.keys-change-apart",
        "delta_blobs.forks-are-apart",
        "delta_blobs.refused-step-leaves-nothing",
    ),
    meaning="A conversation is read back without its messages.",
)
def read_returns_all() -> Iterator[History]:
    """In read mode checkpoints from before and after the switch are read whole, also once the flag is off."""
    more = line(
        {"log": [A, B, C, D, A], "mood": "fine"}, {"talk": {"coder": [C]}}, first=5, parent=4
    )
    yield history(ON, APPENDS, READ, more)
    yield history(ON, APPENDS, READ, more, OFF, line({"log": [D]}, first=7, parent=6))
    yield history(ON, APPENDS, READ, more, Act("put", 8, 4, set={"log": [A, "fork"]}))


@blobs(
    "delta_blobs.deleted-with-thread",
    level=Level.MUST,
    stake=Stake.KEPT,
    source="BaseCheckpointSaver.delete_thread: deletes all checkpoints and writes of the thread id",
    lens="blobs:left* rebuild:* get:*",
    after=(
        "delta_blobs.rebuilds-appends",
        "delta_blobs.namespaces-are-apart",
        "delta_blobs.shadow-leaves-reads",
        "delta_blobs.read-returns-all",
    ),
    meaning="A deleted conversation can still be read from its blobs, or comes back under the same id.",
)
def deleted_with_thread() -> Iterator[History]:
    """delete_thread removes the blobs of all namespaces, spares other threads, and lets the id begin anew."""
    both = (
        Act("put", 1, set={"log": [A]}),
        Act("put", 1, ns="child", set={"log": [B]}),
        Act("put", 1, thread="u", set={"log": [A]}),
    )
    new = line({"log": [C]}, {"log": [C, D]})
    yield history(ON, both, Act("delete"), ON, new)
    yield history(ON, both, READ, Act("put", 2, 1, set={"log": [A, B]}), Act("delete"), ON, new)


@blobs(
    "delta_blobs.retention-never-lies",
    level=Level.MUST,
    stake=Stake.LOST,
    source=DATA,
    lens="get:* rebuild:* put:*",
    needs=("expire",),
    after=("delta_blobs.gap-begins-anew", "delta_blobs.read-returns-all"),
    meaning="Old blobs go, and what needed them is rebuilt from the rest without a word.",
)
def retention_never_lies() -> Iterator[History]:
    """After retention a checkpoint is rebuilt whole or not at all, a live thread goes on, the only copy stays."""
    expire = Act("expire")
    more = line({"log": [A, B, C, D, A]}, {"talk": {"coder": [C]}}, first=5, parent=4)
    yield history(ON, APPENDS, expire, more)
    yield history(ON, APPENDS, READ, more, expire, line({"log": [A, B]}, first=7, parent=6))


@blobs(
    "delta_blobs.record-is-complete",
    level=Level.MUST,
    stake=Stake.METADATA,
    source="contract: a blob carries channel, version, step action, generation, checkpoint, thread and namespace",
    lens="blobs:record*",
    after=("delta_blobs.off-by-default",),
    meaning="A server cannot tell which blobs belong together, or which one replaces the others.",
)
def record_is_complete() -> Iterator[History]:
    """Every blob names its thread, channel, version as in the checkpoint, action, generation and size."""
    yield history(ON, APPENDS)
    yield history(ON, line({"log": [A, B]}, {"log": [A]}, {"log": [A, C]}))


@blobs(
    "delta_blobs.unchanged-is-not-resent",
    level=Level.SHOULD,
    stake=Stake.COST,
    source=SIZE,
    lens="blobs:resent*",
    after=("delta_blobs.record-is-complete",),
    meaning="A summary of one list costs the size of all of them.",
)
def unchanged_is_not_resent() -> Iterator[History]:
    """A channel that has not changed is not sent again, neither with a new version nor in a compaction."""
    yield history(ON, line({"log": [A, B], "quiet": [D]}, {"log": [A]}, {"log": [A], "quiet": [D]}))


@blobs(
    "delta_blobs.generation-grows",
    level=Level.SHOULD,
    stake=Stake.METADATA,
    source="contract: the generation grows when any list shrinks",
    lens="blobs:generation*",
    after=("delta_blobs.record-is-complete",),
    meaning="A server that reads by generation mixes what was before a summary with what came after.",
)
def generation_grows() -> Iterator[History]:
    """The generation grows with a step that makes a list shorter, and stays otherwise."""
    yield history(ON, line({"log": [A, B]}, {"log": [A, B, C]}, {"log": [A]}, {"log": [A, D]}))
    yield history(ON, line({"talk": {"a": [A, B], "b": [A]}}, {"talk": {"a": [A, B]}}))


def _linear(bench: Bench, case: Any) -> Iterator[Diff]:
    played = Play(bench)
    yield from played.run(case)
    try:
        rows = [b for t in played.threads for b in played._call("blobs", bench.name(t))]
    except Raised:
        return  # that was told
    most = played.bound * 3 // 2 + 64 * len(rows)
    total = sum(row.size for row in rows)
    if rows and played.bound:
        bench.observed("blobs", "bytes")
    if total > most:
        yield Diff(len(case.acts), "blobs", ("bytes",), f"at most {most}", total)


@blobs(
    "delta_blobs.appends-are-linear",
    level=Level.SHOULD,
    stake=Stake.COST,
    source=SIZE,
    check=_linear,
    lens="blobs:bytes*",
    after=("delta_blobs.record-is-complete", "delta_blobs.unchanged-is-not-resent"),
    meaning="Blobs are as large as the checkpoints that they were to replace.",
)
def appends_are_linear() -> Iterator[History]:
    """What appends store is in proportion to what was appended."""
    said = [f"{number:03}" * 30 for number in range(24)]
    yield history(ON, line(*({"log": said[: n + 1]} for n in range(24))))
    yield history(ON, line(*({"talk": {"a": said[: n + 1], "b": [A]}} for n in range(24))))
