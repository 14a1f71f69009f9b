"""What every operation of a program is: plain data that knows how it runs, reads and is written as source.

An operation is one class. It calls the saver and the model (`run`), and it is a line of a stand-alone script
(`source`); JSON and words follow from its fields.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from lineage_conformance.handles import Half
from lineage_conformance.kinds.saver.session import Name, Session

NESTED = ("inner", "ops")
"""Fields that hold operations."""

_PLAIN = re.compile(r"[A-Za-z0-9_.-]{1,128}")
_PLAIN_NS = re.compile(r"[A-Za-z0-9_.:|-]{0,128}")
_ENGINE = re.compile(r"branch:to:[A-Za-z0-9_]+|~__pregel_[a-z]+, [A-Za-z0-9_, ]+|")
"""Texts that LangGraph itself writes as channels and task paths."""

Place = tuple[str, str, int]
"""Thread, namespace and number of a checkpoint, as a program names them."""


class Script(Protocol):
    """The script that an operation is written into: what was stored so far, and the names of things in it."""

    is_async: bool
    """Whether the body is a coroutine."""
    writer: Half
    """The half that writes, and the one that reads."""
    reader: Half
    values: dict[Place, dict[str, Any]]
    """Channel values of each checkpoint."""
    versions: dict[Place, dict[str, tuple[int, str]]]
    """Channel versions: which one in the order of minting, and its name."""
    returned: dict[Place, str]
    """Names of configs that were returned."""
    wanted: set[Place]
    """Checkpoints whose returned config is used later."""
    helpers: set[str]
    """Functions that stand at the top: ``at``, ``cid``, ``cp``."""

    def say(self, text: str, deeper: int = 0) -> None:
        """Add a line."""

    def need(self, *imports: str) -> None:
        """Import at the top."""

    def name(self, handle: int) -> str:
        """The name of a handle, opened here where it is used for the first time."""

    def reopen(self) -> None:
        """Close every handle and open the store again."""

    def call(self, half: Half, handle: int, method: str, arguments: Iterable[str]) -> str:
        """The expression that calls a method of one half and waits for its answer."""

    def thread(self, label: str) -> str:
        """The thread id for a label."""

    def config(self, op: Any, id: int | None) -> str:
        """The config that an operation names."""

    def value(self, value: Any) -> str:
        """A value of a program; what it needs is imported or defined at the top."""

    def literal(self, text: str) -> str:
        """A text."""

    def mint(self, handle: int, current: str) -> str:
        """The name of a version that is minted here after `current`."""


@dataclass(frozen=True)
class Op:
    """One operation. `lenient` marks inputs that a saver may refuse loudly, changing nothing."""

    name: ClassVar[str]

    def run(self, on: Session) -> None:
        """Call the saver, let the model do the same, and note what differs. Raises `Raised`."""
        raise NotImplementedError

    def source(self, script: Script) -> str:
        """The expression of the call in a script. Raises `TypeError` for what is no single call."""
        raise TypeError(f"{self.name} is no single call")

    def write(self, script: Script) -> None:
        """Add the lines of the operation to a script where its answer does not matter."""
        script.say(self.source(script))

    def names(self) -> Iterator[Name]:
        """The names in it that a saver has to keep apart, as (what, text)."""
        threads = (
            getattr(self, "thread", None),
            *getattr(self, "threads", ()),
            getattr(self, "target", None),
        )
        yield from (("thread", text) for text in threads if text is not None)
        ns = getattr(self, "ns", None)
        if ns is not None:
            yield "ns", ns
        yield from (("channel", text) for text in getattr(self, "channels", ()))

    def values(self) -> list[Any]:
        """What it stores in channels."""
        return []

    def odd(self) -> frozenset[Name]:
        """The names that a saver of plain text may refuse."""
        return frozenset(name for name in self.names() if not _is_plain(*name))

    def odd_filter(self) -> bool:
        """Whether it filters on keys or values that a saver may refuse."""
        return False

    def to_json(self) -> dict[str, Any]:
        """The operation as JSON data: its name and the fields that are not defaults."""
        data: dict[str, Any] = {"op": self.name}
        for f in dataclasses.fields(self):
            value = getattr(self, f.name)
            if value != default_of(f):
                data[f.name] = [op.to_json() for op in value] if _holds_ops(value) else value
        return data

    def words(self, indent: str = "") -> Iterator[str]:
        """The operation as short lines for people."""
        parts = []
        for f in dataclasses.fields(self):
            value = getattr(self, f.name)
            if f.name in NESTED or f.name == "lenient" or value == default_of(f):
                continue
            shown = repr(value)
            if isinstance(value, (dict, list, tuple)) and len(shown) > 120:
                shown = repr(shown[:117] + "...")
            parts.append(f"{f.name}={shown}")
        yield f"{indent}{self.name}({', '.join(parts)})"
        for name in NESTED:
            for inner in getattr(self, name, ()):
                yield from inner.words(indent + "    ")


def default_of(f: dataclasses.Field[Any]) -> Any:
    """The default of a dataclass field, or `dataclasses.MISSING`."""
    if f.default_factory is not dataclasses.MISSING:
        return f.default_factory()
    return f.default


def _holds_ops(value: Any) -> bool:
    return isinstance(value, tuple) and bool(value) and isinstance(value[0], Op)


def _is_plain(what: str, text: str) -> bool:
    if what == "ns":
        return bool(_PLAIN_NS.fullmatch(text))
    engine = what != "thread" and _ENGINE.fullmatch(text)
    return bool(_PLAIN.fullmatch(text) or engine)
