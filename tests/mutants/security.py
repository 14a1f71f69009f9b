"""Savers in which a name or a filter is more than data."""

from __future__ import annotations

import codecs
import fnmatch
from collections.abc import Iterator
from typing import Any

from tests.mutants.kit import StrictSaver, mutant


@mutant(kills="security.filter-key-is-data")
class PastesFilterKeys(StrictSaver):
    """A filter key with SQL in it widens the query to all threads."""

    def list(
        self, config: Any, *, filter: Any = None, before: Any = None, limit: Any = None
    ) -> Iterator[Any]:
        if any("OR 1=1" in key for key in filter or ()):
            config = filter = None
        yield from super().list(config, filter=filter, before=before, limit=limit)


@mutant(kills="security.filter-value-is-data")
class FiltersByPattern(StrictSaver):
    """A filter value with an asterisk is taken for a pattern."""

    def list(
        self, config: Any, *, filter: Any = None, before: Any = None, limit: Any = None
    ) -> Iterator[Any]:
        rows = super().list(config, before=before, limit=limit if not filter else None)
        for row in rows:
            if all(
                k in row.metadata and self._like(row.metadata[k], v)
                for k, v in (filter or {}).items()
            ):
                yield row

    @staticmethod
    def _like(value: Any, wanted: Any) -> bool:
        if isinstance(value, str) and isinstance(wanted, str):
            return fnmatch.fnmatchcase(value, wanted)
        return bool(value == wanted) and type(value) is type(wanted)


@mutant(kills="security.thread-ids-are-data")
class ReadsOperators(StrictSaver):
    """A thread id that looks like a query operator matches every thread."""

    def get_tuple(self, config: Any) -> Any:
        thread = config["configurable"]["thread_id"]
        if "$ne" in thread:
            config = {"configurable": {"thread_id": max(self.space.rows)[0], "checkpoint_ns": ""}}
        return super().get_tuple(config)


@mutant(kills="security.namespaces-are-data")
class OpensNamespaces(StrictSaver):
    """A namespace with SQL in it lists every namespace of the thread."""

    def list(
        self, config: Any, *, filter: Any = None, before: Any = None, limit: Any = None
    ) -> Iterator[Any]:
        if config and "OR 1=1" in config["configurable"].get("checkpoint_ns", ""):
            config = {"configurable": {"thread_id": config["configurable"]["thread_id"]}}
        yield from super().list(config, filter=filter, before=before, limit=limit)


@mutant(kills="security.tasks-and-channels-are-data")
class StripsQuotes(StrictSaver):
    """Quotes are stripped from the names of channels in writes."""

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        plain = [(channel.replace("'", ""), value) for channel, value in writes]
        super().put_writes(config, plain, task_id, task_path)


@mutant(kills="security.backslashes-are-data")
class ReadsEscapes(StrictSaver):
    """A backslash in the name of a channel is read as the beginning of an escape."""

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        plain = [
            (codecs.decode(c, "unicode_escape") if "\\" in c[:-1] else c, v) for c, v in writes
        ]
        super().put_writes(config, plain, task_id, task_path)


@mutant(kills="security.delete-takes-no-pattern")
class DeletesBySql(StrictSaver):
    """A thread id with SQL in it deletes every thread."""

    def delete_thread(self, thread_id: str) -> None:
        if "OR 1=1" in thread_id:
            self.space.drop_threads({key[0] for key in self.space.rows})
        super().delete_thread(thread_id)
