"""The final answer of a thread, from its checkpoint alone.

A stream may drop while the run goes on. What the user then wants is in the thread: the text of the last
assistant message *of the current turn*, and whether that is all of it. `final_answer` reads the head once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from lineage_reference.steps import Steps, arun, call
from lineage_reference.steps import run as perform
from lineage_reference.turns import head

FINISHED = frozenset({"success", "done", "completed", "complete"})
"""Words for a run that ended well, as servers and runners report them."""
RUNNING = frozenset({"pending", "running", "busy", "started"})
CANCELLED = frozenset({"cancelled", "canceled", "stopped", "rolled_back"})
FAILED = frozenset({"error", "failed", "errored", "timeout"})
WAITING = frozenset({"interrupted"})


class UnknownThread(LookupError):
    """The thread has no checkpoint."""

    def __init__(self, thread: str) -> None:
        super().__init__(f"no thread is called {thread!r}")
        self.thread = thread


@dataclass(frozen=True)
class FinalAnswer:
    """What is known of the answer to the thread's last question."""

    content: str
    """Text of the current turn's last assistant message that has text; "" if there is none yet."""
    completed_at: str | None
    """ISO 8601 time of the settled head, None while the answer is not complete."""
    complete: bool
    """Whether the run reached its end and answered: nothing of `content` will change."""
    status: str
    """``complete``, ``running``, ``interrupted``, ``failed``, ``cancelled``, ``unanswered`` (at rest with no
    answer to the last question), or ``unfinished`` (the checkpoint cannot tell whether a run still works on it)."""

    def to_json(self) -> dict[str, Any]:
        """The answer as JSON data."""
        return asdict(self)


def final_answer(
    graph: Any, thread: str, *, before: str | None = None, run: str | None = None
) -> FinalAnswer:
    """The final answer of a thread of a compiled graph.

    `before` is the id of the head from before the run: with durability ``exit`` a running turn leaves the old
    head as it is, and nothing at or before it is ever complete (pass "" for a thread that was new). `run` is
    the status of the run where a server has one. Raises `UnknownThread`.
    """
    return perform(_read(graph, thread, before, run))


async def afinal_answer(
    graph: Any, thread: str, *, before: str | None = None, run: str | None = None
) -> FinalAnswer:
    """The same, awaited."""
    return await arun(_read(graph, thread, before, run))


def _read(graph: Any, thread: str, before: str | None, run: str | None) -> Steps[FinalAnswer]:
    state = yield from call(graph, "get_state", head(thread))
    if not state.created_at and not state.metadata:
        raise UnknownThread(thread)
    return from_state(state, before=before, run=run)


def from_state(state: Any, *, before: str | None = None, run: str | None = None) -> FinalAnswer:
    """The final answer in a state: a `StateSnapshot`, or the mapping that LangGraph's server and SDK give."""
    messages = current_turn(_messages(_get(state, "values")))
    content = _last_text(messages)
    status = _status(state, messages, before, run)
    if status in ("running", "cancelled") and _is_old(state, before):
        content = ""  # what the head shows is the turn before
    done = status == "complete"
    at = _get(state, "created_at")
    return FinalAnswer(content, str(at) if done and at else None, done, status)


def _status(state: Any, messages: list[Any], before: str | None, run: str | None) -> str:
    told = (run or "").lower()
    tasks = list(_get(state, "tasks") or ())
    if told in CANCELLED:
        return "cancelled"
    if told in FAILED:
        return "failed"
    if told in RUNNING or _is_old(state, before):
        return "running"
    if (
        told in WAITING
        or any(_get(task, "interrupts") for task in tasks)
        or _get(state, "interrupts")
    ):
        return "interrupted"
    errors = [str(_get(task, "error")) for task in tasks if _get(task, "error")]
    if errors:
        return "cancelled" if all("CancelledError" in error for error in errors) else "failed"
    # A task with nothing in `next` has all its results and is not committed: the step is not done.
    if _get(state, "next") or tasks:
        return "unfinished"
    answered = any(_role(message) in ASSISTANT for message in messages)
    return "complete" if answered else "unanswered"


def _is_old(state: Any, before: str | None) -> bool:
    """Whether the head is one from before the run, or a copy of such a one, as a rollback makes."""
    if before is None:
        return False
    if (_get(state, "metadata") or {}).get("source") == "fork":
        return True
    return bool(before) and _id(state) <= before


def _id(state: Any) -> str:
    config = _get(state, "config") or {}
    checkpoint = config.get("configurable") or _get(state, "checkpoint") or {}
    return str(checkpoint.get("checkpoint_id") or "")


# -- messages ------------------------------------------------------------------------------------

USER = ("human", "user")
ASSISTANT = ("ai", "assistant", "AIMessageChunk")


def current_turn(messages: Iterable[Any]) -> list[Any]:
    """The messages after the last one of the user."""
    turn: list[Any] = []
    for message in messages:
        turn = [] if _role(message) in USER else [*turn, message]
    return turn


def text_of(content: Any) -> str:
    """The text of a message's content: a string, or blocks; only text blocks count, in their order."""
    if isinstance(content, str):
        return content
    if not isinstance(content, (list, tuple)):
        return ""
    parts = []
    for block in content:
        if isinstance(block, str):
            parts.append(block)
        elif isinstance(block, Mapping) and block.get("type") in ("text", "output_text"):
            parts.append(str(block.get("text") or ""))
    return "".join(parts)


def _last_text(messages: list[Any]) -> str:
    for message in reversed(messages):
        if _role(message) in ASSISTANT:
            text = text_of(_get(message, "content"))
            if text.strip():
                return text
    return ""


def _messages(values: Any) -> list[Any]:
    found = values.get("messages") if isinstance(values, Mapping) else values
    return list(found) if isinstance(found, (list, tuple)) else []


def _role(message: Any) -> str:
    if isinstance(message, (list, tuple)) and len(message) == 2:
        return str(message[0])
    kind = _get(message, "type")
    return str(kind if kind and kind != "message" else _get(message, "role") or "")


def _get(thing: Any, name: str) -> Any:
    if isinstance(thing, Mapping):
        return thing.get(name)
    if isinstance(thing, (list, tuple)) and len(thing) == 2 and name == "content":
        return thing[1]
    return getattr(thing, name, None)


# -- the built-in target -------------------------------------------------------------------------


class Answers:
    """The built-in target of kind ``answer``: the function over a saver."""

    def __init__(self, saver: Any) -> None:
        self.saver, self.graph = saver, None

    def use(self, build: Any) -> Any:
        """Compile the agent over the saver, answer about its threads, and return it."""
        self.graph = build(self.saver)
        return self.graph

    def final_answer(
        self, thread: str, *, before: str | None = None, run: str | None = None
    ) -> dict[str, Any] | None:
        """The answer as JSON data; None for an unknown thread."""
        try:
            return final_answer(self.graph, thread, before=before, run=run).to_json()
        except UnknownThread:
            return None

    async def afinal_answer(
        self, thread: str, *, before: str | None = None, run: str | None = None
    ) -> dict[str, Any] | None:
        """The same, awaited."""
        try:
            return (await afinal_answer(self.graph, thread, before=before, run=run)).to_json()
        except UnknownThread:
            return None


def make(saver: Any, store: Any = None) -> Any:
    """The built-in target of kind ``answer``, with the halves that the saver has."""
    from lineage_reference.rollback import has

    answers: Any = Answers(saver)
    sync, async_ = has(saver, "get_tuple"), has(saver, "aget_tuple")
    if sync == async_:
        return answers
    return _Half(answers, "final_answer" if sync else "afinal_answer")


class _Half:
    """A backend with one of its two methods."""

    def __init__(self, answers: Answers, method: str) -> None:
        self.use = answers.use
        setattr(self, method, getattr(answers, method))
