"""What a worker leaves on a machine, and how it is taken away: its folders, and processes that it started."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import uuid
from pathlib import Path

MARK = "LINEAGE_WORKER"
"""Environment variable by which the processes of a worker are known, also those that left its group."""


def fast_folder() -> str | None:
    """A folder in memory where there is one: saver files are bound by fsync, 3 to 5 times slower on disk."""
    chosen = os.environ.get("LINEAGE_STORE_DIR")
    if chosen:
        return chosen
    memory = Path("/dev/shm")
    try:
        if (
            memory.is_dir()
            and os.access(memory, os.W_OK)
            and shutil.disk_usage(memory).free > 2**26
        ):
            return str(memory)
    except OSError:
        return None
    return None


class Belongings:
    """The folders of one worker, and the mark of its processes. The supervisor removes all of it at the end."""

    def __init__(self) -> None:
        self.mark = uuid.uuid4().hex
        self.stores = Path(tempfile.mkdtemp(prefix="lineage-", dir=fast_folder()))
        """Where the stores of the target live."""
        try:
            self.home = Path(tempfile.mkdtemp(prefix="lineage-"))
            """Heartbeat, log, and the temporary files of the target."""
            (self.home / "tmp").mkdir()
        except BaseException:
            self.remove()
            raise

    def environment(self) -> dict[str, str]:
        """Variables for the worker: its mark, and a temporary folder of its own."""
        return {MARK: self.mark, **dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(self.home / "tmp"))}

    def end_processes(self, group: int) -> None:
        """Kill the worker's group, and what it started in other groups, where the system tells (Linux)."""
        if hasattr(os, "killpg"):
            try:
                os.killpg(group, signal.SIGKILL)
            except OSError:
                pass
        for pid in _marked(f"{MARK}={self.mark}".encode()):
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                continue

    def remove(self) -> None:
        """Remove the folders. What cannot be removed stays."""
        for name in ("stores", "home"):
            if hasattr(self, name):
                shutil.rmtree(getattr(self, name), ignore_errors=True)


def _marked(mark: bytes) -> list[int]:
    """Processes whose environment holds `mark`."""
    found = []
    try:
        pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []
    for pid in pids:
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if mark in file.read().split(b"\0"):
                    found.append(pid)
        except OSError:
            continue
    return found
