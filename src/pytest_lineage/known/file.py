"""Known failures: laws that a target breaks today, each with a reason and an end, in a file of the user's.

A known failure that no longer happens fails a run until its entry is gone, and so does one past its date;
one that happens does not. Where an entry names a saved program, that program is replayed first, so what is
known cannot come and go with what happens to be generated.
"""

from __future__ import annotations

import datetime as dt
import difflib
import importlib
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_lineage.known import saved as failures

if TYPE_CHECKING:
    from lineage_conformance.law import Law

NAME = "lineage-known.toml"
KINDS = ("bug", "unsupported", "contract-dispute")
FAIL_ON = ("new", "any", "never")
FIELDS = ("target", "law", "kind", "reason", "link", "until", "program", "faces")
REQUIRED = ("target", "law", "kind", "reason")

_HEADER = re.compile(r"\s*\[\[\s*known\s*\]\]\s*(#.*)?")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_VERSION = re.compile(r"\d+(\.\d+)*([a-z]+\d*)?")


class KnownError(Exception):
    """The file cannot be used. The message names the file and the line."""


@dataclass(frozen=True)
class Entry:
    """One known failure."""

    target: str
    law: str
    kind: str
    reason: str
    link: str = ""
    until: str = ""
    """A date, a version of the target's package, or ``package>=version``; empty: no end."""
    program: str = ""
    """Id of the saved program that shows it."""
    faces: tuple[str, ...] = ()
    """Only these faces; empty: wherever it happens."""
    line: int = 0
    """Where it starts in the file."""

    def describes(self, target: str, text: str = "") -> bool:
        """Whether the entry is about a target, by the name in reports or by what was typed."""
        return self.target in (target, text, failures.public(target), failures.public(text))

    def says(self) -> str:
        """Kind, reason, link and end on one line."""
        more = [part for part in (self.link, self.until and f"until {self.until}") if part]
        return f"{self.kind}: {self.reason}" + (f" ({', '.join(more)})" if more else "")


@dataclass
class KnownFile:
    """A file of known failures, read."""

    path: Path
    entries: list[Entry] = field(default_factory=list)
    suite: str = ""
    """Version of the suite whose laws were reviewed; laws added later are listed as unreviewed."""

    def where(self, entry: Entry) -> str:
        """File and line of an entry."""
        return f"{self.path.name}:{entry.line}" if entry.line else self.path.name

    @property
    def programs(self) -> Path:
        """The folder that holds the programs the entries name."""
        return self.path.parent / failures.HOME / failures.KEPT


def read(path: str | Path) -> KnownFile:
    """Read a file. Raises `KnownError` for one that is missing, no TOML, or holds an entry that says too little."""
    path = Path(path)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise KnownError(f"{path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise KnownError(f"{path}: byte {error.start} is not UTF-8") from None
    return parse(text, path)


def parse(text: str, path: Path) -> KnownFile:
    """Read the text of a file. Raises `KnownError`."""
    tomllib = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise KnownError(f"{path}: is no TOML: {error}") from None
    for key in data:
        if key not in ("known", "suite"):
            raise KnownError(f"{path}: {key!r} means nothing here; entries are tables [[known]]")
    suite, tables = data.get("suite", ""), data.get("known", [])
    if not isinstance(suite, str) or not isinstance(tables, list):
        raise KnownError(f"{path}: 'suite' is a version in quotes, entries are tables [[known]]")
    lines = [number for number, line in enumerate(text.splitlines(), 1) if _HEADER.fullmatch(line)]
    if len(lines) != len(tables):
        lines = [0] * len(tables)  # written in another way than as tables
    found = KnownFile(path, suite=suite)
    for table, line in zip(tables, lines, strict=True):
        entry = _entry(table, f"{path}:{line}" if line else str(path), line)
        same = [e for e in found.entries if _key(e) == _key(entry)]
        if same:
            raise KnownError(f"{path}:{line}: the same is known already, see line {same[0].line}")
        found.entries.append(entry)
    return found


def _key(entry: Entry) -> tuple[Any, ...]:
    return entry.target, entry.law, entry.program, entry.faces


def _entry(table: Any, where: str, line: int) -> Entry:
    if not isinstance(table, dict):
        raise KnownError(f"{where}: an entry is a table [[known]]")
    for key, value in table.items():
        if key not in FIELDS:
            near = difflib.get_close_matches(key, FIELDS, 1)
            hint = f"did you mean {near[0]!r}?" if near else f"known are {', '.join(FIELDS)}"
            raise KnownError(f"{where}: an entry has no {key!r}; {hint}")
        if key == "faces":
            if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
                raise KnownError(f"{where}: 'faces' is a list of names of faces")
        elif not isinstance(value, str) and not (key == "until" and isinstance(value, dt.date)):
            raise KnownError(f"{where}: {key!r} must be text in quotes")
    missing = [key for key in REQUIRED if not str(table.get(key, "")).strip()]
    if missing:
        raise KnownError(f"{where}: an entry needs {', '.join(map(repr, missing))}")
    if table["kind"] not in KINDS:
        raise KnownError(f"{where}: kind {table['kind']!r} is none of {', '.join(KINDS)}")
    until = table.get("until", "")
    until = until.isoformat()[:10] if isinstance(until, dt.date) else until.strip()
    _check_until(until, where)
    return Entry(
        table["target"], table["law"], table["kind"], table["reason"], table.get("link", ""), until,
        table.get("program", ""), tuple(table.get("faces", ())), line,
    )  # fmt: skip


def _check_until(until: str, where: str) -> None:
    try:
        if _DATE.fullmatch(until):
            dt.date.fromisoformat(until)
        elif until and not _VERSION.fullmatch(until):
            from lineage_conformance import contract

            if ">=" not in until:
                raise ValueError("no requirement")
            contract.unmet(until)
    except ValueError:
        raise KnownError(
            f"{where}: until {until!r} is no date (2027-06-30), no version of the target's package (1.4) and "
            "no package>=version"
        ) from None


def expired(entry: Entry, packages: Mapping[str, str], today: dt.date | None = None) -> str:
    """Why an entry is past its end; empty while it is not. `packages` are the target's own, with versions."""
    from lineage_conformance import contract

    if not entry.until:
        return ""
    if _DATE.fullmatch(entry.until):
        today = today or dt.date.today()
        return (
            f"was known until {entry.until}" if today > dt.date.fromisoformat(entry.until) else ""
        )
    if ">=" in entry.until:
        if contract.unmet(entry.until):
            return ""
        name = entry.until.partition(">=")[0].strip()
        return f"was known until {entry.until}, installed is {contract.version(name)}"
    for name, version in packages.items():
        if not _older(version, entry.until):
            return f"was known until version {entry.until}, installed is {name} {version}"
    return ""


def is_newer(law: Law, suite: str) -> bool:
    """Whether a law was added after version `suite` (empty: no law is)."""
    return bool(suite) and _older(suite, law.since)


def _older(one: str, other: str) -> bool:
    """Whether release `one` came before `other`; 0.2 and 0.2.0 are the same."""
    from lineage_conformance import contract

    left, right = contract.release(one), contract.release(other)
    width = max(len(left), len(right))
    return left + (0,) * (width - len(left)) < right + (0,) * (width - len(right))
