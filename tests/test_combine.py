"""`pytest-lineage combine`: many reports as one, or none when they are unlike."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_lineage.cli import main
from pytest_lineage.report import html, jsonl, matrix, model
from pytest_lineage.report.matrix import Unlike, combine
from pytest_lineage.report.style import Style
from tests.golden import samples
from tests.test_html import Page, many
from tests.test_report_files import faults, schema

Edit = Callable[[dict[str, Any]], None]


def report(name: str = "acme", **versions: str) -> dict[str, Any]:
    rows = samples.holding("put.is-readable", "list.order", name=name)
    made = samples.document([samples.target(name)], rows, 0)
    made["versions"].update(versions)
    return made


def broken(name: str) -> dict[str, Any]:
    made = report(name)
    made["laws"][0].update(verdict="broken")
    made["exit_code"] = 1
    return made


def test_targets_stand_side_by_side() -> None:
    made = combine([("a", report("one")), ("b", broken("two"))])
    assert [target["name"] for target in made["targets"]] == ["one", "two"]
    assert len(made["laws"]) == 16
    assert made["exit_code"] == 1
    assert made["summary"]["verdicts"] == {"holds": 15, "broken": 1}
    assert "versions" not in made["targets"][0]


def test_one_target_on_many_stacks_is_told_apart_by_versions() -> None:
    made = combine([("a", report(langgraph="1.0")), ("b", report(langgraph="1.1"))])
    assert [t["name"] for t in made["targets"]] == ["acme (langgraph 1.0)", "acme (langgraph 1.1)"]
    assert [t["versions"] for t in made["targets"]] == [{"langgraph": "1.0"}, {"langgraph": "1.1"}]
    assert "langgraph" not in made["versions"]
    assert {row["target"] for row in made["laws"]} == {
        "acme (langgraph 1.0)",
        "acme (langgraph 1.1)",
    }
    made = combine([("a", report()), ("b", report())])
    assert [t["name"] for t in made["targets"]] == ["acme (a)", "acme (b)"]


def test_python_may_tell_stacks_apart() -> None:
    other = {**report(), "python": "3.13.0"}
    made = combine([("a", report()), ("b", other)])
    assert [t["name"] for t in made["targets"]] == ["acme (Python 3.12.1)", "acme (Python 3.13.0)"]
    assert made["python"] == "3.12.1 and 3.13.0"


def edited(edit: Edit) -> dict[str, Any]:
    made = copy.deepcopy(report("other"))
    edit(made)
    return made


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (
            lambda d: d["suite"].update(version="0.2.0"),
            "was made by pytest-lineage 0.1.0, b by 0.2.0",
        ),
        (lambda d: d.update(profile="deep"), "different profiles (default, deep)"),
        (lambda d: d.update(kind="branching"), "different kinds (saver, branching)"),
        (
            lambda d: d["laws"].append(samples.row("put.more", target="other")),
            "different laws, first put.more",
        ),
        (
            lambda d: d["laws"][0].update(level="SHOULD"),
            "disagree about the level of put.is-readable",
        ),
    ],
)
def test_unlike_reports_are_refused_with_a_reason(edit: Edit, words: str) -> None:
    other = edited(edit)
    if "level" in words:
        for row in other["laws"]:
            row["level"] = "SHOULD"
    with pytest.raises(Unlike) as raised:
        combine([("a", report()), ("b", other)])
    assert words in str(raised.value)


def test_a_target_that_could_not_be_used_is_kept() -> None:
    error = samples.document([{"name": "gone", "error": "no route", "seconds": 0.1}], [], 2)
    made = combine([("a", error), ("b", report()), ("c", report("other"))])
    assert made["exit_code"] == 2
    assert [t["name"] for t in made["targets"]] == ["gone", "acme", "other"]


def test_two_reports_of_one_name_are_refused() -> None:
    with pytest.raises(Unlike, match="same name and versions"):
        combine([("a", report()), ("a", report())])


def test_the_result_is_a_report(tmp_path: Path) -> None:
    made = combine([("a", report(langgraph="1.0")), ("b", report(langgraph="1.1"))])
    assert faults(schema("report"), json.loads(model.dumps(made))) == []
    jsonl.write(tmp_path / "all.jsonl", made)
    assert jsonl.read(tmp_path / "all.jsonl") == made
    Page(html.render(made))


def test_the_matrix_lists_what_tells_targets_apart() -> None:
    made = combine([("a", report("one")), ("b", broken("two"))])
    text = matrix.pretty(made, Style(80))
    assert "put.is-readable ✓ ✗" in text
    assert "list.order" not in text
    assert "1  one: GOOD" in text
    assert "| <code>put.is-readable</code> | ✓ | ✗ |" in matrix.markdown(made)
    fine = combine([("a", report("one")), ("b", report("two"))])
    assert "Every law that was judged holds" in matrix.pretty(fine, Style(80))


@pytest.mark.parametrize("width", [40, 80, 120])
def test_lines_fit(width: int) -> None:
    made = combine([(f"r{n}", {**many(1), "versions": {"langgraph": f"1.{n}"}}) for n in range(6)])
    lines = matrix.pretty(made, Style(width)).splitlines()
    assert max(map(len, lines)) <= width


def test_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    jsonl.write("one.jsonl", report())
    jsonl.write("two.jsonl", broken("acme"))
    assert (
        main(["combine", "one.jsonl", "new=two.jsonl", "-o", "all.jsonl", "--html", "all.html"])
        == 0
    )
    assert "acme (new): BROKEN" in capsys.readouterr().out
    assert (tmp_path / "all.html").exists()
    assert len(jsonl.read("all.jsonl")["targets"]) == 2
    assert main(["combine", "one.jsonl", "new=two.jsonl", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["exit_code"] == 1
    jsonl.write("deep.jsonl", {**report(), "profile": "deep"})
    assert main(["combine", "one.jsonl", "deep.jsonl"]) == 2
    assert "Nothing was combined" in capsys.readouterr().err
    assert main(["combine", "one.jsonl", "absent.jsonl"]) == 2
