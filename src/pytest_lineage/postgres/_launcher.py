"""Runs one Postgres program and outlives nobody: a script, started by path and never imported.

The caller holds the other end of our standard input. When that closes (the caller asked, exited, or
was killed outright) or our parent changes, the program is stopped and its directory removed. Should
we be killed ourselves, the kernel (Linux) stops the program, because that was arranged beforehand.

It is a separate process because PR_SET_PDEATHSIG follows the *thread* that started a child: set
from the caller it would stop the server as soon as a worker thread ended.

Argument: one JSON object with ``argv``; optional ``namespace`` ([uid, gid] to appear as inside a
new user namespace), ``user`` ([uid, gid] to switch to) and ``remove`` (a directory to delete at the
end). Exit code: that of the program, 128 + signal if one ended it, 97 if it could not be started.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from typing import Any, NoReturn

LAUNCH_FAILED = 97
PARENT_POLL_SECONDS = 0.5
STOP_SECONDS = 5.0
_CLONE_NEWUSER = 0x10000000
_PR_SET_PDEATHSIG = 1


def main(order: dict[str, Any]) -> int:
    """Run the program until it ends or the caller goes away; returns the exit code."""
    owner = os.getppid()
    try:
        if order.get("namespace"):
            enter_namespace(*order["namespace"])
        child = start(order["argv"], order.get("user"))
    except (OSError, subprocess.SubprocessError) as error:
        print(f"launch failed: {error}", file=sys.stderr)
        return LAUNCH_FAILED
    asked, wake = threading.Event(), threading.Event()

    def watch_owner() -> None:
        os.read(0, 1)  # returns on a byte (please stop) and on end of file (the owner is gone)
        asked.set()
        wake.set()

    def watch_child() -> None:
        child.wait()
        wake.set()

    threading.Thread(target=watch_owner, daemon=True).start()
    waiter = threading.Thread(target=watch_child, daemon=True)
    waiter.start()
    # A process forked from the owner holds a copy of the pipe, so end of file alone is not enough.
    while not wake.wait(PARENT_POLL_SECONDS):
        if os.getppid() != owner:
            asked.set()
            break
    if asked.is_set():
        stop(child, waiter)
        if order.get("remove"):
            shutil.rmtree(order["remove"], ignore_errors=True)
    waiter.join()
    code = child.returncode
    return code if code >= 0 else 128 - code


def enter_namespace(uid: int, gid: int) -> None:
    """Move into a new user namespace in which the present user appears as ``uid`` and ``gid``."""
    if sys.platform == "win32":
        raise OSError("Windows has no user namespaces")
    outer_uid, outer_gid = os.geteuid(), os.getegid()
    if hasattr(os, "unshare"):  # Python 3.12
        os.unshare(_CLONE_NEWUSER)
    else:
        libc = load_libc()
        if libc is None or libc.unshare(_CLONE_NEWUSER) != 0:
            raise OSError("this kernel or Python offers no user namespace")
    for name, text in (
        ("setgroups", "deny"),  # the kernel asks for this before it takes a group map
        ("uid_map", f"{uid} {outer_uid} 1"),
        ("gid_map", f"{gid} {outer_gid} 1"),
    ):
        with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
            file.write(text)


def start(argv: list[str], user: list[int] | None) -> subprocess.Popen[bytes]:
    """Start the program as ``user`` ([uid, gid]) if given, bound to our own life where possible."""
    options: dict[str, Any] = {"stdin": subprocess.DEVNULL}
    if user:
        options.update(user=user[0], group=user[1], extra_groups=[])
    if sys.platform == "linux" and (libc := load_libc()) is not None:
        launcher = os.getpid()

        def bind() -> None:  # runs after the change of user, which would have cleared the setting
            libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGQUIT), 0, 0, 0)
            if os.getppid() != launcher:
                os._exit(LAUNCH_FAILED)

        options["preexec_fn"] = bind
    return subprocess.Popen(argv, **options)


def stop(child: subprocess.Popen[bytes], waiter: threading.Thread) -> None:
    """Stop the program at once: the data are to be thrown away, so nothing is worth flushing."""
    # SIGQUIT is Postgres's immediate shutdown, which frees its shared memory; SIGKILL does not.
    child.send_signal(getattr(signal, "SIGQUIT", signal.SIGTERM))
    waiter.join(STOP_SECONDS)
    if waiter.is_alive():
        child.kill()


def load_libc() -> Any:
    """The C library, or None in a Python built without ctypes."""
    try:
        import ctypes

        return ctypes.CDLL(None)
    except (ImportError, OSError, TypeError):
        return None


def _exit(code: int) -> NoReturn:
    # A daemon thread may sit in a read of standard input; do not let interpreter shutdown meet it.
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    _exit(main(json.loads(sys.argv[1])))
