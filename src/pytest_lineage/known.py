"""Known failures: laws that a target breaks today, each with a reason and an end, in a file of the user's.

A known failure that no longer happens fails a run until its entry is gone, and so does one past its date;
one that happens does not. Where an entry names a saved program, that program is replayed first, so what is
known cannot come and go with what happens to be generated.
"""

from __future__ import annotations

import datetime as dt
import difflib
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_lineage import failures

if TYPE_CHECKING:
    from lineage_conformance.law import Law
    from pytest_lineage.run.rows import Row

NAME = "lineage-known.toml"
KINDS = ("bug", "unsupported", "contract-dispute")
FAIL_ON = ("new", "any", "never")
FIELDS = ("target", "law", "kind", "reason", "link", "until", "program", "faces")
REQUIRED = ("target", "law", "kind", "reason")
BAD = ("broken", "hangs")

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
        return self.target in (target, text)

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
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
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
        return f"was known until {entry.until}" if today > dt.date.fromisoformat(entry.until) else ""
    if ">=" in entry.until:
        if contract.unmet(entry.until):
            return ""
        name = entry.until.partition(">=")[0].strip()
        return f"was known until {entry.until}, installed is {contract.version(name)}"
    for name, version in packages.items():
        if contract.release(version) >= contract.release(entry.until):
            return f"was known until version {entry.until}, installed is {name} {version}"
    return ""


# -- a run ---------------------------------------------------------------------------------------------


class Ratchet:
    """What a run knows: hands out entries per target and gathers what is wrong with them."""

    def __init__(self, file: KnownFile, today: dt.date | None = None) -> None:
        self.file, self.today = file, today or dt.date.today()
        self.problems: list[str] = []
        self.programs: dict[str, Mapping[str, Any]] = {}
        self._usable: list[Entry] = []
        self._seen: set[Entry] = set()
        for entry in file.entries:
            trouble = self._trouble(entry)
            if trouble:
                self.problem(entry, trouble)
            else:
                self._usable.append(entry)

    def problem(self, entry: Entry, text: str) -> None:
        """Note that an entry is wrong; a run with problems fails."""
        said = f"{self.file.where(entry)}: {entry.law} of {entry.target} {text}"
        if said not in self.problems:
            self.problems.append(said)

    def _trouble(self, entry: Entry) -> str:
        """What is wrong with an entry whatever the target turns out to be."""
        from lineage_conformance import law as laws

        try:
            laws.get(entry.law)
        except KeyError as error:
            return f"matches nothing: {error.args[0]}"
        over = expired(entry, {}, self.today)
        if over:
            return f"{over}; fix it, or give the entry a new end"
        if not entry.program:
            return ""
        try:
            saved = failures.read(self._program(entry.program))
        except failures.FailureError as error:
            return f"names a program that cannot be replayed: {error}"
        if saved.law != entry.law:
            return f"names a program that is about {saved.law}"
        self.programs[entry.program] = saved.program
        return ""

    def _program(self, id: str) -> Path:
        kept = self.file.programs / f"{id}.json"
        left = kept.parent.parent / failures.FOLDER / kept.name
        for file in (kept, left):
            if re.fullmatch(r"[\w-]+", id) and file.is_file():
                return file
        raise failures.FailureError(f"there is no {id}.json in {failures.HOME}/{failures.KEPT}")

    def of(
        self,
        name: str,
        text: str,
        about: Mapping[str, Any],
        judge: Callable[[Law, str], Row],
        replay: Callable[[Law, str, Mapping[str, Any]], Row],
    ) -> Known:
        """The known failures of an open target."""
        versions = about.get("versions") or {}
        packages = {p: versions[p] for p in about.get("packages") or () if p in versions}
        mine = []
        for entry in self._usable:
            if not entry.describes(name, text):
                continue
            self._seen.add(entry)
            over = expired(entry, packages, self.today)
            absent = [face for face in entry.faces if face not in about.get("faces", ())]
            if over:
                self.problem(entry, f"{over}; fix it, or give the entry a new end")
            elif absent:
                self.problem(entry, f"matches nothing: the target has no face {', '.join(absent)}")
            else:
                mine.append(entry)
        return Known(self, mine, tuple(about.get("faces", ())), judge, replay)

    def finish(self, targets: Iterable[str], kind: str = "saver", narrowed: bool = False) -> list[str]:
        """After the run: entries that matched nothing join the problems. All problems.

        A target that this run did not have is an error unless it can be named elsewhere (built in,
        installed, or an import path) or the run was narrowed to some of the targets or laws.
        """
        from lineage_conformance import law as laws

        names = list(targets)
        for entry in self._usable:
            law = laws.get(entry.law)
            if entry in self._seen:
                if law.kind != kind:
                    self.problem(entry, f"matches nothing: it is a law of kind {law.kind}, not {kind}")
            elif not narrowed and law.kind == kind and not _nameable(entry.target):
                near = difflib.get_close_matches(entry.target, names, 1)
                hint = f"; did you mean {near[0]}?" if near else ""
                self.problem(entry, f"matches nothing: no target of this run is called {entry.target!r}{hint}")
        return self.problems

    def unreviewed(self, chosen: Iterable[Law]) -> list[str]:
        """Ids of laws that were added after the version of the suite that the file says was reviewed."""
        return [law.id for law in chosen if is_newer(law, self.file.suite)]


def is_newer(law: Law, suite: str) -> bool:
    """Whether a law was added after version `suite` (empty: no law is)."""
    from lineage_conformance import contract

    return bool(suite) and contract.release(law.since) > contract.release(suite)


def _nameable(target: str) -> bool:
    """Whether a run of its own could name this target."""
    from importlib import metadata

    from pytest_lineage import builtin, doors

    installed = [entry.name for entry in metadata.entry_points(group=doors.GROUP)]
    return ":" in target or target in (*builtin.NAMES, *installed)


class Known:
    """The known failures of one target: replays their programs, and says what a verdict comes to."""

    def __init__(
        self,
        ratchet: Ratchet,
        entries: Sequence[Entry],
        faces: Sequence[str],
        judge: Callable[[Law, str], Row],
        replay: Callable[[Law, str, Mapping[str, Any]], Row],
    ) -> None:
        self._ratchet, self._entries, self._faces = ratchet, entries, faces
        self._ask, self._run = judge, replay
        self._judged: dict[tuple[str, str], Row] = {}
        self._replayed: dict[tuple[str, str, str], Row] = {}

    def judge(self, law: Law, face: str) -> Row:
        """The verdict on a law and face, in the light of what is known."""
        entries = [e for e in self._entries if e.law == law.id and (not e.faces or face in e.faces)]
        for entry in entries:
            if entry.program and (seen := self._replay(entry, law, face)).verdict in BAD:
                return self._known(seen, entry)
        row = self._plain(law, face)
        if row.verdict in BAD:
            open_ended = [entry for entry in entries if not entry.program]
            if open_ended:
                return self._known(row, open_ended[0])
            if entries:
                row.reason += f" (not what {self._ratchet.file.where(entries[0])} knows, which is gone)"
        elif row.verdict in ("holds", "refused"):
            gone = [entry for entry in entries if not self._happens(entry, law, face)]
            if gone:
                row.verdict = "fixed"
                row.reason = (
                    f"no longer happens; take {self._ratchet.file.where(gone[0])} out "
                    f"(`pytest-lineage known prune` does): {gone[0].says()}"
                )
        if row.verdict in BAD and is_newer(law, self._ratchet.file.suite):
            row.advisory = f"new in {law.since} and not reviewed"
        return row

    def _happens(self, entry: Entry, law: Law, here: str) -> bool:
        """Whether a known failure still shows on a face that it may be about."""
        faces = [here] if entry.faces else [f for f in self._faces if not law.faces or f in law.faces]
        for face in faces:
            row = self._replay(entry, law, face) if entry.program else self._plain(law, face)
            if row.verdict in (*BAD, "known"):
                return True
        return False

    def _plain(self, law: Law, face: str) -> Row:
        key = (law.id, face)
        if key not in self._judged:
            self._judged[key] = self._ask(law, face)
        return self._judged[key]

    def _replay(self, entry: Entry, law: Law, face: str) -> Row:
        key = (entry.program, law.id, face)
        if key not in self._replayed:
            self._replayed[key] = self._run(law, face, self._ratchet.programs[entry.program])
        return self._replayed[key]

    def _known(self, row: Row, entry: Entry) -> Row:
        row.verdict = "known"
        row.reason = f"{entry.says()}; {row.reason}" if row.reason else entry.says()
        row.program_id = entry.program
        return row
