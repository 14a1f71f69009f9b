"""The command `show`: real savers read through a worker, and targets that cannot be read."""

from __future__ import annotations

import json
import sqlite3
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lineage_conformance import contract
from pytest_lineage.cli import main
from tests import show_kit as kit

if contract.unmet("langgraph>=0.6"):
    pytest.skip("graphs of these tests need langgraph 0.6", allow_module_level=True)

HERE = Path(__file__).parent
Shown = Callable[..., tuple[int, str, str]]


@pytest.fixture
def shown(capsys: pytest.CaptureFixture[str]) -> Shown:
    """Runs the command; exit code, output, and what was said beside it."""

    def run(*words: str) -> tuple[int, str, str]:
        code = main(["show", *words])
        out, err = capsys.readouterr()
        return code, out, err

    return run


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A SQLite file with the threads of the kit."""
    module = pytest.importorskip("langgraph.checkpoint.sqlite")
    path = tmp_path / "threads of mine?.db"
    with module.SqliteSaver.from_conn_string(str(path)) as saver:
        kit.paused(saver)
        kit.forked(saver)
    return path


def test_a_sqlite_file_is_read_and_nothing_is_left_beside_it(database: Path, shown: Shown) -> None:
    before = database.read_bytes()
    code, out, err = shown(str(database), "--thread", "paused")
    assert (code, err) == (0, "")
    assert "UNCOMMITTED: messages=['tool 0']" in out
    assert "hunter2" not in out
    assert database.read_bytes() == before
    assert [file.name for file in database.parent.iterdir()] == [database.name]


def test_a_sqlite_file_in_use_is_read_as_well(database: Path, shown: Shown) -> None:
    with sqlite3.connect(database) as connection:
        connection.execute("SELECT * FROM checkpoints LIMIT 1").fetchall()
        connection.execute("CREATE TABLE mine (x)")
        connection.commit()
        assert database.with_name(f"{database.name}-wal").exists()
        assert shown(str(database), "--thread", "paused")[0] == 0
    connection.close()


def test_formats_say_the_same(database: Path, shown: Shown, tmp_path: Path) -> None:
    code, out, _ = shown(str(database), "--thread", "paused", "--format", "json")
    document = json.loads(out)
    assert code == 0
    assert document["complete"]
    root, inner = document["namespaces"]
    assert inner["under"] == root["head"]
    tasks = root["checkpoints"][-1]["tasks"]
    assert sorted(task["committed"] for task in tasks) == ["", "", "uncommitted", "uncommitted"]
    assert all(isinstance(item["size"], int) for item in root["checkpoints"])
    page = tmp_path / "t.html"
    code, out, err = shown(str(database), "--thread", "paused", "--format", "html", "-o", str(page))
    assert (code, out, err.strip()) == (0, "", f"wrote {page}")
    assert "tools (sent)" in page.read_text(encoding="utf-8")
    out = shown(str(database), "--thread", "paused", "--format", "mermaid")[1]
    assert out.startswith("flowchart TD\n")
    assert "WAITS at interrupt" in out


def test_values_are_shown_when_asked_for(database: Path, shown: Shown) -> None:
    assert "messages = ['hi', 'plan']" not in shown(str(database), "--thread", "paused")[1]
    out = shown(str(database), "--thread", "paused", "--values")[1]
    assert "messages = ['hi', 'plan']" in out
    assert "metadata {" in out
    assert "hunter2" not in out


def test_a_part_is_shown(database: Path, shown: Shown) -> None:
    out = shown(str(database), "--thread", "forked", "--namespace", "", "--limit", "2")[1]
    assert "2 checkpoints, 1 namespace" in out
    assert "is not in the saver" not in out
    document = json.loads(shown(str(database), "--thread", "forked", "--format", "json")[1])
    id = document["namespaces"][0]["checkpoints"][2]["id"]
    code, out, _ = shown(str(database), "--thread", "forked", "--around", id, "--limit", "1")
    assert code == 0
    assert out.count("  o ") >= 1
    assert "… 3 checkpoints" in out or "… 2 checkpoints" in out
    code, _, err = shown(str(database), "--thread", "forked", "--around", "zzz")
    assert code == 2
    assert "no checkpoint of thread forked" in err
    code, _, err = shown(str(database), "--thread", "forked", "--around", id[:2])
    assert code == 2
    assert "checkpoints have ids that begin with" in err


def test_what_is_missing_is_told_with_what_there_is(database: Path, shown: Shown) -> None:
    code, out, err = shown(str(database), "--thread", "nope")
    assert (code, out) == (2, "")
    assert "no thread 'nope'; there are 'forked', 'paused'" in err
    page = database.with_name("t.html")
    code, _, err = shown(str(database), "--thread", "paused", "--namespace", "x", "-o", str(page))
    assert not page.exists()
    assert code == 2
    assert "has no namespace 'x'; it has '" in err


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("memory", "opens a new and empty store"),
        ("nothere.db", "there is no file"),
        ("tests/misbehaving.py:nothing", "gave None"),
        ("tests/misbehaving.py:raises", "postgresql://me:***@db.example"),
        ("tests/misbehaving.py:exits", "exit status 3"),
        ("tests/misbehaving.py:declared", "takes `store`"),
        ("tests/misbehaving.py:filled", "there are 'live'"),
        ("nonsense", "no target is called"),
        ("postgresql://me:hunter2@127.0.0.1:9/x", "PostgreSQL: cannot connect"),
    ],
)
def test_targets_that_cannot_be_read_get_one_message(
    shown: Shown, monkeypatch: pytest.MonkeyPatch, target: str, said: str
) -> None:
    if target.startswith("postgres"):
        pytest.importorskip("psycopg")
    monkeypatch.chdir(HERE.parent)
    code, out, err = shown(target, "--thread", "x")
    assert (code, out) == (2, "")
    assert said in err
    assert "hunter2" not in err
    assert len(err.splitlines()) == 1


def test_files_that_hold_no_checkpoints_are_refused(tmp_path: Path, shown: Shown) -> None:
    (tmp_path / "text.db").write_text("hello" * 50)
    assert "no readable SQLite database" in shown(str(tmp_path / "text.db"), "--thread", "x")[2]
    with sqlite3.connect(tmp_path / "other.sqlite") as connection:
        connection.execute("CREATE TABLE t (x)")
    connection.close()
    assert "holds no checkpoints" in shown(str(tmp_path / "other.sqlite"), "--thread", "x")[2]


@pytest.mark.parametrize(
    "words", [["--limit", "0"], ["--op-limit", "0"], ["--op-limit", "nan"], ["--op-limit", "-1"]]
)
def test_wrong_numbers_are_refused(shown: Shown, words: list[str]) -> None:
    code, _, err = shown("./x.db", "--thread", "x", *words)
    assert code == 2
    assert "must be" in err


SAVERS = '''
import threading
from langgraph.checkpoint.memory import InMemorySaver
from tests import show_kit as kit

class Only(InMemorySaver):
    """Raises whatever is called but list, and remembers nothing else."""
    def _no(self, *args, **kwargs):
        raise AssertionError("a reader must not call this")
    def lock(self):
        for name in ("put", "put_writes", "get_tuple", "delete_thread", "setup", "copy_thread", "prune"):
            setattr(self, name, self._no)
            setattr(self, "a" + name, self._no)
        return self

def only():
    return kit.paused(Only()).lock()

class Hangs(InMemorySaver):
    def list(self, *args, **kwargs):
        for number, row in enumerate(super().list(*args, **kwargs)):
            if number == 2:
                threading.Event().wait()
            yield row

def hangs():
    return kit.paused(Hangs())

class Breaks(InMemorySaver):
    after = 2
    def list(self, *args, **kwargs):
        for number, row in enumerate(super().list(*args, **kwargs)):
            if number == self.after:
                raise ValueError("row 2 is damaged: postgresql://me:hunter2@db/x")
            yield row

def breaks():
    return kit.paused(Breaks())

def breaks_at_once():
    saver = kit.paused(Breaks())
    saver.after = 0
    return saver

class AsyncOnly(InMemorySaver):
    def list(self, *args, **kwargs):
        raise NotImplementedError("use alist")
    async def alist(self, *args, **kwargs):
        for row in list(InMemorySaver.list(self, *args, **kwargs)):
            yield row

async def async_only():
    return kit.paused(AsyncOnly())

class RootOnly(InMemorySaver):
    def list(self, config, **options):
        if config and "checkpoint_ns" not in config["configurable"]:
            config = {"configurable": {**config["configurable"], "checkpoint_ns": ""}}
        return super().list(config, **options)

def root_only():
    return kit.paused(RootOnly())

class NoWrites(InMemorySaver):
    def list(self, *args, **kwargs):
        for row in super().list(*args, **kwargs):
            yield row._replace(pending_writes=None)

def no_writes():
    return kit.paused(NoWrites())
'''


@pytest.fixture
def savers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A module of factories."""
    (tmp_path / "savers.py").write_text(textwrap.dedent(SAVERS))
    monkeypatch.chdir(HERE.parent)
    return str(tmp_path / "savers.py")


def test_nothing_but_list_is_called(savers: str, shown: Shown) -> None:
    code, out, err = shown(f"{savers}:only", "--thread", "paused")
    assert (code, err) == (0, "")
    assert "5 checkpoints" in out


def test_a_saver_that_hangs_is_ended(savers: str, shown: Shown) -> None:
    code, out, err = shown(f"{savers}:hangs", "--thread", "paused", "--op-limit", "8")
    assert (code, out) == (2, "")
    assert "no answer for 8 s while reading the thread" in err
    assert len(err.splitlines()) == 1


def test_a_saver_that_raises_on_the_way_shows_what_came_before(savers: str, shown: Shown) -> None:
    code, out, err = shown(f"{savers}:breaks", "--thread", "paused")
    assert code == 1
    assert "list() raised ValueError: row 2 is damaged" in out
    assert "after 2 checkpoints" in err
    assert "hunter2" not in out + err
    code, out, err = shown(f"{savers}:breaks_at_once", "--thread", "paused")
    assert (code, out) == (2, "")
    assert "list() raised ValueError" in err


@pytest.mark.parametrize("name", ["async_only", "root_only"])
def test_savers_of_other_habits_are_read_whole(savers: str, shown: Shown, name: str) -> None:
    code, out, _ = shown(f"{savers}:{name}", "--thread", "paused")
    assert code == 0
    assert "5 checkpoints, 2 namespaces" in out


def test_pending_writes_that_are_not_listed_are_not_called_absent(
    savers: str, shown: Shown
) -> None:
    out = shown(f"{savers}:no_writes", "--thread", "paused")[1]
    assert out.count("pending writes are not listed") == 5
    assert "scheduled, nothing stored" not in out


@pytest.mark.postgres
def test_a_postgres_dsn_is_read_on_a_read_only_session(shown: Shown) -> None:
    module = pytest.importorskip("langgraph.checkpoint.postgres")
    from pytest_lineage.postgres import PostgresUnavailable, StoreMaker, open_server
    from pytest_lineage.show.sources import source

    try:
        server = open_server()
    except PostgresUnavailable as error:
        pytest.skip(str(error))
    with server, StoreMaker(server.dsn) as stores:
        dsn = stores.create("show1")
        code, _, err = shown(dsn, "--thread", "paused")
        assert code == 2
        assert "holds no checkpoints" in err
        with module.PostgresSaver.from_conn_string(dsn) as saver:
            saver.setup()
            kit.paused(saver)
        code, out, err = shown(dsn, "--thread", "paused")
        assert (code, err) == (0, "")
        assert "thread paused of PostgreSQL (PostgresSaver): 5 checkpoints" in " ".join(out.split())
        assert dsn not in out
        with source(dsn).factory() as saver, pytest.raises(Exception, match="read-only"):
            saver.delete_thread("paused")
        assert shown(dsn, "--thread", "paused")[0] == 0
