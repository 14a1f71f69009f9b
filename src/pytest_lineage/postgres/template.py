"""A new data directory: from initdb, or copied from one that initdb made earlier.

initdb takes about half a second and a copy about a tenth of that, so the first result is kept in
the user's cache directory. The cache is an optimisation only: whatever is wrong with it, initdb
runs.
"""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import sys
import tempfile
from pathlib import Path

from pytest_lineage.postgres.dsn import one_line
from pytest_lineage.postgres.identity import Identity, hand_over, run_once
from pytest_lineage.postgres.programs import DoorShut, Programs, tidy

CACHE_VARIABLE = "LINEAGE_POSTGRES_CACHE"
"""A directory for the kept data directories, or ``off``; the user's cache directory by default."""

SUPERUSER = "lineage"
INITDB_SECONDS = 120
KEEP = 4
"""How many kept data directories (about 30 MB each) stay; the longest unused go first."""

# Small log segments halve what has to be copied; the C locale makes order and messages the same
# everywhere.
_OPTIONS = ("--no-sync", "--encoding=UTF8", "--locale=C", "--auth=scram-sha-256", "--wal-segsize=1")


def new_data(
    data: Path, programs: Programs, identity: Identity, *, cached: bool
) -> tuple[str, bool]:
    """Make ``data``; return its superuser's password, and whether it is a copy of a kept one.

    ``cached=False`` forgets a kept directory for these programs first. Raises ``DoorShut`` with
    initdb's own complaint.
    """
    root = cache_root()
    entry = root / _key(programs) if root else None
    if entry is not None:
        if not cached:
            shutil.rmtree(entry, ignore_errors=True)
        else:
            password = _copy_from(entry, data)
            if password is not None:
                _own(data, identity)
                return password, True
    password = secrets.token_urlsafe(24)
    _initdb(data, programs, identity, password)
    if entry is not None and cached:
        _keep(entry, data, password)
    return password, False


def cache_root() -> Path | None:
    """Our private cache directory, made if need be; None if it is off or cannot be ours alone."""
    wanted = os.environ.get(CACHE_VARIABLE, "")
    if wanted.lower() == "off":
        return None
    try:
        root = Path(wanted).absolute() if wanted else _user_cache() / "pytest-lineage" / "postgres"
        # Under sudo the home directory may be another user's: leave nothing of root's in there.
        if not _ours(next(path for path in (root, *root.parents) if path.exists())):
            return None
        root.mkdir(mode=0o700, parents=True, exist_ok=True)
        # The entries hold a password that opens a server for an instant while it starts.
        private = os.name == "nt" or root.stat().st_mode & 0o077 == 0
        return root if private and _ours(root) and os.access(root, os.W_OK) else None
    except (OSError, RuntimeError):  # RuntimeError: no home directory
        return None


def _user_cache() -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    variable = "LOCALAPPDATA" if os.name == "nt" else "XDG_CACHE_HOME"
    stated = os.environ.get(variable, "")
    return Path(stated) if os.path.isabs(stated) else Path.home() / ".cache"


def _ours(path: Path) -> bool:
    geteuid = getattr(os, "geteuid", None)
    return geteuid is None or path.stat().st_uid == geteuid()


def _key(programs: Programs) -> str:
    """A name for what these programs make.

    Not the path: each virtual environment has its own copy of the wheel, and all make the same. A
    wrong guess costs a second start, since a server that cannot use the copy gets a new one.
    """
    sizes = [os.path.getsize(programs.path(name)) for name in ("initdb", "postgres")]
    text = repr((programs.version, sizes, _OPTIONS, SUPERUSER))
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def _copy_from(entry: Path, data: Path) -> str | None:
    try:
        password = (entry / "password").read_text(encoding="ascii")
        shutil.copytree(entry / "data", data)
        os.utime(entry)  # the age that decides which entries go
        return password
    except (OSError, shutil.Error, UnicodeDecodeError):
        shutil.rmtree(data, ignore_errors=True)  # absent, or removed while being read
        return None


def _keep(entry: Path, data: Path, password: str) -> None:
    building: str | None = None
    try:
        building = tempfile.mkdtemp(prefix=".new-", dir=entry.parent)
        shutil.copytree(data, Path(building) / "data")
        (Path(building) / "password").write_text(password, encoding="ascii")
        os.rename(building, entry)  # whole or not at all; fails if another process was faster
        building = None
        kept = [path for path in entry.parent.iterdir() if not path.name.startswith(".")]
        for old in sorted(kept, key=lambda path: path.stat().st_mtime, reverse=True)[KEEP:]:
            shutil.rmtree(old, ignore_errors=True)
    except (OSError, shutil.Error):
        pass
    finally:
        if building is not None:
            shutil.rmtree(building, ignore_errors=True)


def _initdb(data: Path, programs: Programs, identity: Identity, password: str) -> None:
    secret = data.with_name("password")
    secret.touch(mode=0o600)
    secret.write_text(password, encoding="ascii")
    _own(secret, identity)
    argv = [programs.path("initdb"), "-D", str(data), "-U", SUPERUSER, f"--pwfile={secret}"]
    code, output = run_once(identity.order([*argv, *_OPTIONS]), seconds=INITDB_SECONDS)
    secret.unlink(missing_ok=True)
    if code != 0:
        raise DoorShut(f"initdb failed: {complaint(output) or f'exit code {code}'}")


def complaint(output: str) -> str:
    """The lines of a Postgres program's output that say what went wrong, on one line."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    marks = ("FATAL", "PANIC", "ERROR", "error:", "initdb: ", "failed")
    telling = [line for line in lines if any(mark in line for mark in marks)]
    return one_line(tidy(" ".join((telling or lines)[:2])))


def _own(path: Path, identity: Identity) -> None:
    """Hand ``path`` and all below it to the user that Postgres is going to run as."""
    if identity.kind == "user":
        hand_over(path, identity)
        for below in path.rglob("*"):
            hand_over(below, identity)
