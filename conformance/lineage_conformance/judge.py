"""Judging: one law on one face of one open target.

The judge replays the law's corpus, then programs from its strategy. What breaks the law is tried again alone
before anyone is accused, and made small; each distinct smallest counterexample is a witness. Programs of one
strategy are generated once per process and shared by laws and faces.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from typing import Any

from lineage_conformance import blame, suspects
from lineage_conformance.handles import Face
from lineage_conformance.kinds.saver.program import Program
from lineage_conformance.law import Law, Verdict
from lineage_conformance.outcome import Outcome
from lineage_conformance.runner import Runner, Stores
from lineage_conformance.shrink import shrink
from lineage_conformance.trace import Diff, Trace
from lineage_conformance.witness import Witness, embeds, key, sentence, signature

EXAMPLES = {"quick": 0, "default": 25, "deep": 1000}
"""Generated programs per strategy and face, by profile. Quick replays the corpus alone."""

GRAPH_EXAMPLES = {**EXAMPLES, "default": 10}
"""The same for laws that run a whole graph: one costs as much as a hundred programs."""

WITNESSES = 4
"""Most distinct counterexamples that are looked for when a law is broken."""

ALONE = 2
"""How often a program is tried again alone, on a fresh store, before anyone is accused."""

SECONDS = 20.0
"""Time in which they are looked for, the first one excepted."""


class Judge(Runner):
    """Judges laws on one target whose stores it is given.

    `beat` is told the case and the step before each step; `making` is called now and then while the suite makes
    cases, which is nobody's time but its own. `referee` makes the strict reference that a breach is tried on.
    `rules_out` says why a case asks for what the target does not promise or have on a face.
    """

    def __init__(
        self,
        stores: Stores,
        profile: str = "quick",
        beat: Callable[[Any, int], None] = lambda case, step: None,
        referee: Callable[[], Any] | None = None,
        making: Callable[[], None] = lambda: None,
        rules_out: Callable[[Law, Any, Face], str | None] = lambda law, case, face: None,
    ) -> None:
        super().__init__(stores, beat, referee)
        self.profile = profile
        self._making, self._rules_out = making, rules_out
        self._traces: dict[tuple[Any, ...], list[tuple[Any, Trace]]] = {}
        self._known: dict[Face, list[Witness]] = {}
        self._broken: dict[Face, list[Law]] = {}

    def judge(self, law: Law, face: Face, skip: tuple[Any, ...] = ()) -> Outcome:
        """Judge `law` on `face`; cases in `skip` (they hung) are not run again."""
        start = time.perf_counter()
        outcome = Outcome(Verdict.HOLDS)
        failing: list[tuple[Any, Trace]] = []
        left_out: dict[str, None] = {}
        cut = lacks = ""
        for case in law.programs:
            why = self._rules_out(law, case, face)
            if why is not None:
                left_out[why] = None
            elif case not in skip:
                trace = self.run(law, case, face)
                self._count(law, case, trace, outcome, failing)
                cut, lacks = cut or trace.cut, lacks or trace.lacks
        if left_out and not outcome.examples:
            return Outcome(Verdict.NOT_APPLICABLE, "; ".join(left_out))
        if not failing:
            for case, trace in self._generated(law, face, skip):
                if self._count(law, case, trace, outcome, failing):
                    break
        if not outcome.examples and not skip:
            return Outcome(
                Verdict.NOT_APPLICABLE, "no case of it can be made with what is installed"
            )
        if failing:
            self._accuse(law, face, failing, outcome)
        elif cut:  # what the law's own cases need was raised: it cannot be told
            outcome.verdict = Verdict.INCONCLUSIVE
            outcome.reason = f"a case was cut short: {cut}"
        elif lacks and not outcome.observations:
            return Outcome(Verdict.NOT_APPLICABLE, lacks)
        elif not outcome.observations + outcome.refused:
            outcome.verdict = Verdict.INCONCLUSIVE
            outcome.reason = f"nothing that this law is about was compared ({law.sees})"
        outcome.seconds = time.perf_counter() - start
        return outcome

    def replay(self, law: Law, face: Face, case: Any) -> Outcome:
        """Judge `law` by one case as it is, without making it smaller."""
        start = time.perf_counter()
        trace = self.run(law, case, face)
        mine = [diff for diff in trace.diffs if law.lens(diff)]
        outcome = Outcome(Verdict.HOLDS, examples=1, refused=len(trace.refused))
        outcome.observations = law.observed(trace)
        if mine:
            outcome.witnesses = [Witness(case, mine, key(case, mine[0]))]
            outcome.verdict, outcome.reason = Verdict.BROKEN, sentence(mine[0])
            blame.ask(self, law, face, outcome)
        elif trace.cut:
            outcome.verdict, outcome.reason = Verdict.INCONCLUSIVE, f"it was cut short: {trace.cut}"
        outcome.seconds = time.perf_counter() - start
        return outcome

    def _count(
        self, law: Law, case: Any, trace: Trace, outcome: Outcome, failing: list[tuple[Any, Trace]]
    ) -> bool:
        """Add up one case; whether it breaks the law."""
        outcome.examples += 1
        outcome.refused += len(trace.refused)
        outcome.observations += law.observed(trace)
        if any(law.lens(diff) for diff in trace.diffs):
            failing.append((case, trace))
            return True
        return False

    # -- accusing --------------------------------------------------------------------------------

    def _accuse(
        self, law: Law, face: Face, failing: list[tuple[Any, Trace]], outcome: Outcome
    ) -> None:
        """Find the distinct smallest counterexamples; the law is broken if there is one that shows again."""
        end = time.monotonic() + SECONDS
        known: set[str] = set()
        signatures: set[tuple[str, ...]] = set()
        once: Diff | None = None
        for case, trace in failing:
            mine = {signature(d): d for d in reversed(trace.diffs) if law.lens(d)}
            for number, (wanted, diff) in enumerate(reversed(list(mine.items()))):
                late = time.monotonic() > end or len(outcome.witnesses) >= WITNESSES
                if (outcome.witnesses and late) or (number and wanted in signatures):
                    continue
                witness = self._witness(law, face, case, wanted, outcome)
                signatures.add(wanted)
                if witness is None:
                    once = once or diff
                elif witness.key not in known:
                    known.add(witness.key)
                    outcome.witnesses.append(witness)
            if law.check is not None and outcome.witnesses:
                break  # a case of another shape costs much more
        if not outcome.witnesses:
            assert once is not None
            outcome.verdict = Verdict.INCONCLUSIVE
            outcome.reason = (
                f"two answers to one program: {sentence(once)}; tried again alone, it held"
            )
            return
        outcome.verdict = Verdict.BROKEN
        outcome.reason = sentence(outcome.diffs[0])
        blame.ask(self, law, face, outcome)
        if outcome.verdict is Verdict.BROKEN and law.check is not None:
            cases = [outcome.program, *(case for case, _ in failing)]
            outcome.shows = blame.shows(self, law, face, cases, self._broken.get(face, []))
            if law.referee:
                outcome.recorded = suspects.evidence(
                    self.stores, law, face, outcome.program, self.beating(case), self.referee
                )
            self._broken.setdefault(face, []).append(law)

    def _witness(
        self, law: Law, face: Face, case: Any, wanted: tuple[str, ...], outcome: Outcome
    ) -> Witness | None:
        """The smallest counterexample that `case` comes down to; None if it does not show again."""
        for held in self._known.get(face, ()):
            alike = signature(held.diffs[0]) == wanted and embeds(held.case, case)
            if alike and law.lens(held.diffs[0]):
                return held

        def broken(candidate: Any) -> list[Diff]:
            outcome.replays += 1
            return [diff for diff in self.run(law, candidate, face).diffs if law.lens(diff)]

        def seen(candidate: Any) -> list[Diff]:
            found = broken(candidate)
            return [d for d in found if signature(d) == wanted] and _first(found, wanted)

        def seen_alone(candidate: Any) -> list[Diff]:
            self.stores.renew()
            return seen(candidate)

        first: list[Diff] = []
        for _ in range(ALONE):
            self.stores.renew()
            if first := _first(broken(case), wanted):
                break
        if not first:
            return None
        wanted = signature(
            first[0]
        )  # what earlier programs left in the store may have changed how it fails
        if isinstance(case, Program):  # what comes after the failing operation plays no part
            case = dataclasses.replace(case, ops=case.ops[: first[0].op + 1])
        small = shrink(case, lambda candidate: bool(seen(candidate)))
        final = seen_alone(small)
        if not final:
            # What earlier replays left in the store took part: once more, each replay on a fresh one.
            small = shrink(case, lambda candidate: bool(seen_alone(candidate)))
            final = seen_alone(small)
        if not final:
            small, final = case, first
        made = Witness(small, final, key(small, final[0]))
        if law.check is None:
            made.origin = blame.origin(self, law, face, made)
            made.others = blame.others(law, made)
            self._known.setdefault(face, []).append(made)
        return made

    def _generated(self, law: Law, face: Face, skip: tuple[Any, ...]) -> list[tuple[Any, Trace]]:
        """Cases of a strategy with their traces on a face. Programs are run once for all their laws."""
        count = (GRAPH_EXAMPLES if law.referee else EXAMPLES)[self.profile]
        if not law.focus or not count:
            return []
        from lineage_conformance import strategies  # profile quick does without Hypothesis

        which = (law.focus, law.check, face)
        if which not in self._traces:
            self._traces[which] = [
                (case, self.run(law, case, face))
                for case in strategies.programs(law.focus, count, self._making)
                if case not in skip and not self._rules_out(law, case, face)
            ]
        return self._traces[which]


def _first(found: list[Diff], wanted: tuple[str, ...]) -> list[Diff]:
    """The differences, one of the wanted kind before the others."""
    return sorted(found, key=lambda diff: signature(diff) != wanted)
