"""The container door: a Postgres container by way of testcontainers."""

from __future__ import annotations

import atexit
import importlib
import os
import secrets
import socket
import sys
import time
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from pytest_lineage.postgres.dsn import DsnError, as_url, connect, one_line, server_version
from pytest_lineage.postgres.programs import DoorShut, tidy

ENGINE_SECONDS = 3
"""How long a Docker engine may take to answer before it counts as absent."""

READY_SECONDS = 30
"""How long a started container may take until it is reachable from here."""

_LOCAL_ENGINE = "" if sys.platform == "win32" else "unix:///var/run/docker.sock"
_PORT = 5432
_USER = "lineage"
# Durability is of no use to a throw-away server; quoting follows the shell.
_COMMAND = (
    "postgres -c fsync=off -c synchronous_commit=off -c full_page_writes=off "
    "-c autovacuum=off -c max_connections=200 -c timezone=UTC"
)


class Container:
    """A running container; ``dsn`` leads to it, ``close`` removes it."""

    def __init__(self, container: Any, dsn: str) -> None:
        self.dsn = dsn
        self._container: Any = container
        self._owner = os.getpid()
        atexit.register(self.close)

    def close(self) -> None:
        """Remove the container and its volume. Idempotent; does nothing in a forked child."""
        if os.getpid() != self._owner:
            return
        atexit.unregister(self.close)
        container, self._container = self._container, None
        if container is not None:
            container.stop()


def open_container(image: str) -> tuple[Container, str]:
    """Start a container of ``image``: it, and its server's version. ``DoorShut`` if it fails."""
    factory = _testcontainers()
    _ask_engine()
    password = secrets.token_urlsafe(24)
    try:
        raw = factory(image, port=_PORT, username=_USER, password=password, dbname=_USER)
        raw.with_env("POSTGRES_INITDB_ARGS", "--no-sync --encoding=UTF8 --locale=C")
        raw.with_command(_COMMAND)
    except Exception as error:  # the libraries document no common base class
        raise DoorShut(f"no container of {image}: {_brief(error, password)}") from error
    try:
        raw.start()
        where = {"host": raw.get_container_host_ip(), "port": raw.get_exposed_port(_PORT)}
        dsn = as_url({**where, "user": _USER, "password": password, "dbname": _USER})
        return Container(raw, dsn), _wait(dsn)
    except BaseException as error:
        with suppress(Exception):  # it may not have come into being
            raw.stop()
        if isinstance(error, Exception):
            raise DoorShut(f"no container of {image}: {_brief(error, password)}") from error
        raise


def _testcontainers() -> Any:
    """The class ``PostgresContainer``; ``DoorShut`` when testcontainers is missing."""
    for name in ("testcontainers.community.postgres", "testcontainers.postgres"):  # new, then old
        try:
            return importlib.import_module(name).PostgresContainer
        except ModuleNotFoundError:
            continue
        except ImportError as error:
            raise DoorShut(f"testcontainers cannot be imported: {one_line(str(error))}") from error
    raise DoorShut("testcontainers is not installed")


def _ask_engine() -> None:
    """Raise ``DoorShut`` unless a Docker engine answers within ``ENGINE_SECONDS``."""
    client: Any = None
    try:
        module = importlib.import_module("testcontainers.core.docker_client")
        _knock(module.get_docker_host() or _LOCAL_ENGINE)
        client = module.DockerClient(timeout=ENGINE_SECONDS).client
        client.ping()
    except DoorShut:
        raise
    except Exception as error:  # docker, requests and urllib3 each raise their own
        raise DoorShut(f"no Docker engine answers: {_brief(error)}") from error
    finally:
        if client is not None:
            client.close()


def _knock(host: str) -> None:
    """Connect to the engine's address and hang up; ``DoorShut`` when nothing listens there.

    The Docker library would find out as well, but slower, and would leave its socket unclosed.
    """
    parts = urlsplit(host)
    try:
        if parts.scheme == "unix" and sys.platform != "win32":
            with socket.socket(socket.AF_UNIX) as unix:
                unix.settimeout(ENGINE_SECONDS)
                unix.connect(parts.path)
        elif parts.scheme in ("tcp", "http", "https") and parts.hostname:
            address = (parts.hostname, parts.port or 2375)
            socket.create_connection(address, timeout=ENGINE_SECONDS).close()
    except OSError as error:
        what = error.strerror or str(error)
        raise DoorShut(f"no Docker engine answers at {tidy(host)}: {what}") from error


def _wait(dsn: str) -> str:
    """The version of the server, once the forwarded port leads to it."""
    deadline = time.monotonic() + READY_SECONDS
    while True:
        try:
            with connect(dsn) as connection:
                return server_version(connection)
        except DsnError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def _brief(error: Exception, password: str = "") -> str:
    text = str(error)
    if password:
        text = text.replace(password, "***")
    return one_line(tidy(text)) or type(error).__name__
