"""`pytest-lineage smoke`: the harness is tried, for every kind of target."""

from __future__ import annotations

from pathlib import Path

import pytest

from lineage_conformance import kinds
from lineage_conformance import law as laws
from lineage_conformance.kinds import KINDS
from pytest_lineage.cli import main

HERE = Path(__file__).parent


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_tried_by_a_law_of_its_own(
    kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert laws.get(kinds.get(kind).first).kind == kind
    assert main(["smoke", "reference", "--kind", kind]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "and it is empty" in lines[0]
    judged = [line for line in lines if line.endswith(": holds")]
    assert len(judged) == (4 if kind == "saver" else 2)


def test_the_saver_below_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("langgraph.checkpoint.sqlite")
    assert main(["smoke", "reference", "--kind", "delta", "--over", "sqlite"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("reference over sqlite: opened")
    assert "async optional operations" not in out


def test_optional_operations_are_those_that_are_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["smoke", "reference", "--kind", "rollback"]) == 0
    out = capsys.readouterr().out
    assert "sync optional operations: none" in out
    assert "agent" not in out


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("sqlit", "did you mean sqlite"),
        (f"{HERE / 'misbehaving.py'}:nothing", "gave None"),
        (f"{HERE / 'misbehaving.py'}:filled", "--allow-nonempty"),
    ],
)
def test_a_target_that_cannot_be_used_is_one_message(
    target: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["smoke", target]) == 2
    shown = capsys.readouterr()
    assert message in shown.err
    assert "Traceback" not in shown.err
