"""Delta blobs: what is rebuilt from blobs equals what the full checkpoint holds, whatever happened in between."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

from lineage_conformance.bench import Bench
from lineage_conformance.law import Level, law
from lineage_conformance.laws.delta_blobs_case import Act, History, Play
from lineage_conformance.session import Diff

DATA = "data: a conversation that is rebuilt wrongly is lost, and the next step computes with another one"
OWNER = "contract: the server owns the flag, it is off by default, and it gates storing and advertising"
SHADOW = "contract: in shadow mode checkpoints are full and reads do not touch the blobs"
SIZE = "purpose: a checkpoint per step is quadratic, and blobs are there to be linear"


def play(bench: Bench, history: Any) -> Iterator[Diff]:
    """Put a backend through a history."""
    yield from Play(bench).run(history)


blobs = functools.partial(
    law, kind="delta", decode=History.from_json, check=play, faces=("sync", "async")
)

ON = Act("mode", mode="shadow")
OFF = Act("mode", mode="off")
READ = (Act("verify"), Act("mode", mode="read"))
PENDING, DONE = {"tool": "build", "status": "pending"}, {"tool": "build", "status": "success"}
A, B, C, D = "first", "second", "third", "fourth"


def history(*acts: Act | tuple[Act, ...]) -> History:
    """A history of acts, or of tuples of them."""
    return History(tuple(a for act in acts for a in ((act,) if isinstance(act, Act) else act)))


def line(*steps: dict[str, Any], first: int = 1, parent: int | None = None, **more: Any) -> tuple[Act, ...]:
    """Checkpoints one after the other, from number `first` on."""
    acts = []
    for number, step in enumerate(steps, first):
        acts.append(Act("put", number, parent, set=step, **more))
        parent = number
    return tuple(acts)


APPENDS = line(
    {"log": [A], "talk": {"planner": [A]}, "mood": "fine"},
    {"log": [A, B]},
    {"talk": {"planner": [A, B], "coder": [C]}},
    {"log": [A, B, C, D], "talk": {"planner": [A, B], "coder": [C, D]}, "mood": "busy"},
)


@blobs(
    "delta_blobs.off-by-default",
    level=Level.MUST,
    source=OWNER,
    lens="mode:* blobs:stored*",
    meaning="Turning on a feature is an accident instead of a decision, and old servers see what they do not know.",
)
def off_by_default() -> Iterator[History]:
    """Until the flag is set nothing is advertised and no blob is stored, and so it is again once it is off."""
    yield history(APPENDS)
    yield history(ON, APPENDS, OFF, line({"log": [A, B, C, D, A]}, first=9, parent=4))


@blobs(
    "delta_blobs.flag-by-thread",
    level=Level.MUST,
    source=OWNER,
    lens="mode:* blobs:stored*",
    after=("delta_blobs.off-by-default",),
    meaning="A trial with a few conversations touches all of them.",
)
def flag_by_thread() -> Iterator[History]:
    """The flag can be set for some threads alone."""
    yield history(
        Act("mode", mode="shadow", threads=("t",)),
        Act("put", 1, set={"log": [A]}),
        Act("put", 2, thread="u", set={"log": [A]}),
        Act("mode", mode="off", threads=("t",)),
        Act("mode", mode="shadow", threads=("u",)),
        Act("put", 3, 1, set={"log": [A, B]}),
        Act("put", 4, 2, thread="u", set={"log": [A, B]}),
    )


@blobs(
    "delta_blobs.shadow-leaves-reads",
    level=Level.MUST,
    source=SHADOW,
    lens="get:*",
    after=("delta_blobs.off-by-default",),
    meaning="Trying it out changes what users see.",
)
def shadow_leaves_reads() -> Iterator[History]:
    """In shadow mode every checkpoint is read as without blobs."""
    yield history(ON, APPENDS)
    yield history(ON, line({"log": [A, PENDING]}, {"log": [A, DONE, B]}, {"log": [B]}, same=True))


@blobs(
    "delta_blobs.rebuilds-appends",
    level=Level.MUST,
    source=DATA,
    lens="rebuild:*",
    focus="delta-blobs",
    after=("delta_blobs.off-by-default",),
    meaning="Messages are missing, doubled, or in another order.",
)
def rebuilds_appends() -> Iterator[History]:
    """Lists that only grow are rebuilt from blobs alone, at every checkpoint."""
    yield history(ON, APPENDS)
    yield history(ON, line({"log": []}, {"log": [A]}, {"log": [A, None, 1, True]}, {"other": [B]}))
    yield history(ON, line({"talk": {}}, {"talk": {"a": []}}, {"talk": {"a": [], "b": [A]}}))


@blobs(
    "delta_blobs.sees-equal-length-edits",
    level=Level.MUST,
    source=DATA,
    lens="rebuild:*",
    after=("delta_blobs.rebuilds-appends",),
    meaning="A corrected message comes back as it was before the correction.",
)
def sees_equal_length_edits() -> Iterator[History]:
    """A list of the same length with other items, or items of another type that compare equal, is changed."""
    yield history(ON, line({"log": ["aa", B]}, {"log": ["bb", B]}, {"log": ["bb", "cc"]}))
    yield history(ON, line({"log": [1, B]}, {"log": [True, B]}, {"log": [1.0, B]}))
    yield history(ON, line({"log": [A, B, C]}, {"log": [C, B, A]}))


@blobs(
    "delta_blobs.early-edit-with-append",
    level=Level.MUST,
    source=DATA,
    lens="rebuild:*",
    after=("delta_blobs.rebuilds-appends", "delta_blobs.sees-equal-length-edits"),
    meaning="An early message keeps its old text, since the list grew and growing was taken for appending.",
)
def early_edit_with_append() -> Iterator[History]:
    """A list that is edited early and grows in the same step is rebuilt with both changes."""
    yield history(ON, line({"log": [A, B]}, {"log": ["other", B, C]}))
    yield history(ON, line({"log": [A, "x" * 90, C]}, {"log": [A, "x" * 45 + "y" * 45, C, D, D]}))
    yield history(ON, line({"talk": {"a": [A, B]}}, {"talk": {"a": ["other", B, C]}}))


@blobs(
    "delta_blobs.survives-compaction",
    level=Level.MUST,
    source=DATA,
    lens="rebuild:*",
    after=("delta_blobs.rebuilds-appends", "delta_blobs.sees-equal-length-edits"),
    meaning="After a summary old messages come back, or channels that were not summarized are empty.",
)
def survives_compaction() -> Iterator[History]:
    """A list that shrinks is rebuilt as it is, and so is every other one, before, at and after that step."""
    yield history(
        ON,
        line(
            {"log": [A, B, C], "talk": {"a": [A]}, "quiet": [D]},
            {"log": ["summary"]},
            {"log": ["summary", D]},
            {"talk": {"a": [A, B]}},
            {"log": []},
            {"log": [A]},
        ),
    )


@blobs(
    "delta_blobs.keys-change-apart",
    level=Level.MUST,
    source=DATA,
    lens="rebuild:*",
    after=("delta_blobs.rebuilds-appends", "delta_blobs.sees-equal-length-edits", "delta_blobs.survives-compaction"),
    meaning="One agent's summary doubles or loses what another agent said in the same step.",
)
def keys_change_apart() -> Iterator[History]:
    """In a dictionary of lists one key is rewritten, shortened or removed while others append or stay."""
    start = {"talk": {"a": [A, B], "b": [A], "c": [C]}}
    yield history(ON, line(start, {"talk": {"a": [B, B], "b": [A, B], "c": [C]}}))
    yield history(ON, line(start, {"talk": {"a": ["s"], "b": [A, B], "c": [C]}}))
    yield history(ON, line(start, {"talk": {"b": [A, B], "c": [C]}}, {"talk": {"c": [C, D]}}))
    yield history(ON, line(start, {"talk": {"a": [A, B], "b": [A], "c": [C], "d": []}}, {"talk": {}}))


@blobs(
    "delta_blobs.sees-in-place-changes",
    level=Level.MUST,
    source=DATA,
    lens="rebuild:*",
    after=("delta_blobs.rebuilds-appends", "delta_blobs.sees-equal-length-edits", "delta_blobs.early-edit-with-append", "delta_blobs.keys-change-apart"),
    meaning="An entry stays pending for ever, because the list object was the one from before.",
)
def sees_in_place_changes() -> Iterator[History]:
    """A change inside the very same list, dictionary or item is noticed, alone and together with an append."""
    yield history(ON, line({"log": [PENDING]}, {"log": [DONE]}, {"log": [DONE, PENDING]}, same=True))
    yield history(ON, line({"log": [PENDING, A, B]}, {"log": [DONE, A, B, C]}, same=True))
    yield history(
        ON, line({"talk": {"a": [PENDING], "b": [A]}}, {"talk": {"a": [DONE], "b": [A, B]}}, same=True)
    )


@blobs(
    "delta_blobs.only-lists",
    level=Level.MUST,
    source="contract: only channels that hold a list or a dictionary of lists become blobs",
    lens="rebuild:* blobs:channels*",
    after=("delta_blobs.rebuilds-appends", "delta_blobs.survives-compaction"),
    meaning="A value is there twice with two different contents, or nowhere.",
)
def only_lists() -> Iterator[History]:
    """Scalars and other shapes never become blobs, and a channel may turn from one shape into another."""
    yield history(ON, line({"log": [A], "mood": "fine", "plan": {"a": 1, "b": [A]}, "none": None}))
    yield history(
        ON,
        line({"log": [A]}, {"log": "text"}, {"log": [A, B]}, {"log": {"a": [A]}}, {"log": [A, C]}),
    )
    yield history(ON, line({"log": [A], "gone": [B]}), Act("put", 2, 1, set={"log": [A]}, drop=("gone",)))


@blobs(
    "delta_blobs.namespaces-are-apart",
    level=Level.MUST,
    source=DATA,
    lens="rebuild:*",
    after=("delta_blobs.rebuilds-appends", "delta_blobs.survives-compaction"),
    meaning="A sub-agent's messages are rebuilt into its caller's conversation.",
)
def namespaces_are_apart() -> Iterator[History]:
    """Threads and namespaces that take turns, also with the same checkpoint ids, share nothing."""
    yield history(
        ON,
        Act("put", 1, set={"log": [A]}),
        Act("put", 1, ns="child", set={"log": [B]}),
        Act("put", 2, 1, set={"log": [A, A]}),
        Act("put", 2, 1, ns="child", set={"log": [B, B]}),
        Act("put", 1, thread="u", set={"log": [C]}),
        Act("put", 2, 1, thread="u", set={"log": [C, C]}),
        Act("put", 3, 2, ns="child", set={"log": [B]}),
        Act("put", 3, 2, set={"log": [A, A, A]}),
    )


@blobs(
    "delta_blobs.gap-begins-anew",
    level=Level.MUST,
    source=DATA,
    lens="rebuild:* blobs:base*",
    focus="delta-blobs",
    after=("delta_blobs.rebuilds-appends", "delta_blobs.off-by-default"),
    meaning="Blobs go on from a step that they never saw: what happened meanwhile is missing.",
)
def gap_begins_anew() -> Iterator[History]:
    """When the flag comes on in the middle of a thread, or off and on again, the first blobs stand alone."""
    meanwhile = line({"log": [A, B, C], "talk": {"a": [A, B]}}, first=2, parent=1)
    start = line({"log": [A], "talk": {"a": [A]}, "quiet": [D]})
    after = line({"log": [A, B, C, D]}, {"talk": {"a": [A, B, C]}}, first=3, parent=2)
    yield history(start, ON, line({"log": [A, B]}, {"log": [A, B, C]}, first=2, parent=1))
    yield history(ON, start, OFF, meanwhile, ON, after)
    yield history(ON, start, OFF, line({"mood": "fine"}, first=2, parent=1), ON, after)


@blobs(
    "delta_blobs.survives-restart",
    level=Level.MUST,
    source=DATA,
    lens="rebuild:*",
    needs=("store",),
    after=("delta_blobs.rebuilds-appends", "delta_blobs.survives-compaction", "delta_blobs.gap-begins-anew"),
    meaning="After a deployment conversations are rebuilt from a mixture of old and new generations.",
)
def survives_restart() -> Iterator[History]:
    """After a restart histories go on, although generations begin at 0 again and old ones are still there."""
    again = Act("reopen")
    yield history(ON, APPENDS, again, line({"log": [A, B, C, D, A]}, {"log": [A]}, first=5, parent=4))
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
    source="contract: verify compares what blobs rebuild with full checkpoints",
    lens="verify:*",
    after=("delta_blobs.rebuilds-appends", "delta_blobs.survives-compaction", "delta_blobs.namespaces-are-apart", "delta_blobs.only-lists"),
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
    source=DATA,
    lens="rebuild:* get:*",
    after=("delta_blobs.rebuilds-appends", "delta_blobs.shadow-leaves-reads", "delta_blobs.read-waits-for-proof"),
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
    source=DATA,
    lens="rebuild:*",
    after=("delta_blobs.rebuilds-appends", "delta_blobs.gap-begins-anew", "delta_blobs.survives-restart", "delta_blobs.refused-step-leaves-nothing"),
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
    source="BaseCheckpointSaver.get_tuple returns the requested checkpoint, wherever its values are kept",
    lens="get:* rebuild:*",
    focus="delta-blobs",
    after=("delta_blobs.rebuilds-appends", "delta_blobs.shadow-leaves-reads", "delta_blobs.read-waits-for-proof", "delta_blobs.survives-compaction", "delta_blobs.keys-change-apart", "delta_blobs.forks-are-apart", "delta_blobs.refused-step-leaves-nothing"),
    meaning="A conversation is read back without its messages.",
)
def read_returns_all() -> Iterator[History]:
    """In read mode checkpoints from before and after the switch are read whole, also once the flag is off."""
    more = line({"log": [A, B, C, D, A], "mood": "fine"}, {"talk": {"coder": [C]}}, first=5, parent=4)
    yield history(ON, APPENDS, READ, more)
    yield history(ON, APPENDS, READ, more, OFF, line({"log": [D]}, first=7, parent=6))
    yield history(ON, APPENDS, READ, more, Act("put", 8, 4, set={"log": [A, "fork"]}))
    yield history(ON, line({"log": [A]}), READ, line({"log": "lineage-delta/1 0.0"}, first=2, parent=1))


@blobs(
    "delta_blobs.deleted-with-thread",
    level=Level.MUST,
    source="BaseCheckpointSaver.delete_thread: deletes all checkpoints and writes of the thread id",
    lens="blobs:left* rebuild:* get:*",
    after=("delta_blobs.rebuilds-appends", "delta_blobs.namespaces-are-apart", "delta_blobs.shadow-leaves-reads", "delta_blobs.read-returns-all"),
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
    rows = [b for t in played.threads for b in played._call("blobs", bench.name(t))]
    most = played.bound * 3 // 2 + 64 * len(rows)
    total = sum(row.size for row in rows)
    if total > most:
        yield Diff(len(case.acts), "blobs", ("bytes",), f"at most {most}", total)


@blobs(
    "delta_blobs.appends-are-linear",
    level=Level.SHOULD,
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
