"""Operations that store: a checkpoint, and the pending writes of a task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from lineage_conformance import contract, observe, zoo
from lineage_conformance.canon import canon
from lineage_conformance.kinds.saver.model import name
from lineage_conformance.kinds.saver.operations.base import Op, Script
from lineage_conformance.kinds.saver.session import Name, Session
from lineage_conformance.raised import guarded

Channels = dict[str, Any]
"""Channel to value, or to version."""


@dataclass(frozen=True)
class Put(Op):
    """Store checkpoint number `id` as a child of `parent`.

    The child holds its parent's channel values, with `set` written over them, `empty` given a new
    version without a value, and `drop` removed. New versions come from the saver's own
    `get_next_version` unless `versions` says ``int``, ``float`` or ``str``.
    """

    name: ClassVar[str] = "put"
    id: int
    parent: int | None = None
    thread: str = "t"
    ns: str = ""
    set: Mapping[str, Any] = field(default_factory=dict)
    empty: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    meta: Mapping[str, Any] | None = None
    """Metadata; None stands for ``{"source": "loop", "step": id}``."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """More keys of ``config["configurable"]``."""
    tags: Mapping[str, Any] = field(default_factory=dict)
    """``config["metadata"]``."""
    seen: bool | Mapping[str, Mapping[str, Any]] = False
    """True: fill `versions_seen` from the parent's versions. A mapping says for each node and channel which
    checkpoint's version of the channel the node saw, by number; what is no number is a version itself."""
    base: int | None = None
    """The checkpoint whose values and versions it starts from, where that is not its parent."""
    record: Mapping[str, Any] = field(default_factory=dict)
    """Other keys of the checkpoint, or other values of those that are there."""
    versions: str = "minted"
    via: str = "built"
    """``returned``: use the config that the parent's put returned instead of one built here."""
    scribble: bool = False
    """Change the caller's own objects after the call."""
    watch: bool = False
    """Observe whether the call changed its arguments."""
    handle: int = 0
    lenient: bool = False

    @property
    def place(self) -> tuple[str, str, int]:
        """Thread, namespace and number."""
        return self.thread, self.ns, self.id

    def names(self) -> Iterator[Name]:
        """The names in it, channels included."""
        yield from super().names()
        yield from (("channel", text) for text in (*self.set, *self.empty, *self.drop))

    def values(self) -> list[Any]:
        """The channel values that it sets."""
        return list(self.set.values())

    def run(self, on: Session) -> None:
        """Put it; the model does, the returned config is compared."""
        values, versions, args = self._made(on)
        before = canon(args) if self.watch else None
        result = guarded(lambda: on.handle(self.handle).call(on.writer, "put", *args))
        if self.watch:
            on.compare(self, before, canon(args), ("arguments",))
        if self.scribble:
            observe.scribble(args)
        on.state[self.place] = (values, versions)
        self.applied(on)
        expected = name(on.thread(self.thread), self.ns, on.id(self.id))
        on.compare(self, expected, observe.config(result), ("returned",))
        on.returned[self.place] = result if isinstance(result, Mapping) else expected

    def prepared(self, on: Session) -> tuple[str, tuple[Any, ...]]:
        """The method and its arguments, for a call that is let go later."""
        values, versions, args = self._made(on)
        on.state[self.place] = (values, versions)
        return "put", args

    def applied(self, on: Session) -> None:
        """Let the model do it, with arguments of its own."""
        checkpoint = self._checkpoint(on, *on.state[self.place])
        on.model.put(self._config(on, None), checkpoint, self._metadata())

    def _made(self, on: Session) -> tuple[Channels, Channels, tuple[Any, ...]]:
        """Values and versions of the channels, and the arguments of the call."""
        values, versions, new = self._channels(on)
        checkpoint = self._checkpoint(on, values, versions)
        args = (self._config(on, on.config(self, self.parent)), checkpoint, self._metadata(), new)
        return values, versions, args

    def _config(self, on: Session, given: dict[str, Any] | None) -> dict[str, Any]:
        """The config with the keys that this put adds; the one that a model is told where none is given."""
        if given is None:
            conf = {"thread_id": on.thread(self.thread), "checkpoint_ns": self.ns}
            if self.parent is not None:
                conf["checkpoint_id"] = on.id(self.parent)
            given = {"configurable": conf, "metadata": {}}
        given["configurable"] = {**given["configurable"], **zoo.build(dict(self.extra))}
        if self.tags:
            given["metadata"] = zoo.build(dict(self.tags))
        return given

    def _metadata(self) -> dict[str, Any]:
        meta = {"source": "loop", "step": self.id} if self.meta is None else dict(self.meta)
        made: dict[str, Any] = zoo.build(meta)
        return made

    def _channels(self, on: Session) -> tuple[Channels, Channels, Channels]:
        """Values, versions, and new versions."""
        start = self.parent if self.base is None else self.base
        held = on.state.get((self.thread, self.ns, start)) if start is not None else None
        values, versions = (dict(held[0]), dict(held[1])) if held else ({}, {})
        version = self._version(on, max(versions.values(), default=None))
        new = dict.fromkeys((*self.set, *self.empty), version)
        return *self._changed(values, versions, new), new

    def _changed(
        self, values: Channels, versions: Channels, new: Channels
    ) -> tuple[Channels, Channels]:
        versions = {k: v for k, v in {**versions, **new}.items() if k not in self.drop}
        gone = (*self.empty, *self.drop)
        values = {k: v for k, v in {**values, **self.set}.items() if k not in gone}
        return values, versions

    def _version(self, on: Session, current: Any) -> Any:
        if self.versions == "minted":
            saver = on.handle(self.handle).saver
            return guarded(lambda: saver.get_next_version(current, None))
        return self._forms()[self.versions]

    def _forms(self) -> dict[str, Any]:
        return {"int": self.id, "float": self.id + 0.5, "str": f"{self.id:08d}.0"}

    def _checkpoint(self, on: Session, values: Channels, versions: Channels) -> dict[str, Any]:
        n = self.id
        checkpoint: dict[str, Any] = {
            "v": contract.checkpoint_format(),
            "id": on.id(n),
            "ts": f"2024-01-01T{n // 3600 % 24:02}:{n // 60 % 60:02}:{n % 60:02}+00:00",
            "channel_values": zoo.build(dict(values)),
            "channel_versions": dict(versions),
            "versions_seen": self._seen(on, versions),
        }
        if "pending_sends" in contract.checkpoint_keys():
            checkpoint["pending_sends"] = []
        if "updated_channels" in contract.checkpoint_keys():
            checkpoint["updated_channels"] = sorted(self.set) if self.seen else None
        checkpoint.update(zoo.build(dict(self.record)))
        return checkpoint

    def _seen(self, on: Session, versions: Channels) -> dict[str, Any]:
        """What `versions_seen` holds: node to channel to version."""
        if not isinstance(self.seen, Mapping):
            return {"__input__": {}, "node": dict(versions)} if self.seen else {}
        seen: dict[str, dict[str, Any]] = {}
        for node, channels in self.seen.items():
            told = seen.setdefault(node, {})
            for channel, what in channels.items():
                if type(what) is not int:
                    told[channel] = zoo.build(what)
                    continue
                before = on.state.get((self.thread, self.ns, what), ({}, {}))[1]
                held = versions if what == self.id else before
                if channel in held:  # a smaller program may have left that checkpoint out
                    told[channel] = held[channel]
        return seen

    # -- as source -------------------------------------------------------------------------------

    def source(self, script: Script) -> str:
        """The call; a version is minted in a line before it."""
        return script.call(script.writer, self.handle, "put", self.arguments(script))

    def write(self, script: Script) -> None:
        """The call, its answer named where a later one needs it."""
        text = self.source(script)
        if self.place in script.wanted:
            script.returned[self.place] = f"c{len(script.returned) + 1}"
            text = f"{script.returned[self.place]} = {text}"
        script.say(text)

    def arguments(self, script: Script) -> list[str]:
        """The arguments of the call, as source."""
        start = (self.thread, self.ns, -1 if self.parent is None else self.parent)
        held = script.versions.get(start, {})
        new = self._new(script, held)
        values, versions = self._changed(script.values.get(start, {}), dict(held), dict(new))
        script.values[self.place], script.versions[self.place] = values, versions
        script.helpers |= {"cp", "cid"}
        parts = [str(self.id), script.value(values), _versions(versions)]
        if self.seen:
            parts.append(f'versions_seen={{"__input__": {{}}, "node": {_versions(versions)}}}')
            if "updated_channels" in contract.checkpoint_keys():
                parts.append(f"updated_channels={sorted(self.set)!r}")
        meta = {"source": "loop", "step": self.id} if self.meta is None else self.meta
        config = script.config(self, self.parent)
        if self.extra:
            more = script.value(self.extra)
            config = f'{{"configurable": {{**{config}["configurable"], **{more}}}}}'
        if self.tags:
            config = f'{{**{config}, "metadata": {script.value(self.tags)}}}'
        return [config, f"cp({', '.join(parts)})", script.value(meta), _versions(new)]

    def _new(
        self, script: Script, held: Mapping[str, tuple[int, str]]
    ) -> dict[str, tuple[int, str]]:
        channels = (*self.set, *self.empty)
        if not channels:
            return {}
        order, current = max(held.values(), default=(0, "None"))
        if self.versions in self._forms():
            version = repr(self._forms()[self.versions])
        else:
            version = script.mint(self.handle, current)
        return dict.fromkeys(channels, (order + 1, version))


def _versions(versions: Mapping[str, tuple[int, str]]) -> str:
    return "{" + ", ".join(f"{channel!r}: {text}" for channel, (_, text) in versions.items()) + "}"


@dataclass(frozen=True)
class Writes(Op):
    """Store pending writes of `task` under checkpoint number `id`."""

    name: ClassVar[str] = "writes"
    id: int
    task: str = "task-1"
    items: tuple[tuple[str, Any], ...] = ()
    path: str = ""
    thread: str = "t"
    ns: str = ""
    via: str = "built"
    scribble: bool = False
    watch: bool = False
    handle: int = 0
    lenient: bool = False

    def names(self) -> Iterator[Name]:
        """The names in it: channels, task and task path too."""
        yield from super().names()
        yield from (("channel", channel) for channel, _ in self.items)
        yield from (("task", self.task), ("task", self.path))

    def values(self) -> list[Any]:
        """The values that it writes."""
        return [value for _, value in self.items]

    def run(self, on: Session) -> None:
        """Write them; the model does."""
        config, items = on.config(self, self.id), self._built()
        before = canon((config, items)) if self.watch else None
        handle = on.handle(self.handle)
        guarded(lambda: handle.put_writes(on.writer, config, items, self.task, self.path))
        if self.watch:
            on.compare(self, before, canon((config, items)), ("arguments",))
        if self.scribble:
            observe.scribble(items)
        self.applied(on)
        told = on.written.setdefault((self.thread, self.ns, self.id), [])
        told += [(self.task, channel, value) for channel, value in self.items]

    def prepared(self, on: Session) -> tuple[str, tuple[Any, ...]]:
        """The method and its arguments, for a call that is let go later."""
        return "put_writes", (on.config(self, self.id), self._built(), self.task)

    def applied(self, on: Session) -> None:
        """Let the model do it, with values of its own."""
        key = (on.thread(self.thread), self.ns, on.id(self.id))
        on.model.put_writes(key, self.task, self._built(), self.path)

    def _built(self) -> list[tuple[str, Any]]:
        return [(channel, zoo.build(value)) for channel, value in self.items]

    def source(self, script: Script) -> str:
        """The call."""
        return script.call(script.writer, self.handle, "put_writes", self.arguments(script))

    def arguments(self, script: Script) -> list[str]:
        """The arguments of the call, as source."""
        items = ", ".join(f"({channel!r}, {script.value(value)})" for channel, value in self.items)
        parts = [script.config(self, self.id), f"[{items}]", script.literal(self.task)]
        return [*parts, script.literal(self.path)] if self.path else parts
