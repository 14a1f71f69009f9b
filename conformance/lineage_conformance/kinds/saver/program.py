"""Programs: short lists of saver operations as plain data.

A program names checkpoints by small numbers. Number ``n`` becomes a checkpoint id whose text order is
the order of the numbers, so "latest" is a matter of numbers, not of insertion. Threads, namespaces,
channels and tasks are named by the text that the saver will see (thread ids get a prefix that is
unique to the run). Nothing in a program is a live object, so it can be saved, compared and replayed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lineage_conformance.kinds.saver.operations import Op, op_from_json, walk

FORMAT = 1
"""Version of the JSON form of programs. A reader refuses a larger one."""


@dataclass(frozen=True)
class Program:
    """A list of operations, and where it comes from (`origin`: what it once told apart)."""

    ops: tuple[Op, ...]
    origin: str = ""

    def to_json(self) -> dict[str, Any]:
        """The program as JSON data with its format version."""
        data: dict[str, Any] = {"format": FORMAT, "ops": [op.to_json() for op in self.ops]}
        if self.origin:
            data["origin"] = self.origin
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Program:
        """Read a program. Raises `ValueError` that says what is wrong with the data."""
        version = data.get("format")
        if version != FORMAT:
            raise ValueError(
                f"program format {version!r} is not {FORMAT}, the one this suite reads"
            )
        ops = data.get("ops")
        if not isinstance(ops, list):
            raise ValueError("a program needs a list 'ops'")
        return cls(tuple(op_from_json(item) for item in ops), str(data.get("origin", "")))

    def walk(self) -> Iterator[Op]:
        """Every operation, nested ones included."""
        yield from walk(self.ops)


def program(*ops: Op, origin: str = "") -> Program:
    """Shorthand for a program written by hand."""
    return Program(ops, origin)


def render(prog: Any) -> str:
    """The program as short lines for people, one operation a line; a case of another shape as its JSON data."""
    if not isinstance(prog, Program):
        return json.dumps(prog.to_json(), ensure_ascii=False)
    return "\n".join(line for op in prog.ops for line in op.words())
