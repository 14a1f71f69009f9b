"""What a worker can do with its target: describe it, judge a law on a face, replay a program."""

from __future__ import annotations

import importlib.util
import inspect
import itertools
import json
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from lineage_conformance import contract, culprit, facts, kinds, needs
from lineage_conformance import law as laws
from lineage_conformance.handles import FACES, Face, Handle, Loop, halves
from lineage_conformance.judge import Judge
from lineage_conformance.kinds.saver.session import Declared
from lineage_conformance.law import Law, Verdict
from lineage_conformance.outcome import Outcome
from lineage_conformance.raised import Raised
from lineage_conformance.runner import Stores
from lineage_conformance.witness import Witness, key
from pytest_lineage.cov import files_of
from pytest_lineage.run.heartbeat import Heartbeat
from pytest_lineage.run.opening import Opener
from pytest_lineage.run.probe import Probe, refusal
from pytest_lineage.run.rows import ONLY_FOR
from pytest_lineage.targets import Store, Target, TargetError, builtin
from pytest_lineage.targets.doors import resolve

FIRST = 1
"""The store on which a target is probed before it is judged."""


class NotOpened(Exception):
    """The factory gave no saver when the target was opened once more."""


class Control:
    """Runs a case on the reference of the kind, where an exception does not tell whose it is."""

    def __init__(self, kind: str, loop: Loop, beat: Heartbeat, folder: str | None) -> None:
        self._kind, self._loop, self._beat, self._folder = kind, loop, beat, folder
        self._judge: Judge | None = None

    def __call__(self, law: Law, case: Any, face: Face) -> None:
        """Raises what the case raises on the reference."""
        self._beat.suite()
        if self._judge is None:
            opener = Opener(resolve("reference", self._kind), self._loop, folder=self._folder)
            stores = Stores(opener.open, opener.drop)
            self._judge = Judge(stores, referee=builtin.referee(self._kind))
        self._judge.run(law, case, face)


class Service:
    """One target, opened, probed and ready to be judged."""

    def __init__(self, start: dict[str, Any], wire: Any, beat: Heartbeat) -> None:
        given = list(start.get("path", []))  # imports resolve as where the target was named
        sys.path[:] = [*given, *(entry for entry in sys.path if entry not in given)]
        kind, bare = start.get("kind", kinds.USUAL), bool(start.get("bare"))
        beat.suite()
        if not bare:
            laws.all_laws(kind)  # what is imported here is none of the target's time
            for module in kinds.get(kind).warm:
                importlib.import_module(module)
        beat.probe("importing it")
        self.target: Target = resolve(start["target"], kind, start.get("over", ""))
        self.loop = Loop()
        self._beat, self._wire = beat, wire
        self._last: Any = None
        self._ready = False
        dsn = _ask_for_postgres(wire) if self.target.postgres else None
        self.opener = Opener(self.target, self.loop, dsn, start.get("folder"))
        declared = Declared(self.target.limits, self.target.transforms)
        self.stores = Stores(self._open, self.opener.drop, declared, self.loop)
        profile, referee = start.get("profile", "quick"), builtin.referee(kind)
        self._profile = profile
        self.judge_ = culprit.Blaming(
            self.stores, profile, self._tell, referee, beat.suite, self._not_promised
        )
        self.judge_.control = Control(kind, self.loop, beat, start.get("folder"))
        self._group = ""
        try:
            beat.probe("the factory ran")
            handle = self._open(FIRST)
            wire.say("opened")
            self.saver_class = f"{type(handle.saver).__module__}.{type(handle.saver).__qualname__}"
            self.files = files_of(type(handle.saver))
            self.packages = _packages(type(handle.saver).__module__)
            _blame(self.saver_class)
            self.stores.renew()
            assume = frozenset(start.get("assume", ()))
            self.probe = Probe(
                self.target, self.stores, self._probes, assume, self.opener.takes_store
            )
            self.probe.run(handle, bool(start.get("allow_nonempty")), self.opener.under)
            self._ready = True
        except BaseException:
            self.opener.close()
            raise
        self.halves, self.missing = self.probe.halves, self.probe.missing

    def _open(self, key: int) -> Handle:
        """A handle on a store. Once the target was opened, a factory that fails is a fault for the laws to name."""
        try:
            return self.opener.open(key)
        except TargetError as error:
            if not self._ready:
                raise
            raise Raised(NotOpened(str(error))) from error

    # -- describing ------------------------------------------------------------------------------

    def describe(self) -> dict[str, Any]:
        """What the reports say about the target before any verdict."""
        return {
            "over": self.target.over.name if self.target.over else "",
            "name": self.target.name,
            "kind": self.target.kind,
            "class": self.saver_class,
            "faces": [face for face in FACES if self.absent(face) is None],
            "absent": {face: reason for face in FACES if (reason := self.absent(face)) is not None},
            "store": self.opener.takes_store,
            "limits": dict(self.target.limits),
            "unsupported": dict(self.target.unsupported),
            "capabilities": dict(self.missing.items()),
            "versions": contract.versions(self.packages),
            "python": sys.version.split()[0],
            "packages": list(self.packages),
            "declared": _declared(self.target),
            "files": self.files,
            "pid": os.getpid(),
        }

    def absent(self, face: Face) -> str | None:
        """Why the saver does not have a face; None if it has."""
        if "->" in face and not kinds.get(self.target.kind).is_saver:
            return f"kind {self.target.kind} is not read across its halves"
        for half in halves(face):
            if self.halves[half]:
                return self.halves[half]
        return None

    # -- judging ---------------------------------------------------------------------------------

    def judge(
        self,
        law: str,
        face: Face,
        skip: list[Any] | None = None,
        avoid: Sequence[str] = (),
        profile: str = "",
    ) -> dict[str, Any]:
        """Judge one law on one face; the answer is the verdict with reason, evidence and time.

        A law that needs an operation of `avoid`, in which workers hung or died before, is not judged again.
        `profile` is another one than the run's.
        """
        item = laws.get(law)
        ruled_out = self._ruled_out(item, face)
        if ruled_out is not None:
            return ruled_out
        self._beat.suite()
        used = {op for case in item.programs for op in _operations(case)}  # these may import much
        if item.check is None and used & set(avoid):
            what = ", ".join(sorted(used & set(avoid)))
            reason = f"not run: workers hung or died in {what} before"
            return {"verdict": Verdict.INCONCLUSIVE.value, "reason": reason}
        if item.group != self._group:
            self.stores.renew()
            self._group = item.group
        skipped = tuple(item.decode(data) for data in skip or [])
        self.judge_.profile = profile or self._profile
        outcome = self.judge_.judge(item, face, skipped)
        if outcome.verdict is not Verdict.HOLDS or outcome.refused:
            self.stores.renew()  # a refused statement may leave a connection that answers nothing more
        return _answer(outcome)

    def replay(self, law: str, face: Face, program: dict[str, Any]) -> dict[str, Any]:
        """Run one saved program on a fresh store and judge it by a law."""
        item = laws.get(law)
        ruled_out = self._ruled_out(item, face)
        if ruled_out is not None:
            return ruled_out
        try:
            case = item.decode(program)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise TargetError(f"the program is none that {law} can read: {error}") from None
        self.stores.renew()
        return _answer(self.judge_.replay(item, face, case))

    def fact(self, fact: str, face: Face) -> dict[str, Any]:
        """The value of a fact on one half, as a canonical tree."""
        item = facts.get(fact)
        steps = itertools.count(1)
        bench = self.stores.bench(face, lambda step: self._beat.op(next(steps)), None)
        value = facts.observe(item, bench)
        if isinstance(value, str) and value.startswith(("raises", "not implemented")):
            self.stores.renew()  # a refused statement may leave a connection that answers nothing more
        return {"value": value}

    def stage(
        self, story: str, stage: int, thread: str, face: Face, store: dict[str, Any]
    ) -> dict[str, Any]:
        """Play one stage of a handover on a store that the supervisor keeps; what is seen then.

        `thread` is a label: the plan. `store` has ``id``, ``path`` and ``dsn``.
        """
        from lineage_conformance import handover

        handle = self.opener.lent(Store(store["id"], Path(store["path"]), store.get("dsn")))
        try:
            half = halves(face)[0]
            item = handover.get(story)
            return {
                "seen": handover.play(handle, half, item, stage, f"{thread}-{story}", self._beat.op)
            }
        finally:
            handle.close()

    def _ruled_out(self, item: Law, face: Face) -> dict[str, Any] | None:
        """The answer about a law that need not be tried; None for one that must."""
        reason = item.not_applicable() or self.absent(face)
        if reason is None and item.faces and face not in item.faces:
            reason = f"{ONLY_FOR}{', '.join(item.faces)}"
        if reason is not None:
            return _not_applicable(reason)
        writer, reader = halves(face)
        for need in item.needs:
            if need in self.target.unsupported:
                return self._refusal(need, face, item)
        for limit in item.limits if item.check is not None else ():
            if limit in self.target.limits:
                return _not_applicable(self._limit(limit))
        for need in item.needs:
            if need == "store":
                if not self.opener.takes_store:
                    return _not_applicable(
                        "the factory takes no store, so it cannot be opened twice"
                    )
                continue
            half = reader if need == "get_delta_channel_history" else writer
            missing = self.missing[half].get(need)
            if missing is not None:
                return _not_applicable(missing)
        return None

    def _limit(self, limit: str) -> str:
        return f"declared limit {limit}: {self.target.limits[limit]}"

    def _not_promised(self, law: Law, case: Any, face: Face) -> str | None:
        """Why a case asks for what the target does not promise, or has not; None where it does not."""
        for limit in sorted(needs.limits(case) & self.target.limits.keys()):
            return self._limit(limit)
        if needs.reopens(case) and not self.opener.takes_store:
            return "the factory takes no store, so it cannot be opened twice"
        writer, reader = halves(face)
        for operation in sorted(needs.operations(case)):
            if operation in self.target.unsupported:
                return f"{operation} is declared unsupported: {self.target.unsupported[operation]}"
            half = reader if operation == "get_delta_channel_history" else writer
            why = self.missing[half].get(operation)
            if why is not None and law.sees != f"{operation}:raises":
                return why
        return None

    def _refusal(self, operation: str, face: Face, law: Law) -> dict[str, Any]:
        """Declared unsupported: the call must raise and change nothing. What it changes is told once, by one law."""
        why = self.target.unsupported[operation]
        half = halves(face)[0]
        if (
            operation in self.probe.answers
        ):  # skipped by a peer suite's object, which promises no refusal
            return _not_applicable(f"{operation}: {why}")
        if (operation, half) not in self.probe.refusals:  # the probe was left out: it hung or died
            program, refused, changed = refusal(self.stores, operation, half, self._tell)
            self.stores.renew()
            if not refused:
                raise TargetError(
                    f"{self.target.name}: {operation} is declared unsupported ({why})"
                )
            self.probe.refusals[operation, half] = (program, changed)
        program, changed = self.probe.refusals[operation, half]
        told = next(
            i.id for i in laws.all_laws() if operation in i.needs and not i.not_applicable()
        )
        if not changed or law.id != told:
            more = f", but see {told}" if changed else ""
            reason = f"declared unsupported ({why}); refuses cleanly{more}"
            return {"verdict": Verdict.REFUSED.value, "reason": reason}
        reason = f"{operation} is declared unsupported, refused, and changed the thread"
        shown = [Witness(program, changed, key(program, changed[0]))]
        outcome = Outcome(Verdict.BROKEN, reason, shown, examples=1)
        return _answer(outcome)

    def close(self) -> None:
        """Close handles, stores and the loop."""
        self.stores.close()
        self.opener.close()

    def _probes(self, what: str) -> None:
        self._wire.check()
        self._beat.probe(what)

    def _tell(self, case: Any, step: int) -> None:
        self._wire.check()
        if case is not self._last:
            self._last = case
            self._beat.program(json.dumps(case.to_json(), default=repr).encode())
        self._beat.op(step)


def _answer(outcome: Outcome) -> dict[str, Any]:
    return {
        "verdict": outcome.verdict.value,
        "reason": outcome.reason,
        "evidence": outcome.evidence(),
        "examples": outcome.examples,
        "replays": outcome.replays,
        "refused": outcome.refused,
        "observations": outcome.observations,
        "seconds": round(outcome.seconds, 4),
    }


def _blame(saver_class: str) -> None:
    """Say which code is the suite's, so that an exception is not taken for the target's."""
    culprit.SUITE.append(str(Path(__file__).parent.parent))
    reference = importlib.util.find_spec("lineage_reference")
    if reference is not None and not saver_class.startswith("lineage_reference."):
        culprit.NEUTRAL.extend(reference.submodule_search_locations or ())


def _operations(case: Any) -> Iterator[str]:
    """Names of the operations of a program, of those inside others too."""
    for op in getattr(case, "ops", ()):
        yield op.name
        yield from _operations(op)
        for inner in getattr(op, "inner", ()):
            yield inner.name


def _not_applicable(reason: str) -> dict[str, Any]:
    return {"verdict": Verdict.NOT_APPLICABLE.value, "reason": reason}


def _ask_for_postgres(wire: Any) -> str:
    wire.say("need", what="postgres")
    answer = wire.hear()
    if answer is None:
        sys.exit(0)
    if "dsn" not in answer:
        raise TargetError(str(answer.get("error", "no PostgreSQL server")))
    return str(answer["dsn"])


def _declared(target: Target) -> str:
    """File and line of the target's factory, where it lies below the current directory; else empty."""
    factory = inspect.unwrap(target.factory)
    try:
        file = inspect.getsourcefile(factory)
        line = inspect.getsourcelines(factory)[1]
        inside = Path(file or "").resolve().relative_to(Path.cwd())
    except (TypeError, OSError, ValueError):
        return ""
    return f"{inside.as_posix()}:{line}"


def _packages(module: str) -> tuple[str, ...]:
    """The distributions that hold a module, so that reports name the version of the saver itself."""
    from importlib import metadata

    try:
        owners = metadata.packages_distributions()
    except Exception:
        return ()
    parts = module.split(".")
    file = inspect.getsourcefile(sys.modules[module]) if module in sys.modules else None
    named = owners.get(parts[0], [])
    if len(named) <= 1 or file is None:
        return tuple(named)
    tail = "/".join(parts)
    return tuple(
        sorted(
            name
            for name in set(named)
            if any(str(f).startswith(tail) for f in metadata.files(name) or ())
        )
    )
