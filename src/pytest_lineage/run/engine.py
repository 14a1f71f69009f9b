"""The engine: asks a target's worker about each law and face, and turns what comes back into rows."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lineage_conformance import law as laws
from lineage_conformance.law import Law
from pytest_lineage import failures
from pytest_lineage.run.rows import Row, TargetReport, fold
from pytest_lineage.run.supervisor import Ended, Limits, Reply, Worker

if TYPE_CHECKING:
    from pytest_lineage.ratchet import Ratchet

SLOW = 60.0
"""Seconds without a step after which a probe or a stage counts as hanging: each may import much."""

MOST_HANGS = 4
"""Hangs or deaths on one face after which its other laws are not tried: each costs seconds."""


@dataclass(frozen=True)
class Options:
    """How to run. Times in seconds."""

    profile: str = "quick"
    kind: str = "saver"
    over: str = ""
    laws: tuple[str, ...] = ()
    faces: tuple[str, ...] = ()
    exitfirst: bool = False
    time_limit: float | None = None
    op_limit: float = Limits.op
    start_limit: float | None = None
    """For opening; None: as `Limits` has it."""
    service: str = ""
    """What the worker does with the target, as ``module:class``; empty: it judges laws."""
    allow_nonempty: bool = False
    cov: str = ""
    bare: bool = False
    """Whether no law will be judged, so that the programs of laws need not be loaded."""
    python: str = ""
    """Interpreter of another environment in which the target is opened; empty: this one."""
    suite: str = ""
    """Folder that holds this suite, for another environment."""
    save: bool = False
    """Whether programs of broken laws are saved below the current directory."""
    path: tuple[str, ...] = field(default_factory=lambda: tuple(p for p in sys.path if p))


class Unusable(Exception):
    """The target cannot be used; the message is for the user."""


class SuiteFault(Exception):
    """The suite itself failed; the message holds a traceback."""


class Interrupted(KeyboardInterrupt):
    """A run was stopped by the user, or by a signal; `report` is what was found until then."""

    def __init__(self, report: TargetReport, error: KeyboardInterrupt) -> None:
        super().__init__(*error.args)
        self.report = report


class Postgres:
    """One PostgreSQL server for all targets of a run, opened when the first asks for it."""

    def __init__(self) -> None:
        self._server: Any = None
        self._error = ""

    def dsn(self) -> str:
        """The connection string of the server. Raises `Unusable` if no door opens."""
        if self._error:
            raise Unusable(self._error)
        if self._server is None:
            try:
                from pytest_lineage.postgres import open_server

                self._server = open_server()
            except Exception as error:
                self._error = str(error)
                raise Unusable(self._error) from error
        return str(self._server.dsn)

    @property
    def about(self) -> str:
        """Which door was taken, in a sentence; empty when no server was needed."""
        return str(self._server.reason) if self._server is not None else ""

    def close(self) -> None:
        """Stop the server if one was started."""
        if self._server is not None:
            self._server.close()
            self._server = None


class TargetRun:
    """One target under one set of options: a worker that is replaced when it hangs or dies."""

    def __init__(self, text: str, options: Options, postgres: Postgres | None = None) -> None:
        self.text, self.options = text, options
        self.about: dict[str, Any] = {}
        self._own_postgres = postgres is None
        self._postgres = postgres or Postgres()
        self._limits = Limits(op=options.op_limit)
        if options.start_limit is not None:
            self._limits = replace(self._limits, start=options.start_limit)
        self._worker: Worker | None = None
        self._ended: dict[str, int] = {}
        self.cov_include: tuple[str, ...] = ()
        self._assume: list[str] = []

    def start(self) -> dict[str, Any]:
        """Open the target and probe it; what it is. Raises `Unusable` or `SuiteFault`."""
        about = self._start()
        if self.options.cov and not self.cov_include:
            # Which files to measure is known only now; measuring has to begin before they are imported.
            self.cov_include = tuple(about["files"])
            self._stop()
            about = self._start()
        return about

    def _start(self) -> dict[str, Any]:
        self._worker = worker = Worker(
            {
                "target": self.text,
                "kind": self.options.kind,
                "over": self.options.over,
                "service": self.options.service,
                "bare": self.options.bare,
                "profile": self.options.profile,
                "allow_nonempty": self.options.allow_nonempty,
                "cov": self.options.cov if self.cov_include else "",
                "cov_include": list(self.cov_include),
                "path": list(self.options.path),
                "assume": self._assume,
                "lease": max(120.0, 3 * self._limits.op),
            },
            self._limits,
            self.options.python,
            self.options.suite,
        )
        reply = worker.wait(self._limits.start)
        while reply.event.get("event") == "need":
            try:
                worker.tell({"dsn": self._postgres.dsn()})
            except Unusable as error:
                worker.tell({"error": str(error)})
            reply = worker.wait(self._limits.start)
        if reply.event.get("event") == "opened":
            reply = worker.wait(self._limits.op)
            if (
                reply.ended is not None
                and reply.ended.how == "hung"
                and self._hung_probe(reply.ended)
            ):
                return self._start()
        event = self._checked(reply)
        self.about = {key: value for key, value in event.items() if key != "event"}
        if self._postgres.about:
            self.about["postgres"] = self._postgres.about
        return self.about

    def _hung_probe(self, ended: Ended) -> bool:
        """Note a probe that hung, so that the next worker leaves it out; False if it is not that."""
        try:
            probe = json.loads(ended.beat.text)["probe"]
        except (ValueError, KeyError, TypeError):
            return False
        if probe in self._assume:
            return False
        self._assume.append(probe)
        return True

    def judge(self, item: Law, face: str) -> Row:
        """The verdict about one law on one face."""
        row = _row(item, face, self.about.get("name", self.text))
        if self._ended.get(face, 0) >= MOST_HANGS:
            row.verdict = "inconclusive"
            row.reason = f"not run: {MOST_HANGS} laws before it hung or died on this face"
            return row
        command = {"do": "judge", "law": item.id, "face": face}
        limit = self._limits.short_op if item.hang else self._limits.op
        reply = self._ask(command, limit)
        tell_apart = not item.hang and not self._ended.get(face)
        if reply.ended is not None and reply.ended.how == "hung" and tell_apart:
            # Once more, so that a machine that stood still for a while is not taken for a hang.
            second = self._ask(command, limit)
            if second.ended is None:
                reply = second
        if reply.ended is not None:
            self._ended[face] = self._ended.get(face, 0) + 1
            _describe_end(row, reply.ended)
            return row
        event = self._checked(reply)
        row.verdict = event["verdict"]
        row.reason = event.get("reason", "")
        row.evidence = event.get("evidence")
        row.seconds = event.get("seconds", 0.0)
        row.examples = event.get("examples", 0)
        return row

    def replay(self, item: Law, face: str, program: Mapping[str, Any]) -> Row:
        """The verdict of one saved program about one law."""
        row = _row(item, face, self.about.get("name", self.text))
        command = {"do": "replay", "law": item.id, "face": face, "program": program}
        reply = self._ask(command, self._limits.short_op if item.hang else self._limits.op)
        if reply.ended is not None:
            _describe_end(row, reply.ended)
            row.evidence = row.evidence or {}
            row.evidence["program"] = dict(program)  # whole, though it was not run to its end
            return row
        event = self._checked(reply)
        row.verdict, row.reason = event["verdict"], event.get("reason", "")
        row.evidence = event.get("evidence") if row.verdict != "holds" else None
        row.seconds, row.examples = event.get("seconds", 0.0), event.get("examples", 0)
        return row

    def observe(self, fact: str, face: str) -> Any:
        """The value of a fact on one half; ``hangs`` or ``dies`` where there is no answer."""
        ended: Ended | None = None
        for _ in range(2):  # once more, so that a machine that stood still is not taken for a hang
            reply = self._ask({"do": "fact", "fact": fact, "face": face}, SLOW)
            ended = reply.ended
            if ended is None:
                return self._checked(reply)["value"]
        return "hangs" if ended is not None and ended.how == "hung" else "dies"

    def hand(self, **command: Any) -> dict[str, Any]:
        """One stage of a handover (see `Service.stage`); ``{"seen": "hangs" or "dies"}`` without an answer."""
        reply = self._ask({"do": "stage", **command}, SLOW)
        if reply.ended is not None:
            return {"seen": "hangs" if reply.ended.how == "hung" else "dies"}
        return self._checked(reply)

    def ask(self, doing: str, **command: Any) -> dict[str, Any]:
        """The answer of another service. `doing` says for a message what it was that gave no answer."""
        return self._checked(self._ask(command, self._limits.op), doing)

    def restart(self) -> None:
        """End the worker; the next question is answered by a new one."""
        self._stop()

    def _stop(self) -> None:
        if self._worker is not None:
            self._worker.stop()
            self._worker = None

    def close(self) -> None:
        """End the worker, and the server if this run opened one."""
        self._stop()
        if self._own_postgres:
            self._postgres.close()

    def _ask(self, command: dict[str, Any], limit: float) -> Reply:
        if self._worker is None:
            self.start()
        assert self._worker is not None
        reply = self._worker.ask(command, limit)
        if reply.ended is not None:
            self._worker = None
        return reply

    def _checked(self, reply: Reply, running: str = "running") -> dict[str, Any]:
        """The event, unless it says that the target or the suite failed."""
        if reply.ended is not None:
            self._worker = None
            doing = "opening the target" if not self.about else running
            raise Unusable(
                f"{self.text}: {reply.ended.detail} while {doing}" + _tail(reply.ended.output)
            )
        kind = reply.event["event"]
        if kind == "target-error":
            raise Unusable(str(reply.event["message"]))
        if kind == "suite-error":
            raise SuiteFault(f"{reply.event['message']}\n{reply.event.get('trace', '')}")
        return reply.event


def check(
    text: str,
    options: Options,
    postgres: Postgres,
    started: Callable[[dict[str, Any], int], None] = lambda about, total: None,
    done: Callable[[Row], None] = lambda row: None,
    known: Ratchet | None = None,
    begins: Callable[[str, str], None] = lambda law, face: None,
) -> TargetReport:
    """Run the selected laws on one target. Whatever happens, what was found so far is returned, or in `Interrupted`.

    Broken laws leave their programs on disk (`Options.save`); what is known of them comes from `known`.
    """
    report = TargetReport(text)
    begin = time.monotonic()
    run = TargetRun(text, options, postgres)
    chosen = laws.select(options.laws, options.kind)
    interrupted: KeyboardInterrupt | None = None
    try:
        report.about = run.start()
        report.name = report.about["name"]
        faces = [f for f in report.about["faces"] if not options.faces or f in options.faces]
        report.about["faces_run"] = faces
        report.about.update(text=text, over_text=options.over)
        started(report.about, len(chosen) * len(faces))
        judge = run.judge
        if known is not None:
            judge = known.of(report.name, text, report.about, run.judge, run.replay).judge
        _judge_all(judge, report, chosen, faces, options, begin, done, begins)
    except KeyboardInterrupt as error:
        interrupted = error
        _leave_out(report, chosen)
    except Unusable as error:
        report.error = str(error)
    except SuiteFault as error:
        report.fault = str(error)
    finally:
        run.close()
    fold(report.rows, {item.id: tuple(laws.causes(item)) for item in chosen})
    report.seconds = time.monotonic() - begin
    if options.save:
        try:
            failures.write(failures.collect(report.rows, report.about, Path.cwd()), Path.cwd())
        except OSError as error:
            report.unsaved = (
                f"programs of broken laws could not be saved: {error.strerror or error}"
            )
    if interrupted is not None:
        raise Interrupted(report, interrupted)
    return report


def _leave_out(report: TargetReport, chosen: Sequence[Law]) -> None:
    """Rows for what an interrupted run did not come to."""
    there = {(row.law, row.face) for row in report.rows}
    for item in chosen:
        for face in report.about.get("faces_run", ()):
            if (item.id, face) not in there:
                row = _row(item, face, report.name)
                row.reason = "not run: interrupted"
                report.rows.append(row)


def _judge_all(
    judge: Callable[[Law, str], Row],
    report: TargetReport,
    chosen: Sequence[Law],
    faces: Sequence[str],
    options: Options,
    begin: float,
    done: Callable[[Row], None],
    begins: Callable[[str, str], None],
) -> None:
    stopped = ""
    for item in chosen:
        for face in faces:
            late = options.time_limit is not None and time.monotonic() - begin > options.time_limit
            if late and not stopped:
                stopped = f"not run: the time limit of {options.time_limit:g} s was reached"
            if stopped:
                row = _row(item, face, report.name)
                row.verdict, row.reason = "inconclusive", stopped
            else:
                begins(item.id, face)
                row = judge(item, face)
                if options.exitfirst and row.level == "MUST" and row.verdict in ("broken", "hangs"):
                    stopped = f"not run: stopped at {row.law}[{row.face}] (--exitfirst)"
            report.rows.append(row)
            done(row)


def _row(item: Law, face: str, target: str) -> Row:
    return Row(
        item.id, face, target, item.level.value, "inconclusive", item.group, item.sentence,
        item.source, item.meaning, item.reports,
    )  # fmt: skip


def _describe_end(row: Row, ended: Ended) -> None:
    """A hang or a death as verdict: what it was doing, the program up to there, the stack."""
    row.verdict = "hangs" if ended.how == "hung" else "broken"
    evidence: dict[str, Any] = {}
    doing = "opening the store"
    try:
        program = json.loads(ended.beat.text)
        evidence["program"] = program
        if "ops" in program:  # a case of another shape is kept whole: its steps are no list
            program["ops"] = program["ops"][: ended.beat.op + 1]
            doing = program["ops"][-1]["op"] if program["ops"] else doing
        else:
            doing = str(program.get("case", "case"))
    except ValueError:
        pass
    where = f"{doing} (operation {ended.beat.op + 1} of the program)"
    row.reason = f"{ended.detail} in {where}"
    shown = "no answer" if ended.how == "hung" else ended.detail
    evidence["differences"] = [
        {"op": ended.beat.op, "at": f"{doing}:raises", "expected": "an answer", "got": shown}
    ]
    if ended.stack:
        evidence["stack"] = ended.stack[-6000:]
    row.evidence = evidence if "program" in evidence else None


def _tail(output: str) -> str:
    lines = output.strip().splitlines()[-3:]
    return (". It printed last: " + " | ".join(lines)) if lines else ""


def default_path() -> tuple[str, ...]:
    """Entries of `sys.path` that a worker should search too, the current directory first."""
    return (str(Path.cwd()), *(p for p in sys.path if p))
