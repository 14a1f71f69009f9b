"""What the laws of kind ``answer`` are checked on: conversations as data, and how they are written."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

LIMIT = 60.0

ENDS = ("done", "interrupted", "failed", "cancelled", "running", "unanswered", "uncommitted")
"""How the last turn ends. ``running``: it is asked about while it runs. ``unanswered``: the question was added,
and nothing ran. ``uncommitted``: every task has handed in its writes, and the step was never committed."""

Content = Any
"""Text, or a list of blocks: ``{"type": "text", "text": ...}`` and others."""


@dataclass(frozen=True)
class AnswerCase:
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
    origin: str = ""

    def to_json(self) -> dict[str, Any]:
        """The case as JSON data; what is as usual is left out."""
        fields = dataclasses.fields(self)
        changed = {
            f.name: getattr(self, f.name) for f in fields if getattr(self, f.name) != f.default
        }
        if "replies" in changed:
            changed["replies"] = [list(reply) for reply in self.replies]
        return {"format": 1, "case": "answer", **changed}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> AnswerCase:
        """Read a case. Raises `TypeError` for unknown fields."""
        given = {k: v for k, v in data.items() if k not in ("format", "case")}
        if "replies" in given:
            given["replies"] = tuple((role, content) for role, content in given["replies"])
        return cls(**given)

    def smaller(self) -> Iterator[AnswerCase]:
        """Cases with a reply, a block or a peculiarity less."""
        for at in range(len(self.replies)):
            yield dataclasses.replace(self, replies=self.replies[:at] + self.replies[at + 1 :])
            role, content = self.replies[at]
            if isinstance(content, list) and len(content) > 1:
                for block in range(len(content)):
                    less = (role, content[:block] + content[block + 1 :])
                    replies = (*self.replies[:at], less, *self.replies[at + 1 :])
                    yield dataclasses.replace(self, replies=replies)
        if self.earlier:
            yield dataclasses.replace(self, earlier=False)
        if self.form != "objects":
            yield dataclasses.replace(self, form="objects")

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
