"""Calls of a saver written down as data: what names a place, and the values as a program can hold them.

A place is ``{"thread", "ns", "id"}``: thread id, namespace (None where the config names none), checkpoint id. Ids and
versions stay what they are; `transcript` gives them numbers when all are known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lineage_conformance.encoding import Note, encode
from lineage_conformance.handles import Half

_NAMES = ("thread_id", "checkpoint_ns", "checkpoint_id")
_RECORD = ("id", "ts", "channel_values", "channel_versions", "versions_seen")


@dataclass
class Call:
    """One call: what was asked, as data, and how it ended."""

    method: str
    """The name without the ``a`` of an async method; ``reopen`` where the store was opened again."""
    half: Half
    asked: dict[str, Any]
    ended: str = "returned"
    """``returned``, ``raised``, ``cancelled``, or ``left`` for a listing that was not read to its end."""
    error: str = ""
    """``Type: message`` of what was raised."""
    shown: list[dict[str, Any]] = field(default_factory=list)
    """The checkpoint tuples that a read gave, as data."""
    placed: bool = False
    """Whether the call has its place in the order."""


def asked(method: str, given: Mapping[str, Any], note: Note) -> dict[str, Any]:
    """The arguments of a call as data. Arguments that make no sense are told to `note`, never raised."""
    try:
        return _WRITERS[method](given, note)
    except Exception as error:
        note(f"a call of {method} could not be written down: {type(error).__name__}: {error}")
        return {}


def shown(made: Any, note: Note) -> dict[str, Any] | None:
    """A checkpoint tuple as data: place, parent, checkpoint, metadata and writes; None if it is no tuple."""
    try:
        parent = place(made.parent_config, note)["id"] if made.parent_config else None
        return {
            **place(made.config, note),
            "parent": parent,
            "checkpoint": record(made.checkpoint, note),
            "meta": encode(_listed(dict(made.metadata or {})), note),
            "writes": [[t, c, encode(v, note)] for t, c, v in made.pending_writes or ()],
        }
    except Exception as error:
        note(f"an answer could not be written down: {type(error).__name__}: {error}")
        return None


def place(config: Any, note: Note) -> dict[str, Any]:
    """What a config names."""
    conf = (config or {}).get("configurable") or {}
    thread, ns, id = (conf.get(name) for name in _NAMES)
    if thread is not None and not isinstance(thread, str):
        note(f"a thread id of type {type(thread).__name__} is written down as its text")
        thread = str(thread)
    return {"thread": thread, "ns": ns, "id": id or None}


def record(checkpoint: Mapping[str, Any], note: Note) -> dict[str, Any]:
    """A checkpoint: id, values, versions, what nodes saw, and the rest of its keys."""
    return {
        "id": checkpoint["id"],
        "values": {k: encode(v, note) for k, v in checkpoint["channel_values"].items()},
        "versions": dict(checkpoint["channel_versions"]),
        "seen": {
            node: dict(seen) for node, seen in (checkpoint.get("versions_seen") or {}).items()
        },
        "rest": {k: encode(v, note) for k, v in checkpoint.items() if k not in _RECORD},
    }


def _put(given: Mapping[str, Any], note: Note) -> dict[str, Any]:
    config = given["config"]
    where = place(config, note)
    return {
        "thread": where["thread"],
        "ns": where["ns"],
        "parent": where["id"],
        "checkpoint": record(given["checkpoint"], note),
        "meta": encode(_listed(dict(given["metadata"])), note),
        "new": dict(given["new_versions"] or {}),
        "extra": _beside(config.get("configurable") or {}, where, note),
        "tags": _beside(config.get("metadata") or {}, where, note),
    }


def _listed(meta: Any) -> Any:
    """Metadata with lists for its tuples: it is JSON to every saver, LangGraph's own included."""
    if type(meta) is dict:
        return {key: _listed(value) for key, value in meta.items()}
    if type(meta) in (list, tuple):
        return [_listed(value) for value in meta]
    return meta


def _beside(keys: Mapping[str, Any], where: Mapping[str, Any], note: Note) -> dict[str, Any]:
    """Keys of a config beside those that name the place, as far as they are data."""
    kept: dict[str, Any] = {}
    for key, value in keys.items():
        if key in _NAMES:
            continue  # in a config's metadata they repeat what the config names
        lost: list[str] = []
        data = encode(value, lost.append)
        if not lost:
            kept[key] = data
        elif key.startswith("__"):
            note(
                "live objects of the engine in a config, under keys that begin with __, are left out"
            )
        else:
            note(f"the key {key!r} of a config is left out: {lost[0]}")
    return kept


def _put_writes(given: Mapping[str, Any], note: Note) -> dict[str, Any]:
    return {
        **place(given["config"], note),
        "items": [[channel, encode(value, note)] for channel, value in given["writes"]],
        "task": str(given["task_id"]),
        "path": str(given.get("task_path") or ""),
    }


def _list(given: Mapping[str, Any], note: Note) -> dict[str, Any]:
    config, before = given.get("config"), given.get("before")
    return {
        **place(config, note),
        "filter": None if given.get("filter") is None else encode(dict(given["filter"]), note),
        "before": None if before is None else place(before, note)["id"],
        "limit": given.get("limit"),
    }


_WRITERS: Mapping[str, Callable[[Mapping[str, Any], Note], dict[str, Any]]] = {
    "put": _put,
    "put_writes": _put_writes,
    "get_tuple": lambda given, note: place(given["config"], note),
    "list": _list,
    "delete_thread": lambda given, note: {"thread": str(given["thread_id"])},
    "copy_thread": lambda given, note: {
        "thread": str(given["source_thread_id"]),
        "target": str(given["target_thread_id"]),
    },
    "prune": lambda given, note: {
        "threads": [str(thread) for thread in given["thread_ids"]],
        "strategy": str(given.get("strategy", "keep_latest")),
    },
    "delete_for_runs": lambda given, note: {"runs": [str(run) for run in given["run_ids"]]},
    "get_delta_channel_history": lambda given, note: {
        **place(given["config"], note),
        "channels": [str(channel) for channel in given["channels"]],
    },
}
