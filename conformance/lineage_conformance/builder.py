"""Environments with pinned packages, made once and kept in a cache; and this suite, put into them by a folder.

With uv where it is installed, else with venv and pip. Nothing is fetched for an environment that is in the cache. The
suite is not installed into an environment: its files are copied, once per content, into a folder that goes on the
import path of the processes that run there. So a change of the suite costs no rebuild, and what an environment holds
is decided by its requirements alone.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from lineage_conformance import freshness

DISTRIBUTION = "pytest-lineage"
PACKAGES = ("pytest_lineage", "lineage_conformance", "lineage_reference")
TOOLS = ("hypothesis>=6.100", "pytest>=8.2", "tomli>=1.2.2; python_version < '3.11'")
"""What the suite itself needs beside LangGraph."""

TIMEOUT = 900
"""Seconds for one command."""

KEPT = 86400
"""Seconds after its last use after which an environment may give way to one that is newer."""

CACHE_VARIABLE = "LINEAGE_CACHE_DIR"
RECORD = "lineage.json"
"""Lies in each finished environment: what it was made from, and what is in it."""

_LIST = (
    "import json; from importlib import metadata as m; "
    "print(json.dumps({d.metadata['Name']: d.version for d in m.distributions() if d.metadata['Name']}))"
)


class Failed(Exception):
    """A command that was needed did not work. The message holds the end of what it printed."""


@dataclass(frozen=True)
class Environment:
    """A finished environment: its folder, and what is installed in it (name to version)."""

    path: Path
    packages: dict[str, str]
    seconds: float = 0.0
    """What it took to make it; 0 when it was in the cache."""
    notes: tuple[str, ...] = ()
    """What could not be put into it, in sentences."""

    @property
    def python(self) -> str:
        """Its interpreter."""
        return str(program(self.path, "python"))


def cache() -> Path:
    """Where environments and copies of the suite are kept: ``LINEAGE_CACHE_DIR``, or the user's cache folder."""
    chosen = os.environ.get(CACHE_VARIABLE)
    if chosen:
        return Path(chosen)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pytest-lineage"


def environment(
    requirements: Sequence[str],
    *,
    constraints: Sequence[str] = (),
    python: str = "",
    label: str = "",
    root: Path | None = None,
) -> Environment:
    """The environment with these requirements, from the cache or made now.

    A requirement is what pip takes on its command line (``-r FILE`` included). `python` is an interpreter or a version
    such as ``3.12``; empty: like this one. Raises `Failed` if it cannot be made.
    """
    interpreter = _interpreter(python)
    wanted = [*requirements, *TOOLS]
    parts = [interpreter_name(interpreter), wanted, sorted(constraints)]
    path = place(parts, freshness.state(requirements, constraints), root)
    with locked(path):
        found = read(path)
        if found is not None:
            return found
        begin = time.monotonic()
        shutil.rmtree(path, ignore_errors=True)
        create(path, interpreter)
        fill(path, wanted, constraints)
        return finish(path, label, list(requirements), time.monotonic() - begin)


def place(parts: Any, state: Any, root: Path | None = None) -> Path:
    """Where an environment lies: named by what was asked for, and by what that gives here and today."""
    return (root or cache()) / "environments" / f"{digest(parts)}-{digest(state)}"


def create(path: Path, python: str = "") -> None:
    """Make an empty environment. Raises `Failed`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    uv, interpreter = shutil.which("uv"), _interpreter(python)
    call(
        [uv, "venv", "-q", "-p", interpreter, str(path)]
        if uv
        else [interpreter, "-m", "venv", str(path)]
    )


def install(path: Path, what: Sequence[str], *options: str) -> None:
    """Install requirements into an environment. Raises `Failed`."""
    uv, python = shutil.which("uv"), str(program(path, "python"))
    words = [word for item in what for word in freshness.words(item)]
    pip = [python, "-I", "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    command = [uv, "pip", "install", "-q", "-p", python] if uv else pip
    call([*command, *options, *words], cwd=Path.cwd())  # where a requirement's paths begin


def fill(path: Path, requirements: Sequence[str], constraints: Sequence[str] = ()) -> None:
    """Install requirements under constraints. Raises `Failed`."""
    if not constraints:
        install(path, requirements)
        return
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "constraints.txt"
        file.write_text("\n".join(constraints) + "\n", encoding="utf-8")
        install(path, requirements, "-c", str(file))


def finish(
    path: Path, label: str, requirements: Sequence[str], seconds: float, notes: Sequence[str] = ()
) -> Environment:
    """Write the record of an environment that is complete."""
    packages = installed(str(program(path, "python")))
    record = {"format": 1, "label": label, "requirements": list(requirements), "packages": packages,
              "notes": list(notes), "made": time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime())}  # fmt: skip
    (path / RECORD).write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    _forget_older(path)
    return Environment(path, packages, seconds, tuple(notes))


def _forget_older(path: Path) -> None:
    """Remove environments for the same requirements that gave something else, unless they are in use."""
    for other in path.parent.glob(path.name.partition("-")[0] + "-*"):
        with contextlib.suppress(OSError):
            if other != path and time.time() - (other / RECORD).stat().st_mtime > KEPT:
                shutil.rmtree(other, ignore_errors=True)


def read(path: Path) -> Environment | None:
    """A finished environment from the cache; None if there is none, or its interpreter is gone."""
    try:
        record = json.loads((path / RECORD).read_text(encoding="utf-8"))
        packages, notes = record["packages"], tuple(record.get("notes", ()))
    except (OSError, ValueError, KeyError):
        return None
    if not program(path, "python").exists():
        return None
    with contextlib.suppress(OSError):
        os.utime(path / RECORD)  # it is in use
    return Environment(path, packages, notes=notes)


def installed(python: str) -> dict[str, str]:
    """The distributions that an interpreter sees, name to version. Raises `Failed`."""
    found: dict[str, str] = json.loads(call([python, "-c", _LIST]).stdout)
    return {normal(name): version for name, version in sorted(found.items())}


def normal(name: str) -> str:
    """The normal form of a distribution's name."""
    return name.lower().replace("_", "-").replace(".", "-")


@functools.cache
def suite(root: Path | None = None) -> Path:
    """The folder that holds this suite for other interpreters, named by its content; made when it is first needed.

    Asked once per process, so that a source tree that changes meanwhile gives all of its environments the same suite.
    """
    files = dict(_suite_files())
    digest = hashlib.sha256()
    contents = {name: path.read_bytes() for name, path in sorted(files.items())}
    for name, data in contents.items():
        digest.update(f"{name}\0{len(data)}\0".encode() + data)
    path = (root or cache()) / "suites" / digest.hexdigest()[:16]
    if path.is_dir():
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        made = Path(folder) / "suite"
        for name, data in contents.items():
            (made / name).parent.mkdir(parents=True, exist_ok=True)
            (made / name).write_bytes(data)
        try:
            made.rename(path)
        except OSError:
            if not path.is_dir():  # another process was faster
                raise
    return path


def _suite_files() -> Iterator[tuple[str, Path]]:
    """The files of the three packages, and the metadata under which the suite is known, by name in the folder."""
    for package in PACKAGES:
        spec = importlib.util.find_spec(package)
        if spec is None or not spec.submodule_search_locations:
            continue
        top = Path(next(iter(spec.submodule_search_locations)))
        for path in top.rglob("*"):
            if path.is_file() and path.suffix != ".pyc":
                yield f"{package}/{path.relative_to(top).as_posix()}", path
    try:
        distribution = metadata.distribution(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return
    info = f"{DISTRIBUTION.replace('-', '_')}-{distribution.version}.dist-info"
    for name in ("METADATA", "entry_points.txt"):
        file = getattr(distribution, "_path", None)
        if file is not None and (file / name).is_file():
            yield f"{info}/{name}", Path(file / name)


def call(
    command: Sequence[str],
    check: bool = True,
    timeout: float = TIMEOUT,
    suite: str = "",
    cwd: Path | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a command without what our own environment would bring into it. Raises `Failed`."""
    dropped = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__")
    environ = {key: value for key, value in os.environ.items() if key not in dropped}
    if suite:
        environ["PYTHONPATH"] = suite
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, encoding="utf-8", errors="replace", timeout=timeout,
            env=environ, stdin=subprocess.DEVNULL, check=False, cwd=cwd or tempfile.gettempdir(),
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failed(f"{Path(command[0]).name}: {error}") from None
    if check and done.returncode:
        raise Failed(
            f"{Path(command[0]).name} {command[1]} failed: {tail(done.stderr or done.stdout)}"
        )
    return done


def program(env: Path, name: str) -> Path:
    """A program of an environment."""
    return env / ("Scripts/" + name + ".exe" if os.name == "nt" else "bin/" + name)


def tail(text: str) -> str:
    """The last lines of an output, on one line."""
    return " | ".join(line.strip() for line in text.strip().splitlines()[-4:])[-600:]


def entries(root: Path | None = None) -> list[dict[str, Any]]:
    """What is in the cache: one entry per environment and copy of the suite, with its size in bytes."""
    top, found = root or cache(), []
    for kind in ("environments", "suites"):
        for path in sorted((top / kind).glob("*")) if (top / kind).is_dir() else []:
            if not path.is_dir():
                continue
            try:
                record = json.loads((path / RECORD).read_text(encoding="utf-8"))
            except (OSError, ValueError):
                record = (
                    {"label": "unfinished"} if kind == "environments" else {"label": "this suite"}
                )
            found.append(
                {"kind": kind, "id": path.name, "path": path, "size": _size(path), **record}
            )
    return found


def clear(ids: Sequence[str] = (), root: Path | None = None) -> int:
    """Remove entries of the cache (none given: all); how many were removed."""
    chosen = [entry for entry in entries(root) if not ids or entry["id"] in ids]
    for entry in chosen:
        shutil.rmtree(entry["path"], ignore_errors=True)
        entry["path"].with_name(entry["id"] + ".lock").unlink(missing_ok=True)
    return len(chosen)


def _size(path: Path) -> int:
    total = 0
    for folder, _, names in os.walk(path):
        for name in names:
            with contextlib.suppress(OSError):
                total += os.lstat(os.path.join(folder, name)).st_size
    return total


def _interpreter(wanted: str) -> str:
    """The program for a version or a path. This interpreter where its version is the one that was asked for."""
    version = wanted.removeprefix("python")
    if not version or version == f"{sys.version_info[0]}.{sys.version_info[1]}":
        return sys.executable
    return wanted if os.sep in wanted or wanted.startswith("python") else f"python{version}"


def interpreter_name(interpreter: str) -> str:
    """What tells interpreters apart in the key of an environment: not where this one lies, but what it is."""
    if _interpreter(interpreter) == sys.executable:
        return f"{sys.implementation.name}-{sys.version_info[0]}.{sys.version_info[1]}"
    return interpreter


def digest(parts: Any) -> str:
    """A short name for JSON data."""
    return _hash(json.dumps(parts).encode())


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Let one process at a time make an environment, where the platform can lock files."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path.with_name(path.name + ".lock"), "a", encoding="utf-8") as file:
        try:
            import fcntl
        except ImportError:
            yield
            return
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(file, fcntl.LOCK_UN)
