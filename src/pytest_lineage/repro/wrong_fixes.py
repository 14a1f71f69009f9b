"""Wrong first fixes: what applications write to take a turn back, kept as code so that it can be run.

Each class is a runner of turns that differs from `lineage_reference.rollback.Turns` in the one thing that its
docstring says. They are here to be shown wrong (`pytest-lineage repro W-01`) and to prove that laws notice them;
never use one.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from types import SimpleNamespace
from typing import Annotated, Any, TypedDict

from langchain_core.messages import HumanMessage, RemoveMessage

from lineage_reference import remove, rollback
from lineage_reference.rollback import Turns
from lineage_reference.steps import Steps, call
from lineage_reference.turn_core import Live
from lineage_reference.turns import Incomplete, Mark, head, id_of
from pytest_lineage.targets import Store, Target, builtin


def ids(state: Any) -> list[str]:
    """The ids of a state's messages."""
    return [message.id for message in state.values.get("messages", ())]


class Removing(Turns):
    """Base of the ways to remove messages that look right until something landed."""

    def __init__(self, saver: Any) -> None:
        super().__init__(saver, strategy="remove")
        self._strategy = SimpleNamespace(undo=self.undo, PROMISES="messages")

    def undo(
        self, graph: Any, saver: Any, thread: str, mark: Mark, seen: Any
    ) -> Steps[tuple[str, ...]]:
        """Put the thread back, as the real strategies do."""
        if not mark.before:
            return (yield from remove.undo(graph, saver, thread, mark, seen))
        before = yield from call(graph, "get_state", head(thread, id=mark.before))
        row = yield from call(saver, "get_tuple", head(thread))
        yield from self.removal(graph, thread, before, id_of(row))
        return ()

    def removal(self, graph: Any, thread: str, before: Any, top: str) -> Steps[None]:
        """Remove what came after `before`; `top` is the id of the head that was found."""
        raise NotImplementedError

    def update(
        self, graph: Any, thread: str, newer: list[str], before: Any, node: str
    ) -> Steps[None]:
        """Remove messages by id, as node `node`."""
        config = {**head(thread), "metadata": remove._previous(before)}
        messages = {"messages": [RemoveMessage(id=id) for id in newer]}
        yield from call(graph, "update_state", config, messages, as_node=node)


class AttributesToTheModel(Removing):
    """Takes ``model`` for the node that ends a turn, so that the node after it is scheduled."""

    def removal(self, graph: Any, thread: str, before: Any, top: str) -> Steps[None]:
        for config in (head(thread, id=top), head(thread)):
            now = yield from call(graph, "get_state", config)
            newer = [id for id in ids(now) if id not in ids(before)]
            if newer:
                yield from self.update(graph, thread, newer, before, "model")


class RemovesWhatIsMerged(Removing):
    """Computes what to remove from the state with pending writes merged in; removing those raises."""

    def removal(self, graph: Any, thread: str, before: Any, top: str) -> Steps[None]:
        now = yield from call(graph, "get_state", head(thread))
        newer = [id for id in ids(now) if id not in ids(before)]
        yield from self.update(graph, thread, newer, before, "leave")


class RemovesInOnePass(Removing):
    """Removes what is committed; the removal itself commits the results that had landed."""

    def removal(self, graph: Any, thread: str, before: Any, top: str) -> Steps[None]:
        now = yield from call(graph, "get_state", head(thread, id=top))
        newer = [id for id in ids(now) if id not in ids(before)]
        yield from self.update(graph, thread, newer, before, "leave")


class IgnoresWhatWaits(Turns):
    """Begins a turn on a thread that waits at an interrupt, and copies the checkpoint without it."""

    def _begin(self, thread: str, input: Any) -> Steps[Live]:
        row = yield from call(self.saver, "get_tuple", head(thread))
        mark = Mark.of(row)
        number = mark.number if mark is not None else 0
        return Live(Mark(f"turn-{id_of(row)}", id_of(row), number + 1), input)

    def _undo(self, thread: str, live: Live) -> Steps[tuple[str, ...]]:
        try:
            return (yield from super()._undo(thread, live))
        except Incomplete:
            return ()


class AsksAgain(Turns):
    """Resumes by sending the question once more."""

    def _again(self, thread: str, answer: Any) -> Steps[Live]:
        live = yield from super()._again(thread, answer)
        state = yield from call(self.graph, "get_state", head(thread))
        last = [m for m in state.values["messages"] if m.type == "human"][-1]
        live.input = {"messages": [HumanMessage(last.content)]}
        return live


def updates_commit_nothing() -> str | None:
    """Why one pass is enough: from LangGraph 1.0.3 on, an update drops pending writes. None: it is not."""

    from langgraph.graph import START, StateGraph

    class State(TypedDict, total=False):
        log: Annotated[list[str], operator.add]

    graph = StateGraph(State)
    graph.add_node("a", lambda state: {"log": ["a"]})
    graph.add_node("b", lambda state: {"log": ["b"]})
    graph.add_edge(START, "a")
    graph.add_edge(START, "b")
    made: Any = graph.compile(checkpointer=builtin.memory()(), interrupt_before=["a", "b"])
    made.invoke({"log": ["in"]}, head("t"))
    top = made.get_state(head("t"))
    task = next(task for task in top.tasks if task.name == "a")
    made.checkpointer.put_writes(top.config, [("log", ["a"])], task.id)
    made.update_state(head("t"), {"log": ["new"]}, as_node="b")
    if "a" in made.get_state(head("t")).values["log"]:
        return None
    return "update_state of this LangGraph drops pending writes instead of committing them"


def _target(name: str, make: Callable[[Any], Any]) -> Target:
    """A runner over LangGraph's in-memory saver, as a target of kind rollback."""

    def factory(saver: Any, store: Store) -> Any:
        return make(saver)

    return Target(factory, name, "rollback", over=builtin.make("memory", "saver"))


WRONG = (AttributesToTheModel, RemovesWhatIsMerged, RemovesInOnePass, IgnoresWhatWaits, AsksAgain)

targets = SimpleNamespace(
    **{made.__name__: _target(made.__name__, made) for made in WRONG},
    make=_target("lineage_reference.rollback", rollback.make),
    removing=_target("lineage_reference.rollback, strategy remove", rollback.removing),
)
"""Every wrong fix as a target, under the name of its class, and beside them what does it right."""
