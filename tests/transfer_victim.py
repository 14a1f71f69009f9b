"""A process that dispatches to a fork and is killed in the middle. Arguments: folder, DSN or "-", phase."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import ExitStack
from typing import Any

from lineage_reference.transfer.agent import AgentProvider
from tests.transfer_kit import opened, provider


class Fatal(AgentProvider):
    """Kills its process within one of its methods."""

    phase = ""

    def fork(self, session: str, turn: str | None = None) -> str:
        made = super().fork(session, turn)
        return self._die("fork", made)

    def send(self, *args: Any) -> Any:
        self._die("before", None)
        result = super().send(*args)
        return self._die("turn", result)

    def _die(self, phase: str, made: Any) -> Any:
        if phase == self.phase:
            os.kill(os.getpid(), signal.SIGKILL)
        return made


def main(folder: str, dsn: str, phase: str) -> None:
    """Die in the fork, before the turn, after the turn, or (``committed``) when all is done."""
    with ExitStack() as stack:
        backend = opened(stack, folder, None if dsn == "-" else dsn)
        made = provider(backend, "one", "first", kind=Fatal)
        backend.open_thread("root", "one")
        backend.dispatch("root", "hello", receipt="r1")
        backend.fork("root", "fork", receipt="r2")
        made.phase = phase
        backend.dispatch("fork", "and now", receipt="r3")
        os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    main(*sys.argv[1:])
