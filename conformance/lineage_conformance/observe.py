"""What is seen of a saver's answers, as canonical trees."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping
from typing import Any

from lineage_conformance import contract
from lineage_conformance.canon import canon

Key = tuple[str, str, str]


def config(value: Any) -> Any:
    """A config reduced to the three keys that name a checkpoint (savers may add others)."""
    if value is None:
        return None
    if not isinstance(value, Mapping) or not isinstance(value.get("configurable"), Mapping):
        return {"~not_a_config": canon(value)}
    conf = value["configurable"]
    names = ("thread_id", "checkpoint_ns", "checkpoint_id")
    return {"configurable": {key: canon(conf.get(key)) for key in names}}


def tuple_(value: Any) -> Any:
    """A checkpoint tuple as a tree; None stays None; anything else says what it is."""
    if value is None:
        return None
    try:
        checkpoint, writes = value.checkpoint, value.pending_writes
        return {
            "config": config(value.config),
            "checkpoint": {str(k): canon(v) for k, v in dict(checkpoint).items()},
            "metadata": canon(_plain(value.metadata)),
            "parent_config": config(value.parent_config),
            "pending_writes": [canon(list(write)) for write in (writes or [])],
        }
    except Exception as error:
        return f"not a checkpoint tuple: {type(value).__name__} ({type(error).__name__}: {error})"


def slot(write: Any) -> tuple[str, int]:
    """Sorts writes by task and reserved channel; what one task wrote to others keeps its order."""
    task, channel = (*write, "", "")[:2] if isinstance(write, list) else (write, "")
    return str(task), contract.SPECIAL.get(str(channel), 0)


def history(value: Any) -> Any:
    """A delta history as a tree, writes as lists."""
    if not isinstance(value, Mapping):
        return {"~not_a_mapping": canon(value)}
    answer: dict[str, Any] = {}
    for channel, entry in value.items():
        tree: dict[str, Any] = {"writes": [canon(list(w)) for w in entry.get("writes", [])]}
        if "seed" in entry:
            tree["seed"] = canon(entry["seed"])
        answer[channel] = tree
    return answer


def key_of(row: Any) -> Key:
    """Thread, namespace and id that a row's config names."""
    conf = row["config"]["configurable"] if isinstance(row, dict) and row.get("config") else {}
    return tuple(str(conf.get(k)) for k in ("thread_id", "checkpoint_ns", "checkpoint_id"))  # type: ignore[return-value]


def thread_of(row: Any) -> str:
    """The thread that a row belongs to."""
    return key_of(row)[0]


def by_key(rows: Iterable[Any]) -> dict[Key, Any]:
    """Rows by their key."""
    return {key_of(row): row for row in rows}


def order(rows: Iterable[Any]) -> list[Key]:
    """Keys grouped by thread and namespace, each group in the order it came."""
    return sorted((key_of(row) for row in rows), key=lambda key: key[:2])


def short(key: Key) -> str:
    """A key for people: label of the thread, namespace, number of the checkpoint."""
    thread, ns, id = key
    label = thread.split("-", 1)[-1]
    number = str(int(id[2:8], 16)) if id[:2] == "1f" and len(id) > 8 else id
    return f"{label}/{ns}#{number}" if ns else f"{label}#{number}"


def scribble(value: Any, depth: int = 0) -> None:
    """Change every mutable thing inside `value`, as a caller may do with its own objects."""
    if depth > 6:
        return
    if isinstance(value, MutableMapping):
        for item in list(value.values()):
            scribble(item, depth + 1)
        if depth:
            value["scribbled"] = "later"
    elif isinstance(value, list):
        for item in list(value):
            scribble(item, depth + 1)
        value.append("scribbled")
    elif isinstance(value, tuple):
        for item in value:
            scribble(item, depth + 1)


def _plain(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else value
