"""`repro` with nothing made up: an environment from the package index, a wrong fix, a saver of one's own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from lineage_conformance import builder
from lineage_conformance import law as laws
from lineage_conformance.defects import catalogue
from pytest_lineage.cli import main
from pytest_lineage.repro import running

FILE = """\
from langgraph.checkpoint.memory import MemorySaver

class Saver(MemorySaver):
    def put_writes(self, config, writes, task_id, *rest):
        c = config["configurable"]
        self.writes[(c["thread_id"], c.get("checkpoint_ns", ""), c["checkpoint_id"])].clear()
        return super().put_writes(config, writes, task_id, *rest)

def make():
    return Saver()
"""


def test_a_defect_in_environments_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["repro", "2", "--format", "json", "--python", sys.executable])
    data = json.loads(capsys.readouterr().out)
    if any(side["state"] == running.OFFLINE for side in data["sides"]):
        pytest.skip("no package index")
    assert code == 0, data["says"]
    faulty, fixed = data["sides"]
    assert faulty["packages"]["langgraph-checkpoint"] == "2.0.2"
    assert set(faulty["faces"].values()) == {"broken"}
    assert set(fixed["faces"].values()) == {"holds"}
    assert fixed["same_case"] == "holds"
    defect = next(d for d in catalogue() if d.id == "D-02")
    ends = []
    for pins in (defect.faulty, defect.fixed):
        made = builder.environment(pins, python=sys.executable)
        assert not made.seconds, "it was made twice"
        done = subprocess.run([made.python, "-c", data["script"]], capture_output=True, text=True)
        ends.append((done.stderr + done.stdout).strip().splitlines()[-1].partition(":")[0])
    assert ends == ["AssertionError", "PASS"]


def test_a_saver_of_ones_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.py").write_text(FILE)
    monkeypatch.chdir(tmp_path)
    assert main(["repro", "D-02", "--target", "memory"]) == 0
    assert "does not have D-02" in capsys.readouterr().out
    assert main(["repro", "D-02", "--target", "./mine.py:make", "--script"]) == 1
    script = capsys.readouterr().out
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert "AssertionError: expected" in done.stderr
    assert not (tmp_path / ".lineage").exists()


@pytest.mark.parametrize("id", ["W-01", "W-05"])
def test_a_wrong_fix_is_told_apart(id: str, capsys: pytest.CaptureFixture[str]) -> None:
    if laws.get("rollback.restores-messages").not_applicable():
        pytest.skip("rollback needs langgraph 0.6")
    assert main(["repro", id, "--format", "json"]) == 0
    wrong, right = json.loads(capsys.readouterr().out)["sides"]
    assert set(wrong["faces"].values()) == {"broken"}
    assert set(right["faces"].values()) == {"holds"}
