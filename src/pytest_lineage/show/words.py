"""What is said of checkpoints, tasks and folds, in the same words by every format."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from pytest_lineage.report.style import clip, safe
from pytest_lineage.show.folding import Fold, Spaces
from pytest_lineage.show.preview import amount
from pytest_lineage.show.thread import CONTROL, ERROR, Checkpoint, Namespace, Task, Thread, total

NAME = 60
"""Characters of a name of a node, channel or namespace."""

SHORTEST = 8


@dataclass(frozen=True)
class Said:
    """One line about a checkpoint, and how urgent it is: good, bad, warn or nothing."""

    text: str
    tone: str = ""


class Ids:
    """Ids cut to where they differ within the thread, as long as that helps."""

    def __init__(self, thread: Thread, full: bool) -> None:
        ids = sorted({item.id for item in thread.checkpoints})
        shared = (_shared(a, b) for a, b in itertools.pairwise(ids))
        self._most = 10**6 if full else max([SHORTEST, *(number + 1 for number in shared)])

    def __call__(self, id: str) -> str:
        return safe(id[: self._most])


def thread(made: Thread) -> str:
    """How much there is."""
    count = sum(len(space.checkpoints) for space in made.namespaces)
    size = total(s for item in made.checkpoints for s in (item.size, item.writes_size))
    spaces = len(made.namespaces)
    more = "the newest of them only" if made.cut else ""
    parts = [many(count, "checkpoint"), many(spaces, "namespace"), amount(size), more]
    return ", ".join(part for part in parts if part)


def namespace(space: Namespace, ids: Ids) -> str:
    """A namespace: its name, what it hangs from, how much it holds."""
    name = f"namespace {name_of(space.name)}" if space.name else "root namespace"
    of = f", under checkpoint {ids(space.of)}" if space.of else ""
    return f"{name}: {many(len(space.checkpoints), 'checkpoint')}{of}"


def checkpoint(item: Checkpoint) -> list[str]:
    """Step, source, size and marks of a checkpoint."""
    words = [f"step {item.step}" if item.step is not None else "no step", name_of(item.source)]
    words.append(amount(item.size))
    if item.tasks is None:
        words.append("pending writes are not listed")
    elif item.writes_size:
        words.append(f"+ {amount(item.writes_size)} of writes")
    if item.head:
        words.append("head")
    elif not item.children:
        words.append("tip")
    if len(item.children) > 1:
        words.append(f"fork in {len(item.children):,}")
    return words


def changes(item: Checkpoint, most: int = 6) -> str:
    """The channels that it has new versions of."""
    if item.changed is None:
        return ""
    names = [name_of(name) for name in item.changed]
    return "sets " + listed(names, most) if names else "sets nothing"


def about(item: Checkpoint, ids: Callable[[str], str], values: bool) -> Iterator[Said]:
    """Tasks, what is due, and notes, a line each."""
    for task in item.tasks or ():
        yield from _task(task, ids, values)
    for name, count in _counted(item.due):
        times = f" ×{count}" if count > 1 else ""
        yield Said(f"{name_of(name)}{times}: scheduled, nothing stored", "warn")
    for note in item.notes:
        yield Said(safe(note), "bad")


def _task(task: Task, ids: Callable[[str], str], values: bool) -> Iterator[Said]:
    who = who_is(task)
    if task.committed:
        by = listed([ids(id) for id in task.by], 3)
        word = {"committed": f"committed by {by}", "uncommitted": "UNCOMMITTED"}.get(
            task.committed, "committed or not is unknown"
        )
        why = f" ({safe(task.why)})" if task.why else ""
        tone = {"committed": "", "uncommitted": "warn"}.get(task.committed, "warn")
        yield Said(f"{who}: {word}{why}: {_output(task, values)}", tone)
    if task.status == "caller":
        for write in task.writes:
            if write.channel in CONTROL:
                yield Said(f"{who} gave {_control(write.channel)} {write.preview}")
        return
    answered = any(write.channel == "__resume__" for write in task.writes)
    for interrupt in task.interrupts:
        id = f" {safe(interrupt['id'][:12])}" if interrupt["id"] else ""
        state = "WAITS at" if task.waits else "had" if task.committed else "was left at"
        tail = ", answered" if answered and not task.waits else ""
        tail = ", an answer is stored" if answered and task.waits else tail
        yield Said(
            f"{who} {state} interrupt{id}{tail}: {interrupt['preview']}",
            "warn" if task.waits else "",
        )
    if task.error is not None:
        beside = "carries an error mark too" if task.status == "finished" else "FAILED"
        yield Said(f"{who} {beside}: {task.error}", "bad")
    if task.status == "started":
        kinds = listed([_control(write.channel) for write in task.writes], 3)
        yield Said(f"{who} stored only {kinds}", "warn")


def who_is(task: Task) -> str:
    """A task by its name and the beginning of its id."""
    if task.id.startswith("00000000-0000-0000"):
        return "the caller"
    name = name_of(task.name) + ("?" if task.how == "inferred" else "") if task.how else "task"
    sent = " (sent)" if task.sent else ""
    return f"{name}{sent} [{safe(task.id[:8])}]"


def _output(task: Task, values: bool) -> str:
    parts = []
    for write in task.output:
        route = write.channel.startswith("branch:to:") or write.preview == "None"
        text = name_of(write.channel) + ("" if route else f"={write.preview}")
        parts.append(text if values else clip(text, 72))
    parts += [f"returned {write.preview}" for write in task.writes if write.channel == "__return__"]
    most = 50 if values else 4
    return listed(parts, most) if parts else "nothing for the state"


def _control(channel: str) -> str:
    known = {ERROR: "an error", "__resume__": "the answer", "__interrupt__": "an interrupt"}
    return known.get(channel, name_of(channel))


def fold(item: Fold) -> str:
    """What a fold holds."""
    what = many(item.count, "checkpoint")
    if item.branches:
        what = f"{many(item.branches, 'more branch', 'more branches')}, {what}"
    steps = ""
    ends = [end.step for end in (item.first, item.last) if end is not None and end.step is not None]
    if len(ends) == 2 and not item.branches:
        steps = f", steps {ends[0]:,} to {ends[1]:,}"
    sources = ", ".join(f"{name_of(name)} {n:,}" for name, n in item.sources.most_common(5))
    sources = f" ({sources})" if sources else ""
    hot = f", {item.open:,} with something unfinished" if item.open else ""
    return f"… {what}{steps}{sources}, {amount(item.size)}{hot} …"


def spaces(item: Spaces) -> str:
    """What namespaces hold that are not drawn."""
    hot = f", {item.open:,} with something unfinished" if item.open else ""
    return (
        f"… {many(item.count, 'more namespace')} {name_of(item.label)}, "
        f"{many(item.checkpoints, 'checkpoint')}, {amount(item.size)}{hot} …"
    )


def many(count: int, word: str, plural: str = "") -> str:
    """A number of things."""
    return f"{count:,} {word if count == 1 else plural or word + 's'}"


def listed(parts: Iterable[str], most: int) -> str:
    """The first few of a list."""
    parts = list(parts)
    more = [f"{len(parts) - most:,} more"] if len(parts) > most else []
    return ", ".join([*parts[:most], *more])


def name_of(text: str) -> str:
    """A name of the user's, safe and not longer than a line."""
    return clip(safe(text), NAME)


def _counted(names: list[str]) -> list[tuple[str, int]]:
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    return list(counts.items())


def _shared(one: str, other: str) -> int:
    number = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        number += 1
    return number
