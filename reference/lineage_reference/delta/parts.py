"""Lists in serialized form, item by item, and the edit script from one to another."""

from __future__ import annotations

from bisect import bisect_right
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


def diff(old: Part, data: bytes, count: int, item: Callable[[int], bytes]) -> tuple[bytes, Part]:
    """The script that makes `count` items in `data` of `old`, and where the new items end.

    `item(n)` serializes new item `n`; it is asked only where old and new are not the same, so a long list
    with a short change costs a comparison of bytes and a few items.
    """
    ops: list[tuple[int, Any]] = []
    ends: list[int] = []
    fresh: list[bytes] = []  # new items since the last one that is old as well
    places: dict[bytes, list[int]] | None = None
    at = place = 0  # the next new item, the next old one
    here = 0  # the offset of the next new item
    total = len(old.ends)

    def start(index: int) -> int:
        return old.ends[index - 1] if index else 0

    def is_at(index: int, offset: int) -> bool:
        return index < total and data.startswith(old.data[start(index) : old.ends[index]], offset)

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
        script.replace(ops, old.items(place, found), fresh)
        fresh = []
        same = script.common(old.data, start(found), data, here)
        upto = bisect_right(old.ends, start(found) + same)
        ops.append((script.KEEP, upto - found))
        shift = here - start(found)
        kept = old.ends[found:upto]
        ends.extend([end + shift for end in kept] if shift else kept)
        here += old.ends[upto - 1] - start(found)
        at += upto - found
        place = upto
    script.replace(ops, old.items(place), fresh)
    return script.write(ops), Part(data, ends)
