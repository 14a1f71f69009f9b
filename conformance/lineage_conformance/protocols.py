"""Protocols: what a target of each kind has to offer. Laws speak to these, never to a class."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator

KINDS: dict[str, tuple[str, str]] = {
    "saver": ("lineage_conformance.kinds.saver.protocol", "Saver"),
    "branching": ("lineage_conformance.kinds.branching.protocol", "Branching"),
    "rollback": ("lineage_conformance.kinds.rollback.protocol", "Rollback"),
    "answer": ("lineage_conformance.kinds.answer.protocol", "Answer"),
    "delta": ("lineage_conformance.kinds.delta.protocol", "Delta"),
    "transfer": ("lineage_conformance.kinds.transfer.protocol", "Transfer"),
}
"""Kind of target: the module and the name of its protocol (the async form is ``Async`` + name)."""


def protocols(kind: str) -> list[type]:
    """The sync and the async protocol of a kind. Raises `KeyError` for an unknown kind."""
    module_name, name = KINDS[kind]
    module = importlib.import_module(module_name)
    return [getattr(module, name), getattr(module, "Async" + name)]


def required(protocol: type) -> list[str]:
    """The methods of a protocol that a half needs to be there: all but those documented as optional."""
    return [name for name, text in _methods(protocol) if not text.startswith("Optional.")]


def optional(protocol: type) -> list[str]:
    """The methods of a protocol that are documented as optional; laws about them apply where they are."""
    return [name for name, text in _methods(protocol) if text.startswith("Optional.")]


def _methods(protocol: type) -> Iterator[tuple[str, str]]:
    for name, member in vars(protocol).items():
        if inspect.isfunction(member) and not name.startswith("_"):
            yield name, member.__doc__ or ""
