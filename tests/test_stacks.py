"""Stacks, the environments made of them, their cache, and the matrix over them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lineage_conformance import builder, stacks
from pytest_lineage.cli import main
from pytest_lineage.environments import build as environments
from pytest_lineage.environments import matrix, matrix_report
from pytest_lineage.environments.build import Unbuildable

FACTORS = {"lg06": "lg-0.6", "lg10": "lg-1.0", "lg11": "lg-1.1", "lg12": "lg-1.2",
           "app05": "app-2026-05", "app06": "app-2026-06"}  # fmt: skip
"""Factors of tox.ini and the stacks that they stand for."""

UV_LOCK = """\
version = 1
[[package]]
name = "app"
version = "0.1.0"
source = { virtual = "." }
dependencies = [{ name = "langgraph" }, { name = "httpx" }]
[[package]]
name = "langgraph"
version = "1.2.5"
source = { registry = "https://example.org/simple" }
[[package]]
name = "httpx"
version = "0.28.0"
source = { registry = "https://example.org/simple" }
[[package]]
name = "langgraph-checkpoint"
version = "4.1.1"
source = { registry = "https://example.org/simple" }
"""
POETRY_LOCK = """\
[[package]]
name = "langgraph"
version = "1.2.5"
[[package]]
name = "local-thing"
version = "1"
[package.source]
type = "directory"
url = "../thing"
"""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and an installer that fetches nothing."""
    monkeypatch.setenv(builder.CACHE_VARIABLE, str(tmp_path / "cache"))
    builder.suite.cache_clear()

    def create(path: Path, python: str = "") -> None:
        program = builder.program(path, "python")
        program.parent.mkdir(parents=True)
        program.write_text("")

    def install(path: Path, what: Any, *options: str) -> None:
        if any("99.0" in item for item in what):
            raise builder.Failed("there is no such release")
        with (path / "installed.txt").open("a") as file:
            file.write("\n".join([*what, *options]) + "\n")

    monkeypatch.setattr(builder, "create", create)
    monkeypatch.setattr(builder, "install", install)
    monkeypatch.setattr(builder, "installed", lambda python: {"langgraph": "1.2.5"})
    yield tmp_path / "cache"
    builder.suite.cache_clear()


def test_the_named_stacks_are_pinned_and_hold_what_applications_rely_on() -> None:
    found = {stack.id: stack for stack in stacks.named()}
    assert {"current", "lowest", "lg-0.6", "lg-1.0", "lg-1.1", "lg-1.2"} <= set(found)
    assert {
        "langgraph==1.2.0",
        "langgraph-checkpoint==4.1.0",
        "langgraph-checkpoint-postgres==3.1.0",
    } <= set(found["app-2026-05"].requirements)
    assert {"langgraph==1.2.5", "langgraph-checkpoint==4.1.1", "langgraph-checkpoint-sqlite==3.1.1",
            "deepagents==0.7.5"} <= set(found["app-2026-06"].requirements)  # fmt: skip
    assert all("==" in pin for stack in found.values() for pin in stack.requirements)
    assert all(stack.title for stack in found.values())


def test_tox_has_a_factor_for_each_stack() -> None:
    path = Path(__file__).parents[1] / "tox.ini"
    if not path.is_file():
        pytest.skip("the source tree is out of the way")
    pinned: dict[str, set[str]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        factor, _, requirement = line.strip().partition(": ")
        if factor in FACTORS and "==" in requirement:
            pinned.setdefault(FACTORS[factor], set()).add(requirement)
    found = {stack.id: set(stack.requirements) for stack in stacks.named()}
    assert pinned == {id: found[id] for id in FACTORS.values()}
    assert set(found) == {*FACTORS.values(), "current", "lowest"}


def test_stacks_come_from_text_files_and_locks(tmp_path: Path) -> None:
    assert stacks.find("langgraph>=1.2,<1.3,psycopg[binary,pool]==3.3.9").requirements == (
        "langgraph>=1.2,<1.3",
        "psycopg[binary,pool]==3.3.9",
    )
    (tmp_path / "uv.lock").write_text(UV_LOCK)
    found = stacks.find(str(tmp_path / "uv.lock"))
    assert found.requirements == ("httpx==0.28.0", "langgraph==1.2.5")
    assert "langgraph-checkpoint==4.1.1" in found.constraints
    (tmp_path / "poetry.lock").write_text(POETRY_LOCK)
    found = stacks.find(str(tmp_path / "poetry.lock"))
    assert found.requirements == ("langgraph==1.2.5",)
    assert "local-thing==1" not in found.constraints
    (tmp_path / "old.txt").write_text("langgraph==1.2.5\n")
    assert stacks.find(str(tmp_path / "old.txt")).requirements[0].startswith("-r ")
    assert stacks.find("installed").running


@pytest.mark.parametrize(
    ("text", "message"), [("curent", "did you mean current"), ("nowhere.txt", "there is no file")]
)
def test_what_is_no_stack_is_refused(text: str, message: str) -> None:
    with pytest.raises(stacks.StackError, match=message):
        stacks.find(text)


def test_a_lock_that_differs_from_what_is_installed_is_told(tmp_path: Path) -> None:
    (tmp_path / "uv.lock").write_text(UV_LOCK)
    found = environments.drifted({"langgraph": "1.2.6", "httpx": "1.0"}, tmp_path)
    assert found == (
        "uv.lock pins langgraph 1.2.5, installed is 1.2.6: what is installed is tested",
    )
    (tmp_path / "uv.lock").write_text("nonsense")
    assert "cannot be read" in environments.drifted({}, tmp_path)[0]


def test_the_running_environment_is_frozen_without_the_suite() -> None:
    found = stacks.frozen()
    assert any(pin.startswith("langgraph==") for pin in found)
    assert not any("pytest-lineage" in pin for pin in found)
    assert (
        stacks._frozen("app", "1", {"url": "file:///a%20b", "dir_info": {"editable": True}})
        == "-e /a b"
    )
    git = {"url": "https://example.org/x.git", "vcs_info": {"vcs": "git", "commit_id": "abc"}}
    assert stacks._frozen("x", "1", git) == "x @ git+https://example.org/x.git@abc"


def test_environments_are_made_once(cache: Path) -> None:
    first = builder.environment(["langgraph==1.2.5"], label="one")
    again = builder.environment(["langgraph==1.2.5"], label="one")
    other = builder.environment(["langgraph==1.2.5"], constraints=["httpx==1"], label="two")
    assert first.path == again.path != other.path
    assert (first.path / "installed.txt").read_text().count("langgraph") == 1
    assert first.packages == {"langgraph": "1.2.5"}


def test_a_requirements_file_counts_by_its_content(cache: Path, tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("langgraph==1.2.5")
    first = builder.environment([f"-r {file}"])
    file.write_text("langgraph==1.2.6")
    assert builder.environment([f"-r {file}"]).path != first.path


def test_an_environment_that_failed_is_not_kept(cache: Path) -> None:
    with pytest.raises(builder.Failed):
        builder.environment(["langgraph==99.0"])
    assert [entry["label"] for entry in builder.entries()] == ["unfinished"]
    with pytest.raises(builder.Failed):
        builder.environment(["langgraph==99.0"])


def test_the_cache_is_shown_and_cleared(cache: Path, capsys: pytest.CaptureFixture[str]) -> None:
    builder.environment(["langgraph==1.2.5"], label="one")
    builder.environment(["langgraph==1.2.6"], label="two")
    assert main(["cache", "--format", "json"]) == 0
    entries = json.loads(capsys.readouterr().out)["entries"]
    assert {entry["label"] for entry in entries} == {"one", "two"}
    assert main(["cache", "clear", entries[0]["id"]]) == 0
    assert main(["cache", "clear", "nothing-like-it"]) == 2
    assert main(["cache", "clear"]) == 0
    assert builder.entries() == []


def test_the_suite_works_from_its_folder(tmp_path: Path) -> None:
    builder.suite.cache_clear()
    folder = builder.suite(tmp_path)
    builder.suite.cache_clear()
    assert builder.suite(tmp_path) == folder
    code = (
        "import pytest_lineage, lineage_conformance, lineage_reference as r; "
        "print(pytest_lineage.__file__, pytest_lineage.__version__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
    )
    assert str(folder) in done.stdout, done.stderr
    assert (folder / "lineage_conformance" / "stacks.toml").is_file()


def test_a_bump_that_does_not_resolve_says_so(cache: Path) -> None:
    with pytest.raises(Unbuildable, match="there is no such release"):
        environments.bumped(stacks.find("installed"), ["langgraph==99.0"])


def test_a_bump_copies_what_is_installed_and_asks_for_what_is_wanted(cache: Path) -> None:
    side = environments.bumped(stacks.find("installed"), ["langgraph==1.2.5"])
    text = (Path(side.python).parents[1] / "installed.txt").read_text()
    assert "--no-deps" in text.split("langgraph==1.2.5")[0] + text
    assert text.rindex("langgraph==1.2.5") > text.index("--no-deps")
    latest = environments.bumped(stacks.find("installed"), [], latest=True)
    assert latest.python != side.python


def test_changes_leave_tools_out() -> None:
    old = {"langgraph": "1", "pip": "1", "gone": "1"}
    new = {"langgraph": "2", "pip": "2", "new": "1"}
    assert environments.changes(old, new) == [
        ("gone", "1", ""),
        ("langgraph", "1", "2"),
        ("new", "", "1"),
    ]


def test_the_matrix_has_a_column_for_each_stack_and_a_word_for_each_state(
    cache: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    page = tmp_path / "matrix.html"
    command = ["matrix", "installed", "langgraph==99.0", "--target", "memory", "--target", "no_such:thing",
               "--laws", "fork,put.is-readable"]  # fmt: skip
    assert (
        main([*command, "--format", "json", "--html", str(page), "--reports", str(tmp_path / "r")])
        == 2
    )
    data = json.loads(capsys.readouterr().out)
    installed, missing = data["stacks"]
    cells = {(cell["target"], cell["group"]): cell["cell"] for cell in installed["groups"]}
    assert cells["memory", "put"] == "4/4"
    assert cells["no_such:thing", ""] == "cannot be used"
    assert "there is no such release" in missing["unbuildable"]
    assert missing["exit_code"] == 2
    text = page.read_text()
    assert "there is no such release" in text
    assert "memory @ installed" in text
    assert [path.name for path in (tmp_path / "r").iterdir()] == ["installed-saver.jsonl"]


def test_the_matrix_is_escaped() -> None:
    column = matrix.Column("<b>&|", unbuildable="<script>alert(1)</script>\x1b[31m")
    assert "<script>" not in matrix_report.markdown([column])
    assert "\x1b[31m" not in matrix_report.pretty([column])


def test_a_group_without_a_verdict_is_no_pass() -> None:
    from collections import Counter

    assert matrix.cell(Counter({"not-applicable": 3})) == "does not apply"
    assert matrix.cell(Counter({"inconclusive": 3})) == "no verdict"
    assert matrix.cell(Counter({"holds": 3, "broken": 1, "engine": 1})) == "3/5 1 broken 1 engine"


def test_the_matrix_wants_stacks_and_targets(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["matrix", "installed"]) == 2
    assert main(["matrix", "--list"]) == 0
    assert "app-2026-06" in capsys.readouterr().out
    assert main(["matrix", "nothing", "--target", "memory"]) == 2
