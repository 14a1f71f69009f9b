"""`pytest-lineage diff`: what became of each law between two reports."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_lineage.cli import main
from pytest_lineage.report import jsonl
from pytest_lineage.report.diffing import Change, Difference, Unlike, compare
from tests.golden import samples

Edit = Callable[[dict[str, Any]], None]


def base() -> dict[str, Any]:
    """One target: two laws hold, one is broken, one does not apply."""
    rows = samples.holding("put.is-readable", "list.order", faces=["sync", "async"])
    rows += [
        samples.row("list.limit", face, level="SHOULD", verdict="broken", reason="too few")
        for face in ("sync",)
    ]
    rows.append(samples.row("copy.all", verdict="not-applicable", reason="no copy_thread"))
    return samples.document([samples.target()], rows, 0)


def changed(law: str, face: str | None = None, **fields: Any) -> Edit:
    def edit(document: dict[str, Any]) -> None:
        for row in document["laws"]:
            if row["law"] == law and face in (None, row["face"]):
                row.update(fields)

    return edit


def difference(*edits: Edit) -> Difference:
    new = copy.deepcopy(base())
    for edit in edits:
        edit(new)
    return compare(base(), new)


def told(found: Difference) -> list[tuple[str, str, list[str]]]:
    return [(change.kind, change.law, change.faces) for change in found.changes]


STILL = ("still", "list.limit", ["sync"])


def test_nothing_changed() -> None:
    found = difference()
    assert told(found) == [STILL]
    assert not found.regression


@pytest.mark.parametrize(
    ("edit", "expected", "regression"),
    [
        (changed("put.is-readable", verdict="broken"), ("new", "put.is-readable", ["sync", "async"]), True),
        (changed("put.is-readable", "async", verdict="hangs"), ("new", "put.is-readable", ["async"]), True),
        (changed("list.order", "sync", verdict="broken", level="SHOULD"), ("new", "list.order", ["sync"]), True),
        (changed("list.order", "sync", verdict="known"), ("new", "list.order", ["sync"]), False),
        (changed("list.order", "sync", verdict="broken", advisory="new"), ("new", "list.order", ["sync"]), False),
        (changed("list.order", "sync", verdict="inconclusive"), ("not-run", "list.order", ["sync"]), False),
        (changed("list.order", "sync", verdict="engine"), ("not-run", "list.order", ["sync"]), False),
        (changed("copy.all", verdict="holds"), ("run", "copy.all", ["sync"]), False),
        (changed("copy.all", verdict="broken"), ("run", "copy.all", ["sync"]), False),
    ],
)  # fmt: skip
def test_what_may_become_of_a_law(
    edit: Edit, expected: tuple[str, str, list[str]], regression: bool
) -> None:
    found = difference(edit)
    assert sorted(told(found)) == sorted([expected, STILL])
    assert found.regression is regression


@pytest.mark.parametrize("verdict", ["holds", "fixed", "refused"])
def test_fixed(verdict: str) -> None:
    found = difference(changed("list.limit", verdict=verdict))
    assert told(found) == [("fixed", "list.limit", ["sync"])]
    assert not found.regression


def test_laws_and_faces_that_come_and_go() -> None:
    def edit(document: dict[str, Any]) -> None:
        document["laws"] = [
            r for r in document["laws"] if (r["law"], r["face"]) != ("list.order", "async")
        ]
        document["laws"].append(samples.row("put.new"))

    assert sorted(told(difference(edit))) == [
        ("not-run", "list.order", ["async"]),
        ("run", "put.new", ["sync"]),
        STILL,
    ]


def test_a_target_that_can_no_longer_be_checked_is_a_regression() -> None:
    def edit(document: dict[str, Any]) -> None:
        document["targets"][0]["error"] = "no route"
        document["laws"] = []

    found = difference(edit)
    assert found.unusable == ["acme"]
    assert found.regression
    assert found.changes == []


def test_versions_and_profiles_are_told() -> None:
    def edit(document: dict[str, Any]) -> None:
        document["versions"]["langgraph"] = "1.2.25"
        document["versions"]["new"] = "1"
        del document["versions"]["pytest"]
        document["profile"] = "deep"

    found = difference(edit)
    assert found.versions == [
        ("langgraph", "1.2.24", "1.2.25"),
        ("pytest", "9.2.0", ""),
        ("new", "", "1"),
    ]
    assert "because more was tried" in found.notes[0]


def test_targets_are_matched_by_name() -> None:
    old = samples.good()
    new = copy.deepcopy(old)
    new["targets"] = new["targets"][1:]
    new["laws"] = [row for row in new["laws"] if row["target"] == "sqlite"]
    found = compare(old, new)
    assert found.targets == ["sqlite"]
    assert "memory is in the old report only" in found.notes
    with pytest.raises(Unlike, match="no target in common"):
        compare(old, base())
    with pytest.raises(Unlike, match="different kinds"):
        compare(old, {**old, "kind": "branching"})


def test_single_targets_of_other_names_are_compared() -> None:
    new = base()
    new["targets"][0]["name"] = "other"
    for row in new["laws"]:
        row["target"] = "other"
    found = compare(base(), new)
    assert told(found) == [STILL]
    assert "acme is compared with other" in found.notes[0]


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    new = base()
    changed("put.is-readable", verdict="broken", reason="<b>\x1b[31m|`x`" + "y" * 10_000)(new)
    jsonl.write(tmp_path / "old.jsonl", base())
    jsonl.write(tmp_path / "new.jsonl", new)
    return str(tmp_path / "old.jsonl"), str(tmp_path / "new.jsonl")


def test_the_command(files: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", *files]) == 1
    out = capsys.readouterr().out
    assert "REGRESSION — 1 law newly broken, 1 law still broken" in out
    assert "put.is-readable[sync, async]" in out
    assert "\x1b" not in out
    assert main(["diff", *files[::-1]]) == 0
    assert "NO REGRESSION — 1 law still broken, 1 law fixed" in capsys.readouterr().out
    assert main(["diff", *files, "--format", "json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["regression"]
    assert {change["kind"] for change in data["changes"]} == {"new", "still"}
    assert main(["diff", *files, "--format", "markdown"]) == 1
    out = capsys.readouterr().out
    assert "<b>newly broken</b> (1)" in out
    assert "<b>\x1b" not in out
    assert len(out) < 4000


@pytest.mark.parametrize("width", ["40", "200"])
def test_every_line_fits(
    files: tuple[str, str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    width: str,
) -> None:
    monkeypatch.setenv("COLUMNS", width)
    main(["diff", *files])
    assert max(map(len, capsys.readouterr().out.splitlines())) <= min(int(width), 120)


def test_what_cannot_be_compared_is_exit_2(
    files: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cut = tmp_path / "cut.jsonl"
    cut.write_text(Path(files[0]).read_text()[:900])
    assert main(["diff", files[0], str(cut)]) == 2
    assert "cut short" in capsys.readouterr().err
    jsonl.write(cut, {**base(), "kind": "branching"})
    assert main(["diff", files[0], str(cut)]) == 2
    assert "different kinds" in capsys.readouterr().err


def test_a_report_of_every_old_version_compares_with_itself(tmp_path: Path) -> None:
    for file in (Path(__file__).parent / "golden" / "reports").glob("*.jsonl"):
        document = jsonl.read(file)
        found = compare(document, document)
        assert not found.regression
        assert all(
            isinstance(change, Change) and change.kind == "still" for change in found.changes
        )
