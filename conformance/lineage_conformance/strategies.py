"""Generated cases: what the strategies of every kind make, drawn once in a process with fixed seeds."""

from __future__ import annotations

import functools
import warnings
import zlib
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from lineage_conformance import kinds


@functools.cache
def focuses() -> dict[str, Callable[[], st.SearchStrategy[Any]]]:
    """Focus: what makes its strategy. Gathered from the module `strategies` of every room."""
    found: dict[str, Callable[[], st.SearchStrategy[Any]]] = {}
    for room in kinds.ROOMS:
        found.update(room.focuses())
    return found


ROUNDS = 8
"""How often more cases are drawn where some were equal; a strategy may not have enough different ones."""


_MADE: dict[tuple[str, int], tuple[Any, ...]] = {}


def programs(focus: str, count: int, tick: Callable[[], None] = lambda: None) -> tuple[Any, ...]:
    """`count` different cases of a focus, or all that were found; the same ones every time: seeds are fixed.

    They are made once in a process. `tick` is called before each is drawn.
    """
    if (focus, count) not in _MADE:
        _MADE[focus, count] = _different(focus, count, tick)
    return _MADE[focus, count]


def _different(focus: str, count: int, tick: Callable[[], None]) -> tuple[Any, ...]:
    made: dict[str, Any] = {}
    for again in range(ROUNDS):
        before = len(made)
        for program in _drawn(focus, max(count - before, 10), again, tick):
            if len(made) < count:
                made.setdefault(repr(program), program)
        if len(made) in (before, count):
            break
    return tuple(made.values())


def _drawn(focus: str, count: int, again: int, tick: Callable[[], None]) -> list[Any]:
    """`count` cases as they are drawn, equal ones among them."""
    made: list[Any] = []
    tick()

    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @seed(zlib.crc32(focus.encode()) + again)
    @given(focuses()[focus]())
    def collect(program: Any) -> None:
        tick()
        made.append(program)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        collect()
    return made
