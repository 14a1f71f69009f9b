"""Savers whose faults show in subgraphs, in delta channels, and when a run is stopped."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.mutants.graph_kit import Reading, StrictSaver, saver
from tests.mutants.graph_savers import channels, only

# -- subgraphs -----------------------------------------------------------------------------------


@saver("graph_subgraph.goes-on-inside")
class ForgetsChildren(StrictSaver):
    """Has no latest checkpoint in any namespace but the root."""

    def get_tuple(self, config: Any) -> Any:
        return None if config["configurable"].get("checkpoint_ns") else super().get_tuple(config)


@saver("graph_subgraph.goes-on-inside-at-the-head")
class ChildrenByNoId(StrictSaver):
    """Has no children for a thread that was asked for by an id."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.asked: set[str] = set()

    def get_tuple(self, config: Any) -> Any:
        place = config["configurable"]
        if not place.get("checkpoint_ns"):
            if place.get("checkpoint_id"):
                self.asked.add(place["thread_id"])
        elif place["thread_id"] in self.asked:
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

    def list(
        self, config: Any, *, filter: Any = None, before: Any = None, limit: Any = None
    ) -> Any:
        if config is not None and config["configurable"].get("checkpoint_ns"):
            before = None
        return super().list(config, filter=filter, before=before, limit=limit)


@saver("graph_subgraph.own-memory-lasts")
class FinishedChildrenAreForgotten(StrictSaver):
    """Has no latest checkpoint in a child's namespace when the child has finished."""

    def get_tuple(self, config: Any) -> Any:
        made = super().get_tuple(config)
        if made is None or not config["configurable"].get("checkpoint_ns"):
            return made
        waits = any(name.startswith("branch:") for name in made.checkpoint["channel_values"])
        return made if waits else None


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


@saver("graph_delta.updated-fork")
class UpdatesLoseTheirValue(Reading):
    """Loses the folded value that comes with an update of an older checkpoint."""

    def changed(self, key: Any, made: Any) -> Any:
        parent = self.space.rows[key].parent
        siblings = [
            k for k, row in self.space.rows.items() if k[:2] == key[:2] and row.parent == parent
        ]
        if parent and len(siblings) > 1:
            made.checkpoint["channel_values"].pop("deltas", None)
        return made


@saver("graph_delta.replayed-fork")
class ForksSeeSiblings(StrictSaver):
    """Shows in the history of a delta channel what the latest other branch wrote at its first step."""

    def get_delta_channel_history(self, *, config: Any, channels: Any) -> Any:
        made = super().get_delta_channel_history(config=config, channels=channels)
        key = self._find(config)
        mine = {k for k, _ in self.space.lineage(key)} if key else set()
        if key is None or any(
            self._metadata(self.space.rows[k]).get("source") == "update" for k in mine
        ):
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


@saver("graph_delta.overwrite")
class OverwritesAreAdded(Delta):
    """Adds what was overwritten to the snapshot that an overwrite has made."""

    def changed(self, config: Any, entry: Any) -> Any:
        value = getattr(entry.get("seed"), "value", None)
        if value and "in" not in value:
            return {**entry, "seed": type(entry["seed"])(["in", *value])}
        return entry


@saver("graph_delta.migration")
class OldValuesAreNoSeed(Delta):
    """Takes nothing but a snapshot for a seed."""

    def changed(self, config: Any, entry: Any) -> Any:
        if type(entry.get("seed")).__name__ == "list":
            return {k: v for k, v in entry.items() if k != "seed"}
        return entry


# -- stopping ------------------------------------------------------------------------------------


def cancelled(made: Any) -> bool:
    return any(c == "__error__" and "Cancelled" in repr(v) for _, c, v in made.pending_writes)


@saver("graph_durability.cancel-leaves-what-finished", "async")
class CancelHidesTheOthers(Reading):
    """Hides the ordinary writes of a step in which a task was cancelled."""

    def changed(self, key: Any, made: Any) -> Any:
        return only(made, lambda write: not cancelled(made) or write[1].startswith("__"))


@saver("graph_durability.crash-leaves-what-was-stored")
class UnmarkedAreHidden(Reading):
    """Shows ordinary writes only beside an error or a question."""

    def changed(self, key: Any, made: Any) -> Any:
        marked = channels(made) & {"__error__", "__interrupt__"}
        return only(made, lambda write: bool(marked) or write[1].startswith("__"))


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
        stopped = cancelled(made)
        writes = [
            (t, c, [f"{i}#stale" for i in v] if stopped and c == "log" and v != ["in"] else v)
            for t, c, v in made.pending_writes
        ]
        return made._replace(pending_writes=writes)


@saver("graph_durability.cancel-keeps-questions", "async")
class StopHidesQuestions(Reading):
    """Hides interrupts beside a task that was cancelled."""

    def changed(self, key: Any, made: Any) -> Any:
        stopped = cancelled(made)
        return only(made, lambda write: not stopped or write[1] != "__interrupt__")


@saver("graph_durability.goes-on-after-a-restart")
class WritesAreOfTheProcess(StrictSaver):
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


@saver("graph_durability.answers-while-a-run-is-cancelled", "async")
class CancelStopsReads(StrictSaver):
    """Refuses to read while some task of the event loop is being cancelled."""

    async def aget_tuple(self, config: Any) -> Any:
        for task in asyncio.all_tasks():
            # Python 3.10 does not tell, so this fault does not show there.
            if getattr(task, "cancelling", lambda: 0)():
                raise RuntimeError("the connection is being reset")
        return await super().aget_tuple(config)


@saver("graph_durability.uncommitted-step-has-tasks", "async")
class FinishedIsCommitted(Reading):
    """Drops the signal to a node whose writes wait for their checkpoint."""

    def changed(self, key: Any, made: Any) -> Any:
        written = {c for _, c, _ in made.pending_writes}
        values = made.checkpoint["channel_values"]
        signals = [name for name in values if name.startswith("branch:")]
        if "log" in written and signals == ["branch:to:b"] and not key[1]:
            values.pop("branch:to:b")
        return made
