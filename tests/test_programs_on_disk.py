"""Programs on disk: written by runs, found by id, replayed elsewhere, shrunk, printed as scripts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_lineage.cli import main
from pytest_lineage.known import saved as failures
from pytest_lineage.known.saved import FailureError, Saved
from pytest_lineage.run.rows import Row

SAVERS = """
import threading
from langgraph.checkpoint.memory import InMemorySaver


class LosesWrites(InMemorySaver):
    def put_writes(self, *args, **kwargs):
        return None

    async def aput_writes(self, *args, **kwargs):
        return None


class Hangs(InMemorySaver):
    def get_tuple(self, config):
        if config["configurable"].get("checkpoint_id"):
            threading.Event().wait()
        return super().get_tuple(config)


class OnlyAsync(InMemorySaver):
    def get_tuple(self, config):
        raise NotImplementedError("use the async half")

    async def aget_tuple(self, config):
        return InMemorySaver.get_tuple(self, config)
"""

LAW = "writes.round-trip"
PROGRAM = {
    "format": 1,
    "ops": [
        {"op": "put", "id": 1},
        {"op": "put", "id": 2, "parent": 1, "set": {"b": "more"}},
        {"op": "writes", "id": 1, "items": [["a", "a long value"], ["b", "w"]]},
        {"op": "get", "id": 2},
        {"op": "get", "id": 1},
    ],
}


def saved(**fields: Any) -> Saved:
    made: dict[str, Any] = {
        "law": LAW, "program": PROGRAM, "target": "./savers.py:LosesWrites", "name": "acme",
        "differences": [{"op": 4, "at": "get:pending_writes", "expected": [["t", "a", 1]], "got": []}],
    }  # fmt: skip
    return Saved(**{**made, **fields})


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty project with faulty savers, as the current directory."""
    (tmp_path / "savers.py").write_text(SAVERS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def leave(here: Path, **fields: Any) -> str:
    """Save a program in the project; its id."""
    made = saved(**fields)
    failures.write([made], here)
    return made.id


# -- ids and files -----------------------------------------------------------------------------------


def test_ids_are_short_stable_and_about_law_target_and_program() -> None:
    one = saved()
    assert one.id.startswith("writes-")
    assert len(one.id) == 15
    assert saved(program={**PROGRAM, "origin": "elsewhere"}).id == one.id
    assert saved(faces=("async",), reason="other", differences=()).id == one.id
    others = [
        saved(law="writes.exactly-once"),
        saved(name="other"),
        saved(program={"format": 1, "ops": []}),
    ]
    assert len({one.id, *(other.id for other in others)}) == 4


def test_the_id_of_this_release_is_the_id_of_every_release() -> None:
    assert saved().id == "writes-7159d257"


def test_a_file_reads_back_as_it_was(here: Path) -> None:
    made = saved(
        faces=("sync", "async"), versions={"langgraph-checkpoint": "4.3.2"}, path=("tests",)
    )
    (file,) = failures.write([made], here)
    assert file == here / ".lineage" / "failures" / f"{made.id}.json"
    assert failures.read(file) == made
    assert json.loads(file.read_text("ascii"))["format"] == 1


def test_files_of_old_versions_are_read() -> None:
    """Samples written by every version of the format; never change them, add to them."""
    kept = sorted((Path(__file__).parent / "samples").glob("program-*.json"))
    assert kept
    for file in kept:
        found = failures.read(file)
        assert found.id == "writes-7159d257"
        assert found.faces == ("sync", "async")
        assert found.program == PROGRAM


def test_what_runs_leave_is_not_for_version_control(here: Path) -> None:
    leave(here)
    git = subprocess.run(["git", "init", "-q"], cwd=here, capture_output=True)
    if git.returncode:
        pytest.skip("no git here")
    failures.write([saved(name="kept")], here, failures.KEPT)
    shown = subprocess.run(
        ["git", "status", "--porcelain", "-uall"],
        cwd=here,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert ".lineage/known/" in shown
    assert ".lineage/failures/" not in shown


def row(face: str, **fields: Any) -> Row:
    evidence = {"program": PROGRAM, "differences": []}
    made: dict[str, Any] = {"verdict": "broken", "evidence": evidence, **fields}
    return Row(LAW, face, "acme", "MUST", group="writes", **made)


def test_one_file_for_all_faces_that_show_the_same(here: Path) -> None:
    rows = [
        row("sync"),
        row("async"),
        row("sync->async", verdict="holds"),
        row("async->sync", evidence=None),
    ]
    about = {
        "text": str(here / "tests" / "test_a.py") + ":make",
        "import_path": [str(here / "tests")],
    }
    (made,) = failures.collect(rows, about, here)
    assert made.faces == ("sync", "async")
    assert (made.target, made.path) == ("./tests/test_a.py:make", ("tests",))
    assert [r.program_id for r in rows] == [made.id, made.id, "", ""]


def test_secrets_stay_out_and_programs_stay_whole(here: Path) -> None:
    program = {"format": 1, "ops": [{"op": "put", "id": 1, "set": {"a": "x" * 5000}}]}
    made = saved(
        program=program, reason=f"postgresql://me:secret@db/x {Path.home()}/x " + "y" * 9000
    )
    (file,) = failures.write([made], here)
    text = file.read_text()
    assert "secret" not in text
    assert f"{Path.home()}/x" not in text
    assert len(text) < 12_000
    assert failures.read(file).program == program


def test_programs_are_found_by_id_its_start_and_file(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = leave(here)
    file = here / ".lineage" / "failures" / f"{id}.json"
    assert failures.find(id) == failures.find(id[:9]) == file
    assert failures.find(str(file)) == file
    (here / "below").mkdir()
    monkeypatch.chdir(here / "below")
    assert failures.find(id) == file
    assert failures.load(id).target == f"{here / 'savers.py'}:LosesWrites"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("writes-00000000", "did you mean writes-"),
        ("nonsense", "neither the id"),
        ("../../etc/passwd", "no such file"),
        ("absent.json", "no such file"),
        ("writes-", "neither the id"),
    ],
)
def test_what_names_no_program_is_said(here: Path, text: str, words: str) -> None:
    leave(here)
    with pytest.raises(FailureError, match=words):
        failures.find(text)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda text: text[: len(text) // 2], "cut short"),
        (lambda text: "", "no JSON"),
        (lambda text: "hello", "damaged"),
        (lambda text: "[1]", "no saved program"),
        (lambda text: "[" * 100_000, "no JSON"),
        (lambda text: text.replace('"format": 1,\n "id"', '"format": 2,\n "id"'), "newer than 1"),
        (
            lambda text: text.replace('"format": 1,\n "id"', '"format": "x",\n "id"'),
            "its format is 'x'",
        ),
        (lambda text: text.replace('"faces"', '"phases"'), "damaged"),
        (lambda text: text.replace('"text": ', '"text": 3, "t": '), "damaged"),
        (lambda text: text + " " * 4_000_000, "larger than"),
    ],
)
def test_a_damaged_file_is_refused(here: Path, damage: Any, words: str) -> None:
    file = failures.find(leave(here))
    file.write_text(damage(file.read_text()))
    with pytest.raises(FailureError, match=words):
        failures.read(file)
    assert main(["replay", str(file)]) == 2


# -- replay ------------------------------------------------------------------------------------------


def test_check_leaves_programs_and_replay_tells_fixed_from_broken(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = "./savers.py:LosesWrites"
    assert main(["check", target, "--laws", LAW, "--profile", "quick", "--format", "json"]) == 1
    document = json.loads(capsys.readouterr().out)
    ids = {row["program_id"] for row in document["laws"]}
    assert {file.stem for file in (here / ".lineage" / "failures").glob("*")} == ids
    (id,) = ids
    assert main(["replay", id]) == 1
    out = capsys.readouterr().out
    assert "sync: still broken" in out
    assert "expected" in out
    assert main(["replay", id, "--target", "memory", "--face", "async", "--format", "json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert [(row["face"], row["verdict"]) for row in shown["faces"]] == [("async", "holds")]
    assert shown["exit_code"] == 0
    assert main(["replay", id, "--face", "sync", "--format", "markdown"]) == 1
    assert "**still broken**" in capsys.readouterr().out
    fixed = SAVERS.replace("return None", "return super().put_writes(*args, **kwargs)", 1)
    (here / "savers.py").write_text(fixed, encoding="utf-8")
    assert main(["replay", id, "--face", "sync"]) == 0


def test_replay_of_a_hang_keeps_the_whole_program(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    id = leave(here, target="./savers.py:Hangs", name="hangs", law="put.is-readable")
    assert main(["replay", id, "--op-limit", "1", "--format", "json"]) == 1
    (row,) = json.loads(capsys.readouterr().out)["faces"]
    assert row["verdict"] == "hangs"
    assert row["evidence"]["program"] == PROGRAM


@pytest.mark.parametrize(
    ("fields", "arguments", "words"),
    [
        ({"target": "./savers.py:Absent"}, [], "no attribute 'Absent'"),
        ({"target": "./nowhere.py:x"}, [], "there is no file"),
        ({"law": "writes.no-such-law"}, [], "no law is called"),
        ({}, ["--op-limit", "0"], "more than 0"),
        ({}, ["--target", "sqlit"], "did you mean sqlite"),
        ({"target": "./savers.py:OnlyAsync"}, ["--face", "sync"], "has no sync face"),
        ({"program": {"format": 1, "ops": [{"op": "explode"}]}}, [], "not an operation"),
        ({"program": {"format": 9, "ops": []}}, [], "format 9"),
    ],
)
def test_what_cannot_run_is_one_message_and_exit_2(
    here: Path,
    capsys: pytest.CaptureFixture[str],
    fields: dict[str, Any],
    arguments: list[str],
    words: str,
) -> None:
    id = leave(here, **fields)
    assert main(["replay", id, *arguments]) == 2
    captured = capsys.readouterr()
    assert words in captured.err
    assert "Traceback" not in captured.err + captured.out


def test_a_program_is_replayed_in_another_environment(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from pytest_lineage.environments import build as environments

    side = environments.Side("here", sys.executable)
    monkeypatch.setattr(environments, "of_stack", lambda stack, more: side)
    id = leave(here)
    assert main(["replay", id, "--stack", "installed"]) == 1
    assert main(["replay", id, "--stack", "installed", "--target", "memory"]) == 0
    capsys.readouterr()
    assert main(["replay", id, "--stack", "no-such-stack"]) == 2
    assert "--stack no-such-stack: " in capsys.readouterr().err


def test_a_law_that_does_not_apply_cannot_be_replayed(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from lineage_conformance import law as laws

    copy = next(item for item in laws.all_laws("saver") if "copy_thread" in item.needs)
    id = leave(here, law=copy.id, target="memory")
    assert main(["replay", id]) == 2
    assert "cannot run" in capsys.readouterr().out


# -- shrink and script -------------------------------------------------------------------------------


def test_shrink_saves_a_smaller_program_and_knows_when_it_is_done(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    id = leave(here)
    assert main(["shrink", id, "--format", "json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["was"] == id
    assert [op["op"] for op in shown["program"]["ops"]] == ["put", "writes", "get"]
    file = failures.find(shown["id"])
    assert failures.read(file).differences
    assert main(["shrink", shown["id"]]) == 0
    assert "as small as" in capsys.readouterr().out
    assert main(["shrink", id, "--target", "memory"]) == 1
    assert main(["shrink", id, "--limit", "0"]) == 2


def test_script_runs_alone_and_shows_the_fault(here: Path) -> None:
    check = ["check", "./savers.py:LosesWrites", "--laws", LAW, "--profile", "quick"]
    assert main([*check, "--face", "sync"]) == 1
    (file,) = (here / ".lineage" / "failures").glob("*.json")
    assert main(["script", str(file), "--output", "repro.py"]) == 0
    text = (here / "repro.py").read_text()
    assert len(text.splitlines()) <= 25
    assert "lineage" not in text
    broken = subprocess.run([sys.executable, "repro.py"], capture_output=True, text=True)
    assert broken.returncode == 1
    assert "AssertionError" in broken.stderr
    assert main(["script", file.stem, "--target", "memory", "-o", "good.py"]) == 0
    good = subprocess.run([sys.executable, "good.py"], capture_output=True, text=True)
    assert good.stdout.strip() == "PASS", good.stderr


def test_a_script_that_cannot_be_written_is_said(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    id = leave(here, program={"format": 1, "graph": {}}, differences=())
    assert main(["script", id]) == 2
    assert "left no difference" in capsys.readouterr().err
