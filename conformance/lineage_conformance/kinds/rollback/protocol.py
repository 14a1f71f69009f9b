"""The protocol of kind ``rollback``: a runner of turns that can take a turn back.

A *turn* is one user message and all that the agent does with it, over interrupts and their answers. When
the user cancels, or the agent raises, the thread is put back to what it was before the turn, so that the
model never sees the cancelled question, half an answer, or a tool result that had landed.

The factory is called with ``store`` if it takes one, and gives an object with the methods of `Rollback`,
of `AsyncRollback`, or of both. Laws hand it a graph to run (`use`); a backend that cannot run other
people's graphs implements `agent` and is judged on its own one. An *error that names what is left* is any
exception with an attribute ``left``, a non-empty sequence of texts.

A rollback that cannot be proved complete never reports success: it raises an error that names what is left.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

Build = Callable[[Any], Any]
"""Given a checkpointer, returns a compiled LangGraph graph that uses it. May be called more than once."""

OnEvent = Callable[[str, Any], None]
"""Called with ``("updates", {node: what it wrote})`` for each event of that stream mode, as it arrives."""


class Outcome(Protocol):
    """How a turn ended. Any object with these attributes will do."""

    status: str
    """``done``, ``interrupted`` (waits for an answer), ``cancelled``, ``failed``, or ``stopped`` (cancelled
    with its work kept)."""
    thread: str
    turn: str
    """The id of the turn, new for each `run`, the same when it is resumed."""
    rolled_back: bool
    """Whether the thread was put back. True for every ``cancelled`` and ``failed``."""
    left: Sequence[str]
    """What the turn changed that the backend does not promise to put back, e.g. ``channel todos``."""


class Held(Protocol):
    """What is known of a thread. Any object with these attributes will do."""

    known: bool
    turns: int
    """How many turns the thread holds that are not taken back, the unfinished one included."""


@dataclass(frozen=True)
class Promise:
    """What `promises` may say."""

    EVERYTHING = "everything"
    """Every channel, ``next``, tasks and interrupts are as before the turn."""
    MESSAGES = "messages"
    """The channel ``messages`` and ``next`` are as before the turn."""


class Rollback(Protocol):
    """The sync half. A cancel is noticed at the next event of the stream: a sync tool cannot be stopped."""

    promises: str
    """``everything`` or ``messages``, see `Promise`."""

    def use(self, build: Build) -> Any:
        """Compile the agent over the backend's own checkpointer, run all later turns with it, and return it."""
        ...

    def run(
        self,
        thread: str,
        input: Any,
        *,
        durability: str = "async",
        on_event: OnEvent | None = None,
    ) -> Outcome:
        """Run one turn; return when it ended and, if it was cancelled or failed, is rolled back.

        Raises an error if another turn of the thread runs; an error that names what is left if the
        rollback is not complete; and, before anything is changed, an error that names what could not be put
        back where the thread is in a state that a rollback could not restore.
        """
        ...

    def cancel(self, thread: str, *, keep: bool = False) -> bool:
        """Ask the running turn of a thread to stop, and do not wait for it; False if none runs.

        With `keep` the turn is not rolled back: finished work stays for `resume`.
        """
        ...

    def resume(
        self,
        thread: str,
        answer: Any = None,
        *,
        durability: str = "async",
        on_event: OnEvent | None = None,
    ) -> Outcome:
        """Go on with the unfinished turn of a thread, giving `answer` to its interrupt if it waits at one."""
        ...

    def rollback(self, thread: str, turn: str) -> None:
        """Take back a turn that ended (done, interrupted or stopped), also after a restart.

        Raises an error and changes nothing if something newer than the turn is on the thread, or if the
        turn runs.
        """
        ...

    def held(self, thread: str) -> Held:
        """Whether a thread is known, and how many turns it holds."""
        ...

    def forget(self, thread: str) -> None:
        """Remove all of a thread: its checkpoints and whatever the backend keeps. Raises while a turn runs."""
        ...

    def agent(self, model: Any, tools: Sequence[Any]) -> Any:
        """Optional. Make the backend's own agent of a chat model and tools, use it, and return the graph.

        The model is a `BaseChatModel` that accepts `bind_tools`; the tools are `BaseTool`. Where this
        method exists laws call it instead of `use`.
        """
        ...


class AsyncRollback(Protocol):
    """The async half. A cancel stops the run's tasks where they are."""

    promises: str

    def use(self, build: Build) -> Any:
        """Compile the agent over the backend's own checkpointer, run all later turns with it, and return it."""
        ...

    async def arun(
        self,
        thread: str,
        input: Any,
        *,
        durability: str = "async",
        on_event: OnEvent | None = None,
    ) -> Outcome:
        """Run one turn, see `Rollback.run`. Its own task being cancelled counts as a cancel of the turn."""
        ...

    async def acancel(self, thread: str, *, keep: bool = False) -> bool:
        """Ask the running turn of a thread to stop; False if none runs. See `Rollback.cancel`."""
        ...

    async def aresume(
        self,
        thread: str,
        answer: Any = None,
        *,
        durability: str = "async",
        on_event: OnEvent | None = None,
    ) -> Outcome:
        """Go on with the unfinished turn of a thread. See `Rollback.resume`."""
        ...

    async def arollback(self, thread: str, turn: str) -> None:
        """Take back a turn that ended. See `Rollback.rollback`."""
        ...

    async def aheld(self, thread: str) -> Held:
        """Whether a thread is known, and how many turns it holds."""
        ...

    async def aforget(self, thread: str) -> None:
        """Remove all of a thread. See `Rollback.forget`."""
        ...

    def agent(self, model: Any, tools: Sequence[Any]) -> Any:
        """Optional. Make the backend's own agent and use it. See `Rollback.agent`."""
        ...
