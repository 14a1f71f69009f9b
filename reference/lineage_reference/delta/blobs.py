"""Records of the blob store, and the binary form of the frame that a gateway sends for one step.

A **chain** is what one channel went through since its base: blob 0 stands alone, each other one goes on top of the
one before it. A **pointer** names a place in a chain, and so a value. A **step** lists the pointers of all
channels of one checkpoint, also of those that did not change: so a head is read with one ordered query, a
generation refers to what it inherits, and forks that share a beginning share its rows. A **frame** is a
step together with the blobs that are new in it.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from lineage_reference.delta.codec import Malformed, Reader, chunk, number, text, version
from lineage_reference.delta.edits import APPEND, REPLACE

FORMAT = 1
"""Version of the frame, up to 15. A server refuses another one."""


class Pointer(NamedTuple):
    """A place in a chain. `chain` is a random number of 63 bits, `pos` counts from the base."""

    chain: int
    pos: int


class Entry(NamedTuple):
    """Where the value of a channel is, and the version that the channel has there."""

    version: Any
    at: Pointer


Place = tuple[str, str, str]
"""Thread id, namespace, checkpoint id."""


@dataclass(frozen=True)
class Step:
    """What one checkpoint consists of."""

    place: Place
    entries: Mapping[str, Entry]
    new: frozenset[str] = frozenset()
    """Channels whose blob came with this step."""
    generation: int = 0
    """``current_thread``: grows when a list shrinks. A hint only, a restart begins at 0 again."""
    sole: bool = False
    """Whether the checkpoint itself lacks these channels, so that the blobs are the only copy."""
    created: int = 0
    """Seconds since the epoch, set by the store."""


@dataclass(frozen=True)
class Frame:
    """A step, the step that it came from (None: nothing is inherited) and the data of its new blobs."""

    step: Step
    parent: Step | None
    data: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True)
class Blob:
    """One blob as its store lists it."""

    thread_id: str
    checkpoint_ns: str
    checkpoint_id: str
    channel: str
    version: Any
    step_action: str
    """``conversation``: goes on top of the blob before it in its chain. ``compaction``: stands alone."""
    current_thread: int
    pointer: Pointer
    size: int
    """Bytes of its data, before the store squeezes them."""


def listed(step: Step, sizes: Mapping[Pointer, int]) -> list[Blob]:
    """The blobs that came with a step; `sizes` has those that are still there."""
    return [
        Blob(
            *step.place,
            channel,
            step.entries[channel].version,
            REPLACE if step.entries[channel].at.pos == 0 else APPEND,
            step.generation,
            step.entries[channel].at,
            sizes[step.entries[channel].at],
        )
        for channel in sorted(step.new)
        if step.entries[channel].at in sizes
    ]


# -- a step, as stores keep it ----------------------------------------------------------------------


def pack_step(step: Step) -> bytes:
    """The step without its place and time. A version that several channels share is written once."""
    versions: dict[bytes, int] = {}
    rows: list[bytes] = []
    for channel, entry in sorted(step.entries.items()):
        index = versions.setdefault(version(entry.version), len(versions))
        head = number(index << 1 | (channel in step.new))
        rows.append(text(channel) + head + entry.at.chain.to_bytes(8, "big") + number(entry.at.pos))
    flags = number(step.generation << 1 | step.sole)
    return b"".join((flags, number(len(versions)), *versions, *rows))


def unpack_step(place: Place, data: bytes, created: int) -> Step:
    """The step that `pack_step` was given."""
    reader = Reader(data)
    flags = reader.number()
    versions = [reader.version() for _ in range(reader.number())]
    entries: dict[str, Entry] = {}
    new: set[str] = set()
    while not reader.done:
        channel, head = reader.text(), reader.number()
        chain = int.from_bytes(reader.take(8), "big")
        entries[channel] = Entry(versions[head >> 1], Pointer(chain, reader.number()))
        if head & 1:
            new.add(channel)
    return Step(place, entries, frozenset(new), flags >> 1, bool(flags & 1), created)


# -- a frame, as requests carry it ------------------------------------------------------------------

_GOES_ON, _BEGINS, _SAME, _GONE = range(4)

_NONE, _NAMED, _NEWEST = range(3)  # how a frame says what it goes on from
_ROOT = 0x40  # the namespace is the root's


def pack_frame(frame: Frame, newest: bool = False) -> bytes:
    """The body of one request, whose address names the thread.

    Channels that go on are named by their number in the parent's list. `newest` leaves the parent's id out: it is
    the newest step of the namespace, and the checksum says whether both ends mean the same one.
    """
    step, parent = frame.step, frame.parent
    before = {} if parent is None else parent.entries
    order = {channel: index for index, channel in enumerate(sorted(before))}
    versions: dict[bytes, int] = {}
    rows: list[bytes] = []

    def row(kind: int, what: bytes) -> None:
        rows.append(number(kind) + what)

    for channel in order:
        if channel not in step.entries:
            row(_GONE, number(order[channel]))
    for channel, entry in step.entries.items():
        index = number(versions.setdefault(version(entry.version), len(versions)))
        old = before.get(channel)
        if channel in step.new:
            if old is not None and entry.at == (old.at.chain, old.at.pos + 1):
                row(_GOES_ON, number(order[channel]) + index + chunk(frame.data[channel]))
            else:
                name = text(channel) + index + entry.at.chain.to_bytes(8, "big")
                row(_BEGINS, name + number(entry.at.pos) + chunk(frame.data[channel]))
        elif old is None:
            raise ValueError(f"{channel!r} is inherited from nothing")
        elif old != entry:
            row(_SAME, number(order[channel]) + index)
    origin = _NONE if parent is None else _NEWEST if newest else _NAMED
    _, ns, id = step.place
    head = [
        bytes((FORMAT | origin << 4 | (0 if ns else _ROOT),)),
        text(ns) if ns else b"",
        text(id),
    ]
    if parent is not None and not newest:
        head.append(text(parent.place[2]))
    whole = b"".join(
        (*head, number(step.generation << 1 | step.sole), number(len(versions)), *versions, *rows)
    )
    return whole + _checksum(whole, "" if parent is None else parent.place[2])


def _checksum(whole: bytes, parent: str) -> bytes:
    return zlib.crc32(parent.encode("utf-8", "surrogatepass"), zlib.crc32(whole)).to_bytes(4, "big")


def unpack_frame(
    thread: str,
    data: bytes,
    parent_of: Callable[[Place], Step | None],
    newest_of: Callable[[str, str], Step | None] = lambda thread, ns: None,
) -> Frame:
    """The frame of a request. `newest_of` finds the newest step of a thread and namespace.

    Raises `Malformed`, or `LookupError` where its parent is not there or not the newest.
    """
    if len(data) < 5:
        raise Malformed("a frame that was cut")
    whole, reader = data[:-4], Reader(data[:-4])
    kind = reader.take(1)[0]
    if kind & 0x0F != FORMAT or kind >> 4 & 3 > _NEWEST:
        raise Malformed("a frame of another format")
    origin = kind >> 4 & 3
    try:
        ns = "" if kind & _ROOT else reader.text()
        place = (thread, ns, reader.text())
        after = reader.text() if origin == _NAMED else ""
    except UnicodeDecodeError:
        raise Malformed("a name that is no text") from None
    parent = None
    if origin == _NEWEST:
        parent = newest_of(thread, ns)
        if parent is None or _checksum(whole, parent.place[2]) != data[-4:]:
            raise LookupError("the step that the frame goes on from is not the newest here")
    elif _checksum(whole, after) != data[-4:]:
        raise Malformed("a frame that was cut or changed on its way")
    elif origin == _NAMED:
        parent = parent_of((thread, ns, after))
        if parent is None:
            raise LookupError("the step that the frame goes on from is not here")
    flags = reader.number()
    versions = [reader.version() for _ in range(reader.number())]
    order: Sequence[str] = [] if parent is None else sorted(parent.entries)
    entries = {} if parent is None else dict(parent.entries)
    new: dict[str, bytes] = {}
    while not reader.done:
        row = reader.number()
        if row == _BEGINS:
            channel, index = reader.text(), reader.number()
            chain = int.from_bytes(reader.take(8), "big")
            entries[channel] = Entry(versions[index], Pointer(chain, reader.number()))
            new[channel] = reader.chunk()
            continue
        channel = order[reader.number()]
        if row == _GONE:
            del entries[channel]
            continue
        at = entries[channel].at
        if row == _GOES_ON:
            at = Pointer(at.chain, at.pos + 1)
        entries[channel] = Entry(versions[reader.number()], at)
        if row == _GOES_ON:
            new[channel] = reader.chunk()
    step = Step(place, entries, frozenset(new), flags >> 1, bool(flags & 1))
    return Frame(step, parent, new)
