"""The protocol of kind ``answer``: what was the answer to the last question of a thread, and is it all?

The backend is asked about threads that laws write with a graph of theirs (`use`). It answers from the
checkpoints alone, and never takes an earlier turn's answer for the one that is asked for.

An answer is a mapping with the keys

- ``content``: the text of the last assistant message *of the current turn* (what follows the last user
  message) that has text, its text blocks joined; reasoning, tool and server blocks left out; "" if none;
- ``complete``: True only when the run reached a terminal state and answered: nothing in ``next``, no pending
  interrupt, no uncommitted step;
- ``completed_at``: the time of the settled head (ISO 8601 text), None while the answer is not complete;
- ``status``: ``complete``, ``running``, ``interrupted``, ``failed``, ``cancelled``, ``unanswered`` or ``unfinished``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

Build = Callable[[Any], Any]
"""Given a checkpointer, returns a compiled LangGraph graph that uses it."""

KEYS = ("content", "complete", "completed_at", "status")
"""The keys of an answer that laws look at."""


class Answer(Protocol):
    """The sync half."""

    def use(self, build: Build) -> Any:
        """Compile a graph over the backend's own checkpointer, answer about its threads, and return it."""
        ...

    def final_answer(
        self, thread: str, *, before: str | None = None, run: str | None = None
    ) -> Mapping[str, Any] | None:
        """The answer; None for an unknown thread.

        `before` is the id of the head from before the run ("" if there was none): nothing at or before it is
        complete. `run` is the status of the run where the caller knows one, e.g. ``running``, ``cancelled``.
        """
        ...


class AsyncAnswer(Protocol):
    """The async half."""

    def use(self, build: Build) -> Any:
        """Compile a graph over the backend's own checkpointer, answer about its threads, and return it."""
        ...

    async def afinal_answer(
        self, thread: str, *, before: str | None = None, run: str | None = None
    ) -> Mapping[str, Any] | None:
        """The answer; None for an unknown thread. See `Answer.final_answer`."""
        ...
