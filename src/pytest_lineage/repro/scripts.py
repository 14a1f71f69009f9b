"""The stand-alone script of a side that shows the fault, or the code of a wrong fix."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

from lineage_conformance import builder
from pytest_lineage.report.script import Opening, ScriptError
from pytest_lineage.report.script import script as write
from pytest_lineage.report.scripting import openings
from pytest_lineage.repro.running import WRONG_FIXES, Outcome

_NAME = """
import langgraph.checkpoint.memory as m
print("InMemorySaver" if hasattr(m, "InMemorySaver") else "MemorySaver")
"""


def script(outcome: Outcome) -> tuple[str, str]:
    """The script and an empty text, or an empty text and why there is none."""
    row = outcome.bad
    if row is None:
        return "", "nothing broke"
    if outcome.plan.kind != "saver":
        return _code(outcome.plan.target), "it is about a whole backend"
    try:
        return write(row.to_json(), _opening(outcome)), ""
    except ScriptError as error:
        return "", str(error)


def _code(target: str) -> str:
    """The code of a wrong fix; empty for a backend that is none of ours."""
    module, _, name = target.rpartition(".")
    if module != WRONG_FIXES:
        return ""
    text = Path(__file__).with_name("wrong_fixes.py").read_text(encoding="utf-8")
    found = (node for node in ast.parse(text).body if isinstance(node, ast.ClassDef))
    return "".join(f"{ast.get_source_segment(text, n)}\n" for n in found if n.name == name)


def _opening(outcome: Outcome) -> Opening:
    """How the script opens the target, under the names that the side's own release has."""
    target = outcome.plan.target
    if target == "memory" and outcome.other_python:
        try:
            name = builder.call([outcome.other_python, "-c", _NAME]).stdout.strip()
        except builder.Failed:
            name = "MemorySaver"
        return Opening(f"{name}()", (f"from langgraph.checkpoint.memory import {name}",))
    return openings.opening(target, _factory(outcome))


def _factory(outcome: Outcome) -> Any:
    """A user's own factory, for its shape; None where it cannot be imported here."""
    from pytest_lineage import doors
    from pytest_lineage.targets import TargetError

    if outcome.other_python:
        return None
    try:
        return doors.resolve(outcome.plan.target, outcome.plan.kind, outcome.plan.over).factory
    except TargetError:
        return None
