"""What the laws of kind ``answer`` are checked on: conversations as data, and how they are written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from lineage_conformance.case import Case

LIMIT = 60.0

ENDS = ("done", "interrupted", "failed", "cancelled", "running", "unanswered", "uncommitted")
"""How the last turn ends. ``running``: it is asked about while it runs. ``unanswered``: the question was added,
and nothing ran. ``uncommitted``: every task has handed in its writes, and the step was never committed."""

Content = Any
"""Text, or a list of blocks: ``{"type": "text", "text": ...}`` and others."""


@dataclass(frozen=True)
class AnswerCase(Case, head={"case": "answer"}, loose=("replies", "earlier", "form")):
    """A conversation: an earlier answered turn if there is one, then the turn that is asked about."""

    replies: tuple[tuple[str, Content], ...] = (("ai", "answer"),)
    """What the last turn writes: ``ai`` with a content, ``call`` (an assistant message with tool calls and a
    content), or ``tool`` with a text."""
    end: str = "done"
    earlier: bool = False
    form: str = "objects"
    """``objects`` or ``dicts``: how messages are stored."""
    durability: str = "sync"
    before: bool = False
    """Whether the caller passes the head from before the run."""
    run: str = ""
    """The status of the run that the caller passes."""

    # -- what is right ---------------------------------------------------------------------------

    @property
    def text(self) -> str:
        """The answer that the last turn has so far."""
        if self.end == "unanswered":
            return ""
        for role, content in reversed(self.replies):
            text = joined(content) if role != "tool" else ""
            if text.strip():
                return text
        return ""


def joined(content: Content) -> str:
    """The text blocks of a content in order."""
    if isinstance(content, str):
        return content
    parts = [
        b if isinstance(b, str) else b["text"]
        for b in content
        if isinstance(b, str) or b["type"] == "text"
    ]
    return "".join(parts)
