"""Small savers and runners for the tests of the pytest plugin."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

# A run of pytest inside this process forgets what it imported. What is imported here stays, and is not
# imported anew by each of them.
import pytest

from lineage_conformance import law
from lineage_conformance.law import Law
from pytest_lineage.run.rows import Row

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
    return f"{HEAD}\n@pytest_lineage.target({name!r})\ndef {attribute}():\n    return {saver}()\n\n{extra}\n"


Told = tuple[str, str]
"""A verdict and its reason."""

EVIDENCE = {
    "program": {"format": 1, "ops": [{"op": "put", "id": 1}, {"op": "get", "id": 1}]},
    "differences": [{"op": 1, "at": "get:found", "expected": "a checkpoint", "got": "nothing"}],
}


class FakeRun:
    """Stands for a target's worker, so that tests about nodes and words need no process."""

    faces: ClassVar[tuple[str, ...]] = ("sync", "async")
    tell: ClassVar[Callable[[str, str], Told]] = staticmethod(lambda law, face: ("holds", ""))
    open: ClassVar[list[str]] = []
    """Texts of the targets that were started and not closed."""

    def __init__(self, text: str, options: Any, postgres: Any) -> None:
        self.text, self.options = text, options
        self.about: dict[str, Any] = {}

    def start(self) -> dict[str, Any]:
        """Open the target."""
        self.open.append(self.text)
        self.about = {
            "name": self.text, "faces": list(self.faces), "absent": {"async": "no"}, "versions": {},
        }  # fmt: skip
        return self.about

    def judge(self, item: Law, face: str) -> Row:
        """The verdict that the test wants."""
        verdict, reason = self.tell(item.id, face)
        bad = verdict in ("broken", "hangs")
        return Row(
            item.id, face, self.text, item.level.value, verdict, item.group, item.sentence, item.source,
            item.meaning, item.reports, reason, {**EVIDENCE, "law": item.id} if bad else None,
            stake=item.stake.value,
        )  # fmt: skip

    def replay(self, item: Law, face: str, program: Any) -> Row:
        """A program shows what judging would."""
        return self.judge(item, face)

    def close(self) -> None:
        """Close the target."""
        if self.text in self.open:
            self.open.remove(self.text)


class Project:
    """A folder with savers and test modules, and pytest runs in it."""

    def __init__(self, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
        self.pytester, self._patch = pytester, monkeypatch
        self.path = pytester.path
        self.ini()
        self.write("savers.py", SAVERS)
        for name in [name for name in os.environ if name.startswith("LINEAGE_")]:
            monkeypatch.delenv(name)

    def ini(self, text: str = "") -> None:
        """Write the ini file."""
        self.pytester.makeini(f"[pytest]\npythonpath = .\n{text}\n")

    def fake(
        self,
        tell: Callable[[str, str], Told] | None = None,
        faces: tuple[str, ...] = ("sync", "async"),
    ) -> list[str]:
        """Let `tell` say every verdict from now on; the targets that are open are returned."""
        known = {
            "faces": faces,
            "open": [],
            "tell": staticmethod(tell or (lambda law, face: ("holds", ""))),
        }
        made = type("Scripted", (FakeRun,), known)
        self._patch.setattr("pytest_lineage.run.engine.TargetRun", made)
        return made.open

    def write(self, name: str, text: str) -> Path:
        """Write a file below the folder."""
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        return file

    def declare(self, saver: str = "Sound", name: str = "acme", **more: Any) -> None:
        """Write ``test_acme.py`` with one target."""
        self.write(f"test_{name}.py", module(name, saver, **more))

    def run(self, *arguments: str) -> pytest.RunResult:
        """Run pytest in this process, with no plugins but ours: other plugins import much at each start."""
        with self._patch.context() as patch:
            patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
            quiet = (
                "ignore::pytest.PytestAssertRewriteWarning"  # this process has the plugin already
            )
            return self.pytester.runpytest_inprocess(
                "-p", "pytest_lineage.plugin", "-W", quiet, *arguments
            )

    def spawn(self, *arguments: str) -> pytest.RunResult:
        """Run pytest in a process of its own, with every plugin that is installed."""
        return self.pytester.runpytest_subprocess(*arguments)

    def ids(self, *arguments: str) -> list[str]:
        """Ids of the items that would run."""
        result = self.run("--collect-only", "-q", *arguments)
        return [line for line in result.outlines if "::" in line]
