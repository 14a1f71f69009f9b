"""Live values as data: what makes an object again, in a form that is JSON, runs nothing unknown, and prints as Python.

``{"$new": "langgraph.types:Send", "args": ["tools", 1]}`` is a call of a class, ``{"$typed": ["msgpack", "..."]}``
what LangGraph's own serializer makes of a value (base64). Programs come from files and from other people, so only
classes of values can be called: tables of the standard library, exceptions, and classes that are dataclasses,
enums, named tuples, pydantic models or LangGraph's own. A pickle is never read.
"""

from __future__ import annotations

import base64
import dataclasses
import enum
import importlib
from collections.abc import Callable, Iterator
from typing import Any

from lineage_conformance import contract

NEW, TYPED = "$new", "$typed"

PLAIN = frozenset(
    {
        "builtins:tuple", "builtins:set", "builtins:frozenset", "builtins:dict", "builtins:float",
        "builtins:int", "builtins:str", "builtins:bytes.fromhex", "builtins:bytearray.fromhex",
        "builtins:complex", "datetime:datetime.fromisoformat", "datetime:date.fromisoformat",
        "datetime:time.fromisoformat", "datetime:timedelta", "decimal:Decimal", "uuid:UUID",
        "fractions:Fraction", "collections:deque", "pathlib:PurePosixPath", "pathlib:PosixPath",
        "ipaddress:IPv4Address", "ipaddress:IPv6Address",
    }
)  # fmt: skip
"""What may be called by name alone."""

_OWN = ("langgraph.", "langchain_core.")
_SHOWN = ("builtins:tuple", "builtins:set", "builtins:dict")


def is_made(value: Any) -> bool:
    """Whether `value` is data that stands for a live object."""
    if not isinstance(value, dict):
        return False
    return (NEW in value and value.keys() <= {NEW, "args", "kwargs"}) or value.keys() == {TYPED}


def new(path: str, *args: Any, **kwargs: Any) -> dict[str, Any]:
    """The data for a call of `path` (``module:Class``) with arguments that are data themselves."""
    made: dict[str, Any] = {NEW: path}
    if args:
        made["args"] = list(args)
    if kwargs:
        made["kwargs"] = kwargs
    return made


def typed(value: Any, serde: Any) -> dict[str, Any]:
    """The data for what a serializer makes of `value`. Raises what it raises, `ValueError` for a pickle."""
    kind, content = serde.dumps_typed(value)
    if kind == "pickle":
        raise ValueError("a pickle can run anything")
    return {TYPED: [kind, base64.b64encode(content).decode()]}


def build(value: Any, inner: Callable[[Any], Any]) -> Any:
    """Make the object; `inner` makes the arguments. Raises `ValueError` for what may not be called."""
    if TYPED in value:
        kind, content = value[TYPED]
        if kind == "pickle":
            raise ValueError("a program cannot hold a pickle: reading it can run anything")
        return contract.base_saver().serde.loads_typed((kind, base64.b64decode(content)))
    found = resolve(value[NEW])
    args = [inner(item) for item in value.get("args", ())]
    return found(*args, **{key: inner(item) for key, item in value.get("kwargs", {}).items()})


def resolve(path: str) -> Any:
    """What ``module:name`` names. Raises `ValueError` if it is not there, or is no class of values."""
    module, _, name = path.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as error:
        raise ValueError(
            f"a value of the program needs {path}, which is not here: {error}"
        ) from None
    if path not in PLAIN and not is_value_class(found):
        raise ValueError(f"a program may not call {path}: it is no class of values")
    return found


def is_value_class(cls: Any) -> bool:
    """Whether calling `cls` makes a value and does nothing else that a program could misuse."""
    if not isinstance(cls, type):
        return False
    if dataclasses.is_dataclass(cls) or issubclass(cls, (enum.Enum, BaseException)):
        return True
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        return True
    if isinstance(getattr(cls, "model_fields", None) or getattr(cls, "__fields__", None), dict):
        return True
    return cls.__module__.startswith(_OWN) and bool(getattr(cls, "__slots__", ()))


def source(value: Any, inner: Callable[[Any], str]) -> str:
    """The Python expression for the object; `inner` prints the arguments."""
    if TYPED in value:
        kind, content = value[TYPED]
        return f"JsonPlusSerializer().loads_typed(({kind!r}, base64.b64decode({content!r})))"
    path, args = value[NEW], value.get("args", [])
    if path in _SHOWN and args and args[0]:
        if path == "builtins:dict":
            return "{" + ", ".join(f"{inner(k)}: {inner(v)}" for k, v in args[0]) + "}"
        items = ", ".join(inner(item) for item in args[0])
        if path == "builtins:set":
            return f"{{{items}}}"
        return f"({items},)" if len(args[0]) == 1 else f"({items})"
    parts = [inner(item) for item in args]
    parts += [f"{key}={inner(item)}" for key, item in value.get("kwargs", {}).items()]
    module, _, name = path.partition(":")
    shown = name if module == "builtins" or name[:1].isupper() else f"{module}.{name}"
    return f"{shown}({', '.join(parts)})"


def imports(value: Any) -> Iterator[str]:
    """The import lines that `source` of any data needs, repeats included."""
    if isinstance(value, dict):
        if is_made(value):
            yield from _needed(value)
        for item in value.values():
            yield from imports(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from imports(item)


def _needed(value: dict[str, Any]) -> Iterator[str]:
    if TYPED in value:
        yield "import base64"
        yield "from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer"
        return
    module, _, name = value[NEW].partition(":")
    if module != "builtins":
        top = name.partition(".")[0]
        yield f"from {module} import {top}" if top[:1].isupper() else f"import {module}"
