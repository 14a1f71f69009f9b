"""The zoo: values of every kind that applications keep in state, each named and with its Python source.

A program is data, so it cannot hold a live `datetime` or message. It holds ``{"$": "datetime_utc"}`` or, for
what was met in a real run, how to make the value (see `made`). `build` makes the object, `source` gives the
expression that a stand-alone script prints.
Each call of `build` makes a new object, so model and saver never share one.
"""

from __future__ import annotations

import dataclasses
import enum
import importlib
import sys
import types
from typing import Any, NamedTuple

from lineage_conformance import made

KEY = "$"


class Specimen(NamedTuple):
    """How to make one value: an expression, the modules it needs, lines that define its classes."""

    expression: str
    imports: tuple[str, ...] = ()
    defines: str = ""
    exotic: bool = False
    """Whether many serializers refuse it (a loud refusal is fine, silence is not)."""


class Color(enum.Enum):
    """A plain enum of an application."""

    RED = "red"


@dataclasses.dataclass
class Point:
    """A dataclass of an application."""

    x: int
    label: str = "p"


class StrSub(str):
    """A subclass of `str`."""

    __slots__ = ()


_COLOR = 'class Color(enum.Enum):\n    RED = "red"'
_POINT = '@dataclasses.dataclass\nclass Point:\n    x: int\n    label: str = "p"'
_BOARD = "class Board(pydantic.BaseModel):\n    scores: dict[int, str]"
_MESSAGES = "from langchain_core.messages import AIMessage, HumanMessage, ToolMessage"
_TYPES = "from langgraph.types import Interrupt, Send"

ZOO: dict[str, Specimen] = {
    "tuple": Specimen("(1, 'two', None)"),
    "set": Specimen("{1, 2}"),
    "frozenset": Specimen("frozenset({1, 2})"),
    "bytes": Specimen(r"b'\x00\xff'"),
    "float": Specimen("0.1"),
    "negative_zero": Specimen("-0.0"),
    "inf": Specimen("float('inf')", exotic=True),
    "nan": Specimen("float('nan')", exotic=True),
    "bigint": Specimen("2**80", exotic=True),
    "nul": Specimen(r"'x\x00y'", exotic=True),
    "surrogate": Specimen(r"'x\ud800'", exotic=True),
    "emoji": Specimen("'caf\u00e9 \U0001f600'"),
    "long_text": Specimen("'x' * 20000"),
    "datetime_utc": Specimen(
        "datetime.datetime(2024, 1, 2, 3, 4, 5, 678, tzinfo=datetime.timezone.utc)", ("datetime",)
    ),
    "datetime_offset": Specimen(
        "datetime.datetime(2024, 1, 2, 3, 4, tzinfo=datetime.timezone("
        "datetime.timedelta(hours=5, minutes=30)))",
        ("datetime",),
    ),
    "datetime_naive": Specimen("datetime.datetime(2024, 1, 2, 3, 4, 5)", ("datetime",)),
    "date": Specimen("datetime.date(2024, 2, 29)", ("datetime",)),
    "time": Specimen("datetime.time(1, 2, 3)", ("datetime",)),
    "timedelta": Specimen("datetime.timedelta(days=1, microseconds=5)", ("datetime",)),
    "decimal": Specimen("decimal.Decimal('1.10')", ("decimal",)),
    "uuid": Specimen("uuid.UUID(int=7)", ("uuid",)),
    "enum": Specimen("Color.RED", ("enum",), _COLOR),
    "dataclass": Specimen("Point(1, 'p')", ("dataclasses",), _POINT),
    "pydantic": Specimen("Board(scores={1: 'a', 2: 'b'})", ("pydantic",), _BOARD),
    "vanishing": Specimen(
        "appmod.Gone(1)",
        ("dataclasses", "sys", "types"),
        "appmod = sys.modules['appmod'] = types.ModuleType('appmod')\n"
        "appmod.Gone = dataclasses.make_dataclass('Gone', ['x'])\n"
        "appmod.Gone.__module__ = 'appmod'",
    ),
    "human": Specimen("HumanMessage(content='hi', id='m1')", (_MESSAGES,)),
    "ai_calls": Specimen(
        "AIMessage(content='', id='m2', tool_calls="
        "[{'name': 'search', 'args': {'q': 1}, 'id': 'c1', 'type': 'tool_call'}])",
        (_MESSAGES,),
    ),
    "tool": Specimen("ToolMessage(content='found', tool_call_id='c1', id='m3')", (_MESSAGES,)),
    "send": Specimen("Send('tools', {'call': 1})", (_TYPES,)),
    "interrupt": Specimen("Interrupt('continue?')", (_TYPES,)),
    "str_subclass": Specimen("StrSub('a')", (), "class StrSub(str):\n    pass", exotic=True),
    "int_keys": Specimen("{1: 'a', 2: 'b'}", exotic=True),
    "complex": Specimen("complex(1, 2)", exotic=True),
    "fraction": Specimen("fractions.Fraction(1, 3)", ("fractions",), exotic=True),
    "deque": Specimen("collections.deque([1, 2], maxlen=5)", ("collections",), exotic=True),
    "path": Specimen("pathlib.PurePosixPath('a/b')", ("pathlib",), exotic=True),
    "ip": Specimen("ipaddress.IPv4Address('127.0.0.1')", ("ipaddress",), exotic=True),
    "regex": Specimen("re.compile('a+')", ("re",), exotic=True),
    "exception": Specimen("ValueError('boom')", exotic=True),
    "generator": Specimen("(n for n in ())", exotic=True),
    "delta_snapshot": Specimen(
        "_DeltaSnapshot(['folded'])",
        ("from langgraph.checkpoint.serde.types import _DeltaSnapshot",),
    ),
    "live": Specimen("object()", exotic=True),
    "numpy": Specimen("numpy.arange(4).reshape(2, 2)", ("numpy",), exotic=True),
}


def is_specimen(value: Any) -> bool:
    """Whether `value` is a reference into the zoo."""
    return isinstance(value, dict) and set(value) == {KEY} and value[KEY] in ZOO


def ref(name: str) -> dict[str, str]:
    """The data that stands for the zoo value called `name`."""
    if name not in ZOO:
        raise KeyError(f"no value called {name!r} in the zoo")
    return {KEY: name}


def available(name: str) -> bool:
    """Whether the installed packages can make the value."""
    try:
        build(ref(name))
    except Exception:
        return False
    return True


def build(value: Any) -> Any:
    """Make the live object for a value of a program: a new one at every call."""
    if is_specimen(value):
        return _make(value[KEY])
    if made.is_made(value):
        return made.build(value, build)
    if isinstance(value, dict):
        return {key: build(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [build(item) for item in value]
    return value


def source(value: Any) -> str:
    """The Python expression for a value of a program."""
    if is_specimen(value):
        return ZOO[value[KEY]].expression
    if made.is_made(value):
        return made.source(value, source)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {source(item)}" for key, item in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(source(item) for item in value) + "]"
    return repr(value)


def names_in(value: Any) -> set[str]:
    """The zoo names that occur anywhere in `value`."""
    if is_specimen(value):
        return {value[KEY]}
    if isinstance(value, dict):
        return set().union(*(names_in(item) for item in value.values()), *())
    if isinstance(value, (list, tuple)):
        return set().union(*(names_in(item) for item in value), *())
    return set()


def vanish() -> None:
    """Take the class of the ``vanishing`` value away, as the next deploy of an application would."""
    module = sys.modules.get("appmod")
    if module is not None and hasattr(module, "Gone"):
        del module.Gone


def _make(name: str) -> Any:
    specimen = ZOO[name]
    scope: dict[str, Any] = {"Color": Color, "Point": Point, "StrSub": StrSub}
    for line in specimen.imports:
        if line.startswith("from "):
            exec(line, scope)
        else:
            scope[line] = importlib.import_module(line)
    if name == "pydantic":
        scope["Board"] = _board()
    if name == "vanishing":
        scope["appmod"] = _appmod()
    return eval(specimen.expression, scope)


def _board() -> Any:
    """The pydantic class, made once and importable under its name, as serializers need it."""
    module = sys.modules[__name__]
    if "Board" not in module.__dict__:
        import pydantic

        made = type(
            "Board",
            (pydantic.BaseModel,),
            {"__annotations__": {"scores": dict[int, str]}, "__module__": __name__},
        )
        module.__dict__["Board"] = made
    return module.__dict__["Board"]


def _appmod() -> types.ModuleType:
    module = sys.modules.get("appmod")
    if module is None:
        module = sys.modules["appmod"] = types.ModuleType("appmod")
    if not hasattr(module, "Gone"):
        gone = dataclasses.make_dataclass("Gone", ["x"])
        gone.__module__ = "appmod"
        module.Gone = gone  # type: ignore[attr-defined]
    return module
