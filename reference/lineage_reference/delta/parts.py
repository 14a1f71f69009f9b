"""Lists in serialized form, item by item, and the edit script from one to another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from lineage_reference.delta import script


class Unfit(Exception):
    """A value that cannot become a blob: another shape, or a serializer that does not write msgpack."""


class Plain:
    """Serializes values and single items with the saver's own serializer, as bare msgpack."""

    def __init__(self, serde: Any) -> None:
        self.serde = getattr(serde, "serde", serde)  # under an encrypting one lies the plain one

    def dump(self, value: Any) -> bytes:
        """The msgpack of a value. Raises `Unfit` where the serializer chose another format."""
        kind, data = self.serde.dumps_typed(value)
        if kind != "msgpack":
            raise Unfit(f"serialized as {kind}")
        return bytes(data)

    def load(self, data: bytes) -> Any:
        """The value of some msgpack."""
        return self.serde.loads_typed(("msgpack", data))

    def item(self, value: Any) -> bytes:
        """The msgpack of one item, as it stands inside a list."""
        return self.dump([value])[1:]


class Part(NamedTuple):
    """One list in serialized form: its items without the head, and where each ends."""

    data: bytes
    ends: Sequence[int]

    @classmethod
    def of(cls, items: Sequence[bytes]) -> Part:
        """The part that consists of these items."""
        return cls(b"".join(items), list(accumulate(map(len, items))))

    def items(self, first: int = 0, stop: int | None = None) -> list[bytes]:
        """The items from `first` up to `stop`, each in serialized form."""
        ends = self.ends[first:stop]
        starts = (self.ends[first - 1] if first else 0, *ends)
        return [self.data[a:b] for a, b in zip(starts, ends, strict=False)]


EMPTY = Part(b"", ())


class Change(NamedTuple):
    """Old items that new ones took the place of; what stands between two changes is the same."""

    first: int
    """The first old item that went; where none went, the old item before which new ones came."""
    stop: int
    """The old item that follows those that went."""
    fresh: list[bytes]
    """The new items, in serialized form."""


def align(
    old: Part, data: bytes, count: int, item: Callable[[int], bytes]
) -> tuple[list[Change], Part]:
    """What changed from `old` to the `count` items in `data`, and where the new items end.

    `item(n)` serializes new item `n`; it is asked only where old and new are not the same, so a long list
    with a short change costs a comparison of bytes and a few items.
    """
    total, old_data, old_ends = len(old.ends), old.data, old.ends
    changes: list[Change] = []
    ends: list[int] = []
    fresh: list[bytes] = []  # new items since the last one that is old as well
    places: dict[bytes, list[int]] | None = None
    at = place = 0  # the next new item, the next old one
    here = 0  # the offset of the next new item

    def start(index: int) -> int:
        return old_ends[index - 1] if index else 0

    def is_at(index: int, offset: int) -> bool:
        return index < total and data.startswith(old_data[start(index) : old_ends[index]], offset)

    def after(index: int, offset: int) -> bool:
        """Whether the new items from `offset` on go on with old item `index`, or both end."""
        return is_at(index, offset) or (index == total and offset == len(data))

    while at < count:
        found, made = -1, b""
        if is_at(place, here):
            found = place
        elif fresh and is_at(place + len(fresh), here):
            found = place + len(fresh)
        elif place < total:
            made = item(at)
            if not after(place + len(fresh) + 1, here + len(made)):
                if places is None:
                    places = {}
                    for index, each in enumerate(old.items(place), place):
                        places.setdefault(each, []).append(index)
                found = next((n for n in places.get(made, ()) if n >= place), -1)
        if found < 0:
            made = made or item(at)
            fresh.append(made)
            here += len(made)
            ends.append(here)
            at += 1
            continue
        if fresh or found > place:
            changes.append(Change(place, found, fresh))
            fresh = []
        upto = _same(old, found, data, here)
        shift = here - start(found)
        kept = old_ends[found:upto]
        ends.extend([end + shift for end in kept] if shift else kept)
        here = ends[-1]
        at += upto - found
        place = upto
    if fresh or place < total:
        changes.append(Change(place, total, fresh))
    return changes, Part(data, ends)


def _same(old: Part, first: int, data: bytes, here: int) -> int:
    """Up to which old item those from `first` (which does) stand in `data` from `here` on.

    Most changes are near the end, so the search begins there: all of them, one less, three less, and so on.
    """
    ends = old.ends
    begin = ends[first - 1] if first else 0
    rest = old.data[begin:] if begin else old.data
    high = step = 0
    low = len(ends)
    while low > first + 1:
        piece = rest if low == len(ends) else rest[: ends[low - 1] - begin]
        if data.startswith(piece, here):
            break
        high, step = low, step * 2 or 1
        low = max(low - step, first + 1)
    while high - low > 1:
        middle = (low + high) // 2
        skip = ends[low - 1] - begin  # known to be the same
        if data.startswith(rest[skip : ends[middle - 1] - begin], here + skip):
            low = middle
        else:
            high = middle
    return low


def diff(old: Part, data: bytes, count: int, item: Callable[[int], bytes]) -> tuple[bytes, Part]:
    """The script that makes `count` items in `data` of `old`, and where the new items end; see `align`."""
    changes, part = align(old, data, count, item)
    ops: list[tuple[int, Any]] = []
    place = 0
    for change in changes:
        ops.append((script.KEEP, change.first - place))
        script.replace(ops, old.items(change.first, change.stop), change.fresh)
        place = change.stop
    return script.write(ops), part
