"""Rows of a chain in deflated form: each is deflated against those before it in its group.

What an agent says next repeats much of what was said just before. So the rows of a chain are deflated as one
stream that is cut after each row, and begun anew every `GROUP` rows: reading one row reads at most
that many, and nothing has to be remembered between two writes. A row is a tag and then

=====  =============================================================================
``0``  the data as it is
``1``  the data deflated on its own (`codec.squeeze`)
``2``  the length of the data, and its part of the group's stream
=====  =============================================================================

The data of every row, whatever its tag, belongs to what later rows of the group may refer to.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Iterable, Sequence

from lineage_reference.delta.codec import COMMON, Malformed, Reader, number, unsqueeze

GROUP = 16
"""Rows in a group; the first of a group has a position that is a multiple of it."""

WINDOW = 1 << 15
"""Bytes that deflate can refer back to."""

_CUT = b"\x00\x00\xff\xff"  # what a flush ends with; it is not stored


def first(pos: int) -> int:
    """The position at which the group of `pos` begins."""
    return pos - pos % GROUP


def deflated(data: bytes, before: bytes, level: int) -> bytes:
    """A piece of a stream that has said `before` already, without its end."""
    said = (COMMON + before)[-WINDOW:]
    packer = zlib.compressobj(level, zlib.DEFLATED, -15, 9, zlib.Z_DEFAULT_STRATEGY, said)
    return (packer.compress(data) + packer.flush(zlib.Z_SYNC_FLUSH))[: -len(_CUT)]


def squeeze_row(data: bytes, before: Sequence[bytes], level: int) -> bytes:
    """The row for `data` whose group holds `before`."""
    packed = b"\x02" + number(len(data)) + deflated(data, b"".join(before), level)
    return packed if len(packed) <= len(data) else b"\x00" + data


class Inflater:
    """Takes the rows of one group in order and gives their data."""

    def __init__(self, before: bytes = b"") -> None:
        said = (COMMON + before)[-WINDOW:]
        self._stream = zlib.decompressobj(-15, zdict=said)

    def row(self, row: bytes) -> bytes:
        """The data of the next row. Raises `Malformed` for other bytes."""
        if row[:1] != b"\x02":
            data = unsqueeze(row)
            self._told(data[-WINDOW:])
            return data
        reader = Reader(row)
        reader.at = 1
        size = reader.number()
        return self.piece(row[reader.at :], size)

    def piece(self, packed: bytes, size: int) -> bytes:
        """`size` bytes out of a piece that `deflated` made. Raises `Malformed`, never gives more or fewer."""
        try:
            data = self._stream.decompress(packed + _CUT, size + 1)
        except zlib.error as error:
            raise Malformed(str(error)) from None
        if len(data) != size or self._stream.unconsumed_tail or self._stream.eof:
            raise Malformed("a row that was cut or changed")
        return data

    def _told(self, data: bytes) -> None:
        """Put data that was not deflated in this stream before what follows: as blocks that are stored plainly."""
        for start in range(0, len(data), WINDOW - 1):
            part = data[start : start + WINDOW - 1]
            size = len(part)
            head = b"\x00" + size.to_bytes(2, "little") + (size ^ 0xFFFF).to_bytes(2, "little")
            self._stream.decompress(head + part)


def unsqueeze_rows(rows: Iterable[bytes], pos: int = 0) -> list[bytes]:
    """The data of rows that follow each other, the first of which begins a group and stands at `pos`."""
    there = list(rows)
    found: list[bytes] = []
    begin = 0
    while begin < len(there):
        stop = begin + GROUP - (pos + begin) % GROUP
        found += _group(there[begin:stop])
        begin = stop
    return found


def _group(rows: Sequence[bytes]) -> list[bytes]:
    """The data of the rows of one group; where all of them are in its stream, it is inflated at once."""
    pieces: list[bytes] = []
    ends = [0]
    for row in rows:
        if row[:1] != b"\x02":
            group = Inflater()
            return [group.row(row) for row in rows]
        reader = Reader(row)
        reader.at = 1
        ends.append(ends[-1] + reader.number())
        pieces.append(row[reader.at :])
    data = Inflater().piece(_CUT.join(pieces), ends[-1])
    return [data[a:b] for a, b in itertools.pairwise(ends)]
