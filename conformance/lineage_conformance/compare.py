"""Where an answer of a saver differs from the model's: tuples, lists of them, and values that became None."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from lineage_conformance import contract, observe, zoo
from lineage_conformance.canon import Difference, differences, plain, same

Path = tuple[str, ...]


def fields(expected: Mapping[str, Any] | None) -> list[str]:
    """The fields that `tuples` compares when this is what is expected."""
    if expected is None:
        return []
    found = ["config", "parent_config", "pending_writes", "writes_order", *expected["checkpoint"]]
    if expected["metadata"] is not None:
        found += ["metadata", "reserved_metadata", "added_metadata"]
    return found


def tuples(expected: Any, got: Any, path: Path = ()) -> Iterator[Difference]:
    """Every field of a checkpoint tuple; whether there is one at all comes first, and alone."""
    if expected is None or not isinstance(got, dict):
        present = "nothing" if expected is None else "a checkpoint"
        found = "nothing" if got is None else "a checkpoint" if isinstance(got, dict) else got
        if present != found:
            yield Difference((*path, "found"), present, found)
        return
    for key in ("config", "parent_config"):
        yield from differences(expected[key], got[key], (*path, key))
    yield from _writes(expected["pending_writes"], got["pending_writes"], path)
    yield from _metadata(expected["metadata"], got["metadata"], path)
    for key, value in expected["checkpoint"].items():
        found = got["checkpoint"].get(key, "(missing)") if got["checkpoint"] else "(missing)"
        if key != "pending_sends":  # old savers derive it from the parent's writes
            yield from differences(value, found, (*path, key))


def _metadata(expected: Any, got: Any, path: Path) -> Iterator[Difference]:
    """What was put must be there. A key that is there besides is the saver's own business, or another question."""
    if expected is None:
        return
    if not isinstance(got, dict):
        yield from differences(expected, got, (*path, "metadata"))
        return
    extra = sorted(key for key in got if key not in expected)
    for key in extra:
        field = "reserved_metadata" if contract.reserved(key) else "added_metadata"
        yield Difference((*path, field, key), "(absent)", got[key])
    put = {key: value for key, value in got.items() if key not in extra}
    yield from differences(expected, put, (*path, "metadata"))


def _writes(expected: Sequence[Any], got: Sequence[Any], path: Path) -> Iterator[Difference]:
    """What was written, task by task, and only if that is right the order of the tasks."""
    left, right = sorted(expected, key=observe.slot), sorted(got, key=observe.slot)
    found = list(differences(left, right, (*path, "pending_writes")))
    yield from found
    if not found and not same(list(expected), list(got)):
        yield Difference((*path, "writes_order"), plain(expected), got)


def lists(expected: Sequence[Any], got: Sequence[Any]) -> Iterator[Difference]:
    """Rows first, then order within each thread and namespace (order across them is free), then fields."""
    left, right = observe.by_key(expected), observe.by_key(got)
    wanted = sorted(observe.short(key) for key in left)
    found = sorted(observe.short(observe.key_of(row)) for row in got)
    if wanted != found:
        yield Difference(("rows",), wanted, found)
    in_order = [key for key in observe.order(expected) if key in right]
    if [key for key in observe.order(got) if key in left] != in_order:
        order = ([observe.short(key) for key in observe.order(rows)] for rows in (expected, got))
        yield Difference(("order",), *order)
    for key in left:
        if key in right:
            yield from tuples(left[key], right[key], ("row",))


def lost(
    values: Mapping[str, Any], written: Iterable[tuple[str, str, Any]], got: Mapping[str, Any]
) -> Iterator[Difference]:
    """Values that were something when they were stored and are None now.

    The serializer is no excuse here: the oracle is the value that the caller handed over.
    """
    found = got["checkpoint"].get("channel_values") or {}
    for channel, value in values.items():
        if value is not None and found.get(channel, value) is None:
            yield Difference(("lost", "channel_values", channel), zoo.source(value), None)
    told = list(written)
    emptied = {write[:2] for write in told if write[2] is None}
    gone = {(write[0], write[1]) for write in got["pending_writes"] if write[2] is None}
    for task, channel, value in told:
        if (task, channel) in gone and (task, channel) not in emptied:
            yield Difference(("lost", "pending_writes", channel), zoo.source(value), None)
