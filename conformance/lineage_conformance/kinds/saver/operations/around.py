"""Operations around the calls: opening again, minting, a class that vanishes, and calls that are made at once."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from lineage_conformance import zoo
from lineage_conformance.canon import canon
from lineage_conformance.handles import Half
from lineage_conformance.kinds.saver import together
from lineage_conformance.kinds.saver.operations.base import Op, Script
from lineage_conformance.kinds.saver.operations.storing import Put, Writes
from lineage_conformance.kinds.saver.operations.threads import DeleteThread
from lineage_conformance.kinds.saver.session import Session
from lineage_conformance.raised import Raised, guarded


@dataclass(frozen=True)
class Reopen(Op):
    """Close every handle and open the store again."""

    name: ClassVar[str] = "reopen"

    def run(self, on: Session) -> None:
        """Do it."""
        for number in list(on.handles):
            guarded(on.handles.pop(number).close)
        guarded(lambda: on.handle(0))

    def write(self, script: Script) -> None:
        """Open it once more."""
        script.reopen()


@dataclass(frozen=True)
class Mint(Op):
    """Call `get_next_version` `count` times on its own results and compare neighbours."""

    name: ClassVar[str] = "mint"
    count: int = 12
    start: int | float | str | None = None

    def run(self, on: Session) -> None:
        """Mint them."""
        minted: list[Any] = [self.start]
        for _ in range(self.count):
            mint = functools.partial(on.handle(0).saver.get_next_version, minted[-1], None)
            minted.append(guarded(mint))
        fresh = minted[1:]
        pairs = list(itertools.pairwise(fresh))
        on.trace.seen["mint:minted"] += len(pairs)
        if not all(type(a) is type(b) and a < b for a, b in pairs):
            on.differ(self, ("minted",), "each version larger than the last", canon(fresh))

    def write(self, script: Script) -> None:
        """Nothing: only what it answers matters."""

    def source(self, script: Script) -> str:
        """One call."""
        return f"{script.name(0)}.get_next_version(None, None)"


@dataclass(frozen=True)
class Vanish(Op):
    """Take away the class of the zoo's ``vanishing`` value."""

    name: ClassVar[str] = "vanish"

    def run(self, on: Session) -> None:
        """Do it."""
        zoo.vanish()

    def write(self, script: Script) -> None:
        """Do it."""
        script.say("del appmod.Gone  # the next deploy does not have the class any more")


def _call(op: Op, on: Session) -> together.Call:
    """The call of a writing operation with its arguments made, ready to be let go."""
    assert isinstance(op, (Put, Writes, DeleteThread)), "only writing operations run together"
    method, args = op.prepared(on)
    saver = on.handle(op.handle).saver

    def call(half: Half) -> Any:
        return getattr(saver, method if half == "sync" else "a" + method)(*args)

    return call


def _apply(op: Op, on: Session) -> None:
    assert isinstance(op, (Put, Writes, DeleteThread))
    op.applied(on)


@dataclass(frozen=True)
class Together(Op):
    """Run each branch in a thread (or task) of its own, all released by one barrier."""

    name: ClassVar[str] = "together"
    ops: tuple[Op, ...] = ()

    def run(self, on: Session) -> None:
        """Run the branches at once; afterwards the model runs them one by one."""
        calls = [_call(op, on) for op in self.ops]
        errors = together.at_once(on.handle(0).loop, on.writer, calls)
        for op, error in zip(self.ops, errors, strict=False):
            if error is not None:
                on.failed(op, Raised(error))
            else:
                _apply(op, on)

    def write(self, script: Script) -> None:
        """Every branch at once, released by a barrier where there are threads."""
        if script.writer == "async":
            script.need("asyncio")
            calls = [op.source(script).removeprefix("await ") for op in self.ops]
            script.say(f"await asyncio.gather({', '.join(calls)})")
            return
        script.need("from concurrent.futures import ThreadPoolExecutor", "threading")
        with_sync = _synchronous(script, lambda: [op.source(script) for op in self.ops])
        script.say(f"calls = [{', '.join(f'lambda: {call}' for call in with_sync)}]")
        script.say(f"gate = threading.Barrier({len(self.ops)})")
        script.say(f"with ThreadPoolExecutor({len(self.ops)}) as pool:")
        script.say("list(pool.map(lambda call: (gate.wait(), call()), calls))", 1)


@dataclass(frozen=True)
class OwnLoop(Op):
    """Call the *sync* half from inside the event loop that drives the saver."""

    name: ClassVar[str] = "own_loop"
    ops: tuple[Op, ...] = ()

    def run(self, on: Session) -> None:
        """A sync call inside the saver's own loop answers or refuses; it must not hang."""
        loop = on.handle(0).loop
        for op in self.ops:
            work = functools.partial(_call(op, on), "sync")
            try:
                guarded(functools.partial(loop.call, work))
            except Raised as raised:
                on.trace.refused.append((on.at, str(raised)))
            else:
                _apply(op, on)

    def write(self, script: Script) -> None:
        """The sync half, called from inside the loop that drives the saver; it may refuse."""
        script.need("contextlib")
        was, script.writer = script.writer, "sync"
        for op in self.ops:
            (text,) = _synchronous(script, lambda op=op: [op.source(script)])  # type: ignore[misc]
            script.say("with contextlib.suppress(Exception):  # a refusal is fine")
            script.say(text, 1)
        script.writer = was


def _synchronous(script: Script, made: Callable[[], list[str]]) -> list[str]:
    """Calls that wait for nothing: in a thread of their own, or where the loop may not turn."""
    was, script.is_async = script.is_async, False
    try:
        return made()
    finally:
        script.is_async = was
