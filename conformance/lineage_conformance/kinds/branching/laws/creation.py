"""Branching, step by step: what is left of a creation that fails, is killed, or is swept."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from typing import Any

from lineage_conformance import contract
from lineage_conformance.kinds.branching.case import FURNISHED, Move, Tale, tale
from lineage_conformance.kinds.branching.laws.branching import DATA, branching
from lineage_conformance.kinds.branching.player import Future, Line, Stage, staged
from lineage_conformance.kinds.branching.protocol import PHASES
from lineage_conformance.law import Level, Stake
from lineage_conformance.raised import Raised, guarded
from lineage_conformance.trace import Diff

WHOLE = "data: a branch that can be opened is complete, whatever stopped its creation"


class Broken(RuntimeError):
    """The failure that a law injects."""


def _raise(*args: Any, **kwargs: Any) -> Any:
    raise Broken("injected by the suite")


def _leftovers(stage: Stage, line: Line, turn: int, known: list[str]) -> Iterator[Diff]:
    """Every branch that can be seen is whole; after a sweep nothing is left of the others."""
    for thread in stage.visible(line):
        yield from stage.whole(stage.adopt(line, turn, thread), "leftover")
    stage.call("sweep", 0)
    for thread in stage.visible(line):
        yield from stage.whole(stage.adopt(line, turn, thread), "leftover")
    if contract.overrides(stage.saver, "delete_thread"):
        for thread in known:
            if thread not in stage.lines:
                yield from stage.compare("sweep", ("thread",), [], stage.dump(thread))


def _watch(stage: Stage, seen: list[str], mode: str) -> Callable[[Callable[..., Any]], Any]:
    """A put that notes the thread it writes, and fails before or after it did if `mode` says so."""

    def wrap(put: Callable[..., Any]) -> Any:
        def note(config: Any) -> None:
            seen.append(str(config["configurable"]["thread_id"]))
            if mode == "before-put":
                _raise()

        def sync(config: Any, *args: Any) -> Any:
            note(config)
            made = put(config, *args)
            return _raise() if mode == "after-put" else made

        async def awaited(config: Any, *args: Any) -> Any:
            note(config)
            made = await put(config, *args)
            return _raise() if mode == "after-put" else made

        return sync if stage.half == "sync" else awaited

    return wrap


def _failure(stage: Stage, tale: Tale) -> Iterator[Diff]:
    line = stage.play(tale)
    before, turn = stage.dump(line.thread), max(line.last - 1, 0)
    for mode in (*PHASES, "before-put", "after-put"):
        seen: list[str] = []

        def passing(phase: str, mode: str = mode) -> None:
            if phase == mode:
                _raise()

        with stage.tampered("put", _watch(stage, seen, mode)):
            try:
                made = stage.call("branch", line.thread, turn, passing)
            except Raised:
                pass
            else:  # tried again by itself, perhaps
                yield from stage.whole(stage.adopt(line, turn, str(made.thread_id)))
        yield from _leftovers(stage, line, turn, sorted(set(seen)))
    yield from stage.compare("branch", ("source",), before, stage.dump(line.thread))
    yield from stage.whole(line, "source")
    yield from stage.whole(stage.branch(line, turn))


@branching(
    "branching.failure-leaves-nothing",
    level=Level.MUST,
    stake=Stake.FAILS,
    source=WHOLE,
    check=staged(_failure),
    after=(
        "branching.source-is-unchanged",
        "branching.messages-equal-prefix",
        "branching.workspace-as-of-turn",
        "branching.artifacts-up-to-turn",
        "branching.history-is-inherited",
        "branching.map-is-the-family",
    ),
    meaning="A failed click leaves an empty or half furnished conversation in the list, or threads that nobody owns.",
)
def failure_leaves_nothing() -> Iterator[Tale]:
    """A creation that fails, at any boundary of its phases or inside the saver, leaves a whole branch or nothing
    visible, and after a sweep nothing at all."""
    yield FURNISHED


class Held:
    """A creation that stands still after one of its phases, as in a process that was stopped or killed there."""

    def __init__(self, stage: Stage, line: Line, turn: int, phase: str) -> None:
        self.reached, self.gate = threading.Event(), threading.Event()
        self.fail = False
        self.phase, self.loop = phase, stage.bench.loop.loop
        self._awaited: asyncio.Event | None = None
        passing = self._passing if stage.half == "sync" else self._apassing
        self.future: Future = stage.start("branch", line.thread, turn, passing)
        self.future.add_done_callback(lambda _: self.reached.set())
        self.reached.wait()
        if self.future.done() and self.future.exception() is not None:
            guarded(self.future.result)  # it did not come so far

    def _passing(self, phase: str) -> None:
        if phase == self.phase:
            self.reached.set()
            self.gate.wait()
            self._resume()

    async def _apassing(self, phase: str) -> None:
        if phase == self.phase:
            self._awaited = asyncio.Event()
            self.reached.set()
            await self._awaited.wait()
            self._resume()

    def _resume(self) -> None:
        if self.fail:
            _raise()

    def release(self, fail: bool = False) -> Any:
        """Let it go on, or fail; what it made, or None where it raised."""
        self.fail = fail
        self.gate.set()
        if self._awaited is not None:
            self.loop.call_soon_threadsafe(self._awaited.set)
        error = self.future.exception()
        if error is not None and not isinstance(error, Exception):
            raise error
        return None if error is not None else self.future.result()


def _killed(stage: Stage, tale: Tale) -> Iterator[Diff]:
    line = stage.play(tale)
    turn, other = line.last, stage.bench.handle(1).saver
    stage.call("conversation", line.thread, on=other)  # what is there is known
    for phase in PHASES:
        seen: list[str] = []
        with stage.tampered("put", _watch(stage, seen, "")):
            held = Held(stage, line, turn, phase)
            try:
                yield from _seen_by_others(stage, line, turn, phase, other)
                stage.call("sweep", 0, on=other)
                whole = stage.visible(line, on=other)
                for thread in sorted(set(seen) - stage.lines.keys() - set(whole)):
                    yield from stage.compare("sweep", ("thread",), [], stage.dump(thread))
                    gone = stage.refused("conversation", thread, on=other)
                    yield from stage.compare("sweep", ("unknown",), True, gone)
                yield from _seen_by_others(stage, line, turn, phase, other)
            finally:
                held.release(fail=True)
        yield from _leftovers(stage, line, turn, sorted(set(seen)))
    yield from stage.whole(line, "source")


def _seen_by_others(stage: Stage, line: Line, turn: int, phase: str, other: Any) -> Iterator[Diff]:
    visible = stage.visible(line, on=other)
    if phase != "active":
        yield from stage.compare("branches", (phase, "visible"), [], visible)
    for thread in visible:
        rows = stage.rows(thread, on=other)
        yield from stage.compare("workspace", (phase,), line.states[turn].rows, rows)
        messages = stage.messages(thread)
        yield from stage.compare("get_state", (phase,), line.states[turn].messages, messages)


@branching(
    "branching.killed-creation",
    level=Level.MUST,
    stake=Stake.FAILS,
    source=WHOLE,
    check=staged(_killed),
    needs=("store",),
    after=("branching.failure-leaves-nothing",),
    meaning="A deployment in the wrong second leaves a conversation that opens empty, for ever.",
)
def killed_creation() -> Iterator[Tale]:
    """Of a creation that stops for good after any phase another process sees a whole branch or nothing, and its
    sweep removes the rest, checkpoints included."""
    yield tale(*FURNISHED.moves[:2])


def _swept(stage: Stage, tale: Tale) -> Iterator[Diff]:
    line = stage.play(tale)
    turn = line.last
    for phase in PHASES[:2]:
        seen: list[str] = []
        with stage.tampered("put", _watch(stage, seen, "")):
            held = Held(stage, line, turn, phase)
            try:
                stage.call("sweep", 0)
            finally:
                made = held.release()
        for thread in stage.visible(line):
            yield from stage.whole(stage.adopt(line, turn, thread), "swept")
        if made is not None:
            there = not stage.refused("conversation", made.thread_id)
            yield from stage.compare("branch", ("returned",), True, there)
        yield from _leftovers(stage, line, turn, sorted(set(seen)))


@branching(
    "branching.swept-stays-swept",
    level=Level.MUST,
    stake=Stake.LOST,
    source=WHOLE,
    check=staged(_swept),
    after=("branching.failure-leaves-nothing",),
    meaning="A creation that was only slow comes back without its rows: a branch with messages and no documents.",
)
def swept_stays_swept() -> Iterator[Tale]:
    """A creation that goes on after a sweep took it for an orphan does not become a branch with parts missing."""
    yield tale(*FURNISHED.moves[:2])


def _spared(stage: Stage, tale: Tale) -> Iterator[Diff]:
    line = stage.play(tale)
    made = stage.branch(line, line.last)
    removed = [str(thread) for thread in stage.call("sweep", 0)]
    kept = sorted(set(removed) & stage.lines.keys())
    yield from stage.compare("sweep", ("active",), [], kept)
    yield from stage.whole(line, "swept")
    yield from stage.whole(made, "swept")
    for phase in PHASES[:2]:
        held = Held(stage, line, line.last, phase)
        try:
            stage.call("sweep")
        finally:
            done = held.release()
        yield from stage.compare("sweep", (phase, "finished"), True, done is not None)
        if done is not None:
            yield from stage.whole(stage.adopt(line, line.last, str(done.thread_id)), "spared")


@branching(
    "branching.sweep-spares-the-living",
    level=Level.MUST,
    stake=Stake.DELETED,
    source="data: only what stopped halfway long ago is an orphan",
    check=staged(_spared),
    after=(
        "branching.messages-equal-prefix",
        "branching.workspace-as-of-turn",
        "branching.artifacts-up-to-turn",
    ),
    meaning="The nightly cleaning removes conversations, or branches that are being made that very moment.",
)
def sweep_spares_the_living() -> Iterator[Tale]:
    """A sweep removes no active conversation, and with its default age no creation that is under way."""
    yield tale(*FURNISHED.moves[:2])


def _deleted(stage: Stage, tale: Tale) -> Iterator[Diff]:
    root = stage.play(tale)
    middle = stage.branch(root, max(root.last - 1, 0))
    stage.turn(middle, Move(rows=(("documents", "plan", "of the branch"),)))
    leaf = stage.branch(middle, middle.last)
    for line in (middle, root):
        refused = stage.refused("delete", line.thread)
        if refused:
            yield from stage.whole(line, "delete")
        for each in (leaf, *(() if line is root else (root,))):
            yield from stage.whole(each, "delete")
    stage.call("delete", leaf.thread)  # what always refuses would hold, too


@branching(
    "branching.parents-outlive-branches",
    level=Level.MUST,
    stake=Stake.DELETED,
    source=DATA + "; branches read their first turns from their parents",
    check=staged(_deleted),
    after=("branching.branches-of-branches", "branching.history-is-inherited"),
    meaning="Deleting an old conversation takes the beginning of others with it.",
)
def parents_outlive_branches() -> Iterator[Tale]:
    """Deleting a conversation that has branches is refused, changing nothing, or leaves the branches whole."""
    yield FURNISHED


def _deletes(stage: Stage, tale: Tale) -> Iterator[Diff]:
    line = stage.play(tale)
    made = stage.branch(line, line.last)
    stage.turn(made, Move(calls=1))
    stage.call("delete", made.thread)
    yield from stage.compare("delete", ("unknown",), True, stage.refused("workspace", made.thread))
    yield from stage.compare("delete", ("visible",), [], stage.visible(line, new=False))
    if contract.overrides(stage.saver, "delete_thread"):
        yield from stage.compare("delete", ("thread",), [], stage.dump(made.thread))
    yield from stage.whole(line, "delete")


@branching(
    "branching.delete-is-complete",
    level=Level.MUST,
    stake=Stake.KEPT,
    source="data: deleted means gone, rows and thread; and nothing else is",
    check=staged(_deletes),
    after=("branching.source-is-unchanged",),
    meaning="A deleted branch stays in the list, its messages stay in the store, or its parent is damaged.",
)
def delete_is_complete() -> Iterator[Tale]:
    """Deleting a branch removes it from every list, and its thread from the saver, and leaves its parent whole."""
    yield tale(*FURNISHED.moves[:2])
