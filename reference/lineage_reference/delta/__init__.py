"""Incremental blobs beside full checkpoints, or instead of their lists.

`wrapper.DeltaSaver` turns any saver into one that does this over a store: `stores_sqlite.SqliteStore`,
`stores_postgres.PostgresStore`, or `stores_http.HttpStore` with `service.application` at the other end.
`verification.verify` proves a thread on live data. `backend.make` is the reference of target kind ``delta``.
"""

from __future__ import annotations

from typing import Any

_WHERE = {
    "DeltaSaver": "wrapper",
    "SqliteStore": "stores_sqlite",
    "PostgresStore": "stores_postgres",
    "HttpStore": "stores_http",
    "application": "service",
    "verify": "verification",
    "averify": "verification",
    "make": "backend",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for only then: a gateway needs no psycopg, a server no httpx."""
    import importlib

    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(f"{__name__}.{_WHERE[name]}"), name)
    globals()[name] = found
    return found


__all__ = [
    "DeltaSaver", "HttpStore", "PostgresStore", "SqliteStore", "application", "averify", "make", "verify",
]  # fmt: skip
