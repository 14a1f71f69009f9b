"""The ratchet: what a run makes of known failures, so that things only ever get better."""

from __future__ import annotations

import datetime as dt
import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_lineage.known import saved as failures
from pytest_lineage.known.file import Entry, KnownFile, expired, is_newer

if TYPE_CHECKING:
    from lineage_conformance.law import Law
    from pytest_lineage.run.rows import Row

BAD = ("broken", "hangs")


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
        judge: Callable[[Law, str], Row] | None = None,
        replay: Callable[[Law, str, Mapping[str, Any]], Row] | None = None,
    ) -> Known:
        """The known failures of a target that `about` describes.

        Without `judge` and `replay` it only tells what is wrong with them.
        """
        versions = about.get("versions") or {}
        packages = {p: versions[p] for p in about.get("packages") or () if p in versions}
        mine = []
        for entry in self._usable:
            if not entry.describes(name, text):
                continue
            self._seen.add(entry)
            over = expired(entry, packages, self.today)
            there = about.get("faces_all") or about.get("faces") or entry.faces
            absent = [face for face in entry.faces if face not in there]
            if over:
                self.problem(entry, f"{over}; fix it, or give the entry a new end")
            elif absent:
                self.problem(entry, f"matches nothing: the target has no face {', '.join(absent)}")
            else:
                mine.append(entry)
        return Known(self, mine, tuple(about.get("faces", ())), judge, replay)

    def finish(
        self, targets: Iterable[str], kind: str = "saver", narrowed: bool = False
    ) -> list[str]:
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
                    self.problem(
                        entry, f"matches nothing: it is a law of kind {law.kind}, not {kind}"
                    )
            elif not narrowed and law.kind == kind and not _nameable(entry.target):
                near = difflib.get_close_matches(entry.target, names, 1)
                hint = f"; did you mean {near[0]}?" if near else ""
                self.problem(
                    entry,
                    f"matches nothing: no target of this run is called {entry.target!r}{hint}",
                )
        return self.problems

    def unreviewed(self, chosen: Iterable[Law]) -> list[str]:
        """Ids of laws that were added after the version of the suite that the file says was reviewed."""
        return [law.id for law in chosen if is_newer(law, self.file.suite)]


def _nameable(target: str) -> bool:
    """Whether a run of its own could name this target."""
    from importlib import metadata

    from pytest_lineage.targets import builtin, doors

    installed = [entry.name for entry in metadata.entry_points(group=doors.GROUP)]
    return ":" in target or target in (*builtin.NAMES, *installed)


def _nobody(*arguments: Any) -> Row:
    raise RuntimeError("nobody was named who could judge")


class Known:
    """The known failures of one target: replays their programs, and says what a verdict comes to."""

    def __init__(
        self,
        ratchet: Ratchet,
        entries: Sequence[Entry],
        faces: Sequence[str],
        judge: Callable[[Law, str], Row] | None,
        replay: Callable[[Law, str, Mapping[str, Any]], Row] | None,
    ) -> None:
        self._ratchet, self._entries, self._faces = ratchet, entries, faces
        self._ask, self._run = judge or _nobody, replay or _nobody
        self._judged: dict[tuple[str, str], Row] = {}
        self._replayed: dict[tuple[str, str, str], Row] = {}

    def judge(self, item: Law, face: str) -> Row:
        """The verdict on a law and face, in the light of what is known."""
        law = item
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
                row.reason += (
                    f" (not what {self._ratchet.file.where(entries[0])} knows, which is gone)"
                )
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
        faces = (
            [here] if entry.faces else [f for f in self._faces if not law.faces or f in law.faces]
        )
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
