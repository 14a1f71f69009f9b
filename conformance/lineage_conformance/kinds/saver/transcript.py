"""A list of recorded calls as a program.

Checkpoint ids become small numbers in the order of the ids. A put says what is new against the checkpoint that it
goes on from, and its replay mints the versions again. What was in the store before the first call is put at the
place where it was read first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lineage_conformance import contract, made
from lineage_conformance.canon import same
from lineage_conformance.encoding import Note
from lineage_conformance.kinds.saver.operations import (
    CopyThread,
    DeleteForRuns,
    DeleteThread,
    DeltaHistory,
    Get,
    List,
    Op,
    Prune,
    Put,
    Reopen,
    Writes,
)
from lineage_conformance.kinds.saver.program import Program
from lineage_conformance.kinds.saver.written import Call

Place = tuple[str, str]
_NONCE = re.compile(r"[0-9a-f]{12,16}-(?=.)")
"""What this suite puts before the labels of its own threads."""


def program(
    calls: Sequence[Call], note: Note, origin: str = ""
) -> tuple[Program, list[tuple[int, str, str]]]:
    """The program of some calls, in their order, and what raised: operation, its name, and ``Type: message``."""
    made = _Transcript(calls, note)
    return Program(tuple(made.ops()), origin), made.raised


@dataclass
class _Held:
    """What a checkpoint held when it was put: values as data, and versions."""

    values: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, Any] = field(default_factory=dict)


class _Transcript:
    def __init__(self, calls: Sequence[Call], note: Note) -> None:
        self.calls, self.note = calls, note
        self.numbers = {id: n for n, id in enumerate(sorted(set(_ids(calls))), start=1)}
        self.held: dict[Place, dict[str, _Held]] = {}
        """Per thread and namespace what was put, by checkpoint id, in the order of the puts."""
        self.fresh: set[Place] = set()
        """Where the recording saw the first checkpoint being made: nothing was there before."""
        self.deleted: set[str] = set()
        self.labels: dict[str, str] = {}
        self.out: list[Op] = []
        self.raised: list[tuple[int, str, str]] = []

    def ops(self) -> list[Op]:
        """Every operation."""
        for call in self.calls:
            if call.method == "reopen":
                self.out.append(Reopen())
                continue
            if not call.asked:
                continue  # a note says why
            if call.ended == "cancelled":
                self.note(f"a call of {call.method} was cancelled; the program makes it to its end")
            before = len(self.out)
            self._seed(call)
            getattr(self, "_" + call.method)(call, call.asked)
            if call.ended == "raised":
                self.note(f"a call of {call.method} raised {call.error}")
                if len(self.out) > before:
                    self.raised.append((len(self.out) - 1, self.out[-1].name, call.error))
        return self.out

    # -- names -------------------------------------------------------------------------------------

    def label(self, thread: str) -> str:
        """The label of a thread: its id, without what this suite puts before it."""
        if thread not in self.labels:
            short = _NONCE.sub("", thread, count=1) if _NONCE.match(thread) else thread
            self.labels[thread] = thread if short in self.labels.values() else short
        return self.labels[thread]

    def number(self, id: str | None) -> int | None:
        """The number of a checkpoint id."""
        return None if id is None else self.numbers[id]

    def _ns(self, asked: Mapping[str, Any], method: str) -> str:
        if asked["ns"] is None:
            self.note(f"a call of {method} named no namespace; the program names the root")
        return asked["ns"] or ""

    def _lacks(self, method: str, *needed: Any) -> bool:
        if all(item is not None for item in needed):
            return False
        self.note(f"a call of {method} named no thread or no checkpoint and is left out")
        return True

    # -- what was there before ---------------------------------------------------------------------

    def _seed(self, call: Call) -> None:
        """Put what a read showed of a place that nobody has written to in this recording."""
        asked = call.asked
        thread = asked.get("thread")
        if call.method in ("put", "put_writes"):
            place = (str(thread), asked["ns"] or "")
            if asked.get("parent") is None and place not in self.held:
                self.fresh.add(place)
        for tree in reversed(call.shown):  # a list begins with the newest
            place = (tree["thread"], tree["ns"] or "")
            alike = tree["thread"] == thread and asked.get("id") in (None, tree["id"])
            if not alike or place in self.fresh or place[0] in self.deleted:
                continue
            if tree["id"] in self.held.get(place, {}):
                continue
            self.note(f"checkpoint {self.numbers[tree['id']]} was there before the recording began")
            parent = tree["parent"] if tree["parent"] in self.held.get(place, {}) else None
            checkpoint = tree["checkpoint"]
            self._store(
                {"thread": place[0], "ns": place[1], "parent": parent, "checkpoint": checkpoint,
                 "meta": tree["meta"], "new": checkpoint["versions"], "extra": {}, "tags": {}}
            )  # fmt: skip
            for task in dict.fromkeys(write[0] for write in tree["writes"]):
                items = tuple((c, v) for t, c, v in tree["writes"] if t == task)
                id = self.numbers[tree["id"]]
                self.out.append(Writes(id, task, items, "", self.label(place[0]), place[1]))
        if call.method == "get_tuple" and asked["id"] is None and not call.shown:
            self.fresh.add((str(thread), asked["ns"] or ""))

    # -- storing -----------------------------------------------------------------------------------

    def _put(self, call: Call, asked: dict[str, Any]) -> None:
        if not self._lacks("put", asked["thread"]):
            self._store({**asked, "ns": self._ns(asked, "put")})

    def _store(self, asked: dict[str, Any]) -> None:
        place, checkpoint = (asked["thread"], asked["ns"]), asked["checkpoint"]
        known = self.held.setdefault(place, {})
        values, versions = checkpoint["values"], checkpoint["versions"]
        base = self._base(known, asked)
        start = known.get(base, _Held()) if base is not None else _Held()
        changed = [c for c in versions if not _equal(versions[c], start.versions.get(c))]
        number = self.numbers[checkpoint["id"]]
        self._odd(number, checkpoint, start, changed)
        parent = self.number(asked["parent"])
        put = {c: values[c] for c in changed if c in values}
        seen = self._seen(known, checkpoint, number)
        op = Put(
            number,
            parent,
            self.label(place[0]),
            place[1],
            set=put,
            empty=tuple(c for c in changed if c not in values),
            drop=tuple(c for c in start.versions if c not in versions),
            meta=None if asked["meta"] == {"source": "loop", "step": number} else asked["meta"],
            extra=asked["extra"],
            tags=asked["tags"],
            seen=seen,
            base=None if base == asked["parent"] else self.number(base),
            record=self._rest(checkpoint["rest"], put, seen),
        )
        self.out.append(op)
        held = {c: v for c, v in start.values.items() if c in versions and c not in changed}
        known.pop(checkpoint["id"], None)
        known[checkpoint["id"]] = _Held({**held, **put}, dict(versions))

    def _base(self, known: Mapping[str, _Held], asked: Mapping[str, Any]) -> str | None:
        """The checkpoint whose values this one starts from: its parent, unless another explains more of it."""
        versions = asked["checkpoint"]["versions"]

        def open_(held: _Held) -> int:
            told = [c for c in versions if c not in asked["new"]]
            return sum(not _equal(versions[c], held.versions.get(c)) for c in told)

        parent: str | None = asked["parent"]
        best, least = parent, open_(known.get(parent, _Held()) if parent else _Held())
        for id in reversed(list(known)):
            if least and id != asked["checkpoint"]["id"] and (left := open_(known[id])) < least:
                best, least = id, left
        return best

    def _odd(
        self, number: int, checkpoint: Mapping[str, Any], start: _Held, changed: Sequence[str]
    ) -> None:
        """Say what of a checkpoint's values the program cannot express."""
        values, versions = checkpoint["values"], checkpoint["versions"]
        for channel in values:
            if channel not in versions:
                self.note(f"checkpoint {number}: channel {channel!r} has a value and no version")
        for channel in versions:
            if channel in changed:
                continue
            now, then = values.get(channel, _NONE), start.values.get(channel, _NONE)
            if (now is _NONE) != (then is _NONE) or (now is not _NONE and not same(now, then)):
                how = "no value" if now is _NONE else "another value"
                self.note(
                    f"checkpoint {number}: channel {channel!r} has {how} under the version that it had before; "
                    "the program leaves the value as it was"
                )

    def _seen(self, known: Mapping[str, _Held], checkpoint: Mapping[str, Any], number: int) -> Any:
        """`Put.seen` for what the nodes saw."""

        def find(channel: str, version: Any) -> Any:
            if _equal(checkpoint["versions"].get(channel), version):
                return number
            for id in reversed(list(known)):
                if _equal(known[id].versions.get(channel), version):
                    return self.numbers[id]
            return made.new("builtins:int", str(version)) if type(version) is int else version

        seen = {
            node: {c: find(c, version) for c, version in channels.items()}
            for node, channels in checkpoint["seen"].items()
        }
        return seen or False

    def _rest(self, rest: Mapping[str, Any], put: Mapping[str, Any], seen: Any) -> dict[str, Any]:
        """Keys of a checkpoint that a session would fill otherwise."""
        usual: dict[str, Any] = {"v": contract.checkpoint_format()}
        if "pending_sends" in contract.checkpoint_keys():
            usual["pending_sends"] = []
        if "updated_channels" in contract.checkpoint_keys():
            usual["updated_channels"] = sorted(put) if seen else None
        return {k: v for k, v in rest.items() if not same(v, usual.get(k, _NONE))}

    def _put_writes(self, call: Call, asked: dict[str, Any]) -> None:
        if self._lacks("put_writes", asked["thread"], asked["id"]):
            return
        ns = self._ns(asked, "put_writes")
        items = tuple((channel, value) for channel, value in asked["items"])
        self.out.append(
            Writes(self.numbers[asked["id"]], asked["task"], items, asked["path"],
                   self.label(asked["thread"]), ns)
        )  # fmt: skip

    # -- reading -----------------------------------------------------------------------------------

    def _get_tuple(self, call: Call, asked: dict[str, Any]) -> None:
        if not self._lacks("get_tuple", asked["thread"]):
            self.out.append(Get(self.number(asked["id"]), self.label(asked["thread"]), asked["ns"]))

    def _list(self, call: Call, asked: dict[str, Any]) -> None:
        if call.ended == "left":
            self.note("a listing was not read to its end; the program reads all of it")
        self.out.append(
            List(
                None if asked["thread"] is None else self.label(asked["thread"]),
                asked["ns"],
                self.number(asked["id"]),
                asked["filter"],
                self.number(asked["before"]),
                asked["limit"],
            )
        )

    def _get_delta_channel_history(self, call: Call, asked: dict[str, Any]) -> None:
        if not self._lacks("get_delta_channel_history", asked["thread"]):
            ns = self._ns(asked, "get_delta_channel_history")
            self.out.append(
                DeltaHistory(self.number(asked["id"]), tuple(asked["channels"]),
                             self.label(asked["thread"]), ns)
            )  # fmt: skip

    # -- whole threads -----------------------------------------------------------------------------

    def _delete_thread(self, call: Call, asked: dict[str, Any]) -> None:
        self.out.append(DeleteThread(self.label(asked["thread"])))
        self.deleted.add(asked["thread"])

    def _copy_thread(self, call: Call, asked: dict[str, Any]) -> None:
        self.out.append(CopyThread(self.label(asked["thread"]), self.label(asked["target"])))
        for (thread, ns), known in list(self.held.items()):
            if thread == asked["thread"]:
                self.held[asked["target"], ns] = dict(known)

    def _prune(self, call: Call, asked: dict[str, Any]) -> None:
        threads = tuple(self.label(thread) for thread in asked["threads"])
        self.out.append(Prune(threads, asked["strategy"]))

    def _delete_for_runs(self, call: Call, asked: dict[str, Any]) -> None:
        self.out.append(DeleteForRuns(tuple(asked["runs"])))


class _None:
    """Marks what is not there."""


_NONE: Any = _None()


def _equal(one: Any, other: Any) -> bool:
    """Whether two versions are one and the same: 1 is not 1.0."""
    return type(one) is type(other) and bool(one == other)


def _ids(calls: Sequence[Call]) -> list[str]:
    """Every checkpoint id that calls and answers name."""
    found: list[Any] = []
    for call in calls:
        for tree in (call.asked, *call.shown):
            found += [tree.get(key) for key in ("id", "parent", "before")]
            found.append((tree.get("checkpoint") or {}).get("id"))
    return [id for id in found if id is not None]
