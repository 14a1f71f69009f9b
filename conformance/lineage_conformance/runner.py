"""Running a case of a law on stores of one target. It says what was seen, and judges nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lineage_conformance.bench import Bench
from lineage_conformance.handles import Face, Handle, Loop
from lineage_conformance.kinds.saver.session import Declared, Session
from lineage_conformance.law import Law
from lineage_conformance.trace import Trace

STORE_AGE = 200
"""Programs on one store before a new one is taken: old rows slow `list(None)` down."""


class Stores:
    """Fresh stores and handles for one target; `opener(key)` opens a handle on the store `key`."""

    def __init__(
        self,
        opener: Callable[[int], Handle],
        drop: Callable[[int], None] = lambda k: None,
        declared: Declared | None = None,
        loop: Loop | None = None,
    ) -> None:
        self._loop = loop
        self._opener, self._drop, self.declared = opener, drop, declared or Declared()
        self._key, self._age = 0, STORE_AGE
        self.handles: dict[int, Handle] = {}

    def session(self, face: Face, beat: Callable[[int], None]) -> Session:
        """A session with fresh thread ids on the current store, or on a new one when that is old."""
        key = self._current()
        return Session(lambda: self._opener(key), face, beat, self.handles, self.declared)

    def bench(
        self, face: Face, beat: Callable[[int], None], referee: Callable[[], Any] | None
    ) -> Bench:
        """A bench under fresh names on the current store, or on a new one when that is old."""
        key = self._current()
        return Bench(lambda: self._opener(key), face, beat, self.handles, referee)

    def _current(self) -> int:
        if self._age >= STORE_AGE:
            self.renew()
        self._age += 1
        return self._key

    @property
    def loop(self) -> Loop:
        """The event loop of the handles."""
        if self._loop is None:
            self._loop = next(iter(self.handles.values())).loop
        return self._loop

    def renew(self) -> None:
        """Close what is open and take a new store."""
        self.close()
        self._key += 1
        self._age = 0

    def close(self) -> None:
        """Close every handle and drop the store."""
        for handle in self.handles.values():
            try:
                handle.close()
            except Exception:
                continue
        self.handles.clear()
        if self._key:
            self._drop(self._key)


class Runner:
    """Runs cases of laws on the stores of one target.

    `beat` is told the case and the step before each step. `referee` makes the strict reference, for laws that
    compare.
    """

    def __init__(
        self,
        stores: Stores,
        beat: Callable[[Any, int], None] = lambda case, step: None,
        referee: Callable[[], Any] | None = None,
    ) -> None:
        self.stores, self._beat, self.referee = stores, beat, referee

    def beating(self, case: Any) -> Callable[[int], None]:
        """What a session or bench is to call before each step: the saver is at work on `case`."""
        return lambda step: self._beat(case, step)

    def run(self, law: Law, case: Any, face: Face) -> Trace:
        """Run one case under fresh names."""
        beat = self.beating(case)
        if law.check is None:
            return self.stores.session(face, beat).run(case)
        bench = self.stores.bench(face, beat, self.referee)
        diffs = list(law.check(bench, case))
        return Trace(diffs, seen=bench.seen, cut=bench.cut, lacks=bench.lacks)
