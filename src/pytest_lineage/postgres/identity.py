"""As whom Postgres runs: it refuses root, so root needs a user namespace or another user."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pytest_lineage.postgres._launcher import LAUNCH_FAILED
from pytest_lineage.postgres.dsn import one_line
from pytest_lineage.postgres.programs import (
    PROBE_SECONDS,
    DoorShut,
    Programs,
    clean_environment,
    tidy,
)


@dataclass(frozen=True)
class Identity:
    """As whom Postgres runs: as we are, inside a user namespace, or as another user."""

    kind: str  # "same", "namespace" or "user"
    uid: int = -1
    gid: int = -1

    def order(self, argv: list[str], **more: Any) -> str:
        """The launcher's argument for running ``argv`` under this identity."""
        order: dict[str, Any] = {"argv": argv, **more}
        if self.kind != "same":
            order[self.kind] = [self.uid, self.gid]
        return json.dumps(order)


def launch_command(order: str) -> list[str]:
    """The command that runs the launcher with the interpreter we run in, free of site packages."""
    return [sys.executable, "-I", "-S", str(Path(__file__).with_name("_launcher.py")), order]


def run_once(order: str, *, seconds: float) -> tuple[int, str]:
    """Run one launcher order to its end: the exit code, and standard output and error together.

    Raises ``subprocess.TimeoutExpired`` after ``seconds``, having stopped the program.
    """
    # The launcher takes the end of its input for our death, so our end stays open until it is done
    # (subprocess.PIPE would not do: communicate closes it at once).
    reader, writer = os.pipe()
    try:
        process = subprocess.Popen(
            launch_command(order),
            stdin=reader,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=clean_environment(),
            cwd=os.path.abspath(os.sep),
        )
        with process:
            try:
                output, _ = process.communicate(timeout=seconds)
            except subprocess.TimeoutExpired:
                os.write(writer, b"q")
                raise
        return process.returncode, output
    finally:
        os.close(reader)
        os.close(writer)


def identities() -> list[Identity]:
    """The identities to try, best first: Postgres refuses to run as root, so root needs another."""
    geteuid = getattr(os, "geteuid", None)
    if geteuid is None or geteuid() != 0:
        return [Identity("same")]
    uid, gid = _harmless_user()
    ids = [Identity("user", uid, gid)]
    if sys.platform == "linux":
        # A namespace keeps files ours and needs no other user's permissions: prefer it.
        ids.insert(0, Identity("namespace", uid, gid))
    return ids


def choose_identity(programs: Programs, copy_to: Path | None = None) -> tuple[Programs, Identity]:
    """The first identity that can execute ``programs``, from a copy in ``copy_to`` if it must be.

    Raises ``DoorShut`` with what each identity met. An ordinary user is not probed.
    """
    ids = identities()
    if ids[0].kind == "same":
        return programs, ids[0]
    complaints: list[str] = []
    for identity in ids:
        problem = _probe(programs, identity)
        if problem is None:
            return programs, identity
        complaints.append(f"{_describe(identity)}: {problem}")
    if programs.tree is not None and copy_to is not None:
        moved = _copy(programs, copy_to)
        for identity in ids:
            hand_over(copy_to, identity)
            if _probe(moved, identity) is None:
                return moved, identity
    raise DoorShut("Postgres does not run as root, and " + "; ".join(complaints))


def hand_over(path: Path, identity: Identity) -> None:
    """Make the user that Postgres runs as the owner of ``path`` (not of what is below it).

    We are root when that is another user, so we can still read it, and nobody else can.
    """
    if sys.platform != "win32" and identity.kind == "user":
        os.chown(path, identity.uid, identity.gid)


def _harmless_user() -> tuple[int, int]:
    if sys.platform == "win32":
        raise DoorShut("Windows has no root")
    import pwd

    try:
        entry = pwd.getpwnam("nobody")
    except KeyError:
        # initdb looks its user up by number, so a number that has no entry would not do.
        others = [entry for entry in pwd.getpwall() if entry.pw_uid != 0]
        if not others:
            raise DoorShut("Postgres does not run as root, and there is no other user") from None
        entry = others[0]
    return entry.pw_uid, entry.pw_gid


def _describe(identity: Identity) -> str:
    return "in a user namespace" if identity.kind == "namespace" else f"as user {identity.uid}"


def _probe(programs: Programs, identity: Identity) -> str | None:
    """Why ``identity`` cannot execute ``programs``, or None when it can."""
    order = identity.order([programs.path("postgres"), "--version"])
    try:
        code, output = run_once(order, seconds=PROBE_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        return one_line(tidy(str(error)))
    if code == 0:
        return None
    text = one_line(tidy(output)) or f"exit code {code}"
    return text.removeprefix("launch failed: ") if code == LAUNCH_FAILED else text


def _copy(programs: Programs, base: Path) -> Programs:
    """A copy of ``programs`` below ``base`` that any user may execute, with the same layout."""
    assert programs.tree is not None
    root = base / "programs"
    package = root / programs.tree.parent.name
    for part in ("bin", "lib", "share"):
        if (programs.tree / part).is_dir():
            shutil.copytree(programs.tree / part, package / programs.tree.name / part)
    for library in programs.libraries:
        inside = library.relative_to(programs.tree.parent.parent)
        shutil.copytree(library, root / inside)
    for directory, _, files in os.walk(root):
        os.chmod(directory, 0o755)
        for file in files:
            path = os.path.join(directory, file)
            os.chmod(path, os.stat(path).st_mode | 0o444)
    return replace(programs, bin=package / programs.tree.name / "bin")
