"""Judging: one law on one face of one open target.

The judge replays the law's corpus, then programs from its strategy, and stops at the first breach, which
it makes small. Programs of one strategy are generated once per process and shared by laws and faces.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from lineage_conformance.bench import Bench
from lineage_conformance.canon import ABSENT
from lineage_conformance.handles import Face, Handle, Loop
from lineage_conformance.law import Law, Verdict
from lineage_conformance.session import Diff, Session, Trace
from lineage_conformance.shrink import shrink

EXAMPLES = {"quick": 0, "default": 25, "deep": 1000}
"""Generated programs per strategy and face, by profile. Quick replays the corpus alone."""

GRAPH_EXAMPLES = {**EXAMPLES, "default": 10}
"""The same for laws that run a whole graph: one costs as much as a hundred programs."""

STORE_AGE = 200
"""Programs on one store before a new one is taken: old rows slow `list(None)` down."""


class Stores:
    """Fresh stores and handles for one target; `opener(key)` opens a handle on the store `key`."""

    def __init__(
        self, opener: Callable[[int], Handle], drop: Callable[[int], None] = lambda k: None
    ) -> None:
        self._opener, self._drop = opener, drop
        self._key, self._age = 0, STORE_AGE
        self.handles: dict[int, Handle] = {}

    def session(self, face: Face, beat: Callable[[int], None]) -> Session:
        """A session with fresh thread ids on the current store, or on a new one when that is old."""
        if self._age >= STORE_AGE:
            self.renew()
        self._age += 1
        key = self._key
        return Session(lambda: self._opener(key), face, beat, self.handles)

    def bench(
        self, face: Face, beat: Callable[[int], None], referee: Callable[[], Any] | None
    ) -> Bench:
        """A bench under fresh names on the current store, or on a new one when that is old."""
        if self._age >= STORE_AGE:
            self.renew()
        self._age += 1
        key = self._key
        return Bench(lambda: self._opener(key), face, beat, self.handles, referee)

    @property
    def loop(self) -> Loop:
        """The event loop of the handles."""
        return next(iter(self.handles.values())).loop

    def renew(self) -> None:
        """Close what is open and take a new store."""
        self.close()
        self._key += 1
        self._age = 0

    def close(self) -> None:
        """Close every handle and drop the store."""
        for handle in self.handles.values():
            try:
                handle.close()
            except Exception:
                continue
        self.handles.clear()
        if self._key:
            self._drop(self._key)


@dataclass
class Outcome:
    """The verdict of one law on one face, with its evidence when it is broken."""

    verdict: Verdict
    reason: str = ""
    program: Any = None
    """The smallest case that shows the breach."""
    diffs: list[Diff] = field(default_factory=list)
    examples: int = 0
    seconds: float = 0.0
    replays: int = 0
    refused: int = 0
    """Operations that the saver refused loudly, as it may."""

    def evidence(self) -> dict[str, Any] | None:
        """The evidence as JSON data."""
        if self.program is None:
            return None
        return {
            "program": self.program.to_json(),
            "differences": [
                {
                    "op": d.op,
                    "at": d.where,
                    "path": list(d.path),
                    "expected": _shown(d.expected),
                    "got": _shown(d.got),
                }
                for d in self.diffs[:20]
            ],
        }


def _shown(side: Any) -> Any:
    return repr(ABSENT) if side is ABSENT else side


class Judge:
    """Judges laws on one target whose stores it is given.

    `beat` is told the case and the step before each step; `making` is called now and then while the suite makes
    cases, which is nobody's time but its own. `referee` makes the strict reference that
    graph laws are tried on when the target breaks them.
    """

    def __init__(
        self,
        stores: Stores,
        profile: str = "quick",
        beat: Callable[[Any, int], None] = lambda case, step: None,
        referee: Callable[[], Any] | None = None,
        making: Callable[[], None] = lambda: None,
    ) -> None:
        self.stores, self.profile, self._beat, self._referee = stores, profile, beat, referee
        self._making = making
        self._traces: dict[tuple[Any, ...], list[tuple[Any, Trace]]] = {}

    def judge(self, law: Law, face: Face, skip: tuple[Any, ...] = ()) -> Outcome:
        """Judge `law` on `face`; cases in `skip` (they hung) are not run again."""
        start = time.perf_counter()
        outcome = Outcome(Verdict.HOLDS)
        for case in law.programs:
            if case in skip:
                continue
            outcome.examples += 1
            if self._breaks(law, face, case, self.run(law, case, face), outcome):
                break
        else:
            for case, trace in self._generated(law, face, skip):
                outcome.examples += 1
                if self._breaks(law, face, case, trace, outcome):
                    break
        outcome.seconds = time.perf_counter() - start
        return outcome

    def replay(self, law: Law, face: Face, case: Any) -> Outcome:
        """Judge `law` by one case as it is, without making it smaller."""
        start = time.perf_counter()
        trace = self.run(law, case, face)
        mine = [diff for diff in trace.diffs if law.lens(diff)]
        outcome = Outcome(Verdict.HOLDS, program=case, diffs=mine, examples=1)
        outcome.refused = len(trace.refused)
        if mine:
            outcome.verdict, outcome.reason = Verdict.BROKEN, sentence(mine[0])
            if law.referee and self._referee is not None:
                self._ask_referee(law, face, outcome)
        outcome.seconds = time.perf_counter() - start
        return outcome

    def run(self, law: Law, case: Any, face: Face) -> Trace:
        """Run one case under fresh names."""

        def beat(step: int) -> None:
            self._beat(case, step)

        if law.check is None:
            return self.stores.session(face, beat).run(case)
        return Trace(list(law.check(self.stores.bench(face, beat, self._referee), case)))

    def _breaks(self, law: Law, face: Face, case: Any, trace: Trace, outcome: Outcome) -> bool:
        outcome.refused += len(trace.refused)
        mine = [diff for diff in trace.diffs if law.lens(diff)]
        if not mine:
            return False
        wanted = signature(mine[0])

        def shown(candidate: Any) -> list[Diff]:
            outcome.replays += 1
            found = [diff for diff in self.run(law, candidate, face).diffs if law.lens(diff)]
            return found if any(signature(diff) == wanted for diff in found) else []

        def shown_alone(candidate: Any) -> list[Diff]:
            self.stores.renew()
            return shown(candidate)

        outcome.program = shrink(case, lambda candidate: bool(shown(candidate)))
        final = shown_alone(outcome.program)
        if not final:
            # What earlier replays left in the store took part: once more, each replay on a fresh one.
            outcome.program = shrink(case, lambda candidate: bool(shown_alone(candidate)))
            final = shown_alone(outcome.program)
        outcome.diffs = final or mine
        outcome.verdict = Verdict.BROKEN
        outcome.reason = sentence(outcome.diffs[0])
        if law.referee and self._referee is not None:
            self._ask_referee(law, face, outcome)
        return True

    def _ask_referee(self, law: Law, face: Face, outcome: Outcome) -> None:
        """A breach that the strict reference shows too is the engine's, not the saver's."""
        assert self._referee is not None
        assert law.check is not None
        assert outcome.program is not None
        loop = self.stores.loop
        wanted = signature(outcome.diffs[0])
        answers = set()
        for _ in range(2):
            made = Handle(self._referee(), loop)
            bench = Bench(_always(made), face, lambda step: None, {0: made}, self._referee)
            found = [d for d in law.check(bench, outcome.program) if law.lens(d)]
            answers.add(any(signature(d) == wanted for d in found))
        if answers == {True}:
            outcome.verdict = Verdict.ENGINE
            outcome.reason += "; the strict reference shows it too, so LangGraph itself does this"
        elif len(answers) == 2:
            outcome.verdict = Verdict.INCONCLUSIVE
            outcome.reason += "; the strict reference shows it only sometimes"

    def _generated(self, law: Law, face: Face, skip: tuple[Any, ...]) -> list[tuple[Any, Trace]]:
        """Cases of a strategy with their traces on a face. Programs are run once for all their laws."""
        count = (GRAPH_EXAMPLES if law.referee else EXAMPLES)[self.profile]
        if not law.focus or not count:
            return []
        from lineage_conformance import strategies

        key = (law.focus, law.check, face)
        if key not in self._traces:
            self._traces[key] = [
                (case, self.run(law, case, face))
                for case in strategies.programs(law.focus, count, self._making)
                if case not in skip
            ]
        return self._traces[key]


def _always(handle: Handle) -> Callable[[], Handle]:
    """An opener that gives one handle: the strict reference is reopened by taking it again."""
    return lambda: handle


def signature(diff: Diff) -> tuple[str, ...]:
    """What makes two differences the same breach: the operation, the field, and how it went wrong."""
    how = "raises" if diff.path[:1] == ("raises",) else ""
    error = str(diff.got).partition(":")[0] if how else ""
    return (diff.kind, *diff.path[:2], error)


def sentence(diff: Diff) -> str:
    """One line that says what differed."""
    if diff.path[:1] == ("raises",):
        return f"{diff.kind} raised {diff.got}"
    return f"{diff.where}: expected {_brief(diff.expected)}, got {_brief(diff.got)}"


def _brief(value: Any) -> str:
    text = repr(_shown(value))
    return text if len(text) <= 120 else text[:117] + "..."
