"""Hypothesis strategies for tales. Imported when cases are generated, not when laws are registered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from lineage_conformance.kinds.branching.case import Move, Tale
from lineage_conformance.kinds.branching.protocol import KINDS

Draw = Callable[[st.SearchStrategy[Any]], Any]


@st.composite
def rows(draw: Draw) -> tuple[tuple[str, str, str | None], ...]:
    """A few writes to a workspace; artifacts are never removed."""
    made = []
    for _ in range(draw(st.integers(0, 2))):
        kind = draw(st.sampled_from(KINDS))
        bodies = ["x", "", "other \u00e9\u4e2d", "x" * 50]
        body = draw(st.sampled_from(bodies if kind == "artifacts" else [*bodies, None]))
        made.append((kind, draw(st.sampled_from(["a", "b", "a b"])), body))
    return tuple(made)


@st.composite
def moves(draw: Draw) -> Move:
    """One turn."""
    return Move(
        calls=draw(st.sampled_from([0, 0, 0, 1, 2, 3, 5, 12])),
        text=draw(st.sampled_from(["ok", "", "a longer answer", "\u4e2d\u6587"])),
        edit=draw(st.sampled_from([None, None, None, 0, 1, 2])),
        summary=draw(st.sampled_from([False, False, False, True])),
        command=draw(st.sampled_from([False, False, False, True])),
        rows=draw(rows()),
        after=draw(rows()),
    )


@st.composite
def tales(draw: Draw, most: int = 4) -> Tale:
    """A conversation of one to four turns, followed over up to three branches."""
    made = draw(st.lists(moves(), min_size=1, max_size=most))
    return Tale(tuple(made), draw(st.integers(0, 3)))


FOCUSES = {"branching": tales}
