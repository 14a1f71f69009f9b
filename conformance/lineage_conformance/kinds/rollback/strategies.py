"""Hypothesis strategies for cases of kind ``rollback``. Imported when cases are generated."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from lineage_conformance.kinds.rollback.case import DURABILITIES, ENDS, POINTS, TurnCase


def cases() -> st.SearchStrategy[Any]:
    """Cases for Hypothesis: every point and end, 1 to 12 tools, durabilities, errors, several turns."""

    def case(point: str, tools: int, how: str, **rest: Any) -> TurnCase:
        if point in ENDS:
            how = "later"
        return TurnCase(point, max(tools, 2) if point == "landed" else tools, how=how, **rest)

    return st.builds(
        case,
        st.sampled_from((*POINTS, *ENDS)),
        st.integers(1, 4) | st.integers(1, 12),
        st.sampled_from(("cancel", "error")),
        durability=st.sampled_from(DURABILITIES),
        earlier=st.integers(0, 3),
        times=st.integers(1, 2),
    )


FOCUSES = {"rollback": cases}
