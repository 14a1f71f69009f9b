"""Values as data: they come back in value and type, print as Python that makes them, and run nothing unknown."""

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import decimal
import enum
import json
import uuid
from typing import Any, NamedTuple

import pytest
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage
from langgraph.types import Command, Interrupt, Send

from lineage_conformance import encoding, made, zoo
from lineage_conformance.canon import canon


@dataclasses.dataclass
class Order:
    """A record of an application."""

    id: int
    lines: list[tuple[str, int]] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Sum:
    """One that computes a field."""

    a: int
    b: int
    both: int = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "both", self.a + self.b)


class Place(NamedTuple):
    """A named tuple."""

    x: int
    y: Any = None


class Color(enum.Enum):
    """An enum."""

    RED = 1


class Broke(Exception):
    """An error of an application."""


VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 2**90, "text", "a\x00b", "a\ud800b", 0.5, -0.0, float("inf"), [], {}, [[1], {"a": [None]}],
    (), (1,), (1, (2, [3])), set(), {1, 2}, frozenset({"a"}), b"", b"\x00\xff", bytearray(b"x"),
    {1: "a", (1, 2): "b"}, {"$": "tuple"}, {"$new": "builtins:dict"}, {"$typed": ["pickle", ""]}, {"~x": 1},
    dt.datetime(2024, 1, 2, 3, 4, 5, 6, dt.timezone.utc), dt.datetime(2024, 1, 2), dt.date(2024, 2, 29),
    dt.time(1, 2), dt.timedelta(days=-1, microseconds=3), decimal.Decimal("1.10"), uuid.UUID(int=9),
    collections.deque([1, (2,)], 3), Order(1), Order(2, [("a", 1)]), Sum(1, 2), Place(1, {2}), Color.RED,
    Broke("no", 1), ValueError(), Send("n", {"a": (1,)}), Interrupt("q"), Command(resume={"a": 1}),
    [Send("n", Order(1))], HumanMessage("hi"), HumanMessage("hi", id="7", name="ann"),
    AIMessage("", tool_calls=[{"name": "f", "args": {"x": 1}, "id": "c", "type": "tool_call"}]),
    ToolMessage("r", tool_call_id="c", artifact=(1, 2)), RemoveMessage(id="7"), Document("t", metadata={"a": 1}),
)  # fmt: skip


@pytest.mark.parametrize(
    "value",
    VALUES,
    ids=lambda v: f"{type(v).__name__}-{v!r:.40}".encode("ascii", "replace").decode(),
)
def test_round_trip(value: Any) -> None:
    notes: list[str] = []
    data = json.loads(json.dumps(encoding.encode(value, notes.append)))
    built = zoo.build(data)
    assert type(built) is type(value)
    assert canon(built) == canon(value)
    assert not notes


@pytest.mark.parametrize(
    "value",
    VALUES,
    ids=lambda v: f"{type(v).__name__}-{v!r:.40}".encode("ascii", "replace").decode(),
)
def test_the_source_makes_the_value(value: Any) -> None:
    data = encoding.encode(value)
    if zoo.names_in(data):
        pytest.skip("specimens of the zoo have tests of their own")
    scope: dict[str, Any] = {}
    for line in dict.fromkeys(made.imports(data)):
        exec(line, scope)
    assert canon(eval(zoo.source(data), scope)) == canon(value)


def test_what_cannot_be_made_again_is_told() -> None:
    @dataclasses.dataclass
    class Local:
        x: int

    class Text(str):
        pass

    for value in (object(), Local(1), Text("a"), lambda: None, {"deep": [object()]}):
        notes: list[str] = []
        json.dumps(encoding.encode(value, notes.append))
        assert len(notes) == 1, value


def test_a_value_that_holds_itself_ends() -> None:
    notes: list[str] = []
    value: list[Any] = []
    value.append(value)
    json.dumps(encoding.encode(value, notes.append))
    assert notes


def test_a_serializer_is_the_last_resort() -> None:
    numpy = pytest.importorskip("numpy")
    data = encoding.encode(numpy.arange(3))
    if not made.is_made(data):
        pytest.skip("the installed serializer does not take arrays")
    assert set(data) == {made.TYPED}
    assert zoo.build(data).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    "path",
    ["os:system", "builtins:eval", "builtins:exec", "subprocess:Popen", "builtins:open", "nowhere:Thing",
     "importlib:import_module", "builtins:type", "os:nothing", ":x", "threading:Thread", "pathlib:Path.unlink"],
)  # fmt: skip
def test_a_program_calls_nothing_but_values(path: str) -> None:
    with pytest.raises(ValueError, match=r"value of the program|a program may not call"):
        zoo.build({"$new": path, "args": ["true"]})


def test_a_program_holds_no_pickle() -> None:
    with pytest.raises(ValueError, match="pickle"):
        zoo.build({"$typed": ["pickle", ""]})
