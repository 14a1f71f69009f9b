"""The worker: a process that opens one target and judges laws on it when it is asked to.

It speaks JSON lines on what were its standard streams. The streams themselves are pointed elsewhere first,
so a saver that prints, reads or closes them does no harm. It never outlives its supervisor: the end of its
input ends it.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import os
import queue
import shutil
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

from lineage_conformance.raised import Raised, hears_no_keyboard
from pytest_lineage.run.heartbeat import CLOSED
from pytest_lineage.targets import TargetError

FORKED = 70
"""Exit status of a process that the saver forked off and that came back into our code."""


class Wire:
    """The private channel to the supervisor, taken from the standard streams."""

    def __init__(self, log: str) -> None:
        self._pid = os.getpid()
        self._input = os.fdopen(os.dup(0), "r", encoding="utf-8")
        self._output = os.fdopen(os.dup(1), "w", encoding="utf-8")
        self._channel = self._output.fileno()
        there = os.fstat(self._channel)
        self._identity = (there.st_dev, there.st_ino)
        self._lock = threading.Lock()
        self._commands: queue.Queue[dict[str, Any] | None] = queue.Queue()
        null = os.open(os.devnull, os.O_RDONLY)
        file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        for source, stream in ((null, 0), (file, 1), (file, 2)):
            os.dup2(source, stream)
        os.close(null)
        os.close(file)
        sys.stdout = os.fdopen(os.dup(1), "w", encoding="utf-8", errors="replace", buffering=1)
        sys.stderr = os.fdopen(os.dup(2), "w", encoding="utf-8", errors="replace", buffering=1)

    def check(self) -> None:
        """End the process if the saver closed our channel: its number may be that of another file by now."""
        try:
            there = os.fstat(self._channel)
        except OSError:
            os._exit(CLOSED)
        if (there.st_dev, there.st_ino) != self._identity:
            os._exit(CLOSED)

    def say(self, event: str, **data: Any) -> None:
        """Send one event. A process that the saver forked off must not speak for us: it ends here."""
        if os.getpid() != self._pid:
            os._exit(FORKED)
        self.check()
        with self._lock:
            self._output.write(json.dumps({"event": event, **data}, default=repr) + "\n")
            self._output.flush()

    def hear(self) -> dict[str, Any] | None:
        """The next command; None when the supervisor is gone."""
        return self._commands.get()

    def listen(self, grace: float = 10.0) -> None:
        """Read commands in a thread, so that the end of the supervisor ends a saver that hangs, too."""

        def read() -> None:
            try:
                for line in self._input:
                    self._commands.put(json.loads(line))
            except (OSError, ValueError):
                pass  # the saver closed every descriptor: nothing can be heard any more
            self._commands.put(None)
            threading.Event().wait(grace)  # what still answers closes its target by itself
            _tidy()
            os._exit(0)

        threading.Thread(target=read, name="lineage-listener", daemon=True).start()


_LEFT: list[str] = []
"""Folders that the supervisor removes, unless it was killed."""


def _tidy() -> None:
    for folder in _LEFT:
        shutil.rmtree(folder, ignore_errors=True)


def dumps_on_request(stream: TextIO) -> None:
    """Let the supervisor ask for a dump of every thread's stack, where the platform has the signal."""
    if hasattr(faulthandler, "register") and hasattr(signal, "SIGUSR1"):
        faulthandler.register(signal.SIGUSR1, file=stream, all_threads=True)


LEASE = 120.0
"""Seconds that one call of C code may hold the interpreter before the process ends itself."""


def _take_lease(stream: TextIO, seconds: float) -> None:
    """End a process that nobody may be there to kill: one that is stuck in C code runs no thread of ours.

    The faulthandler's own timer needs no interpreter. It is set anew every few seconds as long as threads run.
    """

    def renew() -> None:
        pause = threading.Event()
        while True:
            faulthandler.dump_traceback_later(seconds, exit=True, file=stream)
            pause.wait(seconds / 10)

    threading.Thread(target=renew, name="lineage-lease", daemon=True).start()


def main() -> None:
    """Serve one target until the input ends. Arguments: the heartbeat file, the log file."""
    from pytest_lineage.run.heartbeat import Heartbeat

    wire = Wire(sys.argv[2])
    wire.listen()
    stream = open(sys.argv[2], "a", encoding="utf-8")  # noqa: SIM115 - for as long as the process
    faulthandler.enable(file=stream)
    dumps_on_request(stream)
    beat = Heartbeat(Path(sys.argv[1]))
    start = wire.hear()
    if start is None:
        return
    _LEFT.extend((start["folder"], str(Path(sys.argv[1]).parent)))
    hears_no_keyboard()
    if not hasattr(os, "setsid"):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # else it is in no terminal's session
    _take_lease(stream, float(start.get("lease", LEASE)))
    try:
        cover = _coverage(start)
        service = _service(start.get("service", ""))(start, wire, beat)
    except BaseException as error:
        _say_error(wire, start["target"], error)
        return
    wire.say("ready", **service.describe())
    _serve(wire, service, cover, start["target"])


def _say_error(wire: Wire, target: str, error: BaseException) -> None:
    """Whose fault it is that there is no answer: only what the target did not raise is the suite's."""
    from lineage_conformance import culprit

    called = culprit.operation(error)
    if isinstance(error, TargetError):
        wire.say("target-error", message=str(error))
    elif called:
        shown = error if isinstance(error, Raised) else Raised(error)
        wire.say("target-error", message=f"{target}: {called} raised {shown}")
    else:
        trace = "".join(traceback.format_exception(error))
        wire.say("suite-error", message=f"{type(error).__name__}: {error}", trace=trace)


def _service(name: str) -> Any:
    """The class that does the work: it judges laws unless another is named (``module:class``)."""
    module, _, attribute = (name or "pytest_lineage.run.service:Service").partition(":")
    return getattr(importlib.import_module(module), attribute)


def _serve(wire: Wire, service: Any, cover: Any, target: str) -> None:
    while (command := wire.hear()) is not None:
        action = command.pop("do")
        if action == "stop":
            break
        if cover is not None and "law" in command:
            cover.switch_context(command["law"])
        try:
            answer = getattr(service, action)(**command)
        except BaseException as error:
            _say_error(wire, target, error)
        else:
            wire.say("outcome", **answer)
        if cover is not None:
            cover.save()
    finish: Callable[[], None] = service.close
    finish()
    if cover is not None:
        cover.stop()
        cover.save()
    if command is None:
        _tidy()  # nobody is there to do it
    else:
        wire.say("bye")


def _coverage(start: dict[str, Any]) -> Any:
    """Measure the target's own code when asked to, with law ids as contexts."""
    if not start.get("cov"):
        return None
    from pytest_lineage.cov import start as begin

    return begin(start["cov"], start["cov_include"])


if __name__ == "__main__":
    main()
    sys.stdout.flush()
    # Threads and event loops of the code under test may keep the interpreter from ending.
    os._exit(0)
