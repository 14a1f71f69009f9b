"""What a worker can do with its target: describe it, judge a law on a face, replay a program."""

from __future__ import annotations

import importlib
import inspect
import itertools
import json
import os
import sys
from pathlib import Path
from typing import Any

from lineage_conformance import contract, contracts, facts, handles
from lineage_conformance import law as laws
from lineage_conformance.handles import FACES, Face, Half, Handle, Loop, halves
from lineage_conformance.judge import Judge, Outcome, Stores
from lineage_conformance.law import Law, Verdict
from lineage_conformance.program import (
    CopyThread,
    DeleteForRuns,
    DeleteThread,
    DeltaHistory,
    Get,
    List,
    Op,
    Program,
    Prune,
    Put,
    Writes,
)  # fmt: skip
from pytest_lineage import builtin
from pytest_lineage.cov import files_of
from pytest_lineage.doors import resolve
from pytest_lineage.run import others
from pytest_lineage.run.heartbeat import Heartbeat
from pytest_lineage.run.opening import Opener
from pytest_lineage.run.rows import ONLY_FOR
from pytest_lineage.targets import Store, Target, TargetError

FIRST = 1
"""The store on which a target is probed before it is judged."""


class Service:
    """One target, opened, probed and ready to be judged."""

    def __init__(self, start: dict[str, Any], wire: Any, beat: Heartbeat) -> None:
        given = list(start.get("path", []))  # imports resolve as where the target was named
        sys.path[:] = [*given, *(entry for entry in sys.path if entry not in given)]
        self.target: Target = resolve(
            start["target"], start.get("kind", "saver"), start.get("over", "")
        )
        for item in [] if start.get("bare") else laws.all_laws(self.target.kind):
            _ = item.programs  # what they import is no part of any law's time
        if self.target.kind in ("rollback", "answer") and not start.get("bare"):
            importlib.import_module("langgraph.graph")  # nor are the graphs that laws build
        self.loop = Loop()
        self._beat = beat
        self._last: Any = None
        dsn = _ask_for_postgres(wire) if self.target.postgres else None
        self.opener = Opener(self.target, self.loop, dsn)
        self.stores = Stores(self.opener.open, self.opener.drop)
        self.judge_ = Judge(
            self.stores,
            start.get("profile", "quick"),
            self._tell,
            builtin.referee(self.target.kind),
            beat.suite,
        )
        self._group = ""
        try:
            handle = self.opener.open(FIRST)
            wire.say("opened")
            self._probe(
                handle, bool(start.get("allow_nonempty")), frozenset(start.get("assume", ()))
            )
        except BaseException:
            self.opener.close()
            raise

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
        if "->" in face and self.target.kind != "saver":
            return f"kind {self.target.kind} is not read across its halves"
        for half in halves(face):
            if self.halves[half]:
                return self.halves[half]
        return None

    def _probe(self, handle: Handle, allow_nonempty: bool, assume: frozenset[str]) -> None:
        """Look what is there. A probe that hung is in `assume`: its laws will show the hang."""
        self.stores.renew()
        self.saver_class = f"{type(handle.saver).__module__}.{type(handle.saver).__qualname__}"
        self.files = files_of(type(handle.saver))
        self.packages = _packages(type(handle.saver).__module__)
        try:
            if not allow_nonempty:
                self._refuse_others_data(handle, self._asked("empty", assume))
            self.halves: dict[Half, str] = {}
            self.missing: dict[Half, dict[str, str]] = {}
            for half in ("sync", "async"):
                there, reason = True, ""
                if self._asked(f"{half}.basics", assume):
                    there, reason = self._present(handle, half)
                self.halves[half] = "" if there else reason
                self.missing[half] = {}
                if there and self.target.kind == "saver":
                    self.missing[half] = {
                        op: why
                        for op in handles.OPTIONAL
                        if self._asked(f"{half}.{op}", assume)
                        and (why := handles.capability(handle, half, op)) is not None
                    }
                elif there:
                    self.missing[half] = self._optional(handle, half)
        finally:
            handle.close()
            self.stores.renew()
        if all(self.halves.values()):
            reasons = "; ".join(f"{half}: {reason}" for half, reason in self.halves.items())
            raise TargetError(
                f"{self.target.name}: {self.saver_class} has neither a sync nor an async half ({reasons})"
            )

    def _asked(self, probe: str, assume: frozenset[str]) -> bool:
        """Tell the supervisor which probe runs next; False for one that is not to be run again."""
        self._beat.program(json.dumps({"probe": probe}).encode())
        return probe not in assume

    def _present(self, handle: Handle, half: Half) -> tuple[bool, str]:
        if self.target.kind == "saver":
            return handles.present(handle, half)
        protocol = contracts.protocols(self.target.kind)[0 if half == "sync" else 1]
        missing = [m for m in contracts.required(protocol) if not hasattr(handle.saver, m)]
        if not missing and "get_tuple" in vars(contracts.protocols(self.target.kind)[0]):
            # A backend that is a saver too has no half that the saver under it refuses.
            try:
                handle.call(half, "get_tuple", handles.PROBE)
            except NotImplementedError as error:
                return False, f"get_tuple raises NotImplementedError: {str(error)[:120]}"
            except BaseException:
                return True, ""
        return not missing, f"{', '.join(missing)} not implemented" if missing else ""

    def _optional(self, handle: Handle, half: Half) -> dict[str, str]:
        """Optional methods of another kind's protocol that a backend does not have, with the reason."""
        plain, awaited = contracts.protocols(self.target.kind)
        named = set(vars(plain))  # `agent` is the same in both halves, and no twin of a `gent`
        return {
            name if name in named else name.removeprefix("a"): f"{name} is not implemented"
            for name in contracts.optional(plain if half == "sync" else awaited)
            if not hasattr(handle.saver, name)
        }

    def _refuse_others_data(self, handle: Handle, answers: bool) -> None:
        """Nobody's live data is touched: a store that already lists a checkpoint is not ours."""
        saver, name = self.target.kind == "saver", self.target.name
        found = others.holds_data(handle, self.target.kind, self.opener.under) if answers else None
        if found:
            raise TargetError(
                f"{name}: the target already holds checkpoints, and laws delete threads. "
                "Point it to an empty store (let the factory take `store`), or pass --allow-nonempty "
                "if only threads made by this suite may be written and deleted."
            )
        if found is None and not self.opener.takes_store and not (saver and answers):
            why = "list() gives no answer" if not answers else "it shows no saver that lists"
            also = "" if saver else "give it an attribute `saver`, "
            raise TargetError(
                f"{name}: {why}, so whether the target holds data cannot be told. "
                f"Let the factory take `store`, {also}or pass --allow-nonempty."
            )

    # -- judging ---------------------------------------------------------------------------------

    def judge(self, law: str, face: Face, skip: list[Any] | None = None) -> dict[str, Any]:
        """Judge one law on one face; the answer is the verdict with reason, evidence and time."""
        item = laws.get(law)
        reason, verdict = self._ruled_out(item, face)
        if verdict is not None:
            return {"verdict": verdict.value, "reason": reason}
        if item.group != self._group:
            self.stores.renew()
            self._group = item.group
        skipped = tuple(item.decode(data) for data in skip or [])
        outcome = self.judge_.judge(item, face, skipped)
        if outcome.verdict is not Verdict.HOLDS or outcome.refused:
            self.stores.renew()  # a refused statement may leave a connection that answers nothing more
        return _answer(outcome)

    def replay(self, law: str, face: Face, program: dict[str, Any]) -> dict[str, Any]:
        """Run one saved program on a fresh store and judge it by a law."""
        item = laws.get(law)
        reason, verdict = self._ruled_out(item, face)
        if verdict is not None:
            return {"verdict": verdict.value, "reason": reason}
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

    def _ruled_out(self, item: Law, face: Face) -> tuple[str, Verdict | None]:
        reason = item.not_applicable() or self.absent(face)
        if reason is None and item.faces and face not in item.faces:
            reason = f"{ONLY_FOR}{', '.join(item.faces)}"
        if reason is not None:
            return reason, Verdict.NOT_APPLICABLE
        writer, reader = halves(face)
        for need in item.needs:
            if need in self.target.unsupported:
                return self._refusal(need, face, self.target.unsupported[need])
        for limit in item.limits:
            if limit in self.target.limits:
                return (
                    f"declared limit {limit}: {self.target.limits[limit]}",
                    Verdict.NOT_APPLICABLE,
                )
        for need in item.needs:
            if need == "store":
                if not self.opener.takes_store:
                    return (
                        "the factory takes no store, so it cannot be opened twice",
                        Verdict.NOT_APPLICABLE,
                    )
                continue
            half = reader if need == "get_delta_channel_history" else writer
            missing = self.missing[half].get(need)
            if missing is not None:
                return missing, Verdict.NOT_APPLICABLE
        return "", None

    def _refusal(self, operation: str, face: Face, why: str) -> tuple[str, Verdict]:
        """Declared unsupported: the call must raise and change nothing."""
        op: dict[str, Op] = {
            "delete_thread": DeleteThread(lenient=True),
            "copy_thread": CopyThread(lenient=True),
            "prune": Prune(),
            "delete_for_runs": DeleteForRuns(("r",), lenient=True),
            "get_delta_channel_history": DeltaHistory(lenient=True),
        }
        before = (Put(1, set={"a": "x"}, meta={"run_id": "r"}), Writes(1, items=(("a", 1),)))
        program = Program((*before, op[operation], Get(1), Get(), List()))
        trace = self.stores.session(face, lambda step: self._tell(program, step)).run(program)
        if trace.refused and not trace.diffs:
            return f"declared unsupported ({why}); refuses cleanly", Verdict.REFUSED
        if not trace.refused:
            return (
                f"{operation} is declared unsupported ({why}) but did not refuse", Verdict.BROKEN
            )  # fmt: skip
        return (
            f"{operation} is declared unsupported, refused, and changed the thread",
            Verdict.BROKEN,
        )

    def close(self) -> None:
        """Close handles, stores and the loop."""
        self.stores.close()
        self.opener.close()

    def _tell(self, case: Any, step: int) -> None:
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
        "seconds": round(outcome.seconds, 4),
    }


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
