"""The snippets of ``reference/README.md`` run as they stand, one after the other."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from lineage_conformance import contract

README = Path(__file__).parents[1] / "reference" / "README.md"
SNIPPET = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)

pytestmark = [
    pytest.mark.skipif(not README.is_file(), reason="the source tree is out of the way"),
    pytest.mark.skipif(
        contract.unmet("langgraph>=0.6") is not None, reason="the references need langgraph 0.6"
    ),
]


def test_snippets_run_as_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for extra in ("sqlalchemy", "starlette", "httpx"):
        pytest.importorskip(extra, reason=f"{extra} is not installed")
    text = README.read_text(encoding="utf-8")
    snippets = list(SNIPPET.finditer(text))
    assert len(snippets) >= 7
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "readme"}
    for snippet in snippets:
        line = text[: snippet.start(1)].count("\n")
        source = "\n" * line + snippet.group(1)  # so that a failure names the line of the file
        exec(compile(source, str(README), "exec"), names)


def test_what_it_refers_to_is_there() -> None:
    text = README.read_text(encoding="utf-8")
    root = README.parents[1]
    for name in re.findall(r"`((?:tests|demo)/[\w./]+)`", text):
        found = (
            root / name if name.startswith("tests") else root / "reference/lineage_reference" / name
        )
        assert found.is_file(), name
    for module in re.findall(r"`lineage_reference((?:\.[a-z_]+)+)", text):
        parts = module[1:].split(".")
        base = root / "reference" / "lineage_reference"
        assert any(
            (base.joinpath(*parts[:n]).with_suffix(".py")).is_file()
            or (base.joinpath(*parts[:n])).is_dir()
            for n in range(len(parts), 0, -1)
        ), module
