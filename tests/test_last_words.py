"""The last line of a report goes with the exit code."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_lineage.report import gist, model, terminal
from pytest_lineage.run.rows import Row, TargetReport, exit_code


def report(name: str, verdict: str = "holds", **more: Any) -> TargetReport:
    rows = (
        [] if more.get("error") else [Row("put.is-readable", "sync", name, "MUST", verdict, "put")]
    )
    return TargetReport(name, {"name": name, "faces": ["sync"]}, rows, **more)


@pytest.mark.parametrize(
    ("reports", "problems", "word"),
    [
        ([report("a")], [], "GOOD"),
        ([report("a")], ["entry 1: no reason"], "ERROR"),
        ([report("a", error="a: gone"), report("b")], [], "ERROR"),
        ([report("a"), report("b", error="b: gone"), report("c")], [], "ERROR"),
        ([report("a", "broken"), report("b")], [], "BROKEN"),
        ([report("a", "inconclusive"), report("b")], [], "INCOMPLETE"),
        ([report("a", "broken"), report("b", fault="a fault")], [], "ERROR"),
        ([report("a", "broken"), report("b", error="b: gone")], [], "ERROR"),
        ([report("a"), report("b", error="b: gone")], ["entry 1: no reason"], "ERROR"),
        ([report("a", "fixed"), report("b")], [], "FIXED"),
    ],
)
def test_the_last_line_says_what_the_exit_code_says(
    reports: list[TargetReport], problems: list[str], word: str
) -> None:
    code = exit_code(reports, problems=problems)
    known = {"file": "lineage-known.toml", "problems": problems} if problems else None
    document = model.document(reports, code, "quick", known=known)
    last = terminal.render(document, color=False, width=200).splitlines()[-1]
    assert f": {word} — " in last
    assert (word == "GOOD") == (code == 0)
    assert gist.verdicts(document)[-1].word == word
