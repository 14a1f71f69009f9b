"""A thread as a tree of checkpoints: who descends from whom, what each task stored, what became of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

NULL_TASK = "00000000-0000-0000-0000-000000000000"
"""The task under which the engine stores what a caller gives: answers, and updates of a Command."""

ERROR, INTERRUPT, RESUME = "__error__", "__interrupt__", "__resume__"
TASKS_CHANNEL = "__pregel_tasks"
CONTROL = frozenset(
    {
        ERROR, INTERRUPT, RESUME, "__no_writes__", "__return__", "__scheduled__", "__pregel_push",
        "__error_source_node__", "__previous__",
    }
)  # fmt: skip
"""Channels that are never applied to the state."""


@dataclass
class Write:
    """One pending write; `preview` is short, `size` in bytes (None: the serializer cannot say)."""

    channel: str
    size: int | None
    preview: str
    interrupts: list[dict[str, str]] = field(default_factory=list)


@dataclass
class Task:
    """What one task stored at a checkpoint, and what became of it."""

    id: str
    writes: list[Write]
    name: str = ""
    how: str = ""
    """How the name is known: id (its hash), namespace (a subgraph of it), inferred; empty: not known."""
    sent: bool = False
    """Whether a Send scheduled it."""
    committed: str = ""
    """committed, uncommitted, unknown; empty where there is nothing to commit."""
    by: list[str] = field(default_factory=list)
    """Children that have applied its writes: one of them, where there are several."""
    why: str = ""
    waits: bool = False
    """Whether it stands at an interrupt that nothing answered or passed by."""

    @property
    def output(self) -> list[Write]:
        """Writes that a step applies to the state."""
        return [write for write in self.writes if write.channel not in CONTROL]

    @property
    def status(self) -> str:
        """caller, finished, interrupted, failed or started."""
        channels = {write.channel for write in self.writes}
        if self.id == NULL_TASK:
            return "caller"
        if self.output or channels & {"__no_writes__", "__return__"}:
            return "finished"
        if INTERRUPT in channels:
            return "interrupted"
        return "failed" if ERROR in channels else "started"

    @property
    def interrupts(self) -> list[dict[str, str]]:
        """Its interrupts: ``id`` (empty where the release has none) and ``preview``."""
        return [item for write in self.writes for item in write.interrupts]

    @property
    def error(self) -> str | None:
        """The stored error, short."""
        return next((write.preview for write in self.writes if write.channel == ERROR), None)


@dataclass
class Checkpoint:
    """One checkpoint. Sizes in bytes by the saver's own serializer, None where it cannot say."""

    id: str
    ns: str
    parent: str | None
    step: int | None
    source: str
    ts: str
    data: dict[str, Any]
    tasks: list[Task] | None
    """None where the saver's list leaves pending writes out."""
    children: list[Checkpoint] = field(default_factory=list)
    size: int | None = None
    writes_size: int | None = 0
    changed: list[str] | None = None
    """Channels with another version than in the parent; None where the parent is not here."""
    head: bool = False
    due: list[str] = field(default_factory=list)
    """Names of tasks that this checkpoint schedules and that stored nothing, where it can be told."""
    notes: list[str] = field(default_factory=list)

    @property
    def versions(self) -> dict[str, int]:
        """Channel versions as small numbers: equal where the versions are."""
        found: dict[str, int] = self.data["versions"]
        return found

    @property
    def hot(self) -> bool:
        """Whether it holds something that a reader looks for: unfinished work, a doubt, a damage."""
        return bool(self.notes) or any(
            task.waits
            or task.committed in ("uncommitted", "unknown")
            or (task.status in ("failed", "started") and not self.children)
            for task in self.tasks or ()
        )


@dataclass
class Namespace:
    """The checkpoints of one namespace, oldest first, and the roots of its trees."""

    name: str
    checkpoints: list[Checkpoint]
    roots: list[Checkpoint] = field(default_factory=list)
    of: str = ""
    """The checkpoint of the parent graph under which its first one was made."""

    @property
    def head(self) -> Checkpoint:
        """The newest: where the next run goes on."""
        return self.checkpoints[-1]

    @property
    def hot(self) -> bool:
        """Whether one of its checkpoints is."""
        return any(item.hot for item in self.checkpoints)


@dataclass
class Thread:
    """A thread, its root namespace first, the others in the order in which they began."""

    id: str
    namespaces: list[Namespace]
    notes: list[str] = field(default_factory=list)
    cut: bool = False
    """Whether older checkpoints were not asked for."""

    @property
    def checkpoints(self) -> Iterable[Checkpoint]:
        """Every checkpoint."""
        return (item for space in self.namespaces for item in space.checkpoints)


def total(sizes: Iterable[int | None]) -> int | None:
    """The sum, or None where one of them is not known."""
    made = 0
    for size in sizes:
        if size is None:
            return None
        made += size
    return made


def build(thread: str, rows: Sequence[dict[str, Any]], cut: bool = False) -> Thread:
    """The thread of rows as the worker reads them. Linear in what there is."""
    from pytest_lineage.show import commits, naming

    made = Thread(thread, [], cut=cut)
    spaces: dict[str, dict[str, Checkpoint]] = {}
    again = 0
    for row in rows:
        found = spaces.setdefault(row["ns"], {})
        if row["id"] in found:
            again += 1
            continue
        found[row["id"]] = _checkpoint(row)
    if again:
        made.notes.append(f"{again:,} checkpoints were listed more than once")
    for name, found in spaces.items():
        made.namespaces.append(_grow(name, found, cut))
    made.namespaces.sort(key=lambda space: (space.name != "", space.checkpoints[0].id, space.name))
    names = naming.Names(made)
    for item in made.checkpoints:
        names.give(item)
    for item in made.checkpoints:
        commits.judge(item)
    commits.settle(made)
    return made


def _checkpoint(row: dict[str, Any]) -> Checkpoint:
    tasks: list[Task] | None = None
    if row["writes"] is not None:
        byid: dict[str, Task] = {}
        for write in row["writes"]:
            task = byid.setdefault(write["task"], Task(write["task"], []))
            task.writes.append(
                Write(
                    write["channel"], write["size"], write.get("preview", ""),
                    write.get("interrupts", []),
                )
            )  # fmt: skip
        tasks = list(byid.values())
    made = Checkpoint(
        row["id"], row["ns"], row["parent"], row["step"], row["source"], row["ts"], row, tasks
    )
    made.size = total([*row["sizes"].values(), row["rest"]])
    made.writes_size = total(write["size"] for write in row["writes"] or ())
    if row["own_id"] != row["id"]:
        made.notes.append(f"its checkpoint says that its id is {row['own_id']}")
    return made


def _grow(name: str, found: dict[str, Checkpoint], cut: bool) -> Namespace:
    """The tree of a namespace. Parents that are missing or go round in a ring make roots, with a note."""
    ordered = [found[id] for id in sorted(found)]
    space = Namespace(name, ordered)
    for item in ordered:
        parent = found.get(item.parent) if item.parent is not None else None
        if parent is None or parent is item:
            space.roots.append(item)
            if parent is item:
                item.notes.append("names itself as its parent")
            elif item.parent is not None and not cut:
                item.notes.append(f"its parent {item.parent} is not in the saver")
            continue
        parent.children.append(item)
        before = parent.versions
        item.changed = [c for c, version in item.versions.items() if before.get(c) != version]
    _open_rings(space)
    for root in space.roots:
        root.changed = list(root.versions) if root.parent is None else None
    space.head.head = True
    parents = space.checkpoints[0].data["parents"]
    if parents:
        space.of = parents[max(parents, key=len)]
    return space


def _open_rings(space: Namespace) -> None:
    reached: set[str] = set()

    def reach(root: Checkpoint) -> None:
        stack = [root]
        while stack:
            item = stack.pop()
            if item.id not in reached:
                reached.add(item.id)
                stack.extend(item.children)

    for root in space.roots:
        reach(root)
    if len(reached) == len(space.checkpoints):
        return
    byid = {item.id: item for item in space.checkpoints}
    for item in space.checkpoints:
        if item.id not in reached:
            byid[item.parent or ""].children.remove(item)
            item.notes.append("its ancestors go round in a ring")
            space.roots.append(item)
            reach(item)
