"""Time in which the suite makes programs is no time of the target's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lineage_conformance import law as laws
from lineage_conformance import strategies
from lineage_conformance.handles import Handle, Loop
from lineage_conformance.judge import EXAMPLES, Judge
from lineage_conformance.runner import Stores
from lineage_reference.saver import StrictSaver
from pytest_lineage.run import engine, supervisor

SERVICE = """
import threading


class Service:
    def __init__(self, start, wire, beat):
        self.beat = beat

    def describe(self):
        return {"name": "slow", "files": []}

    def judge(self, law, face):
        self.beat.suite() if face == "sync" else self.beat.op(1)
        threading.Event().wait(2)
        return {"verdict": "holds"}

    def close(self):
        pass
"""


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    (tmp_path / "slow_service.py").write_text(SERVICE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    options = engine.Options(service="slow_service:Service", op_limit=0.5)
    made = engine.TargetRun("slow", options)
    yield made
    made.close()


def test_a_slow_suite_is_no_hang_of_the_target(run: Any) -> None:
    item = laws.get("put.is-readable")
    assert run.judge(item, "sync").verdict == "holds"
    assert run.judge(item, "async").verdict == "hangs"


def test_a_suite_that_makes_no_step_is_a_fault_of_the_suite(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervisor, "SUITE_LIMIT", 0.5)
    with pytest.raises(engine.SuiteFault, match=r"while programs for put\.is-readable were made"):
        run.judge(laws.get("put.is-readable"), "sync")


def test_the_judge_says_when_it_makes_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(strategies, "_MADE", {})
    said: list[str] = []
    loop = Loop()
    judge = Judge(
        Stores(lambda key: Handle(StrictSaver(), loop)),
        "default",
        lambda case, step: said.append("step"),
        making=lambda: said.append("making"),
    )
    item = laws.get("serde.nested")
    judge.judge(item, "sync")
    made = said.count("making")
    assert made > EXAMPLES["default"]
    first, last = said.index("making"), len(said) - 1 - said[::-1].index("making")
    assert set(said[first : last + 1]) == {"making"}
    assert said[-1] == "step"
    said.clear()
    judge.judge(item, "async")  # made once
    assert "making" not in said
    judge.stores.close()
    loop.close()
