"""Runners of turns that take back too little, too much, or the wrong thing."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from langchain_core.messages import SystemMessage

from lineage_reference.rollback import Turns
from lineage_reference.steps import Steps, call, run
from lineage_reference.turn_core import Live
from lineage_reference.turns import BEFORE, Held, Mark, Outcome, head, id_of
from pytest_lineage.repro import wrong_fixes
from tests.mutants.rollback_kit import mutant

mutant(
    kills="rollback.undoes-landed-results", face="async", unless=wrong_fixes.updates_commit_nothing
)(wrong_fixes.RemovesInOnePass)
mutant(kills="rollback.undoes-landed-results", face="async")(wrong_fixes.RemovesWhatIsMerged)
mutant(kills="rollback.restores-next")(wrong_fixes.AttributesToTheModel)
mutant(kills="rollback.never-claims-too-much")(wrong_fixes.IgnoresWhatWaits)
mutant(kills="rollback.kept-work-is-not-repeated", also=("rollback.answers-belong-to-their-turn",))(
    wrong_fixes.AsksAgain
)


@mutant(kills="rollback.restores-messages", also=("rollback.remembers-its-turns",))
class RollsNothingBack(Turns):
    """Reports a rollback and makes none."""

    def _undo(self, thread: str, live: Live) -> Steps[tuple[str, ...]]:
        yield from call(self.saver, "get_tuple", head(thread))
        return ()


@mutant(kills="rollback.undoes-landed-results", face="async")
class KeepsWhatLanded(Turns):
    """Takes the turn back, and keeps the results that had landed, because they were dear."""

    def _undo(self, thread: str, live: Live) -> Steps[tuple[str, ...]]:
        row = yield from call(self.saver, "get_tuple", head(thread))
        result = yield from super()._undo(thread, live)
        kept = [
            m for _, channel, ms in row.pending_writes or () if channel == "messages" for m in ms
        ]
        kept = [m for m in kept if m.type == "tool"] if live.mark.before else []
        if kept:
            config = {
                **head(thread),
                "metadata": {"lineage_turn": "kept", "lineage_turns": live.mark.number - 1},
            }
            yield from call(self.graph, "update_state", config, {"messages": kept}, as_node="leave")
        return result


@mutant(kills="rollback.restores-channels", also=("rollback.never-claims-too-much",))
class PromisesTooMuch(Turns):
    """Removes messages and says that everything is as before."""

    def __init__(self, saver: Any) -> None:
        super().__init__(saver, strategy="remove")
        self.promises = "everything"


@mutant(kills="rollback.next-prompt-is-clean")
class TellsTheModel(Turns):
    """Puts a note about the cancelled question into the next prompt."""

    note = ""

    def _begin(self, thread: str, input: Any) -> Steps[Live]:
        if self.note:
            input = {**input, "messages": [SystemMessage(self.note), *input["messages"]]}
            self.note = ""
        return (yield from super()._begin(thread, input))

    def _undo(self, thread: str, live: Live) -> Steps[tuple[str, ...]]:
        if isinstance(live.input, dict):
            self.note = f"the user took back: {live.input['messages'][-1].content}"
        return (yield from super()._undo(thread, live))


@mutant(kills="rollback.reports-how-it-ended")
class CallsErrorsCancels(Turns):
    """Reports a failed turn as cancelled."""

    def _end(self, thread: str, live: Live, error: BaseException | None) -> Steps[Outcome]:
        live.stop = live.stop or error is not None
        return (yield from super()._end(thread, live, error))


@mutant(kills="rollback.undoes-errors", also=("rollback.first-turn-leaves-no-thread",))
class KeepsFailedTurns(Turns):
    """Rolls back cancelled turns only."""

    def _undo(self, thread: str, live: Live) -> Steps[tuple[str, ...]]:
        if not live.stop and not live.resumed:
            yield from call(self.saver, "get_tuple", head(thread))
            return ()
        return (yield from super()._undo(thread, live))


@mutant(
    kills="rollback.first-turn-leaves-no-thread",
    also=("rollback.twice-in-a-row", "rollback.undoes-ended-turns", "rollback.counts-its-turns"),
)
class KeepsNewThreads(Turns):
    """Has nothing to go back to in a first turn, and leaves it as it is."""

    def _undo(self, thread: str, live: Live) -> Steps[tuple[str, ...]]:
        if not live.mark.before:
            yield from call(self.saver, "get_tuple", head(thread))
            return ()
        return (yield from super()._undo(thread, live))


@mutant(kills="rollback.twice-in-a-row")
class RollsBackOnce(Turns):
    """Takes the state before the first turn that it cancelled for the state before all others."""

    def _undo(self, thread: str, live: Live) -> Steps[tuple[str, ...]]:
        done = self.__dict__.setdefault("done", set())
        if thread in done:
            yield from call(self.saver, "get_tuple", head(thread))
            return ()
        done.add(thread)
        return (yield from super()._undo(thread, live))


@mutant(kills="rollback.undoes-ended-turns", also=("rollback.never-replaces-newer-work",))
class CannotTakeBack(Turns):
    """Rolls back running turns only; for one that has ended it does nothing."""

    def _take_back(self, thread: str, turn: str) -> Steps[None]:
        yield from call(self.saver, "get_tuple", head(thread))


@mutant(kills="rollback.keeps-history")
class CutsHistory(Turns):
    """Drops the oldest checkpoint of the thread with each rollback."""

    def _undo(self, thread: str, live: Live) -> Steps[tuple[str, ...]]:
        result = yield from super()._undo(thread, live)
        rows = self.saver.storage[thread][""]
        if live.mark.number > 2:
            del rows[min(rows)]
        return result


@mutant(kills="rollback.survives-reopening", also=("rollback.remembers-its-turns",))
class RemembersInMemory(Turns):
    """Knows only the turns of this process."""

    def _begin(self, thread: str, input: Any) -> Steps[Live]:
        live = yield from super()._begin(thread, input)
        self.__dict__.setdefault("mine", set()).add(live.mark.turn)
        return live

    def _take_back(self, thread: str, turn: str) -> Steps[None]:
        if turn not in self.__dict__.get("mine", ()):
            raise KeyError(turn)
        yield from super()._take_back(thread, turn)


@mutant(kills="rollback.never-replaces-newer-work")
class TakesBackOldTurns(Turns):
    """Goes back to the state before a turn, whatever came after it."""

    def _take_back(self, thread: str, turn: str) -> Steps[None]:
        config = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
        rows = [
            row
            for row in self.saver.list(config)
            if (row.metadata or {}).get("lineage_turn") == turn
        ]
        top = yield from call(self.saver, "get_tuple", head(thread))
        before = (rows[0].metadata or {})[BEFORE] if rows else ""
        above = Mark.of(top) or Mark(turn, "", 1)
        yield from self._undo(thread, Live(Mark(above.turn, before, above.number), None))


@mutant(kills="rollback.never-claims-too-much")
class ForgetsMemories(Turns):
    """Rolls the graph back and leaves the memory of its subgraphs."""

    def _undo(self, thread: str, live: Live) -> Steps[tuple[str, ...]]:
        undo = self._strategy.undo  # type: ignore[attr-defined]
        return (yield from undo(self.graph, self.saver, thread, live.mark, ()))


@mutant(kills="rollback.answers-belong-to-their-turn", face="async")
class AnswersAreTurns(Turns):
    """Takes the answer to an interrupt for a turn of its own."""

    def _again(self, thread: str, answer: Any) -> Steps[Live]:
        live = yield from super()._again(thread, answer)
        if answer is not None:
            row = yield from call(self.saver, "get_tuple", head(thread))
            live.mark = Mark(f"answer-{id_of(row)}", id_of(row), live.mark.number + 1)
        return live


@mutant(kills="rollback.forget-waits-for-the-turn")
class ForgetsAtOnce(Turns):
    """Deletes a thread while its turn runs."""

    def forget(self, thread: str) -> None:
        run(call(self.saver, "delete_thread", thread))


@mutant(kills="rollback.turns-do-not-overlap")
class RunsTogether(Turns):
    """Lets two turns of a thread run at once."""

    def run(
        self, thread: str, input: Any, *, durability: str = "async", on_event: Any = None
    ) -> Outcome:
        with self.shared(thread):
            return self._go(thread, run(self._begin(thread, input)), durability, on_event)

    @contextlib.contextmanager
    def shared(self, thread: str) -> Iterator[None]:
        users = self.__dict__.setdefault("users", {})
        users[thread] = users.get(thread, 0) + 1
        try:
            yield
        finally:
            users[thread] -= 1
            if not users[thread]:
                self._live.pop(thread, None)

    def _started(self, thread: str, live: Live) -> None:
        self._live.setdefault(thread, live)


@mutant(kills="rollback.forget-is-complete")
class ForgetsTheName(Turns):
    """Hides a forgotten thread from its list and leaves its checkpoints."""

    def forget(self, thread: str) -> None:
        with self._lock(thread):
            self.__dict__.setdefault("hidden", set()).add(thread)

    def _held(self, thread: str) -> Steps[Held]:
        held = yield from super()._held(thread)
        return Held(False, 0) if thread in self.__dict__.get("hidden", ()) else held


@mutant(
    kills="rollback.counts-its-turns",
    also=("rollback.remembers-its-turns", "rollback.forget-is-complete"),
)
class CountsWhatBegan(Turns):
    """Counts every turn that ever began."""

    def _begin(self, thread: str, input: Any) -> Steps[Live]:
        began = self.__dict__.setdefault("began", {})
        began[thread] = began.get(thread, 0) + 1
        return (yield from super()._begin(thread, input))

    def _held(self, thread: str) -> Steps[Held]:
        held = yield from super()._held(thread)
        return Held(held.known, self.__dict__.get("began", {}).get(thread, held.turns))


@mutant(kills="rollback.remembers-its-turns", face="async")
class StartsFromNothing(Turns):
    """Keeps its list of threads in memory."""

    def _begin(self, thread: str, input: Any) -> Steps[Live]:
        self.__dict__.setdefault("mine", set()).add(thread)
        return (yield from super()._begin(thread, input))

    def _held(self, thread: str) -> Steps[Held]:
        held = yield from super()._held(thread)
        return held if thread in self.__dict__.get("mine", ()) else Held(False, 0)
