"""The operations of a program: each is one class that knows how it runs, reads and is written as source."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from lineage_conformance.kinds.saver.operations.around import (
    Mint,
    OwnLoop,
    Reopen,
    Together,
    Vanish,
)
from lineage_conformance.kinds.saver.operations.base import NESTED, Op, Place, Script, default_of
from lineage_conformance.kinds.saver.operations.reading import DeltaHistory, Get, List
from lineage_conformance.kinds.saver.operations.storing import Put, Writes
from lineage_conformance.kinds.saver.operations.threads import (
    CopyThread,
    DeleteForRuns,
    DeleteThread,
    Prune,
)

OPS: dict[str, type[Op]] = {
    cls.name: cls
    for cls in (
        Put, Writes, Get, List, DeleteThread, CopyThread, Prune, DeleteForRuns, DeltaHistory,
        Reopen, Mint, Vanish, Together, OwnLoop,
    )
}  # fmt: skip
"""Every operation by the name that it has in JSON."""


def walk(ops: tuple[Op, ...]) -> Iterator[Op]:
    """Every operation of `ops`, each before the ones nested in it."""
    for op in ops:
        yield op
        for name in NESTED:
            yield from walk(getattr(op, name, ()))


def op_from_json(data: Any) -> Op:
    """Read one operation. Raises `ValueError` for an unknown name or field."""
    if not isinstance(data, dict) or data.get("op") not in OPS:
        raise ValueError(f"not an operation: {data!r:.80}; known are {', '.join(OPS)}")
    cls = OPS[data["op"]]
    known = {f.name for f in dataclasses.fields(cls)}
    values: dict[str, Any] = {}
    for key, value in data.items():
        if key == "op":
            continue
        if key not in known:
            raise ValueError(f"operation {cls.name!r} has no field {key!r}")
        values[key] = _field_from_json(key, value)
    try:
        return cls(**values)
    except TypeError as error:
        raise ValueError(f"operation {cls.name!r}: {error}") from None


def _field_from_json(key: str, value: Any) -> Any:
    if key in NESTED:
        return tuple(op_from_json(item) for item in value)
    if key == "items":
        return tuple((channel, item) for channel, item in value)
    return tuple(value) if isinstance(value, list) else value


__all__ = [
    "NESTED", "OPS", "CopyThread", "DeleteForRuns", "DeleteThread", "DeltaHistory", "Get", "List", "Mint", "Op",
    "OwnLoop", "Place", "Prune", "Put", "Reopen", "Script", "Together", "Vanish", "Writes", "default_of",
    "op_from_json", "walk",
]  # fmt: skip
