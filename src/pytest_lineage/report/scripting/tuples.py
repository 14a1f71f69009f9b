"""Comparing checkpoint tuples and values: source for what was expected, and for how to get at it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lineage_conformance import contract, zoo
from lineage_conformance.canon import canon
from lineage_conformance.kinds.saver.operations import Get, Op, Writes, walk
from pytest_lineage.report.scripting.calls import Calls
from pytest_lineage.report.scripting.literals import (
    ABSENT,
    Unknown,
    expression,
    is_thread,
    literal,
    number,
    told,
)
from pytest_lineage.report.scripting.oracle import Oracle, place, sorted_writes


class CannotTell(Exception):
    """No short script can show this difference."""


class TupleCheck:
    """Adds the lines that compare one tuple with what the evidence says of it."""

    def __init__(
        self, calls: Calls, op: Op, differences: Sequence[Mapping[str, Any]], oracle: Oracle
    ) -> None:
        self.calls, self.op, self.oracle = calls, op, oracle
        first = differences[0]
        self.kind, _, path = str(first["at"]).partition(":")
        self.path = _path(first, path)
        self.expected, self.got = first["expected"], first["got"]
        self.others = [_path(d, str(d["at"]).partition(":")[2]) for d in differences]

    def _equal(self, found: str, expected: str, by_type: bool = False) -> None:
        say = self.calls.say
        say(f"found, expected = {found}, {expected}")
        left, right = ("repr(found)", "repr(expected)") if by_type else ("found", "expected")
        say(f'assert {left} == {right}, f"expected {{expected!r}}, got {{found!r}}"')

    def _get(self, op: Get) -> None:
        tree = self.oracle.expected(op)
        if self.path[0] == "found":
            if self.expected == "nothing":
                self.calls.say('assert got is None, f"expected nothing, got {got}"')
            else:
                self.calls.say('assert got is not None, "expected a checkpoint, got nothing"')
            return
        if tree is None:
            raise CannotTell("the checkpoint that is read is not one of the program's")
        self._tuple(tree, "got", self.path)

    def _agrees(self, row: Mapping[str, Any]) -> bool:
        """Whether the difference can lie in this row: the model expects there what the evidence says."""
        path = self.path[1:]
        if path[:1] in (("lost",), ("writes_order",), ("reserved_metadata",), ("found",)):
            return True
        if "~" in "".join(path) or path[:1] == ("channel_versions",):
            return bool(place(sorted_writes(row), path[:2]) != ABSENT)
        return bool(told(place(sorted_writes(row), path)) == told(self.expected))

    def _tuple(self, tree: Mapping[str, Any], name: str, path: tuple[str, ...]) -> None:
        head = path[0]
        key = _place(tree, self.oracle)
        if head in ("config", "parent_config"):
            self._config(f"{name}.{head}", path)
        elif head == "writes_order":
            expected = ", ".join(map(self._write, tree["pending_writes"]))
            self._equal(f"[list(write) for write in {name}.pending_writes]", f"[{expected}]")
        elif head == "pending_writes":
            self._pending(tree, name, path)
        elif head == "lost":
            self._lost(name, path)
        elif head in ("channel_versions", "versions_seen"):
            self._versions(name, path, key)
        elif head == "channel_values" and len(path) > 1:
            channels = self.calls.values.get(key, {})
            channel = _channel(path[1:], channels)
            base = f'{name}.checkpoint["channel_values"]'
            self._inside(base, channel, ".".join(path[1:]), path, channels.get(channel))
        else:
            base = f"{name}.metadata" if "metadata" in head else f"{name}.checkpoint"
            keys = path[1:] if "metadata" in head else path
            self._plain(base, keys)

    def _config(self, base: str, path: tuple[str, ...]) -> None:
        if self.expected is None:
            self._equal(base, "None")
            return
        key, expected = path[-1] if len(path) > 1 else "checkpoint_id", self.expected
        if isinstance(expected, Mapping):
            expected = expected["configurable"]["checkpoint_id"]
        self._equal(
            f'(({base} or {{}}).get("configurable") or {{}}).get({key!r})', self._name(expected)
        )

    def _versions(self, name: str, path: tuple[str, ...], key: tuple[str, str, int]) -> None:
        base = f'{name}.checkpoint["{path[0]}"]'
        skip = 2 if path[0] == "versions_seen" else 1
        for part in path[1:skip]:
            base = f"{base}[{part!r}]"
        versions = self.calls.versions.get(key, {})
        channel = ".".join(path[skip:])
        if channel in versions:
            found = f"{base}.get({channel!r}, {ABSENT!r})"
            self._equal(found, versions[channel][1], by_type=True)
        else:
            self._plain(f"{name}.checkpoint", path)

    def _lost(self, name: str, path: tuple[str, ...]) -> None:
        channel = ".".join(path[2:])
        if path[1] == "channel_values":
            found = f'{name}.checkpoint["channel_values"].get({channel!r})'
        else:
            found = f"[w[2] for w in {name}.pending_writes if w[1] == {channel!r}][-1]"
        self.calls.say(f"found = {found}")
        self.calls.say('assert found is not None, "a value that was stored came back as None"')

    def _pending(self, tree: Mapping[str, Any], name: str, path: tuple[str, ...]) -> None:
        """The writes as a whole, by task: a single one that differs says little."""
        writes = sorted_writes(tree)["pending_writes"]
        if len(path) > 2 and path[2] == "2" and self._one(writes, int(path[1]), name):
            return
        expected = [self._write(write) for write in writes]
        found = f"[list(write) for write in {name}.pending_writes]"
        special = {w[1]: contract.SPECIAL[w[1]] for w in writes if w[1] in contract.SPECIAL}
        if len(writes) > 1 and special:
            found = f"sorted({found}, key=lambda w: (w[0], {special!r}.get(w[1], 0)))"
        elif len({write[0] for write in writes}) > 1:
            found = f"sorted({found}, key=lambda w: w[0])"
        by_type = not all(_simple(write[2]) for write in writes) or self._alike()
        if len(", ".join(expected)) > 200 and len(path) > 2:
            at = int(path[1])
            self._equal(f"{found}[{at}]", expected[at], by_type)
        else:
            self._equal(found, f"[{', '.join(expected)}]", by_type)

    def _one(self, writes: Sequence[Any], index: int, name: str) -> bool:
        """Compare the value of one write, where the channel names it and the whole would be long."""
        channels = [write[1] for write in writes]
        value = writes[index][2]
        short = _simple(value) and len(repr(writes)) < 80
        if channels.count(channels[index]) > 1 or (len(writes) == 1 and short):
            return False
        found = f"dict(write[1:] for write in {name}.pending_writes)[{channels[index]!r}]"
        self._equal(found, self._value(value), by_type=not _simple(value) or self._alike())
        return True

    def _write(self, write: Sequence[Any]) -> str:
        return f"[{literal(str(write[0]))}, {literal(str(write[1]))}, {self._value(write[2])}]"

    def _inside(
        self, base: str, channel: str, dotted: str, path: tuple[str, ...], value: Any
    ) -> None:
        """Compare within a channel's value: the whole of it where its parts have no plain path."""
        if dotted == channel and ABSENT in (self.expected, self.got):
            by_type = self.got != ABSENT and self.expected != ABSENT
            expected = repr(ABSENT) if self.expected == ABSENT else self._source(value)
            self._equal(f"{base}.get({channel!r}, {ABSENT!r})", expected, by_type)
        elif (
            _simple(self.expected) and _simple(self.got) and ABSENT not in (self.expected, self.got)
        ):
            whole = self._source(value)
            self._equal(f"{base}[{channel!r}]", whole, by_type=self._alike())
        else:
            self._equal(f"{base}[{channel!r}]", self._source(value), by_type=True)

    def _plain(self, base: str, keys: tuple[str, ...]) -> None:
        """Compare at a path of plain keys, e.g. in metadata."""
        clean = [k for k in keys if not k.startswith("~")]
        for part in clean[:-1]:
            base = f"{base}[{int(part) if part.isdigit() else repr(part)}]"
        found = base
        if clean:
            last = clean[-1]
            found = f"{base}.get({last!r}, {ABSENT!r})" if not last.isdigit() else f"{base}[{last}]"
        try:
            expected = self._name(self.expected)
        except Unknown as unknown:
            raise CannotTell("the expected value cannot be written down") from unknown
        self._equal(found, expected, by_type=self._alike())

    def _name(self, tree: Any) -> str:
        text = expression(tree)
        if "cid(" in text:
            self.calls.helpers.add("cid")
        if isinstance(tree, str) and not text.startswith("cid(") and is_thread(tree):
            return self.calls.thread(tree.partition("-")[2])
        return text

    def _value(self, tree: Any) -> str:
        """Source for a value that was stored: as the program wrote it, or as its serializer returns it."""
        for value in self._stored():
            if canon(zoo.build(value)) == tree:
                return self.calls.value(value)
        try:
            return expression(tree)
        except Unknown:
            raise CannotTell("the expected value cannot be written down") from None

    def _source(self, value: Any) -> str:
        text = self.calls.value(value)
        if self.oracle.survives(zoo.build(value)):
            return text
        return f"saver.serde.loads_typed(saver.serde.dumps_typed({text}))"

    def _stored(self) -> list[Any]:
        values = [value for held in self.calls.values.values() for value in held.values()]
        for op in walk(tuple(self.oracle.ops)):
            if isinstance(op, Writes):
                values += [value for _, value in op.items]
        return values

    def _alike(self) -> bool:
        """Whether ``==`` would call both sides equal although they are not: 1, 1.0 and True."""
        try:
            left, right = expression(self.expected), expression(self.got)
            return bool(eval(left, {"cid": str}) == eval(right, {"cid": str}))
        except Exception:
            return True


def _path(difference: Mapping[str, Any], dotted: str) -> tuple[str, ...]:
    given = difference.get("path")
    return tuple(given) if isinstance(given, (list, tuple)) else tuple(dotted.split("."))


def _simple(tree: Any) -> bool:
    """Whether a tree is JSON without floats or tags, so that ``==`` is a fair comparison."""
    if isinstance(tree, list):
        return all(map(_simple, tree))
    if isinstance(tree, Mapping):
        return not any(str(k).startswith("~") for k in tree) and all(map(_simple, tree.values()))
    return tree is None or isinstance(tree, (bool, int, str))


def _channel(parts: Sequence[str], channels: Mapping[str, Any]) -> str:
    """The channel that a path starts with; its name may hold dots."""
    for end in range(len(parts), 0, -1):
        if ".".join(parts[:end]) in channels:
            return ".".join(parts[:end])
    return parts[0]


def number_of(tree: Mapping[str, Any]) -> int:
    """The number of the checkpoint that a tuple's tree is about."""
    return number(str(tree["config"]["configurable"]["checkpoint_id"])) or 0


def _place(tree: Mapping[str, Any], oracle: Oracle) -> tuple[str, str, int]:
    conf = tree["config"]["configurable"]
    label = str(conf["thread_id"]).removeprefix(f"{oracle.session.nonce}-")
    return label, str(conf["checkpoint_ns"]), number_of(tree)
