"""Delta blobs: what is rebuilt from blobs equals what the full checkpoint holds, whatever happened in between."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

from lineage_conformance.bench import Bench
from lineage_conformance.kinds.delta.case import Act, History
from lineage_conformance.kinds.delta.player import Play
from lineage_conformance.law import Level, Stake, law
from lineage_conformance.trace import Diff

DATA = "data: a conversation that is rebuilt wrongly is lost, and the next step computes with another one"
OWNER = (
    "contract: the server owns the flag, it is off by default, and it gates storing and advertising"
)
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


def line(
    *steps: dict[str, Any], first: int = 1, parent: int | None = None, **more: Any
) -> tuple[Act, ...]:
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
    stake=Stake.COST,
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
    stake=Stake.COST,
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
    stake=Stake.CHANGED,
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
    stake=Stake.CHANGED,
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
    stake=Stake.CHANGED,
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
    stake=Stake.CHANGED,
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
    stake=Stake.CHANGED,
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
    stake=Stake.CHANGED,
    source=DATA,
    lens="rebuild:*",
    after=(
        "delta_blobs.rebuilds-appends",
        "delta_blobs.sees-equal-length-edits",
        "delta_blobs.survives-compaction",
    ),
    meaning="One agent's summary doubles or loses what another agent said in the same step.",
)
def keys_change_apart() -> Iterator[History]:
    """In a dictionary of lists one key is rewritten, shortened or removed while others append or stay."""
    start = {"talk": {"a": [A, B], "b": [A], "c": [C]}}
    yield history(ON, line(start, {"talk": {"a": [B, B], "b": [A, B], "c": [C]}}))
    yield history(ON, line(start, {"talk": {"a": ["s"], "b": [A, B], "c": [C]}}))
    yield history(ON, line(start, {"talk": {"b": [A, B], "c": [C]}}, {"talk": {"c": [C, D]}}))
    yield history(
        ON, line(start, {"talk": {"a": [A, B], "b": [A], "c": [C], "d": []}}, {"talk": {}})
    )


@blobs(
    "delta_blobs.sees-in-place-changes",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source=DATA,
    lens="rebuild:*",
    after=(
        "delta_blobs.rebuilds-appends",
        "delta_blobs.sees-equal-length-edits",
        "delta_blobs.early-edit-with-append",
        "delta_blobs.keys-change-apart",
    ),
    meaning="An entry stays pending for ever, because the list object was the one from before.",
)
def sees_in_place_changes() -> Iterator[History]:
    """A change inside the very same list, dictionary or item is noticed, alone and together with an append."""
    yield history(
        ON, line({"log": [PENDING]}, {"log": [DONE]}, {"log": [DONE, PENDING]}, same=True)
    )
    yield history(ON, line({"log": [PENDING, A, B]}, {"log": [DONE, A, B, C]}, same=True))
    yield history(
        ON,
        line({"talk": {"a": [PENDING], "b": [A]}}, {"talk": {"a": [DONE], "b": [A, B]}}, same=True),
    )


@blobs(
    "delta_blobs.only-lists",
    level=Level.MUST,
    stake=Stake.CHANGED,
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
    yield history(
        ON, line({"log": [A], "gone": [B]}), Act("put", 2, 1, set={"log": [A]}, drop=("gone",))
    )


@blobs(
    "delta_blobs.namespaces-are-apart",
    level=Level.MUST,
    stake=Stake.EXPOSED,
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
    stake=Stake.LOST,
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
