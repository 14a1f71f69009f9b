"""Turns the checkpoints of a run into frames: what changed since the step before, per channel.

It remembers the last step of each thread and namespace in serialized form. Where that is not the step that
a checkpoint goes on from (a restart, another gateway, a fork, a gap), it asks the store, and where the
store does not know it either, every channel begins a new chain.
"""

from __future__ import annotations

import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from lineage_reference.delta.blobs import Entry, Frame, Pointer, Step
from lineage_reference.delta.codec import Malformed, Reader, chunk, text
from lineage_reference.delta.edits import REPLACE, Encoding, Splice, State, Tail, fit
from lineage_reference.delta.parts import Plain, Unfit
from lineage_reference.delta.stores import Missing, Store

LINES = 256
"""Threads and namespaces whose last values are remembered; older ones are asked from the store."""

ENCODINGS: Mapping[str, type[Splice] | type[Tail]] = {"splice": Splice, "tail": Tail}

_SEALED = 0x80  # the rest went through the saver's own serializer, which encrypts


@dataclass(frozen=True)
class Line:
    """The last step of a thread and namespace, with the values that are known without asking."""

    step: Step
    states: Mapping[str, State] = field(default_factory=dict)


class Recorder:
    """Makes frames for a store with one encoding, and reads values back of any encoding."""

    def __init__(self, store: Store, serde: Any, encoding: str = "splice") -> None:
        self.store, self.serde, self.plain = store, serde, Plain(serde)
        self.encoding: Encoding = ENCODINGS[encoding](self.plain)
        self._by_tag: dict[int, Encoding] = {
            made.tag: made for made in (ENCODINGS[name](self.plain) for name in ENCODINGS)
        }
        self._lines: OrderedDict[tuple[str, str], Line] = OrderedDict()
        self._lock = threading.Lock()

    # -- writing ---------------------------------------------------------------------------------

    def frame(
        self,
        place: tuple[str, str, str],
        parent: str | None,
        checkpoint: Mapping[str, Any],
        new_versions: Mapping[str, Any],
        sole: bool = False,
        anew: bool = False,
    ) -> tuple[Frame, Line]:
        """The frame of a checkpoint, and the line to `keep` once it is stored.

        `anew` lets every channel that changed begin a new chain, and inherits nothing.
        """
        line = None if anew or parent is None else self._line(place, parent)
        before = {} if line is None else line.step.entries
        generation = 0 if line is None else line.step.generation
        entries: dict[str, Entry] = {}
        states: dict[str, State] = {}
        data: dict[str, bytes] = {}
        grown = False
        for channel, value in checkpoint["channel_values"].items():
            version = checkpoint["channel_versions"].get(channel)
            if version is None or not fit(value):
                continue
            old = before.get(channel)
            if old is not None and channel not in new_versions and old.version == version:
                entries[channel] = old
                if line is not None and channel in line.states:
                    states[channel] = line.states[channel]
                continue
            known = self._state(place[0], line, channel)
            try:
                edit = self.encoding.encode(value, known)
            except Unfit:
                continue
            if edit is None:
                assert known is not None
                assert old is not None
                entries[channel], states[channel] = Entry(version, old.at), known
                continue
            at = Pointer(secrets.randbits(63), 0)
            if edit.action != REPLACE:
                assert old is not None
                at = Pointer(old.at.chain, old.at.pos + 1)
            entries[channel], states[channel] = Entry(version, at), edit.state
            data[channel] = self._seal(edit.data)
            grown = grown or edit.shrank
        step = Step(place, entries, frozenset(data), generation + grown, sole)
        return Frame(step, None if line is None else line.step, data), Line(step, states)

    def keep(self, line: Line) -> None:
        """Remember a step that was stored."""
        key = line.step.place[:2]
        with self._lock:
            self._lines[key] = line
            self._lines.move_to_end(key)
            while len(self._lines) > LINES:
                self._lines.popitem(last=False)

    def drop(self, thread: str, ns: str | None = None) -> None:
        """Forget what is remembered of a thread, or of one of its namespaces."""
        with self._lock:
            for key in [k for k in self._lines if k[0] == thread and ns in (None, k[1])]:
                del self._lines[key]

    def step(self, place: tuple[str, str, str]) -> Step | None:
        """The step of a checkpoint, from memory if it was the last."""
        line = self._line(place, place[2])
        return None if line is None else line.step

    def _line(self, place: tuple[str, str, str], parent: str) -> Line | None:
        with self._lock:
            line = self._lines.get(place[:2])
        if line is not None and line.step.place[2] == parent:
            return line
        step = self.store.step((*place[:2], parent))
        # A restarted gateway counts generations from 0 again: the store's rows are the authority.
        return None if step is None else Line(replace(step, generation=0))

    def _state(self, thread: str, line: Line | None, channel: str) -> State | None:
        """The serialized form of a channel before this step; None where a new chain has to begin."""
        if line is None or channel not in line.step.entries:
            return None
        if channel in line.states:
            return line.states[channel]
        at = line.step.entries[channel].at
        try:
            encoding, rows = self._opened(self.store.read(thread, [at])[at])
        except Missing:
            return None
        return encoding.resume(rows) if encoding.tag == self.encoding.tag else None

    # -- reading ---------------------------------------------------------------------------------

    def values(self, thread: str, pointers: Mapping[str, Pointer]) -> dict[str, Any]:
        """The values that pointers name. Raises `Missing`, never returns less."""
        chains = self.store.read(thread, list(pointers.values()))
        found: dict[str, Any] = {}
        for channel, pointer in pointers.items():
            encoding, rows = self._opened(chains[pointer])
            found[channel] = encoding.rebuild(rows)
        return found

    # -- sealing ---------------------------------------------------------------------------------

    def _seal(self, data: bytes) -> bytes:
        """The data behind its tag; an encrypting serializer encrypts it as it would encrypt a value."""
        kind, sealed = self.serde.dumps_typed(data)
        if kind == "bytes":
            return bytes((self.encoding.tag,)) + data
        return bytes((self.encoding.tag | _SEALED,)) + text(kind) + chunk(bytes(sealed))

    def _opened(self, rows: list[bytes]) -> tuple[Encoding, list[bytes]]:
        encoding = self._by_tag.get(rows[0][0] & ~_SEALED)
        if encoding is None:
            raise Malformed(f"no encoding has the tag {rows[0][0]}")
        opened: list[bytes] = []
        for row in rows:
            if row[0] & _SEALED:
                reader = Reader(row[1:])
                opened.append(bytes(self.serde.loads_typed((reader.text(), reader.chunk()))))
            else:
                opened.append(row[1:])
        return encoding, opened


Report = Callable[[BaseException], None]
