"""The stand-alone script of a side that shows the fault, or the code of a wrong fix.

A script is written by the environment that it is for: releases differ in the names of savers and in what belongs in a
checkpoint.
"""

from __future__ import annotations

import ast
import json
import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lineage_conformance import builder, kinds
from pytest_lineage.report.script import ScriptError, opening
from pytest_lineage.report.script import script as write
from pytest_lineage.repro.running import WRONG_FIXES, Outcome

_CODE = "import sys; from pytest_lineage.repro.scripts import elsewhere; elsewhere(*sys.argv[1:])"


def script(outcome: Outcome) -> tuple[str, str]:
    """The script and an empty text, or an empty text and why there is none."""
    row = outcome.bad
    if row is None:
        return "", "nothing broke"
    if not kinds.get(outcome.plan.kind).is_saver:
        return _code(outcome.plan.target), "it is about a whole backend"
    if not outcome.other_python:
        return _written(row.to_json(), outcome.plan.target)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "row.json"
        file.write_text(json.dumps([row.to_json(), outcome.plan.target]), encoding="utf-8")
        command = [outcome.other_python, "-W", "ignore", "-c", _CODE, str(file), str(Path.cwd())]
        try:
            done = builder.call(command, suite=str(builder.suite()))
            made, why = json.loads(done.stdout.strip().splitlines()[-1])
        except (builder.Failed, ValueError, IndexError) as error:
            return "", f"its environment could not write one: {error}"
    return str(made), str(why)


def elsewhere(file: str, folder: str) -> None:
    """Write the script for the row in a file, in the environment that runs this; print it as JSON."""
    os.chdir(folder)
    if folder not in sys.path:
        sys.path.append(folder)
    row, target = json.loads(Path(file).read_text(encoding="utf-8"))
    print(json.dumps(_written(row, target)))


def _written(row: Mapping[str, Any], target: str) -> tuple[str, str]:
    try:
        return write(row, opening(target, _factory(target))), ""
    except ScriptError as error:
        return "", str(error)


def _factory(target: str) -> Any:
    """The factory of a target, for its shape (it is not called); None where it cannot be imported here."""
    from pytest_lineage.targets import TargetError, doors

    try:
        return doors.resolve(target).factory
    except TargetError:
        return None


def _code(target: str) -> str:
    """The code of a wrong fix; empty for a backend that is none of ours."""
    module, _, name = target.rpartition(".")
    if module != WRONG_FIXES:
        return ""
    text = Path(__file__).with_name("wrong_fixes.py").read_text(encoding="utf-8")
    found = (node for node in ast.parse(text).body if isinstance(node, ast.ClassDef))
    return "".join(f"{ast.get_source_segment(text, n)}\n" for n in found if n.name == name)
