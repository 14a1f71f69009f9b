"""A watched saver: it tells gates what it has stored, can be slow or fail on request, and can die.

The saver's class is replaced by a subclass made at run time. That is the one way that survives everything an
engine does to a saver: `compile` refuses proxies, and strict msgpack mode copies savers.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from lineage_conformance.graphs.gates import Gates
from lineage_conformance.graphs.shape import owner

_inside: contextvars.ContextVar[bool] = contextvars.ContextVar("lineage_inside", default=False)
"""Whether a call was made by the saver itself: many async methods call their sync twin."""


class Crashed(Exception):
    """The process that made this call is taken to be dead: nothing of it reaches the store."""


class Refused(Exception):
    """A saver call that was told to fail."""


@dataclass
class Life:
    """What one image of a process does to the saver."""

    dead: bool = False
    fails: tuple[str, ...] = ()
    """Tools whose writes the saver refuses."""
    calls: list[tuple[str, str, str, tuple[str, ...]]] = field(default_factory=list)
    """``(what, namespace, checkpoint id, names)``: ``writes`` and ``put`` when they returned, ``put`` with the
    id of the parent; names are tools for writes, and the new checkpoint for puts."""

    raised: list[str] = field(default_factory=list)
    """What the saver raised by itself, as ``put raised Type: message``."""

    @contextlib.contextmanager
    def noting(self, what: str) -> Iterator[None]:
        """Note what the saver raises."""
        try:
            yield
        except Exception as error:
            self.raised.append(f"{what} raised {type(error).__name__}: {str(error)[:200]}")
            raise

    def check(self, names: Sequence[str] = ()) -> None:
        """Raise if this process is dead, or if a write of one of `names` is to fail."""
        if self.dead:
            raise Crashed("the process has ended")
        if set(names) & set(self.fails):
            raise Refused(f"told to refuse the writes of {', '.join(names)}")


def found_in(writes: Sequence[Any]) -> tuple[list[str], list[str]]:
    """The tools whose results, and those whose questions, are among writes of a task."""
    results: list[str] = []
    questions: list[str] = []
    for channel, value in writes:
        if channel == "__interrupt__":
            items = value if isinstance(value, (list, tuple)) else [value]
            questions += [owner(str(getattr(item, "value", item))) for item in items]
        elif channel in ("log", "__return__", "steps"):
            value = value if isinstance(value, list) else getattr(value, "value", value)
            items = value if isinstance(value, list) else [value]
            results += [owner(item) for item in items if isinstance(item, str)]
    return results, questions


@contextlib.contextmanager
def watched(saver: Any, gates: Gates, life: Life | None = None) -> Iterator[Any]:
    """Make `saver` post ``landed:TOOL`` and ``asked:TOOL`` when it has stored what a tool wrote or asked.

    A held gate ``write:TOOL`` keeps the write from being stored until it is opened, ``put:STEP`` the root
    graph's checkpoint of that step. The saver is the same object, of its own class again on exit.
    """
    plain = type(saver)
    saver.__class__ = _subclass(plain, gates, life or Life())
    try:
        yield saver
    finally:
        saver.__class__ = plain


def _subclass(plain: type[Any], gates: Gates, life: Life) -> type[Any]:
    def arrived(config: Any, writes: Sequence[Any]) -> None:
        results, questions = found_in(writes)
        place = config["configurable"]
        life.calls.append(
            ("writes", place.get("checkpoint_ns") or "", place["checkpoint_id"], tuple(results))
        )
        for name in results:
            gates.post("landed", name)
        for name in questions:
            gates.post("asked", name)
        for channel, value in writes:
            if channel == "__error__":
                gates.post("failed", str(value).partition(" was told")[0].rpartition("'")[2])

    def stored(config: Any, checkpoint: Any) -> None:
        place = config["configurable"]
        ns, parent = place.get("checkpoint_ns") or "", place.get("checkpoint_id") or ""
        life.calls.append(("put", ns, parent, (checkpoint["id"],)))

    def gate(config: Any, args: Sequence[Any]) -> str:
        """The gate of a checkpoint of the root graph: ``put:STEP``."""
        if config["configurable"].get("checkpoint_ns") or not args:
            return ""
        return f"put:{args[0].get('step')}"

    def may_write(names: list[str]) -> bool:
        return all(gates.is_open(f"write:{name}") for name in names)

    def put_writes(
        self: Any, config: Any, writes: Sequence[Any], *args: Any, **kwargs: Any
    ) -> None:
        if _inside.get():
            return plain.put_writes(self, config, writes, *args, **kwargs)  # type: ignore[no-any-return]
        names = [name for some in found_in(writes) for name in some]
        for name in names:
            gates.post("reached", f"write:{name}")
        gates.stay(lambda: may_write(names))
        life.check(names)
        with life.noting("put_writes"):
            plain.put_writes(self, config, writes, *args, **kwargs)
        arrived(config, writes)
        return None

    async def aput_writes(
        self: Any, config: Any, writes: Sequence[Any], *args: Any, **kwargs: Any
    ) -> None:
        names = [name for some in found_in(writes) for name in some]
        for name in names:
            gates.post("reached", f"write:{name}")
        await gates.stay_async(lambda: may_write(names))
        life.check(names)
        token = _inside.set(True)
        try:
            with life.noting("aput_writes"):
                await plain.aput_writes(self, config, writes, *args, **kwargs)
        finally:
            _inside.reset(token)
        arrived(config, writes)

    def put(self: Any, config: Any, checkpoint: Any, *args: Any, **kwargs: Any) -> Any:
        if _inside.get():
            return plain.put(self, config, checkpoint, *args, **kwargs)
        if name := gate(config, args):
            gates.post("reached", name)
            gates.stay(lambda: gates.is_open(name))
        life.check()
        with life.noting("put"):
            made = plain.put(self, config, checkpoint, *args, **kwargs)
        stored(config, checkpoint)
        return made

    async def aput(self: Any, config: Any, checkpoint: Any, *args: Any, **kwargs: Any) -> Any:
        if name := gate(config, args):
            gates.post("reached", name)
            await gates.stay_async(lambda: gates.is_open(name))
        life.check()
        token = _inside.set(True)
        try:
            with life.noting("aput"):
                made = await plain.aput(self, config, checkpoint, *args, **kwargs)
        finally:
            _inside.reset(token)
        stored(config, checkpoint)
        return made

    body: dict[str, Any] = {
        "__slots__": (),
        "__module__": plain.__module__,
        "__doc__": plain.__doc__,
    }
    for function in (put, put_writes, aput, aput_writes):
        method = getattr(plain, function.__name__, None)
        if (
            method is not None
        ):  # the engine reads the signature to learn whether a task path is taken
            body[function.__name__] = functools.wraps(method)(function)
    return type(plain.__name__, (plain,), body)
