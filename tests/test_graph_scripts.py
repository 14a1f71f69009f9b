"""Printed scripts of graph laws: they import nothing of ours, fail on the fault and pass without it."""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import subprocess
import sys
import types
from typing import Any

import pytest

from lineage_conformance import contract
from lineage_conformance import law as laws
from lineage_conformance.graphs.shape import Shape, Tool
from lineage_conformance.handles import Face
from lineage_conformance.kinds.graph.scenario import Act, Scenario, answer, go_on, invoke, scenario
from lineage_conformance.law import Law, Verdict
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
    except (AssertionError, KeyError):  # a fault may hide a question before it is answered
        return "FAIL"
    finally:
        sys.modules.pop(module.__name__)
    return "PASS"


def check_form(text: str) -> None:
    lines = text.splitlines()
    assert max(map(len, lines)) <= 120
    assert text.isascii()
    ast.parse(text)
    ours = ("lineage_conformance", "pytest_lineage")
    assert not any(f"import {name}" in text or f"from {name}" in text for name in ours)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: f"{m.kills}-{m.name}")
def test_script_fails_on_the_mutant_and_passes_on_the_strict_saver(
    mutant: kit.GraphMutant,
) -> None:
    if mutant.name == "CancelStopsReads" and sys.version_info < (3, 11):
        pytest.skip("tasks of Python 3.10 do not tell that they are being cancelled")
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


BOTH = [
    m
    for m in MUTANTS
    if m.face == "sync" and m.kills not in REFUSED and m.verdict is Verdict.BROKEN
]


@pytest.mark.parametrize("mutant", BOTH, ids=lambda m: f"{m.kills}-{m.name}")
def test_script_works_on_the_async_face(mutant: kit.GraphMutant) -> None:
    law = laws.get(mutant.kills)
    row = row_of(law, "async", kit.judge(dataclasses.replace(mutant, face="async"), law))
    text = printed(row, mutant.make)
    check_form(text)
    assert "async def main():" in text
    assert run(text) == "FAIL", text
    assert run(printed(row, kit.StrictSaver)) == "PASS", text


def made_up(case: Scenario, law: str, at: str = "log", face: Face = "sync") -> dict[str, Any]:
    """A row as if the last action had left another log than it does."""
    difference = {
        "op": len(case.acts) - 1,
        "at": f"x:{at}",
        "expected": case.shape.log(),
        "got": [],
    }
    evidence = {"program": case.to_json(), "differences": [difference]}
    return samples.row(law, face, level="MUST", sentence="Told.", evidence=evidence)


@pytest.mark.parametrize("target", ["memory", "sqlite", "sqlite-async", "reference"])
def test_script_of_a_built_in_target_passes_as_a_program(target: str) -> None:
    case = scenario(Shape((Tool("a"), Tool("b", ("after:a", "raise:1")))), invoke(), go_on())
    text = script(made_up(case, "graph_resume.same-end"), target)
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "PASS\n"), f"{text}\n{done.stderr}"


def test_a_store_is_opened_again_where_the_scenario_says_so() -> None:
    shape = Shape((Tool("a"), Tool("b", ("ask",))), "line", child="shared")
    case = scenario(shape, invoke(), Act("reopen"), answer("b!1"))
    text = printed(made_up(case, "graph_durability.goes-on-after-a-restart"), kit.StrictSaver)
    assert text.count("saver = ") == 2
    assert run(text) == "PASS", text


@pytest.mark.parametrize("face", ["sync", "async"])
def test_every_scenario_makes_a_script_or_a_reason(face: Face) -> None:
    told = refused = 0
    for law in kit.graph_laws():
        for case in law.programs if face in law.faces else ():
            try:
                ast.parse(script(made_up(case, law.id, face=face), "memory"))
                told += 1
            except ScriptError as error:
                refused += 1
                assert str(error).startswith(law.id)  # noqa: PT017
    assert told > 60
    assert refused < 30


def test_what_cannot_be_shown_is_said() -> None:
    case = scenario(Shape(), invoke())
    with pytest.raises(ScriptError, match="what is wrong about 'colour'"):
        script(made_up(case, "a.b", "colour"), "memory")
    row = made_up(case, "a.b")
    row["evidence"]["differences"] = []
    with pytest.raises(ScriptError, match="no difference"):
        script(row, "memory")
    row = made_up(case, "a.b")
    row["evidence"]["differences"][0]["op"] = 4
    with pytest.raises(ScriptError, match="no action 5"):
        script(row, "memory")


@pytest.mark.parametrize("id", kit.TODAY)
def test_script_shows_what_the_engine_of_the_day_does(id: str) -> None:
    law = laws.get(id)
    face = law.faces[0]
    with contextlib.ExitStack() as stack:
        outcome = stack.enter_context(kit.judging(kit.StrictSaver)).judge(law, face)
    text = printed(row_of(law, face, outcome), kit.StrictSaver)
    check_form(text)
    assert run(text) == "FAIL", text
