"""Histories: what happens on the threads of a backend of kind ``transfer``, as data.

A step names threads and providers by number, counted round: every list of steps can be played, so every
smaller list can, too.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

FORMAT = 1
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
class Step:
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
class History:
    """A list of steps; `reopen` counts the steps after which the store is reopened (0: never)."""

    steps: tuple[Step, ...]
    reopen: int = 0
    origin: str = ""

    def to_json(self) -> dict[str, Any]:
        """The history as JSON data. Steps stand under ``ops``, as operations of a program do."""
        made: dict[str, Any] = {"format": FORMAT, "ops": [_told(step) for step in self.steps]}
        return {**made, "reopen": self.reopen} if self.reopen else made

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> History:
        """The history that `to_json` wrote. Raises `ValueError` for another format."""
        if data.get("format") != FORMAT:
            raise ValueError(f"a history of format {data.get('format')!r} is unknown here")
        steps = ({("do" if k == "op" else k): v for k, v in op.items()} for op in data["ops"])
        return cls(tuple(Step(**step) for step in steps), data.get("reopen", 0))

    def smaller(self) -> Iterator[History]:
        """Histories with less in them: half of the steps, one step fewer, then simpler ones."""
        count = len(self.steps)
        if count > 3:
            yield dataclasses.replace(self, steps=self.steps[: count // 2])
        for index in reversed(range(count)):
            rest = self.steps[:index] + self.steps[index + 1 :]
            yield dataclasses.replace(self, steps=rest)
        for index, step in enumerate(self.steps):
            for field in ("how", "n", "p", "t"):
                if getattr(step, field):
                    default: Any = "" if field == "how" else 0
                    less: dict[str, Any] = {field: default}
                    made = (
                        *self.steps[:index],
                        dataclasses.replace(step, **less),
                        *self.steps[index + 1 :],
                    )
                    yield dataclasses.replace(self, steps=made)


def _told(step: Step) -> dict[str, Any]:
    told = {"op": step.do, "t": step.t, "p": step.p, "n": step.n, "how": step.how}
    return {key: value for key, value in told.items() if value}


def text(script: str, reopen: int = 0) -> History:
    """A history from words: ``open:p1 run fork run:t1p2 merge:t1 run``; ``=`` gives `how`."""
    steps = []
    for word in script.split():
        head, _, how = word.partition("=")
        deed, _, numbers = head.partition(":")
        fields: dict[str, Any] = {name: int(digits) for name, digits in _NUMBER.findall(numbers)}
        steps.append(Step(deed, how=how, **fields))
    return History(tuple(steps), reopen)
