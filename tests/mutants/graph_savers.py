"""Savers whose faults show when a graph is resumed, asks, or is forked."""

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
    """Gives sends that were scheduled by several nodes back in the opposite order."""

    def changed(self, key: Any, made: Any) -> Any:
        values = made.checkpoint["channel_values"]
        sends = values.get("__pregel_tasks") or ()
        if sends and sends[0].node == "work":
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


@saver("graph_interrupts.parallel-tasks-of-an-entrypoint")
class OneIdForAllOfAnEntrypoint(Reading):
    """Loads every interrupt of a workflow without a state with one and the same id."""

    def changed(self, key: Any, made: Any) -> Any:
        if "log" in made.checkpoint["channel_values"]:
            return made
        writes = [
            (t, c, [_renamed(item) for item in v] if c == "__interrupt__" else v)
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
                k: v for k, v in checkpoint["channel_values"].items() if not k.startswith("branch:")
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
