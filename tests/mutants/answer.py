"""Final answers that are too early, too late, or someone else's."""

from __future__ import annotations

from typing import Any

from lineage_reference import final_answer as right
from lineage_reference.final_answer import Answers, UnknownThread
from lineage_reference.turns import head
from tests.mutants.kit import Registry

MUTANTS = Registry()
mutant = MUTANTS.mutant
"""Declares a subclass of `Wrong`."""


class Wrong(Answers):
    """Base: answers from the state, then lets the mutant spoil the answer."""

    def final_answer(
        self, thread: str, *, before: str | None = None, run: str | None = None
    ) -> Any:
        try:
            got = right.final_answer(self.graph, thread, before=before, run=run).to_json()
        except UnknownThread:
            return self.unknown(thread)
        return self.spoil(got, self.graph.get_state(head(thread)), before)

    async def afinal_answer(
        self, thread: str, *, before: str | None = None, run: str | None = None
    ) -> Any:
        try:
            got = (await right.afinal_answer(self.graph, thread, before=before, run=run)).to_json()
        except UnknownThread:
            return self.unknown(thread)
        return self.spoil(got, await self.graph.aget_state(head(thread)), before)

    def unknown(self, thread: str) -> Any:
        return None

    def spoil(self, got: dict[str, Any], state: Any, before: str | None) -> dict[str, Any]:
        raise NotImplementedError

    def turn(self, state: Any) -> list[Any]:
        return right.current_turn(state.values.get("messages", ()))

    def done(self, got: dict[str, Any], state: Any) -> dict[str, Any]:
        return {**got, "complete": True, "status": "complete", "completed_at": state.created_at}


@mutant(kills="answer.is-the-last-text", also=("answer.joins-text-blocks", "answer.reads-dicts"))
class LastMessageOnly(Wrong):
    """Takes the last message, whether it has text or not."""

    def spoil(self, got: dict[str, Any], state: Any, before: str | None) -> dict[str, Any]:
        turn = self.turn(state)
        content = turn[-1]["content"] if turn and isinstance(turn[-1], dict) else ""
        if turn and not isinstance(turn[-1], dict):
            content = turn[-1].content
        return {**got, "content": right.text_of(content) if got["content"] else ""}


@mutant(kills="answer.joins-text-blocks", also=("answer.reads-dicts",))
class FirstBlockOnly(Wrong):
    """Takes the text of the first block."""

    def spoil(self, got: dict[str, Any], state: Any, before: str | None) -> dict[str, Any]:
        for message in reversed(self.turn(state)):
            content = message["content"] if isinstance(message, dict) else message.content
            if isinstance(content, list) and right.text_of(content):
                return {**got, "content": content[0].get("text", "")}
        return got


@mutant(kills="answer.joins-text-blocks", also=("answer.reads-dicts",))
class ShowsReasoning(Wrong):
    """Joins whatever text it finds in a block."""

    def spoil(self, got: dict[str, Any], state: Any, before: str | None) -> dict[str, Any]:
        for message in reversed(self.turn(state)):
            content = message["content"] if isinstance(message, dict) else message.content
            if isinstance(content, list) and right.text_of(content):
                parts = [
                    b.get("text") or b.get("reasoning") or b.get("thinking") or "" for b in content
                ]
                return {**got, "content": "".join(parts)}
        return got


@mutant(kills="answer.reads-dicts", also=("answer.belongs-to-the-current-turn",))
class ObjectsOnly(Wrong):
    """Knows message objects and passes dicts over."""

    def spoil(self, got: dict[str, Any], state: Any, before: str | None) -> dict[str, Any]:
        if any(isinstance(message, dict) for message in state.values.get("messages", ())):
            return {**got, "content": "", "complete": True}
        return got


@mutant(kills="answer.belongs-to-the-current-turn")
class LastAnswerOfTheThread(Wrong):
    """Looks for the last text of the whole thread, and calls that the answer."""

    def spoil(self, got: dict[str, Any], state: Any, before: str | None) -> dict[str, Any]:
        if got["status"] != "unanswered":
            return got
        every = [m for m in state.values["messages"] if right._role(m) in right.ASSISTANT]
        return {**self.done(got, state), "content": right._last_text(every)}


@mutant(kills="answer.complete-when-settled", also=("answer.completed-at-is-the-heads-time",))
class NeverSure(Wrong):
    """Wants to see the same answer twice before it calls it complete."""

    def spoil(self, got: dict[str, Any], state: Any, before: str | None) -> dict[str, Any]:
        return {**got, "complete": False, "completed_at": None}


@mutant(kills="answer.incomplete-while-uncommitted")
class AsksForNextOnly(Wrong):
    """Takes an empty ``next`` for the end."""

    def spoil(self, got: dict[str, Any], state: Any, before: str | None) -> dict[str, Any]:
        return self.done(got, state) if got["status"] == "unfinished" and not state.next else got


@mutant(kills="answer.incomplete-while-waiting")
class InterruptsAreEnds(Wrong):
    """Takes a turn that waits for one that is over."""

    def spoil(self, got: dict[str, Any], state: Any, before: str | None) -> dict[str, Any]:
        return self.done(got, state) if got["status"] == "interrupted" else got


@mutant(kills="answer.tells-failures")
class FailuresAreEnds(Wrong):
    """Shows what a failed turn has as its answer."""

    def spoil(self, got: dict[str, Any], state: Any, before: str | None) -> dict[str, Any]:
        return self.done(got, state) if got["status"] == "failed" else got


@mutant(kills="answer.tells-cancels", also=("answer.reads-cancel-marks",), face="async")
class CancelsAreFailures(Wrong):
    """Has one word for all that went wrong."""

    def spoil(self, got: dict[str, Any], state: Any, before: str | None) -> dict[str, Any]:
        return {**got, "status": "failed"} if got["status"] == "cancelled" else got


@mutant(kills="answer.reads-cancel-marks", face="async")
class EveryMarkIsAnError(Wrong):
    """Calls a turn failed whose tasks left a mark, whatever the mark says."""

    def spoil(self, got: dict[str, Any], state: Any, before: str | None) -> dict[str, Any]:
        marked = got["status"] == "cancelled" and before is None and self.told is None
        return {**got, "status": "failed"} if marked else got

    told: str | None = None

    async def afinal_answer(
        self, thread: str, *, before: str | None = None, run: str | None = None
    ) -> Any:
        self.told = run
        return await super().afinal_answer(thread, before=before, run=run)


@mutant(kills="answer.incomplete-while-running")
class TextIsEnough(Wrong):
    """Calls an answer complete as soon as there is text in it."""

    def spoil(self, got: dict[str, Any], state: Any, before: str | None) -> dict[str, Any]:
        early = got["status"] in ("unfinished", "running") and got["content"] and state.next
        return self.done(got, state) if early else got


@mutant(kills="answer.old-head-is-never-complete")
class TrustsTheHead(Wrong):
    """Takes no notice of the head from before the run."""

    def final_answer(
        self, thread: str, *, before: str | None = None, run: str | None = None
    ) -> Any:
        return super().final_answer(thread, run=run)

    def spoil(self, got: dict[str, Any], state: Any, before: str | None) -> dict[str, Any]:
        return got


@mutant(kills="answer.completed-at-is-the-heads-time")
class TimeOfTheRequest(Wrong):
    """Says when it was asked, not when the answer was complete."""

    def spoil(self, got: dict[str, Any], state: Any, before: str | None) -> dict[str, Any]:
        return {**got, "completed_at": "2026-01-01T00:00:00+00:00"} if got["complete"] else got


@mutant(kills="answer.unknown-thread-is-unknown")
class EmptyForUnknown(Wrong):
    """Has an empty answer for a thread that never was."""

    def unknown(self, thread: str) -> Any:
        return {"content": "", "complete": False, "completed_at": None, "status": "unfinished"}

    def spoil(self, got: dict[str, Any], state: Any, before: str | None) -> dict[str, Any]:
        return got
