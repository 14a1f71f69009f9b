"""Stores on a server: databases of their own, or schemas where a role may make no more."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from pytest_lineage.postgres import Server, StoreError, StoreMaker, stores
from pytest_lineage.postgres import dsn as dsns
from pytest_lineage.postgres import server as servers
from tests.postgres.conftest import SECRET, ask, do

pytest.importorskip("psycopg", reason="psycopg is not installed")


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
