"""What an adapter has to offer: the agents of one provider, behind a handful of methods.

An adapter owns its native sessions, turns and subagents, and nothing of threads and transfers. It leaves *all*
messages of a session, those that were injected included, in a checkpoint of the saver at the end of each turn
(channel ``messages``, namespace ``""``). An exception from `start` or `send` means that nothing began; a turn
that began and went wrong is a `TurnResult` with another status.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from lineage_reference.steps import Steps, call
from lineage_reference.transfer.records import (
    Capabilities,
    Child,
    ContextHandoff,
    StartContext,
    TurnResult,
)


class Provider(Protocol):
    """An adapter, its sync half. The async half has the same methods with an ``a`` before the name."""

    name: str
    capabilities: Capabilities

    def start(self, handoffs: Sequence[ContextHandoff], message: str) -> TurnResult:
        """Begin a session with what is handed over, give it the message, and wait for the turn's end."""
        ...

    def send(self, session: str, handoffs: Sequence[ContextHandoff], message: str) -> TurnResult:
        """The same in a session that is there."""
        ...

    def fork(self, session: str, turn: str | None = None) -> str:
        """Copy a session up to and with a turn (None: all of it); the copy's name."""
        ...

    def probe(self, session: str) -> str:
        """``plain``, or ``paginated`` where a session's history refuses rollback."""
        ...

    def rollback(self, session: str, turns: int) -> None:
        """Take the last turns off a session. Never asked of one whose history is paginated."""
        ...

    def children(self, session: str) -> Sequence[Child]:
        """The subagents that the provider started in a session by itself, oldest first."""
        ...


def hand(adapter: Any, context: StartContext, message: str) -> Steps[TurnResult]:
    """Give an adapter a message with its context."""
    if context.session is None:
        result = yield from call(adapter, "start", context.handoffs, message)
    else:
        result = yield from call(adapter, "send", context.session, context.handoffs, message)
    return result  # type: ignore[no-any-return]
