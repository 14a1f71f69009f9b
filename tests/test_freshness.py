"""A cached environment is used again only while the same requirements would give the same."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from lineage_conformance import builder, freshness, stacks
from pytest_lineage.environments import build as environments

DAY = "2026-05-05"
PINNED = "langgraph==1.2.5"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty current directory, and a day that stands still."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(freshness.time, "strftime", lambda *args: DAY)
    return tmp_path


def write(name: str, text: str) -> None:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


LOCAL = {
    "project": ("./lib", "lib/src/x.py"),
    "project-by-a-bare-path": ("libs/lib", "libs/lib/x.py"),
    "current-directory": (".", "x.py"),
    "extras": ("./lib[a,b]", "lib/x.py"),
    "editable": ("-e ./lib", "lib/x.py"),
    "editable-without-a-blank": ("-e./lib[dev]", "lib/x.py"),
    "editable-long": ("--editable=lib", "lib/x.py"),
    "editable-with-blanks": ("-e ./my lib", "my lib/x.py"),
    "wheel": ("dist/x-1-py3-none-any.whl", "dist/x-1-py3-none-any.whl"),
    "sdist-with-a-marker": ("x-1.tar.gz ; python_version > '3'", "x-1.tar.gz"),
    "named-path": ("x @ ./lib", "lib/x.py"),
    "requirements": ("-r all.txt", "all.txt"),
    "constraints": ("-c all.txt", "all.txt"),
    "find-links": ("--find-links wheels", "wheels/x-1-py3-none-any.whl"),
}


@pytest.mark.parametrize(("requirement", "file"), LOCAL.values(), ids=LOCAL)
def test_what_lies_here_counts_by_its_content(requirement: str, file: str) -> None:
    write(file, "langgraph==1")
    before = freshness.state([requirement])
    assert freshness.state([requirement]) == before
    write(file, "langgraph==2")
    assert freshness.state([requirement]) != before


LINES = {
    "project": "./lib",
    "editable": "-e ./lib  # ours",
    "named-url": "lib @ file://{here}/lib",
    "nested": "-r more/nested.txt",
    "continued": "-e \\\n  ./lib",
    "variable": "${{LIB_FOLDER}}/lib",
    "constraint": "-c more/constraints.txt",
}


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_what_a_requirements_file_names_counts_too(
    line: str, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIB_FOLDER", str(here))
    write("all.txt", f"{PINNED}\n{line.format(here=here)}\n")
    write("more/nested.txt", "-e ../lib\n")
    write("more/constraints.txt", "lib @ file:../lib")
    write("lib/x.py", "1")
    before = freshness.state(["-r all.txt"])
    write("lib/x.py", "2")
    assert freshness.state(["-r all.txt"]) != before


def test_projects_that_a_project_asks_for_count_too() -> None:
    write("app/pyproject.toml", "[tool.uv.sources]\nlib = { path = '../lib' }\n")
    write("lib/pyproject.toml", "[tool.poetry.dependencies]\nbase = { path = '../base' }\n")
    write("base/x.py", "1")
    before = freshness.state(["-e app"])
    write("base/x.py", "2")
    assert freshness.state(["-e app"]) != before


@pytest.mark.parametrize(
    "file",
    [".git/index", ".venv/x.py", "my-env/bin/python", "threads.db", "threads.db-wal", "a/__pycache__/x.pyc",
     "lib.egg-info/PKG-INFO", "build/lib/x.py", ".lineage/failures/x.json"],
)  # fmt: skip
def test_what_no_build_reads_does_not_count(file: str) -> None:
    write("lib/x.py", "1")
    write("lib/my-env/pyvenv.cfg", "")
    before = freshness.state(["./lib"])
    write(f"lib/{file}", "2")
    assert freshness.state(["./lib"]) == before


def test_names_and_links_count(here: Path) -> None:
    write("lib/a.py", "1")
    before = freshness.content(here / "lib")
    Path("lib/a.py").rename("lib/b.py")
    renamed = freshness.content(here / "lib")
    assert renamed != before
    (here / "lib" / "gone.py").symlink_to(here / "nowhere")
    assert freshness.content(here / "lib") == renamed


@pytest.mark.parametrize(
    ("requirements", "is_open"),
    [
        ([PINNED], False),
        (["psycopg[binary,pool]==3.3.9 ; python_version > '3.9'"], False),
        (["langgraph===1.2.5"], False),
        (["x @ git+https://example.org/x.git@" + "a" * 40], False),
        (["x @ https://example.org/x.zip#sha256=" + "a" * 64], False),
        ([PINNED, "-c limits.txt"], False),
        (["langgraph"], True),
        (["langgraph==1.2.*"], True),
        (["langgraph>=1.2,<1.3"], True),
        (["langgraph~=1.2.5"], True),
        (["langgraph!=1.2.5"], True),
        (["langgraph[all] ; python_version == '3.12'"], True),
        (["x @ git+https://example.org/x.git@main"], True),
        (["x @ https://example.org/x.zip"], True),
        (["-r open.txt"], True),
        (["-r", "open.txt"], True),
        (["./lib"], True),
    ],
)
def test_open_versions_count_by_the_day(
    requirements: list[str], is_open: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("open.txt", f"{PINNED}\nhttpx\n")
    write("limits.txt", "httpx<1\n")
    write("lib/x.py", "")
    before = freshness.state(requirements)
    monkeypatch.setattr(time, "strftime", lambda *args: "2026-05-06")
    assert (freshness.state(requirements) != before) is is_open


def test_constraints_pin_what_requirements_leave_open() -> None:
    assert freshness.state(["Lang_Graph"], ["lang-graph==1"])[1] == ""
    assert freshness.state(["langgraph"], ["langgraph<2"])[1] == DAY
    write("lib/x.py", "")
    assert freshness.state(["./lib", PINNED], alone=True)[1] == ""


@pytest.mark.parametrize(
    ("item", "words"),
    [
        (PINNED, [PINNED]),
        ("x @ file:///a b", ["x @ file:///a b"]),
        ("-e /a b", ["-e", "/a b"]),
        ("-r a.txt -c b.txt", ["-r", "a.txt", "-c", "b.txt"]),
        ("--pre", ["--pre"]),
    ],
)
def test_items_are_words_of_a_command_line(item: str, words: list[str]) -> None:
    assert freshness.words(item) == words


# -- environments ----------------------------------------------------------------------------------


@pytest.fixture
def made(here: Path, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Makes environments without an installer; what was to be installed, in order."""
    monkeypatch.setenv(builder.CACHE_VARIABLE, str(here / "cache"))
    calls: list[list[str]] = []

    def create(path: Path, python: str = "") -> None:
        builder.program(path, "python").parent.mkdir(parents=True)
        builder.program(path, "python").write_text("")

    monkeypatch.setattr(builder, "create", create)
    monkeypatch.setattr(builder, "install", lambda path, what, *options: calls.append([*what]))
    monkeypatch.setattr(builder, "installed", lambda python: {"langgraph": "1.2.5"})
    return calls


def bump_of_a_file() -> str:
    return environments.bumped(stacks.find("old.txt"), [PINNED]).python


def bump_to_a_project() -> str:
    return environments.bumped(stacks.find("installed"), ["-e ./lib"]).python


def column_of_a_stack() -> str:
    return environments.of_stack(stacks.find("langgraph==1.2.5"), ["./lib"]).python


@pytest.mark.parametrize("make", [bump_of_a_file, bump_to_a_project, column_of_a_stack])
def test_environments_are_made_anew_when_local_code_changes(
    make: Callable[[], str], made: list[list[str]]
) -> None:
    write("old.txt", "./lib\n")
    write("lib/x.py", "1")
    first = make()
    assert make() == first
    write("lib/x.py", "2")
    assert make() != first


def test_installed_local_projects_count_by_their_content(
    here: Path, made: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    pins = [PINNED, f"-e {here}/lib", f"wheel-of-ours @ file://{here}/ours-1.whl"]
    monkeypatch.setattr(stacks, "frozen", lambda: pins)
    write("lib/x.py", "1")
    write("ours-1.whl", "1")
    seen = set()
    for name in ("lib/x.py", "ours-1.whl"):
        seen.add(environments.bumped(stacks.find("installed"), [PINNED]).python)
        write(name, "2")
    seen.add(environments.bumped(stacks.find("installed"), [PINNED]).python)
    assert len(seen) == 3


def test_an_environment_gives_way_to_a_newer_one_unless_it_is_in_use(
    made: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    write("lib/x.py", "1")
    first = builder.environment(["./lib"])
    write("lib/x.py", "2")
    second = builder.environment(["./lib"])
    assert first.path.is_dir()
    monkeypatch.setattr(builder, "KEPT", -1)
    write("lib/x.py", "3")
    other = builder.environment([PINNED])
    third = builder.environment(["./lib"])
    assert [e.path.is_dir() for e in (first, second, other, third)] == [False, False, True, True]
