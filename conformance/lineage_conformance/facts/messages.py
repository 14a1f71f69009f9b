"""Facts about the message reducer, which almost every application's state goes through."""

from __future__ import annotations

from typing import Any

from lineage_conformance.facts import fact
from lineage_conformance.facts.probe import Probe

EDITS = "Code that edits or trims the conversation fails, or leaves other messages."


def _merged(left: list[Any], right: Any) -> list[Any]:
    from langgraph.graph.message import add_messages

    made: Any = add_messages(left, right)
    return [[message.type, message.content, message.id] for message in made]


@fact("messages.remove-unknown", EDITS, target=False)
def remove_unknown(p: Probe) -> Any:
    """What the removal of a message that does not exist does."""
    from langchain_core.messages import HumanMessage, RemoveMessage

    return _merged([HumanMessage("a", id="1")], [RemoveMessage(id="unknown")])


@fact("messages.remove-all", EDITS, target=False)
def remove_all(p: Probe) -> Any:
    """What is left when all messages are removed and one id is added twice in the same update."""
    try:
        from langgraph.graph.message import REMOVE_ALL_MESSAGES
    except ImportError:
        p.need(False, "no REMOVE_ALL_MESSAGES")
    from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage

    update = [RemoveMessage(id=REMOVE_ALL_MESSAGES), AIMessage("b", id="2"), AIMessage("c", id="2")]
    return _merged([HumanMessage("a", id="1")], update)


@fact("messages.same-id", EDITS, target=False)
def same_id(p: Probe) -> Any:
    """What is left when a message is added under an id that exists."""
    from langchain_core.messages import AIMessage, HumanMessage

    return _merged([HumanMessage("a", id="1"), AIMessage("b", id="2")], [HumanMessage("c", id="1")])


@fact("messages.same-id-in-one-update", EDITS, target=False)
def same_id_in_one_update(p: Probe) -> Any:
    """What is left when one update adds two messages under one new id."""
    from langchain_core.messages import AIMessage

    return _merged([], [AIMessage("a", id="1"), AIMessage("b", id="1")])


@fact("messages.plain-data", EDITS, target=False)
def plain_data(p: Probe) -> Any:
    """What a tuple and a dictionary become that are added as messages."""
    from langgraph.graph.message import add_messages

    made: Any = add_messages([], [("user", "a"), {"role": "assistant", "content": "b"}])  # type: ignore[arg-type]
    return [[type(message).__name__, message.content, message.id is not None] for message in made]


@fact("messages.removed-then-added", EDITS, target=False)
def removed_then_added(p: Probe) -> Any:
    """What is left when one update removes a message and adds it again."""
    from langchain_core.messages import HumanMessage, RemoveMessage

    return _merged([HumanMessage("a", id="1")], [RemoveMessage(id="1"), HumanMessage("b", id="1")])
