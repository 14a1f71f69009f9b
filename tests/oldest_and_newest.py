"""The last step of `tox run -e ci`: the fast tests on the oldest and the newest Python here that are not this one.

    python tests/oldest_and_newest.py [arguments that pytest was given]

With arguments, which ask for a few tests, it does nothing. Exit code: that of tox.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

Version = tuple[int, int]
SUPPORTED: tuple[Version, ...] = ((3, 10), (3, 11), (3, 12), (3, 13))
PROBE = "import sys, ensurepip, sqlite3, venv; print(*sys.version_info[:2])"


def interpreters(path: str) -> dict[Version, str]:
    """The supported interpreters on a search path that really run (a shim may not), version to program."""
    found: dict[Version, str] = {}
    for name in (*(f"python{a}.{b}" for a, b in SUPPORTED), "python3", "python"):
        program = shutil.which(name, path=path)
        if program is None:
            continue
        try:
            done = subprocess.run(
                [program, "-c", PROBE], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=60
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired):
            continue
        words = done.stdout.split()
        if done.returncode == 0 and len(words) == 2 and all(word.isdigit() for word in words):
            version = (int(words[0]), int(words[1]))
            if version in SUPPORTED:
                found.setdefault(version, program)
    return found


def others(found: Iterable[Version], running: Version) -> list[Version]:
    """The oldest and the newest of all, without the one that runs."""
    every = sorted({*found, running})
    return [version for version in dict.fromkeys((every[0], every[-1])) if version != running]


def command(chosen: Mapping[Version, str], work: Path) -> list[str]:
    """The tox command that runs the fast tests on these."""
    names = ",".join(f"py{a}{b}-fast" for a, b in chosen)
    discover = [word for program in chosen.values() for word in ("--discover", program)]
    return [sys.executable, "-m", "tox", "run", "--workdir", str(work), *discover, "-e", names]


def main(arguments: list[str]) -> int:
    """Find them and run tox; its exit code."""
    running = sys.version_info[:2]
    own = Path(sys.executable).parent
    path = os.pathsep.join(p for p in os.get_exec_path() if p and Path(p) != own)
    found = interpreters(path)
    chosen = {version: found[version] for version in others(found, running)}
    if arguments or not chosen:
        why = "only the tests that were asked for" if arguments else "no other is on PATH"
        print(f"tested on Python {running[0]}.{running[1]} alone: {why}")
        return 0
    work = Path(os.environ.get("TOX_WORK_DIR", ".tox")).resolve() / "others"
    clean = {k: v for k, v in os.environ.items() if not k.startswith("TOX_") and k != "VIRTUAL_ENV"}
    return subprocess.run(command(chosen, work), env={**clean, "PATH": path}).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
