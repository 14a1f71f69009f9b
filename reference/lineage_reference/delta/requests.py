"""The body of a request that carries a frame, deflated against what both ends have already.

A gateway remembers the last rows that it sent of each channel, and the server has them in its store: what a
step says repeats much of them. Where the server offers it (``"context": true``), a body says which channels of the
parent step it was deflated against; without that, or after a restart of the gateway, it stands alone.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import Any, NamedTuple

from lineage_reference.delta.blobs import Frame, Pointer, pack_frame
from lineage_reference.delta.codec import Malformed, Reader, number, squeeze, text, unsqueeze
from lineage_reference.delta.rows import WINDOW, Inflater, deflated, first

LEVEL = 9
LINES = 256
"""Threads and namespaces whose last rows a gateway remembers."""


class _Told(NamedTuple):
    """The end of a channel's group as the server has it, up to a place."""

    at: Pointer
    rows: bytes


class Sender:
    """Makes the bodies of one gateway. All methods may be called from any thread."""

    def __init__(self, context: bool = False) -> None:
        self.context = context
        """Whether the server offers to inflate against what it has."""
        self._lines: OrderedDict[tuple[str, str], tuple[str, dict[str, _Told]]] = OrderedDict()
        self._lock = threading.Lock()

    def body(self, frame: Frame) -> bytes:
        """The body for a frame."""
        plain = pack_frame(frame)
        known = self._known(frame)
        if not known or frame.parent is None:
            return squeeze(plain, LEVEL)
        channels = [n for n, name in enumerate(sorted(frame.parent.entries)) if name in known]
        origin = text(frame.parent.place[1]) + text(frame.parent.place[2])
        said = (b"".join(known[name].rows for name in sorted(known)) + origin)[-WINDOW:]
        head = origin + number(len(channels)) + b"".join(map(number, channels)) + number(len(plain))
        return b"\x02" + head + deflated(plain, said, LEVEL)

    def stored(self, frame: Frame) -> None:
        """The server has the frame now: its rows may be referred to."""
        known = self._known(frame)
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
            self._lines[place[:2]] = (place[2], told)
            self._lines.move_to_end(place[:2])
            while len(self._lines) > LINES:
                self._lines.popitem(last=False)

    def _known(self, frame: Frame) -> dict[str, _Told]:
        """What the server has of the channels of the frame's parent, as far as it was sent from here."""
        if not self.context or frame.parent is None:
            return {}
        with self._lock:
            id, told = self._lines.get(frame.step.place[:2], ("", {}))
        entries = frame.parent.entries
        same = id == frame.parent.place[2]
        return {c: t for c, t in told.items() if same and c in entries and entries[c].at == t.at}


def opened(thread: str, body: bytes, store: Any, most: int) -> bytes:
    """The packed frame in a body. Raises `Malformed`, or `LookupError` where it refers to what is not there.

    `store` has `Store.step` and `Store.recent`; nothing larger than `most` bytes is made.
    """
    if body[:1] != b"\x02":
        return unsqueeze(body, most)
    reader = Reader(body)
    reader.at = 1
    parent = store.step((thread, reader.text(), reader.text()))
    origin = body[1 : reader.at]
    if parent is None:
        raise LookupError("the step that the frame refers to is not here")
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
    said = (b"".join(row for at in places for row in rows[at]) + origin)[-WINDOW:]
    return Inflater(said).piece(body[reader.at :], size)
