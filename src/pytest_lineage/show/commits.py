"""Whether pending writes were consumed: what the children of their checkpoint show, and no more than that.

A saver keeps pending writes after the step that applied them, so their being there says nothing. What a
child checkpoint of the same namespace shows: a step that applied a task's writes gave every channel that the task
wrote a version that the parent has not, and (for tasks that a channel triggered) noted which versions the
node has now seen. Who made the child counts too:

- ``loop``: the next step of a run. It applies all tasks of its parent, so with new versions: committed.
- ``input``: new input. It drops unfinished work; its own writes go to other channels.
- ``fork``: a copy, or the start of a replay. It applies nothing of the tasks.
- ``update``: the caller changed the state. Some releases applied finished tasks first, others do not.

Where these disagree, the answer is *unknown*, with the reason.
"""

from __future__ import annotations

from pytest_lineage.show.thread import NULL_TASK, TASKS_CHANNEL, Checkpoint, Task, Thread


def judge(item: Checkpoint) -> None:
    """Say of each task of a checkpoint whether its writes are committed, and whether it still waits."""
    ahead = [child for child in item.children if child.source in ("loop", "input")]
    for task in item.tasks or ():
        if task.status == "interrupted":
            task.waits = not ahead
            continue
        if task.id == NULL_TASK and not task.output:
            continue
        if task.status in ("failed", "started"):
            continue
        _judge(item, task)


def settle(thread: Thread) -> None:
    """What waits in a subgraph waits no more where the task that it belongs to was passed by."""
    tasks = {task.id: task for item in thread.checkpoints for task in item.tasks or ()}
    for space in thread.namespaces:
        outer = tasks.get(space.name.rpartition(":")[2]) if ":" in space.name else None
        if outer is not None and not outer.waits:
            for item in space.checkpoints:
                for task in item.tasks or ():
                    task.waits = False


def _judge(item: Checkpoint, task: Task) -> None:
    doubts: list[str] = []
    for child in item.children:
        word, why = _consumed(item, task, child)
        if word == "committed":
            task.by.append(child.id)
        elif word == "unknown":
            doubts.append(why)
    if task.by:
        task.committed = "committed"
        if len(task.by) > 1:
            task.why = "by one of several steps from here: the others may hold writes of a replay"
    elif doubts:
        task.committed, task.why = "unknown", doubts[0]
    else:
        task.committed = "uncommitted"
        sources = sorted({child.source for child in item.children})
        task.why = f"no step follows, only {' and '.join(sources)}" if sources else ""


def _consumed(item: Checkpoint, task: Task, child: Checkpoint) -> tuple[str, str]:
    """What one child shows: committed, uncommitted, or unknown with the reason."""
    if task.name in ("(input)", "(update)") and task.name != f"({child.source})":
        return "uncommitted", ""  # what a caller gave goes into the checkpoint that this made
    channels = _telling(item, task, child)
    new = {c for c in channels if child.versions.get(c) != item.versions.get(c)}
    old = sorted(channels - new)
    if child.source == "loop":
        if item.step is not None and child.step is not None and child.step <= item.step:
            return "unknown", "a step follows whose number is not higher"
        if old and not _ran(item, task, child):
            return "unknown", f"the step that follows has no new version of {', '.join(old[:3])}"
        return "committed", ""
    if old or (child.source == "fork" and task.id != NULL_TASK):
        return "uncommitted", ""
    if task.id == NULL_TASK or task.name == f"({child.source})":
        return "committed", ""  # what a caller gave is applied before anything else is
    if not channels:
        return "uncommitted", ""
    if child.source == "update" and not channels & set(item.data["delta"]):
        ran = _ran(item, task, child)
        if ran is not None:
            return ("committed" if ran else "uncommitted"), ""
    return (
        "unknown",
        f"the {child.source} that follows has new versions of all that it wrote, and may have written that itself",
    )


def _telling(item: Checkpoint, task: Task, child: Checkpoint) -> set[str]:
    """The channels whose versions tell: a route gets a new one by being followed, too, a join not with each write."""
    channels = {write.channel for write in task.output}
    if TASKS_CHANNEL not in item.versions and TASKS_CHANNEL not in child.versions:
        channels.discard(TASKS_CHANNEL)  # before it was a channel, packets had no version
    return {c for c in channels if not c.startswith(("branch:to:", "join:"))} or channels


def _ran(item: Checkpoint, task: Task, child: Checkpoint) -> bool | None:
    """Whether the child notes that the task's node has seen its triggers; None where that cannot tell."""
    if task.sent or not task.how or task.name.startswith("("):
        return None
    before, after = item.data["seen"].get(task.name, {}), child.data["seen"].get(task.name, {})
    news = {
        channel: version for channel, version in after.items() if before.get(channel) != version
    }
    return bool(news) and all(item.versions.get(c) == version for c, version in news.items())
