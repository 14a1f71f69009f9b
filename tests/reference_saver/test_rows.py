"""What the strict saver stores: checkpoints, their metadata and pending writes, and how they are listed."""

from __future__ import annotations

import asyncio
import copy
from typing import Any

import pytest
from langgraph.checkpoint import base

from lineage_reference import StrictSaver
from tests.reference_saver.conftest import at, check, ids, put

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
