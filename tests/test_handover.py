"""Handover: stories that stop half-way, who plays what, and what counts as a loss."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lineage_conformance import handover
from lineage_conformance.handles import Loop
from pytest_lineage.environments import handover as bump_handover
from pytest_lineage.run.opening import Opener
from pytest_lineage.targets import Store
from pytest_lineage.targets.doors import resolve

WHOLE = {
    "interrupt": ["in", "a", "b=b!1", "tail", "two", "a"],
    "fan-out-paused": ["in", "a", "b", "c"],
    "fan-out-failed": ["in", "a", "b", "c"],
    "stopped-step": ["in", "a", "b", "tail", "two", "a", "b", "tail"],
    "fork": ["in", "a", "edit", "b", "c", "two", "a", "b", "c"],
    "subgraph": ["in", "a", "b=b!1", "tail"],
}
"""What the log holds at the end of a story on a sound stack."""


@pytest.fixture(params=[("sqlite", "sync"), ("sqlite-async", "async")], ids=lambda p: p[0])
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Opener, Store, str]]:
    target, half = request.param
    loop = Loop()
    opener = Opener(resolve(target), loop)
    yield opener, Store("x", tmp_path), half
    opener.close()
    loop.close()


@pytest.mark.parametrize("story", list(handover.STORIES), ids=lambda story: story.id)
def test_a_sound_stack_plays_every_story_to_its_end(opened: Any, story: handover.Story) -> None:
    opener, store, half = opened
    for number in range(len(story.stages)):
        handle = opener.lent(store)
        seen = handover.play(handle, half, story, number, "t", lambda step: None)
        handle.close()
        if isinstance(seen, str):
            pytest.skip(seen)
        assert "raised" not in seen or story.id.endswith("failed"), seen
        assert not seen.get("missed"), seen
    if story.id in WHOLE:
        assert seen["log"] == WHOLE[story.id]
    assert store.path.exists()  # a lent store is not dropped


def test_every_plan_says_who_plays_which_stage() -> None:
    assert [handover.player("old -> new", stage) for stage in range(3)] == ["old", "new", "new"]
    assert [handover.player("new -> old", stage) for stage in range(3)] == ["new", "old", "old"]
    turns = [handover.player("old and new in turns", stage) for stage in range(4)]
    assert turns == ["old", "new", "old", "new"]
    assert {handover.player("old", stage) for stage in range(4)} == {"old"}


def test_stories_say_what_the_issue_asks_for() -> None:
    ids = {story.id for story in handover.STORIES}
    assert {
        "interrupt",
        "fan-out-paused",
        "fan-out-failed",
        "stopped-step",
        "fork",
        "delta-channel",
        "subgraph",
    } <= ids
    assert all(story.sentence.endswith(".") and len(story.stages) > 1 for story in handover.STORIES)


def test_what_either_side_sees_alone_is_no_loss() -> None:
    story = handover.STORIES[0]
    alone = [[{"log": 1}, {"log": 2}], [{"log": 1}, {"log": 3}]]
    for got in ({"log": 2}, {"log": 3}):
        assert bump_handover._loss(story, "old -> new", alone, [{"log": 1}, got]) is None
    loss = bump_handover._loss(story, "old -> new", alone, [{"log": 1}, {"log": 9, "next": []}])
    assert loss is not None
    assert (loss.stage, loss.expected["log"], loss.got["log"]) == (2, 3, 9)
