"""Operations that read: one tuple, a list of them, the history of delta channels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from lineage_conformance import compare, observe, zoo
from lineage_conformance.handles import Handle
from lineage_conformance.kinds.saver.operations.base import Op, Script
from lineage_conformance.kinds.saver.session import Session
from lineage_conformance.raised import guarded

_ENGINE_FILTERS = frozenset({"source", "step"})
"""Metadata keys that LangGraph itself defines for every checkpoint."""


@dataclass(frozen=True)
class Get(Op):
    """Read one tuple: checkpoint `id`, or the latest when None."""

    name: ClassVar[str] = "get"
    id: int | None = None
    thread: str = "t"
    ns: str | None = ""
    """None leaves the namespace out of the config."""
    via: str = "built"
    scribble: bool = False
    """Change the returned objects afterwards; the store must not notice."""
    whole: bool = False
    """Also tell a value that was not None when it was stored and is None now, whoever lost it."""
    handle: int = 0
    lenient: bool = False

    def run(self, on: Session) -> None:
        """Read it, and compare with what the model shows."""
        handle, config = on.handle(self.handle), on.config(self, self.id)
        result = guarded(lambda: handle.call(on.reader, "get_tuple", config))
        expected = self.expected(on)
        got = observe.tuple_(result)
        if expected is not None:
            on.forgive(expected, got)
        on.report(self, compare.tuples(expected, got), "found", *compare.fields(expected))
        if self.whole and isinstance(got, dict) and self.id is not None:
            place = (self.thread, self.ns or "", self.id)
            values, _ = on.state.get(place, ({}, {}))
            on.report(self, compare.lost(values, on.written.get(place, []), got), "lost")
        if self.scribble and result is not None:
            observe.scribble(list(result))

    def expected(self, on: Session) -> dict[str, Any] | None:
        """What the model shows, as a tree."""
        return on.model.get(on.thread(self.thread), self.ns, on.id_or_none(self.id))

    def source(self, script: Script) -> str:
        """The call."""
        config = script.config(self, self.id)
        return script.call(script.reader, self.handle, "get_tuple", [config])


@dataclass(frozen=True)
class List(Op):
    """List tuples. `thread` None lists every thread; `ns` None leaves the namespace out."""

    name: ClassVar[str] = "list"
    thread: str | None = "t"
    ns: str | None = ""
    id: int | None = None
    filter: Mapping[str, Any] | None = None
    before: int | None = None
    limit: int | None = None
    handle: int = 0
    inner: tuple[Op, ...] = ()
    """Operations to run after the first row, while the iterator is open."""
    lenient: bool = False

    def odd_filter(self) -> bool:
        """Whether it filters on other keys than LangGraph's own, or on values that are no scalars."""
        if not self.filter:
            return False
        scalar = all(isinstance(value, (str, int)) for value in self.filter.values())
        return not scalar or not _ENGINE_FILTERS.issuperset(self.filter)

    def run(self, on: Session) -> None:
        """List them, and compare rows and order with what the model shows."""
        handle, config = on.handle(self.handle), self._config(on)
        options = self._options(on)
        if self.inner:
            self._with_inner(on, handle, config, options)
            return  # which later rows an open iterator shows is its own affair
        rows = guarded(lambda: handle.all_rows(on.reader, config, **options))
        expected = self.expected(on)
        got = [observe.tuple_(row) for row in rows]
        if self.thread is None:
            got = [row for row in got if observe.thread_of(row).startswith(on.nonce)]
        shown = observe.by_key(got)
        for row in expected:
            on.forgive(row, shown.get(observe.key_of(row)))
        inside = {f"row.{field}" for row in expected for field in compare.fields(row)}
        on.report(self, compare.lists(expected, got), "rows", "order", *inside)

    def expected(self, on: Session) -> list[dict[str, Any]]:
        """The rows that the model shows, as trees."""
        return on.model.list(
            None if self.thread is None else on.thread(self.thread),
            self.ns,
            on.id_or_none(self.id),
            None if self.filter is None else zoo.build(dict(self.filter)),
            on.id_or_none(self.before),
            self.limit,
        )

    def _config(self, on: Session) -> dict[str, Any] | None:
        return None if self.thread is None else on.config(self, self.id)

    def _options(self, on: Session) -> dict[str, Any]:
        options: dict[str, Any] = {}
        if self.filter is not None:
            options["filter"] = zoo.build(dict(self.filter))
        if self.before is not None:
            conf = {"checkpoint_id": on.id(self.before)}
            if self.thread is not None:
                conf |= {"thread_id": on.thread(self.thread), "checkpoint_ns": self.ns or ""}
            options["before"] = {"configurable": conf}
        if self.limit is not None:
            options["limit"] = self.limit
        return options

    def _with_inner(
        self, on: Session, handle: Handle, config: dict[str, Any] | None, options: dict[str, Any]
    ) -> None:
        rows: Iterator[Any] = handle.rows(on.reader, config, **options)
        got = [observe.tuple_(row) for row in guarded(lambda: [*_first(rows)])]
        for inner in self.inner:
            on.play(inner)
        got += [observe.tuple_(row) for row in guarded(lambda: list(rows))]

    def source(self, script: Script) -> str:
        """The rows, as a list."""
        saver, inside = script.name(self.handle), ", ".join(self.arguments(script))
        if script.reader == "async":
            return f"[row async for row in {saver}.alist({inside})]"
        if script.is_async:
            script.need("asyncio")
            return f"await asyncio.to_thread(lambda: list({saver}.list({inside})))"
        return f"list({saver}.list({inside}))"

    def iterate(self, script: Script) -> None:
        """Take the first row and keep the iterator open."""
        saver, inside = script.name(self.handle), ", ".join(self.arguments(script))
        if script.reader == "async":
            script.say(f"rows = {saver}.alist({inside})")
            step = "await anext(rows, None)"
        else:
            script.say(f"rows = iter({saver}.list({inside}))")
            asks = "await asyncio.to_thread(next, rows, None)"
            step = asks if script.is_async else "next(rows, None)"
        if script.is_async:
            script.need("asyncio")
        script.say(f"{step}  # the iterator stays open")

    def arguments(self, script: Script) -> list[str]:
        """The arguments of the call, as source."""
        parts = ["None" if self.thread is None else script.config(self, self.id)]
        if self.filter is not None:
            parts.append(f"filter={script.value(self.filter)}")
        if self.before is not None:
            script.helpers |= {"at", "cid"}
            if self.thread is None:
                parts.append(f'before={{"configurable": {{"checkpoint_id": cid({self.before})}}}}')
            else:
                ns = f", {script.literal(self.ns)}" if self.ns else ""
                parts.append(f"before=at({script.thread(self.thread)}, {self.before}{ns})")
        return [*parts, f"limit={self.limit}"] if self.limit is not None else parts


def _first(rows: Iterator[Any]) -> Iterator[Any]:
    """The first row, if there is one."""
    for row in rows:
        yield row
        return


@dataclass(frozen=True)
class DeltaHistory(Op):
    """Read the delta history of channels at checkpoint `id` (None: the latest)."""

    name: ClassVar[str] = "delta_history"
    id: int | None = None
    channels: tuple[str, ...] = ("d",)
    thread: str = "t"
    ns: str = ""
    handle: int = 0
    lenient: bool = False

    def run(self, on: Session) -> None:
        """Read it, and compare with what the model shows."""
        handle, config = on.handle(self.handle), on.config(self, self.id)
        result = guarded(
            lambda: handle.call(
                on.reader, "get_delta_channel_history", config=config, channels=list(self.channels)
            )
        )
        on.compare(self, self.expected(on), observe.history(result), ("history",))

    def expected(self, on: Session) -> dict[str, Any]:
        """What the model shows, as a tree."""
        thread, id = on.thread(self.thread), on.id_or_none(self.id)
        return on.model.delta(thread, self.ns, id, self.channels)

    def source(self, script: Script) -> str:
        """The call."""
        arguments = [
            f"config={script.config(self, self.id)}",
            f"channels={list(self.channels)!r}",
        ]
        return script.call(script.reader, self.handle, "get_delta_channel_history", arguments)
