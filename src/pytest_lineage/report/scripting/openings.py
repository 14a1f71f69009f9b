"""How a script makes the saver: for each built-in target, and for a user's own factory."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any

STORE = (
    'store = types.SimpleNamespace(id="repro", path=pathlib.Path(tempfile.mkdtemp()), '
    'dsn=os.environ.get("DSN"))'
)
_STORE_IMPORTS = ("import os", "import pathlib", "import tempfile", "import types")
_ROWS = 'kwargs={"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}'


@dataclass(frozen=True)
class Opening:
    """The lines that make a saver. Evaluating `expression` again opens the same store again."""

    expression: str
    imports: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    """Lines at the top of the script."""
    manner: str = "plain"
    """``plain``, ``await``, ``with`` or ``async with``."""
    after: tuple[str, ...] = ()
    """Lines right after it is open; ``{saver}`` stands for its name."""
    note: str = ""

    @property
    def is_async(self) -> bool:
        """Whether it needs an event loop."""
        return self.manner in ("await", "async with") or any("await" in line for line in self.after)


def opening(target: str, factory: Callable[..., Any] | None = None) -> Opening:
    """The opening for the text that names a target; `factory` is looked at for its shape, never called.

    The text is a built-in name, ``pkg.mod:factory``, ``./file.py:factory`` or an entry point's name.
    """
    if target == "memory":
        return _memory()
    if target in BUILTIN:
        return BUILTIN[target]
    where, _, attribute = target.rpartition(":")
    if not where:
        where, _, attribute = _entry_point(target).rpartition(":")
    head, dot, rest = attribute.partition(".")
    if where.endswith(".py"):
        path = Path(where)
        folder = path.parent.as_posix()
        imports: tuple[str, ...] = (f"from {path.stem} import {head}",)
        before = () if folder == "." else (f"sys.path.insert(0, {folder!r})",)
        made = Opening(
            f"{head}{dot}{rest}()", (*(("import sys",) if before else ()), *imports), before
        )
        if before:  # the import must come after the path is set
            made = replace(made, imports=("import sys",), before=(*before, *imports))
    else:
        made = Opening(f"{head}{dot}{rest}()", (f"from {where} import {head}",))
    return shaped(replace(made, note="your saver"), f"{head}{dot}{rest}", factory)


def shaped(made: Opening, name: str, factory: Callable[..., Any] | None) -> Opening:
    """The opening in the manner that the factory's own shape asks for."""
    factory = getattr(factory, "factory", factory)
    if factory is None:
        return made
    try:
        takes_store = "store" in inspect.signature(factory).parameters
    except (TypeError, ValueError):
        takes_store = False
    argument = "store" if takes_store else ""
    made = replace(made, expression=f"{name}({argument})")
    if takes_store:
        made = replace(made, imports=(*made.imports, *_STORE_IMPORTS), before=(*made.before, STORE))
    inner = getattr(factory, "__wrapped__", None)
    if inspect.isasyncgenfunction(factory):
        wrapped = f"contextlib.asynccontextmanager({name})({argument})"
        return replace(
            made,
            expression=wrapped,
            manner="async with",
            imports=(*made.imports, "import contextlib"),
        )
    if inspect.isgeneratorfunction(factory):
        wrapped = f"contextlib.contextmanager({name})({argument})"
        return replace(
            made, expression=wrapped, manner="with", imports=(*made.imports, "import contextlib")
        )
    if inspect.isasyncgenfunction(inner):
        return replace(made, manner="async with")
    if inspect.isgeneratorfunction(inner):
        return replace(made, manner="with")
    return replace(made, manner="await") if inspect.iscoroutinefunction(factory) else made


def _memory() -> Opening:
    """LangGraph's in-memory saver under the name that the installed release gives it."""
    from pytest_lineage import builtin

    name = builtin.memory().__name__
    return Opening(f"{name}()", (f"from langgraph.checkpoint.memory import {name}",))


def _entry_point(name: str) -> str:
    for entry in metadata.entry_points(group="pytest_lineage.targets"):
        if entry.name == name:
            return entry.value
    return f"your_package:{name if name.isidentifier() else 'factory'}"


def _postgres(
    name: str, module: str, *, aio: bool, pipeline: bool = False, pool: bool = False
) -> Opening:
    imports = [
        "import os",
        f"from langgraph.checkpoint.postgres{module} import {name}",
    ]
    wait = "await " if aio else ""
    after = [f"{wait}{{saver}}.setup()"]
    if not pool:
        more = ", pipeline=True" if pipeline else ""
        made = f'{name}.from_conn_string(os.environ["DSN"]{more})'
        # The migrations of setup() cannot run inside a pipeline.
        after = [] if pipeline else after
        note = "an empty database" + (" on which setup() ran" if pipeline else "")
        return Opening(
            made, tuple(imports), (), "async with" if aio else "with", tuple(after), note
        )
    kind = "AsyncConnectionPool" if aio else "ConnectionPool"
    imports += ["from psycopg.rows import dict_row", f"from psycopg_pool import {kind}"]
    made = f'{name}({kind}(os.environ["DSN"], open={not aio}, {_ROWS}))'
    after = ["await {saver}.conn.open()", *after] if aio else after
    return Opening(made, tuple(imports), (), "plain", tuple(after), "an empty database")


_TEMPORARY = ("import tempfile",)
_FILE = ('path = tempfile.mkdtemp() + "/checkpoints.sqlite"',)

BUILTIN: dict[str, Opening] = {
    "sqlite": Opening(
        "SqliteSaver.from_conn_string(path)",
        (*_TEMPORARY, "from langgraph.checkpoint.sqlite import SqliteSaver"), _FILE, "with",
    ),
    "sqlite-async": Opening(
        "AsyncSqliteSaver.from_conn_string(path)",
        (*_TEMPORARY, "from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver"), _FILE, "async with",
    ),
    "postgres": _postgres("PostgresSaver", "", aio=False),
    "postgres-pipeline": _postgres("PostgresSaver", "", aio=False, pipeline=True),
    "postgres-pool": _postgres("PostgresSaver", "", aio=False, pool=True),
    "postgres-async": _postgres("AsyncPostgresSaver", ".aio", aio=True),
    "postgres-async-pipeline": _postgres("AsyncPostgresSaver", ".aio", aio=True, pipeline=True),
    "postgres-async-pool": _postgres("AsyncPostgresSaver", ".aio", aio=True, pool=True),
    "reference": Opening(
        'StrictSaver(Space.named("repro"))', ("from lineage_reference.saver import Space, StrictSaver",)
    ),
}  # fmt: skip
"""How the built-in targets are made, `memory` apart."""
