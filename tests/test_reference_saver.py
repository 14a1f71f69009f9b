"""The strict saver keeps every promise, on both faces and on every supported release."""

from __future__ import annotations

import asyncio
import copy
import importlib
import operator
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from inspect import isasyncgenfunction, signature
from typing import Annotated, Any

import pytest
from langgraph.checkpoint import base
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

from lineage_reference import Space, StrictSaver

DELTA = hasattr(BaseCheckpointSaver, "get_delta_channel_history")


class Face:
    """Calls the sync or the async half of a saver under the sync names."""

    def __init__(self, saver: StrictSaver, asynchronous: bool) -> None:
        self.saver, self.asynchronous = saver, asynchronous

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self.saver, ("a" if self.asynchronous else "") + name)

        def call(*args: Any, **kwargs: Any) -> Any:
            if not self.asynchronous:
                found = method(*args, **kwargs)
                return [*found] if isinstance(found, Iterator) else found

            async def run() -> Any:
                if isasyncgenfunction(method):
                    return [each async for each in method(*args, **kwargs)]
                return await method(*args, **kwargs)

            return asyncio.run(run())

        return call


@pytest.fixture(params=["sync", "async"])
def face(request: pytest.FixtureRequest) -> Any:
    return Face(StrictSaver(), request.param == "async")


def at(thread: Any = "t", ns: str | None = "", cid: str | None = None, **more: Any) -> Any:
    where = {"thread_id": thread, "checkpoint_ns": ns, "checkpoint_id": cid}
    return {"configurable": {k: v for k, v in {**where, **more}.items() if v is not None}}


def check(cid: str, values: dict[str, Any] | None = None, *bare: str) -> Any:
    """A checkpoint with these values; the channels in `bare` have a version but no value."""
    values = values or {}
    return {
        "v": 1,
        "id": cid,
        "ts": "2024-01-01T00:00:00+00:00",
        "channel_values": values,
        "channel_versions": dict.fromkeys([*values, *bare], "1"),
        "versions_seen": {"node": {"a": "1"}},
        "updated_channels": ["a"],
    }


def put(face: Any, cid: str, parent: str | None = None, *bare: str, **more: Any) -> Any:
    where = at(more.get("thread", "t"), more.get("ns", ""), parent)
    checkpoint = check(cid, more.get("values"), *bare)
    versions = checkpoint["channel_versions"]
    return face.put(where, checkpoint, more.get("metadata", {}), versions)


def ids(face: Any, config: Any = None, **query: Any) -> list[str]:
    return [found.checkpoint["id"] for found in face.list(config or at(), **query)]


# Checkpoints


def test_a_checkpoint_comes_back_whole(face: Any) -> None:
    given = check("1", {"a": [1, {"b": None}], "n": None, "": b"\0"}, "bare")
    assert face.put(at(7), copy.deepcopy(given), {"step": 1}, {}) == at("7", cid="1")
    found = face.get_tuple(at("7"))
    assert found.checkpoint == given
    assert (found.config, found.parent_config) == (at("7", cid="1"), None)
    assert (found.metadata, found.pending_writes) == ({"step": 1}, [])


def test_values_without_a_version_are_not_state(face: Any) -> None:
    given = check("1", {"a": 1})
    given["channel_values"] = {"a": 1, "stray": 2}
    face.put(at(), given, {}, {})
    assert face.get_tuple(at()).checkpoint["channel_values"] == {"a": 1}


def test_what_callers_hold_is_not_what_is_stored(face: Any) -> None:
    inner, raw, metadata = [1], bytearray(b"x"), {"deep": {"list": [1]}}
    given = check("1", {"a": inner, "raw": raw})
    face.put(at(), given, metadata, {})
    face.put_writes(at(cid="1"), [("a", inner)], "task")
    inner.append(2)
    raw.append(0)
    metadata["deep"]["list"].append(2)
    given["channel_versions"].clear()
    for _ in range(2):
        found = face.get_tuple(at())
        assert found.checkpoint["channel_values"] == {"a": [1], "raw": bytearray(b"x")}
        assert list(found.checkpoint["channel_versions"]) == ["a", "raw"]
        assert found.metadata == {"deep": {"list": [1]}}
        assert found.pending_writes == [("task", "a", [1])]
        found.checkpoint["channel_values"]["a"].append(3)
        found.checkpoint["channel_values"]["raw"].append(3)
        found.metadata["deep"]["list"].append(3)
        found.pending_writes[0][2].append(3)


def test_siblings_with_one_version_do_not_share_a_value(face: Any) -> None:
    put(face, "1", values={"a": "root"})
    put(face, "2", "1", values={"a": "left"})
    put(face, "3", "1", values={"a": "right"})
    values = [face.get_tuple(at(cid=c)).checkpoint["channel_values"]["a"] for c in "123"]
    assert values == ["root", "left", "right"]
    assert face.get_tuple(at(cid="3")).parent_config == at(cid="1")


def test_the_same_id_again_replaces_the_row_and_keeps_its_writes(face: Any) -> None:
    put(face, "1", values={"a": 1}, metadata={"step": 1})
    face.put_writes(at(cid="1"), [("a", 5)], "task")
    put(face, "1", values={"a": 2}, metadata={"step": 2})
    (found,) = face.list(at())
    assert (found.checkpoint["channel_values"], found.metadata) == ({"a": 2}, {"step": 2})
    assert found.pending_writes == [("task", "a", 5)]


def test_put_needs_an_address_and_an_empty_parent_is_none(face: Any) -> None:
    for config in (at(ns=None), {"configurable": {"checkpoint_ns": ""}}):
        with pytest.raises(KeyError):
            face.put(config, check("1"), {}, {})
    face.put({"configurable": {**at()["configurable"], "checkpoint_id": ""}}, check("1"), {}, {})
    assert face.get_tuple(at()).parent_config is None


def test_latest_is_the_largest_id_and_namespaces_stay_apart(face: Any) -> None:
    for cid in ("2", "10", "3"):
        put(face, cid)
    put(face, "9", ns="child")
    put(face, "8", ns="child:1")
    assert face.get_tuple(at()).checkpoint["id"] == "3"
    assert face.get_tuple(at(ns=None)).checkpoint["id"] == "3"
    assert face.get_tuple(at(ns="child")).config == at(ns="child", cid="9")
    empty = {"configurable": {"thread_id": "t", "checkpoint_id": ""}}
    assert face.get_tuple(empty).checkpoint["id"] == "3"
    for absent in (at(cid="9"), at("other"), at(ns="chil")):
        assert face.get_tuple(absent) is None


# Metadata


def test_metadata_is_json_with_the_scalars_of_the_config(face: Any) -> None:
    given = {"none": None, "deep": {"ü": [1, {"x": True}]}, "pair": (1, 2), "step": 3}
    config = {**at(user="u", __secret="s"), "metadata": {"run_id": "r", "object": object()}}
    face.put(config, check("1"), given, {})
    merged = {"user": "u", "run_id": "r"} if hasattr(base, "get_checkpoint_metadata") else {}
    assert face.get_tuple(at()).metadata == {**given, "pair": [1, 2], **merged}


@pytest.mark.parametrize("odd", [{1, 2}, object(), {1: 2}, float("nan"), b"x"])
def test_metadata_that_is_not_json_is_refused_and_nothing_is_stored(face: Any, odd: Any) -> None:
    with pytest.raises((TypeError, ValueError)):
        face.put(at(), check("1"), {"odd": [odd]}, {})
    assert face.get_tuple(at()) is None


def test_what_nodes_returned_may_be_objects(face: Any) -> None:
    put(face, "1", metadata={"writes": {"node": b"raw"}, "step": 1})
    assert face.get_tuple(at()).metadata == {"writes": {"node": b"raw"}, "step": 1}
    assert ids(face, filter={"step": 1}) == ["1"]


# Pending writes


def test_writes_may_come_first_and_are_ordered_by_path_task_and_index(face: Any) -> None:
    face.put_writes(at(cid="1"), [("a", i) for i in range(12)], "task1", "path2")
    face.put_writes(at(cid="1"), [("b", 0)], "task2", "path1")
    face.put_writes(at(cid="1"), [("c", 0)], "task0", task_path="path2")
    face.put_writes(at(cid="1"), [], "task3")
    assert face.get_tuple(at(cid="1")) is None
    put(face, "1")
    expected = [("task2", "b", 0), ("task0", "c", 0), *(("task1", "a", i) for i in range(12))]
    assert face.get_tuple(at()).pending_writes == expected
    assert face.list(at())[0].pending_writes == expected


def test_ordinary_writes_count_once_and_special_ones_are_replaced(face: Any) -> None:
    put(face, "1")
    for turn in (1, 2):
        special = [(f"__{name}__", turn) for name in ("error", "scheduled", "interrupt", "resume")]
        for channel, value in special:
            face.put_writes(at(cid="1"), [(channel, value)], "task")
        face.put_writes(at(cid="1"), [("a", turn), ("a", turn)], "task")
    stored = [(channel, value) for _, channel, value in face.get_tuple(at()).pending_writes]
    assert sorted(stored) == sorted([*special, ("a", 1), ("a", 1)])


def test_an_error_never_blocks_later_writes(face: Any) -> None:
    put(face, "1")
    face.put_writes(at(cid="1"), [("__error__", "boom")], "task")
    face.put_writes(at(cid="1"), [("a", 1)], "task")
    expected = [("task", "__error__", "boom"), ("task", "a", 1)]
    assert face.get_tuple(at()).pending_writes == expected


def test_writes_are_stored_all_or_not_at_all(face: Any) -> None:
    def refuse(value: Any) -> Any:
        if value == "refused":
            raise RuntimeError("not to be stored")
        return plain(value)

    put(face, "1")
    plain, serde = face.saver.serde.dumps_typed, copy.copy(face.saver.serde)
    serde.dumps_typed = refuse
    face.saver.serde = serde
    with pytest.raises(RuntimeError):
        face.put_writes(at(cid="1"), [("a", 1), ("b", "refused")], "task")
    assert face.get_tuple(at()).pending_writes == []


def test_writes_need_a_checkpoint_id(face: Any) -> None:
    with pytest.raises(KeyError):
        face.put_writes(at(), [("a", 1)], "task")
    with pytest.raises(ValueError, match="checkpoint_id"):
        face.put_writes(at(cid=""), [("a", 1)], "task")


# Listing


def test_list_narrows_by_thread_namespace_id_before_and_limit(face: Any) -> None:
    for n, (thread, ns) in enumerate([("t", ""), ("t", "child"), ("t", ""), ("u", ""), ("t", "")]):
        put(face, str(n), thread=thread, ns=ns)
    assert [found.checkpoint["id"] for found in face.list(None)] == ["4", "3", "2", "1", "0"]
    assert ids(face, at(ns=None)) == ["4", "2", "1", "0"]
    assert ids(face) == ["4", "2", "0"]
    assert ids(face, at(ns="child")) == ["1"]
    assert ids(face, at(cid="2")) == ["2"]
    assert ids(face, before=at(cid="4")) == ["2", "0"]
    assert ids(face, before=at(cid="3")) == ["2", "0"]
    assert ids(face, before=at()) == ["4", "2", "0"]
    assert ids(face, before=at(cid="4"), limit=1) == ["2"]
    assert (ids(face, limit=0), ids(face, limit=9)) == ([], ["4", "2", "0"])
    assert ids(face, at("nobody")) == []


@pytest.mark.parametrize(
    ("stored", "asked", "matches"),
    [
        ({}, None, False),
        ({"k": None}, None, True),
        ({"k": 0}, None, False),
        ({"k": 1}, 1, True),
        ({"k": 1}, 1.0, True),
        ({"k": 1}, True, False),
        ({"k": True}, 1, False),
        ({"k": [1]}, [True], False),
        ({"k": 1}, "1", False),
        ({"k": [1, 2]}, (1, 2), True),
        ({"k": [1, 2]}, [1], False),
        ({"k": {"x": 1, "y": 2}}, {"y": 2, "x": 1}, True),
        ({"k": {"x": 1, "y": 2}}, {"x": 1}, False),
        ({"k": {}}, {}, True),
        ({"k": "ü'\""}, "ü'\"", True),
    ],
)
def test_filters_match_by_json_equality(
    face: Any, stored: dict[str, Any], asked: Any, matches: bool
) -> None:
    put(face, "1", metadata={**stored, "other": 1})
    assert ids(face, filter={"k": asked}) == (["1"] if matches else [])
    assert ids(face, filter={"other": 1, "k": asked}) == (["1"] if matches else [])


def test_filter_before_and_limit_combine_and_keys_are_literal(face: Any) -> None:
    for n in range(6):
        put(face, str(n), metadata={"odd": n % 2, "a b": n, "x.y": {"z": n}})
    assert ids(face, filter={"odd": 1}, before=at(cid="5"), limit=1) == ["3"]
    assert ids(face, filter={"a b": 2}) == ["2"]
    assert ids(face, filter={"x.y": {"z": 4}}) == ["4"]
    assert ids(face, filter={"x": {"y": {"z": 4}}}) == []


def test_listed_rows_equal_fetched_ones(face: Any) -> None:
    put(face, "1", values={"a": 1}, metadata={"step": 1})
    put(face, "2", "1", ns="child")
    face.put_writes(at(cid="1"), [("a", 2)], "task")
    for found in face.list(at(ns=None)):
        assert found == face.get_tuple(found.config)


def test_the_saver_may_be_used_while_it_is_listed() -> None:
    saver = StrictSaver()
    for cid in "123":
        put(saver, cid)
    rows = saver.list(at())
    put(saver, "4")
    first = next(rows)
    saver.delete_thread("t")
    put(saver, "5")
    assert [first.checkpoint["id"], *(row.checkpoint["id"] for row in rows)] == list("4321")
    assert ids(saver) == ["5"]

    async def interleaved() -> list[str]:
        seen = []
        async for row in saver.alist(at()):
            await saver.aput(at(), check("6"), {}, {})
            seen.append(row.checkpoint["id"])
        return seen

    assert asyncio.run(interleaved()) == ["5"]
    assert ids(saver) == ["6", "5"]


# Deleting, copying, pruning


def test_delete_thread_leaves_nothing_and_can_be_repeated(face: Any) -> None:
    put(face, "1", thread="5")
    put(face, "2", thread="5", ns="child")
    put(face, "1", thread="55")
    face.put_writes(at("5", cid="1"), [("a", 1)], "task")
    face.put_writes(at("5", cid="never put"), [("a", 1)], "task")
    for _ in range(2):
        face.delete_thread(5)
    assert ids(face, at("5", ns=None)) == []
    put(face, "1", thread="5")
    put(face, "never put", thread="5")
    assert [found.pending_writes for found in face.list(at("5"))] == [[], []]
    assert ids(face, at("55")) == ["1"]


def test_copy_thread_copies_everything_and_shares_nothing(face: Any) -> None:
    put(face, "1", values={"a": [1]}, metadata={"step": 1})
    put(face, "2", "1", ns="")
    put(face, "3", ns="child")
    face.put_writes(at(cid="2"), [("a", 1)], "task", "path")
    face.copy_thread("t", "u")
    ours, theirs = face.list(at(ns=None)), face.list(at("u", ns=None))
    for mine, copied in zip(ours, theirs, strict=True):
        assert copied.config == at(
            "u",
            **{"checkpoint_ns": mine.config["configurable"]["checkpoint_ns"]},
            cid=mine.checkpoint["id"],
        )
        assert copied[1:3] == mine[1:3]
        assert copied.pending_writes == mine.pending_writes
    assert face.get_tuple(at("u", cid="2")).parent_config == at("u", cid="1")
    face.put_writes(at("u", cid="2"), [("a", 2)], "task2")
    assert len(face.get_tuple(at()).pending_writes) == 1
    face.delete_thread("t")
    assert len(face.list(at("u", ns=None))) == 3
    assert len(face.get_tuple(at("u")).pending_writes) == 2
    put(face, "9", thread="v")
    with pytest.raises(ValueError, match="in use"):
        face.copy_thread("u", "v")
    with pytest.raises(ValueError, match="no thread"):
        face.copy_thread("nobody", "w")
    assert (ids(face, at("v")), ids(face, at("w"))) == (["9"], [])


def test_prune_keeps_the_latest_of_each_namespace(face: Any) -> None:
    for thread in "tu":
        for ns in ("", "child"):
            put(face, "1", thread=thread, ns=ns, values={"a": 1})
            put(face, "2", "1", "__start__", "branch:to:x", thread=thread, ns=ns, values={"a": 2})
    face.put_writes(at(cid="1"), [("a", 1), ("branch:to:x", None)], "task")
    face.put_writes(at(cid="2"), [("a", 1)], "task")
    face.prune(["t", "nobody"])
    assert [found.config for found in face.list(at(ns=None))] == [
        at(ns="child", cid="2"),
        at(ns="", cid="2"),
    ]
    assert face.get_tuple(at()).parent_config is None
    assert face.get_tuple(at()).pending_writes == [("task", "a", 1)]
    assert len(face.list(at("u", ns=None))) == 4
    put(face, "1")
    assert face.get_tuple(at(cid="1")).pending_writes == []


def test_prune_deletes_on_request_and_refuses_what_it_does_not_know(face: Any) -> None:
    put(face, "1")
    put(face, "1", thread="u")
    face.prune([])
    with pytest.raises(ValueError, match="everything"):
        face.prune(["t"], strategy="everything")
    with pytest.raises(TypeError):
        face.prune("t")
    with pytest.raises(TypeError):
        face.delete_for_runs("t")
    assert (ids(face), ids(face, at("u"))) == (["1"], ["1"])
    face.prune(["t"], strategy="delete")
    assert (ids(face), ids(face, at("u"))) == ([], ["1"])


def test_delete_for_runs_removes_the_rows_of_the_runs(face: Any) -> None:
    for n, run in enumerate(["r1", "r2", "r1", None, ["r1"]]):
        put(face, str(n), str(n - 1) if n else None, metadata={"run_id": run} if run else {})
        face.put_writes(at(cid=str(n)), [("a", n)], "task")
    put(face, "0", thread="u", ns="child", metadata={"run_id": "r1"})
    face.delete_for_runs([])
    face.delete_for_runs(["unknown", "None"])
    assert len(face.list(None)) == 6
    face.delete_for_runs(["r1", "unknown"])
    assert [found.config for found in face.list(None)] == [at(cid=c) for c in "431"]
    assert face.get_tuple(at(cid="3")).parent_config is None
    assert face.get_tuple(at(cid="4")).parent_config == at(cid="3")
    put(face, "0")
    assert face.get_tuple(at(cid="0")).pending_writes == []


# Delta history


def delta_thread(face: Any) -> None:
    """A line 1-2-3-4-5 of one channel without values, seeded at 2, and a fork 2-6."""
    put(face, "1", values={"d": ["old"], "a": 1})
    put(face, "2", "1", values={"d": ["seed"], "a": 1}, metadata={"run_id": "r"})
    put(face, "3", "2", "d", values={"a": 1})
    put(face, "4", "3", "d", values={"a": 1}, metadata={"run_id": "r"})
    put(face, "5", "4", "d", values={"a": 1}, metadata={"run_id": "s"})
    put(face, "6", "2", values={"d": ["fork"], "a": 1})
    for cid in "123456":
        face.put_writes(at(cid=cid), [("d", [f"{cid}b"]), ("a", 2)], "task", "path2")
        face.put_writes(at(cid=cid), [("d", [f"{cid}a"])], "zask", "path1")


def test_delta_history_is_the_walk_along_the_parents(face: Any) -> None:
    delta_thread(face)
    found = face.get_delta_channel_history(config=at(cid="5"), channels=["d", "a", "no"])
    assert found["d"]["seed"] == ["seed"]
    assert [value[0] for _, _, value in found["d"]["writes"]] == [
        "2a",
        "2b",
        "3a",
        "3b",
        "4a",
        "4b",
    ]
    assert found["a"] == {"seed": 1, "writes": [("task", "a", 2)]}
    assert found["no"] == {"writes": []}
    assert face.get_delta_channel_history(config=at("no"), channels=["d"]) == {"d": {"writes": []}}
    assert face.get_delta_channel_history(config=at(), channels=[]) == {}
    if DELTA:
        for cid in (*"123456", None):
            asked: Any = {"config": at(cid=cid), "channels": ["d", "a", "no"]}
            walked = BaseCheckpointSaver.get_delta_channel_history(face.saver, **asked)
            assert face.get_delta_channel_history(**asked) == walked


def test_a_row_that_is_its_own_parent_ends_the_walk(face: Any) -> None:
    put(face, "1", "1", "d")
    assert face.get_delta_channel_history(config=at(), channels=["d"]) == {"d": {"writes": []}}


@pytest.mark.skipif(not DELTA, reason="no delta channels in this release")
def test_pruning_never_cuts_delta_history(face: Any) -> None:
    def histories() -> dict[str, Any]:
        configs = [found.config for found in face.list(at())]
        return {
            config["configurable"]["checkpoint_id"]: face.get_delta_channel_history(
                config=config, channels=["d"]
            )
            for config in configs
        }

    delta_thread(face)
    before = histories()
    face.delete_for_runs(["r"])
    assert histories() == before  # 5, 4 and 3 are rebuilt from 2
    face.delete_thread("t")
    delta_thread(face)
    face.prune(["t"])
    assert list(histories()) == ["6"]  # it has its own value
    face.delete_thread("t")
    delta_thread(face)
    put(face, "7", "5", "d", values={"a": 1})
    before = histories()
    face.prune(["t"])
    kept = histories()
    assert list(kept) == ["7", "5", "4", "3", "2"]
    for cid in "7543":
        assert kept[cid] == before[cid]
    face.delete_for_runs(["s"])
    assert histories() == kept


@pytest.mark.skipif(not DELTA, reason="no delta channels in this release")
def test_pruning_keeps_a_history_without_a_seed_and_across_silent_steps(face: Any) -> None:
    put(face, "1", None, "other")
    put(face, "2", "1", "d")
    put(face, "3", "2", "d")  # nothing written to d here
    put(face, "4", "3", "d")
    face.put_writes(at(cid="2"), [("d", [1])], "task")
    face.prune(["t"])
    assert ids(face) == ["4", "3", "2"]
    assert face.get_tuple(at(cid="2")).parent_config is None
    found = face.get_delta_channel_history(config=at(), channels=["d"])
    assert found == {"d": {"writes": [("task", "d", [1])]}}


@pytest.mark.skipif(not DELTA, reason="no delta channels in this release")
def test_pruning_keeps_what_the_kept_ancestors_are_rebuilt_from(face: Any) -> None:
    put(face, "0", values={"d": [0], "e": [0]})
    put(face, "1", "0", values={"d": [0], "e": [0]})
    put(face, "2", "1", "e", values={"d": [0]})
    put(face, "3", "2", "d", values={"e": [1]})
    face.prune(["t"])
    assert ids(face) == ["3", "2", "1"]  # d of 3 comes from 2, and e of 2 from 1


# Versions


@pytest.mark.parametrize("current", [None, 0, 41, 2.5, "0009.x", f"{99:032}.{0.5:016}", "7"])
def test_the_next_version_is_larger_text_and_never_the_same(current: Any) -> None:
    saver = StrictSaver()
    made = [saver.get_next_version(current, None) for _ in range(50)]
    assert len(set(made)) == 50
    if isinstance(current, str):
        assert min(made) > current
    chain = [current, made[0]]
    for _ in range(20 if current != "7" else 1):
        chain.append(saver.get_next_version(chain[-1]))
    assert chain[1:] == sorted(chain[1:])
    assert [int(v.split(".")[0]) for v in chain[1:]] == list(
        range(int(made[0].split(".")[0]), int(made[0].split(".")[0]) + len(chain) - 1)
    )


def test_a_full_version_is_refused_rather_than_wrapped() -> None:
    with pytest.raises(ValueError, match="width"):
        StrictSaver().get_next_version("99.x")


# One space, several handles


def test_two_handles_see_the_same_data() -> None:
    one, other = StrictSaver(Space.named("shop")), StrictSaver(Space.named("shop"))
    put(one, "1", values={"a": 1})
    assert ids(other) == ["1"]
    other.put_writes(at(cid="1"), [("a", 2)], "task")
    assert one.get_tuple(at()).pending_writes == [("task", "a", 2)]  # type: ignore[union-attr]
    assert ids(StrictSaver(Space.named("another"))) == ids(StrictSaver()) == []
    Space.forget("shop")
    Space.forget("shop")
    assert ids(StrictSaver(Space.named("shop"))) == []
    assert ids(one) == ["1"]
    Space.forget("shop")
    Space.forget("another")


def test_a_shallow_copy_is_another_handle() -> None:
    saver = StrictSaver()
    clones = [copy.copy(saver)]
    if hasattr(saver, "with_allowlist"):
        clones.append(saver.with_allowlist([("some.module", "Thing")]))
    for n, clone in enumerate(clones):
        put(clone, str(n))
        assert str(n) in ids(saver)


def test_both_faces_have_the_same_signatures() -> None:
    names = [n for n in vars(StrictSaver) if hasattr(StrictSaver, f"a{n}")]
    assert len(names) == 9
    for name in names:
        mine, twin = getattr(StrictSaver, name), getattr(StrictSaver, f"a{name}")
        assert signature(mine).parameters == signature(twin).parameters
        if ours := getattr(BaseCheckpointSaver, name, None):
            assert [*signature(ours).parameters] == [
                p for p in signature(mine).parameters if p in signature(ours).parameters
            ]


def together(*jobs: Callable[[], Any]) -> list[Any]:
    """Run the jobs in threads that start at one moment."""
    barrier = threading.Barrier(len(jobs), timeout=30)

    def start(job: Callable[[], Any]) -> Any:
        barrier.wait()
        return job()

    with ThreadPoolExecutor(len(jobs)) as pool:
        return [each.result() for each in [pool.submit(start, job) for job in jobs]]


def test_many_threads_lose_nothing_and_see_whole_writes() -> None:
    space = Space()
    put(StrictSaver(space), "0")

    def work(worker: int) -> None:
        saver = StrictSaver(space)
        for n in range(20):
            put(saver, f"{worker}-{n}", values={"a": [worker, n]})
            saver.put_writes(at(cid="0"), [("a", 1), ("b", 2), ("c", 3)], f"task{worker}-{n}")
            found = saver.get_tuple(at(cid="0"))
            assert found is not None
            assert len(found.pending_writes or ()) % 3 == 0
            assert all(len(row.pending_writes or ()) % 3 == 0 for row in saver.list(at(), limit=9))

    together(*(partial(work, worker) for worker in range(4)))
    saver = StrictSaver(space)
    assert len(ids(saver)) == 81
    assert len(saver.get_tuple(at(cid="0")).pending_writes) == 240  # type: ignore[union-attr,arg-type]


def test_of_two_writers_of_one_task_exactly_one_wins() -> None:
    for _ in range(20):
        saver = StrictSaver()
        put(saver, "1")
        pairs = [[("a", who), ("b", who)] for who in ("left", "right")]
        together(*(partial(saver.put_writes, at(cid="1"), pair, "task") for pair in pairs))
        found = saver.get_tuple(at())
        assert found is not None
        assert len({value for _, _, value in found.pending_writes or ()}) == 1


# Real graphs


class State(TypedDict):
    log: Annotated[list, operator.add]
    size: int


def line_graph(saver: StrictSaver, runs: list[str], **options: Any) -> Any:
    def node(name: str) -> Callable[[Any], Any]:
        def run(state: Any) -> Any:
            runs.append(name)
            return {"log": [name], "size": len(state["log"])}

        return run

    graph = StateGraph(State)
    for name in "abc":
        graph.add_node(name, node(name))
    graph.add_edge(START, "a")
    graph.add_edge("a", "b")
    graph.add_edge("b", "c")
    graph.add_edge("c", END)
    return graph.compile(checkpointer=saver, **options)


def _forks_apply_nothing_stale() -> bool:
    saver: Any = InMemorySaver()
    config: Any = {"configurable": {"thread_id": "t"}}
    line_graph(saver, [], interrupt_before=["b"]).invoke({"log": ["in"]}, config)
    graph = line_graph(saver, [])
    paused = graph.get_state(config)
    graph.invoke(None, config)
    fork = graph.update_state(paused.config, {"log": ["fork"]}, as_node="a")
    return bool(graph.invoke(None, fork)["log"] == ["in", "a", "fork", "b", "c"])


def test_a_graph_pauses_resumes_in_another_handle_and_forks() -> None:
    space, runs = Space(), []  # type: ignore[var-annotated]
    config: Any = {"configurable": {"thread_id": "t"}}
    line_graph(StrictSaver(space), runs, interrupt_before=["b"]).invoke({"log": ["in"]}, config)
    graph = line_graph(StrictSaver(space), runs)
    paused = graph.get_state(config)
    assert paused.next == ("b",)
    assert graph.invoke(None, config)["log"] == ["in", "a", "b", "c"]
    assert runs == ["a", "b", "c"]

    if not _forks_apply_nothing_stale():
        pytest.skip("this LangGraph applies writes of the old line to a fork")
    fork = graph.update_state(paused.config, {"log": ["fork"]}, as_node="a")
    assert graph.invoke(None, fork)["log"] == ["in", "a", "fork", "b", "c"]
    assert graph.get_state(paused.config).values["log"] == ["in", "a"]
    assert runs == ["a", "b", "c", "b", "c"]
    history = [state.values.get("log", []) for state in graph.get_state_history(config)]
    assert history[:3] == [
        ["in", "a", "fork", "b", "c"],
        ["in", "a", "fork", "b"],
        ["in", "a", "fork"],
    ]
    assert ["in", "a", "b", "c"] in history

    saver = StrictSaver(space)
    saver.prune(["t"])
    assert len(ids(saver)) == 1
    assert graph.invoke({"log": ["again"]}, config)["log"][-4:] == ["again", "a", "b", "c"]


def test_an_async_graph_runs_and_its_turns_can_be_removed_by_run() -> None:
    saver, runs = StrictSaver(), []  # type: ignore[var-annotated]
    graph = line_graph(saver, runs)
    config: Any = {"configurable": {"thread_id": "t"}}

    async def turns() -> Any:
        for turn in ("one", "two"):
            await graph.ainvoke({"log": [turn]}, {**config, "metadata": {"run_id": turn}})
        return (await graph.aget_state(config)).values

    values = asyncio.run(turns())
    assert values["log"] == ["one", "a", "b", "c", "two", "a", "b", "c"]
    if not any("run_id" in row.metadata for row in saver.list(None)):
        pytest.skip("this release does not record the run")
    saver.delete_for_runs(["one"])
    assert {row.metadata["run_id"] for row in saver.list(None)} == {"two"}
    assert graph.get_state(config).values == values


def test_a_failed_step_keeps_the_finished_sibling() -> None:
    finished = threading.Event()
    runs: list[str] = []

    def good(_: Any) -> Any:
        runs.append("good")
        return {"log": ["good"]}

    def bad(_: Any) -> Any:
        runs.append("bad")
        if runs.count("bad") == 1:
            assert finished.wait(30)
            raise RuntimeError("first try")
        return {"log": ["bad"]}

    class Watched(StrictSaver):
        def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
            super().put_writes(config, writes, task_id, task_path)
            if ("log", ["good"]) in [*writes]:
                finished.set()

    graph: Any = StateGraph(State)
    graph.add_node("good", good)
    graph.add_node("bad", bad)
    graph.add_edge(START, "good")
    graph.add_edge(START, "bad")
    app = graph.compile(checkpointer=Watched())
    config: Any = {"configurable": {"thread_id": "t"}}
    with pytest.raises(RuntimeError, match="first try"):
        app.invoke({"log": []}, config)
    assert sorted(app.invoke(None, config)["log"]) == ["bad", "good"]
    assert sorted(runs) == ["bad", "bad", "good"]


def test_sends_wait_over_a_pause() -> None:
    types = pytest.importorskip("langgraph.types")
    graph: Any = StateGraph(State)
    graph.add_node("plan", lambda _: {"log": ["plan"]})
    graph.add_node("work", lambda state: {"log": [state["item"]]})
    graph.add_edge(START, "plan")
    graph.add_conditional_edges(
        "plan", lambda _: [types.Send("work", {"item": n}) for n in (1, 2, 3)], ["work"]
    )
    space, config = Space(), {"configurable": {"thread_id": "t"}}
    first = graph.compile(checkpointer=StrictSaver(space), interrupt_before=["work"])
    assert first.invoke({"log": []}, config)["log"] == ["plan"]
    second = graph.compile(checkpointer=StrictSaver(space))
    assert second.get_state(config).next == ("work", "work", "work")
    assert second.invoke(None, config)["log"] == ["plan", 1, 2, 3]


def test_an_interrupt_is_answered_once() -> None:
    types = importlib.import_module("langgraph.types")
    if not hasattr(types, "interrupt"):
        pytest.skip("this release has no interrupt()")
    graph: Any = StateGraph(State)
    graph.add_node("ask", lambda _: {"log": [types.interrupt("sure?")]})
    graph.add_node("side", lambda _: {"log": ["side"]})
    graph.add_edge(START, "ask")
    graph.add_edge(START, "side")
    app = graph.compile(checkpointer=StrictSaver())
    config: Any = {"configurable": {"thread_id": "t"}}
    app.invoke({"log": []}, config)
    assert app.get_state(config).next == ("ask",)
    assert app.invoke(types.Command(resume="yes"), config)["log"] == ["yes", "side"]
    assert app.get_state(config).next == ()


@pytest.mark.skipif(not DELTA, reason="no delta channels in this release")
@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
@pytest.mark.parametrize("frequency", [1, 3, 100])
def test_a_delta_channel_equals_a_plain_one(durability: str, frequency: int) -> None:
    delta = importlib.import_module("langgraph.channels.delta")

    def fold(state: Any, writes: Any) -> Any:
        return [*(state or []), *(each for write in writes for each in write)]

    channel = delta.DeltaChannel(fold, list, snapshot_frequency=frequency)
    fields = {"d": Annotated[list, channel], "p": Annotated[list, operator.add]}
    graph: Any = StateGraph(TypedDict("Both", fields))  # type: ignore[operator]
    for name in "abc":
        graph.add_node(name, lambda s, n=name: {key: [f"{n}{len(s['p'])}"] for key in "dp"})
    graph.add_edge(START, "a")
    graph.add_edge(START, "b")
    graph.add_edge("a", "c")
    graph.add_edge("b", "c")
    graph.add_edge("c", END)
    saver = StrictSaver()
    app = graph.compile(checkpointer=saver)
    config: Any = {"configurable": {"thread_id": "t"}}

    def agree() -> Any:
        for state in app.get_state_history(config):
            assert state.values.get("d", []) == state.values.get("p", [])
        return app.get_state(config).values

    def turn(name: str, where: Any = config) -> Any:
        run = {**where, "metadata": {"run_id": name}}
        app.invoke({"d": [name], "p": [name]}, run, durability=durability)
        return agree()

    turn("one")
    middle = app.get_state(config).config
    kept = turn("two")
    turn("three")
    saver.delete_for_runs(["three"])
    assert agree() == kept
    fork = app.update_state(middle, {"d": ["fork"], "p": ["fork"]})
    kept = turn("four", fork)
    assert "two" not in kept["p"]
    saver.copy_thread("t", "copy")
    assert app.get_state({"configurable": {"thread_id": "copy"}}).values == kept
    rows = len(ids(saver))
    saver.prune(["t"])
    assert len(ids(saver)) < rows
    assert agree() == kept
    assert turn("five")["p"][: len(kept["p"])] == kept["p"]


def test_the_peer_suite_is_fully_passed() -> None:
    peer = pytest.importorskip("langgraph.checkpoint.conformance")

    async def strict() -> Any:
        yield StrictSaver()

    report = asyncio.run(peer.validate(peer.checkpointer_test(name="StrictSaver")(strict)))
    assert {
        name: found.failures for name, found in report.results.items() if not found.passed
    } == {}
    assert len(report.results) == 8
