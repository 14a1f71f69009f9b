"""Stacks: named sets of pinned packages, and where else pins may come from.

A stack is one of `stacks.toml`, a requirements file, a ``uv.lock``, a ``poetry.lock``, requirements as text
(``langgraph==1.2.5,langgraph-checkpoint==4.1.1``), or ``installed``: the environment that runs.
"""

from __future__ import annotations

import difflib
import importlib
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from lineage_conformance import builder

FORMAT = 1
FILE = Path(__file__).parent / "stacks.toml"
INSTALLED = "installed"
"""The name of the environment that runs."""

FAMILY = ("langgraph", "langchain", "deepagents", "psycopg", "aiosqlite")
"""Beginnings of the names of packages that decide how threads are stored and run."""


class StackError(Exception):
    """What was named is no stack. The message says what was looked for and what is known."""


@dataclass(frozen=True)
class Stack:
    """A set of requirements under a name."""

    id: str
    requirements: tuple[str, ...] = ()
    title: str = ""
    python: str = ""
    constraints: tuple[str, ...] = ()
    """Versions that hold if the package is needed at all."""

    @property
    def running(self) -> bool:
        """Whether it is the environment that runs, for which nothing is built."""
        return self.id == INSTALLED

    def environment(
        self, more: Sequence[str] = (), root: Path | None = None
    ) -> builder.Environment:
        """Its environment, with `more` requirements. Raises `builder.Failed` if it cannot be made."""
        if self.running:
            return builder.Environment(Path(sys.prefix), builder.installed(sys.executable))
        return builder.environment(
            (*self.requirements, *more),
            constraints=self.constraints,
            python=self.python,
            label=self.id,
            root=root,
        )


def named(path: Path = FILE) -> list[Stack]:
    """The stacks of a file like `stacks.toml`, in its order. Raises `StackError` for one of another format."""
    data = _toml(path)
    if data.get("format") != FORMAT:
        raise StackError(
            f"{path.name} has format {data.get('format')!r}, this version reads {FORMAT}"
        )
    return [
        Stack(
            entry["id"],
            tuple(entry["requirements"]),
            entry.get("title", ""),
            entry.get("python", ""),
        )
        for entry in data["stack"]
    ]


def find(text: str) -> Stack:
    """The stack that a user means by `text`. Raises `StackError`."""
    known = {stack.id: stack for stack in named()}
    if text in known:
        return known[text]
    if text == INSTALLED:
        return Stack(INSTALLED, title="the environment that runs")
    path = Path(text)
    if path.name in ("uv.lock", "poetry.lock") or path.suffix in (".lock", ".txt", ".in"):
        return _from_file(path)
    if re.search(r"[=<>~@]", text):
        return Stack(text, tuple(part.strip() for part in _parts(text)))
    near = difflib.get_close_matches(text, [*known, INSTALLED], 2)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    raise StackError(
        f"no stack is called {text!r}{hint} Known are {', '.join(known)} and {INSTALLED}; a requirements file, "
        "uv.lock, poetry.lock or text such as langgraph==1.2.5,langgraph-checkpoint==4.1.1 work too."
    )


def _parts(text: str) -> list[str]:
    """Requirements in a text, divided by commas that do not belong to a version range or to extras."""
    return re.split(r",\s*(?=[A-Za-z][\w.-]*(?:\[[^\]]*\])?\s*(?:[=<>~@!]|$))", text)


def _from_file(path: Path) -> Stack:
    if not path.is_file():
        raise StackError(f"there is no file {str(path)!r}")
    if path.suffix != ".lock":
        return Stack(path.name, (f"-r {path.resolve()}",), f"the requirements in {path.name}")
    pins, direct = lock(path)
    wanted = [name for name in direct if name in pins] or [
        name for name in pins if name.startswith(FAMILY)
    ]
    return Stack(
        path.name,
        tuple(f"{name}=={pins[name]}" for name in sorted(wanted)),
        f"what {path.name} pins",
        constraints=tuple(f"{name}=={version}" for name, version in sorted(pins.items())),
    )


def lock(path: Path) -> tuple[dict[str, str], list[str]]:
    """The pins of a ``uv.lock`` or ``poetry.lock``, name to version, and the names that the project itself asks for.

    Raises `StackError` if it cannot be read. A poetry.lock does not say what the project asks for: nothing is named.
    """
    packages = _toml(path).get("package")
    if not isinstance(packages, list):
        raise StackError(f"{path}: holds no packages, so it is neither a uv.lock nor a poetry.lock")
    pins: dict[str, str] = {}
    direct: list[str] = []
    for package in packages:
        source = package.get("source") or {}
        if any(key in source for key in ("editable", "virtual", "directory")):
            direct += [builder.normal(item["name"]) for item in package.get("dependencies", ())]
        elif "version" in package and source.get("type") not in ("directory", "git", "file"):
            pins[builder.normal(package["name"])] = package["version"]
    return pins, direct


def family(packages: Mapping[str, str]) -> dict[str, str]:
    """Those of some packages that decide how threads are stored and run."""
    return {name: version for name, version in packages.items() if name.startswith(FAMILY)}


def drift(path: Path, packages: Mapping[str, str]) -> list[str]:
    """Where installed packages differ from the lock file that lies beside the project, each in a sentence."""
    pins, _ = lock(path)
    return [
        f"{path.name} pins {name} {pins[name]}, installed is {version}: what is installed is tested"
        for name, version in family(packages).items()
        if name in pins and pins[name] != version
    ]


def lock_file(folder: Path) -> Path | None:
    """The lock file of a project, or None."""
    return next((p for name in ("uv.lock", "poetry.lock") if (p := folder / name).is_file()), None)


def frozen() -> list[str]:
    """The running environment as exact requirements, without this suite. Local projects come as ``-e PATH``."""
    import json

    found: dict[str, str] = {}
    for distribution in metadata.distributions():
        name = builder.normal(distribution.metadata["Name"] or "")
        if not name or name in found or name == builder.DISTRIBUTION:
            continue
        try:
            direct: Any = json.loads(distribution.read_text("direct_url.json") or "null")
        except ValueError:
            direct = None
        found[name] = _frozen(name, distribution.version, direct)
    return [found[name] for name in sorted(found)]


def _frozen(name: str, version: str, direct: Any) -> str:
    """One installed distribution as a requirement (PEP 610)."""
    if not isinstance(direct, dict) or not direct.get("url"):
        return f"{name}=={version}"
    url = str(direct["url"])
    if (direct.get("dir_info") or {}).get("editable") and url.startswith("file://"):
        from urllib.parse import unquote, urlsplit

        return f"-e {unquote(urlsplit(url).path)}"
    commit = (direct.get("vcs_info") or {}).get("commit_id")
    vcs = (direct.get("vcs_info") or {}).get("vcs")
    return f"{name} @ {vcs}+{url}@{commit}" if vcs and commit else f"{name} @ {url}"


def _toml(path: Path) -> dict[str, Any]:
    reader = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        data: dict[str, Any] = reader.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise StackError(f"{path}: cannot be read: {error}") from None
    return data
