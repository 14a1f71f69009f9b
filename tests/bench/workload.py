"""A deterministic workflow: what its channels hold after each step, and what of that is new.

The shape is that of an agent that works on a repository: a conversation per agent (a dictionary of lists of
messages), a log for people (a list of entries), and a few scalars. Texts are made of a fixed vocabulary by
a generator that only uses `random.Random.random`, so every Python makes the same bytes.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

WORDS = [
    "the",
    "of",
    "to",
    "and",
    "a",
    "in",
    "is",
    "it",
    "for",
    "on",
    "with",
    "as",
    "this",
    "that",
    "from",
    "by",
    "be",
    "at",
    "or",
    "an",
    "are",
    "not",
    "have",
    "has",
    "was",
    "if",
    "when",
    "return",
    "import",
    "def",
    "class",
    "self",
    "None",
    "True",
    "False",
    "list",
    "dict",
    "str",
    "int",
    "file",
    "line",
    "test",
    "build",
    "error",
    "warning",
    "branch",
    "commit",
    "merge",
    "pipeline",
    "runner",
    "job",
    "stage",
    "deploy",
    "review",
    "issue",
    "request",
    "change",
    "update",
    "remove",
    "add",
    "fix",
    "refactor",
    "function",
    "method",
    "module",
    "package",
    "version",
    "index",
    "table",
    "column",
    "row",
    "value",
    "key",
    "query",
    "result",
    "user",
    "agent",
    "plan",
    "step",
    "task",
    "tool",
    "call",
    "output",
    "input",
    "message",
    "history",
    "state",
    "channel",
    "checkpoint",
    "thread",
    "read",
    "write",
    "open",
    "close",
    "start",
    "stop",
    "run",
    "wait",
    "retry",
    "fail",
    "pass",
    "skip",
    "ready",
    "pending",
    "success",
    "running",
    "first",
    "last",
    "next",
    "previous",
    "new",
    "old",
    "same",
    "other",
    "each",
    "every",
    "only",
    "also",
    "more",
    "less",
    "than",
    "then",
    "now",
    "here",
    "there",
]

FORMS = (
    "    def {0}(self, {1}: {2}) -> {2}:", "        self.{0} = {0}", "        if self.{0} is None:",
    "            return {1}", "        for {0} in self.{1}:", "            {0}.{2}({1})", "        return self.{0}",
    "        {0} = self.{1}({2})", "        assert {0} == {1}, {2}", "",
)  # fmt: skip

PROFILES = (
    "append", "compaction-1", "compaction-2", "compaction-3", "in-place", "early-edit", "window", "growing",
)  # fmt: skip

WINDOW = 40
SPOKEN = 10
"""Steps in which one message grows, in profile ``growing``."""


@dataclass
class Step:
    """The channels after one step."""

    values: dict[str, Any]
    changed: set[str]
    fresh: list[tuple[str, Any]] = field(default_factory=list)
    """New or changed items and their channel; after a compaction all items of its result."""
    grown: dict[str, str] = field(default_factory=dict)
    """New suffixes of texts that grow inside an item, by channel; such an item is not in `fresh`."""


class Texts:
    """Texts from the vocabulary, some of them with the look of a tool's output."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed).random

    def between(self, low: int, high: int) -> int:
        """A number from `low` up to `high`, exclusive."""
        return low + int(self.random() * (high - low))

    def words(self, characters: int) -> str:
        """Words, about so many characters."""
        out: list[str] = []
        size = 0
        while size < characters:
            word = WORDS[int(self.random() * len(WORDS))]
            out.append(word)
            size += len(word) + 1
        return " ".join(out)

    def listing(self, characters: int) -> str:
        """Lines of a source file with their numbers: a few names in a few forms, as code is."""
        names = ["_".join(self.words(9).split()[:2]) for _ in range(8)]
        out: list[str] = []
        size = 0
        while size < characters:
            form = FORMS[int(self.random() * len(FORMS))]
            chosen = [names[int(self.random() * len(names))] for _ in range(3)]
            line = f"{len(out) + 1:4}  {form.format(*chosen)}"
            out.append(line)
            size += len(line) + 1
        return "\n".join(out)


Edit = Callable[["Workflow", Step], None]


class Workflow:
    """One run of a workflow; iterate `steps`."""

    def __init__(self, profile: str, seed: int = 20240229) -> None:
        if profile not in PROFILES:
            raise ValueError(f"no profile is called {profile!r}")
        self.profile, self.texts = profile, Texts(seed)
        self.talk: dict[str, list[Any]] = {"planner": [], "coder": []}
        self.log: list[dict[str, Any]] = []
        self.usage = {"input": 0, "output": 0}
        self.goal = self.texts.words(400)
        self.number = 0

    def steps(self, count: int) -> Iterator[Step]:
        """`count` steps. The lists are the same objects all along, changed in place, as reducers do."""
        compactions = int(self.profile[-1]) if self.profile.startswith("compaction") else 0
        cuts = {count * (n + 1) // (compactions + 1) for n in range(compactions)}
        for number in range(count):
            self.number = number
            step = Step({}, {"talk", "log", "usage", "status"})
            self._talk(step)
            self._log(step)
            if number in cuts:
                self._compact(step)
            if self.profile == "early-edit" and number > 2:
                self._early(step)
            self.usage = {"input": self.usage["input"] + 811, "output": self.usage["output"] + 97}
            step.values = {
                "talk": self.talk, "log": self.log, "usage": self.usage, "goal": self.goal,
                "status": "running" if number % 7 else "planning",
            }  # fmt: skip
            yield step

    def _talk(self, step: Step) -> None:
        agent = "planner" if self.number % 5 == 0 else "coder"
        lines, number = self.talk[agent], self.number
        if self.profile == "growing" and number % SPOKEN:
            last = self.talk["coder"][-1]
            suffix = " " + self.texts.words(self.texts.between(500, 1500))
            self.talk["coder"][-1] = AIMessage(content=last.content + suffix, id=last.id)
            step.grown["talk"] = suffix
            return
        if self.profile == "growing":
            self.talk["coder"].append(AIMessage(content=self.texts.words(900), id=f"m{number:05}"))
            step.fresh.append(("talk", self.talk["coder"][-1]))
            return
        if number == 0:
            lines.append(HumanMessage(content=self.goal, id="m-goal"))
            step.fresh.append(("talk", lines[-1]))
        call = {"name": "read_file", "args": {"path": self.texts.words(20)}, "id": f"c{number:05}"}
        lines.append(
            AIMessage(
                content=self.texts.words(self.texts.between(60, 300)),
                id=f"a{number:05}",
                tool_calls=[call],
            )
        )
        step.fresh.append(("talk", lines[-1]))
        if number % 2 == 0:
            lines.append(
                ToolMessage(
                    content=self.texts.listing(self.texts.between(400, 2400)),
                    id=f"t{number:05}",
                    tool_call_id=call["id"],
                )
            )
            step.fresh.append(("talk", lines[-1]))

    def _log(self, step: Step) -> None:
        if self.profile == "in-place" and self.log:
            self.log[-1]["status"] = "success"
            step.fresh.append(("log", self.log[-1]))
        entry = {
            "message_type": "tool",
            "content": self.texts.words(self.texts.between(80, 500)),
            "timestamp": f"2024-02-29T{self.number // 60 % 24:02}:{self.number % 60:02}:07+00:00",
            "status": "pending" if self.profile == "in-place" else "success",
            "correlation_id": None,
            "tool_info": {"name": "read_file", "args": {"path": self.texts.words(20)}},
        }
        self.log.append(entry)
        step.fresh.append(("log", entry))
        if self.profile == "window" and len(self.log) > WINDOW:
            del self.log[0]

    def _early(self, step: Step) -> None:
        """An early message is corrected in the middle, in the same step as the append."""
        place = self.texts.between(0, min(len(self.talk["coder"]), 20))
        old = self.talk["coder"][place]
        text = str(old.content)
        half = len(text) // 2
        changed = old.model_copy(
            update={"content": text[:half] + self.texts.words(30) + text[half + 30 :]}
        )
        self.talk["coder"][place] = changed
        step.fresh.append(("talk", changed))

    def _compact(self, step: Step) -> None:
        lines = self.talk["coder"]
        summary = HumanMessage(content=self.texts.words(1500), id=f"s{self.number:05}")
        lines[:] = [summary, *lines[-4:]]
        mine = [item for item in step.fresh if item[0] != "talk"]
        step.fresh = [*mine, *(("talk", item) for item in lines)]
        # What another agent said in the same step is not part of the compaction's result.
        if self.number % 5 == 0:
            step.fresh += [("talk", item) for item in self.talk["planner"][-2:]]
