"""A folder in which every door leads to a target with one fault, for tests that run what is printed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

SAVERS = """
from langgraph.checkpoint.memory import InMemorySaver
from pytest_lineage import target


class Forgets(InMemorySaver):
    def get_tuple(self, config):
        return None


@target("a declared name")
def declared():
    return Forgets()
"""

KINDS = """
from langgraph.checkpoint.memory import InMemorySaver
from lineage_reference.branching import make as make_branching
from lineage_reference.delta import make as make_delta
from lineage_reference.final_answer import Answers
from lineage_reference.rollback import Turns
from lineage_reference.transfer import make as make_transfer
from pytest_lineage import target


class Silent(Answers):
    def final_answer(self, *args, **more):
        return {**super().final_answer(*args, **more), "content": ""}


class Keeps(Turns):
    def cancel(self, thread, *, keep=False):
        return super().cancel(thread, keep=True)


class Hides:
    def __init__(self, inner, name):
        self.inner, self.name = inner, name

    def __getattr__(self, name):
        return (lambda *args: []) if name == self.name else getattr(self.inner, name)


def answer():
    return Silent(InMemorySaver())


def rollback():
    return Keeps(InMemorySaver())


@target("blobs of mine", kind="delta")
def delta(store):
    with make_delta(InMemorySaver(), store) as made:
        yield Hides(made, "blobs")


def branching(store):
    with make_branching(InMemorySaver(), store) as made:
        yield Hides(made, "workspace")


def transfer(store):
    with make_transfer(InMemorySaver(), store) as made:
        yield Hides(made, "transfers")
"""

MODULE = """
from pytest_lineage import target
from .faulty import Forgets


@target("bob's saver")
def saver():
    return Forgets()
"""

PUT = "put.is-readable"
LAWS = {
    "answer": "answer.is-the-last-text",
    "rollback": "rollback.restores-messages",
    "delta": "delta_blobs.survives-restart",
    "branching": "branching.source-is-unchanged",
    "transfer": "transfer.commands-are-carried-out",
}
"""Kind: a law that the backend in `KINDS` breaks."""


@dataclass(frozen=True)
class Door:
    """One way to a target: the arguments that name it, and a law that it breaks."""

    name: str
    target: str
    law: str = PUT
    kind: str = "saver"
    over: str = ""
    more: tuple[str, ...] = ()

    @property
    def check(self) -> list[str]:
        """Arguments of `check`."""
        kind = ["--kind", self.kind] if self.kind != "saver" else []
        over = ["--over", self.over] if self.over else []
        return [
            "check",
            self.target,
            *kind,
            *over,
            *self.more,
            "--laws",
            self.law,
            "--face",
            "sync",
        ]

    @property
    def pytest(self) -> list[str]:
        """Arguments of pytest."""
        named = [f"--lineage-target={self.target}", f"--lineage-kind={self.kind}"]
        over = [f"--lineage-over={self.over}"] if self.over else []
        more = [text.replace("--", "--lineage-", 1) for text in self.more]
        return [*named, *over, *more, f"--lineage-laws={self.law}", "--lineage-face=sync"]


DOORS = [
    Door("file", "./my savers.py:Forgets"),
    Door("module", "pkg.faulty:Forgets"),
    Door("declared name", "./my savers.py:declared"),
    Door("entry point", "acme"),
    Door("langgraph.json", "./langgraph.json"),
    Door("langgraph.json elsewhere", "sub/langgraph.json"),
    Door("with data", "./filled.py:filled", more=("--allow-nonempty",)),
    Door("patient", "pkg.faulty:Forgets", more=("--op-limit", "7.5")),
    Door("over", "reference", "delta_blobs.shadow-leaves-reads", "delta", "./my savers.py:Forgets"),
    Door("over module", "reference", "delta_blobs.shadow-leaves-reads", "delta", "pkg.faulty:Forgets"),
    *(Door(kind, f"kinds.py:{kind}", law, kind) for kind, law in LAWS.items()),
]  # fmt: skip


def build(folder: Path) -> None:
    """Write the folder."""
    files = {
        "my savers.py": SAVERS,
        "kinds.py": KINDS,
        "pkg/__init__.py": "",
        "pkg/faulty.py": SAVERS,
        "pkg/test_bob.py": MODULE,
        "pytest.ini": "[pytest]\n",
        "filled.py": (
            "from langgraph.checkpoint.base import empty_checkpoint\nfrom pkg.faulty import Forgets\n"
            "filled = Forgets()\nfilled.put({'configurable': {'thread_id': 't', 'checkpoint_ns': ''}}, "
            "empty_checkpoint(), {'source': 'input', 'step': -1}, {})\n"
        ),
        "langgraph.json": '{"checkpointer": {"path": "./my savers.py:declared"}}',
        "sub/langgraph.json": '{"checkpointer": {"path": "./inner.py:Forgets"}}',
        "sub/inner.py": SAVERS,
        "acme-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n",
        "acme-1.0.dist-info/entry_points.txt": (
            "[pytest_lineage.targets]\nacme = pkg.faulty:Forgets\n"
        ),
    }
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def shell(command: str, folder: Path, **more: str) -> subprocess.CompletedProcess[str]:
    """Paste a command into a shell that stands in `folder`."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("LINEAGE_")}
    scripts = str(Path(sys.executable).parent)
    env.update(PATH=os.pathsep.join([scripts, env.get("PATH", "")]), **more)
    return subprocess.run(
        command, shell=True, cwd=folder, env=env, text=True, capture_output=True, timeout=300, check=False
    )  # fmt: skip


def printed(text: str) -> list[str]:
    """Every command that a text prints, a continued line joined."""
    joined = re.sub(r" \\\n\s+", " ", text)
    start = (
        r"(?:rerun {4})?((?:PYTHONPATH=\S+ )?(?:pytest-lineage (?:check|replay)|pytest ['\"]) ?.*)"
    )
    found = re.findall(rf"^\s*(?:[│|>]\s*)?{start}$", joined, re.MULTILINE)
    return list(dict.fromkeys(command.strip() for command in found))
