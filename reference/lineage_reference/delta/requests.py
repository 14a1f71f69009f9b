"""The body of a request that carries a frame, deflated against what both ends have already.

A gateway remembers the last rows that it sent of each channel, and the server has them in its store: what a
step says repeats much of them. Where the server offers it (``"context": true``), a body says which channels of the
parent step it was deflated against; without that, or after a restart of the gateway, it stands alone. The parent
itself is not named as long as it is the newest step of its namespace: an id is a good part of what is new in a step.
"""

from __future__ import annotations

import threading
import zlib
from collections import OrderedDict
from typing import Any, NamedTuple

from lineage_reference.delta.blobs import Frame, Pointer, pack_frame
from lineage_reference.delta.codec import Malformed, Reader, number, squeeze, text, unsqueeze
from lineage_reference.delta.rows import WINDOW, Inflater, deflated, first

LEVEL = 9
LINES = 256
"""Threads and namespaces whose last rows a gateway remembers."""


_NAMED, _NEWEST = b"\x02", b"\x03"
"""How a body begins that does not stand alone: against a step that it names, or against the newest one."""


class _Told(NamedTuple):
    """The end of a channel's group as the server has it, up to a place."""

    at: Pointer
    rows: bytes


class _Line(NamedTuple):
    """The step that was sent last in a thread and namespace, and what the server has of its channels."""

    id: str
    told: dict[str, _Told]


class Sender:
    """Makes the bodies of one gateway. All methods may be called from any thread."""

    def __init__(self, context: bool = False) -> None:
        self.context = context
        """Whether the server offers to inflate against what it has."""
        self._lines: OrderedDict[tuple[str, str], _Line] = OrderedDict()
        self._named: set[tuple[str, str]] = set()  # where what we sent last is not the newest there
        self._lock = threading.Lock()

    def body(self, frame: Frame) -> bytes:
        """The body for a frame."""
        line = self._line(frame)
        if line is None or frame.parent is None:
            return squeeze(pack_frame(frame), LEVEL)
        with self._lock:
            newest = frame.step.place[:2] not in self._named
        plain, known = pack_frame(frame, newest), line.told
        channels = [n for n, name in enumerate(sorted(frame.parent.entries)) if name in known]
        ns, id = frame.parent.place[1:]
        said = _said(ns, id, [known[name].rows for name in sorted(known)])
        origin = text(ns) + (_mark(id) if newest else text(id))
        head = origin + number(len(channels)) + b"".join(map(number, channels)) + number(len(plain))
        return (_NEWEST if newest else _NAMED) + head + deflated(plain, said, LEVEL)

    def stored(self, frame: Frame) -> None:
        """The server has the frame now: its rows may be referred to."""
        line = self._line(frame)
        known = {} if line is None else line.told
        told: dict[str, _Told] = {}
        for channel, entry in frame.step.entries.items():
            before = known.get(channel)
            if channel not in frame.data:
                if before is not None and before.at == entry.at:
                    told[channel] = before
                continue
            data, at = frame.data[channel], entry.at
            if at.pos == first(at.pos):
                told[channel] = _Told(at, data[-WINDOW:])
            elif before is not None and before.at == (at.chain, at.pos - 1):
                told[channel] = _Told(at, (before.rows + data)[-WINDOW:])
        place = frame.step.place
        with self._lock:
            self._lines[place[:2]] = _Line(place[2], told)
            self._lines.move_to_end(place[:2])
            while len(self._lines) > LINES:
                self._named.discard(self._lines.popitem(last=False)[0])

    def lost(self, frame: Frame) -> bool:
        """The server refused the frame. Whether its body relied on what was sent before; the next one does not."""
        line, key = self._line(frame), frame.step.place[:2]
        with self._lock:
            self._lines.pop(key, None)
            if line is not None:
                if len(self._named) >= LINES:
                    self._named.clear()
                self._named.add(key)
        return line is not None

    def _line(self, frame: Frame) -> _Line | None:
        """What was sent last, if that is what the frame goes on from."""
        if not self.context or frame.parent is None:
            return None
        with self._lock:
            line = self._lines.get(frame.step.place[:2])
        if line is None or line.id != frame.parent.place[2]:
            return None
        entries = frame.parent.entries
        told = {c: t for c, t in line.told.items() if c in entries and entries[c].at == t.at}
        return _Line(line.id, told)


def _said(ns: str, id: str, rows: list[bytes]) -> bytes:
    """What a body is deflated against."""
    return (b"".join(rows) + text(ns) + text(id))[-WINDOW:]


def _mark(id: str) -> bytes:
    """Enough of an id to notice that the two ends mean different ones."""
    return zlib.crc32(text(id)).to_bytes(4, "big")[:2]


def opened(thread: str, body: bytes, store: Any, most: int) -> bytes:
    """The packed frame in a body. Raises `Malformed`, or `LookupError` where it refers to what is not there.

    `store` has `Store.step`, `newest` and `recent`; nothing larger than `most` bytes is made.
    """
    if body[:1] not in (_NAMED, _NEWEST):
        return unsqueeze(body, most)
    reader = Reader(body)
    reader.at = 1
    ns = reader.text()
    if body[:1] == _NAMED:
        parent = store.step((thread, ns, reader.text()))
    else:
        parent, mark = store.newest(thread, ns), reader.take(2)
        parent = parent if parent is not None and _mark(parent.place[2]) == mark else None
    if parent is None:
        raise LookupError("the step that the frame refers to is not here, or not the newest")
    names = sorted(parent.entries)
    numbers = [reader.number() for _ in range(min(reader.number(), len(names)))]
    if any(n >= len(names) for n in numbers):
        raise Malformed("a reference to a channel that is not there")
    size = reader.number()
    if size > most:
        raise Malformed("a frame that is too long")
    places = [parent.entries[names[n]].at for n in numbers]
    rows = store.recent(thread, places)
    if len(rows) < len(set(places)):
        raise LookupError("what the frame refers to is not here any more")
    said = _said(ns, parent.place[2], [row for at in places for row in rows[at]])
    return Inflater(said).piece(body[reader.at :], size)
