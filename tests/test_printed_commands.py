"""Every command that a report prints works when it is pasted: for each door to a target, and each kind."""

from __future__ import annotations

import html
import json
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from pytest_lineage.cli import main
from tests.commands_kit import DOORS, Door, build, printed, shell

if sys.platform == "win32":
    pytest.skip("commands are printed for another shell", allow_module_level=True)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    build(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv(
        "PYTHONPATH", str(tmp_path)
    )  # the entry point is found like an installed one
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def failing(command: str, folder: Path) -> str:
    """What a pasted command says; it must find the same breach."""
    done = shell(command, folder)
    assert done.returncode == 1, f"{command}\n{done.stdout[-3000:]}\n{done.stderr[-2000:]}"
    return done.stdout


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.name)
def test_what_check_prints(door: Door, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*door.check, "--report", "r.jsonl", "--junit", "r.xml"]) == 1
    commands = printed(capsys.readouterr().out)
    assert [command.split()[1] for command in commands] == ["check", "replay"]
    told = [failing(command, folder) for command in commands]
    assert all(door.law in text for text in told)

    header = json.loads((folder / "r.jsonl").read_text().splitlines()[0])
    address = header["targets"][0]["address"]
    assert address["text"] == door.target
    assert address.get("kind", "saver") == door.kind
    assert address.get("over", "") == door.over

    # A replay, and everything else that presents the report, prints the same.
    assert commands[0] in printed(told[1])
    junit = ElementTree.parse(folder / "r.xml").iter("failure")
    assert printed("\n".join(item.text or "" for item in junit)) == commands
    for form in ("show", "markdown"):
        assert main(["report", form, "r.jsonl"]) == 0
        assert printed(capsys.readouterr().out) == commands
    assert main(["report", "html", "r.jsonl"]) == 0
    shown = re.findall(r"<pre class=cmd>(.*?)</pre>", (folder / "r.html").read_text())
    assert [html.unescape(text) for text in shown] == commands


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.name)
def test_what_pytest_prints_for_a_target_that_an_option_names(door: Door, folder: Path) -> None:
    done = shell(
        f"{sys.executable} -m pytest -q -p no:cacheprovider {_words(door.pytest)} sub", folder
    )
    assert done.returncode == 1, done.stdout + done.stderr
    (command,) = printed(done.stdout)
    assert command.startswith("pytest ")
    assert door.law in failing(command, folder)


@pytest.mark.parametrize("where", [".", "pkg"])
def test_what_pytest_prints_for_a_target_of_a_module(
    where: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", "")
    here = folder / where
    run = "pytest -q -p no:cacheprovider --lineage-laws=put.is-readable --lineage-report=r.jsonl "
    done = shell(run + f"--lineage-profile=default {'pkg' if where == '.' else '.'}", here)
    commands = printed(done.stdout)
    assert commands
    assert all("bob" in failing(command, here) for command in commands[:1])

    monkeypatch.chdir(here)
    assert main(["report", "show", "r.jsonl"]) == 0
    first, second, *_ = printed(capsys.readouterr().out)
    assert first == commands[0]  # the node itself
    again = failing(second, here)
    assert second.startswith("pytest-lineage replay ")
    (check, _) = printed(again)
    assert failing(check, here)


@pytest.mark.parametrize("option", ["-c other.ini", "--rootdir=.."])
def test_options_that_move_the_root_are_kept(option: str, folder: Path) -> None:
    (folder / "pkg" / "other.ini").write_text("[pytest]\n", encoding="utf-8")
    here = folder / "pkg"
    done = shell(
        f"pytest -q -p no:cacheprovider --lineage-laws=put.is-readable {option} test_bob.py", here
    )
    commands = printed(done.stdout)
    assert commands
    failing(commands[0], here)


def test_two_targets_of_one_name_are_told_apart(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    check = ["check", "./langgraph.json", "./my savers.py:declared", "--laws", "put.is-readable"]
    assert main([*check, "--face", "sync"]) == 1
    commands = [c for c in printed(capsys.readouterr().out) if c.split()[1] == "check"]
    assert ["langgraph.json" in c for c in commands] == [True, False]


def _words(arguments: list[str]) -> str:
    import shlex

    return shlex.join(arguments)
