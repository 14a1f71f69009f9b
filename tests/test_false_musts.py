"""Savers that differ from the strict one only in what they may: none is told that it breaks a MUST.

And their opposite: faults that hide behind another one, or behind the saver's own serializer, are told.
"""

from __future__ import annotations

import datetime
import decimal
import fnmatch
import re
from collections.abc import Callable
from typing import Any

import pytest
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from lineage_conformance import contract
from lineage_conformance import law as laws
from lineage_conformance.kinds.saver.session import Declared
from lineage_conformance.law import Level, Verdict
from lineage_reference.space import Space
from tests.mutants import kit
from tests.mutants.kit import StrictSaver

pytestmark = pytest.mark.skipif(
    contract.unmet("langgraph-checkpoint>=4.3.0") is not None,
    reason="the serializer of older releases loses values by itself",
)


class RootOnly(StrictSaver):
    """list() without a namespace lists the root namespace, as get_tuple reads it."""

    def list(self, config, **kw):
        if config and "checkpoint_ns" not in config["configurable"]:
            config = {"configurable": {**config["configurable"], "checkpoint_ns": ""}}
        return super().list(config, **kw)


class IgnoresId(StrictSaver):
    """list() ignores the id of its config."""

    def list(self, config, **kw):
        if config:
            place = {k: v for k, v in config["configurable"].items() if k != "checkpoint_id"}
            config = {"configurable": place}
        return super().list(config, **kw)


class ZeroIsAll(StrictSaver):
    """A limit of zero is no limit."""

    def list(self, config, *, limit=None, **kw):
        return super().list(config, limit=limit or None, **kw)


class NoAll(StrictSaver):
    """list(None) lists nothing."""

    def list(self, config, **kw):
        return super().list(config, **kw) if config is not None else iter(())


class ListsByTenant(StrictSaver):
    """list(None) is refused."""

    def list(self, config, **kw):
        if config is None:
            raise ValueError("name a thread")
        return super().list(config, **kw)


class AddsKeys(StrictSaver):
    """Metadata has more keys than were put, also nested and reserved-looking ones."""

    def put(self, config, checkpoint, metadata, new_versions):
        more = {"acme_hash": "x", "acme": {"at": [1]}, "__acme": 1, "thread_id": "t"}
        return super().put(config, checkpoint, {**metadata, **more}, new_versions)


def refusing(allowed: str) -> type[StrictSaver]:
    """A saver that refuses other ids and names, wherever they are used, before it stores anything."""

    class Refuses(StrictSaver):
        def _ok(self, *texts):
            for text in texts:
                if not re.fullmatch(allowed, str(text)):
                    raise ValueError(f"{text!r} is not taken here")

        def _place(self, config):
            if config:
                place = config["configurable"]
                self._ok(place.get("thread_id", ""), place.get("checkpoint_ns", ""))

        def get_tuple(self, config):
            self._place(config)
            return super().get_tuple(config)

        def list(self, config, **kw):
            self._place(config)
            return super().list(config, **kw)

        def put(self, config, checkpoint, *args):
            self._place(config)
            self._ok(*checkpoint["channel_versions"])
            return super().put(config, checkpoint, *args)

        def put_writes(self, config, writes, task_id, task_path=""):
            self._place(config)
            self._ok(task_id, *(channel for channel, _ in writes))
            super().put_writes(config, writes, task_id, task_path)

        def delete_thread(self, thread_id):
            self._ok(thread_id)
            super().delete_thread(thread_id)

    return Refuses


class RefusesFilters(StrictSaver):
    """Filters only by the keys that it has an index for."""

    def list(self, config, *, filter=None, **kw):
        if any(key not in ("source", "step") for key in filter or {}):
            raise ValueError("there is no index for that key")
        return super().list(config, filter=filter, **kw)


class DeletesKnownThreads(StrictSaver):
    """Deleting a thread that is not there is an error."""

    def delete_thread(self, thread_id):
        if not any(key[0] == thread_id for key in self.space.rows):
            raise KeyError(thread_id)
        super().delete_thread(thread_id)


@pytest.mark.parametrize(
    "make",
    [
        RootOnly, IgnoresId, ZeroIsAll, NoAll, ListsByTenant, AddsKeys, RefusesFilters,
        DeletesKnownThreads, refusing(r"[\w.:|/ -]*"), refusing(r"[A-Za-z0-9_.:|-]*"),
        refusing(r"[ -~]{0,200}"),
    ],
)  # fmt: skip
def test_no_must_is_broken(make: Callable[[Space], Any]) -> None:
    outcomes = kit.judge_all(make)
    told = {
        id: outcome.reason
        for id, outcome in outcomes.items()
        if laws.get(id).level is Level.MUST and outcome.verdict is not Verdict.HOLDS
    }
    assert not told


class Shallow(StrictSaver):
    """Keeps the latest checkpoint of a thread and namespace, and does not remember its parent."""

    def put(self, config, checkpoint, metadata, new_versions):
        place = config["configurable"]
        made = super().put(config, checkpoint, metadata, new_versions)
        for key in list(self.space.rows):
            same = key[:2] == (place["thread_id"], place["checkpoint_ns"])
            if same and key[2] != checkpoint["id"]:
                del self.space.rows[key]
                self.space.writes.pop(key, None)
        return made

    def _load(self, key, row, writes):
        return super()._load(key, row, writes)._replace(parent_config=None)


class NoFilter(StrictSaver):
    """list() takes no notice of a filter."""

    def list(self, config, *, filter=None, **kw):
        return super().list(config, **kw)


@pytest.mark.parametrize(("make", "limit"), [(Shallow, "history"), (NoFilter, "filter")])
def test_a_declared_limit_rules_out_what_it_says(make: Any, limit: str) -> None:
    outcomes = kit.judge_all(make, declared=Declared({limit: "by design"}))
    told = {i: o.reason for i, o in outcomes.items() if o.verdict is Verdict.BROKEN}
    assert not told
    held = [o for o in outcomes.values() if o.verdict is Verdict.HOLDS]
    assert len(held) > 60
    open_ = kit.judge_all(make)
    assert any(o.verdict is Verdict.BROKEN for o in open_.values())


# -- what must not be called right -------------------------------------------------------------------


def spoiling(change: Callable[[Any], Any]) -> type[StrictSaver]:
    """A saver whose own serializer changes values on their way in."""

    def walk(value: Any) -> Any:
        if type(value) is dict:
            return {key: walk(item) for key, item in value.items()}
        return [walk(item) for item in value] if type(value) is list else change(value)

    class Spoils(JsonPlusSerializer):
        def dumps_typed(self, obj: Any) -> Any:
            return super().dumps_typed(walk(obj))

    class Saver(StrictSaver):
        def __init__(self, space: Space) -> None:
            super().__init__(space)
            self.serde = Spoils()

    return Saver


@pytest.mark.parametrize(
    ("change", "law"),
    [
        (lambda v: decimal.Decimal(0) if isinstance(v, decimal.Decimal) else v,
         "serde.dates-and-decimals"),
        (lambda v: v.isoformat() if isinstance(v, datetime.datetime) else v,
         "serde.dates-and-decimals"),
        (lambda v: v.hex() if isinstance(v, bytes) else v, "serde.containers-and-bytes"),
        (lambda v: v.strip() if type(v) is str else v, "serde.odd-text"),
        (lambda v: float(v) if type(v) is int else v, "serde.plain-json"),
    ],
)  # fmt: skip
def test_a_serializer_is_no_excuse(change: Callable[[Any], Any], law: str) -> None:
    assert kit.judge_all(spoiling(change))[law].verdict is Verdict.BROKEN


def test_what_a_serializer_is_declared_to_do_is_right() -> None:
    def redact(value: Any) -> Any:
        if type(value) is dict:
            return {key: redact(item) for key, item in value.items()}
        if type(value) in (list, tuple):
            return [redact(item) for item in value]
        return "*" if value == "hi" or value == "x" else value

    make = spoiling(lambda v: "*" if v in ("hi", "x") and type(v) is str else v)
    open_ = kit.judge_all(make)
    assert any(o.verdict is Verdict.BROKEN for o in open_.values())
    outcomes = kit.judge_all(make, declared=Declared(transforms=redact))
    assert outcomes["values.complete"].verdict is Verdict.HOLDS
    assert outcomes["serde.plain-json"].verdict is Verdict.HOLDS


class Leaking(StrictSaver):
    """Two faults: the latest is the last one put, and delete_thread takes its argument for a pattern."""

    def put(self, config, checkpoint, metadata, new_versions):
        made = super().put(config, checkpoint, metadata, new_versions)
        place = made["configurable"]
        last = vars(self.space).setdefault("last", {})
        last[place["thread_id"], place["checkpoint_ns"]] = place["checkpoint_id"]
        return made

    def get_tuple(self, config):
        place = config["configurable"]
        last = vars(self.space).get("last", {})
        id = last.get((place["thread_id"], place.get("checkpoint_ns", "")))
        if "checkpoint_id" not in place and id is not None:
            config = {"configurable": {**place, "checkpoint_id": id}}
        return super().get_tuple(config)

    def delete_thread(self, thread_id):
        for other in {key[0] for key in (*self.space.rows, *self.space.writes)}:
            if fnmatch.fnmatchcase(other, thread_id) or other == thread_id:
                super().delete_thread(other)


class AndSpoilsMetadata(Leaking):
    """… and metadata loses its step, which shows in every program."""

    def _metadata(self, row):
        return {k: v for k, v in super()._metadata(row).items() if k != "step"}


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (Leaking, {"latest.is-largest-id", "namespaces.deletion-stays-inside"}),
        (AndSpoilsMetadata, {
            "latest.is-largest-id", "namespaces.deletion-stays-inside", "metadata.round-trip",
        }),
    ],
)  # fmt: skip
def test_no_fault_hides_another(make: Any, expected: set[str]) -> None:
    roots = kit.roots(kit.judge_all(make), "sync")
    assert expected <= set(roots)
    assert len(roots) <= len(expected) + 3, roots
