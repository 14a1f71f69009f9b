"""Stand-alone scripts of a user's own targets: run without this package, and twice on one store."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pytest_lineage.cli import main
from pytest_lineage.known import saved as failures
from pytest_lineage.report.scripting.openings import opening, stand_in

SAVER = '''
import sqlite3
from pathlib import Path

from langgraph.checkpoint.sqlite import SqliteSaver

FILE = str(Path(__file__).parent / "server.db")  # as a server is: what a run leaves, the next one meets


class Hoards(SqliteSaver):
    """Loses a thread's latest checkpoint once it has more than two."""

    def __init__(self):
        super().__init__(sqlite3.connect(FILE, check_same_thread=False))

    def get_tuple(self, config):
        rows = list(self.list({"configurable": {"thread_id": config["configurable"]["thread_id"]}}))
        return None if len(rows) == 1 and BROKEN else super().get_tuple(config)


BROKEN = True
'''
IMPORTS = {
    "from": "from pytest_lineage import Store, target",
    "import": "import pytest_lineage",
    "targets": "from pytest_lineage.targets import target",
    "plain": "",
}
FACTORIES = {
    "from": "@target('mine')\ndef make(store: Store):\n    yield Hoards()\n",
    "import": "@pytest_lineage.target('mine', limits={'text': 'no'})\ndef make():\n    return Hoards()\n",
    "targets": "@target('mine')\nasync def make(store):\n    return Hoards()\n",
    "plain": "def make():\n    return Hoards()\n",
}

WITHOUT_US = """
import runpy
import sys


class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pytest_lineage", "lineage_conformance", "lineage_reference"):
            raise ModuleNotFoundError(name)


sys.meta_path.insert(0, Blocked())
runpy.run_path(sys.argv[1], run_name="__main__")
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    pytest.importorskip("langgraph.checkpoint.sqlite")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runner.py").write_text(WITHOUT_US, encoding="utf-8")
    return tmp_path


def run(folder: Path, script: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "runner.py", script]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=120
    )


@pytest.mark.parametrize(
    ("how", "where"),
    [
        ("from", "mine.py"),
        ("import", "sub/mine.py"),
        ("targets", "mine.py"),
        ("plain", "sub/mine.py"),
    ],
)
def test_a_declared_target_runs_without_this_package_and_twice_alike(
    how: str, where: str, here: Path
) -> None:
    file = here / where
    file.parent.mkdir(exist_ok=True)
    file.write_text("\n".join([IMPORTS[how], SAVER, FACTORIES[how]]), encoding="utf-8")
    limited = ["--laws", "put.is-readable", "--face", "sync"]
    assert main(["check", f"./{where}:make", *limited]) == 1
    (saved,) = (here / failures.HOME / failures.FOLDER).glob("*.json")
    (file.parent / "server.db").unlink()
    assert main(["script", saved.stem, "--output", "shown.py"]) == 0
    text = (here / "shown.py").read_text()
    assert ("ours = " in text) == (how != "plain")
    for _ in range(2):
        done = run(here, "shown.py")
        assert done.returncode == 1, done.stdout + done.stderr
        assert "AssertionError" in done.stderr
    file.write_text(file.read_text().replace("BROKEN = True", "BROKEN = False"), encoding="utf-8")
    for _ in range(2):
        assert run(here, "shown.py").stdout == "PASS\n"


def test_a_langgraph_json_is_followed_to_its_saver(here: Path) -> None:
    (here / "sub").mkdir()
    (here / "sub" / "mine.py").write_text(SAVER, encoding="utf-8")
    text = '{"checkpointer": {"path": "./mine.py:Hoards"}}'
    (here / "sub" / "langgraph.json").write_text(text, encoding="utf-8")
    made = opening("sub/langgraph.json")
    assert made.expression == "Hoards()"
    assert "sys.path.insert(0, 'sub')" in made.before


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("", 0),
        ("import pytest_lineage_other", 0),
        ("def broken(:", 0),
        ("from pytest_lineage import target", 3),
        ("from pytest_lineage import target, Store", 4),
        ("import pytest_lineage as p", 3),
        ("from pytest_lineage.targets import target", 4),
    ],
)
def test_what_stands_in_for_this_package(source: str, lines: int) -> None:
    assert len(stand_in(source)) == lines


@pytest.mark.parametrize("name", ["memory", "sqlite", "sqlite-async", "reference"])
def test_thread_ids_of_a_fresh_store_are_plain(name: str) -> None:
    assert opening(name).fresh


@pytest.mark.parametrize(
    "name", ["postgres", "postgres-pool", "postgres-async-pipeline", "./a.py:b"]
)
def test_thread_ids_of_a_store_that_lasts_are_new_in_each_run(name: str) -> None:
    made = opening(name)
    assert not made.fresh
    assert "import uuid" in made.imports
    assert made.before[-1].startswith("unique = uuid.uuid4()")
