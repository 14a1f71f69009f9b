"""Hypothesis strategies for cases of kind ``toy``."""

from __future__ import annotations

from hypothesis import strategies as st
from lineage_conformance.kinds.toy.case import Sums


def sums() -> st.SearchStrategy[Sums]:
    """Up to six small amounts."""
    return st.lists(st.integers(0, 9), max_size=6).map(lambda amounts: Sums(tuple(amounts)))


FOCUSES = {"toy": sums}
