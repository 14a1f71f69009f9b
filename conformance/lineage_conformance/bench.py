"""The bench: what a law's `check` has to work with. One example, one face, one open store."""

from __future__ import annotations

import itertools
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from lineage_conformance.canon import canon, differences
from lineage_conformance.handles import Face, Handle, Loop, halves
from lineage_conformance.trace import Diff

_numbers = itertools.count(1)


class Bench:
    """Handles on one store under names that nobody else uses.

    `referee` makes a fresh strict reference of the target's kind, for laws that compare; it is None where
    no reference was given. `beat` must be called with a growing number before each step that may hang.
    Every comparison goes through `compare` or `compare_trees`, so that what was never compared is known.
    """

    def __init__(
        self,
        opener: Callable[[], Handle],
        face: Face,
        beat: Callable[[int], None],
        handles: dict[int, Handle],
        referee: Callable[[], Any] | None = None,
    ) -> None:
        self.face, self.beat, self.referee = face, beat, referee
        self.writer, self.reader = halves(face)
        self._opener, self._handles = opener, handles
        self._watcher: Callable[[Any], Any] = lambda saver: saver
        self.seen: Counter[str] = Counter()
        """How often each field was compared, see `Trace.seen`."""
        self.cut = ""
        """What the target raised, so that the case ended early."""
        self.lacks = ""
        """What is not there, so that the case could not be played at all."""
        self.nonce = f"{next(_numbers):04x}{uuid.uuid4().hex[:8]}"

    def handle(self, number: int = 0) -> Handle:
        """Handle `number` on the store, opened when it is first asked for."""
        if number not in self._handles:
            made = self._opener()
            self._watcher(made.saver)
            self._handles[number] = made
        return self._handles[number]

    def watch(self, watcher: Callable[[Any], Any]) -> None:
        """Show what is opened from now on to `watcher`, each saver before it is used, e.g. to a recorder."""
        self._watcher = watcher

    @property
    def subject(self) -> Any:
        """What the target's factory gave: the saver, or the backend of another kind."""
        return self.handle(0).saver

    @property
    def loop(self) -> Loop:
        """The event loop in which the async half runs."""
        return self.handle(0).loop

    def reopen(self) -> Any:
        """Close every handle, open the store again, and return the new subject."""
        for number in list(self._handles):
            self._handles.pop(number).close()
        return self.subject

    def name(self, label: str) -> str:
        """A thread id (or any other name) that is unique to this example."""
        return f"{self.nonce}-{label}"

    # -- comparing ---------------------------------------------------------------------------------

    def observed(self, kind: str, *path: str) -> None:
        """Count a comparison that the subject could have failed with a `Diff` of this kind and path."""
        self.seen[f"{kind}:{'.'.join(path)}"] += 1

    def compare(
        self, op: int, kind: str, path: tuple[str, ...], expected: Any, got: Any
    ) -> Iterator[Diff]:
        """Compare two values as wholes: one difference, or none. Counts."""
        self.observed(kind, *path)
        if canon(expected) != canon(got):
            yield Diff(op, kind, path, expected, got)

    def compare_trees(
        self, op: int, kind: str, path: tuple[str, ...], expected: Any, got: Any
    ) -> Iterator[Diff]:
        """Compare two canonical trees: a difference for each place. Counts."""
        self.observed(kind, *path)
        for found in differences(expected, got, path):
            yield Diff(op, kind, found.path, found.expected, found.got)
