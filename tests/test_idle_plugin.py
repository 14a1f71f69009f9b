"""A run without targets: nothing is imported, collected or printed, and next to no time goes by."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.plugin_kit import Project

HEAVY = (
    "langgraph", "langchain_core", "hypothesis", "lineage_conformance", "lineage_reference",
    "pytest_lineage.plugin.session", "pytest_lineage.plugin.nodes", "pytest_lineage.plugin.gather",
    "pytest_lineage.run", "pytest_lineage.targets", "pytest_lineage.targets.doors",
)  # fmt: skip

PROBE = f"""
import sys, pytest
code = pytest.main(["-q", "-p", "pytest_lineage.plugin", *sys.argv[1:]])
loaded = [name for name in {HEAVY!r} if name in sys.modules]
print("loaded:", loaded)
print("code:", int(code))
"""


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Project:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    return Project(pytester, monkeypatch)


def probe(project: Project, *arguments: str) -> list[str]:
    run = subprocess.run(
        [sys.executable, "-c", PROBE, *arguments],
        cwd=project.path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stderr == ""
    return run.stdout.splitlines()


def test_a_run_without_targets_imports_nothing_and_says_nothing(project: Project) -> None:
    project.write("test_one.py", "def test_one(): pass\n")
    project.write("conftest.py", "import pytest_lineage\nassert pytest_lineage.__all__\n")
    lines = probe(project)
    assert lines[-2:] == ["loaded: []", "code: 0"]
    assert not any("lineage" in line for line in lines[:-2])


def test_a_folder_without_tests_is_still_empty(project: Project) -> None:
    assert probe(project)[-2:] == ["loaded: []", "code: 5"]


def test_options_in_an_ini_file_cost_nothing_without_a_target(project: Project) -> None:
    project.ini(
        "lineage_laws = put.*\nlineage_profile = deep\nlineage_report = out.jsonl\nlineage_cov = true"
    )
    project.write("test_one.py", "def test_one(): pass\n")
    assert probe(project)[-2:] == ["loaded: []", "code: 0"]
    assert not (project.path / "out.jsonl").exists()


def test_the_measuring_script_measures() -> None:
    script = Path(__file__).parent / "bench" / "idle_plugin.py"
    run = subprocess.run([sys.executable, script, "1"], capture_output=True, text=True, check=False)
    assert "ratio" in run.stdout, run.stderr
