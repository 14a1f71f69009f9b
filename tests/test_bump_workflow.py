"""The reusable workflow: its steps run here with a stand-in for uv and git, and everything it uses is pinned."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from lineage_conformance import contract
from pytest_lineage.cli import init

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / ".github"
BUMP = FOLDER / "workflows" / "bump.yml"

pytestmark = pytest.mark.skipif(not BUMP.is_file(), reason="the source tree is out of the way")
needs_bash = pytest.mark.skipif(
    shutil.which("bash") is None or os.name == "nt", reason="needs bash"
)


def steps() -> list[dict[str, Any]]:
    yaml = pytest.importorskip("yaml")
    found: list[dict[str, Any]] = yaml.safe_load(BUMP.read_text(encoding="utf-8"))["jobs"]["bump"][
        "steps"
    ]
    return found


def play(
    step: dict[str, Any], folder: Path, says: str = "", code: int = 0, **env: str
) -> tuple[int, str, str]:
    """Run a step as GitHub does: its exit code, what it printed, its outputs. `uv` says and returns what is given."""
    programs = folder / "programs"
    programs.mkdir(exist_ok=True)
    for name, lines in (
        ("uv", f"cat <<'END'\n{says}\nEND\nexit {code}"),
        ("git", ""),
        ("python", ""),
    ):
        (programs / name).write_text(
            f'#!/bin/bash\necho "{name} $*" >> "$RUNNER_TEMP/calls"\n{lines}\n'
        )
        (programs / name).chmod(0o755)
    output, summary = folder / "output", folder / "summary"
    output.touch()
    fixed = {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "GITHUB_OUTPUT": str(output),
        "GITHUB_STEP_SUMMARY": str(summary),
        "GITHUB_SHA": "abc",
        "RUNNER_TEMP": str(folder),
    }
    shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    assert step["shell"] == "bash"  # without it GitHub's shell has no pipefail
    done = subprocess.run(
        shell, env={**os.environ, **fixed, **env}, cwd=folder, capture_output=True, text=True
    )
    return done.returncode, done.stdout + done.stderr, output.read_text()


def installing() -> dict[str, Any]:
    return next(step for step in steps() if "SUITE" in step.get("env", {}))


def wanted() -> dict[str, Any]:
    return next(step for step in steps() if step.get("id") == "wanted")


@needs_bash
@pytest.mark.parametrize(
    ("says", "bump"),
    [
        (" - langgraph==1.2.4\n + langgraph==1.2.5", "langgraph==1.2.5"),
        (" + langgraph==1.2.5\n + httpx==0.28.0", "langgraph==1.2.5 httpx==0.28.0"),
        ("Would make no changes", ""),
        (" - app==1 (from file:///w)\n + app==2 (from file:///w)\n + httpx==1", "httpx==1"),
        (" ~ app==1 (from file:///w)", ""),
        (
            " + lib==1 (from git+https://example.org/lib@0123abc)",
            "lib@git+https://example.org/lib@0123abc",
        ),
        ("error: none of this\nResolved 3 packages in 1ms\n + x==1", "x==1"),
    ],
)
def test_what_a_pull_request_changes(tmp_path: Path, says: str, bump: str) -> None:
    code, text, outputs = play(wanted(), tmp_path, says, BUMP="", INSTALL="-r *.txt")
    assert (code, outputs) == (0, f"bump={bump}\n"), text
    assert "-r *.txt" in (tmp_path / "calls").read_text()
    assert (tmp_path / "summary").exists() is (not bump)


@needs_bash
@pytest.mark.parametrize(
    "says",
    [
        "error: No solution found",
        " + langgraph==1.2.5\nerror: network",
        "",
        "error: File not found: `x.txt`",
    ],
)
def test_what_does_not_resolve_fails(tmp_path: Path, says: str) -> None:
    code, text, outputs = play(wanted(), tmp_path, says, 1, BUMP="", INSTALL="-r x.txt")
    assert (code, outputs) == (1, ""), text
    assert "::error title=pytest-lineage::" in text
    assert says in text
    code, text, _ = play(
        installing(), tmp_path, says, 2, BASE="main", INSTALL="-r x.txt", SUITE="s"
    )
    assert code == 2, text
    assert "git checkout -q abc" not in (tmp_path / "calls").read_text()


@needs_bash
def test_what_is_asked_for_is_one_line(tmp_path: Path) -> None:
    code, text, outputs = play(wanted(), tmp_path, BUMP="langgraph==1\nother=1", INSTALL="")
    assert (code, outputs) == (0, "bump=langgraph==1 other=1\n"), text


def used(text: str) -> set[str]:
    return set(re.findall(r"(?m)^\s*(?:- )?uses: (.+)", text))


def files() -> dict[str, str]:
    found = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.rglob("*.yml")}
    return {**found, "init": init.WORKFLOW}


def test_actions_are_pinned_and_the_same_everywhere() -> None:
    texts = files()
    others = {
        line for text in texts.values() for line in used(text) if "pytest-lineage/" not in line
    }
    assert all(re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line) for line in others), (
        others
    )
    names = [line.partition("@")[0] for line in others]
    assert len(names) == len(set(names)), f"two versions of one action: {sorted(others)}"
    assert len(used(texts["init"])) == 3


def test_what_is_ours_is_of_the_same_release() -> None:
    version = contract.version("pytest-lineage")
    ours = {line for text in files().values() for line in used(text) if "pytest-lineage/" in line}
    assert len(ours) == 2
    assert {line.partition("@")[2] for line in ours} == {f"v{version}"}
    suite = re.findall(r"default: (pytest-lineage\[.*)", BUMP.read_text(encoding="utf-8"))
    assert suite == [f"pytest-lineage[sqlite]=={version}"]
