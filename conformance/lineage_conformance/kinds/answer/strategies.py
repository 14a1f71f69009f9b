"""Hypothesis strategies for cases of kind ``answer``. Imported when cases are generated."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from lineage_conformance.kinds.answer.case import ENDS, AnswerCase


def cases() -> st.SearchStrategy[Any]:
    """Cases for Hypothesis: replies of every sort, ends, forms, with and without an earlier turn."""
    words = st.text("abc é\n", min_size=1, max_size=6)
    block = st.one_of(
        st.builds(lambda t: {"type": "text", "text": t}, words),
        st.builds(lambda t: {"type": "reasoning", "reasoning": t}, words),
        st.builds(lambda t: {"type": "thinking", "thinking": t}, words),
        st.builds(lambda t: {"type": "tool_use", "name": t, "input": {}, "id": "call-1"}, words),
        st.builds(lambda t: {"type": "server_tool_use", "name": t, "input": {}, "id": "s"}, words),
    )
    content = st.one_of(words, st.lists(block, max_size=4), st.just(""))
    reply = st.one_of(
        st.tuples(st.just("ai"), content),
        st.tuples(st.just("call"), content),
        st.tuples(st.just("tool"), words),
    )
    return st.builds(
        AnswerCase,
        st.lists(reply, min_size=1, max_size=4)
        .filter(lambda r: any(x[0] != "tool" for x in r))
        .map(tuple),
        st.sampled_from([end for end in ENDS if end not in ("cancelled", "interrupted")]),
        st.booleans(),
        st.sampled_from(("objects", "dicts")),
    )


FOCUSES = {"answer": cases}
