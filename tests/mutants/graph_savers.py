"""Savers whose faults show when a graph is stopped, resumed or forked."""

from __future__ import annotations

import dataclasses
from typing import Any

from tests.mutants.graph_kit import Reading, StrictSaver, saver

NULL = "00000000-0000-0000-0000-000000000000"


def channels(made: Any) -> set[str]:
    return {channel for _, channel, _ in made.pending_writes}


def only(made: Any, keep: Any) -> Any:
    return made._replace(pending_writes=[write for write in made.pending_writes if keep(write)])


# -- resuming ------------------------------------------------------------------------------------


@saver("graph_resume.stored-tasks-run-once")
class FailureHidesTheOthers(Reading):
    """Hides the ordinary writes of a step in which a task has failed."""

    def changed(self, key: Any, made: Any) -> Any:
        failed = "__error__" in channels(made)
        return only(made, lambda w: not failed or w[1].startswith("__")) if failed else made


@saver("graph_resume.same-end")
class StopDoubles(Reading):
    """Shows what tasks wrote twice over once one of their siblings has failed."""

    def changed(self, key: Any, made: Any) -> Any:
        twice = 2 if "__error__" in channels(made) else 1
        writes = [
            (t, c, v * twice if c == "log" and isinstance(v, list) else v)
            for t, c, v in made.pending_writes
        ]
        return made._replace(pending_writes=writes)


@saver("graph_resume.order-is-kept")
class SendsTurnRound(Reading):
    """Gives scheduled sends back in the opposite order."""

    def changed(self, key: Any, made: Any) -> Any:
        values = made.checkpoint["channel_values"]
        if "__pregel_tasks" in values:
            values["__pregel_tasks"] = values["__pregel_tasks"][::-1]
        return made


@saver("graph_resume.answer-at-the-head-runs-once")
class IdWithoutWrites(StrictSaver):
    """Returns no ordinary writes for a checkpoint that was asked for by its id."""

    def get_tuple(self, config: Any) -> Any:
        made = super().get_tuple(config)
        if made is None or not config["configurable"].get("checkpoint_id"):
            return made
        return only(made, lambda write: write[1].startswith("__"))


@saver("graph_resume.live-equals-reloaded")
class ShortLists(Reading):
    """Cuts lists after the sixth item."""

    def changed(self, key: Any, made: Any) -> Any:
        values = made.checkpoint["channel_values"]
        if "log" in values:
            values["log"] = values["log"][:6]
        return made


@saver("graph_resume.sequential-tasks")
class ForgetsReturns(Reading):
    """Forgets what tasks of the functional API have returned."""

    def changed(self, key: Any, made: Any) -> Any:
        return only(made, lambda write: write[1] != "__return__")


# -- questions -----------------------------------------------------------------------------------


@saver("graph_interrupts.ids-are-distinct")
class OneIdForAll(Reading):
    """Loads every interrupt with one and the same id."""

    def changed(self, key: Any, made: Any) -> Any:
        writes = [
            (t, c, [_renamed(item) for item in v] if c == "__interrupt__" else v)
            for t, c, v in made.pending_writes
        ]
        return made._replace(pending_writes=writes)


def _renamed(item: Any) -> Any:
    if dataclasses.is_dataclass(item):
        return dataclasses.replace(item, id="same")  # type: ignore[type-var]
    twin = type(item)(item.value, "same")
    return twin


@saver("graph_interrupts.every-waiting-task-is-next")
class AskingLooksDone(Reading):
    """Adds an empty result to the writes of every task that waits for an answer."""

    def changed(self, key: Any, made: Any) -> Any:
        asked = [t for t, c, _ in made.pending_writes if c == "__interrupt__"]
        extra = [(task, "__no_writes__", None) for task in asked]
        return made._replace(pending_writes=[*made.pending_writes, *extra])


@saver("graph_interrupts.answered-are-not-listed")
class QuestionHidesResult(Reading):
    """Hides what a task wrote after it had asked."""

    def changed(self, key: Any, made: Any) -> Any:
        asked = {t for t, c, _ in made.pending_writes if c == "__interrupt__"}
        return only(made, lambda write: write[0] not in asked or write[1] == "__interrupt__")


@saver("graph_interrupts.answers-reach-their-question")
class ForgetsAnswers(Reading):
    """Loads earlier answers of a task as question marks."""

    def changed(self, key: Any, made: Any) -> Any:
        writes = [
            (t, c, ["?" for _ in v] if c == "__resume__" and isinstance(v, list) else v)
            for t, c, v in made.pending_writes
        ]
        return made._replace(pending_writes=writes)


@saver("graph_interrupts.update-beside-an-answer-is-kept")
class ForgetsTheNullTask(Reading):
    """Forgets ordinary writes that come from no task of the graph."""

    def changed(self, key: Any, made: Any) -> Any:
        return only(made, lambda write: write[0] != NULL or write[1].startswith("__"))


@saver("graph_interrupts.update-beside-an-answer-is-applied-once")
class DoublesTheNullTask(Reading):
    """Shows ordinary writes that come from no task of the graph twice."""

    def changed(self, key: Any, made: Any) -> Any:
        twice = [w for w in made.pending_writes if w[0] == NULL and not w[1].startswith("__")]
        return made._replace(pending_writes=[*made.pending_writes, *twice])


@saver("graph_interrupts.replay-asks-again")
class ForksKeepAnswers(Reading):
    """Shows a fork the answers that were given to its siblings."""

    def changed(self, key: Any, made: Any) -> Any:
        if made.metadata.get("source") != "fork":
            return made
        extra = [
            (write.task_id, write.channel, self.serde.loads_typed(write.value))
            for other in self.space.rows
            if other[:2] == key[:2] and other != key
            for write in self.space.writes_of(other)
            if write.task_id == NULL and write.channel == "__resume__"
        ]
        return made._replace(pending_writes=[*made.pending_writes, *extra])


@saver("graph_interrupts.all-are-listed")
class OneQuestionAtATime(Reading):
    """Shows one interrupt of a checkpoint only."""

    def changed(self, key: Any, made: Any) -> Any:
        asked = [write for write in made.pending_writes if write[1] == "__interrupt__"]
        return only(made, lambda write: write[1] != "__interrupt__" or write == asked[0])


# -- forks ---------------------------------------------------------------------------------------


class Putting(StrictSaver):
    """Changes the log of checkpoints that updates make: a subclass says how."""

    def updated(self, key: Any, log: list[str]) -> list[str]:
        return log

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        values = checkpoint["channel_values"]
        if metadata.get("source") == "update" and "log" in values:
            place = config["configurable"]
            key = (place["thread_id"], place.get("checkpoint_ns", ""), place.get("checkpoint_id"))
            values = {**values, "log": self.updated(key, values["log"])}
            checkpoint = {**checkpoint, "channel_values": values}
        return super().put(config, checkpoint, metadata, new_versions)


@saver("graph_fork.update-leaves-old-writes-behind")
class UpdatesApplyWhatIsPending(Putting):
    """Adds to an update what tasks wrote on the checkpoint that it continues."""

    def updated(self, key: Any, log: list[str]) -> list[str]:
        stale = [
            item
            for write in self.space.writes_of(key)
            if write.channel == "log"
            for item in self.serde.loads_typed(write.value)
        ]
        return [*log, *(item for item in stale if item not in log)]


@saver("graph_fork.as-node-schedules-its-successors")
class UpdatesScheduleNothing(StrictSaver):
    """Forgets the signals to other nodes that come with an update."""

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        if metadata.get("source") == "update":
            values = {
                k: v
                for k, v in checkpoint["channel_values"].items()
                if not k.startswith("branch:")
            }
            checkpoint = {**checkpoint, "channel_values": values}
        return super().put(config, checkpoint, metadata, new_versions)


class HeadsLog(StrictSaver):
    """Returns the log of the latest checkpoint for one that was asked for by its id."""

    def get_tuple(self, config: Any) -> Any:
        made = super().get_tuple(config)
        place = config["configurable"]
        if made is None or not place.get("checkpoint_id"):
            return made
        bare = {k: v for k, v in place.items() if k in ("thread_id", "checkpoint_ns")}
        head = super().get_tuple({"configurable": bare})
        values = made.checkpoint["channel_values"]
        if head is not None and "log" in head.checkpoint["channel_values"] and "log" in values:
            values["log"] = head.checkpoint["channel_values"]["log"]
        return made


@saver("graph_fork.replay-runs-only-later-work")
class ReplaySeesTheHead(HeadsLog):
    """Returns the log of the latest checkpoint for one that was asked for by its id."""


@saver("graph_fork.new-turn-sees-only-earlier-state")
class TurnSeesTheHead(HeadsLog):
    """Returns the log of the latest checkpoint for one that was asked for by its id."""


@saver("graph_fork.the-other-branch-stays")
class ForkRewritesTheEnd(StrictSaver):
    """Replaces the log of finished checkpoints when something is put elsewhere in the thread."""

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        made = super().put(config, checkpoint, metadata, new_versions)
        place = made["configurable"]
        new = self.space.rows[place["thread_id"], place["checkpoint_ns"], place["checkpoint_id"]]
        for key, row in list(self.space.rows.items()):
            older = key[0] == place["thread_id"] and key[2] < (new.parent or "")
            if older and len(row.values) > 0 and "log" in row.values and "log" in new.values:
                values = {**row.values, "log": new.values["log"]}
                self.space.rows[key] = dataclasses.replace(row, values=values)
        return made


@saver("graph_fork.clearing-tasks-keeps-what-finished")
class UpdatesForget(Putting):
    """Keeps only the first item of a log that an update leaves."""

    def updated(self, key: Any, log: list[str]) -> list[str]:
        return log[:1]


# -- subgraphs -----------------------------------------------------------------------------------


@saver("graph_subgraph.goes-on-inside")
class ForgetsChildren(StrictSaver):
    """Has no latest checkpoint in any namespace but the root."""

    def get_tuple(self, config: Any) -> Any:
        return None if config["configurable"].get("checkpoint_ns") else super().get_tuple(config)


@saver("graph_subgraph.goes-on-inside-at-the-head")
class ChildrenByNoId(StrictSaver):
    """Has no children for a parent that was asked for by its id last."""

    asked: Any = None

    def get_tuple(self, config: Any) -> Any:
        place = config["configurable"]
        if not place.get("checkpoint_ns"):
            self.asked = place.get("checkpoint_id")
        elif self.asked:
            return None
        return super().get_tuple(config)


@saver("graph_subgraph.namespaces-are-apart")
class ChildrenSeeTheirParent(Reading):
    """Puts the log of the parent before that of the child."""

    def changed(self, key: Any, made: Any) -> Any:
        values = made.checkpoint["channel_values"]
        if key[1] and "log" in values:
            values["log"] = ["in", *values["log"]]
        return made


@saver("graph_subgraph.follows-its-parents-time")
class BeforeIsNotForChildren(StrictSaver):
    """Ignores `before` in every namespace but the root."""

    def list(self, config: Any, *, filter: Any = None, before: Any = None, limit: Any = None) -> Any:
        if config is not None and config["configurable"].get("checkpoint_ns"):
            before = None
        return super().list(config, filter=filter, before=before, limit=limit)


# -- delta channels ------------------------------------------------------------------------------


class Delta(StrictSaver):
    """Changes the history of delta channels: a subclass says how."""

    def changed(self, config: Any, entry: Any) -> Any:
        raise NotImplementedError

    def get_delta_channel_history(self, *, config: Any, channels: Any) -> Any:
        made = super().get_delta_channel_history(config=config, channels=channels)
        return {channel: self.changed(config, entry) for channel, entry in made.items()}


@saver("graph_delta.equals-plain")
class ForgetsTheNewest(Delta):
    """Leaves the newest write out of a history that has a few."""

    def changed(self, config: Any, entry: Any) -> Any:
        writes = entry["writes"]
        return {**entry, "writes": writes[:-1] if len(writes) > 2 else writes}


@saver("graph_delta.first-update")
class SeedsNeedATurn(Delta):
    """Forgets writes that no turn has made, as long as there is no value yet."""

    def changed(self, config: Any, entry: Any) -> Any:
        seeded = {w[0] for w in entry["writes"]}
        turns = any("in" in w[2] for w in entry["writes"] if isinstance(w[2], list))
        return entry if turns or not seeded else {**entry, "writes": []}


class Siblings(Delta):
    """Adds the writes of siblings made from a given source."""

    source = ""

    def changed(self, config: Any, entry: Any) -> Any:
        key = self._find(config)
        row = self.space.rows[key]
        if self._metadata(row).get("source") != self.source or row.parent is None:
            return entry
        extra = [
            (w.task_id, w.channel, self.serde.loads_typed(w.value))
            for other, sibling in self.space.rows.items()
            if other[:2] == key[:2] and other != key and sibling.parent == row.parent
            for w in self.space.writes_of(other)
            if w.channel == "deltas"
        ]
        return {**entry, "writes": [*entry["writes"], *extra]}


@saver("graph_delta.updated-fork")
class UpdatesSeeSiblings(Siblings):
    """Folds the writes of siblings into an update's history."""

    source = "update"


@saver("graph_delta.replayed-fork")
class ForksSeeSiblings(StrictSaver):
    """Shows in the history of a delta channel what the latest other branch wrote at its first step."""

    def get_delta_channel_history(self, *, config: Any, channels: Any) -> Any:
        made = super().get_delta_channel_history(config=config, channels=channels)
        key = self._find(config)
        mine = {k for k, _ in self.space.lineage(key)} if key else set()
        if key is None or any(self._metadata(self.space.rows[k]).get("source") == "update" for k in mine):
            return made
        parents = [self.space.rows[k].parent for k in mine]
        for other, row in self.space.rows.items():
            if other[:2] == key[:2] and other not in mine and row.parent in parents:
                extra = [
                    (w.task_id, w.channel, self.serde.loads_typed(w.value))
                    for w in self.space.writes_of(other)
                    if w.channel == "deltas"
                ]
                for channel in made:
                    made[channel]["writes"] += extra  # type: ignore[index]
        return made


@saver("graph_delta.parallel-order")
class HistoryTurnsRound(Delta):
    """Gives the writes of one step in the opposite order where there are many."""

    def changed(self, config: Any, entry: Any) -> Any:
        writes = entry["writes"]
        return {**entry, "writes": writes[:1] + writes[1:][::-1]} if len(writes) > 6 else entry


@saver("graph_delta.migration")
class OldValuesAreNoSeed(Delta):
    """Takes nothing but a snapshot for a seed."""

    def changed(self, config: Any, entry: Any) -> Any:
        if type(entry.get("seed")).__name__ == "list":
            return {k: v for k, v in entry.items() if k != "seed"}
        return entry


# -- stopping ------------------------------------------------------------------------------------


@saver("graph_durability.cancel-leaves-what-finished", "async")
class WritesWaitForThePut(StrictSaver):
    """Stores writes with the next checkpoint and not before."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.waiting: list[Any] = []

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        self.waiting.append((config, writes, task_id, task_path))

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        for call in self.waiting:
            super().put_writes(*call)
        self.waiting.clear()
        return super().put(config, checkpoint, metadata, new_versions)


@saver("graph_durability.crash-leaves-what-was-stored")
class WritesWaitForThePutToo(WritesWaitForThePut):
    """Stores writes with the next checkpoint and not before."""


@saver("graph_durability.cancel-in-exit-mode-leaves-what-finished", "async")
class OrphansAreDropped(StrictSaver):
    """Drops writes whose checkpoint comes at the end of the run, as exit mode sends them."""

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        place = config["configurable"]
        key = (place["thread_id"], place.get("checkpoint_ns", ""), place["checkpoint_id"])
        row = self.space.rows.get(key)
        # In exit mode the head has the previous turn's head, or nothing, for a parent.
        if row is not None and row.parent is not None:
            super().put_writes(config, writes, task_id, task_path)


@saver("graph_durability.cancelled-runs-can-be-resumed", "async")
class StopMarks(Reading):
    """Changes what was written beside a task that was cancelled."""

    def changed(self, key: Any, made: Any) -> Any:
        stopped = "__error__" in channels(made)
        writes = [
            (t, c, [f"{i}#stale" for i in v] if stopped and c == "log" and v != ["in"] else v)
            for t, c, v in made.pending_writes
        ]
        return made._replace(pending_writes=writes)


@saver("graph_durability.cancel-keeps-questions", "async")
class StopHidesQuestions(Reading):
    """Hides interrupts beside a task that was cancelled."""

    def changed(self, key: Any, made: Any) -> Any:
        stopped = "__error__" in channels(made)
        return only(made, lambda write: not stopped or write[1] != "__interrupt__")


@saver("graph_durability.goes-on-after-a-restart")
class WritesAreTheProcesss(StrictSaver):
    """Keeps writes in the process and not in the store."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.born = len(self.space.rows)
        if self.born:
            self.space.writes = {}


@saver("graph_durability.sync-and-async-agree", "async")
class AsyncForgets(StrictSaver):
    """Reads no ordinary writes on its async half."""

    async def aget_tuple(self, config: Any) -> Any:
        made = await super().aget_tuple(config)
        return made and only(made, lambda write: write[1].startswith("__"))
