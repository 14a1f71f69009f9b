"""The end of a script: what a call must have answered, taken from the first difference of the evidence."""

from __future__ import annotations

from collections.abc import Mapping

from lineage_conformance.kinds.saver.operations import DeltaHistory, Get, List, Mint, Put, Writes
from pytest_lineage.report.scripting.literals import ABSENT, literal
from pytest_lineage.report.scripting.tuples import CannotTell, TupleCheck, number_of


class Check(TupleCheck):
    """Adds the lines that compare, for one difference."""

    def add(self) -> None:
        """Add the last call and the assertion."""
        head = self.path[0] if self.path else ""
        if head == "raises":
            self._raises()
        elif head == "arguments":
            self._arguments()
        elif head == "minted":
            self._minted()
        elif isinstance(self.op, Put) and head == "returned":
            self._returned(self.op)
        elif isinstance(self.op, Get):
            self.calls.say(f"got = {self.op.source(self.calls)}")
            self._get(self.op)
        elif isinstance(self.op, List):
            self._list(self.op)
        elif isinstance(self.op, DeltaHistory):
            self.calls.say(f"got = {self.op.source(self.calls)}")
            self._delta(self.op)
        else:
            raise CannotTell(f"a difference at {self.kind}:{'.'.join(self.path)} is not known")

    def _raises(self) -> None:
        calls = self.calls
        before = len(calls.lines)
        if isinstance(self.op, Mint):
            calls.say(self.op.source(calls))
        elif isinstance(self.op, List) and self.op.inner:
            self._with_inner(self.op)
        else:
            self.op.write(calls)
        if self.got == "no answer" or self.expected == "an answer":
            return
        last = len(calls.lines) - 1
        while last > before and calls.lines[last].depth > calls.depth:
            last -= 1
        tried = calls.lines[last:]
        del calls.lines[last:]
        calls.say("try:")
        for line in tried:
            calls.say(line.text, line.depth - calls.depth + 1)
        calls.say("except Exception as error:")
        what = {"writes": "put_writes", "get": "get_tuple"}.get(self.kind, self.kind)
        calls.say(f'raise AssertionError(f"{what} must not raise, got {{error!r}}") from error', 1)

    def _arguments(self) -> None:
        calls, op = self.calls, self.op
        assert isinstance(op, (Put, Writes))
        method = "put" if isinstance(op, Put) else "put_writes"
        calls.say(f"args = ({', '.join(op.arguments(calls))})")
        calls.say("before = repr(args)")
        calls.say(calls.call(calls.writer, op.handle, method, ["*args"]))
        calls.say(
            'assert repr(args) == before, f"the arguments were changed from {before} to {args!r}"'
        )

    def _minted(self) -> None:
        assert isinstance(self.op, Mint)
        saver = self.calls.name(0)
        self.calls.say(f"minted = [{saver}.get_next_version({self.op.start!r}, None)]")
        self.calls.say(f"for _ in range({self.op.count - 1}):")
        self.calls.say(f"minted.append({saver}.get_next_version(minted[-1], None))", 1)
        self.calls.say(
            "assert all(type(a) is type(b) and a < b for a, b in zip(minted, minted[1:])), "
            'f"versions must rise, got {minted}"'
        )

    def _returned(self, op: Put) -> None:
        self.calls.say(f"got = {op.source(self.calls)}")
        key = self.path[-1] if len(self.path) > 1 else "checkpoint_id"
        expected = self.expected
        if isinstance(expected, Mapping):
            expected = expected["configurable"]["checkpoint_id"]
        self._equal(
            f'((got or {{}}).get("configurable") or {{}}).get({key!r})', self._name(expected)
        )

    def _delta(self, op: DeltaHistory) -> None:
        channel = next(
            (c for c in op.channels if ".".join(self.path[1:]).startswith(c)), op.channels[0]
        )
        rest = ".".join(self.path[1:]).removeprefix(channel).strip(".").split(".")
        tree = self.oracle.expected(op)[channel]
        if rest[0] == "seed":
            expected = self._value(tree["seed"]) if "seed" in tree else repr(ABSENT)
            self._equal(f"got[{channel!r}].get('seed', {ABSENT!r})", expected, by_type=True)
        else:
            found = f"[list(write) for write in got[{channel!r}]['writes']]"
            expected = ", ".join(map(self._write, tree["writes"]))
            self._equal(found, f"[{expected}]")

    # -- lists -------------------------------------------------------------------------------------

    def _list(self, op: List) -> None:
        if op.inner:
            self._with_inner(op)
            return
        self.calls.say(f"rows = {op.source(self.calls)}")
        if self.path[0] in ("rows", "order"):
            self._rows(op)
            return
        wanted = [row for row in self.oracle.expected(op) if self._agrees(row)]
        if not wanted:
            raise CannotTell("it is not known in which row of list the difference lies")
        self._row([number_of(row) for row in wanted], len(self.oracle.expected(op)))
        self._tuple(wanted[0], "row", self.path[1:])

    def _row(self, numbers: list[int], count: int) -> None:
        say = self.calls.say
        if count == 1:
            say("assert len(rows) == 1, rows")
            say("row = rows[0]")
            return
        self.calls.helpers.add("cid")
        wanted = f"cid({numbers[0]})"
        say(f'row = next(r for r in rows if r.config["configurable"]["checkpoint_id"] == {wanted})')

    def _with_inner(self, op: List) -> None:
        calls = self.calls
        op.iterate(calls)
        for inner in op.inner[:-1]:
            inner.write(calls)
        inner = op.inner[-1]
        if isinstance(inner, Get) and self.kind == "get" and self.path[0] != "raises":
            calls.say(f"got = {inner.source(calls)}")
            self._get(inner)
        else:
            inner.write(calls)

    def _rows(self, op: List) -> None:
        names = self._places()
        expected = [names.get(str(name)) for name in self.expected]
        if None in expected:
            raise CannotTell("a row that list should give is not one of the program's checkpoints")
        self.calls.helpers.add("cid")
        inside = all(
            names.get(str(name), ("?",))[:2] == (op.thread, op.ns or "") for name in self.got
        )
        narrow = op.thread is not None and op.ns is not None and inside
        get = 'r.config["configurable"]'
        if narrow:
            found = f'[{get}["checkpoint_id"] for r in rows]'
            listed = [f"cid({item[2]})" for item in expected if item]
        else:
            keys = ("thread_id", "checkpoint_ns", "checkpoint_id")
            found = "[(" + ", ".join(f'{get}["{key}"]' for key in keys) + ") for r in rows]"
            listed = [
                f"({self.calls.thread(thread)}, {literal(ns)}, cid({id}))"
                for thread, ns, id in filter(None, expected)
            ]
        if self.path[0] == "order":
            found = found if narrow else f"sorted({found}, key=lambda key: key[:2])"
            self._equal(found, f"[{', '.join(listed)}]")
        elif len(listed) > 1:
            self._equal(f"sorted({found})", f"sorted([{', '.join(listed)}])")
        else:
            self._equal(found, f"[{', '.join(listed)}]")

    def _places(self) -> dict[str, tuple[str, str, int]]:
        """What `observe.short` calls each checkpoint, and where it is."""
        places = {}
        for thread, ns, id in self.calls.values:
            label = f"{thread}/{ns}" if ns else thread
            places[f"{label}#{id}"] = (thread, ns, id)
        return places
