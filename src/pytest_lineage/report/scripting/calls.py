"""Operations of a program as plain calls of a saver."""

from __future__ import annotations

from collections.abc import Sequence

from lineage_conformance.kinds.saver.program import (
    CopyThread,
    DeleteForRuns,
    DeleteThread,
    DeltaHistory,
    Get,
    List,
    Mint,
    Op,
    OwnLoop,
    Prune,
    Put,
    Reopen,
    Together,
    Vanish,
    Writes,
)
from pytest_lineage.report.scripting.arguments import Arguments


class Calls(Arguments):
    """Turns operations into lines."""

    def do(self, op: Op) -> None:
        """Add the lines of an operation whose answer does not matter."""
        if isinstance(op, (Put, Writes)):
            self._write(op)
        elif isinstance(op, (Get, List, DeltaHistory)):
            self.say(self.answer(op))
        elif isinstance(op, Reopen):
            self._reopen()
        elif isinstance(op, Vanish):
            self.say("del appmod.Gone  # the next deploy does not have the class any more")
        elif isinstance(op, Together):
            self._together(op.ops)
        elif isinstance(op, OwnLoop):
            self._own_loop(op.ops)
        elif not isinstance(op, Mint):
            self.say(self.answer(op))

    def answer(self, op: Op) -> str:
        """The expression for an operation that is one call."""
        if isinstance(op, Put):
            return self.call(self.writer, self.name(op.handle), "put", self.put(op))
        if isinstance(op, Writes):
            return self.call(self.writer, self.name(op.handle), "put_writes", self.writes(op))
        if isinstance(op, Get):
            config = self.config(op, op.id)
            return self.call(self.reader, self.name(op.handle), "get_tuple", [config])
        if isinstance(op, List):
            return self._list(op)
        method, arguments = self._simple(op)
        half = self.reader if isinstance(op, DeltaHistory) else self.writer
        return self.call(half, self.name(getattr(op, "handle", 0)), method, arguments)

    def _simple(self, op: Op) -> tuple[str, list[str]]:
        if isinstance(op, DeleteThread):
            return op.name, [self.thread(op.thread)]
        if isinstance(op, CopyThread):
            self._copied(op)
            return op.name, [self.thread(op.thread), self.thread(op.target)]
        if isinstance(op, Prune):
            threads = ", ".join(map(self.thread, op.threads))
            return op.name, [f"[{threads}]", f"strategy={op.strategy!r}"]
        if isinstance(op, DeleteForRuns):
            return op.name, [repr([str(run) for run in op.runs])]
        assert isinstance(op, DeltaHistory)
        config = self.config(op, op.id)
        return "get_delta_channel_history", [f"config={config}", f"channels={list(op.channels)!r}"]

    def _copied(self, op: CopyThread) -> None:
        for held in (self.values, self.versions):
            for (thread, ns, id), value in list(held.items()):
                if thread == op.thread:
                    held[op.target, ns, id] = value

    def _write(self, op: Put | Writes) -> None:
        key = (op.thread, op.ns, op.id)
        text = self.answer(op)
        if isinstance(op, Put) and key in self.wanted:
            self.returned[key] = f"c{len(self.returned) + 1}"
            text = f"{self.returned[key]} = {text}"
        self.say(text)

    def _list(self, op: List) -> str:
        saver, inside = self.name(op.handle), ", ".join(self.listing(op))
        if self.reader == "async":
            return f"[row async for row in {saver}.alist({inside})]"
        if self.is_async:
            self.need("asyncio")
            return f"await asyncio.to_thread(lambda: list({saver}.list({inside})))"
        return f"list({saver}.list({inside}))"

    def iterate(self, op: List) -> None:
        """Take the first row of a list and keep the iterator open."""
        saver, inside = self.name(op.handle), ", ".join(self.listing(op))
        if self.reader == "async":
            self.say(f"rows = {saver}.alist({inside})")
            step = "await anext(rows, None)"
        else:
            self.say(f"rows = iter({saver}.list({inside}))")
            step = (
                "await asyncio.to_thread(next, rows, None)" if self.is_async else "next(rows, None)"
            )
        if self.is_async:
            self.need("asyncio")
        self.say(f"{step}  # the iterator stays open")

    def _reopen(self) -> None:
        if self.opening.manner in ("with", "async with"):
            self.depth -= len(self.handles)
        self.handles.clear()
        self.name(0)

    def _together(self, ops: Sequence[Op]) -> None:
        """Every branch at once, released by a barrier where there are threads."""
        if self.writer == "async":
            self.need("asyncio")
            calls = [self.answer(op).removeprefix("await ") for op in ops]
            self.say(f"await asyncio.gather({', '.join(calls)})")
            return
        self.need("from concurrent.futures import ThreadPoolExecutor", "threading")
        was, self.is_async = self.is_async, False
        calls = [f"lambda: {self.answer(op)}" for op in ops]
        self.is_async = was
        self.say(f"calls = [{', '.join(calls)}]")
        self.say(f"gate = threading.Barrier({len(ops)})")
        self.say(f"with ThreadPoolExecutor({len(ops)}) as pool:")
        self.say("list(pool.map(lambda call: (gate.wait(), call()), calls))", 1)

    def _own_loop(self, ops: Sequence[Op]) -> None:
        """The sync half, called from inside the loop that drives the saver; it may refuse."""
        self.need("contextlib")
        was, self.is_async, self.writer = (self.is_async, self.writer), False, "sync"
        for op in ops:
            text = self.answer(op)
            self.say("with contextlib.suppress(Exception):  # a refusal is fine")
            self.say(text, 1)
        self.is_async, self.writer = was
