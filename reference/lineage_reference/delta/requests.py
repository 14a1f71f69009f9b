"""The body of a request that carries a frame, squeezed against what both ends have already.

A gateway remembers the last rows that it sent of each channel, and the server has them in its store: what a
step says repeats much of them. Where the server offers it (``"context": ["deflate", "zstd"]``), a body says how many
rows of which channels of the parent step it was squeezed against; without that, or after a restart of the gateway, it
stands alone. The parent itself is not named as long as it is the newest step of its namespace: an id is a good
part of what is new in a step.

Such a body begins with a byte whose lowest bits say which parent is meant and which coding was used, then come the
namespace (left out for the root), the parent's id or a mark of it, channels and rows, and the length of the frame.
"""

from __future__ import annotations

import threading
import zlib
from collections import OrderedDict
from collections.abc import Iterable
from typing import Any, NamedTuple

from lineage_reference.delta.blobs import Frame, Pointer, pack_frame
from lineage_reference.delta.codec import Malformed, Reader, number, squeeze, text, unsqueeze
from lineage_reference.delta.context import CODINGS

LINES = 128
"""Threads and namespaces whose last rows a gateway remembers."""

ROWS, BYTES = 127, 1 << 16
"""How many rows of a channel it remembers, and of what size together."""

_CONTEXT, _NEWEST, _ROOT, _ZSTD = (
    2,
    4,
    8,
    16,
)  # bits of the first byte; 0 and 1 are bodies that stand alone


class _Told(NamedTuple):
    """The last rows of a channel as the server has them, up to a place."""

    at: Pointer
    rows: tuple[bytes, ...]

    def then(self, at: Pointer, row: bytes) -> _Told:
        """With one row more."""
        rows = (*self.rows[-ROWS + 1 :], row)
        size = sum(map(len, rows))
        first = 0
        while size > BYTES and first < len(rows) - 1:
            size -= len(rows[first])
            first += 1
        return _Told(at, rows[first:])


class _Line(NamedTuple):
    """The step that was sent last in a thread and namespace, and what the server has of its channels."""

    id: str
    told: dict[str, _Told]


class Sender:
    """Makes the bodies of one gateway. All methods may be called from any thread."""

    def __init__(self, context: Iterable[str] = ()) -> None:
        self.context = frozenset(context)
        """The codings that the server offers."""
        self._lines: OrderedDict[tuple[str, str], _Line] = OrderedDict()
        self._named: set[tuple[str, str]] = set()  # where what we sent last is not the newest there
        self._lock = threading.Lock()

    @property
    def codings(self) -> list[str]:
        """The codings that both ends have."""
        return [name for name in CODINGS if name in self.context]

    def body(self, frame: Frame) -> bytes:
        """The body for a frame."""
        line = self._line(frame)
        if line is None or frame.parent is None:
            return squeeze(pack_frame(frame), 9)
        with self._lock:
            newest = frame.step.place[:2] not in self._named
        plain = pack_frame(frame, newest)
        ns, id = frame.parent.place[1:]
        names = sorted(frame.parent.entries)
        known = [(n, line.told[name].rows) for n, name in enumerate(names) if name in line.told]
        head = [text(ns) if ns else b"", _mark(id) if newest else text(id)]
        head += [number(len(known)), *(number(n) + number(len(rows)) for n, rows in known)]
        head.append(number(len(plain)))
        flags = _CONTEXT | newest * _NEWEST | (not ns) * _ROOT
        bodies = []
        for coding in self.codings:
            said = _said(coding, id, [rows for _, rows in known])
            start = bytes((flags | (coding == "zstd") * _ZSTD,))
            bodies.append(b"".join((start, *head, CODINGS[coding].pack(plain, said))))
        return min(bodies, key=len)

    def stored(self, frame: Frame) -> None:
        """The server has the frame now: its rows may be referred to."""
        line = self._line(frame)
        known = {} if line is None else line.told
        told: dict[str, _Told] = {}
        for channel, entry in frame.step.entries.items():
            before, at = known.get(channel), entry.at
            if channel not in frame.data:
                if before is not None and before.at == at:
                    told[channel] = before
            elif before is not None and before.at == (at.chain, at.pos - 1):
                told[channel] = before.then(at, frame.data[channel])
            else:
                told[channel] = _Told(at, (frame.data[channel],))
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
        if not self.codings or frame.parent is None:
            return None
        with self._lock:
            line = self._lines.get(frame.step.place[:2])
        if line is None or line.id != frame.parent.place[2]:
            return None
        entries = frame.parent.entries
        told = {c: t for c, t in line.told.items() if c in entries and entries[c].at == t.at}
        return _Line(line.id, told)


def _said(coding: str, id: str, rows: Iterable[Iterable[bytes]]) -> bytes:
    """What a body is squeezed against: of each channel's rows an equal share, the last ones, and the parent's id."""
    parts = [b"".join(each) for each in rows]
    share = (CODINGS[coding].window - 64) // max(len(parts), 1)
    return b"".join(part[-share:] for part in parts) + text(id)


def _mark(id: str) -> bytes:
    """Enough of an id to notice that the two ends mean different ones."""
    return zlib.crc32(text(id)).to_bytes(4, "big")[:2]


def opened(thread: str, body: bytes, store: Any, most: int) -> bytes:
    """The packed frame in a body. Raises `Malformed`, or `LookupError` where it refers to what is not there.

    `store` has `Store.step`, `newest` and `recent`; nothing larger than `most` bytes is made.
    """
    flags = body[0] if body else 0
    if not flags & _CONTEXT:
        return unsqueeze(body, most)
    reader = Reader(body)
    reader.at = 1
    ns = "" if flags & _ROOT else reader.text()
    if flags & _NEWEST:
        parent, mark = store.newest(thread, ns), reader.take(2)
        parent = parent if parent is not None and _mark(parent.place[2]) == mark else None
    else:
        parent = store.step((thread, ns, reader.text()))
    coding = "zstd" if flags & _ZSTD else "deflate"
    if parent is None or coding not in CODINGS:
        raise LookupError("the step that the frame refers to is not here, or not the newest")
    names = sorted(parent.entries)
    spans: list[tuple[Pointer, int]] = []
    for _ in range(reader.number()):
        channel, count = reader.number(), reader.number()
        if channel >= len(names) or not 0 < count <= ROWS:
            raise Malformed("a reference to rows that there are not")
        spans.append((parent.entries[names[channel]].at, count))
    size = reader.number()
    if size > most:
        raise Malformed("a frame that is too long")
    found = store.recent(thread, spans)
    if len(found) < len(spans):
        raise LookupError("what the frame refers to is not here any more")
    said = _said(coding, parent.place[2], found)
    return CODINGS[coding].unpack(body[reader.at :], said, size)
