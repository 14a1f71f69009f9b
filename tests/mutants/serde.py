"""Savers that change, lose or half-store values."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import enum
import json
import sys
from collections.abc import Iterator
from typing import Any
from unittest import mock

from lineage_reference.space import Space
from tests.mutants.kit import StrictSaver, mutant


class Changing(StrictSaver):
    """Puts every value that is read through `change`, at any depth unless it says so."""

    deep = True

    def change(self, value: Any) -> Any:
        return value

    def _walk(self, value: Any) -> Any:
        if self.deep and type(value) is list:
            return [self._walk(item) for item in value]
        if self.deep and type(value) is dict:
            return {key: self._walk(item) for key, item in value.items()}
        return self.change(value)

    def _load(self, key: Any, row: Any, writes: Any) -> Any:
        found = super()._load(key, row, writes)
        values = {k: self._walk(v) for k, v in found.checkpoint["channel_values"].items()}
        pending = [
            (task, channel, self._walk(v)) for task, channel, v in found.pending_writes or ()
        ]
        checkpoint = {**found.checkpoint, "channel_values": values}
        return found._replace(checkpoint=checkpoint, pending_writes=pending)


@mutant(kills="serde.plain-json")
class ParsesText(Changing):
    """Text that happens to be JSON comes back parsed."""

    def change(self, value: Any) -> Any:
        try:
            return json.loads(value) if type(value) is str else value
        except ValueError:
            return value


@mutant(kills="serde.messages")
class MessagesAsDicts(Changing):
    """Messages come back as dictionaries of their fields."""

    def change(self, value: Any) -> Any:
        return (
            dict(value.__dict__)
            if hasattr(value, "tool_call_id") or hasattr(value, "tool_calls")
            else value
        )


@mutant(kills="serde.application-classes")
class ModelsAsDicts(Changing):
    """Dataclasses come back as dictionaries."""

    def change(self, value: Any) -> Any:
        return dataclasses.asdict(value) if type(value).__name__ == "Point" else value


@mutant(kills="serde.dates-and-decimals")
class ForgetsZones(Changing):
    """Datetimes lose their time zone."""

    def change(self, value: Any) -> Any:
        return value.replace(tzinfo=None) if isinstance(value, datetime.datetime) else value


@mutant(kills="serde.containers-and-bytes")
class SetsAsLists(Changing):
    """Sets come back as sorted lists."""

    def change(self, value: Any) -> Any:
        return sorted(value) if isinstance(value, (set, frozenset)) else value


@mutant(kills="serde.extreme-numbers")
class CutsInfinity(Changing):
    """Infinity comes back as the largest float."""

    def change(self, value: Any) -> Any:
        return 1.7976931348623157e308 if type(value) is float and value == float("inf") else value


@mutant(kills="serde.odd-text")
class DropsNul(Changing):
    """NUL characters are taken out of text."""

    def change(self, value: Any) -> Any:
        return value.replace("\0", "") if isinstance(value, str) else value


@mutant(kills="serde.numpy")
class FlattensArrays(Changing):
    """Arrays come back with one dimension."""

    def change(self, value: Any) -> Any:
        return value.ravel() if type(value).__name__ == "ndarray" else value


@mutant(kills="serde.nested")
class FlattensTheDeep(Changing):
    """What lies deeper than eight levels comes back as text."""

    deep = False

    def change(self, value: Any, depth: int = 0) -> Any:
        if depth > 8:
            return repr(value)
        if type(value) is list:
            return [self.change(item, depth + 1) for item in value]
        if type(value) is dict:
            return {key: self.change(item, depth + 1) for key, item in value.items()}
        return value


@mutant(kills="serde.refusal-changes-nothing")
class LeavesAStub(StrictSaver):
    """A put that is refused leaves a checkpoint without values behind."""

    def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
        try:
            return super().put(config, checkpoint, metadata, new_versions)
        except TypeError:
            super().put(config, {**checkpoint, "channel_values": {}}, metadata, new_versions)
            raise


@mutant(kills="serde.refused-writes-leave-none")
class StoresWriteByWrite(StrictSaver):
    """put_writes stores one write after the other, and stops at the one that it refuses."""

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        for count in range(len(writes)):
            super().put_writes(config, writes[: count + 1], task_id, task_path)


class _LosesEnums:
    """A serializer that reads an enum as None."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def dumps_typed(self, value: Any) -> Any:
        return self.inner.dumps_typed(value)

    def loads_typed(self, data: Any) -> Any:
        value = self.inner.loads_typed(data)
        return None if isinstance(value, enum.Enum) else value


@contextlib.contextmanager
def _an_old_release() -> Iterator[None]:
    """LangGraph's serializer reads enums as None, as releases before 4.3 read some classes."""
    serde = type(StrictSaver.serde)
    inner = serde.loads_typed

    def loads_typed(self: Any, data: Any) -> Any:
        value = inner(self, data)
        return None if isinstance(value, enum.Enum) else value

    with mock.patch.object(serde, "loads_typed", loads_typed):
        yield


@mutant(kills="serde.no-silent-none", around=_an_old_release)
class SerializerLosesEnums(StrictSaver):
    """LangGraph's own serializer reads enums as None, and the saver passes that on."""


class _LosesTheUnknown(_LosesEnums):
    """A serializer that reads what it knows no class for as None."""

    def loads_typed(self, data: Any) -> Any:
        value = self.inner.loads_typed(data)
        gone = not hasattr(sys.modules.get("appmod"), "Gone")
        return None if gone and type(value) is dict and value == {"x": 1} else value


@mutant(kills="serde.lost-class-is-not-none")
class SerializerLosesTheUnknown(StrictSaver):
    """The saver's own serializer reads a value whose class is gone as None."""

    def __init__(self, space: Space) -> None:
        super().__init__(space)
        self.serde = _LosesTheUnknown(self.serde)


@mutant(kills="serde.metadata-plain-json")
class RoundsLargeNumbers(StrictSaver):
    """Large integers in metadata come back as floats, as a JavaScript store would have them."""

    def _metadata(self, row: Any) -> Any:
        return json.loads(json.dumps(super()._metadata(row)), parse_int=self._number)

    @staticmethod
    def _number(text: str) -> int | float:
        return float(text) if abs(int(text)) > 2**50 else int(text)
