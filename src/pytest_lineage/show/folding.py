"""What of a thread is drawn: lanes of checkpoints, long dull runs folded, branches without end counted.

A lane is a chain: at each fork one child goes on in it, the others begin lanes of their own, one step
further in. The lane of the head goes straight on; elsewhere the child with most descendants does, so lanes lie at most
about log2(n) deep. Nothing here recurses, and each pass is linear.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from pytest_lineage.show.thread import Checkpoint, Namespace, Thread, total

SMALL = 40
"""Checkpoints up to which nothing is folded."""

ROOM = 300
"""Checkpoints that are drawn of a namespace before folding gets stricter."""

RUN = 4
"""Checkpoints that are worth a fold."""

TAIL = 3
"""Checkpoints at the end of a lane that stay."""

BRANCHES = 8
"""Branches of one checkpoint that are drawn; the others are counted."""

SPACES = 12
"""Namespaces that are drawn where most have nothing to tell."""


@dataclass
class Node:
    """A checkpoint in the picture; `depth` lanes lie to the left of it."""

    checkpoint: Checkpoint
    depth: int
    first: bool
    """Whether a lane begins with it, beside its parent's."""
    goes_on: bool
    """Whether the lane goes on below it, or branches leave it there."""


@dataclass
class Fold:
    """Checkpoints that are not drawn one by one."""

    depth: int
    goes_on: bool
    count: int = 0
    first: Checkpoint | None = None
    last: Checkpoint | None = None
    sources: Counter[str] = field(default_factory=Counter)
    size: int | None = 0
    open: int = 0
    """Those with something unfinished, in doubt or damaged."""
    branches: int = 0
    """Branches of one checkpoint that are left out, where it is about those."""

    def add(self, item: Checkpoint) -> None:
        """Count a checkpoint in."""
        self.count += 1
        self.first = self.first or item
        self.last = item
        self.sources[item.source] += 1
        self.size = total((self.size, item.size, item.writes_size))
        self.open += item.hot

    def join(self, other: Fold) -> None:
        """Count in what another fold counted."""
        self.count += other.count
        self.first = self.first or other.first
        self.last = other.last or self.last
        self.sources += other.sources
        self.size = total((self.size, other.size))
        self.open += other.open


Item: TypeAlias = "Node | Fold"


@dataclass
class Section:
    """A namespace and what is drawn of it."""

    space: Namespace
    items: list[Item]


@dataclass
class Spaces:
    """Namespaces with the same nodes in their names that are not drawn."""

    label: str
    count: int
    checkpoints: int
    size: int | None
    open: int


def fold(
    thread: Thread, full: bool = False, near: set[str] | None = None
) -> list[Section | Spaces]:
    """The picture of a thread. `full` folds nothing; `near` (see `around`) folds all that is not in it."""
    if near is not None:
        spaces = [space for space in thread.namespaces if _touches(space, near)]
        return [Section(space, _near(space, near)) for space in spaces]
    shown, hidden = (thread.namespaces, []) if full else _spaces(thread)
    return [*(Section(space, _section(space, full)) for space in shown), *hidden]


def around(thread: Thread, start: Checkpoint, most: int) -> set[str]:
    """The ids of the `most` checkpoints that are nearest to one in its tree, itself among them."""
    byid = {item.id: item for item in thread.checkpoints if item.ns == start.ns}
    queue, kept = [start], {start.id}
    for item in queue:
        parent = byid.get(item.parent or "")
        for near in [*([parent] if parent else []), *item.children]:
            if near.id not in kept and len(kept) < most:
                kept.add(near.id)
                queue.append(near)
    return kept


def _touches(space: Namespace, near: set[str]) -> bool:
    return space.of in near or any(item.id in near for item in space.checkpoints)


def _near(space: Namespace, near: set[str]) -> list[Item]:
    if not any(item.id in near for item in space.checkpoints):
        return _section(space, False)
    lanes = _Lanes(space, lambda item: item.id in near)
    return lanes.draw(lambda item, left: not lanes.open[item.id], BRANCHES, 1)


def _spaces(thread: Thread) -> tuple[list[Namespace], list[Section | Spaces]]:
    if len(thread.namespaces) <= SPACES:
        return thread.namespaces, []
    hot = [space for space in thread.namespaces[1:] if space.hot]
    some = (*thread.namespaces[:1], *hot[-SPACES:], *thread.namespaces[-3:])
    kept = {space.name for space in some}
    groups: dict[str, list[Namespace]] = {}
    for space in thread.namespaces:
        if space.name not in kept:
            groups.setdefault(_label(space.name), []).append(space)
    hidden: list[Section | Spaces] = []
    for label, alike in groups.items():
        items = [item for space in alike for item in space.checkpoints]
        size = total(size for item in items for size in (item.size, item.writes_size))
        hidden.append(Spaces(label, len(alike), len(items), size, sum(item.hot for item in items)))
    return [space for space in thread.namespaces if space.name in kept], hidden


def _label(name: str) -> str:
    """A namespace without the ids of tasks: ``tools:*|inner:*``."""
    parts = (part.rpartition(":") for part in name.split("|"))
    return "|".join(f"{node}:*" if colon else rest for node, colon, rest in parts)


def _section(space: Namespace, full: bool) -> list[Item]:
    lanes = _Lanes(space, lambda item: item.hot)
    if full:
        return lanes.draw(lambda item, left: False, None)
    if len(space.checkpoints) <= SMALL:
        return lanes.draw(lambda item, left: False, BRANCHES)
    made: list[Item] = []
    for test in (lanes.plain, lanes.quiet, lanes.inner):
        made = lanes.draw(test, BRANCHES)
        if len(made) <= ROOM:
            return made
    rest = Fold(0, False)
    for cut in made[ROOM:]:
        rest.add(cut.checkpoint) if isinstance(cut, Node) else rest.join(cut)
    return [*made[:ROOM], rest]


@dataclass
class _Frame:
    """A lane that is being drawn."""

    lane: list[Checkpoint]
    depth: int
    at: int = 0
    run: int = 0
    """Checkpoints before `at` that wait to be folded."""
    forced: int = 0
    """Up to here nothing is folded: too little to be worth it."""


class _Lanes:
    """Which child goes on in the lane of each checkpoint, and how much of interest lies beside it."""

    def __init__(self, space: Namespace, marked: Callable[[Checkpoint], bool]) -> None:
        self.space = space
        self.open: dict[str, int] = {}
        """Marked checkpoints at each and in the branches beside it, not those further along its lane."""
        self._main: dict[str, Checkpoint] = {}
        sizes: dict[str, int] = {}
        below: dict[str, int] = {}
        line = self._line(space.head)
        for item in reversed(_downward(space.roots)):
            some = item.children
            sizes[item.id] = 1 + sum(sizes[child.id] for child in some)
            mine = int(marked(item))
            below[item.id] = mine + sum(below[child.id] for child in some)
            if some:
                main = max(some, key=lambda child: (child.id in line, sizes[child.id], child.id))
                self._main[item.id] = main
                mine = below[item.id] - below[main.id]
            self.open[item.id] = mine

    def plain(self, item: Checkpoint, left: int) -> bool:
        """Whether a checkpoint is a step like any other: one child, nothing to tell."""
        usual = item.source in ("loop", "input") and len(item.children) == 1
        return usual and left >= TAIL and not self.open[item.id]

    def quiet(self, item: Checkpoint, left: int) -> bool:
        """Whether neither it nor a branch of it has something to tell."""
        return left >= TAIL and not self.open[item.id]

    def inner(self, item: Checkpoint, left: int) -> bool:
        """Whether it is not at the end of a lane."""
        return left >= TAIL

    def draw(
        self,
        folds: Callable[[Checkpoint, int], bool],
        branches: int | None,
        worth: int = RUN,
    ) -> list[Item]:
        """The lanes from the top down; runs of at least `worth` checkpoints that `folds` accepts are folded.

        `folds` is given a checkpoint and how many follow in its lane; what is folded takes its branches along.
        """
        made: list[Item] = []
        frames: list[_Frame | Fold] = [
            _Frame(self._lane(root), 0) for root in reversed(self.space.roots)
        ]
        while frames:
            frame = frames[-1]
            if isinstance(frame, Fold):
                made.append(frame)
                frames.pop()
                continue
            ends = frame.at == len(frame.lane)
            item = frame.lane[frame.at - ends]
            left = len(frame.lane) - 1 - frame.at
            may = not ends and frame.at >= frame.forced and (frame.at or worth == 1)
            if may and folds(item, left):
                frame.at, frame.run = frame.at + 1, frame.run + 1
                continue
            if 0 < frame.run < worth:
                frame.forced, frame.at, frame.run = frame.at, frame.at - frame.run, 0
                continue
            if frame.run:
                made.append(self._folded(frame))
                frame.run = 0
            if ends:
                frames.pop()
                continue
            made.append(Node(item, frame.depth, frame.depth > 0 and not frame.at, left > 0))
            frame.at += 1
            sides = [child for child in item.children if child is not self._main[item.id]]
            frames += reversed(self._sides(sides, frame.depth + 1, branches))
        return made

    def _folded(self, frame: _Frame) -> Fold:
        made = Fold(frame.depth, frame.at < len(frame.lane))
        for item in frame.lane[frame.at - frame.run : frame.at]:
            made.add(item)
            sides = [child for child in item.children if child is not self._main[item.id]]
            for other in _downward(sides):
                made.add(other)
        return made

    def _sides(
        self, sides: list[Checkpoint], depth: int, branches: int | None
    ) -> list[_Frame | Fold]:
        lanes: list[_Frame | Fold] = []
        if branches is None or len(sides) <= branches:
            lanes += [_Frame(self._lane(child), depth) for child in sides]
            return lanes
        left_out = Fold(depth, False, branches=len(sides) - branches)
        half = branches // 2
        for item in _downward(sides[half:-half]):
            left_out.add(item)
        lanes += [_Frame(self._lane(child), depth) for child in sides[:half]]
        lanes.append(left_out)
        lanes += [_Frame(self._lane(child), depth) for child in sides[-half:]]
        return lanes

    def _lane(self, start: Checkpoint) -> list[Checkpoint]:
        lane = [start]
        while (item := self._main.get(lane[-1].id)) is not None:
            lane.append(item)
        return lane

    def _line(self, head: Checkpoint) -> set[str]:
        """The head and its ancestors."""
        byid = {item.id: item for item in self.space.checkpoints}
        found: set[str] = set()
        item: Checkpoint | None = head
        while item is not None and item.id not in found:
            found.add(item.id)
            item = byid.get(item.parent or "")
        return found


def _downward(roots: Iterable[Checkpoint]) -> list[Checkpoint]:
    """Checkpoints and all their descendants, each after its parent."""
    found = list(roots)
    for item in found:
        found += item.children
    return found
