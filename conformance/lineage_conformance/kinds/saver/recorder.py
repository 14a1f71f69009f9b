"""The recorder: what anybody asked of a saver, the engine or an application, as a program.

    with recording(saver) as tape:
        graph.invoke(...)
    tape.program()

While it is on, the saver's class is replaced by a subclass made at run time (see `graphs.watch`). A call counts
once: what the saver itself calls meanwhile, in its own task, in a thread that took over the context, or in a
thread that was handed the same objects, is part of that call. Arguments are written down when a call begins,
because the caller may change them; the call takes its place in the order when it *ends*, a listing when its first
row arrives. Of two calls one of which ended before the other began, this is the order in which they were made; for
calls that overlap it is the order in which the saver said that it was done.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator, Mapping
from typing import Any

from lineage_conformance.handles import Half
from lineage_conformance.kinds.saver import interpose, transcript, written
from lineage_conformance.kinds.saver.program import Program
from lineage_conformance.kinds.saver.written import Call
from lineage_conformance.trace import Diff


class Recording:
    """The calls on one or more savers over the same store, in order."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.notes: list[str] = []
        """What could not be written down, in sentences, each once."""
        self.raised: list[Diff] = []
        """What raised while it was recorded, by the operations of `program`: a replay may not show it again."""
        self.on = True
        self._lock = threading.RLock()
        self._open: list[tuple[str, Half, dict[str, Any]]] = []
        self._attached: list[tuple[Any, type[Any]]] = []

    def attach(self, saver: Any) -> Any:
        """Record the calls on `saver` too and return it. From the second saver on, the store was opened again.

        Raises `TypeError` if the class of the object cannot be changed.
        """
        plain = type(saver)
        try:
            saver.__class__ = interpose.subclass(plain, saver, self)
        except TypeError as error:
            raise TypeError(f"{plain.__name__} cannot be recorded: {error}") from None
        if self._attached:
            self.add(Call("reopen", "sync", {}))
        self._attached.append((saver, plain))
        return saver

    def detach(self) -> None:
        """End the recording; every saver is of its own class again."""
        self.on = False
        while self._attached:
            saver, plain = self._attached.pop()
            saver.__class__ = plain

    def program(self, origin: str = "") -> Program:
        """The calls as a program of saver operations; what it cannot express is added to `notes`."""
        with self._lock:
            calls = list(self.calls)
        made, raised = transcript.program(calls, self.note, origin)
        self.raised = [Diff(at, op, ("raises",), "no exception", error) for at, op, error in raised]
        return made

    def note(self, text: str) -> None:
        """Write a sentence down, unless it is there."""
        with self._lock:
            if text not in self.notes:
                self.notes.append(text)

    # -- what the wrapped methods do ---------------------------------------------------------------

    def add(self, call: Call) -> None:
        """Give a call its place in the order, unless it has one."""
        with self._lock:
            if not call.placed:
                call.placed = True
                self.calls.append(call)

    def begin(self, method: str, half: Half, given: dict[str, Any]) -> Call | None:
        """A call that begins; None if it is part of another one, or nothing is recorded."""
        if not self.on or interpose.inside():
            return None
        with self._lock:
            for name, other, objects in self._open:
                if name == method and other != half and _same(objects, given):
                    return None
            self._open.append((method, half, given))
        return Call(method, half, written.asked(method, given, self.note))

    def end(self, call: Call, given: dict[str, Any], error: BaseException | None = None) -> None:
        """What becomes of a call."""
        if error is not None:
            cancelled = isinstance(error, asyncio.CancelledError)
            call.ended = "cancelled" if cancelled else "raised"
            call.error = f"{type(error).__name__}: {str(error)[:300]}"
        self.add(call)
        self.close(given)

    def close(self, given: dict[str, Any]) -> None:
        """The call with these arguments is over."""
        with self._lock:
            self._open = [item for item in self._open if item[2] is not given]

    def show(self, call: Call, made: Any) -> None:
        """Write down the tuple that a read gave."""
        if made is not None:
            tree = written.shown(made, self.note)
            if tree is not None:
                call.shown.append(tree)


@contextlib.contextmanager
def recording(saver: Any) -> Iterator[Recording]:
    """Record the calls on a saver within the block. The saver is the same object, of its own class again on exit."""
    tape = Recording()
    tape.attach(saver)
    try:
        yield tape
    finally:
        tape.detach()


def _same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two calls were handed the same objects."""
    shared = one.keys() & other.keys()
    return bool(shared) and all(one[name] is other[name] for name in shared)
