"""Histories: what happens to the lists of a conversation, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lineage_conformance.case import Case, Part


@dataclass(frozen=True)
class Act(Part, keys={"do": "op"}, loose=("same", "set")):
    """One thing that happens.

    ``put``: checkpoint `id` follows `parent`; it has its channels, with `set` written over them and `drop`
    taken away. ``same`` changes the caller's own objects in place. ``refused``: a put that the saver refuses.
    ``mode``: the flag becomes `mode`, for `threads` or for all. ``fail``: the blob store is out of order while
    `on`. ``reopen``, ``verify``, ``expire``, ``delete``: as the backend's methods.
    """

    do: str = "put"
    id: int = 0
    parent: int | None = None
    set: Mapping[str, Any] = field(default_factory=dict)
    drop: tuple[str, ...] = ()
    same: bool = False
    thread: str = "t"
    ns: str = ""
    handle: int = 0
    mode: str = ""
    threads: tuple[str, ...] = ()
    on: bool = False


@dataclass(frozen=True)
class History(Case, keys={"acts": "ops"}, loose=("acts",)):
    """Acts, one after the other."""

    acts: tuple[Act, ...]

    def valid(self) -> bool:
        """Whether something is put, and nothing goes on from a checkpoint that was not put before."""
        known: set[tuple[str, str, int]] = set()
        for act in self.acts:
            if act.do not in ("put", "refused"):
                continue
            if act.parent is not None and (act.thread, act.ns, act.parent) not in known:
                return False
            if act.do == "put":
                known.add((act.thread, act.ns, act.id))
        return bool(known)
