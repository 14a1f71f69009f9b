"""The protocols of a kind, as classes."""

from __future__ import annotations

from lineage_conformance import kinds
from lineage_conformance.handles import HALVES
from lineage_conformance.kind import methods


def protocols(kind: str) -> list[type]:
    """The sync and the async protocol of a kind. Raises `KeyError` for an unknown kind."""
    return [kinds.get(kind).half(half) for half in HALVES]


def required(protocol: type) -> list[str]:
    """The methods of a protocol that a half needs to be there: all but those documented as optional."""
    return methods(protocol, optional=False)


def optional(protocol: type) -> list[str]:
    """The methods of a protocol that are documented as optional; laws about them apply where they are."""
    return methods(protocol, optional=True)
