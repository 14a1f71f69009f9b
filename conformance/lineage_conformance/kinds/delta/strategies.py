"""Hypothesis strategies for histories of kind ``delta``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from lineage_conformance.kinds.delta.case import Act, History

Draw = Callable[[st.SearchStrategy[Any]], Any]

ITEMS = st.sampled_from(
    [
        "a",
        "b",
        1,
        True,
        None,
        {"s": "pending", "n": 1},
        {"s": "success", "n": 1},
        "x" * 70,
        ["q"],
        1.0,
    ]
)
LISTS = st.lists(ITEMS, max_size=5)


def changed(value: list[Any]) -> st.SearchStrategy[list[Any]]:
    """A list after what conversations do to lists: append, edit, edit early and append, slide, compact."""
    forms = [LISTS.map(lambda more: [*value, *more])]
    if value:
        places = st.integers(0, len(value) - 1)
        forms += [
            st.tuples(places, ITEMS).map(lambda at: [*value[: at[0]], at[1], *value[at[0] + 1 :]]),
            st.tuples(places, ITEMS, ITEMS).map(
                lambda at: [*value[: at[0]], at[1], *value[at[0] + 1 :], at[2]]
            ),
            ITEMS.map(lambda item: [*value[1:], item]),
            places.map(lambda at: value[at:]),
            st.just(value[:-1]),
            st.permutations(value),
        ]
    return st.one_of(forms)


@st.composite
def _dict(draw: Draw, value: dict[str, list[Any]]) -> dict[str, list[Any]]:
    made = dict(value)
    for key in draw(st.lists(st.sampled_from("kl"), min_size=1, max_size=2, unique=True)):
        if key in made and draw(st.integers(0, 4)) == 0:
            del made[key]
        else:
            made[key] = draw(changed(made.get(key, [])))
    return made


@st.composite
def histories(draw: Draw) -> History:
    """Up to eight steps on one thread, with forks, and with the flag going off or over to read mode."""
    acts = [Act("mode", mode="shadow")]
    states: dict[int, dict[str, Any]] = {}
    last: int | None = None
    for number in range(1, draw(st.integers(2, 8)) + 1):
        parent = last
        if states and draw(st.integers(0, 5)) == 0:
            parent = draw(st.sampled_from(sorted(states)))
        state = dict(states[parent]) if parent is not None else {}
        names = draw(st.lists(st.sampled_from(["log", "talk", "mood"]), min_size=1, unique=True))
        new: dict[str, Any] = {}
        for name in names:
            if name == "log":
                new[name] = draw(changed(state.get("log", [])))
            elif name == "talk":
                new[name] = draw(_dict(state.get("talk", {})))
            else:
                new[name] = draw(st.sampled_from(["fine", 3, {"k": 1}, ["now", "a list"]]))
        acts.append(Act("put", number, parent, set=new, same=draw(st.booleans())))
        states[number] = {**state, **new}
        last = number
        event = draw(st.integers(0, 9))
        if event == 9:
            acts.append(Act("mode", mode=draw(st.sampled_from(["off", "shadow"]))))
        elif event == 8:
            acts += [Act("verify"), Act("mode", mode="read")]
    return History(tuple(acts))


FOCUSES = {"delta-blobs": histories}
