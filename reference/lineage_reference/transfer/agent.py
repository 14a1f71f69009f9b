"""An adapter that is real: LangGraph agents over threads of the saver.

A native session is a thread of the saver, a native turn is the checkpoint that it ended with. So a native fork
up to and with a turn is the seeding of `lineage_reference.branching`: a new thread that begins with the
messages of that checkpoint. There is nothing to roll back, hence nothing that could refuse it.

What is handed over goes into the session in front of the message, as part of the same input: items as they are
(ids and types stay), text as a system message where there are no items.

Subagents of an agent's own: a node or a tool calls `AgentProvider.subagent`, which runs a child in a session of
its own and returns a message that refers to it. The references in a session's messages, and the events of those
that are running, are what `children` reports. Subagents of the application's own are started by a tool that
calls the backend: see `subagent_tool`.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

from lineage_reference.branching.seeding import Mark, Seeder
from lineage_reference.steps import Step, Steps, arun, call, run
from lineage_reference.transfer.records import (
    Capabilities,
    Child,
    ContextHandoff,
    Refused,
    TurnResult,
)
from lineage_reference.turns import head, id_of

REFERENCE = "lineage_subagent"
"""Key in `additional_kwargs` of a message: the native session of the subagent that it tells of."""

TURN = "lineage_turn_began"
"""Key in `additional_kwargs` of a message: the message of the user that began a turn."""


def injected(handoffs: Sequence[ContextHandoff]) -> list[Any]:
    """The messages that stand for some handoffs."""
    made: list[Any] = []
    for handoff in handoffs:
        if handoff.items:
            made += handoff.items
        elif handoff.text:
            made.append(SystemMessage(handoff.text, id=f"handoff-{handoff.id}"))
    return made


class AgentProvider:
    """An adapter for a compiled graph with a ``messages`` key and a checkpointer, in both halves.

    `subagent` is the graph that subagents of the agent's own run, compiled over the same saver.
    """

    capabilities = Capabilities("at_turn", rollback=False)

    def __init__(self, name: str, graph: Any, subagent: Any = None) -> None:
        self.name, self.graph, self.child_graph = name, graph, subagent
        self.saver = graph.checkpointer
        self.seeder = Seeder(self.saver)
        self.running: dict[str, list[str]] = {}
        """By session: its subagents whose start was heard of, and whose result is in no message yet."""

    # -- turns -------------------------------------------------------------------------------------

    def start(self, handoffs: Sequence[ContextHandoff], message: str) -> TurnResult:
        """Begin a session."""
        return run(self._turn(uuid.uuid4().hex, handoffs, message))

    def send(self, session: str, handoffs: Sequence[ContextHandoff], message: str) -> TurnResult:
        """Go on in a session."""
        return run(self._turn(session, handoffs, message))

    async def astart(self, handoffs: Sequence[ContextHandoff], message: str) -> TurnResult:
        """See `start`."""
        return await arun(self._turn(uuid.uuid4().hex, handoffs, message))

    async def asend(
        self, session: str, handoffs: Sequence[ContextHandoff], message: str
    ) -> TurnResult:
        """See `send`."""
        return await arun(self._turn(session, handoffs, message))

    def _turn(
        self, session: str, handoffs: Sequence[ContextHandoff], message: str, graph: Any = None
    ) -> Steps[TurnResult]:
        graph = graph or self.graph
        said = HumanMessage(message, id=uuid.uuid4().hex, additional_kwargs={TURN: True})
        before = yield from call(self.saver, "get_tuple", head(session))
        given = {"messages": [*injected(handoffs), said]}
        error = ""
        try:
            yield Step(
                lambda: graph.invoke(given, head(session)),
                lambda: graph.ainvoke(given, head(session)),
                whole=False,
            )
        except Exception as raised:
            after = yield from call(self.saver, "get_tuple", head(session))
            if id_of(after) == id_of(before):
                raise  # nothing was written: nothing began
            error = f"{type(raised).__name__}: {raised}"
        state = yield from call(graph, "get_state", head(session))
        checkpoint = str(state.config["configurable"]["checkpoint_id"])
        if state.next and not error:
            error = "interrupted: the agent waits for an answer"
        if error:
            return TurnResult("failed", session, checkpoint, session, checkpoint, error=error)
        ids = [str(each.id) for each in state.values["messages"]]
        own = tuple(ids[ids.index(str(said.id)) :])
        return TurnResult("completed", session, checkpoint, session, checkpoint, own)

    # -- sessions ----------------------------------------------------------------------------------

    def fork(self, session: str, turn: str | None = None) -> str:
        """A new session that begins with the messages of a turn's checkpoint (None: of the latest)."""
        return run(self._fork(session, turn))

    async def afork(self, session: str, turn: str | None = None) -> str:
        """See `fork`."""
        return await arun(self._fork(session, turn))

    def _fork(self, session: str, turn: str | None) -> Steps[str]:
        if turn is None:
            turn = id_of((yield from call(self.saver, "get_tuple", head(session))))
        messages = yield from self.seeder.read(session, Mark(turn))
        made = uuid.uuid4().hex
        yield from self.seeder.seed(made, messages)
        return made

    def probe(self, session: str) -> str:
        """Checkpoints are all there."""
        return "plain"

    async def aprobe(self, session: str) -> str:
        """See `probe`."""
        return "plain"

    def rollback(self, session: str, turns: int) -> None:
        """Not offered: a fork at the turn is."""
        raise Refused("rollback_unsupported", f"{self.name} forks at the turn instead")

    async def arollback(self, session: str, turns: int) -> None:
        """See `rollback`."""
        self.rollback(session, turns)

    # -- subagents of the agent's own --------------------------------------------------------------

    def subagent(self, config: Mapping[str, Any], task: str) -> AIMessage:
        """Run a subagent from within a node or tool of the agent; the message that tells its result.

        `config` is what the node was called with: it says in which session.
        """
        return run(self._subagent(config, task))

    async def asubagent(self, config: Mapping[str, Any], task: str) -> AIMessage:
        """See `subagent`."""
        return await arun(self._subagent(config, task))

    def _subagent(self, config: Mapping[str, Any], task: str) -> Steps[AIMessage]:
        session, child = str(config["configurable"]["thread_id"]), uuid.uuid4().hex
        self.running.setdefault(session, []).append(child)
        result = yield from self._turn(child, (), task, self.child_graph)
        told = result.error
        if result.status == "completed":
            state = yield from call(self.child_graph, "get_state", head(child))
            told = str(state.values["messages"][-1].content)
        return AIMessage(told, id=uuid.uuid4().hex, additional_kwargs={REFERENCE: child})

    def children(self, session: str) -> Sequence[Child]:
        """The subagents of a session: those that its messages refer to, then those that were only heard of."""
        return run(self._children(session))

    async def achildren(self, session: str) -> Sequence[Child]:
        """See `children`."""
        return await arun(self._children(session))

    def _children(self, session: str) -> Steps[list[Child]]:
        state = yield from call(self.graph, "get_state", head(session))
        told = [_reference(message) for message in state.values.get("messages") or ()]
        named = [child for child in told if child is not None]
        heard = [child for child in self.running.get(session, ()) if child not in named]
        found = []
        for child in [*named, *heard]:
            found.append((yield from self._child(child)))
        return found

    def _child(self, session: str) -> Steps[Child]:
        """What the child's own thread says: it needs nobody who remembers it."""
        state = yield from call(self.child_graph, "get_state", head(session))
        messages = list(state.values.get("messages") or ())
        if state.next or not messages or not state.created_at:
            broken = any(task.error for task in state.tasks)
            return Child(session, "failed" if broken else "running")
        checkpoint = str(state.config["configurable"]["checkpoint_id"])
        begun = [n for n, each in enumerate(messages) if each.additional_kwargs.get(TURN)]
        own = tuple(str(each.id) for each in messages[begun[-1] if begun else 0 :])
        result = TurnResult("completed", session, checkpoint, session, checkpoint, own)
        return Child(session, "completed", result)


def _reference(message: Any) -> str | None:
    found = getattr(message, "additional_kwargs", {}).get(REFERENCE)
    return None if found is None else str(found)


def subagent_tool(
    backend: Any, parent: str, provider: str, name: str = "delegate"
) -> Callable[[str], str]:
    """A function, for an agent's tool, that has a task done by a subagent of the application's own.

    The subagent works on a child thread of `parent`, with `provider`. Its result is not what the tool
    returns: it is a transfer, and is injected into the next run of the parent.
    """

    def delegate(task: str) -> str:
        """Give a task to a subagent. Its result comes with the next message."""
        child = f"{parent}-{name}-{uuid.uuid4().hex[:12]}"
        backend.spawn_subagent(parent, child, provider, task)
        backend.dispatch(child, task)
        backend.return_result(child)
        return f"{child} has done it; its result comes with the next message"

    delegate.__name__ = name
    return delegate
