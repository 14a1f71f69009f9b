"""The supervisor: starts a worker, asks it one thing at a time, and ends it when it hangs or dies."""

from __future__ import annotations

import atexit
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from dataclasses import dataclass, field
from typing import Any, Literal

from pytest_lineage.run.folders import Belongings
from pytest_lineage.run.heartbeat import CLOSED, SUITE, Beat, Heartbeat

TICK = 0.05
"""Seconds between two looks at the heartbeat."""

SUITE_LIMIT = 120.0
"""Seconds without a step after which the suite itself counts as hanging, while it makes programs."""

LAST_WORDS = 0.5
"""Seconds in which the end of an ended worker's output must have been read."""


@dataclass(frozen=True)
class Limits:
    """Time limits in seconds."""

    start: float = 20.0
    """For importing the target, and for its factory (starting a database server does not count)."""
    op: float = 5.0
    """For one operation: a saver that answers nothing for so long hangs."""
    short_op: float = 2.0
    """For one operation of a law that is about a hang."""


@dataclass(frozen=True)
class Ended:
    """A worker that gave no answer: it hung and was killed, or it died."""

    how: Literal["hung", "died"]
    beat: Beat
    detail: str
    stack: str = ""
    output: str = ""


@dataclass
class Reply:
    """An answer of the worker, or how it ended instead."""

    event: dict[str, Any] = field(default_factory=dict)
    ended: Ended | None = None


_open: set[Worker] = set()
"""Workers that were not cleaned up yet: an interrupt may come at any time, even while one is made or ended."""


@atexit.register
def _end_all() -> None:
    for worker in list(_open):
        worker.abandon()


class Worker:
    """One worker process and the pipe to it."""

    def __init__(
        self, start: dict[str, Any], limits: Limits, python: str = "", suite: str = ""
    ) -> None:
        """Start a worker: of `python`, with the suite from the folder `suite`, or (empty) as this process."""
        self.limits = limits
        self._own = Belongings()
        _open.add(self)
        try:
            self._start(python, suite)
        except OSError:
            self.abandon()
            raise
        start = {**start, "folder": str(self._own.stores)}
        self._events: queue.Queue[dict[str, Any] | None] = queue.Queue()
        self._reader = threading.Thread(target=self._read, name="lineage-reader", daemon=True)
        self._reader.start()
        self._send(start)

    def _start(self, python: str, suite: str) -> None:
        self.beat = Heartbeat.create(self._own.home / "beat")
        self.log = self._own.home / "log"
        self.log.touch(0o600)
        program = [python or sys.executable, "-m", "pytest_lineage.run.worker"]
        self._process = subprocess.Popen(
            [*program, str(self.beat.path), str(self.log)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=hasattr(os, "setsid"),
            env={**_environment(python, suite), **self._own.environment()},
        )

    def ask(self, command: dict[str, Any], op_limit: float) -> Reply:
        """Send a command and wait for its answer while the heart beats."""
        self._send(command)
        return self.wait(op_limit)

    def wait(self, op_limit: float) -> Reply:
        """The next event, unless the worker dies or makes no step for `op_limit` seconds.

        Time is not counted that this process did not get (a suspended machine), or in which the worker was
        ready to run and others had the processor (a loaded one).
        """
        last, quiet, waited = -1, 0.0, 0.0
        gone = 0.0
        before = time.monotonic()
        while True:
            try:
                event = self._events.get(timeout=TICK)
            except queue.Empty:
                pass
            else:
                if event is None:
                    return Reply(ended=self._death())
                return Reply(event)
            if gone and time.monotonic() - gone > LAST_WORDS:
                return Reply(ended=self._death())  # what it left behind may hold the pipe open
            now = time.monotonic()
            if not gone and self._process.poll() is not None:
                gone = now
            beat, queued = self.beat.read(), _queued(self._process.pid)
            count, limit = beat.steps, op_limit
            if beat.op == SUITE:
                limit = max(limit, SUITE_LIMIT)
            passed = min(now - before, 3 * TICK) - min(max(queued - waited, 0.0), now - before)
            quiet = 0.0 if count != last else quiet + max(passed, 0.0)
            last, before, waited = count, now, queued
            if quiet > limit:
                return Reply(ended=self._hang(limit))

    def tell(self, data: dict[str, Any]) -> None:
        """Answer a question of the worker."""
        self._send(data)

    def stop(self, seconds: float) -> None:
        """Ask the worker to close its target, wait so long, then end it. With 0 it is ended at once."""
        if seconds and self._process.poll() is None:
            try:
                self._send({"do": "stop"})
                self._process.wait(seconds)
            except (OSError, subprocess.TimeoutExpired):
                pass
        self._clean()

    def abandon(self) -> None:
        """End the process and remove its folders, whatever state this object is in."""
        process = getattr(self, "_process", None)
        if process is not None:
            self._own.end_processes(process.pid)
            process.kill()
            process.wait()
        self._own.remove()
        _open.discard(self)

    def _send(self, data: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(data).encode() + b"\n")
            self._process.stdin.flush()
        except (BrokenPipeError, OSError):
            return  # its end is noticed by whoever waits for the answer

    def _read(self) -> None:
        """Runs in the reader thread, which alone touches the worker's output and closes it at its end."""
        assert self._process.stdout is not None
        with self._process.stdout as pipe:
            for line in pipe:
                try:
                    self._events.put(json.loads(line))
                except ValueError:
                    continue
        self._events.put(None)

    def _hang(self, limit: float) -> Ended:
        output = self._output()  # before the stack is written there too
        stack = self._stack()
        beat = self.beat.read()
        self._clean()
        return Ended("hung", beat, f"no answer for {limit:g} s", stack, output)

    def _death(self) -> Ended:
        try:
            code = self._process.wait(2)
        except subprocess.TimeoutExpired:
            code = None  # it closed the pipe and lives on
        beat, output = self.beat.read(), self._output()
        self._clean()
        return Ended("died", beat, _how_it_died(code), "", output)

    def _stack(self) -> str:
        """A dump of every thread's stack, where the platform has the signal for it."""
        if not hasattr(signal, "SIGUSR1"):
            return ""
        size = self.log.stat().st_size
        try:
            os.kill(self._process.pid, signal.SIGUSR1)
        except OSError:
            return ""
        deadline = time.monotonic() + 0.5
        while time.monotonic() < deadline and self.log.stat().st_size == size:
            time.sleep(0.01)
        with self.log.open("rb") as file:
            file.seek(size)
            return file.read(20_000).decode("utf-8", "replace")

    def _output(self) -> str:
        """The end of what the code under test printed."""
        try:
            return self.log.read_bytes()[-2000:].decode("utf-8", "replace")
        except OSError:
            return ""

    def _clean(self) -> None:
        self._own.end_processes(self._process.pid)  # what the saver started goes too
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        assert self._process.stdin is not None
        try:
            self._process.stdin.close()
        except OSError:
            pass  # what was not sent yet has no reader any more
        # It ends at once, unless a process that left the group holds the pipe: then it is left to that.
        self._reader.join(1.0)
        self.beat.close()
        self._own.remove()
        _open.discard(self)


def _queued(pid: int) -> float:
    """Seconds that the threads of a process waited for a processor, where the system tells (Linux)."""
    total = 0
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/schedstat", "rb") as file:
                total += int(file.read().split()[1])
    except (OSError, IndexError, ValueError):
        pass
    return total / 1e9


def _environment(python: str = "", suite: str = "") -> dict[str, str]:
    """The worker's environment: imports as here, nothing buffered, no tracing to a service.

    Another interpreter gets nothing of what this one imports, except the suite and what PYTHONPATH names.
    """
    env = dict(os.environ)
    if python:
        for name in ("PYTHONHOME", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__"):
            env.pop(name, None)
        env["PYTHONPATH"] = os.pathsep.join(filter(None, (suite, env.get("PYTHONPATH", ""))))
    env.setdefault("LANGSMITH_TRACING", "false")
    env["PYTHONUNBUFFERED"] = "1"
    return env


def _how_it_died(code: int | None) -> str:
    if code is None:
        return "the process closed its channel and did not end"
    if code < 0:
        try:
            return f"the process died of {signal.Signals(-code).name}"
        except ValueError:
            return f"the process died of signal {-code}"
    if code == CLOSED:
        return "the target closed files that are not its own (the worker's channel), and the process was ended"
    return f"the process ended with exit status {code}"
