"""The heartbeat: a small shared file in which a worker says what it is doing.

A worker that hangs cannot answer, and one that dies takes its buffers along. So before each operation it
writes a counter, the index of the operation, and (when it changes) the program, into a mapped file. That costs
well under a microsecond and no system call. The supervisor reads it whenever it likes.
"""

from __future__ import annotations

import json
import mmap
import struct
from pathlib import Path
from typing import NamedTuple

SIZE = 1 << 18
_HEAD = struct.Struct("<QII")

SUITE = 0xFFFFFFFF
"""The operation of a worker whose suite is at work, and not the target."""


CLOSED = 71
"""Exit status of a worker that finds its channel closed by the target."""


class Beat(NamedTuple):
    """What the worker was doing: `steps` grows with every operation; `text` is the program as JSON."""

    steps: int
    op: int
    text: str


class Heartbeat:
    """One mapped file, written by the worker, read by the supervisor."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with open(path, "r+b") as file:
            self._map = mmap.mmap(file.fileno(), SIZE)
        self._count = 0

    @classmethod
    def create(cls, path: Path) -> Heartbeat:
        """A new, zeroed file. Raises `OSError` where there is no room for it."""
        with path.open("xb") as file:
            file.write(bytes(SIZE))  # a file with holes would end the process when the disk is full
        return cls(path)

    def program(self, text: bytes) -> None:
        """Say which program runs next."""
        text = text[: SIZE - _HEAD.size]
        self._map[_HEAD.size : _HEAD.size + len(text)] = text
        self._count += 1
        _HEAD.pack_into(self._map, 0, self._count, 0, len(text))

    def probe(self, what: str) -> None:
        """Say what is asked of the target before it is judged."""
        self.program(json.dumps({"probe": what}).encode())

    def op(self, index: int) -> None:
        """Say which operation of the program runs next."""
        self._count += 1
        _, _, length = _HEAD.unpack_from(self._map, 0)
        _HEAD.pack_into(self._map, 0, self._count, index, length)

    def suite(self) -> None:
        """Say that the suite is at work: it makes programs."""
        self.op(SUITE)

    def read(self) -> Beat:
        """What was written last."""
        count, op, length = _HEAD.unpack_from(self._map, 0)
        text = self._map[_HEAD.size : _HEAD.size + min(length, SIZE - _HEAD.size)]
        return Beat(count, op, text.decode("utf-8", "replace"))

    def close(self) -> None:
        """Unmap the file."""
        self._map.close()
