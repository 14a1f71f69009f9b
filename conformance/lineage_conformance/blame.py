"""Whose fault a breach is: LangGraph's own, or that of a wrong checkpoint which another law names."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

from lineage_conformance import compare, kinds, observe
from lineage_conformance.bench import Bench
from lineage_conformance.handles import Face, Handle
from lineage_conformance.kinds.saver.model import Seen
from lineage_conformance.kinds.saver.operations import (
    DeltaHistory,
    Get,
    List,
    Op,
    Put,
    Writes,
    walk,
)
from lineage_conformance.kinds.saver.program import Program
from lineage_conformance.kinds.saver.session import Session
from lineage_conformance.law import Law, Verdict, all_laws
from lineage_conformance.outcome import Outcome
from lineage_conformance.raised import Raised, guarded
from lineage_conformance.runner import Runner
from lineage_conformance.shrink import shrink
from lineage_conformance.trace import Diff
from lineage_conformance.witness import Witness, key, signature

REPLAYS = 80
"""Most replays for making the program of an origin small."""


def ask(runner: Runner, law: Law, face: Face, outcome: Outcome) -> None:
    """Say `engine` where LangGraph's own saver, or the strict reference, shows the same breach.

    Counterexamples that only the target shows come first, and keep the law broken.
    """
    make, who = _referee(runner, law)
    if make is None:
        return
    own, sometimes = [], False
    for witness in outcome.witnesses:
        answers = {_shows(runner, law, face, witness, make) for _ in range(2)}
        if answers != {True}:
            own.append(witness)
        sometimes = sometimes or len(answers) == 2
    if not own:
        outcome.verdict = Verdict.ENGINE
        outcome.reason += f"; {who} shows it too, so LangGraph itself does this"
    elif sometimes and law.check is not None:
        outcome.verdict = Verdict.INCONCLUSIVE
        outcome.reason += f"; {who} shows it only sometimes"
    else:
        rest = [witness for witness in outcome.witnesses if witness not in own]
        outcome.witnesses = [*own, *rest]


def _referee(runner: Runner, law: Law) -> tuple[Callable[[], Any] | None, str]:
    """What else is asked: the strict reference for a graph, LangGraph's own saver for a program."""
    if law.referee:
        return runner.referee, "the strict reference"
    if law.check is not None:
        return None, ""
    from langgraph.checkpoint import memory

    own = getattr(memory, "InMemorySaver", None) or memory.MemorySaver  # its name before 2.0.10
    if any(type(handle.saver) is own for handle in runner.stores.handles.values()):
        return runner.referee, "the strict reference"
    return own, own.__name__


def _shows(runner: Runner, law: Law, face: Face, witness: Witness, make: Callable[[], Any]) -> bool:
    made = Handle(make(), runner.stores.loop)
    wanted = signature(witness.diffs[0])
    if law.check is None:
        found = (
            Session(lambda: made, face, runner.beating(witness.case), {0: made})
            .run(witness.case)
            .diffs
        )
    else:
        bench = Bench(lambda: made, face, runner.beating(witness.case), {0: made}, runner.referee)
        found = list(law.check(bench, witness.case))
    return any(signature(diff) == wanted for diff in found if law.lens(diff))


def shows(
    runner: Runner, law: Law, face: Face, cases: Iterable[Any], broken: Iterable[Law]
) -> tuple[str, ...]:
    """Broken laws that every one of `cases` breaks too, at the same or an earlier step; the nearest first.

    Only laws that read the same cases are asked.
    """
    others = [
        other
        for other in broken
        if other.id != law.id and other.check is not None and other.decode == law.decode
    ]
    nearest: dict[str, int] = {other.id: -1 for other in others}
    for case in cases:
        mine = _earliest(law, runner.run(law, case, face).diffs)
        if mine is None:
            continue
        for other in others:
            if other.id in nearest:
                at = _earliest(other, runner.run(other, case, face).diffs)
                if at is None or at > mine:
                    del nearest[other.id]
                else:
                    nearest[other.id] = max(at, nearest[other.id])
    return tuple(sorted(nearest, key=lambda id: -nearest[id]))


def _earliest(law: Law, diffs: Iterable[Diff]) -> int | None:
    return min((diff.op for diff in diffs if law.lens(diff)), default=None)


def origin(runner: Runner, law: Law, face: Face, witness: Witness) -> str:
    """The key of the wrong checkpoint that explains a wrong list or a wrong latest one; empty if none does.

    Before the operation, every checkpoint is read by its id. If some are wrong, and an ideal checkpointer that
    held them as they were shown would have answered as the saver did, the operation itself is right.
    """
    program, diff = witness.case, witness.diffs[0]
    op = program.ops[diff.op]
    if not isinstance(op, (List, DeltaHistory)) and not (isinstance(op, Get) and op.id is None):
        return ""
    if getattr(op, "inner", ()) or diff.path[:1] == ("raises",):
        return ""
    session = runner.stores.session(face, runner.beating(program))
    session.run(Program(program.ops[: diff.op]))
    shown, wrong = _by_id(session, op.handle)
    if not wrong:
        return ""
    session.model, session.at = Seen(shown), diff.op
    before = len(session.trace.diffs)
    session.play(op)
    if any(law.lens(found) for found in session.trace.diffs[before:]):
        return ""
    read, error = min(
        wrong, key=lambda pair: pair[1].path[:1] != diff.path[-len(pair[1].path) :][:1]
    )
    return _small(runner, law, face, Program((*program.ops[: diff.op], read)), signature(error))


_COMMON = (Put, Writes, Get, List)
"""Operations that programs of every law use to set something up or to look."""


def _own(program: Program) -> frozenset[type[Op]]:
    return frozenset(type(op) for op in walk(program.ops) if not isinstance(op, _COMMON))


@functools.cache
def _about(law: Law) -> frozenset[type[Op]]:
    """The operations that a law is about: what each of its programs does, apart from storing and reading."""
    found = [_own(program) for program in law.programs]
    return frozenset.intersection(*found) if found else frozenset()


def others(law: Law, witness: Witness) -> tuple[str, ...]:
    """Laws that a counterexample breaks as well, where what `law` is about plays no part in it.

    A program about copying from which the copy could be taken away, and that fails in the same way, shows
    nothing about copying.
    """
    used = _own(witness.case)
    if _about(law) <= used:
        return ()
    return tuple(
        other.id
        for other in all_laws(kinds.USUAL)
        if other.check is None
        and other.id != law.id
        and _about(other) <= used
        and other.lens(witness.diffs[0])
    )


def _by_id(session: Session, handle: int) -> tuple[dict[Any, Any], list[tuple[Get, Diff]]]:
    """Every checkpoint that was ever put, as the saver shows it by id, and what is wrong with them."""
    shown: dict[Any, Any] = {}
    wrong: list[tuple[Get, Diff]] = []
    for thread, ns, number in list(session.state):
        read = Get(number, thread, ns, handle=handle)
        config = session.config(read, number)
        live = session.handle(handle)
        try:
            found = guarded(lambda: live.call(session.reader, "get_tuple", config))  # noqa: B023
        except Raised as raised:
            wrong.append((read, Diff(0, "get", ("raises",), "no exception", str(raised))))
            continue
        key = (session.thread(thread), ns, session.id(number))
        tree = observe.tuple_(found)
        if isinstance(tree, dict):
            shown[key] = tree
        expected = session.model.get(*key)
        wrong += [(read, Diff(0, "get", *d)) for d in compare.tuples(expected, tree)]
    return shown, wrong


def _small(runner: Runner, law: Law, face: Face, program: Program, wanted: tuple[str, ...]) -> str:
    """The key of the smallest program that shows a wrong checkpoint."""

    def seen(candidate: Any) -> list[Diff]:
        diffs = runner.stores.session(face, runner.beating(candidate)).run(candidate).diffs
        return [diff for diff in diffs if signature(diff) == wanted]

    if not seen(program):
        return ""
    small = shrink(program, lambda candidate: bool(seen(candidate)), REPLAYS)
    found = seen(small)
    return key(small, found[0]) if found else ""
