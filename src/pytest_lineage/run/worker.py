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
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

from pytest_lineage.targets import TargetError


class Wire:
    """The private channel to the supervisor, taken from the standard streams."""

    def __init__(self, log: str) -> None:
        self._pid = os.getpid()
        self._input = os.fdopen(os.dup(0), "r", encoding="utf-8")
        self._output = os.fdopen(os.dup(1), "w", encoding="utf-8")
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

    def say(self, event: str, **data: Any) -> None:
        """Send one event. A process that the saver forked off must not speak for us: it ends here."""
        if os.getpid() != self._pid:
            os._exit(70)
        with self._lock:
            self._output.write(json.dumps({"event": event, **data}, default=repr) + "\n")
            self._output.flush()

    def hear(self) -> dict[str, Any] | None:
        """The next command; None when the supervisor is gone."""
        return self._commands.get()

    def listen(self, grace: float = 10.0) -> None:
        """Read commands in a thread, so that the end of the supervisor ends a saver that hangs, too."""

        def read() -> None:
            for line in self._input:
                self._commands.put(json.loads(line))
            self._commands.put(None)
            threading.Event().wait(grace)  # what still answers closes its target by itself
            os._exit(0)

        threading.Thread(target=read, name="lineage-listener", daemon=True).start()


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
    _take_lease(stream, float(start.get("lease", LEASE)))
    try:
        cover = _coverage(start)
        service = _service(start.get("service", ""))(start, wire, beat)
    except TargetError as error:
        wire.say("target-error", message=str(error))
        return
    except BaseException as error:
        import traceback

        wire.say(
            "suite-error", message=f"{type(error).__name__}: {error}", trace=traceback.format_exc()
        )
        return
    wire.say("ready", **service.describe())
    _serve(wire, service, cover)


def _service(name: str) -> Any:
    """The class that does the work: it judges laws unless another is named (``module:class``)."""
    module, _, attribute = (name or "pytest_lineage.run.service:Service").partition(":")
    return getattr(importlib.import_module(module), attribute)


def _serve(wire: Wire, service: Any, cover: Any) -> None:
    while (command := wire.hear()) is not None:
        action = command.pop("do")
        if action == "stop":
            break
        if cover is not None and "law" in command:
            cover.switch_context(command["law"])
        try:
            answer = getattr(service, action)(**command)
        except TargetError as error:
            wire.say("target-error", message=str(error))
        except BaseException as error:
            import traceback

            wire.say(
                "suite-error",
                message=f"{type(error).__name__}: {error}",
                trace=traceback.format_exc(),
            )
        else:
            wire.say("outcome", **answer)
        if cover is not None:
            cover.save()
    finish: Callable[[], None] = service.close
    finish()
    if cover is not None:
        cover.stop()
        cover.save()
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
