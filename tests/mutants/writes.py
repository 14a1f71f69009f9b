"""Savers that lose, repeat, replace or reorder pending writes."""

from __future__ import annotations

from typing import Any

from lineage_reference.space import Space
from tests.mutants.kit import StrictSaver, mutant


class Edited(StrictSaver):
    """Passes pending writes through `edit` when they are read."""

    def edit(self, writes: list[Any]) -> list[Any]:
        raise NotImplementedError

    def _load(self, key, row, writes):
        made = super()._load(key, row, writes)
        return made._replace(pending_writes=self.edit(made.pending_writes))


@mutant(kills="writes.round-trip")
class OnlyTheFirstWrite(StrictSaver):
    """Stores the first write of a call."""

    def put_writes(self, config, writes, task_id, task_path=""):
        super().put_writes(config, writes[:1], task_id, task_path)


@mutant(kills="writes.in-list-too")
class ListHasNoWrites(StrictSaver):
    """Lists rows without their pending writes."""

    def list(self, config, **options):
        for row in super().list(config, **options):
            yield row._replace(pending_writes=[])


@mutant(kills="writes.before-checkpoint")
class PutClearsWrites(StrictSaver):
    """Starts a checkpoint with no writes when it is put."""

    def put(self, config, checkpoint, metadata, new_versions):
        made = super().put(config, checkpoint, metadata, new_versions)
        place = made["configurable"]
        key = (place["thread_id"], place["checkpoint_ns"], place["checkpoint_id"])
        self.space.writes.pop(key, None)
        return made


@mutant(kills="writes.exactly-once")
class AppendsWrites(StrictSaver):
    """Appends the writes of every call, repeated ones too."""

    def put_writes(self, config, writes, task_id, task_path=""):
        place = config["configurable"]
        key = (str(place["thread_id"]), place.get("checkpoint_ns") or "", place["checkpoint_id"])
        slots = self.space.writes.setdefault(key, {})
        start = sum(1 for slot in slots if slot[0] == task_id and slot[1] >= 0)
        blank = [("", None)] * start
        super().put_writes(config, [*blank, *writes], task_id, task_path)


@mutant(kills="writes.last-wins-on-reserved-channels")
class FirstWinsAlways(StrictSaver):
    """Keeps the first write to a reserved channel too."""

    def put_writes(self, config, writes, task_id, task_path=""):
        stored = self.get_tuple(config)
        old = {w[1] for w in stored.pending_writes if w[0] == task_id} if stored else set()
        if not any(channel.startswith("__") and channel in old for channel, _ in writes):
            super().put_writes(config, writes, task_id, task_path)


@mutant(kills="writes.error-does-not-block")
class AnErrorIsFinal(StrictSaver):
    """Stores nothing for a task that has an error record."""

    def put_writes(self, config, writes, task_id, task_path=""):
        stored = self.get_tuple(config)
        failed = {w[0] for w in stored.pending_writes if w[1] == "__error__"} if stored else set()
        if task_id not in failed or any(channel.startswith("__") for channel, _ in writes):
            super().put_writes(config, writes, task_id, task_path)


@mutant(kills="writes.many-in-order", also=("serde.plain-json",))
class PositionsAreText(StrictSaver):
    """Sorts the positions of writes as text: 0, 1, 10, 11, 2."""

    def _load(self, key, row, writes):
        ordered = sorted(writes, key=lambda w: (w.task_path, w.task_id, str(w.position)))
        return super()._load(key, row, ordered)


@mutant(kills="writes.same-channel-twice")
class OneWritePerChannel(Edited):
    """Keeps the writes of a task in a dictionary by channel."""

    def edit(self, writes):
        return list(
            {(task, channel): (task, channel, value) for task, channel, value in writes}.values()
        )


@mutant(kills="writes.empty-list")
class EmptyBulk(StrictSaver):
    """Hands an empty list to a bulk operation that refuses it."""

    def put_writes(self, config, writes, task_id, task_path=""):
        if not writes:
            raise ValueError("no operations in bulk write")
        super().put_writes(config, writes, task_id, task_path)


@mutant(kills="writes.none-is-a-value")
class NoneIsNothing(Edited):
    """Leaves out writes whose value is None."""

    def edit(self, writes):
        return [write for write in writes if write[2] is not None]


@mutant(kills="writes.send-and-interrupt")
class SendsAreDicts(Edited):
    """Returns Send packets as plain dictionaries."""

    def edit(self, writes):
        return [
            (task, channel, {"node": v.node, "arg": v.arg} if type(v).__name__ == "Send" else v)
            for task, channel, v in writes
        ]


@mutant(kills="writes.name-their-task", also=("writes.ordered-by-path",))
class PathInsteadOfTask(StrictSaver):
    """Returns the task path, where there is one, in place of the task id."""

    def _load(self, key, row, writes):
        named = [w._replace(task_id=w.task_path or w.task_id) for w in writes]
        return super()._load(key, row, named)


@mutant(kills="writes.tasks-are-apart")
class LastTaskWins(Edited):
    """Shows the writes of one task only, the last in order."""

    def edit(self, writes):
        return [write for write in writes if write[0] == writes[-1][0]]


@mutant(kills="writes.may-grow")
class OneCallPerTask(StrictSaver):
    """Takes a second call for a task as a repeat of the first."""

    def put_writes(self, config, writes, task_id, task_path=""):
        stored = self.get_tuple(config)
        old = (
            {w[0] for w in stored.pending_writes if not w[1].startswith("__")} if stored else set()
        )
        if task_id not in old or any(channel.startswith("__") for channel, _ in writes):
            super().put_writes(config, writes, task_id, task_path)


@mutant(kills="writes.first-wins-on-ordinary-channels")
class LastWinsAlways(StrictSaver):
    """Replaces stored writes at the same position, as an upsert does."""

    def put_writes(self, config, writes, task_id, task_path=""):
        place = config["configurable"]
        key = (str(place["thread_id"]), place.get("checkpoint_ns") or "", place["checkpoint_id"])
        for position, (channel, _) in enumerate(writes):
            if not channel.startswith("__"):
                self.space.writes.get(key, {}).pop((task_id, position), None)
        super().put_writes(config, writes, task_id, task_path)


@mutant(kills="writes.ordered-by-path")
class OrderedByTask(StrictSaver):
    """Orders pending writes by task id, although it stores the path."""

    def _load(self, key, row, writes):
        return super()._load(key, row, sorted(writes, key=lambda w: (w.task_id, w.position)))


@mutant(kills="writes.ordered-by-path")
class OrderedByArrival(StrictSaver):
    """Returns pending writes in the order in which they arrived."""

    def _load(self, key, row, writes):
        return super()._load(key, row, self.space.writes.get(key, {}).values())


@mutant(kills="writes.leave-arguments-alone")
class EatsItsArguments(StrictSaver):
    """Takes the writes out of the caller's list one by one."""

    def put_writes(self, config, writes, task_id, task_path=""):
        super().put_writes(config, list(writes), task_id, task_path)
        if isinstance(writes, list):
            writes.clear()


@mutant(kills="writes.are-isolated-from-caller")
class KeepsWrittenObjects(StrictSaver):
    """Serializes written values when they are read, not when they are stored."""

    def __init__(self, space: Space) -> None:
        super().__init__(space)
        self.live: dict[Any, Any] = vars(space).setdefault("live", {})

    def _dump(self, value):
        blob = super()._dump(value)
        if isinstance(value, list):
            token = f"live-{len(self.live)}"
            self.live[token] = value
            return ("live", token.encode())
        return blob

    def put(self, config, checkpoint, metadata, new_versions):
        made = super().put(config, checkpoint, metadata, new_versions)
        place = made["configurable"]
        row = self.space.rows[place["thread_id"], place["checkpoint_ns"], place["checkpoint_id"]]
        for channel, blob in row.values.items():
            row.values[channel] = self.settled(blob)
        return made

    def settled(self, blob):
        if blob[0] != "live":
            return blob
        return super()._dump(self.live[blob[1].decode()])

    def _load(self, key, row, writes):
        return super()._load(key, row, [w._replace(value=self.settled(w.value)) for w in writes])
