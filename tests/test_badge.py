"""Badges and GitHub annotations: what they say, and that nothing in a report can break out of them."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from pytest_lineage.cli import main
from pytest_lineage.report import annotations, badge, jsonl, roots
from pytest_lineage.report.annotations import SUMMARY, command
from tests.golden import samples
from tests.test_html import many


def test_a_badge_for_the_whole_and_for_each_group() -> None:
    made = {item.file: (item.message, item.color) for item in badge.badges(samples.broken())}
    assert made["lineage"] == ("4/10 laws", "red")
    assert made["lineage-put"] == ("2/2 laws", "brightgreen")
    assert made["lineage-fork"] == ("0/2 laws", "red")
    assert made["lineage-list"] == ("1/2 laws", "yellow")
    assert made["lineage-delta_history"] == ("does not apply", "lightgrey")


def test_what_cannot_be_checked_is_grey() -> None:
    made = badge.badges(samples.unusable())
    assert [item.message for item in made[:2]] == ["error", "error"]
    assert made[2].message == "incomplete"
    assert {item.color for item in made[:3]} == {"lightgrey"}


def test_files_are_valid_and_apart(tmp_path: Path) -> None:
    for document in (samples.good(), samples.hostile(), samples.unusable()):
        made = badge.write(tmp_path, document)
        assert len({item.file.lower() for item in made}) == len(made)
        for item in made:
            assert re.fullmatch(r"[A-Za-z0-9._-]+", item.file)
            data = json.loads((tmp_path / f"{item.file}.json").read_text("ascii"))
            assert set(data) == {"schemaVersion", "label", "message", "color"}
            assert data["schemaVersion"] == 1
            root = ET.fromstring((tmp_path / f"{item.file}.svg").read_text("utf-8"))
            assert root.get("role") == "img"
            assert item.message in str(root.get("aria-label"))


def test_the_snippet_is_markdown_that_shows_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    jsonl.write("run.jsonl", samples.broken())
    assert main(["report", "badge", "run.jsonl"]) == 0
    out = capsys.readouterr().out
    assert "![langgraph lineage: 4/10 laws](badges/lineage.svg)" in out
    assert (tmp_path / "badges" / "lineage-fork.svg").exists()
    assert main(["report", "badge", "run.jsonl", "--url", "https://x.example/b/"]) == 0
    out = capsys.readouterr().out
    assert "![langgraph lineage: 4/10 laws](https://x.example/b/lineage.svg)" in out
    assert "https://img.shields.io/endpoint?url=https%3A%2F%2Fx.example%2Fb%2Flineage.json" in out


# -- annotations -------------------------------------------------------------------------------------


def test_an_annotation_stands_on_the_line_that_declares_the_target() -> None:
    document = samples.broken()
    document["targets"][0]["declared"] = "tests/test_acme.py:12"
    lines = annotations.lines(document)
    assert [line.partition(" ")[0] for line in lines] == ["::error", "::error", "::warning"]
    assert lines[0].startswith(
        "::error file=tests/test_acme.py,line=12,col=1,title=MUST broken%3A fork.siblings-keep-their-values"
    )
    assert "1  put(id=1, set={'a': 'x'})" in lines[0]
    assert "It means: Editing an old message" in lines[0]


def test_a_target_without_a_place_is_annotated_without_one() -> None:
    assert annotations.lines(samples.broken())[0].startswith("::error title=MUST")
    for line in annotations.lines(samples.unusable()):
        assert line.startswith("::error title=")


def test_the_place_is_seen_from_the_root_of_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sub").mkdir()
    monkeypatch.chdir(tmp_path / "sub")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    document = samples.broken()
    document["targets"][0]["declared"] = "t.py:3"
    assert "file=sub/t.py,line=3" in annotations.lines(document)[0]


def test_known_failures_are_annotated_in_their_file() -> None:
    document = samples.good()
    document["known"] = {
        "file": "lineage-known.toml",
        "problems": ["lineage-known.toml:7: x of y is stale"],
    }
    assert annotations.lines(document)[0].startswith(
        "::error file=lineage-known.toml,line=7,title=known"
    )
    document["laws"][0].update(verdict="fixed", reason="take it out")
    assert any("fixed%3A put.is-readable of memory" in line for line in annotations.lines(document))


def test_no_more_than_github_shows() -> None:
    lines = annotations.lines(many(3, broken=2))
    errors = [line for line in lines if line.startswith("::error")]
    assert len(errors) == annotations.MOST
    shown = [line for line in lines if line.startswith("::error")]
    laws = {f.row["law"] for f in roots.failures(many(3, broken=2)) if f.level == "MUST"}
    assert all(law in "".join(shown) for law in laws), "those that are left out are named"


def test_no_text_ends_a_command_or_starts_another() -> None:
    line = command("error", "", "a::b,c\n::set-output", "x%0A\r\n::warning::y\x1b[31m" + "z" * 9000)
    assert "\n" not in line
    assert "\r" not in line
    assert "\x1b" not in line
    assert line.startswith(
        "::error title=a%3A%3Ab%2Cc\\n%3A%3Aset-output::x%250A\\r%0A::warning::y"
    )
    assert len(line) < 4000
    for shown in annotations.lines(samples.hostile()):
        assert shown.isprintable()


def test_check_annotates_in_a_github_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tests.test_programs_on_disk import LAW, SAVERS

    (tmp_path / "savers.py").write_text(SAVERS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    arguments = [
        "check",
        "./savers.py:LosesWrites",
        "--laws",
        LAW,
        "--face",
        "sync",
        "--profile",
        "quick",
    ]
    assert main([*arguments, "--format", "json"]) == 1
    captured = capsys.readouterr()
    assert json.loads(captured.out)["targets"][0]["declared"] == "savers.py:6"
    assert captured.err.startswith("::error file=savers.py,line=6,col=1,title=MUST broken")


def test_a_step_summary_is_cut_to_what_github_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    jsonl.write("run.jsonl", samples.broken())
    assert main(["report", "markdown", "run.jsonl", "--summary"]) == 2
    file = tmp_path / "summary.md"
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(file))
    file.write_text("before\n")
    assert main(["report", "markdown", "run.jsonl", "--summary"]) == 0
    assert file.read_text().startswith("before\n## pytest-lineage")
    for there in (SUMMARY - 50_000, SUMMARY - 3000, SUMMARY - 100):
        file.write_text("x" * there)
        annotations.summarize(file, many(20))
        assert file.stat().st_size <= SUMMARY
