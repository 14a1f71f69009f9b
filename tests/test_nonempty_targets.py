"""Nobody's live data is touched: a target of any kind that lists a checkpoint is refused before a write."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from lineage_conformance.kinds import KINDS
from pytest_lineage.cli import main

LIVE = '''
import sqlite3
from pathlib import Path

from langgraph.checkpoint.sqlite import SqliteSaver

FILE = str(Path(__file__).parent / "live.db")


class Plain(SqliteSaver):
    """As an application has it: no store, one database."""

    def __init__(self):
        super().__init__(sqlite3.connect(FILE, check_same_thread=False))


class NoLimit(Plain):
    def list(self, config, *, filter=None, before=None):
        return super().list(config, filter=filter, before=before)


def with_store(store):
    return Plain()


def _over(module, **more):
    import importlib

    return importlib.import_module("lineage_reference." + module).make(Plain(), **more)


def rollback():
    return _over("rollback")


def answer():
    return _over("final_answer")


class Store:
    def __init__(self):
        import tempfile

        self.id, self.path, self.dsn = "x", Path(tempfile.mkdtemp()), None


def branching():
    return _over("branching", store=Store())


def delta():
    return _over("delta", store=Store())


def transfer():
    return _over("transfer", store=Store())


class Hidden:
    """A backend that shows no saver, and lends none."""

    def __init__(self):
        self._inner = rollback()

    def __getattr__(self, name):
        if name in ("saver", "use", "list", "alist"):
            raise AttributeError(name)
        return getattr(self._inner, name)

    def use(self, build):
        raise NotImplementedError

    def agent(self, model, tools):
        raise NotImplementedError


class Shown(Hidden):
    def __init__(self):
        super().__init__()
        self.saver = Plain()
'''

WAYS = [
    ("saver", "./live.py:Plain", ""),
    ("saver", "./live.py:NoLimit", ""),
    ("saver", "./live.py:with_store", ""),
    *((kind, f"./live.py:{kind}", "") for kind in KINDS if kind != "saver"),
    *((kind, "reference", "./live.py:Plain") for kind in KINDS if kind != "saver"),
    ("rollback", "./live.py:Shown", ""),
]


@pytest.fixture
def live(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A database with one conversation in it, and a module with every way to it."""
    saving = pytest.importorskip("langgraph.checkpoint.sqlite")
    from langgraph.checkpoint.base import empty_checkpoint

    monkeypatch.chdir(tmp_path)
    (tmp_path / "live.py").write_text(LIVE, encoding="utf-8")
    with saving.SqliteSaver.from_conn_string(str(tmp_path / "live.db")) as saver:
        config = {"configurable": {"thread_id": "somebody", "checkpoint_ns": ""}}
        saver.put(config, empty_checkpoint(), {"source": "input", "step": -1}, {})
    return tmp_path / "live.db"


def rows(file: Path) -> list[str]:
    connection = sqlite3.connect(file)
    try:
        return list(connection.iterdump())
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("command", "kind", "target", "over"),
    [*(("check", *way) for way in WAYS), ("smoke", *WAYS[0]), ("smoke", *WAYS[-2])],
)
def test_a_live_database_is_refused_before_anything_is_written(
    live: Path, capsys: pytest.CaptureFixture[str], command: str, kind: str, target: str, over: str
) -> None:
    before = rows(live)
    more = ["--over", over] if over else []
    assert main([command, target, "--kind", kind, *more]) == 2
    shown = capsys.readouterr()
    said = " ".join((shown.out + shown.err).split())
    assert "already holds checkpoints" in said
    assert "--allow-nonempty" in said
    assert rows(live) == before


def test_a_backend_that_shows_no_saver_and_takes_no_store_is_refused(
    live: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = rows(live)
    assert main(["check", "./live.py:Hidden", "--kind", "rollback"]) == 2
    said = " ".join(capsys.readouterr().out.split())
    assert "it shows no saver that lists" in said
    assert "give it an attribute `saver`" in said
    assert rows(live) == before
