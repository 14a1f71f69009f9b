"""A disposable Postgres server, and fresh empty stores on it.

``open_server`` finds a server through the first of four doors that opens (a DSN, a container,
system binaries, a wheel) and says which one it took. ``StoreMaker`` needs only that server's DSN,
so any process can use it to make and drop stores.

Importing this package needs none of psycopg, testcontainers or Docker: each is looked for when
used.
"""

from pytest_lineage.postgres.doors import DOORS, Server, open_server
from pytest_lineage.postgres.dsn import PostgresUnavailable
from pytest_lineage.postgres.stores import StoreError, StoreMaker

__all__ = ["DOORS", "PostgresUnavailable", "Server", "StoreError", "StoreMaker", "open_server"]
