"""A kind is one folder and one line: a toy kind, put into a copy of the suite, works with every command."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import lineage_conformance
from lineage_conformance import kinds

TOY = Path(__file__).parent / "samples" / "toy"

TARGETS = """
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver


class Counter:
    def __init__(self, wrong=0):
        self.saver, self.wrong, self.totals = InMemorySaver(), wrong, {}

    def add(self, thread, amount):
        before = self.totals.get(thread, 0)
        self.totals[thread] = before + amount + (self.wrong if before else 0)
        return self.totals[thread]


def right(store):
    return Counter()


def wrong(store):
    return Counter(wrong=1)


def full():
    made = Counter()
    place = {"configurable": {"thread_id": "somebody", "checkpoint_ns": ""}}
    made.saver.put(place, empty_checkpoint(), {"source": "input", "step": -1}, {})
    return made
"""


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the suite, a toy kind among the others, and targets of that kind."""
    folder = tmp_path_factory.mktemp("toy")
    package = folder / "lib" / "lineage_conformance"
    leave = shutil.ignore_patterns("__pycache__", "recorded")
    shutil.copytree(Path(lineage_conformance.__file__).parent, package, ignore=leave)
    shutil.copytree(TOY, package / "kinds" / "toy", ignore=leave)  # one folder,
    index = package / "kinds" / "__init__.py"
    text = index.read_text(encoding="utf-8")
    index.write_text(
        text.replace('        "graph",\n', '        "graph",\n        "toy",\n')
    )  # one line
    (folder / "toys.py").write_text(TARGETS)
    return folder


def said(suite: Path, *words: str) -> tuple[int, str]:
    """Exit code and output of a command."""
    command = [sys.executable, "-m", "pytest_lineage", *words]
    there = {**os.environ, "PYTHONPATH": str(suite / "lib")}
    done = subprocess.run(command, capture_output=True, text=True, cwd=suite, env=there)
    return done.returncode, done.stdout + done.stderr


def test_its_laws_are_listed_and_explained(suite: Path) -> None:
    code, text = said(suite, "laws", "--kind", "toy")
    assert code == 0
    assert "toy.adds-up" in text
    code, text = said(suite, "explain", "toy.adds-up")
    assert code == 0
    assert "kind toy" in text
    assert "Amounts that are added, one after the other." in text


def test_its_protocol_is_printed(suite: Path) -> None:
    code, text = said(suite, "explain", "--kind", "toy")
    assert code == 0
    assert "class Counter(Protocol):" in text
    assert "async def aadd(" in text
    assert "asked of its attribute `saver`" in " ".join(text.replace("#", "").split())
    assert "toy.adds-up" in text


def test_a_target_is_tried(suite: Path) -> None:
    code, text = said(suite, "smoke", "./toys.py:right", "--kind", "toy")
    assert code == 0, text
    assert "and it is empty" in text
    assert "sync optional operations: none" in text
    assert "toy.adds-up, sync: holds" in text


def test_a_target_is_judged(suite: Path) -> None:
    code, text = said(suite, "check", "./toys.py:right", "--kind", "toy", "--profile", "default")
    assert code == 0, text
    code, text = said(suite, "check", "./toys.py:wrong", "--kind", "toy")
    assert code == 1, text
    assert "toy.adds-up" in text
    assert "amounts: [3, 4]" in text  # made small: it takes two


def test_a_store_that_holds_data_is_refused(suite: Path) -> None:
    code, text = said(suite, "check", "./toys.py:full", "--kind", "toy")
    assert code == 2
    assert "already holds checkpoints" in text


@pytest.mark.parametrize("name", kinds.KINDS)
def test_what_a_record_names_is_there(name: str) -> None:
    kind = kinds.get(name)
    assert kind.required("sync")
    assert kind.required("async")
    assert kind.focuses()
    assert kind.reference or kind.is_saver
