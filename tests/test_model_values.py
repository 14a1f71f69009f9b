"""What the model expects of values: the value, or what LangGraph's serializer makes of it; its own records are kept."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("langgraph.types", reason="needs Send")

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.types import Send

from lineage_conformance.canon import canon, same
from lineage_conformance.kinds.saver.model import Model
from lineage_conformance.kinds.saver.oracle import Oracle

SERDE = JsonPlusSerializer()


@pytest.fixture
def model() -> Model:
    return Model(Oracle(InMemorySaver()).expected)


def expected(model: Model, value: Any) -> Any:
    model.put_writes(("t", "", "1"), "task", [("a", value)], "")
    return model.writes["t", "", "1"]["task", 0][2]


def test_a_record_is_kept_and_its_neighbours_are_as_the_serializer_has_them(model: Model) -> None:
    send, error = Send("tools", {"call": 1}), ValueError("boom")
    normal = canon(SERDE.loads_typed(SERDE.dumps_typed([error])))[0]
    fine = [canon(send), normal, canon([1, 2])]
    assert same(expected(model, [send, error, (1, 2)]), fine)
    assert same(expected(model, [send, error, (1, 2)]), canon([send, error, (1, 2)]))
    assert not same(expected(model, [send, error, (1, 2)]), canon([send, error, (1, 3)]))
    assert same(expected(Model(model.expect), [error]), [normal])
    assert expected(Model(model.expect), send) == canon(send)
