"""The script that the operations of a program are written into."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from lineage_conformance import zoo
from lineage_conformance.handles import Half
from pytest_lineage.report.scripting.literals import literal
from pytest_lineage.report.scripting.writer import Writer

NAMES = ("saver", "other", "third", "fourth")
"""What the handles are called."""

Place = tuple[str, str, int]
"""Thread, namespace, number of a checkpoint."""


@dataclass
class Calls(Writer):
    """The script of a program: what its operations are written into, remembering versions, values and names."""

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

    def reopen(self) -> None:
        """Close every handle and open the store again."""
        if self.opening.manner in ("with", "async with"):
            self.depth -= len(self.handles)
        self.handles.clear()
        self.name(0)

    def call(self, half: Half, handle: int, method: str, arguments: Iterable[str]) -> str:
        """The expression that calls a method of one half and waits for its answer."""
        saver = self.name(handle)
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

    def value(self, value: Any) -> str:
        """A value of a program as source; what it needs is imported or defined at the top."""
        plain = dict(value) if isinstance(value, Mapping) else value
        for name in sorted(zoo.names_in(plain)):
            specimen = zoo.ZOO[name]
            self.need(*specimen.imports)
            if specimen.defines:
                self.helpers.add(f"zoo:{name}")
        return zoo.source(plain)

    def literal(self, text: str) -> str:
        """A text as source."""
        return literal(text)

    def mint(self, handle: int, current: str) -> str:
        """The name of a version that is minted here after `current`."""
        saver = self.name(handle)
        self.mints += 1
        self.say(f"v{self.mints} = {saver}.get_next_version({current}, None)")
        return f"v{self.mints}"
