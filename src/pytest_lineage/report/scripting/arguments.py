"""Names, versions and arguments of the calls in a script."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lineage_conformance import contract, zoo
from lineage_conformance.handles import Half
from lineage_conformance.kinds.saver.program import List, Put, Writes
from pytest_lineage.report.scripting.literals import literal
from pytest_lineage.report.scripting.writer import Writer

NAMES = ("saver", "other", "third", "fourth")
"""What the handles are called."""

Place = tuple[str, str, int]
"""Thread, namespace, number of a checkpoint."""


@dataclass
class Arguments(Writer):
    """What the calls are made of, remembering versions, values and names on the way."""

    writer: Half = "sync"
    reader: Half = "sync"
    wanted: set[Any] = field(default_factory=set)
    """Checkpoints whose returned config is used later."""
    helpers: set[str] = field(default_factory=set)
    values: dict[Place, dict[str, Any]] = field(default_factory=dict)
    versions: dict[Place, dict[str, tuple[int, str]]] = field(default_factory=dict)
    returned: dict[Place, str] = field(default_factory=dict)
    mints: int = 0
    handles: set[int] = field(default_factory=set)

    def name(self, handle: int) -> str:
        """The name of a handle, opened here where it is used for the first time."""
        name = NAMES[handle % len(NAMES)]
        if handle not in self.handles:
            self.handles.add(handle)
            self.open(name, first=handle == 0)
        return name

    def call(self, half: Half, saver: str, method: str, arguments: Iterable[str]) -> str:
        """The expression that calls a method of one half and waits for its answer."""
        inside = ", ".join(arguments)
        if half == "async":
            return f"await {saver}.a{method}({inside})"
        if self.is_async:  # a sync method may wait for the loop, so it must not block it
            self.need("asyncio")
            return f"await asyncio.to_thread({saver}.{method}{', ' if inside else ''}{inside})"
        return f"{saver}.{method}({inside})"

    # -- arguments -------------------------------------------------------------------------------

    def config(self, op: Any, id: int | None) -> str:
        """The config that an operation names."""
        known = self.returned.get((op.thread, op.ns or "", id if id is not None else -1))
        if getattr(op, "via", "built") == "returned" and known:
            return known
        self.helpers.add("at")
        if op.ns is None:
            self.helpers.add("cid")
            more = f', "checkpoint_id": cid({id})' if id is not None else ""
            return f'{{"configurable": {{"thread_id": {self.thread(op.thread)}{more}}}}}'
        parts = [self.thread(op.thread)]
        parts += [str(id)] if id is not None else []
        if op.ns:
            parts.append(literal(op.ns) if id is not None else f"ns={literal(op.ns)}")
        return f"at({', '.join(parts)})"

    def put(self, op: Put) -> list[str]:
        """The arguments of a put; new versions are minted in lines before it."""
        saver = self.name(op.handle)
        parent = (op.thread, op.ns, op.parent) if op.parent is not None else None
        values = dict(self.values.get(parent, {})) if parent else {}
        versions = dict(self.versions.get(parent, {})) if parent else {}
        new = self._new(op, saver, versions)
        versions.update(new)
        values.update(op.set)
        for channel in (*op.empty, *op.drop):
            values.pop(channel, None)
        for channel in op.drop:
            versions.pop(channel, None)
        place = (op.thread, op.ns, op.id)
        self.values[place], self.versions[place] = values, versions
        self.helpers |= {"cp", "cid"}
        parts = [str(op.id), self.source(values), _versions(versions)]
        if op.seen:
            parts.append(f'versions_seen={{"__input__": {{}}, "node": {_versions(versions)}}}')
            if "updated_channels" in contract.checkpoint_keys():
                parts.append(f"updated_channels={sorted(op.set)!r}")
        meta = {"source": "loop", "step": op.id} if op.meta is None else op.meta
        config = self._extended(op, self.config(op, op.parent))
        return [config, f"cp({', '.join(parts)})", self.source(meta), _versions(new)]

    def _new(
        self, op: Put, saver: str, versions: Mapping[str, tuple[int, str]]
    ) -> dict[str, tuple[int, str]]:
        channels = (*op.set, *op.empty)
        if not channels:
            return {}
        order, current = max(versions.values(), default=(0, "None"))
        forms = {"int": str(op.id), "float": str(op.id + 0.5), "str": repr(f"{op.id:08d}.0")}
        if op.versions in forms:
            version = forms[op.versions]
        else:
            self.mints += 1
            version = f"v{self.mints}"
            self.say(f"{version} = {saver}.get_next_version({current}, None)")
        return dict.fromkeys(channels, (order + 1, version))

    def _extended(self, op: Put, config: str) -> str:
        if op.extra:
            config = (
                f'{{"configurable": {{**{config}["configurable"], **{self.source(op.extra)}}}}}'
            )
        return f'{{**{config}, "metadata": {self.source(op.tags)}}}' if op.tags else config

    def source(self, value: Any) -> str:
        """A value of a program as source; what it needs is imported or defined at the top."""
        plain = dict(value) if isinstance(value, Mapping) else value
        for name in sorted(zoo.names_in(plain)):
            specimen = zoo.ZOO[name]
            self.need(*specimen.imports)
            if specimen.defines:
                self.helpers.add(f"zoo:{name}")
        return zoo.source(plain)

    def writes(self, op: Writes) -> list[str]:
        """The arguments of put_writes."""
        items = ", ".join(f"({channel!r}, {self.source(value)})" for channel, value in op.items)
        parts = [self.config(op, op.id), f"[{items}]", literal(op.task)]
        return [*parts, literal(op.path)] if op.path else parts

    def listing(self, op: List) -> list[str]:
        """The arguments of list."""
        parts = ["None" if op.thread is None else self.config(op, op.id)]
        if op.filter is not None:
            parts.append(f"filter={self.source(op.filter)}")
        if op.before is not None:
            self.helpers |= {"at", "cid"}
            if op.thread is None:
                parts.append(f'before={{"configurable": {{"checkpoint_id": cid({op.before})}}}}')
            else:
                ns = f", {literal(op.ns)}" if op.ns else ""
                parts.append(f"before=at({self.thread(op.thread)}, {op.before}{ns})")
        return [*parts, f"limit={op.limit}"] if op.limit is not None else parts


def _versions(versions: Mapping[str, tuple[int, str]]) -> str:
    return "{" + ", ".join(f"{channel!r}: {text}" for channel, (_, text) in versions.items()) + "}"
