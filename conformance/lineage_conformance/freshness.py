"""What requirements give beyond their text: files and projects that lie here, and releases that come out.

An environment from a cache is right only while it would be made the same way again. `state` is data that changes
when it would not be: the content of everything local that requirements name, and the day where they leave the
version open.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import os
import re
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

ARCHIVES = (".whl", ".zip", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
SKIPPED = (
    ".git", ".hg", ".svn", ".tox", ".nox", ".venv", ".eggs", ".lineage", ".hypothesis", ".mypy_cache",
    ".pytest_cache", ".ruff_cache", "node_modules", "__pycache__",
)  # fmt: skip
"""Folders that no build reads."""

STORES = (".pyc", ".db", ".sqlite", ".sqlite3", ".log", "-wal", "-shm", "-journal")
"""Ends of the names of files that change while a program runs, and are not its code."""

_OPTION = re.compile(
    r"(?P<option>--(?:requirement|constraint|editable|find-links)|-[rcef])(?:\s*=\s*|\s*)(?P<value>.+)"
)
_NAMED = re.compile(r"(?P<name>[A-Za-z0-9][\w.-]*)\s*(?:\[[^\]]*\])?\s*")
_PINNED = re.compile(r"===?\s*[^\s*,;]+\s*(?:$|[,)])")
_COMMIT = re.compile(r"@[0-9a-f]{40}(?:#|$)|#(?:.*&)?(?:sha256|sha384|sha512)=")


def state(
    requirements: Sequence[str], constraints: Sequence[str] = (), alone: bool = False
) -> list[Any]:
    """JSON data that changes when installing these requirements may give something else than it did.

    It holds a hash of each local file, project and archive that they name, requirements files and what stands in
    them included, and the day (UTC) if a version is open. With `alone` they are installed without what they need
    in turn, so a local project leaves no version open.
    """
    look = _Look({_name(text) for text in constraints if _PINNED.search(text)}, alone)
    for text in _options([word for item in requirements for word in words(item)]):
        look.at(text, Path.cwd())
    day = time.strftime("%Y-%m-%d", time.gmtime()) if look.open else ""
    return [sorted(look.contents.items()), day]


def words(item: str) -> list[str]:
    """What pip takes on its command line, as its words; the path behind an option may hold blanks."""
    if not item.startswith("-"):
        return [item]
    parts = re.split(r"\s+(?=--?[A-Za-z])", item.strip())
    return [word for part in parts for word in part.split(None, 1)]


def _options(given: Sequence[str]) -> Iterator[str]:
    """Words of a command line with each option and its value together again."""
    left = iter(given)
    for word in left:
        yield f"{word} {next(left, '')}" if _OPTION.fullmatch(f"{word} x") else word


def content(path: Path) -> str:
    """A hash of a file, or of a folder's files by their names; of a folder only what a build may read."""
    made = hashlib.sha256()
    for name, file in _files(path) if path.is_dir() else [("", path)]:
        made.update(f"{name}\0".encode(errors="surrogateescape"))
        try:
            made.update(_bytes(file))
        except OSError as error:  # a dangling link, or a file that is nobody's business
            made.update(type(error).__name__.encode())
    return made.hexdigest()[:16]


class _Look:
    """Follows requirements to what they name."""

    def __init__(self, pinned: set[str], alone: bool) -> None:
        self.pinned, self.alone = pinned, alone
        self.contents: dict[str, str] = {}
        self.open = False
        """Whether a version is left to the day."""

    def at(self, text: str, folder: Path, constrains: bool = False) -> None:
        """Look at one requirement, written in a file in `folder`."""
        matched = _OPTION.fullmatch(text)
        option, value = (matched["option"], matched["value"]) if matched else ("", text)
        value = value.strip().strip("\"'")
        if option in ("-r", "--requirement", "-c", "--constraint"):
            self.file(_found(value, folder), constrains or option in ("-c", "--constraint"))
        elif option in ("-f", "--find-links"):
            if (path := _local(value, folder, True)) is not None:
                self.contents[str(path)] = content(path)
        elif option or not value.startswith("-"):
            self.package(value, folder, bool(option), constrains)

    def package(self, text: str, folder: Path, editable: bool, constrains: bool) -> None:
        """Look at a requirement that names a package, a folder or an archive."""
        bare = re.split(r"\s+;|;\s|\s+--", text)[0].strip()
        path = _local(bare, folder, editable)
        if path is not None:
            self.local(path)
        elif not constrains:  # a constraint asks for nothing
            url = _COMMIT.search(bare) is not None
            self.open |= not (url or _PINNED.search(bare) or _name(bare) in self.pinned)

    def local(self, path: Path) -> None:
        """Look at a project or an archive, and at the projects beside it that it asks for."""
        if str(path) in self.contents:
            return
        self.contents[str(path)] = content(path)
        self.open |= not self.alone
        for text, editable in _neighbours(path / "pyproject.toml"):
            if (other := _local(text, path, editable)) is not None:
                self.local(other)

    def file(self, path: Path, constrains: bool) -> None:
        """Look at the lines of a requirements file."""
        if str(path) in self.contents:
            return
        self.contents[str(path)] = content(path)
        with contextlib.suppress(OSError):
            text = path.read_text(encoding="utf-8", errors="replace").replace("\\\n", " ")
            for line in text.splitlines():
                if line := re.sub(r"(^|\s+)#.*", "", _filled(line)).strip():
                    self.at(line, path.parent, constrains)


def _local(text: str, folder: Path, surely: bool) -> Path | None:
    """The path that a requirement means; None for what comes from an index. `surely`: it can be nothing else."""
    named = _NAMED.match(text)
    if named and text[named.end() :].startswith("@"):
        text = text[named.end() + 1 :].strip()
        surely = False
    if text.startswith("file:"):
        return _found(re.sub(r"^/(?=[A-Za-z]:)", "", unquote(urlsplit(text).path)), folder)
    text = re.sub(r"\[[^\]]*\]$", "", text)
    if "://" in text or not (surely or "/" in text or os.sep in text or _looks_local(text)):
        return None
    path = _found(text, folder)
    return path if path.exists() else None


def _looks_local(text: str) -> bool:
    return text.startswith(".") or text.lower().endswith(ARCHIVES)


def _found(text: str, folder: Path) -> Path:
    """A path as pip takes it, from the current directory, or as uv does, from the file's own folder."""
    path = Path(text.removeprefix("file://")).expanduser()
    here = Path.cwd() / path
    return here if here.exists() else folder / path


def _neighbours(path: Path) -> Iterator[tuple[str, bool]]:
    """Local projects that a project asks for, each as (text, whether it is a path and nothing else)."""
    reader = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    with contextlib.suppress(OSError, ValueError, AttributeError, TypeError):
        data = reader.loads(path.read_text(encoding="utf-8"))
        for text in data.get("project", {}).get("dependencies", ()):
            yield str(text), False
        tool = data.get("tool", {})
        tables = (
            tool.get("uv", {}).get("sources", {}),
            tool.get("poetry", {}).get("dependencies", {}),
        )
        for source in (source for table in tables for source in table.values()):
            if isinstance(source, dict) and "path" in source:
                yield str(source["path"]), True


def _files(top: Path) -> Iterator[tuple[str, Path]]:
    """The files of a folder that a build may read, by their names in it, in order."""
    for folder, folders, names in os.walk(top):
        here = Path(folder)
        folders[:] = sorted(name for name in folders if not _left_out(here / name))
        for name in sorted(names):
            if not name.endswith(STORES) and (here / name).is_file():
                yield (here / name).relative_to(top).as_posix(), here / name


def _left_out(folder: Path) -> bool:
    """Whether a folder is a tool's, an environment, or what a build left behind."""
    made = folder.name in ("build", "dist") and not (folder / "__init__.py").exists()
    environment = (folder / "pyvenv.cfg").exists()
    return made or environment or folder.name in SKIPPED or folder.name.endswith(".egg-info")


def _bytes(path: Path) -> bytes:
    made = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            made.update(block)
    return made.digest()


def _filled(line: str) -> str:
    """A line with the environment variables that pip fills in."""
    return re.sub(r"\$\{([A-Z0-9_]+)\}", lambda m: os.environ.get(m[1], m[0]), line)


def _name(text: str) -> str:
    matched = _NAMED.match(text)
    return re.sub(r"[-_.]+", "-", matched["name"].lower()) if matched else ""
