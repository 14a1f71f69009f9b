"""One target under one set of options: its worker, what is asked of it, and the server that it may need."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from lineage_conformance.law import Law
from pytest_lineage.run.heartbeat import SUITE
from pytest_lineage.run.options import Options, SuiteFault, Unusable
from pytest_lineage.run.rows import Row
from pytest_lineage.run.supervisor import Ended, Limits, Reply, Worker

SLOW = 60.0
"""Seconds without a step after which a probe or a stage counts as hanging: each may import much."""

STOP = 5.0
"""Seconds in which a worker may close its target before it is ended."""

MOST_HANGS = 4
"""Hangs or deaths on one face after which its other laws are not tried: each costs seconds."""


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
        row = row_of(item, face, self.about.get("name", self.text))
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
        if reply.ended is not None and reply.ended.beat.op == SUITE and reply.ended.how == "hung":
            raise SuiteFault(f"{reply.ended.detail} while programs for {item.id} were made")
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


def row_of(item: Law, face: str, target: str) -> Row:
    """The row of a law that has no verdict yet."""
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
