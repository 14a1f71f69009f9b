"""Runs in the worker: opens a target without probing it, and reads one thread in one pass of `list`.

It calls nothing of a saver but `list` or `alist`, and of its serializer `dumps_typed` (to measure). Values
are looked at row by row and let go, so a long thread needs the memory of its summary.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from lineage_conformance import contract
from lineage_conformance.handles import Half, Handle, Loop
from pytest_lineage.run.heartbeat import Heartbeat
from pytest_lineage.run.opening import Opener
from pytest_lineage.show.preview import LONG, SHORT, key, preview
from pytest_lineage.show.sources import SqliteFile, source
from pytest_lineage.targets import TargetError
from pytest_lineage.targets.doors import _brief

TASKS = "__pregel_tasks"
INTERRUPT = "__interrupt__"

MOST_SENDS = 5000
MOST_NAMED = 8
"""Threads or namespaces that a message names."""

LOOKED_AT = 300
"""Rows that are read to name them: a saver may fetch all that it is asked for before the first."""


class Reader:
    """One target, opened to be read."""

    def __init__(self, start: dict[str, Any], wire: Any, beat: Heartbeat) -> None:
        given = list(start.get("path", []))
        sys.path[:] = [*given, *(entry for entry in sys.path if entry not in given)]
        self._beat = beat
        self._target = source(start["target"])
        self._loop = Loop()
        self._opener = Opener(self._target, self._loop, folder=start["folder"])
        try:
            self._handle: Handle = self._opener.open(1)
        except BaseException:
            self._opener.close()
            raise
        self._serde = getattr(self._handle.saver, "serde", None)

    def describe(self) -> dict[str, Any]:
        """What was opened."""
        kind = type(self._handle.saver)
        return {
            "name": self._target.name,
            "class": f"{kind.__module__}.{kind.__qualname__}",
            "store": self._opener.takes_store,
        }

    def read(
        self, thread: str, namespace: str | None, limit: int | None, values: bool
    ) -> dict[str, Any]:
        """The rows of a thread, newest first as the saver lists them; or what else there is.

        ``rows`` (see `_row`), ``stopped`` (why the saver gave no more, else empty), ``foreign`` (rows of
        another thread or namespace than was asked for); without rows ``threads`` and ``namespaces``, the first few
        that can be found (None: the saver cannot say).
        """
        config: dict[str, Any] = {"thread_id": thread}
        if namespace is not None:
            config["checkpoint_ns"] = namespace
        summary = _Summary(self._serde, thread, namespace, values)

        def take(row: Any) -> None:
            summary.take(row)
            self._beat.op(len(summary.rows))

        stopped = self._each({"configurable": config}, limit, take)
        factory = self._target.factory
        if isinstance(factory, SqliteFile) and factory.written():
            raise TargetError(f"{self._target.name}: was written while it was read; run it again")
        if stopped and not summary.rows:
            raise TargetError(f"{self._target.name}: list() raised {stopped}")
        answer: dict[str, Any] = {
            "rows": summary.rows, "stopped": stopped, "foreign": summary.foreign,
        }  # fmt: skip
        if not summary.rows:
            spaces = self._names({"configurable": {"thread_id": thread}}, "checkpoint_ns")
            answer["namespaces"] = spaces if namespace is not None else None
            answer["threads"] = None if spaces else self._names(None, "thread_id")
        return answer

    def close(self) -> None:
        """Close the saver."""
        self._handle.close()
        self._opener.close()

    def _each(self, config: Any, limit: int | None, take: Callable[[Any], None]) -> str:
        """Hand every row to `take`; why the saver gave no more before its end, else nothing."""
        options = {} if limit is None else {"limit": limit}
        count = 0

        def counted(row: Any) -> bool:
            nonlocal count
            count += 1
            take(row)
            return limit is not None and count >= limit

        for half in self._halves():
            try:
                if half == "sync":
                    for row in self._handle.saver.list(config, **options):
                        if counted(row):
                            break
                else:
                    self._loop.run(self._collect(config, options, counted))
            except NotImplementedError as error:
                if count or half == "async":
                    return _brief(error)
                continue  # the other half may be there
            except Exception as error:
                return _brief(error)
            return ""
        return "NotImplementedError: neither list nor alist is implemented"

    async def _collect(self, config: Any, options: Any, counted: Callable[[Any], bool]) -> None:
        async for row in self._handle.saver.alist(config, **options):
            if counted(row):
                return

    def _halves(self) -> list[Half]:
        saver = self._handle.saver
        names: tuple[tuple[Half, str], ...] = (("sync", "list"), ("async", "alist"))
        return [half for half, name in names if contract.overrides(saver, name)]

    def _names(self, config: Any, field: str) -> list[str] | None:
        """The first few threads or namespaces, newest first; None where the saver cannot list them."""
        found: dict[str, None] = {}

        def take(row: Any) -> None:
            value = row.config["configurable"].get(field)
            text = "" if value is None else value if isinstance(value, str) else repr(value)
            found.setdefault(key(text))

        stopped = self._each(config, LOOKED_AT, take)
        if stopped and not found:
            return None
        more = ["…"] if len(found) > MOST_NAMED else []
        return [*list(found)[:MOST_NAMED], *more]


class _Summary:
    """Rows as plain data, in the order in which they came."""

    def __init__(self, serde: Any, thread: str, namespace: str | None, values: bool) -> None:
        self.rows: list[dict[str, Any]] = []
        self.foreign = 0
        self._serde, self._size = serde, LONG if values else SHORT
        self._thread, self._namespace, self._values = thread, namespace, values
        self._versions: dict[tuple[type, str], int] = {}

    def take(self, row: Any) -> None:
        conf = _conf(row.config)
        ns = conf.get("checkpoint_ns") or ""
        if str(conf.get("thread_id")) != self._thread or self._namespace not in (None, ns):
            self.foreign += 1
            return
        self.rows.append(self._row(row, conf, ns))

    def _row(self, row: Any, conf: Mapping[str, Any], ns: str) -> dict[str, Any]:
        """One checkpoint: ids and names, versions as small numbers that are equal where versions are."""
        checkpoint = _mapping(row.checkpoint)
        metadata = _mapping(row.metadata)
        parent = _conf(row.parent_config)
        values = _mapping(checkpoint.get("channel_values"))
        versions = _mapping(checkpoint.get("channel_versions"))
        rest = {name: value for name, value in checkpoint.items() if name != "channel_values"}
        sizes = {key(name): self._bytes(value) for name, value in values.items()}
        step = metadata.get("step")
        made: dict[str, Any] = {
            "id": key(conf.get("checkpoint_id", checkpoint.get("id"))),
            "own_id": key(checkpoint.get("id")),
            "ns": key(ns),
            "parent": key(parent["checkpoint_id"]) if parent.get("checkpoint_id") else None,
            "step": step if isinstance(step, int) else None,
            "source": key(metadata.get("source") or "?"),
            "ts": key(checkpoint.get("ts") or ""),
            "v": checkpoint.get("v") if isinstance(checkpoint.get("v"), int) else 1,
            "parents": {
                key(name): key(id) for name, id in _mapping(metadata.get("parents")).items()
            },
            "versions": {key(name): self._version(v) for name, v in versions.items()},
            "seen": {
                key(node): {key(name): self._version(v) for name, v in _mapping(seen).items()}
                for node, seen in _mapping(checkpoint.get("versions_seen")).items()
                if node != INTERRUPT
            },
            "sizes": sizes,
            "delta": [key(c) for c in _mapping(metadata.get("counters_since_delta_snapshot"))],
            "rest": self._bytes(rest),
            "metadata_size": self._bytes(dict(metadata)),
            "sends": _sends(values.get(TASKS) or checkpoint.get("pending_sends") or ()),
            "writes": self._writes(row.pending_writes),
        }
        if self._values:
            made["values"] = {key(name): preview(v, self._size) for name, v in values.items()}
            made["metadata"] = preview(dict(metadata), self._size)
        return made

    def _writes(self, pending: Iterable[Any] | None) -> list[dict[str, Any]] | None:
        if pending is None:
            return None
        made = []
        for task, channel, value in pending:
            write: dict[str, Any] = {
                "task": key(task), "channel": key(channel), "size": self._bytes(value),
            }  # fmt: skip
            if channel == INTERRUPT:
                items = value if isinstance(value, (list, tuple)) else [value]
                write["interrupts"] = [self._interrupt(item) for item in items]
            else:
                write["preview"] = preview(value, self._size)
            made.append(write)
        return made

    def _interrupt(self, item: Any) -> dict[str, str]:
        id = getattr(item, "id", None) or getattr(item, "interrupt_id", None)
        return {
            "id": key(id) if id else "",
            "preview": preview(getattr(item, "value", item), self._size),
        }

    def _version(self, value: Any) -> int:
        return self._versions.setdefault((type(value), repr(value)), len(self._versions))

    def _bytes(self, value: Any) -> int | None:
        """Bytes of a value by the saver's own serializer; None where it has none or refuses."""
        try:
            return len(self._serde.dumps_typed(value)[1])
        except Exception:
            return None


def _conf(config: Any) -> Mapping[str, Any]:
    return _mapping(_mapping(config).get("configurable"))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _sends(packets: Any) -> list[str]:
    if not isinstance(packets, (list, tuple)):
        return []
    return [key(getattr(packet, "node", "?")) for packet in packets[:MOST_SENDS]]
