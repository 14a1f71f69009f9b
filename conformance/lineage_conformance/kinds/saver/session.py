"""Sessions: run a program on one face of one target, next to the model, and say where they differ."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from lineage_conformance.canon import Difference, differences
from lineage_conformance.handles import Face, Handle, halves
from lineage_conformance.kinds.saver.model import Model
from lineage_conformance.kinds.saver.oracle import Change, Oracle
from lineage_conformance.raised import Raised
from lineage_conformance.trace import Diff, Trace

Name = tuple[str, str]
"""What is named (thread, ns, channel, task), and the text."""

_numbers = itertools.count(1)


@dataclass(frozen=True)
class Declared:
    """What a target says of itself: limits that it does not go beyond, and what it does to values."""

    limits: Mapping[str, str] = field(default_factory=dict)
    transforms: Change | None = None


class Operation(Protocol):
    """What a session asks of an operation."""

    @property
    def name(self) -> str:
        """Its name in JSON and differences."""

    def run(self, on: Session) -> None:
        """Call the saver, let the model do the same, and note what differs. Raises `Raised`."""

    def odd(self) -> frozenset[Name]:
        """The names in it that a saver may refuse."""

    def odd_filter(self) -> bool:
        """Whether it filters on what a saver may refuse."""


class Played(Protocol):
    """What a session asks of a program."""

    @property
    def ops(self) -> Sequence[Operation]:
        """Its operations in their order."""


class Session:
    """One example: fresh thread ids on an open store, one face, one model.

    `opener` opens a handle on the store (called again for a second handle and after `reopen`);
    `beat` is told the index of each operation before it runs, so that a hang can be located; `declared` is
    what the target says of itself.
    """

    def __init__(
        self,
        opener: Callable[[], Handle],
        face: Face,
        beat: Callable[[int], None] = lambda op: None,
        handles: dict[int, Handle] | None = None,
        declared: Declared | None = None,
    ) -> None:
        self.opener, self.beat = opener, beat
        self.declared = declared or Declared()
        self.writer, self.reader = halves(face)
        self.handles = {} if handles is None else handles
        self.nonce = f"{next(_numbers):04x}{uuid.uuid4().hex[:8]}"
        limits, transforms = self.declared.limits, self.declared.transforms
        oracle = Oracle(self.handle(0).saver, transforms, own="values" in limits)
        self.model = Model(oracle.expected)
        self.trace = Trace()
        self.stored: set[tuple[str, str]] = set()
        """Odd names under which something was stored: they may not be refused any more."""
        self.state: dict[tuple[str, str, int], tuple[dict[str, Any], dict[str, Any]]] = {}
        self.returned: dict[tuple[str, str, int], Any] = {}
        self.written: dict[tuple[str, str, int], list[tuple[str, str, Any]]] = {}
        self.at = 0

    def run(self, program: Played) -> Trace:
        """Run every operation and return what differed."""
        for index, op in enumerate(program.ops):
            self.at = index
            self.beat(index)
            self.play(op)
        return self.trace

    def handle(self, number: int) -> Handle:
        """Handle `number` on the store, opened when it is first used."""
        if number not in self.handles:
            self.handles[number] = self.opener()
        return self.handles[number]

    # -- names ---------------------------------------------------------------------------------

    def thread(self, label: str) -> str:
        """The thread id for a label: unique to this example, the label's own text at the end."""
        return f"{self.nonce}-{label}"

    def id(self, number: int) -> str:
        """The checkpoint id for a number: a version 6 UUID in shape, ordered like the numbers."""
        return f"1f{number:06x}-0000-6000-8000-{self.nonce}"

    def id_or_none(self, number: int | None) -> str | None:
        """The same, where None stands for the latest."""
        return None if number is None else self.id(number)

    def config(self, op: Any, id: int | None) -> dict[str, Any]:
        """The config that an operation names."""
        key = (op.thread, op.ns or "", id)
        if getattr(op, "via", "built") == "returned" and id is not None and key in self.returned:
            return dict(self.returned[key])
        conf: dict[str, Any] = {"thread_id": self.thread(op.thread)}
        if op.ns is not None:
            conf["checkpoint_ns"] = op.ns
        if id is not None:
            conf["checkpoint_id"] = self.id(id)
        return {"configurable": conf}

    # -- running -------------------------------------------------------------------------------

    def play(self, op: Operation) -> None:
        """Run one operation, and note what it raises."""
        self.trace.seen[f"{op.name}:raises"] += 1
        try:
            op.run(self)
        except Raised as raised:
            self.failed(op, raised)
        else:
            self.stored |= op.odd()

    def failed(self, op: Operation, raised: Raised) -> None:
        """Note what an operation raised: a refusal where one is allowed, else a difference."""
        if getattr(op, "lenient", False) or self._may_refuse(op):
            self.trace.refused.append((self.at, str(raised)))
        else:
            self.differ(op, ("raises",), "no exception", str(raised))

    def _may_refuse(self, op: Operation) -> bool:
        """A loud refusal is fine for a name that is odd, before anything is stored under it."""
        return op.odd_filter() or bool(op.odd() - self.stored)

    def differ(self, op: Operation, path: tuple[str, ...], expected: Any, got: Any) -> None:
        """Note a difference."""
        self.trace.diffs.append(Diff(self.at, op.name, path, expected, got))

    def report(self, op: Operation, found: Iterable[Difference], *fields: str) -> None:
        """Note the differences, and which fields were compared."""
        self.trace.seen.update(f"{op.name}:{field}" for field in fields)
        for difference in found:
            self.differ(op, *difference)

    def compare(self, op: Operation, expected: Any, got: Any, path: tuple[str, ...]) -> None:
        """Note where two trees differ, below a path."""
        self.report(op, differences(expected, got, path), ".".join(path))

    def forgive(self, expected: dict[str, Any], got: Any) -> None:
        """A saver that keeps no history need not name the parent, which it does not have any more."""
        shallow = "history" in self.declared.limits
        if shallow and isinstance(got, dict) and got["parent_config"] is None:
            expected["parent_config"] = None
