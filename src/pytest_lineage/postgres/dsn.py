"""Connecting to a DSN, rewriting one, and keeping its password out of every message."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

if TYPE_CHECKING:
    import psycopg

CONNECT_SECONDS = 5
"""How long one attempt to connect may take, unless the DSN carries its own ``connect_timeout``."""

_URL = re.compile(r"^postgres(?:ql)?://", re.IGNORECASE)
_SECRET_KEYS = ("password", "sslpassword")
_IN_URL = re.compile(r"(://[^:/@\s]*:)[^\s/]*@")
_IN_TEXT = re.compile(r"(password\s*=\s*)('(?:[^'\\]|\\.)*'|[^\s&]+)", re.IGNORECASE)


class PostgresUnavailable(RuntimeError):
    """No Postgres server could be had; the message says what was tried and what to install.

    ``reasons`` maps the name of each door to why it stayed shut (empty when no door was reached).
    """

    def __init__(self, message: str, reasons: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.reasons: dict[str, str] = dict(reasons or {})


class DsnError(Exception):
    """A DSN that cannot be read or does not lead to a server; the message holds no password."""


def require_psycopg() -> None:
    """Raise ``PostgresUnavailable`` with the way out when psycopg cannot be imported."""
    try:
        import psycopg  # noqa: F401
    except ImportError as error:
        # psycopg also raises ImportError when it is installed but finds no libpq: keep its words.
        detail = one_line(str(error))
        raise PostgresUnavailable(
            "psycopg cannot be imported, and every Postgres store needs it: "
            f'pip install "pytest-lineage[postgres]" ({detail})'
        ) from error


def one_line(text: str, limit: int = 300) -> str:
    """``text`` on one line, cut to at most ``limit`` characters."""
    joined = " ".join(text.split())
    return joined if len(joined) <= limit else joined[: limit - 1] + "…"


def redact(text: str, dsn: str = "") -> str:
    """``text`` without the passwords of ``dsn`` and ``PGPASSWORD``, or what is shaped like one."""
    secrets = {os.environ.get("PGPASSWORD", "")}
    with suppress(DsnError, PostgresUnavailable):  # unreadable: the patterns below still apply
        secrets.update(str(parse(dsn).get(key, "")) for key in _SECRET_KEYS)
    for secret in sorted(secrets - {""}, key=len, reverse=True):
        for shape in (secret, quote(secret, safe="")):
            text = text.replace(shape, "***")
    return _IN_TEXT.sub(r"\1***", _IN_URL.sub(r"\1***@", text))


def parse(dsn: str) -> dict[str, Any]:
    """The parameters in ``dsn`` (a URL or ``key=value`` text); ``DsnError`` if unreadable."""
    require_psycopg()
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict

    try:
        return dict(conninfo_to_dict(dsn))
    except ProgrammingError:
        # libpq quotes the part that it could not read, and that part is often a piece of password.
        raise DsnError(
            "it is not a DSN that libpq can read (expected postgresql://user:password@host:port/db "
            "with special characters percent-encoded, or key=value pairs)"
        ) from None


def rewrite(dsn: str, **changes: str) -> str:
    """``dsn`` with some parameters replaced, as a URL or ``key=value`` text as it came."""
    params = {**parse(dsn), **changes}
    if _URL.match(dsn):
        return as_url(params)
    from psycopg.conninfo import make_conninfo

    return make_conninfo(**params)


def as_url(params: Mapping[str, Any]) -> str:
    """A ``postgresql://`` URL for these parameters; what fits nowhere else is its query."""
    rest = {key: str(value) for key, value in params.items() if value is not None}
    authority = ""
    host = rest.get("host", "")
    if host and not re.search(r"[/,]", host):  # sockets and lists of hosts go to the query
        del rest["host"]
        authority = f"[{host}]" if ":" in host else quote(host, safe="")
        if "port" in rest:
            authority += ":" + rest.pop("port")
        if "user" in rest:
            login = quote(rest.pop("user"), safe="")
            if "password" in rest:
                login += ":" + quote(rest.pop("password"), safe="")
            authority = f"{login}@{authority}"
    name = quote(rest.pop("dbname", ""), safe="")
    query = "&".join(f"{key}={quote(value, safe='')}" for key, value in rest.items())
    return f"postgresql://{authority}/{name}" + (f"?{query}" if query else "")


def connect(dsn: str) -> psycopg.Connection[Any]:
    """An autocommit connection to ``dsn``; ``DsnError`` (password removed) when there is none."""
    require_psycopg()
    import psycopg

    params = parse(dsn)
    host = str(params.get("host", ""))
    if "@" in host:
        # The host then starts with the tail of the password, and libpq would print it.
        raise DsnError("its host contains '@': write an '@' inside the password as %40")
    params.setdefault("connect_timeout", CONNECT_SECONDS)
    try:
        return psycopg.connect(**params, autocommit=True)
    except psycopg.Error as error:
        text = redact(one_line(str(error)), dsn)
    raise DsnError(text)


def server_version(connection: psycopg.Connection[Any]) -> str:
    """The version that the server reports, such as ``"15.9"``, without a packager's suffix."""
    row = connection.execute("SHOW server_version").fetchone()
    return str(row[0]).split()[0] if row else "unknown"
