"""How a backend with blobs is put through a history, and what it must hold at each point of it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from lineage_conformance import contract, zoo
from lineage_conformance.bench import Bench
from lineage_conformance.canon import canon
from lineage_conformance.contract import base_saver
from lineage_conformance.kinds.delta.case import Act, History
from lineage_conformance.kinds.delta.values import become, fit, new_bytes, own, shorter
from lineage_conformance.raised import Raised, Unlike, guarded, unlike
from lineage_conformance.returned import shaped
from lineage_conformance.trace import Diff

Key = tuple[str, str, int]


@dataclass
class Held:
    """What a checkpoint holds, and whether its blobs have to be there."""

    values: dict[str, Any]
    versions: dict[str, Any]
    recorded: bool
    sole: bool = False


class Play:
    """One history on one backend: what should be there, what is, and where they differ."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.held: dict[Key, Held] = {}
        self.live: dict[tuple[str, str], dict[str, Any]] = {}
        self.warm: dict[tuple[str, str], tuple[int, int]] = {}
        """Per thread and namespace the last put and who made it: only from there nothing is sent again."""
        self.generations: dict[Key, int] = {}
        self.flags: dict[str, str] = {}
        self.default = "off"
        self.failing = False
        self.proved: dict[str, bool] = {}
        self.threads: dict[str, None] = {}
        self.bound = 0
        self.diffs: list[Diff] = []
        self.at = 0

    def run(self, history: History) -> list[Diff]:
        """Do every act, then look at every checkpoint."""
        mentioned = [t for act in history.acts for t in (act.thread, *act.threads)]
        self.threads = dict.fromkeys(mentioned)
        # The default flag is the store's, and the store is shared: each thread gets its own before it is used.
        for thread in self.threads:
            self._told("mode", self._modes, thread)
        for index, act in enumerate(history.acts):
            self.at = index
            self.bench.beat(index)
            self._told(act.do, getattr(self, "_" + act.do), act)
        self.bench.beat(len(history.acts))
        self.look()
        if self.failing:
            self._told("fail", self._call, "fail", False)
        return self.diffs

    def _told(self, kind: str, work: Callable[..., Any], *args: Any) -> None:
        """Do something; what the backend raises, or gives against its contract, is a difference."""
        try:
            work(*args)
        except Raised as raised:
            self._differ(kind, raised.path, raised.expected, str(raised))
        except AttributeError as error:
            wrong = unlike(error)
            self._differ(kind, wrong.path, wrong.expected, str(wrong))

    def _differ(self, kind: str, path: tuple[str, ...], expected: Any, got: Any) -> None:
        self.diffs.append(Diff(self.at, kind, path, expected, got))

    def _compare(self, kind: str, path: tuple[str, ...], expected: Any, got: Any) -> None:
        self.diffs += self.bench.compare_trees(self.at, kind, path, expected, got)

    def _equal(self, kind: str, path: tuple[str, ...], expected: Any, got: Any) -> None:
        self.diffs += self.bench.compare(self.at, kind, path, expected, got)

    def _call(self, method: str, *args: Any, handle: int = 0) -> Any:
        subject = self.bench.handle(handle).saver
        if self.bench.writer == "sync":
            made = guarded(lambda: getattr(subject, method)(*args))
        else:
            made = guarded(lambda: self.bench.loop.run(getattr(subject, "a" + method)(*args)))
        return shaped("delta", method, made)

    def config(self, key: Key) -> dict[str, Any]:
        """The config of a checkpoint."""
        conf = {"thread_id": self.bench.name(key[0]), "checkpoint_ns": key[1]}
        return {"configurable": {**conf, "checkpoint_id": self.id(key[2])}}

    def id(self, number: int) -> str:
        """The checkpoint id for a number: a UUID in shape, ordered like the numbers."""
        return f"1f{number:06x}-0000-6000-8000-{self.bench.nonce}"

    @property
    def serde(self) -> Any:
        """The serializer of the backend or of its `saver`; LangGraph's own where neither shows one."""
        subject = self.bench.subject
        shown = (
            getattr(owner, "serde", None) for owner in (subject, getattr(subject, "saver", None))
        )
        return next((serde for serde in shown if serde is not None), base_saver().serde)

    def normal(self, value: Any) -> Any:
        """The canonical form of what the saver's serializer makes of a value."""
        serde = self.serde
        return canon(serde.loads_typed(serde.dumps_typed(value)))

    # -- acts ------------------------------------------------------------------------------------

    def _put(self, act: Act) -> None:
        key = (act.thread, act.ns, act.id)
        if act.parent is not None and (*key[:2], act.parent) not in self.held:
            return  # its put failed, and that was told
        above = None if act.parent is None else self.held[act.thread, act.ns, act.parent]
        checkpoint, new, held = self._checkpoint(act, above)
        effective = self.effective(act.thread)
        held.recorded = effective != "off" and not self.failing
        held.sole = effective == "read" and held.recorded
        conf = self.config((*key[:2], act.parent or 0))["configurable"]
        if act.parent is None:
            del conf["checkpoint_id"]
        meta = {"source": "loop", "step": act.id}
        self._call("put", {"configurable": conf}, checkpoint, meta, new, handle=act.handle)
        self.held[key] = held
        if not self.failing:
            self._blobs(act, key, above, held)
        self.warm[act.thread, act.ns] = (act.handle, act.id)

    def _refused(self, act: Act) -> None:
        if act.parent is not None and (act.thread, act.ns, act.parent) not in self.held:
            return
        above = None if act.parent is None else self.held[act.thread, act.ns, act.parent]
        checkpoint, new, _ = self._checkpoint(act, above)
        checkpoint["channel_values"]["odd"] = zoo.build(zoo.ref("generator"))
        version = max(checkpoint["channel_versions"].values(), default=None)
        new["odd"] = self.bench.subject.get_next_version(version, None)
        checkpoint["channel_versions"]["odd"] = new["odd"]
        conf = self.config((act.thread, act.ns, act.parent or 0))["configurable"]
        try:
            self._call(
                "put", {"configurable": conf}, checkpoint, {"source": "loop", "step": 0}, new
            )
        except Raised:
            return

    def _checkpoint(
        self, act: Act, above: Held | None
    ) -> tuple[dict[str, Any], dict[str, Any], Held]:
        values = {} if above is None else own(above.values)
        versions = {} if above is None else dict(above.versions)
        current = max(versions.values(), default=None)
        version = self.bench.subject.get_next_version(current, None)
        values.update(own(dict(act.set)))
        new = dict.fromkeys(act.set, version)
        versions.update(new)
        for channel in act.drop:
            values.pop(channel, None)
            versions.pop(channel, None)
        live = self.live.setdefault((act.thread, act.ns), {})
        for channel in list(live):
            if channel not in values:
                del live[channel]
        for channel, value in values.items():
            mine = own(value)
            live[channel] = become(live[channel], mine) if act.same and channel in live else mine
        checkpoint = {
            "v": contract.checkpoint_format(),
            "id": self.id(act.id),
            "ts": f"2024-01-01T00:{act.id // 60 % 60:02}:{act.id % 60:02}+00:00",
            "channel_values": dict(live),
            "channel_versions": dict(versions),
            "versions_seen": {},
            "pending_sends": [],
            "updated_channels": sorted(act.set),
        }
        for extra in ("pending_sends", "updated_channels"):
            if extra not in contract.checkpoint_keys():
                del checkpoint[extra]
        return checkpoint, new, Held(values, versions, False)

    def _mode(self, act: Act) -> None:
        named = act.threads or tuple(self.threads)
        self._call("set_mode", act.mode, [self.bench.name(thread) for thread in named])
        self.flags.update(dict.fromkeys(named, act.mode))
        for thread in self.threads:
            self._modes(thread)

    def _modes(self, thread: str) -> None:
        got = self._call("mode", self.bench.name(thread))
        self._equal("mode", ("now",), self.effective(thread), got)

    def effective(self, thread: str) -> str:
        """What should be done for a thread."""
        flag = self.flags.get(thread, self.default)
        return "shadow" if flag == "read" and not self.proved.get(thread) else flag

    def _verify(self, act: Act) -> None:
        report = self._call("verify", self.bench.name(act.thread))
        mine = [held for key, held in self.held.items() if key[0] == act.thread]
        self._equal("verify", ("checkpoints",), len(mine), report.checkpoints)
        recorded = [held.recorded for held in mine]
        if mine and all(recorded):
            self._equal("verify", ("different",), [], canon(list(report.different)))
        if mine and (all(recorded) or not any(recorded)):
            self._equal("verify", ("proved",), all(recorded), bool(report.proved))
        self.proved[act.thread] = bool(report.proved)

    def _reopen(self, act: Act) -> None:
        guarded(self.bench.reopen)
        self.warm.clear()

    def _fail(self, act: Act) -> None:
        self._call("fail", act.on)
        self.failing = act.on

    def _expire(self, act: Act) -> None:
        self._call("expire", time.time() + 30 * 24 * 3600)
        for held in self.held.values():
            held.recorded = held.recorded and held.sole
        self.warm.clear()

    def _delete(self, act: Act) -> None:
        thread = self.bench.name(act.thread)
        self._call("delete_thread", thread)
        gone = [key for key in self.held if key[0] == act.thread]
        self._equal("blobs", ("left",), 0, len(self._call("blobs", thread)))
        for key in gone:
            del self.held[key]
            try:
                found = self._call("rebuild", self.config(key)) or None
            except Unlike:
                raise
            except Raised:
                continue
            self._equal("blobs", ("left", "rebuilt"), None, found and canon(dict(found)))
            self._equal("get", ("found",), None, self._call("get_tuple", self.config(key)))
        self.live = {place: live for place, live in self.live.items() if place[0] != act.thread}
        self.warm = {place: warm for place, warm in self.warm.items() if place[0] != act.thread}
        self.proved.pop(act.thread, None)

    # -- looking ---------------------------------------------------------------------------------

    def look(self) -> None:
        """Every checkpoint as the saver gives it, and as blobs alone make it."""
        for key, held in self.held.items():
            self._get(key, held)
            if not self.failing:
                self._rebuild(key, held)

    def _get(self, key: Key, held: Held) -> None:
        self._told("get", self._values, key, held)

    def _values(self, key: Key, held: Held) -> None:
        row = self._call("get_tuple", self.config(key))
        if row is None:
            self._differ("get", ("found",), "a checkpoint", "nothing")
            return
        got = canon(dict(row.checkpoint["channel_values"]))
        self._compare("get", (), {c: self.normal(v) for c, v in held.values.items()}, got)

    def _rebuild(self, key: Key, held: Held) -> None:
        expected = {c: self.normal(v) for c, v in held.values.items() if fit(v)}
        try:
            found = self._call("rebuild", self.config(key))
        except Raised as raised:
            if held.recorded or isinstance(raised, Unlike):
                self._differ("rebuild", ("refused",), "the lists", str(raised))
            return
        if found is None:
            if held.recorded and expected:
                self._differ("rebuild", ("known",), "the lists", None)
            return
        self._compare("rebuild", ("values",), expected, canon(dict(found)))

    def _blobs(self, act: Act, key: Key, above: Held | None, held: Held) -> None:
        """What is listed of the blobs that came with a put."""
        thread, id = self.bench.name(key[0]), self.id(key[2])
        rows = [b for b in self._call("blobs", thread) if b.checkpoint_id == id]
        rows = [b for b in rows if b.checkpoint_ns == key[1]]
        if not held.recorded:
            self._equal("blobs", ("stored",), [], sorted(b.channel for b in rows))
            return
        changed = sorted(c for c in act.set if self._news(above, held, c))
        if changed:  # what lists no blobs at all would store none while the flag is off, too
            there = bool(rows)
            self._equal("blobs", ("stored", "on"), True, there)
        odd = sorted(b.channel for b in rows if not fit(held.values.get(b.channel)))
        if any(not fit(value) for value in held.values.values()):
            self._equal("blobs", ("channels",), [], odd)
        gap = above is None or not above.recorded
        warm = not gap and self.warm.get(key[:2]) == (act.handle, act.parent)
        for blob in rows:
            self._record(blob, thread, held)
            before = None if above is None else above.values.get(blob.channel)
            same = canon(before) == canon(held.values.get(blob.channel))
            if warm and above is not None and blob.channel in above.values and same:
                self._differ("blobs", ("resent", blob.channel), "nothing", blob.size)
            if gap:
                self._equal("blobs", ("base", blob.channel), "compaction", blob.step_action)
        if warm and rows and above is not None:
            kept = (c for c, value in above.values.items() if held.values.get(c) == value)
            if any(fit(above.values[c]) for c in kept):
                self.bench.observed("blobs", "resent")
        self._generation(act, key, above, held, rows, warm)
        self.bound += sum(
            new_bytes(self.serde, above and above.values.get(c), held.values[c])
            for c in act.set
            if fit(held.values[c])
        )

    @staticmethod
    def _news(above: Held | None, held: Held, channel: str) -> bool:
        """Whether a put changed a channel in a way that a blob must tell."""
        value = held.values[channel]
        before = None if above is None else above.values.get(channel)
        return fit(value) and canon(before) != canon(value)

    def _record(self, blob: Any, thread: str, held: Held) -> None:
        facts = {
            "thread_id": (thread, blob.thread_id),
            "version": (held.versions.get(blob.channel), blob.version),
            "size": (True, type(blob.size) is int and blob.size > 0),
            "current_thread": (True, type(blob.current_thread) is int and blob.current_thread >= 0),
            "step_action": (True, blob.step_action in ("conversation", "compaction")),
        }
        for name, (expected, got) in facts.items():
            self._equal("blobs", ("record", name), canon(expected), canon(got))

    def _generation(
        self, act: Act, key: Key, above: Held | None, held: Held, rows: list[Any], warm: bool
    ) -> None:
        if not rows:
            return
        now = rows[0].current_thread
        self.generations[key] = now
        before = self.generations.get((*key[:2], act.parent or 0))
        if not warm or before is None or above is None:
            return
        shrank = any(
            shorter(above.values[c], held.values.get(c)) for c in above.values if c in act.set
        )
        expected = f"more than {before}" if shrank else before
        shown = expected if (now > before) == shrank else now
        self._equal("blobs", ("generation",), expected, shown)
