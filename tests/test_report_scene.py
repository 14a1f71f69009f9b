"""How the failure block tells a scenario: the graph in one line, numbered actions, gates, both sides."""

from __future__ import annotations

from typing import Any

import pytest

from lineage_conformance.graphs.shape import Shape, Tool, tools
from lineage_conformance.kinds.graph.scenario import Act, answers, go_on, invoke, scenario, update
from lineage_conformance.law import all_laws
from pytest_lineage.report import scene, terminal
from tests.golden import samples
from tests.test_report_terminal import SHAPES, golden


def document() -> dict[str, Any]:
    """A report with a law that a cancelled run has broken, and one that a resume has."""
    stopped = scenario(
        Shape((Tool("a"), Tool("b", ("gate:g",)), Tool("c", ("after:a", "ask")))),
        invoke(hold=("g",), until=("reached:g", "settled:a"), stop="cancel"), answers("c?1"),
        durability="sync",
    )  # fmt: skip
    child = scenario(
        Shape(tools(2, "ask"), "line", child="own"), invoke(), update("note", as_node="sub"), go_on(at="before:sub")
    )  # fmt: skip
    rows = [
        samples.row(
            "graph_durability.cancel-leaves-what-finished", "async", verdict="broken", level="MUST",
            sentence="A cancelled run keeps the stored writes of finished tasks and lists all other tasks as next.",
            program_id="1a2b3c4d", meaning="A user who presses stop loses what the tools had done.",
            evidence={"program": stopped.to_json(), "differences": [
                difference(0, "invoke:kept", ["a"], []),
                difference(0, "invoke:next", ["tools"], ["tools", "tools"]),
            ]},
        ),
        samples.row(
            "graph_subgraph.goes-on-inside", verdict="broken", level="MUST", program_id="5e6f7a8b",
            sentence="A subgraph that stopped at a question goes on there and does not repeat its first steps.",
            evidence={"program": child.to_json(), "differences": [
                difference(2, "continue:ran-again", [], ["a"]),
            ]},
        ),
        samples.row("list.order", verdict="known", reason="bug: acme/saver#7", program_id="9c0d1e2f"),
    ]  # fmt: skip
    known = {"file": "lineage-known.toml", "fail_on": "new", "problems": [], "unreviewed": []}
    target = {**samples.target(), "declared": "lib/acme.py:12", "versions": {"acme-saver": "1.2.0"}}
    return samples.document([target], rows, 1, known=known)


def difference(op: int, at: str, expected: Any, got: Any) -> dict[str, Any]:
    return {"op": op, "at": at, "path": [at.partition(":")[2]], "expected": expected, "got": got}


@pytest.mark.parametrize("shape", SHAPES)
def test_golden(shape: str) -> None:
    width, color = SHAPES[shape]
    golden(f"graph-{shape}.txt", terminal.render(document(), width=width, color=color))


def test_it_is_a_valid_report() -> None:
    import json
    from importlib import resources

    jsonschema = pytest.importorskip("jsonschema")
    text = (
        resources.files("pytest_lineage.report.schemas").joinpath("report.schema.json").read_text()
    )
    jsonschema.validate(document(), json.loads(text))


@pytest.mark.parametrize(
    ("shape", "line"),
    [
        (Shape((Tool("a"), Tool("b", ("ask",)))), "model → review → tools[a, b*] → model"),
        (Shape(tools(2), rounds=2), "model → review → tools[a, b] → model (2 rounds)"),
        (Shape(tools(2), "line"), "a → b"),
        (Shape(tools(2), "edges", join=True), "[a, b] → tail"),
        (Shape(tools(2), "nested"), "[a, b] → one Send each → work"),
        (Shape(tools(2), "functional"), "entrypoint: tasks[a, b] together"),
        (Shape(tools(2), "functional-line"), "entrypoint: tasks a → b"),
        (Shape(tools(1), "line", child="own"), "sub(a, checkpointer=True) → tail"),
    ],
)
def test_graph_in_one_line(shape: Shape, line: str) -> None:
    assert scene.graph(shape) == line


@pytest.mark.parametrize(
    ("act", "lines"),
    [
        (invoke("x", at="act:0"), ["invoke('x') at the checkpoint after action 1"]),
        (go_on(at="before:b@2", thread="u"), ["invoke(None) at the checkpoint before b (the 2. newest), thread u"]),
        (answers("a?1"), ["answer a?1 by id: 'a!1'"]),
        (update(as_node="__end__"), ["update_state as node __end__ with None"]),
        (Act("bulk", note=("x", "y"), as_node="a"), ["bulk_update_state as node a with 'x', 'y' for the log"]),
        (Act("look", at="head"), ["get_state, subgraphs included at the head's own id"]),
        (invoke(fails=("a",)), ["invoke('in')", "    the saver refuses the writes of a"]),
    ],
)  # fmt: skip
def test_actions_in_words(act: Act, lines: list[str]) -> None:
    assert scene.act(act) == lines


def test_every_scenario_of_every_law_can_be_told() -> None:
    told = 0
    for law in all_laws("saver"):
        for case in law.programs if law.referee else ():
            assert scene.graph(case.shape)
            assert all(map(scene.act, case.acts))
            assert scene.scenario(case.to_json()) == case
            told += 1
    assert told > 60


@pytest.mark.parametrize(
    "data", [None, [], {"ops": []}, {"graph": 1}, {"graph": {}, "format": "lineage-scenario/9"}]
)
def test_what_is_no_scenario_is_left_to_others(data: Any) -> None:
    assert scene.scenario(data) is None
