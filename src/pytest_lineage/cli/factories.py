"""The test module that `init` writes: a factory that opens the saver, found by trying."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from lineage_conformance import law as laws
from pytest_lineage.run.engine import Options, SuiteFault, TargetRun, Unusable, default_path

_HEAD = '''"""Conformance of {name}: every law of pytest-lineage, one test for each face it has.

    pytest {path}
"""

from pytest_lineage import target


@target("{name}")
'''

PLAIN = (
    _HEAD
    + '''def {name}_saver():
    """Open a new, empty saver.

    If it keeps its data somewhere, take a parameter `store` and open the saver on it: `store.path` is a
    private directory, `store.id` a name nobody else uses. Called twice with one store it must give two
    handles on the same data; then reopening and second writers are tested as well.
    """
    from {module} import {attribute}

    return {attribute}()
'''
)

_STORE = '''    """Open the saver on a store: a new one is empty, two calls with one store give two handles on its data.

    `store.path` is a private directory, `store.id` a name nobody else uses.
    """
    from {module} import {attribute}

'''

_SYNC = _HEAD + "def {name}_saver(store):\n" + _STORE
_ASYNC = _HEAD + "async def {name}_saver(store):\n" + _STORE
_ALONE = _HEAD + "async def {name}_saver():\n    from {module} import {attribute}\n\n"
_DATA = 'str(store.path / "data")'

SHAPES = (
    _SYNC + f"    with {{attribute}}.from_conn_string({_DATA}) as saver:\n        yield saver\n",
    _ASYNC
    + f"    async with {{attribute}}.from_conn_string({_DATA}) as saver:\n        yield saver\n",
    _SYNC + f"    return {{attribute}}.from_conn_string({_DATA})\n",
    _SYNC + f"    return {{attribute}}({_DATA})\n",
    _ASYNC + f"    return {{attribute}}({_DATA})\n",
    _SYNC + "    return {attribute}(store.path)\n",
    _SYNC
    + "    import sqlite3\n\n"
    + f"    connection = sqlite3.connect({_DATA}, check_same_thread=False)\n"
    + "    yield {attribute}(connection)\n    connection.close()\n",
    _ALONE + "    return {attribute}()\n",
)
"""What is tried for a class that needs something to be opened with, or in."""

_LOOK = """
import importlib, inspect, json, sys
sys.path[:0] = json.loads(sys.argv[3])
found = getattr(importlib.import_module(sys.argv[1]), sys.argv[2])
needs = [
    parameter.name
    for parameter in inspect.signature(found).parameters.values()
    if parameter.default is parameter.empty and parameter.kind in (0, 1, 3) and parameter.name != "store"
]
print(json.dumps([needs, hasattr(found, "from_conn_string"), hasattr(found, "aput")]))
"""
"""Run in a process of its own: importing may do anything. Nothing is opened."""


def settle(path: Path, fields: Mapping[str, str]) -> str:
    """Write a module that can be opened to `path`, which holds the plain one; what is left to do.

    Only a class that cannot be made from nothing is tried, on stores of our own. Where no shape fits, the plain module
    stays and the answer says what to write.
    """
    attribute, shown = fields["attribute"], fields["path"]
    looked = _look(path, fields)
    if looked is None:
        return f"Now open the saver in {shown}, then run: pytest {shown}"
    needs, has_string = looked
    if not needs and not has_string:
        return f"Now run: pytest {shown}"
    plain = path.read_text(encoding="utf-8")
    for shape in SHAPES:
        if ("from_conn_string" in shape) <= has_string:
            path.write_text(shape.format(**fields), encoding="utf-8")
            if _opens(path, fields["name"]):
                return f"{attribute} is opened on `store`. Now run: pytest {shown}"
    path.write_text(plain, encoding="utf-8")
    given = ", ".join(needs) or "a connection"
    return f"Write in {shown} how {attribute} gets {given}, then run: pytest {shown}"


def _sources(path: Path) -> list[str]:
    """Where the saver's module may lie: here, in `src`, or in the repository that was named."""
    root = path.parent.parent.resolve()
    return list(dict.fromkeys(map(str, (root / "src", root, Path.cwd() / "src", Path.cwd()))))


def _look(path: Path, fields: Mapping[str, str]) -> tuple[list[str], bool] | None:
    """Parameters that must be given, and whether there is a `from_conn_string`; None if it cannot be told."""
    command = [sys.executable, "-c", _LOOK, fields["module"], fields["attribute"]]
    try:
        done = subprocess.run(
            [*command, json.dumps(_sources(path))], capture_output=True, text=True, timeout=60
        )
        needs, has_string, is_saver = json.loads(done.stdout.splitlines()[-1])
    except (OSError, ValueError, IndexError, subprocess.TimeoutExpired):
        return None
    return needs, has_string and is_saver


def _opens(path: Path, name: str) -> bool:
    """Whether the target in a module can be opened, and finds again what it was given."""
    options = Options(path=(*_sources(path), *default_path()), op_limit=3)
    run = TargetRun(f"{path.resolve()}:{name}_saver", options)
    try:
        faces = run.start()["faces"]
        return run.judge(laws.get("put.is-readable"), faces[0]).verdict == "holds"
    except (Unusable, SuiteFault):
        return False
    finally:
        run.close()
