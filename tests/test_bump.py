"""The bump gate: only what differs, for each sort of difference, with its exit code."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_lineage.cli import main
from pytest_lineage.environments import build as environments
from pytest_lineage.environments import bump, bump_report
from pytest_lineage.environments.build import Side
from pytest_lineage.environments.bump import Result, Settings
from pytest_lineage.run.engine import Unusable

FILE = str(Path(__file__).parent / "bumped_target.py")
OLD = Side("old", "", {"langgraph": "1"})
NEW = Side("new", sys.executable, {"langgraph": "2"})
"""The same interpreter, as if it were another environment; see `bumped_target`."""


def compare(factory: str, **options: Any) -> Result:
    settings = {
        "references": False,
        "laws": ("latest", "fork"),
        "with_facts": False,
        "with_handover": False,
    }
    return bump.compare(OLD, NEW, Settings(f"{FILE}:{factory}", **{**settings, **options}))


def test_a_bump_of_nothing_reports_nothing() -> None:
    result = bump.compare(OLD, NEW, Settings("sqlite", references=False, laws=("put", "fork")))
    assert result.quiet
    assert not result.regressions
    assert result.asked >= 60
    assert result.handover.played > 10, result.handover
    assert "NO CHANGE" in bump_report.pretty(result)


def test_a_law_that_is_newly_broken_is_a_regression() -> None:
    result = compare("Breaks")
    assert result.regressions
    assert any(change.law.startswith("latest.") for change in result.laws["saver"].of("new"))
    assert result.packages == [("langgraph", "1", "2")]
    text = bump_report.markdown(result)
    assert "REGRESSION" in text
    assert "newly broken" in text
    assert bump_report.commands(result)[0].startswith("::error")


def test_a_flipped_fact_fails_only_when_it_is_pinned_or_asked_to() -> None:
    options = {"with_laws": False, "with_facts": True}
    result = compare("Filters", **options)
    flipped = {flip["id"] for flip in result.flips}
    assert flipped == {"filter.none-matches-none", "filter.none-matches-absent"}
    assert not result.regressions
    assert not result.quiet
    result.settings = Settings(result.settings.target, strict_facts=True)
    assert len(result.regressions) == 2
    pinned = compare(
        "Filters", pinned={"filter.none-matches-none": True, "list.limit-zero": 0}, **options
    )
    assert pinned.regressions == ["the fact filter.none-matches-none changed and is pinned"]
    assert "may mean" in bump_report.markdown(pinned)
    assert "(pinned)" in bump_report.pretty(pinned)


def test_a_conversation_that_does_not_survive_is_a_regression() -> None:
    result = compare("forgets", with_laws=False, with_handover=True)
    lost = {(loss.plan, loss.story) for loss in result.handover.losses}
    assert ("old -> new", "interrupt") in lost
    assert any("handover old -> new: interrupt" in reason for reason in result.regressions)
    assert "conversations that end otherwise" in bump_report.pretty(result)
    assert "old → new" not in result.handover.losses[0].plan


def test_a_target_that_can_no_longer_be_used_is_a_regression() -> None:
    result = compare("Refuses", with_handover=True)
    assert any("can no longer be used" in reason for reason in result.regressions)
    assert "a dependency is gone" in result.handover.reason


def test_a_target_that_cannot_be_used_as_it_is_is_no_result() -> None:
    with pytest.raises(Unusable):
        bump.compare(OLD, NEW, Settings("no_such:thing"))


@pytest.mark.parametrize("target", ["memory", "reference"])
def test_a_store_that_dies_with_its_process_has_no_handover(target: str) -> None:
    settings = Settings(target, references=False, with_laws=False, with_facts=False)
    result = bump.compare(OLD, NEW, settings)
    assert "store" in result.handover.reason
    assert result.quiet


def test_references_are_run_over_the_savers_of_users() -> None:
    kinds = [kind for kind, _, _ in Settings("memory").kinds()]
    assert kinds[0] == "saver"
    assert {"branching", "rollback", "delta"} <= set(kinds)
    assert [kind for kind, _, _ in Settings("x:y", "branching").kinds()] == ["branching"]


def test_a_difference_that_does_not_show_again_does_not_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real, seen = bump.fingerprint.take, []

    def take(run: Any) -> Any:
        made = real(run)
        seen.append(made)
        if run.options.python:
            made["facts"][0]["value"] = "a fluke"
        return made

    monkeypatch.setattr(bump.fingerprint, "take", take)
    settings = Settings("memory", references=False, with_laws=False, with_handover=False)
    result = bump.compare(OLD, NEW, settings)
    assert result.quiet
    assert result.unsteady == [seen[0]["facts"][0]["id"]]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "say what to upgrade to"),
        (["langgraph==1", "--latest"], "one of them"),
        (["--to", "nowhere"], "no stack is called"),
    ],
)
def test_wrong_usage(capsys: pytest.CaptureFixture[str], arguments: list[str], words: str) -> None:
    assert main(["bump", *arguments, "--target", "memory"]) == 2
    assert words in capsys.readouterr().err


def test_the_command_writes_what_it_prints(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setattr(environments, "bumped", lambda *args: NEW)
    report = tmp_path / "bump.json"
    command = ["bump", "langgraph==2", "--target", f"{FILE}:Breaks", "--laws", "latest", "--no-facts",
               "--no-handover", "--format", "json", "--report", str(report)]  # fmt: skip
    assert main(command) == 1
    captured = capsys.readouterr()
    assert json.loads(captured.out) == json.loads(report.read_text())
    assert "::error title=pytest-lineage bump::" in captured.err


def test_versions_that_do_not_fit_are_exit_2(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*args: Any) -> Side:
        raise environments.Unbuildable("langgraph==99: there is no such release")

    monkeypatch.setattr(environments, "bumped", fails)
    assert main(["bump", "langgraph==99", "--target", "memory"]) == 2
    assert "no such release" in capsys.readouterr().err
