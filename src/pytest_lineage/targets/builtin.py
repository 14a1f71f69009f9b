"""The built-in targets: LangGraph's own savers and the strict reference.

Factories import what they need when they are called. None calls `setup()` where the saver does so by
itself on first use: a `setup` that fails must show as a broken law.
"""

from __future__ import annotations

import importlib
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from lineage_conformance import kinds
from pytest_lineage.targets import DEFAULT_OVER, Store, Target, TargetError


def _need(module: str, extra: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise TargetError(
            f"{module} is not installed ({error}); install pytest-lineage[{extra}]"
        ) from error


def memory() -> Any:
    """LangGraph's in-memory saver."""
    module = importlib.import_module("langgraph.checkpoint.memory")
    return getattr(module, "InMemorySaver", None) or module.MemorySaver


def _memory() -> Any:
    return memory()()


@contextmanager
def _sqlite(store: Store) -> Iterator[Any]:
    module = _need("langgraph.checkpoint.sqlite", "sqlite")
    with module.SqliteSaver.from_conn_string(str(store.path / "checkpoints.sqlite")) as saver:
        yield saver


@asynccontextmanager
async def _sqlite_async(store: Store) -> AsyncIterator[Any]:
    module = _need("langgraph.checkpoint.sqlite.aio", "sqlite")
    path = str(store.path / "checkpoints.sqlite")
    async with module.AsyncSqliteSaver.from_conn_string(path) as saver:
        yield saver


@contextmanager
def _postgres(store: Store) -> Iterator[Any]:
    module = _need("langgraph.checkpoint.postgres", "postgres")
    with module.PostgresSaver.from_conn_string(store.dsn) as saver:
        saver.setup()
        yield saver


@contextmanager
def _postgres_pipeline(store: Store) -> Iterator[Any]:
    module = _need("langgraph.checkpoint.postgres", "postgres")
    with module.PostgresSaver.from_conn_string(store.dsn) as saver:
        saver.setup()  # its migrations cannot run inside a pipeline
    with module.PostgresSaver.from_conn_string(store.dsn, pipeline=True) as saver:
        yield saver


@contextmanager
def _postgres_pool(store: Store) -> Iterator[Any]:
    module = _need("langgraph.checkpoint.postgres", "postgres")
    pool = _need("psycopg_pool", "postgres")
    with pool.ConnectionPool(store.dsn, min_size=1, max_size=4, kwargs=_connection()) as open_pool:
        saver = module.PostgresSaver(open_pool)
        saver.setup()
        yield saver


@asynccontextmanager
async def _postgres_async(store: Store) -> AsyncIterator[Any]:
    module = _need("langgraph.checkpoint.postgres.aio", "postgres")
    async with module.AsyncPostgresSaver.from_conn_string(store.dsn) as saver:
        await saver.setup()
        yield saver


@asynccontextmanager
async def _postgres_async_pipeline(store: Store) -> AsyncIterator[Any]:
    module = _need("langgraph.checkpoint.postgres.aio", "postgres")
    async with module.AsyncPostgresSaver.from_conn_string(store.dsn) as saver:
        await saver.setup()  # its migrations cannot run inside a pipeline
    async with module.AsyncPostgresSaver.from_conn_string(store.dsn, pipeline=True) as saver:
        yield saver


@asynccontextmanager
async def _postgres_async_pool(store: Store) -> AsyncIterator[Any]:
    module = _need("langgraph.checkpoint.postgres.aio", "postgres")
    pool = _need("psycopg_pool", "postgres")
    async with pool.AsyncConnectionPool(
        store.dsn, min_size=1, max_size=4, open=False, kwargs=_connection()
    ) as open_pool:
        saver = module.AsyncPostgresSaver(open_pool)
        await saver.setup()
        yield saver


def _connection() -> dict[str, Any]:
    rows = _need("psycopg.rows", "postgres")
    return {"autocommit": True, "prepare_threshold": 0, "row_factory": rows.dict_row}


def _reference(store: Store) -> Any:
    saver = importlib.import_module("lineage_reference.saver")
    return saver.StrictSaver(saver.Space.named(store.id))


_FACTORIES: dict[str, tuple[Callable[..., Any], bool]] = {
    "memory": (_memory, False),
    "sqlite": (_sqlite, False),
    "sqlite-async": (_sqlite_async, False),
    "postgres": (_postgres, True),
    "postgres-pool": (_postgres_pool, True),
    "postgres-pipeline": (_postgres_pipeline, True),
    "postgres-async": (_postgres_async, True),
    "postgres-async-pool": (_postgres_async_pool, True),
    "postgres-async-pipeline": (_postgres_async_pipeline, True),
    "reference": (_reference, False),
}

NAMES = tuple(_FACTORIES)


def references() -> list[str]:
    """The kinds of which `reference` can be built over any saver."""
    return [kind.name for kind in kinds.KINDS.values() if kind.reference]


def make(name: str, kind: str, over: str = "") -> Target:
    """The built-in target called `name`; `reference` is one of every kind, built over a saver."""
    factory, postgres = _FACTORIES[name]
    record = kinds.get(kind)
    if record.is_saver:
        if over:
            raise TargetError(
                f"--over goes with a kind that is built on a saver, not with kind {kind}"
            )
        return Target(factory, name, kind, postgres=postgres)
    if name != "reference" or not record.reference:
        raise TargetError(f"{name} is a target of kind {kinds.USUAL}, not {kind}; see --over")
    from pytest_lineage.targets.doors import resolve

    base = resolve(over or DEFAULT_OVER)
    module, _, attribute = record.reference.partition(":")

    def backend(saver: Any, store: Store) -> Any:
        return getattr(_need(module, "all"), attribute)(saver, store)

    return Target(backend, f"reference over {base.name}", kind, postgres=base.postgres, over=base)


def referee(kind: str) -> Callable[[], Any] | None:
    """Makes a fresh strict reference of a kind, for laws that compare; None where there is none."""
    if not kinds.get(kind).is_saver:
        return None

    def make() -> Any:
        saver = importlib.import_module("lineage_reference.saver")
        return saver.StrictSaver(saver.Space())

    return make
