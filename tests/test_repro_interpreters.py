"""`repro` takes an interpreter that is there before it gives up."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from lineage_conformance import builder
from pytest_lineage.repro import running

RUNNING = f"{sys.version_info[0]}.{sys.version_info[1]}"
GONE = "No interpreter found for Python 3.9 in managed installations or search path"
MISFIT = "no solution found: langgraph==0.2.47 requires Python <3.12"


def made(
    monkeypatch: pytest.MonkeyPatch, answers: dict[str, str], on_path: tuple[str, ...] = ()
) -> tuple[Any, list[str], list[str]]:
    asked: list[str] = []
    said: list[str] = []

    def environment(pins: Any, python: str = "", label: str = "") -> Any:
        asked.append(python)
        if python in answers:
            raise builder.Failed(answers[python])
        return SimpleNamespace(python=python)

    monkeypatch.setattr(builder, "environment", environment)
    monkeypatch.setattr(running.shutil, "which", lambda name: name if name in on_path else None)
    plan = running.Plan("faulty", "memory", pins=("langgraph==0.2.47",), python="3.9")
    try:
        found = running._environment(plan, "D-01", said.append)
    except builder.Failed as error:
        found = error
    return found, asked, said


def test_the_one_that_was_asked_for_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    found, asked, said = made(monkeypatch, {})
    assert (found.python, asked, said) == ("3.9", ["3.9"], [])


def test_the_running_one_is_next(monkeypatch: pytest.MonkeyPatch) -> None:
    found, asked, said = made(monkeypatch, {"3.9": GONE}, ("python3.10", "python3.11"))
    assert (found.python, asked) == (RUNNING, ["3.9", RUNNING])
    assert said == [f"faulty: there is no 3.9; tries Python {RUNNING}"]


def test_then_one_that_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    other = "3.10" if RUNNING != "3.10" else "3.11"
    answers = {"3.9": GONE, RUNNING: MISFIT}
    found, asked, _ = made(monkeypatch, answers, (f"python{other}",))
    assert (found.python, asked) == (other, ["3.9", RUNNING, other])


def test_the_first_reason_is_told_when_none_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    found, asked, _ = made(monkeypatch, {"3.9": GONE, RUNNING: MISFIT})
    assert str(found) == GONE
    assert asked == ["3.9", RUNNING]


@pytest.mark.parametrize("why", [MISFIT, "failed to fetch: dns error"])
def test_what_is_no_matter_of_interpreters_is_not_tried_again(
    monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    found, asked, _ = made(monkeypatch, {"3.9": why})
    assert (str(found), asked) == (why, ["3.9"])
