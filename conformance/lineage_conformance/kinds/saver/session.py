"""Sessions: run a program on one face of one target, next to the model, and say where they differ."""

from __future__ import annotations

import functools
import itertools
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lineage_conformance import compare, contract, needs, observe, zoo
from lineage_conformance.canon import Difference, canon, differences
from lineage_conformance.handles import Face, Half, Handle, halves
from lineage_conformance.kinds.saver import together
from lineage_conformance.kinds.saver.model import Model, name
from lineage_conformance.kinds.saver.oracle import Change, Oracle
from lineage_conformance.kinds.saver.program import (
    CopyThread,
    DeleteForRuns,
    DeleteThread,
    DeltaHistory,
    Get,
    List,
    Mint,
    Op,
    OwnLoop,
    Program,
    Prune,
    Put,
    Reopen,
    Together,
    Vanish,
    Writes,
)  # fmt: skip
from lineage_conformance.raised import Raised, guarded
from lineage_conformance.trace import Diff, Trace

_numbers = itertools.count(1)


@dataclass(frozen=True)
class Declared:
    """What a target says of itself: limits that it does not go beyond, and what it does to values."""

    limits: Mapping[str, str] = field(default_factory=dict)
    transforms: Change | None = None


class Session:
    """One example: fresh thread ids on an open store, one face, one model.

    `opener` opens a handle on the store (called again for a second handle and after `reopen`);
    `beat` is told the index of each operation before it runs, so that a hang can be located; `declared` is
    what the target says of itself.
    """

    def __init__(
        self,
        opener: Callable[[], Handle],
        face: Face,
        beat: Callable[[int], None] = lambda op: None,
        handles: dict[int, Handle] | None = None,
        declared: Declared | None = None,
    ) -> None:
        self.opener, self.beat = opener, beat
        self.declared = declared or Declared()
        self.writer, self.reader = halves(face)
        self.handles = {} if handles is None else handles
        self.nonce = f"{next(_numbers):04x}{uuid.uuid4().hex[:8]}"
        limits, transforms = self.declared.limits, self.declared.transforms
        oracle = Oracle(self.handle(0).saver, transforms, own="values" in limits)
        self.model = Model(oracle.expected)
        self.trace = Trace()
        self.stored: set[tuple[str, str]] = set()
        """Odd names under which something was stored: they may not be refused any more."""
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
            return dict(self.returned[key])
        conf: dict[str, Any] = {"thread_id": self.thread(op.thread)}
        if op.ns is not None:
            conf["checkpoint_ns"] = op.ns
        if id is not None:
            conf["checkpoint_id"] = self.id(id)
        return {"configurable": conf}

    # -- running -------------------------------------------------------------------------------

    def _run(self, op: Op) -> None:
        action: Callable[[Any], None] = getattr(self, "_" + op.name)
        self.trace.seen[f"{op.name}:raises"] += 1
        try:
            action(op)
        except Raised as raised:
            self.failed(op, raised)
        else:
            self.stored |= needs.odd(op)

    def failed(self, op: Op, raised: Raised) -> None:
        """Note what an operation raised: a refusal where one is allowed, else a difference."""
        if getattr(op, "lenient", False) or self._may_refuse(op):
            self.trace.refused.append((self.at, str(raised)))
        else:
            self.differ(op, ("raises",), "no exception", str(raised))

    def _may_refuse(self, op: Op) -> bool:
        """A loud refusal is fine for a name that is odd, before anything is stored under it."""
        return needs.odd_filter(op) or bool(needs.odd(op) - self.stored)

    def differ(self, op: Op, path: tuple[str, ...], expected: Any, got: Any) -> None:
        self.trace.diffs.append(Diff(self.at, op.name, path, expected, got))

    def _report(self, op: Op, found: Iterable[Difference], *fields: str) -> None:
        """Note the differences, and which fields were compared."""
        self.trace.seen.update(f"{op.name}:{field}" for field in fields)
        for difference in found:
            self.differ(op, *difference)

    def _compare(self, op: Op, expected: Any, got: Any, path: tuple[str, ...]) -> None:
        self._report(op, differences(expected, got, path), ".".join(path))

    def _put(self, op: Put) -> None:
        handle = self.handle(op.handle)
        values, versions, new = self.channels(op, handle)
        checkpoint = self.checkpoint(op, values, versions)
        config = self.config(op, op.parent)
        config["configurable"] = {**config["configurable"], **zoo.build(dict(op.extra))}
        if op.tags:
            config["metadata"] = zoo.build(dict(op.tags))
        args = (config, checkpoint, self.metadata(op), dict(new))
        before = canon(args) if op.watch else None
        result = guarded(lambda: handle.call(self.writer, "put", *args))
        if op.watch:
            self._compare(op, before, canon(args), ("arguments",))
        if op.scribble:
            observe.scribble(args)
        oracle = self.checkpoint(op, values, versions)
        self.model.put(self.oracle_config(op), oracle, self.metadata(op))
        key = (op.thread, op.ns, op.id)
        self.state[key] = (values, versions)
        expected = name(self.thread(op.thread), op.ns, self.id(op.id))
        self._compare(op, expected, observe.config(result), ("returned",))
        self.returned[key] = result if isinstance(result, Mapping) else expected

    def metadata(self, op: Put) -> dict[str, Any]:
        """The metadata of a put, made anew."""
        meta = {"source": "loop", "step": op.id} if op.meta is None else dict(op.meta)
        made: dict[str, Any] = zoo.build(meta)
        return made

    def oracle_config(self, op: Put) -> dict[str, Any]:
        conf = {
            "thread_id": self.thread(op.thread),
            "checkpoint_ns": op.ns,
            **zoo.build(dict(op.extra)),
        }
        if op.parent is not None:
            conf["checkpoint_id"] = self.id(op.parent)
        return {"configurable": conf, "metadata": zoo.build(dict(op.tags))}

    def channels(
        self, op: Put, handle: Handle
    ) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        start = op.parent if op.base is None else op.base
        held = self.state.get((op.thread, op.ns, start)) if start is not None else None
        values, versions = (dict(held[0]), dict(held[1])) if held else ({}, {})
        current = max(versions.values(), default=None)
        version = self._version(op, current, handle)
        new = dict.fromkeys((*op.set, *op.empty), version)
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

    def checkpoint(self, op: Put, values: Mapping[str, Any], versions: Mapping[str, Any]) -> Any:
        checkpoint: dict[str, Any] = {
            "v": contract.checkpoint_format(),
            "id": self.id(op.id),
            "ts": f"2024-01-01T{op.id // 3600 % 24:02}:{op.id // 60 % 60:02}:{op.id % 60:02}+00:00",
            "channel_values": zoo.build(dict(values)),
            "channel_versions": dict(versions),
            "versions_seen": self.seen_by(op, versions),
        }
        if "pending_sends" in contract.checkpoint_keys():
            checkpoint["pending_sends"] = []
        if "updated_channels" in contract.checkpoint_keys():
            checkpoint["updated_channels"] = sorted(op.set) if op.seen else None
        checkpoint.update(zoo.build(dict(op.record)))
        return checkpoint

    def seen_by(self, op: Put, versions: Mapping[str, Any]) -> dict[str, Any]:
        """What `versions_seen` of a put holds: node to channel to version."""
        if not isinstance(op.seen, Mapping):
            return {"__input__": {}, "node": dict(versions)} if op.seen else {}
        seen: dict[str, dict[str, Any]] = {}
        for node, channels in op.seen.items():
            told = seen.setdefault(node, {})
            for channel, what in channels.items():
                if type(what) is not int:
                    told[channel] = zoo.build(what)
                    continue
                held = versions if what == op.id else self.versions_of(op.thread, op.ns, what)
                if channel in held:  # a smaller program may have left that checkpoint out
                    told[channel] = held[channel]
        return seen

    def versions_of(self, thread: str, ns: str, number: int) -> Mapping[str, Any]:
        """The channel versions of a checkpoint that was put before; none if it was not."""
        held = self.state.get((thread, ns, number))
        return held[1] if held else {}

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
        if expected is not None:
            self._forgive(expected, got)
        self._report(op, compare.tuples(expected, got), "found", *compare.fields(expected))
        if op.whole and isinstance(got, dict) and op.id is not None:
            place: Any = (op.thread, op.ns or "", op.id)
            values, _ = self.state.get(place, ({}, {}))
            self._report(op, compare.lost(values, self.written.get(place, []), got), "lost")
        if op.scribble and result is not None:
            observe.scribble(list(result))

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
        shown = observe.by_key(got)
        for row in expected:
            self._forgive(row, shown.get(observe.key_of(row)))
        inside = {f"row.{field}" for row in expected for field in compare.fields(row)}
        self._report(op, compare.lists(expected, got), "rows", "order", *inside)

    def _forgive(self, expected: dict[str, Any], got: Any) -> None:
        """A saver that keeps no history need not name the parent, which it does not have any more."""
        shallow = "history" in self.declared.limits
        if shallow and isinstance(got, dict) and got["parent_config"] is None:
            expected["parent_config"] = None

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
        rest: list[Any] = guarded(lambda: list(rows))
        return ([] if first is None else [first]) + rest

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
            mint = functools.partial(self.handle(0).saver.get_next_version, current, None)
            minted.append(guarded(mint))
        fresh = minted[1:]
        pairs: Sequence[tuple[Any, Any]] = list(itertools.pairwise(fresh))
        self.trace.seen["mint:minted"] += len(pairs)
        rising = all(type(a) is type(b) and a < b for a, b in pairs)
        if not rising:
            self.differ(op, ("minted",), "each version larger than the last", canon(fresh))

    def _vanish(self, op: Vanish) -> None:
        zoo.vanish()

    # -- operations at once ------------------------------------------------------------------------

    def _together(self, op: Together) -> None:
        """Run the branches at once; afterwards the model runs them one by one."""
        calls = [self._prepared(inner) for inner in op.ops]
        errors = together.at_once(self.handle(0).loop, self.writer, calls)
        for inner, error in zip(op.ops, errors, strict=False):
            if error is not None:
                self.failed(inner, Raised(error))
            else:
                self._applied(inner)

    def _own_loop(self, op: OwnLoop) -> None:
        """A sync call inside the saver's own loop answers or refuses; it must not hang."""
        loop = self.handle(0).loop
        for inner in op.ops:
            work = functools.partial(self._prepared(inner), "sync")
            try:
                guarded(functools.partial(loop.call, work))
            except Raised as raised:
                self.trace.refused.append((self.at, str(raised)))
            else:
                self._applied(inner)

    def _prepared(self, op: Op) -> together.Call:
        """The call of a writing operation with its arguments made, ready to be let go."""
        args: tuple[Any, ...]
        if isinstance(op, Put):
            handle = self.handle(op.handle)
            values, versions, new = self.channels(op, handle)
            config = self.config(op, op.parent)
            args = (config, self.checkpoint(op, values, versions), self.metadata(op), new)
            self.state[op.thread, op.ns, op.id] = (values, versions)
            method = "put"
        elif isinstance(op, Writes):
            handle = self.handle(op.handle)
            items = [(channel, zoo.build(value)) for channel, value in op.items]
            args, method = (self.config(op, op.id), items, op.task), "put_writes"
        else:
            assert isinstance(op, DeleteThread), "only writing operations run together"
            handle = self.handle(op.handle)
            args, method = (self.thread(op.thread),), "delete_thread"
        saver = handle.saver

        def call(half: Half) -> Any:
            return getattr(saver, method if half == "sync" else "a" + method)(*args)

        return call

    def _applied(self, op: Op) -> None:
        """Let the model do what the saver has done."""
        if isinstance(op, Put):
            values, versions = self.state[op.thread, op.ns, op.id]
            checkpoint = self.checkpoint(op, values, versions)
            self.model.put(self.oracle_config(op), checkpoint, self.metadata(op))
        elif isinstance(op, Writes):
            key = (self.thread(op.thread), op.ns, self.id(op.id))
            items = [(channel, zoo.build(value)) for channel, value in op.items]
            self.model.put_writes(key, op.task, items, "")
        elif isinstance(op, DeleteThread):
            self.model.delete_thread(self.thread(op.thread))
