"""Savers that behave otherwise in another environment, as a bump would make them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite import SqliteSaver

from pytest_lineage import Store

OTHER = "suites" in os.environ.get("PYTHONPATH", "")
"""Whether this is the bumped environment: only there is the suite on the import path by a folder of its own."""


class Forgets(SqliteSaver):
    """When bumped: reads no pending writes that another process stored."""

    mine: ClassVar[set[str]] = set()

    def get_tuple(self, config: Any) -> Any:
        found = super().get_tuple(config)
        if not OTHER or found is None:
            return found
        kept = [write for write in found.pending_writes or () if write[0] in self.mine]
        return found._replace(pending_writes=kept)

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        self.mine.add(task_id)
        super().put_writes(config, writes, task_id, task_path)


class Filters(InMemorySaver):
    """When bumped: a filter with a None matches nothing. No law says that it must match."""

    def list(self, config: Any, *, filter: Any = None, **options: Any) -> Iterator[Any]:
        if OTHER and filter and None in filter.values():
            return iter(())
        return super().list(config, filter=filter, **options)


class Breaks(InMemorySaver):
    """When bumped: the latest checkpoint is the first one."""

    def get_tuple(self, config: Any) -> Any:
        found = super().get_tuple(config)
        if OTHER and found and not config["configurable"].get("checkpoint_id"):
            while found.parent_config:
                found = super().get_tuple(found.parent_config)
        return found


class Refuses(InMemorySaver):
    """When bumped: cannot be made."""

    def __init__(self) -> None:
        if OTHER:
            raise RuntimeError("a dependency is gone")
        super().__init__()


@contextmanager
def forgets(store: Store) -> Iterator[Any]:
    with Forgets.from_conn_string(str(store.path / "checkpoints.sqlite")) as saver:
        yield saver
