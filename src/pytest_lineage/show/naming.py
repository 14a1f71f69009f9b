"""Names of tasks. A saver hands out ids only; most names can be won back, and where not, none is made up.

An engine makes a task's id by hashing its checkpoint, namespace, step, node, and what triggered it. So a name
that the thread itself mentions (nodes that ran, routes, packets of Send) can be *tried*: if the hash is the id,
the name is certain. A namespace ``node:id`` tells it as well.
"""

from __future__ import annotations

import binascii
import uuid
from collections.abc import Callable, Iterator
from hashlib import sha1

from pytest_lineage.show.thread import NULL_TASK, Checkpoint, Task, Thread

MOST = 200
"""Names that are tried for one task."""

_ROUTE, _JOIN = "branch:to:", "join:"


class Names:
    """What the thread mentions, and the search among it."""

    def __init__(self, thread: Thread) -> None:
        self._certain: dict[str, str] = {}
        self._nodes: dict[str, dict[str, None]] = {}
        self._routes: dict[str, tuple[str, ...]] = {}
        for space in thread.namespaces:
            for part in space.name.split("|"):
                name, colon, task = part.rpartition(":")
                if colon:
                    self._certain[task] = name
            nodes = self._nodes.setdefault(space.name, {})
            channels: dict[str, None] = {}
            for item in reversed(space.checkpoints):
                nodes.update(dict.fromkeys(item.data["seen"]))
                channels.update(dict.fromkeys(item.versions))
                if len(nodes) > MOST:
                    break
            nodes.update(
                {c.removeprefix(_ROUTE): None for c in channels if c.startswith(_ROUTE)}
            )  # what is routed to may never have run
            self._routes[space.name] = tuple(c for c in channels if c.startswith(_JOIN))

    def give(self, item: Checkpoint) -> None:
        """Name the tasks of a checkpoint, and say which that it schedules have stored nothing."""
        hasher = _hasher(item)
        tasks = {task.id: task for task in item.tasks or ()}
        due = list(self._due(item))
        for task in tasks.values():
            if task.id == NULL_TASK:
                task.name, task.how = "(caller)", "id"
            elif task.id in self._certain:
                task.name, task.how = self._certain[task.id], "namespace"
        waiting: list[str] = []
        if hasher is not None and (tasks or (item.head and due)):
            for name, parts in due:
                found = [tasks[id] for id in (hasher(name, *p) for p in parts) if id in tasks]
                for task in found:
                    task.name, task.how, task.sent = name, "id", parts[0][0] == "__pregel_push"
                if not found:
                    waiting.append(name)
            for task in tasks.values():
                if not task.how:
                    self._try(item, task, hasher)
        unnamed = [task for task in tasks.values() if not task.how]
        if len(unnamed) == 1:
            self._infer(item, unnamed[0], tasks)
        if not item.children and item.tasks is not None and hasher is not None:
            # A task that is there without a name may be any of those that seem to be missing.
            item.due = waiting if all(task.how for task in tasks.values()) else []

    def _due(self, item: Checkpoint) -> Iterator[tuple[str, list[tuple[str, ...]]]]:
        """Tasks that a checkpoint schedules: the name, and what may have gone into the hash."""
        for index, name in enumerate(item.data["sends"]):
            yield name, [("__pregel_push", str(index))]
        for channel in item.data["sizes"]:
            if channel.startswith(_ROUTE):
                name = channel.removeprefix(_ROUTE)
                yield (
                    name,
                    [("__pregel_pull", *triggers) for triggers in self._triggers(item, name)],
                )
            elif channel == "__start__":
                yield "__start__", [("__pregel_pull", "__start__")]

    def _triggers(self, item: Checkpoint, name: str) -> Iterator[tuple[str, ...]]:
        seen = tuple(sorted(item.data["seen"].get(name, ())))
        route = _ROUTE + name
        joins = tuple(c for c in self._routes[item.ns] if c.endswith(f":{name}"))
        sets: dict[tuple[str, ...], None] = {(route,): None, tuple(sorted((route, *joins))): None}
        for child in item.children[:1]:
            sets[tuple(sorted(child.data["seen"].get(name, ())))] = None
        sets[seen] = None
        for channel in seen:
            sets[(channel,)] = None
        for join in joins:
            sets[(join,)] = None
        yield from (triggers for triggers in sets if triggers)

    def _try(self, item: Checkpoint, task: Task, hasher: Callable[..., str]) -> None:
        for kind in ("__input__", "__interrupt__"):
            if _uuid5(item.id, kind) == task.id:
                task.name = "(input)" if kind == "__input__" else "(update)"
                task.how = "id"
                return
        for name in self._nodes[item.ns]:
            for triggers in self._triggers(item, name):
                if hasher(name, "__pregel_pull", *triggers) == task.id:
                    task.name, task.how = name, "id"
                    return

    def _infer(self, item: Checkpoint, task: Task, tasks: dict[str, Task]) -> None:
        """One task without a name, and one node that the next step marks as run: that must be it."""
        if len(item.children) != 1 or item.children[0].source != "loop":
            return
        before, after = item.data["seen"], item.children[0].data["seen"]
        named = {other.name for other in tasks.values()}
        ran = [n for n, seen in after.items() if seen != before.get(n) and n not in named]
        if len(ran) == 1:
            task.name, task.how = ran[0], "inferred"


def _hasher(item: Checkpoint) -> Callable[..., str] | None:
    """Makes the id of a task of a checkpoint from its name and the rest; None where that cannot be done."""
    if item.step is None:
        return None
    try:
        seed = binascii.unhexlify(item.id.replace("-", ""))
    except (ValueError, binascii.Error):
        return None
    step = str(item.step + 1)
    if item.data["v"] > 1:
        try:
            from xxhash import xxh3_128_hexdigest
        except ImportError:
            return None
    digest: Callable[[bytes], str] = xxh3_128_hexdigest if item.data["v"] > 1 else _sha1

    def made(name: str, *parts: str) -> str:
        ns = f"{item.ns}|{name}" if item.ns else name
        text = "".join((ns, step, name, *parts)).encode("utf-8", "surrogatepass")
        found = str(digest(seed + text))
        return f"{found[:8]}-{found[8:12]}-{found[12:16]}-{found[16:20]}-{found[20:32]}"

    return made


def _sha1(data: bytes) -> str:
    return sha1(data, usedforsecurity=False).hexdigest()


def _uuid5(id: str, name: str) -> str:
    try:
        return str(uuid.uuid5(uuid.UUID(id), name))
    except ValueError:
        return ""
