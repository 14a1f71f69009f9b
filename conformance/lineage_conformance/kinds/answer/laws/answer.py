"""The final answer of a thread: its text, whether it is all, and what else is the matter."""

from __future__ import annotations

from collections.abc import Iterator

from lineage_conformance.bench import Bench
from lineage_conformance.kinds.answer.case import AnswerCase
from lineage_conformance.kinds.answer.player import Scene, check, guarded
from lineage_conformance.law import Level, Stake, law
from lineage_conformance.trace import Diff

CONTRACT = "kinds.answer.protocol: "
SHOWN = "data loss: what is shown as the final answer is what the user acts on"
COMMON = {
    "kind": "answer",
    "check": check,
    "decode": AnswerCase.from_json,
    "versions": ("langgraph>=0.6",),
}
TEXT = {"type": "text", "text": "answer"}
OTHER = (
    {"type": "reasoning", "reasoning": "secret"},
    {"type": "thinking", "thinking": "secret", "signature": "s"},
    {"type": "tool_use", "id": "call-1", "name": "work", "input": {"text": "secret"}},
    {"type": "server_tool_use", "id": "s-1", "name": "search", "input": {"query": "secret"}},
    {
        "type": "web_search_tool_result",
        "tool_use_id": "s-1",
        "content": [{"type": "text", "text": "secret"}],
    },
    {"type": "image_url", "image_url": {"url": "data:,secret"}},
)


@law(
    "answer.is-the-last-text",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source=CONTRACT + "the text of the last assistant message of the current turn that has text",
    lens="answer:content answer:known",
    focus="answer",
    meaning="The user is shown an interim remark, or nothing, as the answer.",
    **COMMON,
)
def is_the_last_text() -> Iterator[AnswerCase]:
    """The content is the text of the turn's last assistant message that has any; tool messages never count."""
    yield AnswerCase()
    yield AnswerCase((("call", "let me look"), ("tool", "42"), ("ai", "it is 42")))
    yield AnswerCase((("ai", "answer"), ("call", ""), ("tool", "saved")))
    yield AnswerCase((("ai", "answer"), ("ai", []), ("ai", " \n")))
    yield AnswerCase((("call", "on it"), ("tool", "42")))


@law(
    "answer.joins-text-blocks",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source=CONTRACT + "its text blocks joined; reasoning, tool and server blocks left out",
    lens="answer:content",
    after=("answer.is-the-last-text",),
    meaning="Half of the answer is missing, or the model's reasoning is shown to the user.",
    **COMMON,
)
def joins_text_blocks() -> Iterator[AnswerCase]:
    """Text blocks are joined in their order, and no other block is shown, wherever it stands."""
    second = {"type": "text", "text": " and more"}
    yield AnswerCase((("ai", [TEXT, second]),))
    for block in OTHER:
        yield AnswerCase((("ai", [block, TEXT]),))
        yield AnswerCase((("ai", [TEXT, block, second]),))
    yield AnswerCase((("ai", "answer"), ("ai", [OTHER[0]])))


@law(
    "answer.reads-dicts",
    level=Level.MUST,
    stake=Stake.LOST,
    source="LangGraph: a channel without add_messages keeps message dicts as they are",
    lens="answer:content answer:complete",
    after=("answer.is-the-last-text", "answer.joins-text-blocks", "answer.complete-when-settled"),
    meaning="Graphs that keep plain dicts have no answers.",
    **COMMON,
)
def reads_dicts() -> Iterator[AnswerCase]:
    """Messages that are stored as dicts count as message objects do."""
    yield AnswerCase(form="dicts")
    yield AnswerCase(
        (("call", [TEXT]), ("tool", "42"), ("ai", [OTHER[1], TEXT])), form="dicts", earlier=True
    )


@law(
    "answer.belongs-to-the-current-turn",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source=SHOWN,
    lens="answer:content answer:complete",
    after=("answer.is-the-last-text", "answer.complete-when-settled", "answer.tells-failures"),
    meaning="A new question is answered with the answer to the one before.",
    **COMMON,
)
def belongs_to_the_current_turn() -> Iterator[AnswerCase]:
    """An unanswered question never gets the previous turn's answer, and is not complete."""
    yield AnswerCase(end="unanswered", earlier=True)
    yield AnswerCase(end="unanswered", earlier=True, form="dicts")
    yield AnswerCase((("ai", ""), ("tool", "42")), end="failed", earlier=True)


@law(
    "answer.complete-when-settled",
    level=Level.MUST,
    stake=Stake.FAILS,
    source=CONTRACT + "complete only when the run reached a terminal state, and then it is",
    lens="answer:complete answer:known",
    after=("answer.is-the-last-text",),
    focus="answer",
    meaning="The client polls for an answer that is long there.",
    **COMMON,
)
def complete_when_settled() -> Iterator[AnswerCase]:
    """A turn that ended with an answer is complete."""
    yield AnswerCase()
    yield AnswerCase(earlier=True)
    yield AnswerCase(earlier=True, before=True)


@law(
    "answer.incomplete-while-uncommitted",
    level=Level.MUST,
    stake=Stake.LOST,
    source=SHOWN,
    lens="answer:complete answer:completed_at",
    after=("answer.complete-when-settled",),
    meaning="A crash before the last step is taken for the end, and the rest is never run.",
    **COMMON,
)
def incomplete_while_uncommitted() -> Iterator[AnswerCase]:
    """A step whose writes are all stored and that was not committed is not the end, though `next` is empty."""
    yield AnswerCase(end="uncommitted")
    yield AnswerCase(end="uncommitted", earlier=True)


@law(
    "answer.incomplete-while-waiting",
    level=Level.MUST,
    stake=Stake.FAILS,
    source=SHOWN,
    lens="answer:complete answer:completed_at answer:status",
    after=("answer.complete-when-settled",),
    meaning="An agent that asks for approval looks finished.",
    **COMMON,
)
def incomplete_while_waiting() -> Iterator[AnswerCase]:
    """A turn that waits at an interrupt is interrupted, not complete."""
    yield AnswerCase(end="interrupted")
    yield AnswerCase(end="interrupted", earlier=True)


@law(
    "answer.tells-failures",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source=CONTRACT + "cancelled, failed and interrupted are told apart",
    lens="answer:complete answer:completed_at answer:status",
    after=("answer.complete-when-settled",),
    meaning="Half an answer is shown as the whole, with no word of the error.",
    **COMMON,
)
def tells_failures() -> Iterator[AnswerCase]:
    """A turn that failed is failed, not complete."""
    yield AnswerCase(end="failed")
    yield AnswerCase(end="failed", earlier=True)


@law(
    "answer.tells-cancels",
    level=Level.MUST,
    stake=Stake.METADATA,
    source=CONTRACT + "cancelled, failed and interrupted are told apart",
    lens="answer:complete answer:completed_at answer:status",
    after=("answer.complete-when-settled", "answer.tells-failures"),
    meaning="A turn that the user stopped is shown as an error, or as done.",
    **COMMON,
)
def tells_cancels() -> Iterator[AnswerCase]:
    """A turn that was cancelled is cancelled, neither failed nor complete."""
    yield AnswerCase(end="cancelled", run="cancelled")
    yield AnswerCase(end="done", earlier=True, run="cancelled")


@law(
    "answer.reads-cancel-marks",
    level=Level.SHOULD,
    stake=Stake.METADATA,
    source="LangGraph: tasks that were cancelled leave an error mark with durability sync and async",
    lens="answer:status",
    faces=("async",),
    after=("answer.tells-cancels",),
    meaning="Without a run status a cancelled turn is taken for a failed one.",
    **COMMON,
)
def reads_cancel_marks() -> Iterator[AnswerCase]:
    """A cancelled turn is told from a failed one by the marks in its checkpoint alone."""
    yield AnswerCase(end="cancelled")


@law(
    "answer.incomplete-while-running",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source=SHOWN,
    lens="answer:complete answer:completed_at",
    after=("answer.complete-when-settled",),
    meaning="The client stops at half an answer.",
    **COMMON,
)
def incomplete_while_running() -> Iterator[AnswerCase]:
    """While the turn runs, nothing is complete."""
    yield AnswerCase(end="running")
    yield AnswerCase(end="running", earlier=True, durability="async", before=True)
    yield AnswerCase(end="running", run="running")


@law(
    "answer.old-head-is-never-complete",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source="LangGraph: with durability exit a running turn leaves the old head, whose next is empty",
    lens="answer:complete answer:content",
    after=("answer.incomplete-while-running", "answer.belongs-to-the-current-turn"),
    meaning="The answer to the question before is shown as the answer to this one.",
    **COMMON,
)
def old_head_is_never_complete() -> Iterator[AnswerCase]:
    """With the head from before the run given, nothing at or before it is complete, nor its text shown."""
    yield AnswerCase(end="running", earlier=True, durability="exit", before=True)
    yield AnswerCase(end="running", earlier=True, durability="exit", run="running", before=True)


@law(
    "answer.completed-at-is-the-heads-time",
    level=Level.MUST,
    stake=Stake.METADATA,
    source=CONTRACT
    + "completed_at is the time of the settled head, None while the answer is not complete",
    lens="answer:completed_at",
    after=(
        "answer.complete-when-settled",
        "answer.incomplete-while-waiting",
        "answer.tells-failures",
    ),
    meaning="Clients sort and expire answers by a time that changes with each request.",
    **COMMON,
)
def completed_at_is_the_heads_time() -> Iterator[AnswerCase]:
    """A complete answer has the time of its checkpoint, an incomplete one has none."""
    yield AnswerCase()
    yield AnswerCase(earlier=True)
    yield AnswerCase(end="failed")


def _unknown(scene: Scene) -> Iterator[Diff]:
    for diff in scene.played():
        if diff.path == ("known",):  # what knows no thread at all would hold, too
            yield Diff(diff.op, "answer", ("unknown", "all"), diff.expected, diff.got)
    scene.thread = scene.bench.name("nobody")
    got = scene.answer()
    yield from scene.bench.compare(1, "answer", ("unknown",), None, got)


def _asked(bench: Bench, case: AnswerCase) -> Iterator[Diff]:
    yield from guarded(bench, case, _unknown)


@law(
    "answer.unknown-thread-is-unknown",
    level=Level.MUST,
    stake=Stake.FAILS,
    source=CONTRACT + "None for an unknown thread",
    lens="answer:unknown*",
    meaning="A lost conversation looks like one that has not begun, and the client waits for ever.",
    **{**COMMON, "check": _asked},
)
def unknown_thread_is_unknown() -> Iterator[AnswerCase]:
    """A thread without a checkpoint is unknown, and nothing of other threads is said."""
    yield AnswerCase()
