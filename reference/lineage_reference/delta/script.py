"""Edit scripts: how one sequence becomes another, item by item, and one item byte by byte.

A script is a row of steps. Each begins with a number whose two lowest bits say what it is: keep so many,
drop so many, add what follows, or patch the next one with the script that follows. What is left of the old
sequence after the last step is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lineage_reference.delta.codec import Malformed, number

KEEP, DROP, ADD, PATCH = range(4)

_ANCHOR = 12
"""Bytes that two texts must share for the search to go on from there."""
_SKIPS = (*range(1, 9), 10, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
"""How far into the old bytes the search looks for such an anchor: lengths change in a few bytes."""


def common(one: bytes, a: int, other: bytes, b: int) -> int:
    """How many bytes from `a` in one and from `b` in the other are the same."""
    if a == 0 and other.startswith(one, b):
        return len(one)
    most = min(len(one) - a, len(other) - b)
    low, step, grow = 0, min(256, most), True
    while step:
        if low + step <= most and other.startswith(one[a + low : a + low + step], b + low):
            low += step
            step = min(step * 16, most - low) if grow else step
        else:
            grow = False
            most = min(most, low + step)
            step //= 2
    return low


def common_end(one: bytes, other: bytes, most: int) -> int:
    """How many of the last `most` bytes are the same."""
    low, step = 0, most
    while step:
        a, b = len(one) - low, len(other) - low
        if low + step <= most and one[a - step : a] == other[b - step : b]:
            low += step
        else:
            step //= 2
    return low


def replace(ops: list[tuple[int, Any]], old: Sequence[bytes], new: Sequence[bytes]) -> None:
    """Steps that put `new` in the place of `old`; items at the same place become patches if short."""
    pairs = min(len(old), len(new))
    for one, other in zip(old[:pairs], new[:pairs], strict=True):
        patch = between(one, other)
        if len(patch) * 10 < len(other) * 9:
            ops.append((PATCH, patch))
        else:
            ops += [(DROP, 1), (ADD, other)]
    if len(old) > pairs:
        ops.append((DROP, len(old) - pairs))
    ops += [(ADD, each) for each in new[pairs:]]


def write(ops: Sequence[tuple[int, Any]]) -> bytes:
    """The bytes of a script. Equal neighbours are joined, a last keep is left out."""
    joined: list[tuple[int, Any]] = []
    for kind, what in ops:
        if kind in (KEEP, DROP) and joined and joined[-1][0] == kind:
            joined[-1] = (kind, joined[-1][1] + what)
        elif kind in (ADD, PATCH) or what:
            joined.append((kind, what))
    if joined and joined[-1][0] == KEEP:
        joined.pop()
    out: list[bytes] = []
    for kind, what in joined:
        if kind in (KEEP, DROP):
            out.append(number(what << 2 | kind))
        else:
            out += [number(len(what) << 2 | kind), what]
    return b"".join(out)


def whole(items: Sequence[bytes]) -> bytes:
    """The script that makes the items of nothing."""
    return write([(ADD, item) for item in items])


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A number of two bytes or more at `at`, and where it ends; callers read shorter ones themselves, for speed."""
    value = shift = 0
    while (byte := data[at]) > 0x7F:
        value |= (byte & 0x7F) << shift
        shift += 7
        at += 1
    return value | byte << shift, at + 1


def apply_items(items: list[bytes], data: bytes, here: int, end: int) -> None:
    """Run the script in `data` from `here` up to `end` on a list of items, in place. Raises `Malformed`."""
    at = 0
    try:
        while here < end:
            head = data[here]
            if head > 0x7F:
                head, here = _number(data, here)
            else:
                here += 1
            kind, count = head & 3, head >> 2
            if kind == KEEP:
                at += count
            elif kind == DROP:
                if at + count > len(items):
                    raise Malformed(_PAST)
                del items[at : at + count]
            else:
                stop = here + count
                if stop > end:
                    raise Malformed("a script that was cut")
                if kind == ADD:
                    items.insert(at, data[here:stop])
                else:
                    if at >= len(items):
                        raise Malformed(_PAST)
                    items[at] = patched(items[at], data, here, stop)
                at += 1
                here = stop
    except IndexError:
        raise Malformed("cut inside a number") from None
    if here > end:
        raise Malformed("a script that was cut")
    if at > len(items):
        raise Malformed(_PAST)


_PAST = "a script reaches past the end of its list"


def patched(old: bytes, data: bytes, here: int, end: int) -> bytes:
    """The bytes that the patch in `data` from `here` up to `end` makes of `old`. Raises `Malformed`."""
    at = 0
    pieces: list[bytes] = []
    try:
        while here < end:
            head = data[here]
            if head > 0x7F:
                head, here = _number(data, here)
            else:
                here += 1
            kind, count = head & 3, head >> 2
            if kind == ADD:
                pieces.append(data[here : here + count])
                here += count
                continue
            if kind == KEEP:
                pieces.append(old[at : at + count])
            elif kind != DROP:
                raise Malformed("a patch inside a patch")
            at += count
    except IndexError:
        raise Malformed("cut inside a number") from None
    if here > end:
        raise Malformed("a patch that was cut")
    if at > len(old):
        raise Malformed("a patch reaches past the end of its item")
    pieces.append(old[at:])
    return b"".join(pieces)


def between(old: bytes, new: bytes) -> bytes:
    """A patch that makes `new` of `old`: several spans, found by bytes that both have.

    A text that grows inside a message changes a few length bytes before it and adds its suffix; those are
    the spans. Where no anchor is near, the rest is added as it is.
    """
    first = common(old, 0, new, 0)
    last = common_end(old, new, min(len(old), len(new)) - first)
    stop_old, stop_new = len(old) - last, len(new) - last
    ops: list[tuple[int, Any]] = [(KEEP, first)]
    i = j = first
    while i < stop_old and j < stop_new:
        found = _anchor(old, i, stop_old, new, j, stop_new)
        if found is None:
            break
        skip, where = found
        ops += [(DROP, skip), *([(ADD, new[j:where])] if where > j else [])]
        i, j = i + skip, where
        run = min(common(old, i, new, j), stop_old - i, stop_new - j)
        ops.append((KEEP, run))
        i, j = i + run, j + run
    ops += [(DROP, stop_old - i), *([(ADD, new[j:stop_new])] if stop_new > j else [])]
    return write(ops)


def _anchor(
    old: bytes, i: int, stop_old: int, new: bytes, j: int, stop_new: int
) -> tuple[int, int] | None:
    """How much of the old to drop, and where in the new it goes on; None if no anchor is near."""
    for skip in (0, *_SKIPS):
        if i + skip + _ANCHOR > stop_old:
            break
        where = new.find(old[i + skip : i + skip + _ANCHOR], j, stop_new)
        if where >= 0:
            return skip, where
    return None
