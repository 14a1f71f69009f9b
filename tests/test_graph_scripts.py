"""Printed scripts of graph laws: they import nothing of ours, fail on the fault and pass without it."""

from __future__ import annotations

import ast
import contextlib
import sys
import types
from typing import Any

import pytest

from lineage_conformance import contract
from lineage_conformance import law as laws
from lineage_conformance.handles import Face
from lineage_conformance.law import Law
from lineage_reference.saver import Space
from pytest_lineage.report.script import Opening, ScriptError, script
from tests.golden import samples
from tests.mutants import graph_kit as kit

if contract.unmet("langgraph>=1.2.20"):
    pytest.skip("mutants are made for langgraph 1.2.20 and later", allow_module_level=True)

MUTANTS = kit.load()

REFUSED = {
    "graph_durability.crash-leaves-what-was-stored": "a process ends",
    "graph_durability.goes-on-after-a-restart": "a process ends",
}
"""Laws whose smallest scenario no script can show, and why."""

LONG = 40
"""No script is longer; most have at most 25 lines."""


def row_of(law: Law, face: Face, outcome: Any) -> dict[str, Any]:
    return samples.row(
        law.id, face, level=law.level.value, sentence=law.sentence, evidence=outcome.evidence()
    )


def printed(row: dict[str, Any], make: Any) -> str:
    name, module = make.__qualname__, make.__module__
    imports = (f"from {module} import {name}", "from lineage_reference.saver import Space")
    return script(row, Opening(f'{name}(Space.named("repro"))', imports))


def run(text: str) -> str:
    """Run a script in a module of its own; what it ended with."""
    Space.forget("repro")
    module = types.ModuleType("printed_script")
    sys.modules[module.__name__] = module
    try:
        exec(compile(text, module.__name__, "exec"), module.__dict__)
    except AssertionError:
        return "FAIL"
    finally:
        sys.modules.pop(module.__name__)
    return "PASS"


def check_form(text: str) -> None:
    lines = text.splitlines()
    assert len(lines) <= LONG
    assert max(map(len, lines)) <= 120
    assert text.isascii()
    ast.parse(text)
    ours = ("lineage_conformance", "pytest_lineage")
    assert not any(f"import {name}" in text or f"from {name}" in text for name in ours)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: f"{m.kills}-{m.name}")
def test_script_fails_on_the_mutant_and_passes_on_the_strict_saver(
    mutant: kit.GraphMutant,
) -> None:
    law = laws.get(mutant.kills)
    row = row_of(law, mutant.face, kit.judge(mutant, law))
    if law.id in REFUSED:
        with pytest.raises(ScriptError, match=REFUSED[law.id]):
            printed(row, mutant.make)
        return
    text = printed(row, mutant.make)
    check_form(text)
    with mutant.patch():
        assert run(text) == "FAIL", text
    assert run(printed(row, kit.StrictSaver)) == "PASS", text


@pytest.mark.parametrize("id", kit.TODAY)
def test_script_shows_what_the_engine_of_the_day_does(id: str) -> None:
    law = laws.get(id)
    face = law.faces[0]
    with contextlib.ExitStack() as stack:
        outcome = stack.enter_context(kit.judging(kit.StrictSaver)).judge(law, face)
    text = printed(row_of(law, face, outcome), kit.StrictSaver)
    check_form(text)
    assert run(text) == "FAIL", text
