"""Scenarios: their data, what is refused, and what their generators promise."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from lineage_conformance.graphs import Shape, Tool, tools
from lineage_conformance.kinds.graph.scenario import Act, Scenario, answers, go_on, invoke, scenario
from lineage_conformance.kinds.graph.strategies import FOCUSES


@pytest.mark.parametrize("focus", FOCUSES)
def test_generated_scenarios_are_data(focus: str) -> None:
    @settings(
        max_examples=30, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
    )
    @given(FOCUSES[focus]())
    def check(case: Scenario) -> None:
        assert Scenario.from_json(case.to_json()) == case
        for smaller in case.smaller():
            assert Scenario.from_json(smaller.to_json()) == smaller

    check()


def test_usual_things_are_left_out() -> None:
    made = scenario(Shape(tools(1)), invoke(), answers("a?1")).to_json()
    assert made["graph"] == {"tools": {"a": []}}
    assert made["ops"] == [{"op": "invoke"}, {"op": "resume", "answers": {"a?1": "a!1"}}]


@pytest.mark.parametrize(
    "data",
    [
        {"format": "lineage-scenario/0", "graph": {"tools": {}}, "ops": []},
        {"format": "lineage-scenario/1", "ops": []},
        {"format": "lineage-scenario/1", "graph": {"tools": {"a": []}}, "ops": [{"op": "fly"}]},
        {"format": "lineage-scenario/1", "graph": {"tools": {"a": ["fly"]}}, "ops": []},
        {"format": "lineage-scenario/1", "graph": {"tools": {"a": []}, "wings": 2}, "ops": []},
    ],
)
def test_bad_data_is_refused(data: dict[str, object]) -> None:
    with pytest.raises(ValueError):
        Scenario.from_json(data)


def test_an_unknown_action_is_refused() -> None:
    with pytest.raises(ValueError, match="fly"):
        Act("fly")


def test_shrinking_keeps_what_makes_the_outcome_certain() -> None:
    shape = Shape((Tool("a"), Tool("b", ("after:a", "raise:1")), Tool("c")))
    for smaller in scenario(shape, invoke(), go_on()).smaller():
        left = {tool.name: tool.steps for tool in smaller.shape.tools}
        assert "a" in left or "b" not in left
        assert "after:a" in left.get("b", ("after:a",))


def test_expected_log() -> None:
    assert Shape(tools(2), rounds=2).log() == ["in", "a", "b", "a#2", "b#2"]
    assert Shape(tools(2, "ask"), "edges", join=True).log() == ["in", "a=a!1", "b=b!1", "tail"]
    assert Shape(tools(2), "nested").log() == ["in", "a", "b", "a.work", "b.work"]
    assert Shape(tools(1, "goto:aside")).log("x") == ["x", "a", "aside"]
