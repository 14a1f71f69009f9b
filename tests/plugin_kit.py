"""Small savers and runners for the tests of the pytest plugin."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

# A run of pytest inside this process forgets what it imported. What is imported here stays, and is not
# imported anew by each of them.
import pytest_lineage.collector
import pytest_lineage.gather
import pytest_lineage.report.jsonl
import pytest_lineage.report.model
import pytest_lineage.session
import pytest_lineage.state
import pytest_lineage.summary  # noqa: F401
from lineage_conformance import law

law.all_laws()

SAVERS = '''
import os
import threading

from langgraph.checkpoint.memory import InMemorySaver


class Sound(InMemorySaver):
    pass


class LosesWrites(InMemorySaver):
    def put_writes(self, *args, **kwargs):
        return None


class Forgets(InMemorySaver):
    def get_tuple(self, config):
        return None

    def list(self, *args, **kwargs):
        return iter(())


class HangsInWrites(InMemorySaver):
    def put_writes(self, *args, **kwargs):
        threading.Event().wait()


class Dies(InMemorySaver):
    def put_writes(self, *args, **kwargs):
        os._exit(7)


class Prints(InMemorySaver):
    def put(self, *args, **kwargs):
        print("noise from the saver")
        os.write(1, b'{"event": "outcome", "verdict": "broken"}')
        return super().put(*args, **kwargs)


class Forks(InMemorySaver):
    def put_writes(self, *args, **kwargs):
        if hasattr(os, "fork"):
            os.fork()
        super().put_writes(*args, **kwargs)


class Shares(InMemorySaver):
    """Breaks a SHOULD: readers share what they are given."""

    def get_tuple(self, config):
        found = super().get_tuple(config)
        if found is None:
            return None
        known = self.__dict__.setdefault("_given", {})
        return known.setdefault(found.config["configurable"]["checkpoint_id"], found)
'''

HEAD = "import pytest\nimport pytest_lineage\nfrom savers import *\n"


def module(name: str, saver: str, *, attribute: str = "make", extra: str = "") -> str:
    """The text of a test module with one target."""
    return (
        f"{HEAD}\n@pytest_lineage.target({name!r})\ndef {attribute}():\n    return {saver}()\n\n{extra}\n"
    )


class Project:
    """A folder with savers and test modules, and pytest runs in it."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.path = pytester.path
        pytester.makeini("[pytest]\nasyncio_default_fixture_loop_scope = function\n")
        self.write("savers.py", SAVERS)

    def write(self, name: str, text: str) -> Path:
        """Write a file below the folder."""
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def declare(self, saver: str, name: str = "acme", **more: Any) -> None:
        """Write ``test_acme.py`` with one target."""
        self.write(f"test_{name}.py", module(name, saver, **more))

    def run(self, *arguments: str) -> pytest.RunResult:
        """Run pytest in this process."""
        return self.pytester.runpytest_inprocess("-p", "no:randomly", *arguments)

    def spawn(self, *arguments: str) -> pytest.RunResult:
        """Run pytest in a process of its own."""
        return self.pytester.runpytest_subprocess(*arguments)

    def ids(self, *arguments: str) -> list[str]:
        """Ids of the items that would run."""
        result = self.run("--collect-only", "-q", *arguments)
        return [line for line in result.outlines if "::" in line]


def lines(path: Path) -> list[dict[str, Any]]:
    """The records of a JSONL report."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
