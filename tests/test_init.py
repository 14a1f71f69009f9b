"""`init` writes a test module that can be collected, or says in one line what is missing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pytest_lineage.cli import main

SAVERS = {
    "plain": "class S(InMemorySaver):\n    pass\n",
    "file": """
class S(SqliteSaver):
    def __init__(self, file):
        super().__init__(sqlite3.connect(file, check_same_thread=False))
""",
    "connection": "class S(SqliteSaver):\n    def __init__(self, conn):\n        super().__init__(conn)\n",
    "string": "class S(SqliteSaver):\n    pass\n",
    "async": "from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver as S\n",
}
IMPORTS = (
    "import sqlite3\nfrom langgraph.checkpoint.memory import InMemorySaver\n"
    "from langgraph.checkpoint.sqlite import SqliteSaver\n"
)


def wrote(folder: Path, saver: str) -> str:
    (folder / "acme_kit.py").write_text(IMPORTS + saver, encoding="utf-8")
    assert main(["init", "acme_kit:S", "--directory", str(folder)]) == 0
    return (folder / "tests" / "test_acme_kit_lineage.py").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("name", SAVERS)
def test_the_module_collects_and_passes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    pytest.importorskip("langgraph.checkpoint.sqlite")
    text = wrote(tmp_path, SAVERS[name])
    assert ("store" in text.partition("def ")[2].partition(":")[0]) == (name != "plain")
    out = capsys.readouterr().out
    assert "run: pytest tests/test_acme_kit_lineage.py" in out
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"]
    done = subprocess.run(
        [*command, "--lineage-laws", "put.is-readable"],
        cwd=tmp_path, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    assert "passed" in done.stdout


def test_what_cannot_be_told_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from pytest_lineage.cli import factories

    monkeypatch.setattr(factories, "SHAPES", factories.SHAPES[3:4])
    needs = "class S(InMemorySaver):\n    def __init__(self, bucket, *, region):\n        raise OSError\n"
    text = wrote(tmp_path, needs)
    assert text.endswith("return S()\n")
    last = capsys.readouterr().out.splitlines()[-1]
    assert "how S gets bucket, region" in last


@pytest.mark.parametrize("module", ["", "raise SystemExit\n", "S = 1\n"])
def test_a_saver_that_cannot_be_looked_at_gets_the_plain_module(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], module: str
) -> None:
    (tmp_path / "acme_other.py").write_text(module, encoding="utf-8")
    assert main(["init", "acme_other:S", "--directory", str(tmp_path)]) == 0
    text = (tmp_path / "tests" / "test_acme_other_lineage.py").read_text(encoding="utf-8")
    assert "return S()" in text
    out = capsys.readouterr().out.splitlines()
    assert out[-1].startswith("Now open the saver in tests/test_acme_other_lineage.py")
