"""Hypothesis strategies for histories. Imported when cases are generated, not when laws are registered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from lineage_conformance.kinds.transfer.case import History, Step
from lineage_conformance.kinds.transfer.fakes import OUTCOMES

Draw = Callable[[st.SearchStrategy[Any]], Any]

DEEDS = (
    *["run"] * 9, *["fork"] * 4, *["merge"] * 3, *["switch"] * 2, "begin", "begin", "end", "end", "drop", "resolve",
    "spawn", "result", "result", "bear", "grow", "observe", "fail", "fail", "heal", "again", "open",
)  # fmt: skip
METHODS = ("start", "send", "fork", "probe", "rollback")
PLAIN = ("ok", "ok", "ok", "ok", *OUTCOMES)


@st.composite
def steps(draw: Draw) -> Step:
    """One step."""
    do = draw(st.sampled_from(DEEDS))
    t = draw(st.integers(0, 4))
    p = draw(st.sampled_from((0, 0, 0, 1, 2, 3, 4, 5)))
    if do in ("run", "end"):
        lost = draw(st.integers(0, 9)) == 9
        return Step(do, t, p, int(lost), draw(st.sampled_from(PLAIN)))
    if do in ("bear", "grow"):
        return Step(do, t, p, 0, draw(st.sampled_from(("running", "ok", "failed", "tool"))))
    if do == "fork":
        n = draw(st.sampled_from((0, 0, 1, 2, 3, 4)))
        return Step(do, t, 0, n, draw(st.sampled_from(("", "checkpoint"))))
    if do == "fail":
        return Step(do, t, p, 0, draw(st.sampled_from(METHODS)))
    if do == "open":
        return Step(do, 0, p, draw(st.integers(0, 1)))
    return Step(do, t, p, 0)


LAST = -1
"""The thread that was made last."""


@st.composite
def phrases(draw: Draw) -> list[Step]:
    """A few steps that have something to do with each other."""
    t, p = draw(st.sampled_from((0, 0, 1, 2, LAST))), draw(st.integers(0, 5))
    how, other = draw(st.sampled_from(PLAIN)), draw(st.sampled_from(PLAIN))
    point = draw(st.sampled_from((0, 0, 1, 2, 3)))
    made: list[Step] = draw(
        st.sampled_from(
            [
                [Step("run", t, p, how=how)],
                [Step("run", t, p, how=how), Step("run", t, how=other)],
                [Step("fork", t, n=point), Step("run", LAST, how=how)],
                [Step("fork", t, n=point), Step("run", LAST, p, how=how), Step("run", LAST)],
                [Step("fork", t), Step("run", LAST, how=how), Step("merge", LAST), Step("run", 0)],
                [Step("run", LAST, how=how), Step("merge", LAST), Step("run", t, p, how=other)],
                [Step("switch", t, p), Step("run", t, how=how)],
                [Step("run", t, p, how=how), Step("run", t, 1), Step("run", t, p, how=other)],
                [
                    Step("spawn", t, p),
                    Step("run", LAST, how=how),
                    Step("result", 0),
                    Step("run", t),
                ],
                [Step("begin", t, p), Step("fork", t, n=point), Step("end", t, how=how)],
                [Step("begin", t, p), Step("merge", 0), Step("end", t, how=how), Step("run", t)],
                [
                    Step("fork", t),
                    Step("fail", LAST, how="start"),
                    Step("run", LAST),
                    Step("run", LAST),
                ],
                [
                    Step("fork", t, n=1),
                    Step("fail", LAST, how="fork"),
                    Step("run", LAST),
                    Step("run", LAST),
                ],
                [Step("run", t, n=1), Step("run", t, p), Step("heal"), Step("run", t, p, how=how)],
                [Step("bear", t, how=how), Step("observe", t)],
                [Step("resolve", t, p), Step("run", t, how=how)],
            ]
        )
    )
    return made


@st.composite
def histories(draw: Draw, most: int = 7) -> History:
    """A root with a first run or two, then up to `most` phrases, with single steps between them."""
    own = draw(st.integers(1, 5))
    begin = [Step("open", p=own, n=draw(st.sampled_from((0, 0, 0, 1)))), Step("run"), Step("run")]
    some = st.lists(st.one_of(phrases(), phrases(), steps().map(lambda step: [step])), min_size=3)
    rest = [step for phrase in draw(some)[:most] for step in phrase]
    return History((*begin, *rest))


@st.composite
def forked(draw: Draw) -> History:
    """A root with a few runs of two providers, and a fork that nobody has used."""
    own = draw(st.integers(1, 5))
    runs = [
        Step("run", 0, draw(st.sampled_from((0, 0, 1, 2, 4))), how=draw(st.sampled_from(PLAIN)))
        for _ in range(draw(st.integers(0, 4)))
    ]
    begin = [Step("open", p=own, n=draw(st.integers(0, 1))), Step("run")]
    return History((*begin, *runs, Step("fork", n=draw(st.integers(0, 4)))))


@st.composite
def reopened(draw: Draw) -> History:
    """A history whose store is reopened at some step."""
    made = draw(histories())
    return History(made.steps, draw(st.integers(1, len(made.steps))))


@st.composite
def late(draw: Draw) -> History:
    """A few steps on the first thread, for a law that puts its own before and after them."""
    made = st.builds(
        Step,
        st.sampled_from(("run", "run", "fork", "switch", "resolve")),
        p=st.sampled_from((0, 0, 1, 2, 4)),
        how=st.sampled_from(PLAIN),
    )
    steps = draw(st.lists(made, max_size=5))
    return History(tuple(s if s.do == "run" else Step(s.do, p=s.p) for s in steps))


FOCUSES = {
    "transfer": histories,
    "transfer-forked": forked,
    "transfer-reopened": reopened,
    "transfer-late": late,
}
