"""Histories: what happens on the threads of a backend of kind ``transfer``, as data.

A step names threads and providers by number, counted round: every list of steps can be played, so every
smaller list can, too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from lineage_conformance.case import Case, Part

_NUMBER = re.compile(r"([tpn])(\d+)")

DEEDS = (
    "open", "run", "begin", "end", "drop", "fork", "switch", "merge", "spawn", "result", "bear", "grow",
    "observe", "resolve", "fail", "heal", "again",
)  # fmt: skip
"""open a root; run: dispatch; begin, end, drop: a run in steps; fail: let a provider's next call raise; heal: put
the checkpoints that were kept back; bear, grow: a native child begins, ends; again: the last command once more."""

NAMES = ("turns", "latest", "pages", "bare", "fixed")
"""The fakes, in the order of their numbers (from 1; 0 is the thread's own provider)."""


@dataclass(frozen=True)
class Step(Part, keys={"do": "op"}, loose=("how", "n", "p", "t")):
    """One step. What a field means depends on what is done."""

    do: str
    t: int = 0
    """The thread (of merge: the fork; of result: the subagent), counted round."""
    p: int = 0
    """The provider, from 1; 0: the thread's own."""
    n: int = 0
    """fork: 0 the latest, else a run of the thread, by its number. open: 1 adopts a checkpoint. run, end: 1 keeps
    the checkpoint back."""
    how: str = ""
    """run, end, bear, grow: the outcome of a turn. fork: ``checkpoint`` names the point by its checkpoint. fail: the
    method."""


@dataclass(frozen=True)
class History(Case, keys={"steps": "ops"}, loose=("steps",)):
    """A list of steps; `reopen` counts the steps after which the store is reopened (0: never)."""

    steps: tuple[Step, ...]
    reopen: int = 0


def text(script: str, reopen: int = 0) -> History:
    """A history from words: ``open:p1 run fork run:t1p2 merge:t1 run``; ``=`` gives `how`."""
    steps = []
    for word in script.split():
        head, _, how = word.partition("=")
        deed, _, numbers = head.partition(":")
        fields: dict[str, Any] = {name: int(digits) for name, digits in _NUMBER.findall(numbers)}
        steps.append(Step(deed, how=how, **fields))
    return History(tuple(steps), reopen)
