"""What the tests of the disposable Postgres share: a server, local doors, and questions to a database."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_lineage.postgres import (
    PostgresUnavailable,
    Server,
    StoreMaker,
    open_server,
    programs,
    template,
)
from pytest_lineage.postgres import dsn as dsns

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


@pytest.fixture(scope="package")
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


@pytest.fixture
def only(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Lets the system door see nothing but the directories it is called with."""

    def see(*patterns: Path) -> None:
        monkeypatch.setenv("PATH", "")
        monkeypatch.setattr(programs, "SYSTEM_DIRS", tuple(map(str, patterns)))

    return see
