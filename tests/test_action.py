"""The GitHub action: its files are well-formed, and its step does what it says when it is run here."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ACTION = ROOT / ".github" / "actions" / "lineage"
FILE = Path(__file__).parent / "bumped_target.py"

pytestmark = [
    pytest.mark.skipif(not ACTION.is_dir(), reason="the source tree is out of the way"),
    pytest.mark.skipif(shutil.which("bash") is None or os.name == "nt", reason="needs bash"),
]


def step(
    folder: Path, **inputs: str
) -> tuple[subprocess.CompletedProcess[str], dict[str, str], str]:
    """Run the action's step with inputs: the process, its outputs, and the step summary."""
    output, summary = folder / "output", folder / "summary"
    output.touch()
    summary.touch()
    env = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("GITHUB", "LINEAGE_"))
    }
    env |= {"GITHUB_ACTIONS": "true", "GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(summary),
            "LINEAGE_PYTHON": sys.executable}  # fmt: skip
    env["RUNNER_TEMP"] = inputs.pop("runner_temp", str(folder))
    env |= {f"LINEAGE_{name.upper()}": value for name, value in inputs.items()}
    done = subprocess.run(
        ["bash", str(ACTION / "run.sh")], env=env, cwd=folder, capture_output=True, text=True
    )
    pairs = (line.partition("=") for line in output.read_text().splitlines())
    return done, {name: value for name, _, value in pairs}, summary.read_text()


def test_a_matrix_fills_summary_and_reports(tmp_path: Path) -> None:
    done, outputs, summary = step(
        tmp_path, target="memory", matrix="installed", arguments="--laws put.is-readable"
    )
    assert done.returncode == 0, done.stderr
    assert outputs["exit-code"] == outputs["failed"] == "0", done.stdout
    assert "every stack is good" in summary
    names = {path.name for path in Path(outputs["folder"]).iterdir()}
    assert {"matrix.html", "installed-saver.jsonl", "summary.md"} <= names


@pytest.mark.parametrize(("fail_on", "failed"), [("regression", "1"), ("never", "0")])
def test_a_broken_law_fails_unless_nothing_is_to(tmp_path: Path, fail_on: str, failed: str) -> None:
    (tmp_path / "broken.py").write_text(
        "from langgraph.checkpoint.memory import InMemorySaver\n"
        "class Empty(InMemorySaver):\n    def get_tuple(self, config): return None\n"
    )
    inputs = {
        "target": "./broken.py:Empty",
        "matrix": "installed",
        "arguments": "--laws put.is-readable",
    }
    _, outputs, summary = step(tmp_path, fail_on=fail_on, **inputs)
    assert (outputs["exit-code"], outputs["failed"]) == ("1", failed)
    assert "put.is-readable" in summary


def test_an_environment_does_not_differ_from_itself(tmp_path: Path) -> None:
    arguments = "--laws latest --no-facts --no-handover"
    inputs = {"target": f"{FILE}:Breaks", "to": "installed", "arguments": arguments}
    done, outputs, summary = step(tmp_path, **inputs)
    assert outputs["exit-code"] == "0", done.stdout
    assert "NO CHANGE" in summary
    assert json.loads(Path(outputs["report"]).read_text())["regressions"] == []


@pytest.mark.parametrize(("fail_on", "failed"), [("regression", "2"), ("never", "2")])
def test_what_cannot_be_run_always_fails(tmp_path: Path, fail_on: str, failed: str) -> None:
    done, outputs, _ = step(tmp_path, target="memory", to="nowhere", fail_on=fail_on)
    assert outputs["failed"] == failed
    assert "::error title=pytest-lineage::" in done.stdout


UNUSABLE = {
    "bad fail-on": {"fail_on": "regresion", "to": "installed"},
    "fail-on in capitals": {"fail_on": "Regression", "matrix": "installed"},
    "two of them": {"fail_on": "facts anything", "to": "installed"},
    "fail-on with a blank": {"fail_on": "never ", "matrix": "installed"},
    "no interpreter": {"python": "no-such-python", "fail_on": "never", "to": "installed"},
    "no target": {"target": "", "matrix": "installed"},
    "bad kind": {"kind": "saviour", "matrix": "installed"},
    "bad argument": {"arguments": "--nonsense", "to": "installed"},
    "nothing to do": {"bump": ""},
}


@pytest.mark.parametrize("inputs", UNUSABLE.values(), ids=UNUSABLE)
def test_what_cannot_be_used_still_has_outputs(tmp_path: Path, inputs: dict[str, str]) -> None:
    done, outputs, _ = step(tmp_path, **{"target": "memory", **inputs})
    assert done.returncode == 0, done.stderr
    assert (outputs["exit-code"], outputs["failed"]) == ("2", "2"), done.stdout
    assert Path(outputs["folder"]).is_dir()
    assert "report" in outputs
    assert done.stdout.count("::error title=pytest-lineage::") == 1


def test_an_interpreter_without_the_suite_is_no_regression(tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    bare.write_text(f'#!/bin/bash\nexec "{sys.executable}" -I -S "$@"\n')
    bare.chmod(0o755)
    _, outputs, _ = step(tmp_path, target="memory", to="installed", python=str(bare))
    assert (outputs["exit-code"], outputs["failed"]) == ("2", "2")


def test_outputs_are_written_without_a_folder_for_temporary_files(tmp_path: Path) -> None:
    inputs = {"target": "memory", "matrix": "installed", "fail_on": "no"}
    done, outputs, _ = step(tmp_path, runner_temp=str(tmp_path / "gone"), **inputs)
    assert outputs["failed"] == "2", done.stdout
    assert Path(outputs["folder"]).is_dir()


def test_inputs_are_words_and_not_commands(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    done, outputs, _ = step(
        tmp_path, target=f"$(touch {mark})", matrix=f"installed;touch${{IFS}}{mark}"
    )
    assert not mark.exists()
    assert outputs["exit-code"] == "2", done.stdout


def test_the_action_hands_every_input_on() -> None:
    yaml = pytest.importorskip("yaml")
    action = yaml.safe_load((ACTION / "action.yml").read_text(encoding="utf-8"))
    first = action["runs"]["steps"][0]
    handed = {value.split("inputs.")[1].rstrip(" }") for value in first["env"].values()}
    assert handed | {"artifact"} == set(action["inputs"])
    assert "inputs." not in first["run"]  # an input that were text of the script could be a command
    script = (ACTION / "run.sh").read_text(encoding="utf-8")
    assert all(name in script for name in first["env"])
    for path in (ROOT / ".github").rglob("*.yml"):
        assert yaml.safe_load(path.read_text(encoding="utf-8"))
