"""Fresh empty stores on a Postgres server: databases, or schemas where those are barred."""

from __future__ import annotations

import hashlib
import re
from types import TracebackType
from typing import TYPE_CHECKING, Any

from pytest_lineage.postgres.dsn import (
    DsnError,
    connect,
    one_line,
    parse,
    redact,
    require_psycopg,
    rewrite,
)

if TYPE_CHECKING:
    import psycopg

PREFIX = "lineage_"
"""What the name of every store on the server begins with."""

LOCK_SECONDS = 10
"""How long dropping a schema waits for connections that still use it."""

_NAME_BYTES = 63  # Postgres cuts longer names off without a word


class StoreError(RuntimeError):
    """A store could not be made or dropped; the message holds no password."""


class StoreMaker:
    """Makes empty stores on the server behind ``admin_dsn``, and drops those that it made.

    It needs the DSN alone, opens a connection per operation and keeps none, so it may live in
    another process than the server's owner. Also a context manager.

    With schemas in place of databases, stores share one database: an index built ``CONCURRENTLY``
    in one of them waits for transactions left open in any other.
    """

    def __init__(self, admin_dsn: str) -> None:
        self._dsn = admin_dsn
        self._isolation: str | None = None
        self._strategy = ""
        self._made: dict[str, bool] = {}  # name -> still there

    def __repr__(self) -> str:
        return f"<StoreMaker isolation={self._isolation!r} stores={sorted(self._left())}>"

    def __enter__(self) -> StoreMaker:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def isolation(self) -> str:
        """``"database"`` if the role may create databases, else ``"schema"``. Asked once.

        Raises ``StoreError`` when the role may do neither or the server cannot be reached.
        """
        if self._isolation is None:
            with self._connect() as connection:
                row = connection.execute(
                    "SELECT rolcreatedb OR rolsuper,"
                    " has_database_privilege(current_database(), 'CREATE'),"
                    " current_setting('fsync') = 'off'"
                    " FROM pg_roles WHERE rolname = current_user"
                ).fetchone()
                recent = connection.info.server_version >= 150000
            databases, schemas, careless = row or (False, False, False)
            if not databases and not schemas:
                raise StoreError("the role may create neither databases nor schemas")
            self._isolation = "database" if databases else "schema"
            # Copying files is the faster way to a database, but makes the server flush all it has:
            # right for a throw-away server, rude on one that has other work.
            self._strategy = " STRATEGY file_copy" if recent and careless else ""
        return self._isolation

    def create(self, store_id: str) -> str:
        """Make the empty store ``store_id`` and return its DSN.

        Raises ``StoreError`` if that name is taken, whoever took it, or the server refuses.
        """
        name = store_name(store_id)
        kind = self.isolation
        # template0: whatever an administrator put into template1, the new database has none of it.
        tail = f" TEMPLATE template0{self._strategy}" if kind == "database" else ""
        self._run(f'CREATE {kind} "{name}"{tail}', f"cannot make the store {store_id!r}")
        self._made[name] = True
        if kind == "database":
            return rewrite(self._dsn, dbname=name)
        return self._schema_dsn(name)

    def drop(self, store_id: str) -> None:
        """Drop a store made by this maker, cutting connections to its database.

        Dropping it twice does nothing. Raises ``StoreError`` for a store that this maker did not
        make, when connections still use a schema after ``LOCK_SECONDS``, or when the server
        refuses.
        """
        name = store_name(store_id)
        if name not in self._made:
            raise StoreError(f"the store {store_id!r} was not made here, so it is not dropped")
        self._drop(name)

    def close(self) -> None:
        """Drop every store of this maker that is left; ``StoreError`` names those that resisted."""
        failures: list[str] = []
        for name in self._left():
            try:
                self._drop(name)
            except StoreError as error:
                failures.append(str(error))
        if failures:
            raise StoreError("; ".join(failures))

    def _left(self) -> list[str]:
        return [name for name, there in self._made.items() if there]

    def _drop(self, name: str) -> None:
        if not self._made[name]:
            return
        what = f"cannot drop {name}"
        if self._isolation == "schema":
            limit = f"SET lock_timeout = '{LOCK_SECONDS}s'"
            self._run(f'DROP SCHEMA IF EXISTS "{name}" CASCADE', what, first=limit)
        else:
            cut = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
            with self._connect() as connection:
                force = " WITH (FORCE)" if connection.info.server_version >= 130000 else ""
            drop = f'DROP DATABASE IF EXISTS "{name}"{force}'
            self._run(drop, what, first=None if force else cut)
        self._made[name] = False

    def _schema_dsn(self, name: str) -> str:
        # libpq lets the last -c win, so options that the DSN has already stay in force otherwise.
        options = f"{parse(self._dsn).get('options', '')} -csearch_path={name}".strip()
        dsn = rewrite(self._dsn, options=options)
        try:
            with connect(dsn) as connection:
                row = connection.execute("SELECT current_schema()").fetchone()
        except DsnError as error:
            raise StoreError(f"the schema {name} cannot be reached: {error}") from error
        if row is None or row[0] != name:
            # Some poolers drop options; the store would then be the shared public schema.
            raise StoreError(
                "the server ignores search_path in the DSN (is there a pooler between?)"
            )
        return dsn

    def _run(self, statement: str, what: str, first: str | None = None) -> None:
        require_psycopg()
        import psycopg

        with self._connect() as connection:
            try:
                for text in (first, statement):
                    if text:
                        connection.execute(text.encode())
            except psycopg.Error as error:
                raise StoreError(f"{what}: {redact(one_line(str(error)), self._dsn)}") from error

    def _connect(self) -> psycopg.Connection[Any]:
        try:
            return connect(self._dsn)
        except DsnError as error:
            raise StoreError(f"the server cannot be reached: {error}") from error


def store_name(store_id: str) -> str:
    """The database or schema name for a store id; two ids never share one.

    Lower-case letters, digits and ``_`` are kept as they are. Any other id is made readable and
    gets a hash of itself. Raises ``ValueError`` for an empty id.
    """
    if not store_id:
        raise ValueError("a store id must not be empty")
    name = PREFIX + store_id
    if re.fullmatch(r"[a-z0-9_]+", store_id) and len(name) <= _NAME_BYTES:
        return name
    digest = hashlib.sha256(store_id.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    readable = re.sub(r"[^a-z0-9_]+", "_", store_id.lower())[: _NAME_BYTES - len(PREFIX) - 17]
    return f"{PREFIX}{readable}_{digest}"
