"""Targets: what is under test, how it is declared, and what its factory may be.

Importing this module imports neither langgraph nor hypothesis, so a test module that declares a target
costs nothing until the target is used.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

from lineage_conformance import kinds

DEFAULT_OVER = "memory"
"""The saver under a built-in reference of another kind, where ``--over`` names none."""

LIMITS: Mapping[str, str] = MappingProxyType(
    {
        "history": "keeps only the latest checkpoint of each thread and namespace (a shallow saver)",
        "filter": "does not filter list() by metadata",
        "values": "stores only some types of value",
        "text": "accepts only plain text in ids and names",
        "handles": "can be open only once at a time (one process, one handle)",
    }
)
"""Limits that a target may declare, each with its reason; laws that they rule out do not apply."""

OPERATIONS = (
    "delete_thread",
    "copy_thread",
    "prune",
    "delete_for_runs",
    "get_delta_channel_history",
)
"""Optional operations that a target may declare unsupported."""

SKIPPED = "declared in skip_capabilities"
"""The reason of an operation that a peer suite's object skips, whether or not it refuses."""


class TargetError(Exception):
    """A target cannot be used. The message says which, why, and what to do."""


@dataclass(frozen=True)
class Store:
    """Where a target keeps its data. Two handles on one store see the same data; a new one is empty."""

    id: str
    """Unique text, letters and digits: fit for a database, bucket or key prefix."""
    path: Path
    """A private, empty directory."""
    dsn: str | None = None
    """A connection string of an empty PostgreSQL database, for targets that asked for one."""


@dataclass(frozen=True)
class Target:
    """A declared target. Calling it calls the factory."""

    factory: Callable[..., Any]
    name: str
    kind: str = kinds.USUAL
    limits: Mapping[str, str] = field(default_factory=dict)
    unsupported: Mapping[str, str] = field(default_factory=dict)
    postgres: bool = False
    transforms: Callable[[Any], Any] | None = None
    """What the saver does to every value before it stores it, e.g. a redaction; see `target`."""
    over: Target | None = None
    """The saver on which a reference of another kind is built: its factory takes ``saver`` and ``store``."""

    __test__ = False  # pytest must not take it for a test class

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the factory itself, as a test of the application may want to."""
        return self.factory(*args, **kwargs)


def target(
    name: str,
    kind: str = kinds.USUAL,
    *,
    limits: Mapping[str, str] | None = None,
    unsupported: Mapping[str, str] | None = None,
    postgres: bool = False,
    transforms: Callable[[Any], Any] | None = None,
) -> Callable[[Callable[..., Any]], Target]:
    """Declare a factory as a target.

    The factory is a function, generator or context manager, sync or async, or a class. It returns or
    yields the saver. If it takes a parameter ``store`` it is handed a `Store`, and the laws about
    reopening and second handles run; without one, every call is taken to start empty.

    `limits` names what the saver does not promise, with the reason (see `LIMITS`); `unsupported` names
    optional operations it does not have (see `OPERATIONS`); `postgres` asks for a `Store` with a `dsn`.

    `transforms` is a function that makes of a value what the saver stores in its place, by design (a redacting
    serializer). The laws then expect what it returns; it must return a new value and leave its argument alone.
    """
    _known("limit", limits or {}, LIMITS)
    _known("operation", unsupported or {}, OPERATIONS)

    def wrap(factory: Callable[..., Any]) -> Target:
        if not callable(factory):
            raise TargetError(f"target {name!r}: {type(factory).__name__} is no factory")
        given = dict(limits or {}), dict(unsupported or {})
        return Target(factory, name, kind, *given, postgres, transforms)

    return wrap


def _known(what: str, given: Mapping[str, Any], known: Any) -> None:
    for key, reason in given.items():
        if key not in known:
            raise TargetError(f"unknown {what} {key!r}; known are {', '.join(known)}")
        if not isinstance(reason, str) or not reason.strip():
            raise TargetError(f"{what} {key!r} needs a reason: reports show it")


def adopt(found: Any, name: str, kind: str = kinds.USUAL) -> Target:
    """Take what a door found (a `Target`, a peer suite's object, a factory, a saver) as a target."""
    if isinstance(found, Target):
        return found
    if type(found).__name__ == "RegisteredCheckpointer" and hasattr(found, "factory"):
        return _from_peer(found, kind)
    if _is_saver(found):
        return Target(lambda: found, name, kind)
    if callable(found):
        return Target(found, name, kind)
    raise TargetError(
        f"{name}: {type(found).__name__} is neither a factory nor a saver; point to a function, class, "
        "generator or context manager that gives one"
    )


def _from_peer(found: Any, kind: str) -> Target:
    """An object of langgraph-checkpoint-conformance: its factory, and its skips as declared limits."""
    from contextlib import asynccontextmanager

    @asynccontextmanager
    async def factory() -> Any:
        async with found.enter_lifespan(), found.create() as saver:
            yield saver

    skipped = {name: SKIPPED for name in found.skip_capabilities if name in OPERATIONS}
    return Target(factory, str(found.name), kind, {}, skipped)


def _is_saver(value: Any) -> bool:
    """Whether `value` is a saver instance, told by its methods: importing LangGraph to ask is not needed."""
    return not isinstance(value, type) and (
        (hasattr(value, "get_tuple") and hasattr(value, "put"))
        or (hasattr(value, "aget_tuple") and hasattr(value, "aput"))
    )
