"""Doors: how the text that a user types becomes a target.

A built-in name, an import path (``pkg.mod:factory`` or ``./file.py:factory``), a ``langgraph.json``, or
the name of an entry point in the group ``pytest_lineage.targets``.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import json
import sys
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

from pytest_lineage.targets import Target, TargetError, adopt

GROUP = "pytest_lineage.targets"


def resolve(text: str, kind: str = "saver", over: str = "") -> Target:
    """The target that `text` names. Raises `TargetError` that says what was looked for and where.

    `over` names the saver on which a built-in reference of another kind is built.
    """
    found = _resolve(text, kind, over)
    if found.kind != kind:
        raise TargetError(
            f"{text}: is declared as a target of kind {found.kind}; pass --kind {found.kind}"
        )
    return found


def _resolve(text: str, kind: str, over: str) -> Target:
    if text.endswith("langgraph.json"):
        return _from_langgraph_json(Path(text), kind)
    if ":" in text:
        return adopt(load(text), text, kind)
    from pytest_lineage.targets import builtin

    if text in builtin.NAMES:
        return builtin.make(text, kind, over)
    for entry in metadata.entry_points(group=GROUP):
        if entry.name == text:
            try:
                return adopt(entry.load(), text, kind)
            except TargetError:
                raise
            except BaseException as error:
                raise TargetError(
                    f"{text}: entry point {entry.value!r} could not be loaded: {_brief(error)}"
                ) from error
    raise TargetError(unknown(text))


def unknown(text: str) -> str:
    """The message for a name that no door knows."""
    from pytest_lineage.targets import builtin

    names = [*builtin.NAMES, *sorted({e.name for e in metadata.entry_points(group=GROUP)})]
    near = difflib.get_close_matches(text, names, 2)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    return (
        f"no target is called {text!r}{hint} Known names: {', '.join(names)}. "
        "An import path looks like pkg.mod:factory or ./file.py:factory."
    )


def load(path: str) -> Any:
    """Import what ``module:attribute`` names; the module may be a dotted name or a file."""
    where, _, attribute = path.rpartition(":")
    if not where or not attribute:
        raise TargetError(f"{path!r} is no import path; it looks like pkg.mod:factory")
    try:
        module = _load_file(Path(where)) if where.endswith(".py") else _load_module(where)
    except TargetError:
        raise
    except BaseException as error:  # a module may do anything when it is imported, even exit
        raise TargetError(f"{path}: importing {where} failed: {_brief(error)}") from error
    found: Any = module
    for part in attribute.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            near = difflib.get_close_matches(part, dir(found), 2)
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            raise TargetError(f"{path}: {where} has no attribute {part!r}{hint}") from None
    return found


def _load_module(name: str) -> ModuleType:
    if "" not in sys.path and str(Path.cwd()) not in sys.path:
        sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(error.name + ".")):
            raise TargetError(
                f"there is no module {error.name!r} (looked in the current directory and in "
                f"this environment); install it here, or give a file: ./path/to/file.py:factory"
            ) from None
        raise


def _load_file(path: Path) -> ModuleType:
    path = path.expanduser().resolve()
    if not path.is_file():
        raise TargetError(f"there is no file {path.name!r} in {path.parent}")
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if file and Path(file) == path:
            return module
    name = path.stem
    if name in sys.modules:
        name = f"lineage_target_{path.stem}"
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise TargetError(f"{path.name!r} cannot be imported as Python")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)
        raise
    return module


def reference(path: Path) -> str:
    """The checkpointer that a ``langgraph.json`` names. Raises `TargetError` where it names none."""
    path = path.expanduser()
    if path.is_dir():
        path = path / "langgraph.json"
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise TargetError(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise TargetError(f"{path}: is no JSON: {error}") from None
    checkpointer = data.get("checkpointer") if isinstance(data, dict) else None
    found = checkpointer.get("path") if isinstance(checkpointer, dict) else None
    if not isinstance(found, str):
        raise TargetError(
            f"{path}: has no checkpointer.path; add one, or name the factory: ./file.py:factory"
        )
    return found


def _from_langgraph_json(path: Path, kind: str) -> Target:
    named = reference(path)
    folder = path.expanduser().resolve().parent
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    where, _, attribute = named.rpartition(":")
    full = f"{folder / where}:{attribute}" if where.endswith(".py") else named
    return adopt(load(full), path.name, kind)


def _brief(error: BaseException) -> str:
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0][:300]}" if text else type(error).__name__
