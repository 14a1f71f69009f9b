"""What is folded under what: a table of rows and the causes that their evidence shows."""

from __future__ import annotations

from typing import Any

import pytest

from lineage_conformance import contract
from lineage_conformance.kinds.saver.operations import CopyThread, Get, Put
from lineage_conformance.kinds.saver.program import program
from lineage_conformance.shrink import shrink
from lineage_reference.saver import StrictSaver
from pytest_lineage.run.causes import fold
from pytest_lineage.run.rows import Row
from tests.mutants import kit


def row(law: str, *keys: str, level: str = "MUST", face: str = "sync", **evidence: Any) -> Row:
    """A broken law with witnesses; ``b<a`` follows from witness ``a``, and ``b|a.one`` is about law ``a.one``."""
    witnesses = []
    for text in keys:
        text, _, others = text.partition("|")
        key, _, origin = text.partition("<")
        program = {"ops": [{"op": "put", "id": key}]}
        witnesses.append(
            {
                "key": key,
                "from": origin or None,
                "others": others.split(),
                "program": program,
                "differences": [],
            }
        )
    made = Row(law, face, "t", level, "broken", law.partition(".")[0])
    made.evidence = {"witnesses": witnesses, "program": {}, "differences": [], **evidence}
    return made


CASES: dict[str, tuple[list[Row], dict[str, str | None]]] = {
    "the same counterexample is one fault": (
        [row("a.one", "k"), row("b.two", "k")],
        {"a.one": None, "b.two": "a.one"},
    ),
    "another counterexample is another fault": (
        [row("a.one", "k"), row("b.two", "l")],
        {"a.one": None, "b.two": None},
    ),
    "one counterexample of its own is enough": (
        [row("a.one", "k"), row("b.two", "k", "l")],
        {"a.one": None, "b.two": None},
    ),
    "a stronger law is never folded under a weaker one": (
        [row("a.one", "k", level="SHOULD"), row("b.two", "k")],
        {"a.one": "b.two", "b.two": None},
    ),
    "what follows from a wrong checkpoint": (
        [row("a.one", "k"), row("b.two", "l<k")],
        {"a.one": None, "b.two": "a.one"},
    ),
    "a wrong checkpoint that no law names explains nothing": (
        [row("a.one", "m"), row("b.two", "l<k")],
        {"a.one": None, "b.two": None},
    ),
    "nor does one that only a weaker law names": (
        [row("a.one", "k", level="SHOULD"), row("b.two", "l<k")],
        {"a.one": None, "b.two": None},
    ),
    "two that each follow from the other are both roots": (
        [row("a.one", "k<l"), row("b.two", "l<k")],
        {"a.one": None, "b.two": None},
    ),
    "another face shows nothing": (
        [row("a.one", "k"), row("b.two", "k", face="async")],
        {"a.one": None, "b.two": None},
    ),
    "a broken graph under the law that its calls break": (
        [row("a.one", "k"), row("graph_x.y", "g", recorded={"keys": ["k"], "laws": []})],
        {"a.one": None, "graph_x.y": "a.one"},
    ),
    "a graph whose calls break nothing stands for itself": (
        [row("a.one", "k"), row("graph_x.y", "g")],
        {"a.one": None, "graph_x.y": None},
    ),
    "calls that break a law which holds": (
        [row("graph_x.y", "g", recorded={"keys": ["k"], "laws": ["a.one"]})],
        {"graph_x.y": None},
    ),
    "a law that every counterexample breaks too": (
        [row("k.first", "1"), row("k.second", "2", shows=["k.first"])],
        {"k.first": None, "k.second": "k.first"},
    ),
    "the nearest of them, and its root": (
        [row("k.a", "1"), row("k.b", "2", shows=["k.a"]), row("k.c", "3", shows=["k.b", "k.a"])],
        {"k.a": None, "k.b": "k.a", "k.c": "k.a"},
    ),
    "no circle": (
        [row("k.a", "1", shows=["k.b"]), row("k.b", "2", shows=["k.a"])],
        {"k.a": None, "k.b": "k.a"},
    ),
    "an operation that plays no part": (
        [row("a.one", "k"), row("b.two", "l|a.one")],
        {"a.one": None, "b.two": "a.one"},
    ),
    "an operation that plays no part in one counterexample, and one in another": (
        [row("a.one", "k"), row("b.two", "l|a.one", "m")],
        {"a.one": None, "b.two": None},
    ),
    "what plays no part, and nothing else is broken": (
        [row("b.two", "l|a.one")],
        {"b.two": None},
    ),
    "what plays no part, and only a weaker law is broken": (
        [row("a.one", "k", level="SHOULD"), row("b.two", "l|a.one")],
        {"a.one": None, "b.two": None},
    ),
    "two operations that play no part in each other's": (
        [row("a.one", "k|b.two"), row("b.two", "l|a.one")],
        {"a.one": None, "b.two": None},
    ),
    "a law without evidence is a root": (
        [row("a.one", "k"), Row("b.two", "sync", "t", "MUST", "broken", "b")],
        {"a.one": None, "b.two": None},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_folded(name: str) -> None:
    rows, expected = CASES[name]
    fold(rows)
    assert {r.law: r.caused_by for r in rows} == expected
    roots = {(r.law, r.face) for r in rows if r.caused_by is None}
    assert all(any(r.caused_by == law for law, _ in roots) for r in rows if r.caused_by)


def test_folding_again_changes_nothing() -> None:
    rows = [row("a.one", "k"), row("b.two", "l<k"), row("c.three", "k", "m")]
    fold(rows)
    first = [(r.law, r.caused_by) for r in rows]
    fold(rows)
    assert [(r.law, r.caused_by) for r in rows] == first


def test_a_root_shows_the_counterexample_that_is_its_own() -> None:
    rows = [row("a.one", "k"), row("b.two", "k", "l")]
    fold(rows)
    evidence = rows[1].evidence
    assert evidence is not None
    assert [w["key"] for w in evidence["witnesses"]] == ["l", "k"]
    assert evidence["program"] == {"ops": [{"op": "put", "id": "l"}]}


def test_hangs_in_one_operation_are_one_fault() -> None:
    rows = []
    for law, puts in (("a.one", 1), ("b.two", 3)):
        made = Row(law, "sync", "t", "MUST", "hangs", law[0])
        ops = [{"op": "put", "id": n} for n in range(puts)] + [{"op": "list"}]
        shown = {"op": puts, "at": "list:raises", "expected": "an answer", "got": "no answer"}
        made.evidence = {"program": {"ops": ops}, "differences": [shown]}
        rows.append(made)
    fold(rows)
    assert [r.caused_by for r in rows] == [None, "a.one"]


class NeedsAnId(StrictSaver):
    """Gives no delta history of a config without a checkpoint id."""

    def get_delta_channel_history(self, *, config, channels):  # type: ignore[no-untyped-def]
        if not config["configurable"].get("checkpoint_id"):
            return {channel: {"writes": []} for channel in channels}
        return super().get_delta_channel_history(config=config, channels=channels)


class ForgetsMetadata(StrictSaver):
    """Loses every key of the metadata that is not LangGraph's, before and after an operation."""

    def get_tuple(self, config):  # type: ignore[no-untyped-def]
        found = super().get_tuple(config)
        if found is None:
            return None
        kept = {k: v for k, v in found.metadata.items() if k in ("source", "step", "parents")}
        return found._replace(metadata=kept)


class NoneIsNothing(StrictSaver):
    """Drops pending writes of None."""

    def put_writes(self, config, writes, task_id, task_path=""):  # type: ignore[no-untyped-def]
        super().put_writes(config, [w for w in writes if w[1] is not None], task_id, task_path)


@pytest.mark.parametrize(
    ("saver", "groups"),
    [
        (NeedsAnId, ("copy", "prune", "runs")),
        (ForgetsMetadata, ("copy", "prune", "runs", "delete")),
        (NoneIsNothing, ("copy", "prune", "runs", "delete")),
    ],
)
def test_no_law_is_named_whose_operation_plays_no_part(
    saver: type[StrictSaver], groups: tuple[str, ...]
) -> None:
    if contract.unmet("langgraph-checkpoint>=4.1.0"):
        pytest.skip("delta history came with langgraph-checkpoint 4.1")
    outcomes = kit.judge_all(saver, "sync")
    named = kit.roots(outcomes, "sync")
    assert named
    assert not [law for law in named if law.partition(".")[0] in groups], named


def test_a_copy_that_plays_no_part_is_taken_away() -> None:
    case = program(Put(1, set={"a": "x"}), CopyThread(target="u"), Get(1, thread="u"))
    small = shrink(case, lambda candidate: any(isinstance(op, Get) for op in candidate.ops))
    assert not any(isinstance(op, CopyThread) for op in small.ops)
