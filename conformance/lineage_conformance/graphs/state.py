"""The state of a scenario's graph: channels of every kind. What the installed LangGraph has not raises `Lacking`."""

from __future__ import annotations

import operator
from typing import Annotated, Any

from lineage_conformance.graphs.shape import Shape


class Lacking(Exception):
    """The installed LangGraph has no such thing."""


def extend(state: Any, writes: Any) -> list[Any]:
    """The reducer of the delta channel: all writes, one after the other."""
    return [*(state or []), *(item for write in writes for item in write)]


def overwrite_class() -> Any:
    """The class of values that replace what a channel holds."""
    try:
        from langgraph.types import Overwrite
    except ImportError as error:
        raise Lacking("Overwrite is not in this release") from error
    return Overwrite


def state_of(shape: Shape) -> Any:
    """The state: messages and channels of every kind.

    ``log`` is reduced, ``last`` plain, ``note`` ephemeral, ``cursor`` untracked, ``deltas`` a delta channel.
    """
    from langchain_core.messages import AnyMessage
    from langgraph.channels.ephemeral_value import EphemeralValue
    from langgraph.channels.untracked_value import UntrackedValue
    from langgraph.graph import add_messages
    from typing_extensions import TypedDict

    fields: dict[str, Any] = {
        "messages": Annotated[list[AnyMessage], add_messages],
        "log": Annotated[list[str], operator.add],
        "last": str,
        "note": Annotated[str, EphemeralValue(str, guard=False)],
        "cursor": Annotated[str, UntrackedValue(str, guard=False)],
    }
    if shape.delta == "plain":
        fields["deltas"] = Annotated[list[str], operator.add]
    elif shape.delta:
        try:
            from langgraph.channels.delta import DeltaChannel
        except ImportError as error:
            raise Lacking("DeltaChannel is not in this release") from error
        fields["deltas"] = Annotated[list[str], DeltaChannel(extend)]
    return TypedDict("State", fields)  # type: ignore[operator]
