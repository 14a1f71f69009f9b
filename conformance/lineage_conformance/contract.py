"""What the *installed* LangGraph contract offers. Everything is detected, nothing imported blindly."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Mapping
from importlib import metadata
from typing import Any

PACKAGES = (
    "pytest-lineage", "langgraph-checkpoint", "langgraph", "langgraph-checkpoint-sqlite",
    "langgraph-checkpoint-postgres", "langchain-core", "aiosqlite", "psycopg", "hypothesis", "pytest",
)  # fmt: skip

SPECIAL = {"__error__": -1, "__scheduled__": -2, "__interrupt__": -3, "__resume__": -4}
"""Reserved channels and their index: one slot per task, the last write wins (`WRITES_IDX_MAP`)."""


RESERVED_METADATA = frozenset(
    {
        "thread_id", "checkpoint_id", "checkpoint_ns", "checkpoint_map", "langgraph_step",
        "langgraph_node", "langgraph_triggers", "langgraph_path", "langgraph_checkpoint_ns",
    }
)  # fmt: skip
"""Keys of a config that stay out of the metadata (`EXCLUDED_METADATA_KEYS`, from 2.0.16 on)."""


@functools.cache
def version(package: str) -> str | None:
    """The installed version of a distribution, None if it is not installed."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def versions(extra: tuple[str, ...] = ()) -> dict[str, str]:
    """The installed versions that every report names."""
    found = {name: version(name) for name in (*PACKAGES, *extra)}
    return {name: value for name, value in found.items() if value is not None}


def release(text: str) -> tuple[int, ...]:
    """The numbers of a release, e.g. ``4.3.0rc1`` as ``(4, 3, 0)``."""
    match = re.match(r"\d+(\.\d+)*", text)
    return tuple(int(part) for part in match.group().split(".")) if match else ()


@functools.cache
def unmet(requirement: str) -> str | None:
    """Why the installed packages do not meet ``name>=x,<y``; None when they do.

    Pre-releases count as their release: a law about 4.3.0 runs on 4.3.0rc1 too.
    """
    name, _, rest = requirement.partition(" ") if " " in requirement else _split(requirement)
    installed = version(name)
    if installed is None:
        return f"{name} is not installed"
    have = release(installed)
    for clause in filter(None, rest.replace(" ", "").split(",")):
        match = re.fullmatch(r"(>=|<|==)(.+)", clause)
        if match is None:
            raise ValueError(f"cannot read the version range {requirement!r}")
        sign, bound = match.group(1), release(match.group(2))
        width = max(len(have), len(bound))
        left, right = (parts + (0,) * (width - len(parts)) for parts in (have, bound))
        ok = left >= right if sign == ">=" else left < right if sign == "<" else left == right
        if not ok:
            return f"needs {name}{rest}, installed is {installed}"
    return None


def _split(requirement: str) -> tuple[str, str, str]:
    match = re.match(r"[A-Za-z0-9_.\-]+", requirement)
    name = match.group() if match else requirement
    return name, "", requirement[len(name) :]


@functools.cache
def special_channels() -> Mapping[str, int]:
    """The reserved channels that the installed contract maps to a fixed index."""
    from langgraph.checkpoint import base

    return dict(getattr(base, "WRITES_IDX_MAP", {}))


@functools.cache
def checkpoint_keys() -> frozenset[str]:
    """The keys of the installed `Checkpoint` record."""
    from langgraph.checkpoint.base import Checkpoint

    return frozenset(Checkpoint.__annotations__)


@functools.cache
def checkpoint_format() -> int:
    """The number `v` that the installed engine writes: 4 since sends became a channel, else 1."""
    return 1 if "pending_sends" in checkpoint_keys() else 4


def base_saver() -> type[Any]:
    """The installed `BaseCheckpointSaver`."""
    from langgraph.checkpoint.base import BaseCheckpointSaver

    return BaseCheckpointSaver


def overrides(saver: Any, method: str) -> bool:
    """Whether the saver has `method` from somewhere else than the base class."""
    mine = getattr(type(saver), method, None)
    base = getattr(base_saver(), method, None)
    return mine is not None and mine is not base


def takes(function: Any, name: str) -> bool:
    """Whether a callable accepts the keyword `name`, as LangGraph itself asks before it passes one."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return True
    return name in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


def reserved(key: str) -> bool:
    """Whether a key of a config is LangGraph's own, so that it should not join the metadata."""
    return key in RESERVED_METADATA or key.startswith("__")


def merged_metadata(config: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any] | None:
    """What the installed contract says is stored for `given`, or None where it says nothing.

    Before 2.0.13 it says nothing of a config that holds more than the name of a checkpoint.

    From langgraph-checkpoint 2.0.13 on, scalars of ``config["metadata"]`` and
    ``config["configurable"]`` join the metadata, except reserved names and ``__`` names. The rule
    is restated here, because the helper of an old release is itself a known defect.
    """
    if unmet("langgraph-checkpoint>=2.0.13"):
        names = {"thread_id", "checkpoint_ns", "checkpoint_id"}
        plain = config["configurable"].keys() <= names and not config.get("metadata")
        return dict(given) if plain else None
    merged = dict(given)
    for source in (config.get("metadata"), config.get("configurable")):
        for key, value in (source or {}).items():
            if key in merged or reserved(key):
                continue
            if isinstance(value, (str, int, bool, float)):
                merged[key] = value
    return merged
