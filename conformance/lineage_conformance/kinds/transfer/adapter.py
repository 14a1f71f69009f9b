"""What an adapter of kind ``transfer`` speaks: how a backend runs the agents of one provider."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from lineage_conformance.kinds.transfer.records import ContextHandoff


@dataclass(frozen=True)
class TurnResult:
    """How a turn of a provider ended. Work began: the session has what was injected, whatever the status."""

    status: str
    """``completed``, ``failed`` or ``cancelled``."""
    session: str
    """The native session in which it happened."""
    turn: str | None = None
    """The provider's name of the turn, if it gives one."""
    checkpoint_thread: str | None = None
    checkpoint_id: str | None = None
    """None: the turn left no checkpoint, and is not stable."""
    items: tuple[str, ...] = ()
    """Ids of the turn's own messages, first the user's."""
    error: str = ""


@dataclass(frozen=True)
class Capabilities:
    """What a provider can do. It does not change while the adapter is in use."""

    native_fork: str = "none"
    """``none``; ``latest`` (a copy of a session as it is now); ``at_turn`` (also up to and *with* a turn)."""
    rollback: bool = False
    """Whether turns can be taken from the end of a session, as long as its history is plain."""


@dataclass(frozen=True)
class Child:
    """A subagent that a provider started by itself in a session."""

    session: str
    """The child's own native session: its identity."""
    status: str
    """``running``, ``completed`` or ``failed``."""
    result: TurnResult | None = None
    """Its turn, once it has ended."""


class Provider(Protocol):
    """The sync half of an adapter. An exception from `start` and `send` means: nothing began."""

    name: str
    capabilities: Capabilities

    def start(self, handoffs: Sequence[ContextHandoff], message: str) -> TurnResult:
        """Begin a session with what is handed over, give it the message, and return when the turn ended."""
        ...

    def send(self, session: str, handoffs: Sequence[ContextHandoff], message: str) -> TurnResult:
        """The same in a session that is there."""
        ...

    def fork(self, session: str, turn: str | None = None) -> str:
        """Copy a session up to and with `turn` (None: all of it), and return the copy's name."""
        ...

    def probe(self, session: str) -> str:
        """Whether the history of a session is ``plain`` or ``paginated``; the latter refuses rollback."""
        ...

    def rollback(self, session: str, turns: int) -> None:
        """Take the last `turns` turns off a session. Never asked of one whose history is paginated."""
        ...

    def children(self, session: str) -> Sequence[Child]:
        """The subagents that the provider started in a session, oldest first, as they are now."""
        ...


class AsyncProvider(Protocol):
    """The async half of an adapter, which the async half of a backend calls."""

    name: str
    capabilities: Capabilities

    async def astart(self, handoffs: Sequence[ContextHandoff], message: str) -> TurnResult:
        """See `Provider.start`."""
        ...

    async def asend(
        self, session: str, handoffs: Sequence[ContextHandoff], message: str
    ) -> TurnResult:
        """See `Provider.send`."""
        ...

    async def afork(self, session: str, turn: str | None = None) -> str:
        """See `Provider.fork`."""
        ...

    async def aprobe(self, session: str) -> str:
        """See `Provider.probe`."""
        ...

    async def arollback(self, session: str, turns: int) -> None:
        """See `Provider.rollback`."""
        ...

    async def achildren(self, session: str) -> Sequence[Child]:
        """See `Provider.children`."""
        ...
