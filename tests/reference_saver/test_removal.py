"""What the strict saver deletes, copies and prunes, and the delta history that pruning must not cut."""

from __future__ import annotations

from typing import Any

import pytest
from langgraph.checkpoint.base import BaseCheckpointSaver

from tests.reference_saver.conftest import DELTA, at, ids, put

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
