"""Programs: short lists of saver operations as plain data.

A program names checkpoints by small numbers. Number ``n`` becomes a checkpoint id whose text order is
the order of the numbers, so "latest" is a matter of numbers, not of insertion. Threads, namespaces,
channels and tasks are named by the text that the saver will see (thread ids get a prefix that is
unique to the run). Nothing in a program is a live object, so it can be saved, compared and replayed.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

FORMAT = 1
"""Version of the JSON form of programs. A reader refuses a larger one."""


@dataclass(frozen=True)
class Op:
    """One operation. `lenient` marks inputs that a saver may refuse loudly, changing nothing."""

    name: ClassVar[str]

    def to_json(self) -> dict[str, Any]:
        """The operation as JSON data: its name and the fields that are not defaults."""
        data: dict[str, Any] = {"op": self.name}
        for f in dataclasses.fields(self):
            value = getattr(self, f.name)
            if value != default_of(f):
                data[f.name] = [op.to_json() for op in value] if _holds_ops(value) else value
        return data


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


@dataclass(frozen=True)
class DeleteThread(Op):
    """Delete everything of a thread."""

    name: ClassVar[str] = "delete_thread"
    thread: str = "t"
    handle: int = 0
    lenient: bool = False


@dataclass(frozen=True)
class CopyThread(Op):
    """Copy a thread with its history and writes to an unused thread id."""

    name: ClassVar[str] = "copy_thread"
    thread: str = "t"
    target: str = "copy"
    handle: int = 0
    lenient: bool = False


@dataclass(frozen=True)
class Prune(Op):
    """Prune threads with a strategy. A refusal that changes nothing is always allowed."""

    name: ClassVar[str] = "prune"
    threads: tuple[str, ...] = ("t",)
    strategy: str = "keep_latest"
    handle: int = 0
    lenient: bool = True


@dataclass(frozen=True)
class DeleteForRuns(Op):
    """Delete the checkpoints and writes of runs, named by the metadata key ``run_id``."""

    name: ClassVar[str] = "delete_for_runs"
    runs: tuple[str, ...] = ()
    handle: int = 0
    lenient: bool = False


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


@dataclass(frozen=True)
class Reopen(Op):
    """Close every handle and open the store again."""

    name: ClassVar[str] = "reopen"


@dataclass(frozen=True)
class Mint(Op):
    """Call `get_next_version` `count` times on its own results and compare neighbours."""

    name: ClassVar[str] = "mint"
    count: int = 12
    start: int | float | str | None = None


@dataclass(frozen=True)
class Vanish(Op):
    """Take away the class of the zoo's ``vanishing`` value."""

    name: ClassVar[str] = "vanish"


@dataclass(frozen=True)
class Together(Op):
    """Run each branch in a thread (or task) of its own, all released by one barrier."""

    name: ClassVar[str] = "together"
    ops: tuple[Op, ...] = ()


@dataclass(frozen=True)
class OwnLoop(Op):
    """Call the *sync* half from inside the event loop that drives the saver."""

    name: ClassVar[str] = "own_loop"
    ops: tuple[Op, ...] = ()


OPS: dict[str, type[Op]] = {
    cls.name: cls
    for cls in (
        Put, Writes, Get, List, DeleteThread, CopyThread, Prune, DeleteForRuns, DeltaHistory,
        Reopen, Mint, Vanish, Together, OwnLoop,
    )
}  # fmt: skip

_NESTED = ("inner", "ops")


@dataclass(frozen=True)
class Program:
    """A list of operations, and where it comes from (`origin`: what it once told apart)."""

    ops: tuple[Op, ...]
    origin: str = ""

    def to_json(self) -> dict[str, Any]:
        """The program as JSON data with its format version."""
        data: dict[str, Any] = {"format": FORMAT, "ops": [op.to_json() for op in self.ops]}
        if self.origin:
            data["origin"] = self.origin
        return data

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Program:
        """Read a program. Raises `ValueError` that says what is wrong with the data."""
        version = data.get("format")
        if version != FORMAT:
            raise ValueError(
                f"program format {version!r} is not {FORMAT}, the one this suite reads"
            )
        ops = data.get("ops")
        if not isinstance(ops, list):
            raise ValueError("a program needs a list 'ops'")
        return cls(tuple(op_from_json(item) for item in ops), str(data.get("origin", "")))

    def walk(self) -> Iterator[Op]:
        """Every operation, nested ones included."""
        yield from walk(self.ops)


def program(*ops: Op, origin: str = "") -> Program:
    """Shorthand for a program written by hand."""
    return Program(ops, origin)


def walk(ops: tuple[Op, ...]) -> Iterator[Op]:
    """Every operation of `ops`, each before the ones nested in it."""
    for op in ops:
        yield op
        for name in _NESTED:
            yield from walk(getattr(op, name, ()))


def op_from_json(data: Any) -> Op:
    """Read one operation. Raises `ValueError` for an unknown name or field."""
    if not isinstance(data, dict) or data.get("op") not in OPS:
        raise ValueError(f"not an operation: {data!r:.80}; known are {', '.join(OPS)}")
    cls = OPS[data["op"]]
    known = {f.name for f in dataclasses.fields(cls)}
    values: dict[str, Any] = {}
    for key, value in data.items():
        if key == "op":
            continue
        if key not in known:
            raise ValueError(f"operation {cls.name!r} has no field {key!r}")
        values[key] = _field_from_json(key, value)
    try:
        return cls(**values)
    except TypeError as error:
        raise ValueError(f"operation {cls.name!r}: {error}") from None


def _field_from_json(key: str, value: Any) -> Any:
    if key in _NESTED:
        return tuple(op_from_json(item) for item in value)
    if key == "items":
        return tuple((channel, item) for channel, item in value)
    return tuple(value) if isinstance(value, list) else value


def default_of(f: dataclasses.Field[Any]) -> Any:
    """The default of a dataclass field, or `dataclasses.MISSING`."""
    if f.default_factory is not dataclasses.MISSING:
        return f.default_factory()
    return f.default


def _holds_ops(value: Any) -> bool:
    return isinstance(value, tuple) and bool(value) and isinstance(value[0], Op)


def render(prog: Any) -> str:
    """The program as short lines for people, one operation a line; a case of another shape as its JSON data."""
    if not isinstance(prog, Program):
        return json.dumps(prog.to_json(), ensure_ascii=False)
    return "\n".join(line for op in prog.ops for line in _lines(op, ""))


def _lines(op: Op, indent: str) -> Iterator[str]:
    parts = []
    for f in dataclasses.fields(op):
        value = getattr(op, f.name)
        if f.name in _NESTED or f.name == "lenient" or value == default_of(f):
            continue
        if isinstance(value, (dict, list, tuple)) and len(repr(value)) > 120:
            value = repr(value)[:117] + "..."
        parts.append(
            f"{f.name}={value!r}" if not isinstance(value, str) or f.name not in ("x",) else value
        )
    yield f"{indent}{op.name}({', '.join(parts)})"
    for name in _NESTED:
        for inner in getattr(op, name, ()):
            yield from _lines(inner, indent + "    ")
