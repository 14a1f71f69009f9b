"""Histories: what happens to the lists of a conversation, as data."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

FORMAT = 1


@dataclass(frozen=True)
class Act:
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

    def to_json(self) -> dict[str, Any]:
        """The act as JSON data: the fields that are not defaults."""
        plain = Act()
        data = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        return {"op": self.do, **{k: v for k, v in data.items() if v != getattr(plain, k)}}


@dataclass(frozen=True)
class History:
    """Acts, one after the other."""

    acts: tuple[Act, ...]

    def to_json(self) -> dict[str, Any]:
        """The history as JSON data."""
        return {"format": FORMAT, "ops": [act.to_json() for act in self.acts]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> History:
        """Read `to_json`. Raises `ValueError` for a newer format."""
        if data.get("format", FORMAT) > FORMAT:
            raise ValueError(f"a history of format {data['format']}; this version reads {FORMAT}")
        acts = []
        for row in data["ops"]:
            fields = {k: v for k, v in row.items() if k != "op"}
            for name in ("drop", "threads"):
                if name in fields:
                    fields[name] = tuple(fields[name])
            acts.append(Act(do=row["op"], **{k: v for k, v in fields.items() if k != "do"}))
        return cls(tuple(acts))

    def smaller(self) -> Iterator[History]:
        """Fewer acts, then fewer channels, then shorter lists."""
        acts = self.acts
        size = max(len(acts) // 2, 1)
        while size:
            for start in range(0, len(acts), size):
                yield from _valid(acts[:start] + acts[start + size :])
            size //= 2
        for index, act in enumerate(acts):
            for less in _less(act):
                yield from _valid((*acts[:index], less, *acts[index + 1 :]))


def _valid(acts: tuple[Act, ...]) -> Iterator[History]:
    known: set[tuple[str, str, int]] = set()
    for act in acts:
        if act.do in ("put", "refused"):
            if act.parent is not None and (act.thread, act.ns, act.parent) not in known:
                return
            if act.do == "put":
                known.add((act.thread, act.ns, act.id))
    if known:
        yield History(acts)


def _less(act: Act) -> Iterator[Act]:
    if act.same:
        yield dataclasses.replace(act, same=False)
    for name, value in act.set.items():
        yield dataclasses.replace(act, set={k: v for k, v in act.set.items() if k != name})
        if type(value) is dict and value:
            yield dataclasses.replace(act, set={**act.set, name: dict(list(value.items())[:-1])})
        if type(value) is list and len(value) > 1:
            yield dataclasses.replace(act, set={**act.set, name: value[: len(value) // 2]})
