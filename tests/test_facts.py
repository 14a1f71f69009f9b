"""Facts: enough of them, the same every time, a value for what is not there, and a lock file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lineage_conformance import facts
from lineage_conformance.bench import Bench
from lineage_conformance.handles import Handle, Loop
from pytest_lineage.cli import main

QUICK = (
    "filter",
    "list",
    "get",
    "put",
    "writes",
    "metadata",
    "delete",
    "text",
    "serde",
    "messages",
)
"""Groups whose probes need no graph."""


@pytest.fixture(scope="module")
def loop() -> Iterator[Loop]:
    made = Loop()
    yield made
    made.close()


def observe(loop: Loop, saver: Any, item: facts.Fact, face: Any = "sync") -> Any:
    return facts.observe(item, Bench(lambda: Handle(saver, loop), face, lambda step: None, {}))


def memory() -> Any:
    from langgraph.checkpoint.memory import InMemorySaver

    return InMemorySaver()


def test_there_are_enough_and_each_has_a_sentence() -> None:
    found = facts.all_facts()
    assert len(found) >= 60
    assert all(item.sentence.endswith(".") for item in found)
    assert len({item.sentence for item in found}) == len(found)


@pytest.mark.parametrize("face", ["sync", "async"])
def test_values_are_the_same_every_time(loop: Loop, face: str) -> None:
    chosen = [i for i in facts.all_facts() if not i.faces or face in i.faces]
    first, second = ({i.id: observe(loop, memory(), i, face) for i in chosen} for _ in range(2))
    assert list(facts.flips(first, second)) == []
    assert all(json.loads(json.dumps(value)) == value for value in first.values())


def test_what_is_not_there_has_a_value_that_says_so(loop: Loop) -> None:
    from langgraph.checkpoint.memory import InMemorySaver

    class Without(InMemorySaver):
        def delete_thread(self, thread_id: str) -> None:
            raise NotImplementedError

    assert observe(loop, Without(), facts.get("delete.unknown-thread")) == "not implemented"
    assert str(observe(loop, memory(), facts.get("recordings.langgraph-0-6"))).startswith(
        facts.ABSENT
    )


def test_a_probe_that_fails_says_how_without_quoting(loop: Loop) -> None:
    from langgraph.checkpoint.memory import InMemorySaver

    class Raises(InMemorySaver):
        def get_tuple(self, config: Any) -> Any:
            raise LookupError("secret")

    assert observe(loop, Raises(), facts.get("get.unknown-id")) == "raises LookupError"


def test_a_change_of_behaviour_flips_its_fact_and_no_other(loop: Loop) -> None:
    from langgraph.checkpoint.memory import InMemorySaver

    class NoDots(InMemorySaver):
        def list(self, config: Any, *, filter: Any = None, **options: Any) -> Any:
            if any("." in key for key in filter or ()):
                raise ValueError("no dots")
            return super().list(config, filter=filter, **options)

    chosen = [item for item in facts.all_facts() if item.group in QUICK]
    plain = {item.id: observe(loop, memory(), item) for item in chosen}
    changed = {item.id: observe(loop, NoDots(), item) for item in chosen}
    flipped = {id for id, _, _ in facts.flips(plain, changed)}
    assert flipped == {"filter.dotted-key", "filter.dotted-key-reaches-in"}


def test_halves_that_differ_are_told_apart() -> None:
    assert facts.merge({"sync": 1, "async": 1}) == 1
    assert facts.merge({"sync": 1, "async": 2}) == {"sync": 1, "async": 2}


def test_an_unknown_fact_names_near_ones() -> None:
    with pytest.raises(KeyError, match=r"delete\.unknown-thread"):
        facts.get("delete.unknown-threads")


def test_the_command_prints_pins_and_compares(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "facts.lock"
    assert main(["facts", "--target", "memory", "--format", "json", "--lock", str(path)]) == 0
    made = json.loads(capsys.readouterr().out)
    assert len(made["facts"]) >= 60
    assert set(made["facts"][0]) == {"id", "sentence", "value"}
    pinned = json.loads(path.read_text())
    assert pinned["targets"]["memory"]["get.unknown-thread"] is True
    pinned["targets"]["memory"] = {"get.unknown-thread": False, "list.limit-zero": 0}
    path.write_text(json.dumps(pinned))
    assert main(["facts", "--target", "memory", "--check", str(path)]) == 1
    captured = capsys.readouterr()
    assert "get.unknown-thread was no, is yes" in captured.err
    assert "1 of 2 pinned facts differ" in captured.err


@pytest.mark.parametrize("text", ["", "[]", '{"targets": 3}', '{"targets": {}, "format": 99}'])
def test_a_lock_file_that_is_none_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str
) -> None:
    path = tmp_path / "facts.lock"
    path.write_text(text)
    assert main(["facts", "--check", str(path)]) == 2
    assert str(path) in capsys.readouterr().err


def test_a_target_that_cannot_be_used_is_exit_2_and_leaves_no_lock(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "facts.lock"
    assert main(["facts", "--target", "no_such:thing", "--lock", str(path)]) == 2
    assert not path.exists()
    assert "no_such" in capsys.readouterr().err
