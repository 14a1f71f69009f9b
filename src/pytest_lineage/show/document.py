"""A thread as JSON: every checkpoint, nothing folded. A key that is not there was not read; null is not known."""

from __future__ import annotations

from typing import Any

from pytest_lineage.show.thread import Checkpoint, Task, Thread, total

FORMAT = 1


def document(thread: Thread, about: dict[str, Any], near: set[str] | None = None) -> dict[str, Any]:
    """The document. Sizes are bytes by the saver's own serializer; checkpoints are oldest first.

    ``committed`` of a task is committed, uncommitted, unknown, or empty where it stored nothing for the state;
    ``name_from`` says how its name is known: id, namespace, inferred, or empty (not known).
    """
    return {
        "format": FORMAT,
        "kind": "thread",
        "target": about["name"],
        "class": about["class"],
        "thread": thread.id,
        "complete": not thread.cut and not about.get("stopped") and near is None,
        "notes": thread.notes,
        "namespaces": [
            {
                "namespace": space.name,
                "under": space.of or None,
                "head": space.head.id,
                "checkpoints": [
                    _checkpoint(item)
                    for item in space.checkpoints
                    if near is None or item.id in near
                ],
            }
            for space in thread.namespaces
        ],
    }


def _checkpoint(item: Checkpoint) -> dict[str, Any]:
    made: dict[str, Any] = {
        "id": item.id,
        "parent": item.parent,
        "step": item.step,
        "source": item.source,
        "ts": item.ts,
        "head": item.head,
        "children": [child.id for child in item.children],
        "changed": item.changed,
        "size": item.size,
        "channels": item.data["sizes"],
        "metadata_size": item.data["metadata_size"],
        "writes_size": item.writes_size,
        "tasks": None if item.tasks is None else [_task(task) for task in item.tasks],
        "due": item.due,
        "notes": item.notes,
    }
    for name in ("values", "metadata"):
        if name in item.data:
            made[name] = item.data[name]
    return made


def _task(task: Task) -> dict[str, Any]:
    return {
        "id": task.id,
        "name": task.name or None,
        "name_from": task.how,
        "sent": task.sent,
        "status": task.status,
        "waits": task.waits,
        "committed": task.committed,
        "by": task.by,
        "why": task.why,
        "size": total(write.size for write in task.writes),
        "writes": [
            {
                "channel": write.channel,
                "size": write.size,
                **(
                    {"interrupts": write.interrupts}
                    if write.interrupts
                    else {"preview": write.preview}
                ),
            }
            for write in task.writes
        ],
    }
