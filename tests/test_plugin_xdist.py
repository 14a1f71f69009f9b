"""The plugin under pytest-xdist: the same items in each process, one report from all."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_lineage.report import jsonl
from tests.plugin_kit import Project

pytest.importorskip("xdist")

CONFIG = "put.config-is-accepted-everywhere"
LAWS = ("--lineage-laws", f"put.is-readable,{CONFIG},prune", "--lineage-face", "sync,async")


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    return Project(pytester, monkeypatch)


def rows(document: dict[str, Any]) -> list[tuple[Any, ...]]:
    keys = ("target", "law", "face", "verdict", "reason", "caused_by")
    return [tuple(row.get(key) for key in keys) for row in document["laws"]]


def test_the_report_is_the_same_as_without_xdist(project: Project) -> None:
    project.declare("Forgets", name="acme")
    named = ("--lineage-target", "savers.py:LosesWrites")
    together = project.spawn(
        *LAWS, *named, "-n", "2", "--lineage-report=two.jsonl", "--junitxml=two.xml"
    )
    alone = project.run(*LAWS, *named, "--lineage-report=one.jsonl")
    assert together.parseoutcomes() == alone.parseoutcomes()
    assert together.ret == alone.ret == 1
    one, two = (jsonl.read(project.path / f"{name}.jsonl") for name in ("one", "two"))
    assert rows(one) == rows(two)
    assert one["summary"] == two["summary"]
    assert [t["name"] for t in two["targets"]] == ["acme", "savers.py:LosesWrites"]
    together.stdout.fnmatch_lines(
        ["*= lineage =*", "acme (quick; sync, async): *", "savers.py:LosesWrites *"]
    )
    text = (project.path / "two.xml").read_text(encoding="utf-8")
    assert text.count('name="verdict" value="broken"') == 6


@pytest.mark.slow
@pytest.mark.parametrize("dist", ["loadscope", "loadfile", "loadgroup", "worksteal", "each"])
def test_every_way_to_distribute(project: Project, dist: str) -> None:
    project.declare("Sound", extra="def test_plain():\n    pass\n")
    result = project.spawn(
        *LAWS[:2], "--lineage-face=sync", "-k", "put or plain", "-n", "2", "--dist", dist
    )
    times = 2 if dist == "each" else 1
    assert result.parseoutcomes() == {"passed": 3 * times}
    result.stdout.fnmatch_lines(["acme (quick; sync): 2 holds"])


def test_what_goes_wrong_is_said_once(project: Project) -> None:
    project.write(
        "test_acme.py",
        "import pytest_lineage\n@pytest_lineage.target('acme')\ndef make():\n    return 42\n",
    )
    result = project.spawn(*LAWS, "-n", "2")
    assert result.ret != 0
    assert result.stdout.str().count("not opened: acme: the factory gave int") == 1


def test_an_incomplete_run_fails_here_too(project: Project) -> None:
    project.declare("Sound")
    result = project.spawn("--lineage-laws", "prune", "--lineage-face=sync", "-n", "2")
    assert set(result.parseoutcomes()) == {"skipped"}
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["acme: INCOMPLETE: no law got a verdict"])
