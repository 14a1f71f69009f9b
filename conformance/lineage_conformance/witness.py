"""Witnesses: the distinct smallest counterexamples of a law, and what each of them follows from.

Two laws that are broken by the same smallest program, in the same way, are broken by one fault. So a
smallest program is written in one form (`normal`), and has a key. And a list, or the latest checkpoint,
that is wrong exactly as an ideal checkpointer would be that holds what the saver shows by id, is wrong only
because of that: the witness of the wrong checkpoint is its origin.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lineage_conformance import contract
from lineage_conformance.canon import ABSENT
from lineage_conformance.kinds.saver.operations import Op, Put, Writes, walk
from lineage_conformance.kinds.saver.program import Program
from lineage_conformance.trace import Diff


@dataclass
class Witness:
    """One smallest counterexample: a case, what differs in it, and what it follows from."""

    case: Any
    """A `Program`, or a case of another shape."""
    diffs: list[Diff]
    """The differences that break the law, the one that is shown first."""
    key: str
    """What the same counterexample of another law has too."""
    origin: str = ""
    """The key of the counterexample that explains this one; empty: it stands for itself."""
    others: tuple[str, ...] = ()
    """Where the operation that the law is about plays no part: the laws about the saver that it breaks as well."""

    def to_json(self) -> dict[str, Any]:
        """The witness as JSON data."""
        return {
            "key": self.key,
            "from": self.origin or None,
            **({"others": list(self.others)} if self.others else {}),
            "reason": sentence(self.diffs[0]),
            "program": self.case.to_json(),
            "differences": [shown(diff) for diff in self.diffs[:20]],
        }


def shown(diff: Diff) -> dict[str, Any]:
    """A difference as JSON data: where it is, and both sides."""
    return {
        "op": diff.op,
        "at": diff.where,
        "path": list(diff.path),
        "expected": repr(ABSENT) if diff.expected is ABSENT else diff.expected,
        "got": repr(ABSENT) if diff.got is ABSENT else diff.got,
    }


def sentence(diff: Diff) -> str:
    """One line that says what differed."""
    if diff.path[:1] == ("raises",):
        return f"{diff.kind} raised {diff.got}"
    data = shown(diff)
    return f"{diff.where}: expected {_brief(data['expected'])}, got {_brief(data['got'])}"


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 120 else text[:117] + "..."


_NAMED = ("channel_values", "channel_versions", "versions_seen", "pending_writes", "history")
"""Fields in which the path goes on with a name or a place that a program chose."""


def _bare(row: str) -> str:
    """A row as lists show it, without its namespace: ``t/child#1`` as ``t#1``."""
    return re.sub(r"/.*#", "#", row)


_KEYED = ("metadata", "added_metadata", "reserved_metadata")
"""Fields in which the path goes on with a key of the metadata."""

_OWN_KEYS = ("source", "step", "parents", "run_id")
"""Keys of the metadata that LangGraph defines; others are names that a program chose."""


def signature(diff: Diff) -> tuple[str, ...]:
    """What makes two differences the same breach: the operation, the field, and how it went wrong."""
    if diff.path[:1] == ("raises",):
        return (diff.kind, "raises", str(diff.got).partition(":")[0])
    path = diff.path[: 1 if diff.path[:1] and diff.path[0] in _NAMED else 2]
    if path and path[0] in _KEYED and path[1:] and path[1] not in _OWN_KEYS:
        path = (path[0], "key")
    whole = diff.path[-1:] in (("rows",), ("pending_writes",))
    return (diff.kind, *path, _how(diff.expected, diff.got, whole))


def _how(expected: Any, got: Any, whole: bool) -> str:
    """Whether something is there that should not be, is missing, or is another."""
    if expected is ABSENT or expected == "nothing":
        return "extra"
    if got is ABSENT or got == "nothing":
        return "missing"
    if whole and isinstance(expected, list) and isinstance(got, list):
        wanted = [repr(item) for item in expected]
        more = [repr(item) for item in got if repr(item) not in wanted]
        if more and {_bare(text) for text in more} <= {_bare(text) for text in wanted}:
            return "misnamed"
        return "extra" if more else "missing"
    return ""


def key(case: Any, diff: Diff) -> str:
    """Twelve hex digits for a smallest case and the way in which it fails."""
    data = {k: v for k, v in case.to_json().items() if k not in ("origin", "format")}
    if isinstance(case, Program):  # whether it might have been refused is no part of what happened
        data["ops"] = [{k: v for k, v in op.items() if k != "lenient"} for op in data["ops"]]
    text = json.dumps([data, list(signature(diff))], sort_keys=True, default=repr)
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:12]


PARTS = ("id", "thread", "ns", "task", "channel", "key")
"""What the normal form renames."""


def normal(program: Program, parts: tuple[str, ...] = PARTS) -> Program:
    """The program with checkpoints numbered from 1 in their order, and plain names in order of appearance."""
    ids = sorted({n for op in walk(program.ops) for n in _numbers(op)})
    tables: dict[str, dict[Any, Any]] = {
        "id": {number: place for place, number in enumerate(ids, 1)},
        "thread": _plain(program, "thread", ("t", "u", "v", "w")),
        "ns": _plain(program, "ns", ("child", "child2", "child3"), keep=("", None)),
        "task": _plain(program, "task", tuple(f"task-{n}" for n in range(1, 9))),
        "channel": _plain_channels(program),
        "key": _plain_keys(program),
    }
    known = {part: tables[part] for part in parts}

    def one(part: str, text: Any) -> Any:
        return known.get(part, {}).get(text, text)

    def renamed(op: Op) -> Op:
        changes: dict[str, Any] = {}
        for f in dataclasses.fields(op):
            value, part = getattr(op, f.name), _PART_OF.get(f.name)
            if f.name in ("ops", "inner"):
                changes[f.name] = tuple(renamed(inner) for inner in value)
            elif f.name == "items":
                changes[f.name] = tuple((one("channel", k), v) for k, v in value)
            elif part is None or value is None:
                continue
            elif isinstance(value, tuple):
                changes[f.name] = tuple(one(part, item) for item in value)
            elif isinstance(value, Mapping):
                changes[f.name] = {one(part, k): v for k, v in value.items()}
            else:
                changes[f.name] = one(part, value)
        return dataclasses.replace(op, **changes)

    return Program(tuple(renamed(op) for op in program.ops))


_PART_OF = {
    "id": "id", "parent": "id", "before": "id", "thread": "thread", "target": "thread",
    "threads": "thread", "ns": "ns", "task": "task", "set": "channel", "empty": "channel",
    "drop": "channel", "channels": "channel", "meta": "key", "extra": "key", "tags": "key",
    "filter": "key",
}  # fmt: skip


def tidier(program: Program) -> Iterator[Program]:
    """The program in its normal form, and nearer to it: one part of it, then one name."""
    if any(getattr(op, "ns", None) for op in walk(program.ops)):
        yield _at_the_root(program)
    best = normal(program)
    if best.ops == program.ops:
        return
    yield best
    for part in PARTS:
        made = normal(program, (part,))
        if made.ops != program.ops:
            yield made
    for name in ("thread", "ns", "task"):
        for old, new in _pairs(program, best, name):
            yield _with(program, name, old, new)


def _at_the_root(program: Program) -> Program:
    """The program with its namespaces taken for the root one, where they play no part."""

    def changed(op: Op) -> Op:
        changes: dict[str, Any] = {"ns": ""} if getattr(op, "ns", None) else {}
        for nested in ("ops", "inner"):
            if getattr(op, nested, ()):
                changes[nested] = tuple(changed(item) for item in getattr(op, nested))
        return dataclasses.replace(op, **changes)

    return Program(tuple(changed(op) for op in program.ops))


def embeds(small: Any, big: Any) -> bool:
    """Whether `big` does, among other things, what `small` does: the same operations in the same order.

    Names that are odd may be what makes `big` fail, so they are never taken for plain ones.
    """
    if not isinstance(small, Program) or not isinstance(big, Program):
        return False
    ids: dict[int, int] = {}
    rest = iter(big.ops)
    for op in small.ops:
        for other in rest:
            if _like(op, other, ids):
                ids.update(zip(_numbers(op), _numbers(other), strict=False))
                break
        else:
            return False
    pairs = sorted(ids.items())
    return [b for _, b in pairs] == sorted(b for _, b in pairs)


_FREE = ("id", "task", "lenient", "target", "threads")
_PARTS = ("set", "items", "empty", "drop", "meta", "extra", "tags", "path", "seen")


def _like(op: Op, other: Op, ids: dict[int, int]) -> bool:
    """Whether `other` does what `op` does, or more."""
    if type(op) is not type(other) or other.odd() or _nested(op):
        return False
    for f in dataclasses.fields(op):
        mine, theirs = getattr(op, f.name), getattr(other, f.name)
        if f.name in ("id", "parent", "before"):
            if (mine is None) != (theirs is None) and not (f.name == "parent" and mine is None):
                return False
            if mine is not None and ids.get(mine, theirs) != theirs:
                return False
        elif f.name in ("ns", "thread"):
            if (mine is None) != (theirs is None) or (mine == "") != (theirs == ""):
                return False
        elif f.name in _PARTS:
            if not _holds(mine, theirs):
                return False
        elif f.name not in _FREE and mine != theirs:
            return False
    return True


def _holds(mine: Any, theirs: Any) -> bool:
    """Whether `theirs` has as much as `mine`, and all in it that is not just any value."""
    if not mine or not theirs or not hasattr(mine, "__len__") or isinstance(mine, str):
        return bool(theirs) or not mine
    values = list(theirs.values()) if isinstance(theirs, Mapping) else [_value(v) for v in theirs]
    telling = list(mine.values()) if isinstance(mine, Mapping) else [_value(v) for v in mine]
    return len(mine) <= len(theirs) and all(v in values for v in telling if v not in ("x", "y"))


def _value(item: Any) -> Any:
    """The value of a write; a name stands for itself."""
    return item[1] if isinstance(item, tuple) else "x"


def _nested(op: Op) -> bool:
    return bool(getattr(op, "ops", ()) or getattr(op, "inner", ()))


def _numbers(op: Op) -> Iterator[int]:
    for name in ("id", "parent", "before"):
        number = getattr(op, name, None)
        if number is not None:
            yield number


def _plain(
    program: Program, name: str, names: tuple[str, ...], keep: tuple[Any, ...] = (None,)
) -> dict[Any, str]:
    """Text to plain text, in order of appearance; as it is where there are too many."""
    found: list[Any] = []
    for op in walk(program.ops):
        texts = [getattr(op, name, None)]
        if name == "thread":
            texts += [getattr(op, "target", None), *getattr(op, "threads", ())]
        found += [text for text in texts if text not in keep and text not in found]
    return dict(zip(found, names, strict=False)) if len(found) <= len(names) else {}


def _plain_channels(program: Program) -> dict[str, str]:
    found: dict[str, None] = {}
    for op in walk(program.ops):
        if isinstance(op, Put):
            found.update(dict.fromkeys((*op.set, *op.empty, *op.drop)))
        elif isinstance(op, Writes):
            found.update(dict.fromkeys(channel for channel, _ in op.items))
        found.update(dict.fromkeys(getattr(op, "channels", ())))
    own = [c for c in found if not c.startswith("__")]
    return dict(zip(own, "abcdefgh", strict=False)) if len(own) <= 8 else {}


_META = ("meta", "extra", "tags", "filter")


def _plain_keys(program: Program) -> dict[str, str]:
    found: dict[str, None] = {}
    for op in walk(program.ops):
        for name in _META:
            found.update(dict.fromkeys(getattr(op, name, None) or ()))
    own = [k for k in found if k not in _OWN_KEYS and not contract.reserved(k)]
    return dict(zip(own, "klmnopqr", strict=False)) if len(own) <= 8 else {}


def _pairs(program: Program, best: Program, name: str) -> list[tuple[str, str]]:
    pairs = {
        (getattr(old, name), getattr(new, name))
        for old, new in zip(walk(program.ops), walk(best.ops), strict=True)
        if hasattr(old, name) and getattr(old, name) != getattr(new, name)
    }
    return sorted(pairs, key=repr)


def _with(program: Program, name: str, old: str, new: str) -> Program:
    def changed(op: Op) -> Op:
        made = op
        for nested in ("ops", "inner"):
            if getattr(op, nested, ()):
                inner = tuple(changed(item) for item in getattr(op, nested))
                made = dataclasses.replace(made, **{nested: inner})
        if getattr(op, name, None) == old:
            made = dataclasses.replace(made, **{name: new})
        return made

    return Program(tuple(changed(op) for op in program.ops))


__all__ = ["Witness", "embeds", "key", "normal", "signature", "tidier"]
