"""Seeding: read the messages of any messages graph at one turn, and begin a new thread with them.

Both go through a graph of one node that does nothing, compiled with the application's own saver. It
needs no model, tools or prompt, and no saver method beyond those that every graph uses (`copy_thread`
is one that no stock saver implements). Three details carry the weight:

* The new thread is written *as if its input had just arrived* (``as_node="__start__"``), through this
  graph and not through the agent's. What is scheduled then is our own node, which the agent's graph does
  not have: for the agent the thread has nothing left to do. Through the agent's graph the same call
  schedules the agent, and the next ``invoke(None)`` runs the model on the inherited messages. The same
  happens if our node has the name of one of the agent's: hence `NODE`.
* The messages are written into a plain channel, which stores the list as it is. A channel with a reducer
  would have its say about ids and types, and some store an `Overwrite` unopened when it comes first.
* A checkpoint is read without the writes that hang on it. They belong to the step *after* it; a later
  turn that was begun by ``Command(update=...)`` leaves its new message there, and `get_state` shows it.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from functools import reduce
from typing import Annotated, Any, NamedTuple, TypedDict

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages

from lineage_reference.branching.records import NotCompleted
from lineage_reference.steps import Step, Steps

NODE = "lineage-seed"
"""Name of the only node. An agent with a node of this name would be woken by a branch."""

DELTA = hasattr(BaseCheckpointSaver, "get_delta_channel_history")
"""Whether the installed LangGraph knows channels whose values are replayed from their writes."""

Fold = Callable[[Any, Any], Any]


class Mark(NamedTuple):
    """A place in a thread: the first `cut` messages (None: all) at one checkpoint."""

    checkpoint_id: str
    cut: int | None = None


class Settled(BaseCheckpointSaver[Any]):
    """A saver as seen by a reader: of every checkpoint one channel, as it was put.

    The writes that hang on a checkpoint are left out, and so are the tasks that it schedules: they are
    the agent's, and a graph that does not know its nodes warns about each of them.
    """

    def __init__(self, saver: BaseCheckpointSaver[Any], key: str) -> None:
        super().__init__(serde=saver.serde)
        self.saver, self.key = saver, key

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint with one channel and no writes."""
        found = self.saver.get_tuple(config)
        return None if found is None else self._bare(found)

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint with one channel and no writes."""
        found = await self.saver.aget_tuple(config)
        return None if found is None else self._bare(found)

    def list(self, config: RunnableConfig | None, **options: Any) -> Iterator[CheckpointTuple]:
        """Checkpoints with one channel and no writes, newest first."""
        for found in self.saver.list(config, **options):
            yield self._bare(found)

    async def alist(
        self, config: RunnableConfig | None, **options: Any
    ) -> AsyncIterator[CheckpointTuple]:
        """Checkpoints with one channel and no writes, newest first."""
        async for found in self.saver.alist(config, **options):
            yield self._bare(found)

    def get_delta_channel_history(self, **options: Any) -> Any:
        """As the saver has it: these writes came *before* the checkpoint and make its value."""
        return self.saver.get_delta_channel_history(**options)

    async def aget_delta_channel_history(self, **options: Any) -> Any:
        """As the saver has it: these writes came *before* the checkpoint and make its value."""
        return await self.saver.aget_delta_channel_history(**options)

    def _bare(self, found: CheckpointTuple) -> CheckpointTuple:
        values = found.checkpoint["channel_values"]
        checkpoint: Any = {**found.checkpoint, "channel_values": {}}
        if self.key in values:
            checkpoint["channel_values"][self.key] = values[self.key]
        if checkpoint.get("pending_sends"):  # where tasks stood before checkpoint format 4
            checkpoint["pending_sends"] = []
        return found._replace(checkpoint=checkpoint, pending_writes=[])


class Seeder:
    """Reads prefixes from threads of one saver and seeds new threads with them.

    `key` is the state key of the messages. `fold` says how one write joins the list; it is used only to
    replay a delta channel, which stores writes and no list (`add_messages` unless told otherwise).
    """

    def __init__(
        self, saver: BaseCheckpointSaver[Any], key: str = "messages", fold: Fold = add_messages
    ) -> None:
        self.saver, self.key = saver, key
        self.seeder = _graph(key, list).compile(checkpointer=saver)
        self.reader = _graph(key, _read_as(fold)).compile(checkpointer=Settled(saver, key))

    def read(self, thread_id: str, mark: Mark | None) -> Steps[list[Any]]:
        """The messages at a mark, as they are stored. None marks the start, before any message."""
        if mark is None:
            return []
        config = _config(thread_id, mark.checkpoint_id)
        snapshot = yield Step(
            lambda: self.reader.get_state(config), lambda: self.reader.aget_state(config)
        )
        if not snapshot.created_at:
            raise NotCompleted(
                f"checkpoint {mark.checkpoint_id} of {thread_id} is not in the saver"
            )
        return list(snapshot.values.get(self.key) or [])[: mark.cut]

    def seed(self, thread_id: str, messages: Sequence[Any]) -> Steps[str]:
        """Begin an empty thread with `messages`, ids and types as they are; its checkpoint's id."""
        config, values = _config(thread_id), {self.key: list(messages)}
        made = yield Step(
            lambda: self.seeder.update_state(config, values, as_node=START),
            lambda: self.seeder.aupdate_state(config, values, as_node=START),
        )
        return str(made["configurable"]["checkpoint_id"])

    def find(self, thread_id: str, turn: int) -> Steps[Mark | None]:
        """Where turn `turn` of a thread ended, found by walking its history once.

        A turn begins with each human message that was not there before. The head is not asked: its
        messages may have been summarised since. Raises `NotCompleted` if the thread has no such turn or
        it has no answer yet.
        """
        config = _config(thread_id)

        def walk() -> list[_Look]:
            return _line(map(self._look, self.reader.get_state_history(config)))

        async def awalk() -> list[_Look]:
            return _line([self._look(s) async for s in self.reader.aget_state_history(config)])

        line = yield Step(walk, awalk)
        return _resolve(thread_id, turn, line)

    def _look(self, snapshot: Any) -> _Look:
        messages = list(snapshot.values.get(self.key) or [])
        parent = snapshot.parent_config
        humans = [
            (position, getattr(message, "id", None) or f"#{position}")
            for position, message in enumerate(messages)
            if getattr(message, "type", None) == "human"
        ]
        return _Look(
            snapshot.config["configurable"]["checkpoint_id"],
            parent["configurable"]["checkpoint_id"] if parent else None,
            humans,
            _answered(messages),
        )


class _Look(NamedTuple):
    """What the walk keeps of a checkpoint."""

    id: str
    parent: str | None
    humans: list[tuple[int, str]]
    answered: bool


def _line(looks: Any) -> list[_Look]:
    """The ancestors of the newest checkpoint, oldest first: forks beside them do not count."""
    line: list[_Look] = []
    for look in looks:
        if not line or look.id == line[-1].parent:
            line.append(look)
    return line[::-1]


def _resolve(thread_id: str, turn: int, line: list[_Look]) -> Mark | None:
    seen: set[str] = set()
    before: _Look | None = None
    for look in line:
        known = len(seen)
        for position, human in look.humans:
            if human in seen:
                continue
            if len(seen) == turn:  # the first message of the next turn
                if known == turn:
                    return Mark(before.id) if before else None
                return Mark(look.id, position)  # several turns came at once, as in a seed
            seen.add(human)
        before = look
    if len(seen) < turn or before is None:
        raise NotCompleted(f"{thread_id} has {len(seen)} turns, not {turn}")
    if not before.answered:
        raise NotCompleted(f"turn {turn} of {thread_id} is still running")
    return Mark(before.id)


def _answered(messages: Sequence[Any]) -> bool:
    """Whether the last who spoke was the model, and it asked for no tool."""
    spoken = [m for m in messages if getattr(m, "type", None) in ("human", "ai", "tool")]
    return not spoken or (spoken[-1].type == "ai" and not getattr(spoken[-1], "tool_calls", None))


def _config(thread_id: str, checkpoint_id: str | None = None) -> RunnableConfig:
    where = {"thread_id": thread_id, "checkpoint_ns": ""}
    return {
        "configurable": where
        if checkpoint_id is None
        else {**where, "checkpoint_id": checkpoint_id}
    }


def _read_as(fold: Fold) -> Any:
    """The type of the channel that reads: one that can replay, where such channels exist.

    It takes a plain list as it is. A plain channel, the other way round, finds nothing in a checkpoint
    of a delta channel: copying one raw checkpoint loses the messages.
    """
    if not DELTA:
        return list
    from langgraph.channels import DeltaChannel

    return Annotated[list, DeltaChannel(lambda state, writes: reduce(fold, writes, state))]


def _graph(key: str, annotation: Any) -> Any:
    state: Any = TypedDict
    graph: Any = StateGraph(state("State", {key: annotation}))
    graph.add_node(NODE, lambda state: {})
    graph.add_edge(START, NODE)
    return graph
