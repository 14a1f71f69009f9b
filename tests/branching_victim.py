"""A process that makes a branch and is killed in the middle. Arguments: folder, DSN or "-", phase."""

from __future__ import annotations

import os
import signal
import sys
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from lineage_reference.branching import make


def opened(stack: ExitStack, folder: str, dsn: str) -> Any:
    """The backend over a durable saver: SQLite in a folder, or Postgres."""
    if dsn == "-":
        from langgraph.checkpoint.sqlite import SqliteSaver

        saver: Any = stack.enter_context(
            SqliteSaver.from_conn_string(str(Path(folder) / "checkpoints.sqlite"))
        )
        return stack.enter_context(make(saver, SimpleNamespace(path=Path(folder), dsn=None)))
    from langgraph.checkpoint.postgres import PostgresSaver

    saver = stack.enter_context(PostgresSaver.from_conn_string(dsn))
    saver.setup()
    return stack.enter_context(make(saver, SimpleNamespace(path=Path(folder), dsn=dsn)))


def main(folder: str, dsn: str, phase: str) -> None:
    """Branch `source` at turn 1 and die when `phase` is finished; ``inside`` dies within the saver's put."""
    with ExitStack() as stack:
        backend = opened(stack, folder, dsn)
        if phase == "inside":
            put = backend.saver.put

            def fatal(*args: Any) -> Any:
                put(*args)
                os.kill(os.getpid(), signal.SIGKILL)

            backend.saver.put = fatal
        backend.branch(
            "source", 1, lambda at: os.kill(os.getpid(), signal.SIGKILL) if at == phase else None
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
