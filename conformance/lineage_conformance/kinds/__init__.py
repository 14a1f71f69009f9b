"""The kinds of target, a room for each: its record, its protocol, its cases, how they are played, and its laws."""

from __future__ import annotations

import importlib

from lineage_conformance.kind import Kind

ROOMS: tuple[Kind, ...] = tuple(
    importlib.import_module(f"{__name__}.{name}").KIND
    for name in (
        "saver",
        "branching",
        "delta",
        "rollback",
        "answer",
        "transfer",
        "graph",
    )
)
"""Every room, in the order in which its laws stand among all."""

KINDS: dict[str, Kind] = {room.name: room for room in ROOMS if room.protocol}
"""The kinds that a target can be of, by name."""

USUAL = "saver"
"""The kind of a target that says none."""


def get(name: str) -> Kind:
    """The kind with this name. Raises `KeyError` that names those there are."""
    try:
        return KINDS[name]
    except KeyError:
        raise KeyError(f"no kind is called {name!r}; there are {', '.join(KINDS)}") from None
