"""What the model expects of values: what the saver's own serializer returns, LangGraph's own records excepted."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("langgraph.types", reason="needs Send")

from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Send

from lineage_conformance.canon import canon
from lineage_conformance.model import Model

SERDE = JsonPlusSerializer()


@pytest.fixture
def model() -> Model:
    return Model(lambda value: SERDE.loads_typed(SERDE.dumps_typed(value)))


def expected(model: Model, value: Any) -> Any:
    model.put_writes(("t", "", "1"), "task", [("a", value)], "")
    return model.writes["t", "", "1"]["task", 0][2]


def test_a_record_is_kept_and_its_neighbours_are_as_the_serializer_has_them(model: Model) -> None:
    send, error = Send("tools", {"call": 1}), ValueError("boom")
    normal = canon(SERDE.loads_typed(SERDE.dumps_typed([error])))[0]
    assert expected(model, [send, error, (1, 2)]) == [canon(send), normal, canon([1, 2])]
    assert expected(Model(model.normalize), [error]) == [normal]
    assert expected(Model(model.normalize), send) == canon(send)
