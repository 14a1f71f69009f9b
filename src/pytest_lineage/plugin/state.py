"""One target of a pytest process: its worker, its laws and faces, and the verdicts so far."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from lineage_conformance import law as laws
from pytest_lineage.plugin.outcome import SAME
from pytest_lineage.run import engine
from pytest_lineage.run.causes import fold
from pytest_lineage.run.rows import Row
from pytest_lineage.targets import address

if TYPE_CHECKING:
    from lineage_conformance.law import Law
    from pytest_lineage.plugin.nodes import TargetNode
    from pytest_lineage.plugin.options import Settings
    from pytest_lineage.plugin.session import Lineage


class State:
    """One target of this process: its worker, what it is, and what was judged."""

    def __init__(
        self, lineage: Lineage, run: engine.TargetRun, number: int, node: TargetNode
    ) -> None:
        self.lineage, self.run, self.number = lineage, run, number
        self.key, self.text, self.label, self.kind = node.nodeid, node.text, node.label, node.kind
        self.import_path = node.import_path
        self.node = "" if node.named else node.seen()
        self.laws: dict[str, Law] = {}
        self.faces: tuple[str, ...] = ()
        self.about: dict[str, Any] = {}
        self.told = False
        """Whether a report already carried `about` to whoever gathers."""
        self.selected: set[tuple[str, str]] = set()
        self._rows: dict[tuple[str, str], Row] = {}
        self._unused: set[tuple[str, str]] = set()
        self._shown: dict[tuple[str, str], Any] = {}
        """Evidence that a failure of this process shows in full."""
        self._seconds = 0.0
        self._dead = ""
        self._judge: Callable[[Law, str], Row] = run.judge

    def start(self, settings: Settings) -> None:
        """Open the target and choose laws and faces. Raises `pytest.Collector.CollectError`."""
        try:
            wanted = chosen(settings.laws, self.kind)
            about = self.run.start()
        except (engine.Unusable, pytest.UsageError) as error:
            self.run.close()
            raise pytest.Collector.CollectError(str(error)) from None
        except engine.SuiteFault as error:
            self.run.close()
            raise pytest.Collector.CollectError(
                f"fault of pytest-lineage itself: {error}"
            ) from None
        except BaseException:  # Ctrl-C, or a plugin that limits time
            self.run.close()
            raise
        self.faces = tuple(f for f in about["faces"] if not settings.face or f in settings.face)
        if not self.faces:
            why = "; ".join(f"{face}: {about['absent'].get(face)}" for face in settings.face)
            self.run.close()
            raise pytest.Collector.CollectError(f"{self.label}: nothing to judge ({why})")
        if about["name"] != self.text:
            self.label = about["name"]  # declared; what was typed is only where to find it
        self.laws = {law.id: law for law in wanted}
        self.about = {
            **about, "name": self.label, "faces": list(self.faces), "faces_all": about["faces"],
            "text": self.text, "import_path": list(self.import_path),
            "address": address.of(self.text, self.run.options, self.import_path, self.node),
        }  # fmt: skip
        self._judge = self.run.judge
        ratchet = self.lineage.ratchet()
        if ratchet is not None:
            known = ratchet.of(self.label, self.text, self.about, self.run.judge, self.run.replay)
            self._judge = known.judge

    @property
    def planned(self) -> int:
        """How many verdicts make the target's run whole."""
        return len(self.laws) * len(self.faces)

    def judge(self, law: str, face: str) -> tuple[Row, str]:
        """The verdict on one law and face, and what this run shows already and explains a breach, if any."""
        key = (law, face)
        if key in self._unused:
            self._unused.discard(key)
        else:
            self._rows[key] = self._ask(law, face)
        row = self._rows[key]
        return row, self._cause(row) if row.verdict in ("broken", "hangs") else ""

    def _cause(self, row: Row) -> str:
        """Laws run in any order and in several processes: judge the named causes that were not yet."""
        for cause in laws.causes(self.laws[row.law]):
            key = (cause, row.face)
            if key in self.selected and key not in self._rows:
                self._rows[key] = self._ask(*key)
                self._unused.add(key)
        order = {id: number for number, id in enumerate(self.laws)}
        rows = [dataclasses.replace(r) for r in self._rows.values()]
        rows.sort(key=lambda r: (order[r.law], r.face != row.face))
        fold(rows)
        cause = next(r.caused_by for r in rows if (r.law, r.face) == (row.law, row.face)) or ""
        if any(id == cause for id, _ in self.selected):
            return f"a consequence of {cause}, which fails too"
        for face in self.faces:
            other = self._shown.get((row.law, face))
            if other is not None and other == row.evidence and row.evidence:
                return f"{SAME}[{face}]"
        self._shown[row.law, row.face] = row.evidence
        return ""

    def _ask(self, law: str, face: str) -> Row:
        item, limit = self.laws[law], self.lineage.settings.time_limit
        if self._dead:
            return self._unjudged(law, face, f"not run: {self._dead}")
        if limit is not None and self._seconds > limit:
            return self._unjudged(law, face, f"not run: the time limit of {limit:g} s was reached")
        begin = time.monotonic()
        try:
            row = self._judge(item, face)
        except engine.Unusable as error:
            self._dead = str(error)
            return self._unjudged(law, face, self._dead)
        except engine.SuiteFault as error:
            return self._unjudged(law, face, f"fault of pytest-lineage itself: {error}")
        except BaseException:  # Ctrl-C or a time limit: what the worker still says is for nobody
            self.run.close()
            raise
        finally:
            self._seconds += time.monotonic() - begin
        row.target = self.label
        return row

    def _unjudged(self, law: str, face: str, reason: str) -> Row:
        item = self.laws[law]
        return Row(
            item.id, face, self.label, item.level.value, "inconclusive", item.group, item.sentence,
            item.source, item.meaning, item.reports, reason, stake=item.stake.value,
        )  # fmt: skip


def chosen(patterns: Sequence[str], kind: str) -> list[Law]:
    """The laws to judge. Raises `pytest.UsageError` for a pattern that matches none."""
    try:
        found = laws.select(patterns, kind)
    except KeyError as error:
        raise pytest.UsageError(f"--lineage-laws: {error.args[0]}") from None
    if not found:
        raise pytest.UsageError(f"there is no law of kind {kind!r}")
    return found
