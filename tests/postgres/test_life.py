"""As whom a local server runs, and with whom it dies."""

from __future__ import annotations

import importlib.util
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_lineage.postgres import Server, StoreError, StoreMaker, identity, open_server
from pytest_lineage.postgres import dsn as dsns
from tests.postgres.conftest import SECONDS, as_root, ask, finder, on_linux, shut_reason

pytest.importorskip("psycopg", reason="psycopg is not installed")


def test_where_there_is_no_user_number_the_server_runs_as_we_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(os, "geteuid", raising=False)
    assert identity.identities() == [identity.Identity("same")]


@as_root
@pytest.mark.parametrize("kind", ["namespace", "user"])
def test_root_runs_the_server_as_someone_else(
    kind: str, local: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = [each for each in identity.identities() if each.kind == kind]
    if not chosen:
        pytest.skip(f"no identity of the kind {kind} on this system")
    problem = identity._probe(finder(local)(), chosen[0])
    if problem is not None:
        pytest.skip(f"{kind}: {problem}")
    monkeypatch.setattr(identity, "identities", lambda: chosen)
    with open_server(door=local) as opened, StoreMaker(opened.dsn) as made:
        assert ask(made.create("a"), "SELECT 1") == 1


@as_root
@on_linux
def test_programs_that_the_other_user_cannot_reach_are_copied_if_they_can_be(
    tmp_path: Path, only: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    found = finder("wheel")()
    others = [each for each in identity.identities() if each.kind == "user"]
    monkeypatch.setattr(identity, "identities", lambda: others)
    tmp_path.chmod(0o700)
    assert found.tree is not None
    package = found.tree.parent
    for source in (package, *found.libraries):
        target = tmp_path / "site" / source.relative_to(package.parent)
        target.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cp", "-r", str(source), str(target)], check=True)
    hidden = tmp_path / "site" / package.name
    spec = importlib.util.spec_from_file_location(
        package.name, hidden / "__init__.py", submodule_search_locations=[str(hidden)]
    )
    with monkeypatch.context() as patch:
        patch.setattr(importlib.util, "find_spec", lambda name: spec)
        with open_server(door="wheel") as opened:
            assert ask(opened.dsn, "SELECT 1") == 1
    only(hidden / "pginstall" / "bin")
    assert "Permission denied" in shut_reason(door="system")


def wait_for_end(*pids: int) -> None:
    """Wait until none of the processes is left; fails after ``SECONDS``."""
    for pid in pids:
        try:
            handle = os.pidfd_open(pid)
        except ProcessLookupError:
            continue
        try:
            ready, _, _ = select.select([handle], [], [], SECONDS)
            assert ready, f"process {pid} is still there after {SECONDS} s"
        finally:
            os.close(handle)


def find_pids(dsn: str) -> tuple[Path, int, int]:
    """The server's directory, its process id and that of its launcher."""
    data = Path(ask(dsn, "SHOW data_directory"))
    pid = int((data / "postmaster.pid").read_text().split("\n")[0])
    status = Path(f"/proc/{pid}/status").read_text().split("\n")
    (parent,) = (line.split()[1] for line in status if line.startswith("PPid:"))
    return data.parent, pid, int(parent)


_OWNER = """
import sys
from pytest_lineage.postgres import open_server
print(open_server(door=sys.argv[1]).dsn, flush=True)
if sys.argv[2] == "wait":
    sys.stdin.read()
"""


@on_linux
def test_killing_the_owner_outright_ends_the_server_and_removes_its_files(local: str) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", _OWNER, local, "wait"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as owner:
        assert owner.stdout is not None
        home, pid, launcher = find_pids(owner.stdout.readline().strip())
        owner.send_signal(signal.SIGKILL)
        owner.wait(SECONDS)
        wait_for_end(pid, launcher)
    assert not home.exists()


def test_an_owner_that_forgets_to_close_leaves_nothing(local: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _OWNER, local, "leave"],
        capture_output=True,
        text=True,
        check=True,
        timeout=SECONDS,
    )
    with pytest.raises(dsns.DsnError, match="refused"):
        dsns.connect(done.stdout.strip())


@on_linux
def test_killing_the_launcher_outright_ends_the_server(local: str) -> None:
    with open_server(door=local) as opened:
        home, pid, launcher = find_pids(opened.dsn)
        os.kill(launcher, signal.SIGKILL)
        wait_for_end(pid)
    assert not home.exists()


@on_linux
def test_a_server_that_was_killed_is_cleaned_up(local: str) -> None:
    with open_server(door=local) as opened:
        home, pid, _ = find_pids(opened.dsn)
        os.kill(pid, signal.SIGKILL)
        wait_for_end(pid)
        with pytest.raises(StoreError, match="cannot be reached"):
            StoreMaker(opened.dsn).create("a")
    assert not home.exists()


def test_a_server_outlives_the_thread_that_opened_it(local: str) -> None:
    opened: list[Server] = []
    thread = threading.Thread(target=lambda: opened.append(open_server(door=local)))
    thread.start()
    thread.join(SECONDS)
    with opened[0]:
        assert ask(opened[0].dsn, "SELECT 1") == 1


@on_linux
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_does_not_stop_its_parents_server(local: str) -> None:
    with open_server(door=local) as opened:
        child = os.fork()
        if child == 0:
            opened.close()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert ask(opened.dsn, "SELECT 1") == 1
