"""A Postgres server of our own: started for one user of it, and gone with that user.

It listens on TCP at 127.0.0.1 with a random password, not on a Unix socket: sockets do not exist on
Windows, and their path limit (about 100 bytes) is shorter than many temporary directories, macOS's
among them. The password keeps the other users of the machine out.
"""

from __future__ import annotations

import atexit
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from pytest_lineage.postgres.dsn import DsnError, as_url, connect, one_line, server_version
from pytest_lineage.postgres.identity import Identity, choose_identity, hand_over, launch_command
from pytest_lineage.postgres.programs import (
    DoorShut,
    Programs,
    clean_environment,
    tidy,
)
from pytest_lineage.postgres.template import SUPERUSER, complaint, new_data

START_SECONDS = 60
"""How long a server may take from its start to its first connection."""

STOP_SECONDS = 10
PORT_ATTEMPTS = 5
SHM = "/dev/shm"
SHM_FREE_BYTES = 1 << 30
"""Memory-backed space is used only where this much is free: containers often have 64 MB of it."""

# Nothing survives this server, so nothing needs to be safe on disk.
_SETTINGS = {
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "wal_level": "minimal",
    "max_wal_senders": "0",
    "max_wal_size": "1GB",
    "checkpoint_timeout": "1h",
    "autovacuum": "off",
    "jit": "off",
    "shared_buffers": "64MB",
    "max_connections": "200",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "logging_collector": "off",
    "unix_socket_directories": "",
    "listen_addresses": "127.0.0.1",
}
if os.name != "nt":
    # In the data directory, so that a server killed outright leaves nothing behind elsewhere.
    _SETTINGS["dynamic_shared_memory_type"] = "mmap"


class _PortTaken(Exception):
    """Another process took the port between our look at it and the server's use of it."""


class LocalServer:
    """A running server made from ``programs``; use ``start`` to get one, ``close`` to end it."""

    dsn: str
    version: str

    def __init__(self, programs: Programs) -> None:
        self._owner = os.getpid()
        self._process: subprocess.Popen[bytes] | None = None
        self._home: Path | None = None
        self._copied = False
        self._programs, self._identity = programs, Identity("same")

    @classmethod
    def start(cls, programs: Programs) -> LocalServer:
        """Start a server and wait until it answers; ``DoorShut`` with the reason if it does not."""
        server = cls(programs)
        atexit.register(server.close)
        try:
            server._prepare()
            try:
                server._boot(cached=True)
            except DoorShut:
                if not server._copied:
                    raise
                # The kept data directory is from a build that only looks the same, or damaged.
                server._boot(cached=False)
        except OSError as error:
            server.close()
            raise DoorShut(one_line(tidy(str(error)))) from error
        except BaseException:
            server.close()
            raise
        return server

    def close(self) -> None:
        """Stop the server and remove its files. Idempotent; does nothing in a forked child."""
        if os.getpid() != self._owner:
            return
        atexit.unregister(self.close)
        self._stop()
        if self._home is not None:
            shutil.rmtree(self._home, ignore_errors=True)
            self._home = None

    def _prepare(self) -> None:
        self._home = private_directory()
        try:
            self._programs, self._identity = choose_identity(self._programs, self._home)
        except OSError as error:
            raise DoorShut(f"cannot copy the programs: {one_line(tidy(str(error)))}") from error
        hand_over(self._home, self._identity)

    def _boot(self, *, cached: bool) -> None:
        assert self._home is not None
        data = self._home / "data"
        shutil.rmtree(data, ignore_errors=True)
        password, self._copied = new_data(data, self._programs, self._identity, cached=cached)
        for attempt in range(PORT_ATTEMPTS):
            port = free_port()
            try:
                self._launch(data, port)
            except _PortTaken:
                if attempt == PORT_ATTEMPTS - 1:
                    raise DoorShut(f"no free port in {PORT_ATTEMPTS} attempts") from None
                continue
            self._admit(port, password)
            return

    def _launch(self, data: Path, port: int) -> None:
        """Start the server on ``port`` and wait until it says that it is ready."""
        argv = [self._programs.path("postgres"), "-D", str(data), "-p", str(port)]
        for name, value in _SETTINGS.items():
            argv += ["-c", f"{name}={value}"]
        log = data.with_name("log")
        with open(log, "wb") as output:
            self._process = process = subprocess.Popen(
                launch_command(self._identity.order(argv, remove=str(data.parent))),
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=clean_environment(),
                cwd=os.path.abspath(os.sep),
                start_new_session=True,  # Ctrl-C must not reach it before our teardown
            )
        deadline = time.monotonic() + START_SECONDS
        while not _is_ready(data):
            with suppress(subprocess.TimeoutExpired):
                code = process.wait(0.01)
                text = log.read_text(encoding="utf-8", errors="replace")
                self._stop()
                if "could not bind" in text or "Address already in use" in text:
                    raise _PortTaken
                raise DoorShut(
                    f"the server did not start: {complaint(text) or f'exit code {code}'}"
                )
            if time.monotonic() > deadline:
                self._stop()
                raise DoorShut(f"the server was not ready within {START_SECONDS} s")

    def _admit(self, port: int, password: str) -> None:
        """Give the server a password that no other server has, and note where it is."""
        fresh = secrets.token_urlsafe(24)
        where = {"host": "127.0.0.1", "port": port, "user": SUPERUSER, "dbname": "postgres"}
        old = as_url({**where, "password": password})
        try:
            with connect(old) as connection:
                # The alphabet of the password needs no quoting.
                connection.execute(f"ALTER ROLE {SUPERUSER} PASSWORD '{fresh}'".encode())
                self.version = server_version(connection)
        except DsnError as error:
            self._stop()
            raise DoorShut(f"the server started but cannot be reached: {error}") from error
        self.dsn = as_url({**where, "password": fresh})

    def _stop(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        with suppress(OSError):  # it may have ended already
            process.stdin.write(b"q")
            process.stdin.flush()
        with suppress(OSError):
            process.stdin.close()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def private_directory() -> Path:
    """A new directory that only we can enter, in memory if there is room; ``DoorShut`` if none."""
    bases = scratch_bases()
    for base in bases:
        with suppress(OSError):
            return Path(tempfile.mkdtemp(prefix="lineage-pg-", dir=base))
    places = ", ".join(tidy(base) for base in bases) or "none found"
    raise DoorShut(f"no temporary directory can be written to ({places})")


def scratch_bases() -> list[str]:
    """Where a server's files may go, best first."""
    bases = []
    with suppress(OSError):
        if sys.platform == "linux":
            shm = os.statvfs(SHM)
            # Programs may have to be copied next to the data, so they must be allowed to run there.
            if shm.f_bavail * shm.f_frsize >= SHM_FREE_BYTES and not shm.f_flag & os.ST_NOEXEC:
                bases.append(SHM)
    with suppress(OSError):  # raised when Python finds no usable temporary directory at all
        bases.append(tempfile.gettempdir())
    return bases


def free_port() -> int:
    """A TCP port of 127.0.0.1 that nothing uses at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _is_ready(data: Path) -> bool:
    """Whether the server has noted in its lock file that it accepts connections."""
    try:
        lines = (data / "postmaster.pid").read_text(encoding="utf-8", errors="replace").split("\n")
    except OSError:
        return False
    return len(lines) > 7 and lines[7].strip() == "ready"
