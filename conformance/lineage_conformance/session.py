"""Sessions: run a program on one face of one target, next to the model, and say where they differ."""

from __future__ import annotations

import asyncio
import itertools
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lineage_conformance import contract, observe, zoo
from lineage_conformance.canon import Difference, canon, differences
from lineage_conformance.handles import Face, Handle, Half, halves
from lineage_conformance.model import Model, name
from lineage_conformance.program import (
    CopyThread, DeleteForRuns, DeleteThread, DeltaHistory, Get, List, Mint, Op, OwnLoop, Program,
    Prune, Put, Reopen, Together, Vanish, Writes,
)  # fmt: skip

_numbers = itertools.count(1)


@dataclass(frozen=True)
class Diff:
    """One place where a saver and the model differ, and the operation that showed it."""

    op: int
    kind: str
    path: tuple[str, ...]
    expected: Any
    got: Any

    @property
    def where(self) -> str:
        """``get:metadata.step``, the text that a law's lens is matched against."""
        return f"{self.kind}:{'.'.join(self.path)}"


@dataclass
class Trace:
    """What one run of a program showed."""

    diffs: list[Diff] = field(default_factory=list)
    refused: list[tuple[int, str]] = field(default_factory=list)


class Raised(Exception):
    """Wraps whatever a saver raised, so that an error of the suite is never taken for one of the saver."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(f"{type(error).__name__}: {str(error)[:500]}")
        self.error = error


def guarded(work: Callable[[], Any]) -> Any:
    """Call the saver; turn anything it raises, `SystemExit` included, into `Raised`."""
    try:
        return work()
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        raise Raised(error) from error


class Session:
    """One example: fresh thread ids on an open store, one face, one model.

    `opener` opens a handle on the store (called again for a second handle and after `reopen`);
    `beat` is told the index of each operation before it runs, so that a hang can be located.
    """

    def __init__(
        self,
        opener: Callable[[], Handle],
        face: Face,
        beat: Callable[[int], None] = lambda op: None,
        handles: dict[int, Handle] | None = None,
    ) -> None:
        self.opener, self.beat = opener, beat
        self.writer, self.reader = halves(face)
        self.handles = {} if handles is None else handles
        self.nonce = f"{next(_numbers):04x}{uuid.uuid4().hex[:8]}"
        serde = getattr(self.handle(0).saver, "serde", None) or contract.base_saver().serde
        self.model = Model(lambda value: serde.loads_typed(serde.dumps_typed(value)))
        self.trace = Trace()
        self.state: dict[tuple[str, str, int], tuple[dict[str, Any], dict[str, Any]]] = {}
        self.returned: dict[tuple[str, str, int], Any] = {}
        self.written: dict[tuple[str, str, int], list[tuple[str, str, Any]]] = {}
        self.at = 0

    def run(self, program: Program) -> Trace:
        """Run every operation and return what differed."""
        for index, op in enumerate(program.ops):
            self.at = index
            self.beat(index)
            self._run(op)
        return self.trace

    def handle(self, number: int) -> Handle:
        """Handle `number` on the store, opened when it is first used."""
        if number not in self.handles:
            self.handles[number] = self.opener()
        return self.handles[number]

    # -- names ---------------------------------------------------------------------------------

    def thread(self, label: str) -> str:
        """The thread id for a label: unique to this example, the label's own text at the end."""
        return f"{self.nonce}-{label}"

    def id(self, number: int) -> str:
        """The checkpoint id for a number: a version 6 UUID in shape, ordered like the numbers."""
        return f"1f{number:06x}-0000-6000-8000-{self.nonce}"

    def config(self, op: Any, id: int | None) -> dict[str, Any]:
        """The config that an operation names."""
        key = (op.thread, op.ns or "", id)
        if getattr(op, "via", "built") == "returned" and id is not None and key in self.returned:
            return dict(self.returned[key])  # type: ignore[index]
        conf: dict[str, Any] = {"thread_id": self.thread(op.thread)}
        if op.ns is not None:
            conf["checkpoint_ns"] = op.ns
        if id is not None:
            conf["checkpoint_id"] = self.id(id)
        return {"configurable": conf}

    # -- running -------------------------------------------------------------------------------

    def _run(self, op: Op) -> None:
        action: Callable[[Any], None] = getattr(self, "_" + op.name)
        try:
            action(op)
        except Raised as raised:
            if getattr(op, "lenient", False):
                self.trace.refused.append((self.at, str(raised)))
            else:
                self._differ(op, ("raises",), "no exception", str(raised))

    def _differ(self, op: Op, path: tuple[str, ...], expected: Any, got: Any) -> None:
        self.trace.diffs.append(Diff(self.at, op.name, path, expected, got))

    def _compare(self, op: Op, expected: Any, got: Any, path: tuple[str, ...] = ()) -> None:
        found: Difference
        for found in differences(expected, got, path):
            self._differ(op, found.path, found.expected, found.got)

    def _put(self, op: Put) -> None:
        handle = self.handle(op.handle)
        values, versions, new = self._channels(op, handle)
        checkpoint = self._checkpoint(op, values, versions)
        config = self.config(op, op.parent)
        config["configurable"] = {**config["configurable"], **zoo.build(dict(op.extra))}
        if op.tags:
            config["metadata"] = zoo.build(dict(op.tags))
        meta = {"source": "loop", "step": op.id} if op.meta is None else dict(op.meta)
        args = (config, checkpoint, zoo.build(meta), dict(new))
        before = canon(args) if op.watch else None
        result = guarded(lambda: handle.call(self.writer, "put", *args))
        if op.watch:
            self._compare(op, before, canon(args), ("arguments",))
        if op.scribble:
            observe.scribble(args)
        oracle = self._checkpoint(op, values, versions)
        self.model.put(self._oracle_config(op), oracle, zoo.build(meta))
        key = (op.thread, op.ns, op.id)
        self.state[key] = (values, versions)
        expected = name(self.thread(op.thread), op.ns, self.id(op.id))
        self._compare(op, expected, observe.config(result), ("returned",))
        self.returned[key] = result if isinstance(result, Mapping) else expected

    def _oracle_config(self, op: Put) -> dict[str, Any]:
        conf = {"thread_id": self.thread(op.thread), "checkpoint_ns": op.ns, **zoo.build(dict(op.extra))}
        if op.parent is not None:
            conf["checkpoint_id"] = self.id(op.parent)
        return {"configurable": conf, "metadata": zoo.build(dict(op.tags))}

    def _channels(
        self, op: Put, handle: Handle
    ) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        parent = self.state.get((op.thread, op.ns, op.parent)) if op.parent is not None else None
        values, versions = (dict(parent[0]), dict(parent[1])) if parent else ({}, {})
        current = max(versions.values(), default=None)
        version = self._version(op, current, handle)
        new = {channel: version for channel in (*op.set, *op.empty)}
        versions.update(new)
        values.update(op.set)
        for channel in (*op.empty, *op.drop):
            values.pop(channel, None)
        for channel in op.drop:
            versions.pop(channel, None)
        return values, versions, new

    def _version(self, op: Put, current: Any, handle: Handle) -> Any:
        if op.versions == "minted":
            return guarded(lambda: handle.saver.get_next_version(current, None))
        forms = {"int": op.id, "float": op.id + 0.5, "str": f"{op.id:08d}.0"}
        return forms[op.versions]

    def _checkpoint(self, op: Put, values: Mapping[str, Any], versions: Mapping[str, Any]) -> Any:
        checkpoint: dict[str, Any] = {
            "v": contract.checkpoint_format(),
            "id": self.id(op.id),
            "ts": f"2024-01-01T{op.id // 3600 % 24:02}:{op.id // 60 % 60:02}:{op.id % 60:02}+00:00",
            "channel_values": zoo.build(dict(values)),
            "channel_versions": dict(versions),
            "versions_seen": {"__input__": {}, "node": dict(versions)} if op.seen else {},
        }
        if "pending_sends" in contract.checkpoint_keys():
            checkpoint["pending_sends"] = []
        if "updated_channels" in contract.checkpoint_keys():
            checkpoint["updated_channels"] = sorted(op.set) if op.seen else None
        return checkpoint

    def _writes(self, op: Writes) -> None:
        handle = self.handle(op.handle)
        config = self.config(op, op.id)
        items = [(channel, zoo.build(value)) for channel, value in op.items]
        before = canon((config, items)) if op.watch else None
        guarded(lambda: handle.put_writes(self.writer, config, items, op.task, op.path))
        if op.watch:
            self._compare(op, before, canon((config, items)), ("arguments",))
        if op.scribble:
            observe.scribble(items)
        key = (self.thread(op.thread), op.ns, self.id(op.id))
        oracle = [(channel, zoo.build(value)) for channel, value in op.items]
        self.model.put_writes(key, op.task, oracle, op.path)
        told = self.written.setdefault((op.thread, op.ns, op.id), [])
        told += [(op.task, channel, value) for channel, value in op.items]

    def _get(self, op: Get) -> None:
        handle = self.handle(op.handle)
        config = self.config(op, op.id)
        result = guarded(lambda: handle.call(self.reader, "get_tuple", config))
        expected = self.model.get(
            self.thread(op.thread), op.ns, None if op.id is None else self.id(op.id)
        )
        got = observe.tuple_(result)
        self._compare_tuple(op, expected, got)
        if op.whole and isinstance(got, dict) and op.id is not None:
            self._compare_whole(op, got)
        if op.scribble and result is not None:
            observe.scribble(list(result))

    def _compare_tuple(
        self, op: Op, expected: dict[str, Any] | None, got: Any, path: tuple[str, ...] = ()
    ) -> None:
        if expected is None or not isinstance(got, dict):
            present = "nothing" if expected is None else "a checkpoint"
            found = "nothing" if got is None else "a checkpoint" if isinstance(got, dict) else got
            if present != found:
                self._differ(op, (*path, "found"), present, found)
            return
        for key in ("config", "parent_config", "pending_writes", "metadata"):
            if key == "metadata" and expected[key] is None:
                continue  # before 2.0.13 no contract says which config keys join the metadata
            if key == "pending_writes":
                self._compare_writes(op, expected[key], got[key], path)
                continue
            if key == "metadata" and isinstance(got[key], dict):
                self._compare_metadata(op, expected[key], got[key], path)
                continue
            self._compare(op, expected[key], got[key], (*path, key))
        for key, value in expected["checkpoint"].items():
            found = got["checkpoint"].get(key, "(missing)") if got["checkpoint"] else "(missing)"
            if key not in ("pending_sends",):
                self._compare(op, value, found, (*path, key))

    def _compare_whole(self, op: Get, got: dict[str, Any]) -> None:
        """Tell values that were something when they were stored and are None now.

        The serializer is no excuse here: the oracle is the value that the caller handed over.
        """
        place: Any = (op.thread, op.ns or "", op.id)
        values, _ = self.state.get(place, ({}, {}))
        found = got["checkpoint"].get("channel_values") or {}
        for channel, value in values.items():
            if value is not None and found.get(channel, value) is None:
                self._differ(op, ("lost", "channel_values", channel), zoo.source(value), None)
        told = self.written.get(place, [])
        emptied = {write[:2] for write in told if write[2] is None}
        lost = {(write[0], write[1]) for write in got["pending_writes"] if write[2] is None}
        for task, channel, value in told:
            if (task, channel) in lost and (task, channel) not in emptied:
                self._differ(op, ("lost", "pending_writes", channel), zoo.source(value), None)

    def _compare_metadata(
        self, op: Op, expected: dict[str, Any], got: dict[str, Any], path: tuple[str, ...]
    ) -> None:
        """Metadata; a reserved key of the config that joined it is another question than the rest."""
        extra = {k for k in got if k not in expected and contract.reserved(k)}
        for key in sorted(extra):
            self._differ(op, (*path, "reserved_metadata", key), "(absent)", got[key])
        plain = {k: v for k, v in got.items() if k not in extra}
        self._compare(op, expected, plain, (*path, "metadata"))

    def _compare_writes(
        self, op: Op, expected: list[Any], got: list[Any], path: tuple[str, ...]
    ) -> None:
        """What was written, task by task, and only if that is right the order of the tasks."""
        before = len(self.trace.diffs)
        left, right = sorted(expected, key=observe.slot), sorted(got, key=observe.slot)
        self._compare(op, left, right, (*path, "pending_writes"))
        if len(self.trace.diffs) == before and expected != got:
            self._differ(op, (*path, "writes_order"), expected, got)

    def _list(self, op: List) -> None:
        handle = self.handle(op.handle)
        config = None if op.thread is None else self.config(op, op.id)
        options: dict[str, Any] = {}
        if op.filter is not None:
            options["filter"] = zoo.build(dict(op.filter))
        if op.before is not None:
            options["before"] = {"configurable": {"checkpoint_id": self.id(op.before)}}
            if op.thread is not None:
                options["before"]["configurable"]["thread_id"] = self.thread(op.thread)
                options["before"]["configurable"]["checkpoint_ns"] = op.ns or ""
        if op.limit is not None:
            options["limit"] = op.limit
        if op.inner:
            rows = self._list_with_inner(op, handle, config, options)
        else:
            rows = guarded(lambda: handle.all_rows(self.reader, config, **options))
            expected = self._listed(op)
        got = [observe.tuple_(row) for row in rows]
        if op.inner:
            return  # which later rows an open iterator shows is its own affair
        if op.thread is None:
            got = [row for row in got if observe.thread_of(row).startswith(self.nonce)]
        self._compare_lists(op, expected, got)

    def _listed(self, op: List) -> list[dict[str, Any]]:
        return self.model.list(
            None if op.thread is None else self.thread(op.thread),
            op.ns,
            None if op.id is None else self.id(op.id),
            None if op.filter is None else zoo.build(dict(op.filter)),
            None if op.before is None else self.id(op.before),
            op.limit,
        )

    def _list_with_inner(self, op: List, handle: Handle, config: Any, options: Any) -> list[Any]:
        rows = handle.rows(self.reader, config, **options)
        first = guarded(lambda: next(rows, None))
        for inner in op.inner:
            self._run(inner)
        rest = guarded(lambda: list(rows))
        return ([] if first is None else [first]) + rest

    def _compare_lists(self, op: Op, expected: list[dict[str, Any]], got: list[Any]) -> None:
        """Rows first, then order within each thread and namespace (order across them is free)."""
        left, right = observe.by_key(expected), observe.by_key(got)
        wanted = sorted(observe.short(k) for k in left)
        found = sorted(observe.short(observe.key_of(row)) for row in got)
        if wanted != found:
            self._differ(op, ("rows",), wanted, found)
        if [k for k in observe.order(got) if k in left] != [
            k for k in observe.order(expected) if k in right
        ]:
            self._differ(
                op, ("order",),
                [observe.short(k) for k in observe.order(expected)],
                [observe.short(k) for k in observe.order(got)],
            )  # fmt: skip
        for key in left:
            if key in right:
                self._compare_tuple(op, left[key], right[key], ("row",))

    # -- operations on whole threads -------------------------------------------------------------

    def _call(self, op: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        return guarded(lambda: self.handle(op.handle).call(self.writer, method, *args, **kwargs))

    def _delete_thread(self, op: DeleteThread) -> None:
        self._call(op, "delete_thread", self.thread(op.thread))
        self.model.delete_thread(self.thread(op.thread))

    def _copy_thread(self, op: CopyThread) -> None:
        self._call(op, "copy_thread", self.thread(op.thread), self.thread(op.target))
        self.model.copy_thread(self.thread(op.thread), self.thread(op.target))
        for (thread, ns, number), held in list(self.state.items()):
            if thread == op.thread:
                self.state[op.target, ns, number] = held

    def _prune(self, op: Prune) -> None:
        threads = [self.thread(label) for label in op.threads]
        self._call(op, "prune", threads, strategy=op.strategy)
        self.model.prune(threads, op.strategy)

    def _delete_for_runs(self, op: DeleteForRuns) -> None:
        self._call(op, "delete_for_runs", [str(run) for run in op.runs])
        self.model.delete_for_runs(op.runs)

    def _delta_history(self, op: DeltaHistory) -> None:
        handle, config = self.handle(op.handle), self.config(op, op.id)
        result = guarded(
            lambda: handle.call(
                self.reader, "get_delta_channel_history", config=config, channels=list(op.channels)
            )
        )
        id = None if op.id is None else self.id(op.id)
        expected = self.model.delta(self.thread(op.thread), op.ns, id, op.channels)
        self._compare(op, expected, observe.history(result), ("history",))

    def _reopen(self, op: Reopen) -> None:
        for number in list(self.handles):
            handle = self.handles.pop(number)
            guarded(handle.close)
        guarded(lambda: self.handle(0))

    def _mint(self, op: Mint) -> None:
        minted = [op.start]
        for _ in range(op.count):
            current = minted[-1]
            minted.append(
                guarded(lambda current=current: self.handle(0).saver.get_next_version(current, None))
            )
        fresh = minted[1:]
        pairs: Sequence[tuple[Any, Any]] = list(zip(fresh, fresh[1:]))
        rising = all(type(a) is type(b) and a < b for a, b in pairs)
        if not rising:
            self._differ(op, ("minted",), "each version larger than the last", canon(fresh))

    def _vanish(self, op: Vanish) -> None:
        zoo.vanish()

    def _together(self, op: Together) -> None:
        """Run the branches at once; afterwards the model runs them one by one."""
        calls = [self._prepared(inner) for inner in op.ops]
        if self.writer == "sync":
            errors = _in_threads([lambda c=call: c("sync") for call in calls])
        else:
            loop = self.handle(0).loop
            errors = guarded(lambda: loop.run(_in_tasks([call("async") for call in calls])))
        for inner, error in zip(op.ops, errors):
            if error is not None:
                self._differ(inner, ("raises",), "no exception", str(Raised(error)))
            else:
                self._applied(inner)

    def _prepared(self, op: Op) -> Callable[[Half], Any]:
        assert isinstance(op, (Put, Writes, DeleteThread)), "only writing operations run together"
        handle = self.handle(op.handle)
        if isinstance(op, Put):
            values, versions, new = self._channels(op, handle)
            meta = {"source": "loop", "step": op.id} if op.meta is None else zoo.build(dict(op.meta))
            args: tuple[Any, ...] = (
                self.config(op, op.parent), self._checkpoint(op, values, versions), meta, new,
            )  # fmt: skip
            self.state[op.thread, op.ns, op.id] = (values, versions)
            method = "put"
        elif isinstance(op, Writes):
            items = [(channel, zoo.build(value)) for channel, value in op.items]
            args, method = (self.config(op, op.id), items, op.task), "put_writes"
        else:
            args, method = (self.thread(op.thread),), "delete_thread"
        saver = handle.saver
        return lambda half: getattr(saver, method if half == "sync" else "a" + method)(*args)

    def _applied(self, op: Op) -> None:
        if isinstance(op, Put):
            values, versions = self.state[op.thread, op.ns, op.id]
            meta = {"source": "loop", "step": op.id} if op.meta is None else zoo.build(dict(op.meta))
            self.model.put(self._oracle_config(op), self._checkpoint(op, values, versions), meta)
        elif isinstance(op, Writes):
            key = (self.thread(op.thread), op.ns, self.id(op.id))
            self.model.put_writes(key, op.task, [(c, zoo.build(v)) for c, v in op.items], "")
        elif isinstance(op, DeleteThread):
            self.model.delete_thread(self.thread(op.thread))

    def _own_loop(self, op: OwnLoop) -> None:
        """A sync call inside the saver's own loop answers or refuses; it must not hang."""
        for inner in op.ops:
            call = self._prepared(inner)
            try:
                guarded(lambda call=call: self.handle(0).loop.call(lambda: call("sync")))
            except Raised as raised:
                self.trace.refused.append((self.at, str(raised)))
            else:
                self._applied(inner)


def _in_threads(calls: Sequence[Callable[[], Any]]) -> list[BaseException | None]:
    barrier = threading.Barrier(len(calls))
    errors: list[BaseException | None] = [None] * len(calls)

    def work(number: int) -> None:
        barrier.wait()
        try:
            calls[number]()
        except BaseException as error:
            errors[number] = error

    threads = [threading.Thread(target=work, args=(n,), daemon=True) for n in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


async def _in_tasks(calls: Sequence[Any]) -> list[BaseException | None]:
    results = await asyncio.gather(*calls, return_exceptions=True)
    return [result if isinstance(result, BaseException) else None for result in results]
