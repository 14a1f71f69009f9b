"""The doors of this machine and of the wheel: their programs, and the data directory that is kept."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_lineage.postgres import dsn as dsns
from pytest_lineage.postgres import identity, open_server, programs, template
from pytest_lineage.postgres import server as servers
from tests.postgres.conftest import ask, close_all_doors, shut_reason

pytest.importorskip("psycopg", reason="psycopg is not installed")


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
