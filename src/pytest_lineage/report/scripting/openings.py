"""How a script makes the saver: for each built-in target, and for a user's own factory."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path
from typing import Any

STORE = (
    'store = types.SimpleNamespace(id="repro" + uuid.uuid4().hex, dsn=os.environ.get("DSN"))',
    "store.path = pathlib.Path(tempfile.mkdtemp())",
)
UNIQUE = 'unique = uuid.uuid4().hex[:8] + "-"  # so that a second run meets nothing of the first'
_STORE_IMPORTS = ("import os", "import pathlib", "import tempfile", "import types")
_ROWS = 'kwargs={"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}'


PACKAGE = "pytest_lineage"
_WHY = "the file asks for it to declare a target; nothing of it is needed here"


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
    fresh: bool = True
    """Whether it is empty each time the script begins; else thread ids begin with `UNIQUE`."""

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
        made = BUILTIN[target]
        return _unique(replace(made, fresh=False)) if "DSN" in made.expression else made
    if target.endswith("langgraph.json"):
        target = _in_json(Path(target))
    where, _, attribute = target.rpartition(":")
    if not where:
        where, _, attribute = _entry_point(target).rpartition(":")
    head, dot, rest = attribute.partition(".")
    if where.endswith(".py"):
        path = Path(where)
        folder = path.parent.as_posix()
        module, first = path.stem, () if folder == "." else (f"sys.path.insert(0, {folder!r})",)
        source = path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""
    else:
        module, first, source = where, (), _source(factory)
    stands = stand_in(source)
    imports: tuple[str, ...] = (f"from {module} import {head}",)
    before: tuple[str, ...] = ()
    if first or stands:  # the import must come after what it needs
        before, imports = (*stands, *first, *imports), ("import sys",)
        imports = (*imports, "import types") if stands else imports
    made = Opening(f"{head}{dot}{rest}()", imports, before, note="your saver", fresh=False)
    return _unique(shaped(made, f"{head}{dot}{rest}", factory))


def stand_in(source: str) -> tuple[str, ...]:
    """Lines that let a module be imported where this package is not; none where it does not ask for it.

    A target that a module declares is then its plain factory. Other names are there, and do nothing.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return ()
    modules: dict[str, None] = {}
    names: dict[str, None] = {}
    for item in ast.walk(tree):
        if isinstance(item, ast.ImportFrom) and _ours(item.module or "") and not item.level:
            modules[item.module or ""] = None
            names.update(dict.fromkeys(alias.name for alias in item.names))
        elif isinstance(item, ast.Import):
            modules.update({alias.name: None for alias in item.names if _ours(alias.name)})
        elif isinstance(item, ast.Attribute) and ast.unparse(item.value) == PACKAGE:
            names[item.attr] = None
    if not modules:
        return ()
    lines = [f'ours = types.ModuleType("{PACKAGE}")  # {_WHY}']
    lines += [f'sys.modules["{name}"] = ours' for name in dict.fromkeys((PACKAGE, *modules))]
    lines.append("ours.target = lambda *args, **more: lambda factory: factory")
    return (
        *lines,
        *(f"ours.{name} = object" for name in names if name not in ("target", "targets")),
    )


def _ours(module: str) -> bool:
    return module.partition(".")[0] == PACKAGE


def _source(factory: Any) -> str:
    """The source of the module in which a factory is; empty where there is none to be had."""
    factory = inspect.unwrap(getattr(factory, "factory", factory)) if factory else None
    try:
        return Path(inspect.getsourcefile(factory) or "").read_text(
            encoding="utf-8", errors="replace"
        )
    except (TypeError, OSError):
        return ""


def _in_json(path: Path) -> str:
    """What a ``langgraph.json`` names as its checkpointer, seen from here."""
    from pytest_lineage.targets import doors

    where, colon, rest = doors.reference(path).rpartition(":")
    return (
        f"{(path.parent / where).as_posix()}:{rest}"
        if where.endswith(".py")
        else where + colon + rest
    )


def _unique(made: Opening) -> Opening:
    return replace(made, imports=(*made.imports, "import uuid"), before=(*made.before, UNIQUE))


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
        made = replace(
            made, imports=(*made.imports, *_STORE_IMPORTS), before=(*made.before, *STORE)
        )
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
    from pytest_lineage.targets import builtin

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
        note = "setup() ran on this database before" if pipeline else ""
        return Opening(
            made, tuple(imports), (), "async with" if aio else "with", tuple(after), note
        )
    kind = "AsyncConnectionPool" if aio else "ConnectionPool"
    imports += ["from psycopg.rows import dict_row", f"from psycopg_pool import {kind}"]
    made = f'{name}({kind}(os.environ["DSN"], open={not aio}, {_ROWS}))'
    after = ["await {saver}.conn.open()", *after] if aio else after
    return Opening(made, tuple(imports), (), "plain", tuple(after))


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
