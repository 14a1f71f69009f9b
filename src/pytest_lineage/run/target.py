"""One target under one set of options: its worker, what is asked of it, and the server that it may need."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from lineage_conformance.law import Law
from pytest_lineage.run.endings import Endings
from pytest_lineage.run.heartbeat import SUITE
from pytest_lineage.run.options import Options, SuiteFault, Unusable
from pytest_lineage.run.rows import Row
from pytest_lineage.run.supervisor import Ended, Limits, Reply, Worker
from pytest_lineage.targets import address

SLOW = 60.0
"""Seconds without a step after which a probe or a stage counts as hanging: each may import much."""

STOP = 5.0
"""Seconds in which a worker may close its target before it is ended."""

FRESH = 90.0
"""Seconds for opening a target in an environment that was just made: every module is compiled first."""

STARTING = ("importing it", "the factory ran")
"""What is done with a target before it is open."""

STACK = 30
"""Lines of a stack dump that a message shows."""

_OURS = (
    "in _take_lease", "in renew", "worker.py\", line", "in run_forever",
)  # fmt: skip
"""Marks of threads that the worker itself keeps."""


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
        start = options.start_limit or (FRESH if options.python else None)
        if start is not None:
            self._limits = replace(self._limits, start=start)
        self._worker: Worker | None = None
        self._endings = Endings()
        self.profile = ""
        """Profile of the laws that are judged next, where it is not that of the options."""
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
        try:
            self._worker = worker = self._new_worker()
        except OSError as error:
            where = "" if error.filename is None else f"{error.filename}: "
            raise Unusable(
                f"{self.text}: no worker process can be started: {where}{error.strerror or error}"
            ) from error
        reply = worker.wait(self._limits.start)
        while reply.event.get("event") == "need":
            try:
                worker.tell({"dsn": self._postgres.dsn()})
            except Unusable as error:
                worker.tell({"error": str(error)})
            reply = worker.wait(self._limits.start)
        if reply.event.get("event") == "opened":
            reply = worker.wait(self._limits.op)
            if reply.ended is not None and self._ended_probe(reply.ended):
                return self._start()
        event = self._checked(reply)
        self.about = {key: value for key, value in event.items() if key != "event"}
        self.about["address"] = address.of(self.text, self.options)
        if self._postgres.about:
            self.about["postgres"] = self._postgres.about
        return self.about

    def _new_worker(self) -> Worker:
        start = {
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
        }
        return Worker(start, self._limits, self.options.python, self.options.suite)

    def _ended_probe(self, ended: Ended) -> bool:
        """Note a probe that hung or died, so that the next worker leaves it out; False if it is not that."""
        probe = _probe(ended)
        if not probe or probe in self._assume:
            return False
        self._assume.append(probe)
        return True

    def judge(self, item: Law, face: str) -> Row:
        """The verdict about one law on one face."""
        row = row_of(item, face, self.about.get("name", self.text))
        avoid = self._endings.avoided(item, face)
        if item.group in avoid:
            row.reason = f"not run: workers hung or died in {item.group} before"
            return row
        command = {
            "do": "judge",
            "law": item.id,
            "face": face,
            **({"avoid": avoid} if avoid else {}),
            **({"profile": self.profile} if self.profile else {}),
        }
        limit = self._limits.short_op if item.hang else self._limits.op
        reply = self._ask(command, limit)
        ended = reply.ended
        tell_apart = ended is not None and ended.how == "hung" and not item.hang
        if tell_apart and self._endings.new(item, ended):
            # Once more, so that a machine that stood still for a while is not taken for a hang.
            second = self._ask(command, limit)
            if second.ended is None:
                reply, ended = second, None
        if ended is not None and ended.beat.op == SUITE and ended.how == "hung":
            raise SuiteFault(f"{ended.detail} while programs for {item.id} were made")
        if ended is not None:
            self._endings.note(item, face, ended)
            _describe_end(row, ended)
            return row
        event = self._checked(reply)
        row.verdict = event["verdict"]
        row.reason = event.get("reason", "")
        row.evidence = event.get("evidence")
        row.seconds = event.get("seconds", 0.0)
        row.examples = event.get("examples", 0)
        row.observations, row.refused = event.get("observations", 0), event.get("refused", 0)
        return row

    def replay(self, item: Law, face: str, program: Mapping[str, Any]) -> Row:
        """The verdict of one saved program about one law."""
        row = row_of(item, face, self.about.get("name", self.text))
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
        row.observations, row.refused = event.get("observations", 0), event.get("refused", 0)
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

    def _stop(self, at_once: bool = False) -> None:
        if self._worker is not None:
            self._worker.stop(0 if at_once else STOP)
            self._worker = None

    def close(self, at_once: bool = False) -> None:
        """End the worker, and the server if this run opened one. `at_once`: the target is not closed first."""
        self._stop(at_once)
        if self._own_postgres:
            self._postgres.close()

    def _ask(self, command: dict[str, Any], limit: float) -> Reply:
        begin = time.monotonic()
        if self._worker is None:
            self.start()
            self._endings.lost += time.monotonic() - begin
        assert self._worker is not None
        reply = self._worker.ask(command, limit)
        if reply.ended is not None:
            self._worker = None
            self._endings.lost += limit if reply.ended.how == "hung" else 0
        return reply

    def _checked(self, reply: Reply, running: str = "running") -> dict[str, Any]:
        """The event, unless it says that the target or the suite failed."""
        if reply.ended is not None:
            self._worker = None
            doing = running if self.about else _probe(reply.ended) or "it was opened"
            raise Unusable(_unusable(self.text, reply.ended, doing))
        kind = reply.event["event"]
        if kind == "target-error":
            raise Unusable(str(reply.event["message"]))
        if kind == "suite-error":
            raise SuiteFault(f"{reply.event['message']}\n{reply.event.get('trace', '')}")
        return reply.event


def _probe(ended: Ended) -> str:
    """The probe in which a worker ended; empty if it was none."""
    try:
        return str(json.loads(ended.beat.text)["probe"])
    except (ValueError, KeyError, TypeError):
        return ""


def _unusable(text: str, ended: Ended, doing: str) -> str:
    """The message about a target whose worker ended before it could be judged, with the stack of a hang."""
    message = f"{text}: {ended.detail} while {doing}"
    if ended.how == "hung" and doing in STARTING:
        message += "; allow more with --start-limit, if it is only slow"
    message += _tail(ended.output)
    return f"{message}\n{_threads(ended.stack)}" if ended.stack else message


def _threads(stack: str) -> str:
    """A dump of all threads, without those of ours."""
    blocks = stack.strip().split("\n\n")
    shown = [block for block in blocks if not any(name in block for name in _OURS)] or blocks
    return "\n".join("\n\n".join(shown).splitlines()[:STACK])


def row_of(item: Law, face: str, target: str) -> Row:
    """The row of a law that has no verdict yet."""
    return Row(
        item.id, face, target, item.level.value, "inconclusive", item.group, item.sentence,
        item.source, item.meaning, item.reports, stake=item.stake.value,
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
