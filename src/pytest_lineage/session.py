"""What the nodes of one pytest process share: settings, one worker for each target, verdicts so far.

The object is a pytest plugin of its own, registered when the first target turns up, so that a run without
targets never meets its hooks.
"""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any

import pytest

from pytest_lineage import options

if TYPE_CHECKING:
    from lineage_conformance.law import Law
    from pytest_lineage.collector import LawItem, TargetNode
    from pytest_lineage.options import Named, Settings
    from pytest_lineage.run.engine import TargetRun
    from pytest_lineage.run.rows import Row

NAME = "lineage-session"


def configure(
    config: pytest.Config, settings: Settings, picked: Sequence[str], spread: bool
) -> None:
    """Prepare a run that names targets, or that only gathers what other processes report.

    Raises `pytest.UsageError` for a target or a law that nobody knows.
    """
    if spread:
        from pytest_lineage import gather

        gather.register(config, settings)
    names = list(settings.targets)
    if picked:  # naming a node also names its target, and no other
        wanted = dict.fromkeys(node.split("::")[1] for node in picked)
        known = {named.label: named for named in names}
        names = [known.get(label, options.Named(label, label)) for label in wanted]
    for named in names:
        _must_exist(named)
    if names or "laws" in settings.asked:
        _chosen(settings.laws, settings.kind)
    if settings.cov and not hasattr(config, "workerinput"):
        from pytest_lineage import cov
        from pytest_lineage.targets import TargetError

        try:
            cov.folder()
        except TargetError as error:
            raise pytest.UsageError(str(error)) from None
    if names:
        of(config, dataclasses.replace(settings, targets=tuple(names)), picked)


def of(
    config: pytest.Config, settings: Settings | None = None, picked: Sequence[str] = ()
) -> Lineage:
    """The shared state of a run, made when it is first asked for."""
    found: Lineage | None = config.pluginmanager.get_plugin(NAME)
    if found is None:
        found = Lineage(config, settings or options.read(config), picked)
        config.pluginmanager.register(found, NAME)
        config.add_cleanup(found.close)
        if not hasattr(config, "workerinput"):
            from pytest_lineage import gather

            gather.register(config, found.settings)
    return found


class Lineage:
    """Settings, workers and verdicts of one pytest process."""

    def __init__(self, config: pytest.Config, settings: Settings, picked: Sequence[str]) -> None:
        self.config, self.settings, self.picked = config, settings, tuple(picked)
        self._postgres: Any = None
        self._states: dict[str, State] = {}

    # -- targets ---------------------------------------------------------------------------------

    def open(self, node: TargetNode) -> State:
        """Start the worker of a target; its state. Raises `pytest.Collector.CollectError`."""
        from pytest_lineage.run import engine

        if node.nodeid in self._states:
            return self._states[node.nodeid]
        if self._postgres is None:
            self._postgres = engine.Postgres()
        run = engine.TargetRun(
            node.text,
            engine.Options(
                profile=self.settings.profile,
                kind=node.kind,
                op_limit=self.settings.op_limit,
                allow_nonempty=self.settings.allow_nonempty,
                cov=_cov_data() if self.settings.cov else "",
                path=(*node.import_path, *(p for p in sys.path if p)),
            ),
            self._postgres,
        )
        state = State(self, run, len(self._states), node.label)
        state.start(self.settings, node.kind)
        self._states[node.nodeid] = state
        return state

    def close(self) -> None:
        """End every worker, and the database server if one was started."""
        for state in self._states.values():
            state.run.close()
        self._states.clear()
        if self._postgres is not None:
            self._postgres.close()
            self._postgres = None

    # -- hooks -----------------------------------------------------------------------------------

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(
        self, session: pytest.Session, items: list[pytest.Item]
    ) -> None:
        """Add the items of named targets, before anybody selects among the items."""
        if not self.settings.targets:
            return
        from pytest_lineage.collector import NamedTargets

        root = NamedTargets.from_parent(session, name="lineage", nodeid="lineage")
        root.lineage = self
        failed = session.testsfailed
        found = list(session.genitems(root))
        if failed == session.testsfailed:
            _must_match(self.picked, [item.nodeid for item in found])
        items.extend(found)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note which laws this run is going to judge."""
        from pytest_lineage.collector import LawItem

        for item in session.items:
            if isinstance(item, LawItem):
                item.state.selected.add((item.law.id, item.face))

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Say in the report which target could not be opened."""
        from pytest_lineage.collector import TargetNode

        report = yield
        if isinstance(collector, TargetNode) and report.failed:
            shown = {"key": collector.nodeid, "name": collector.label, "error": report.longreprtext}
            report.lineage_error = json.dumps(shown)  # type: ignore[attr-defined]
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Put the verdict into the report, where every writer, here or across xdist, finds it."""
        from pytest_lineage.collector import LawItem

        report = yield
        if isinstance(item, LawItem) and report.when == "call":
            item.describe(report)
        return report


class State:
    """One target of this process: its worker, what it is, and what was judged."""

    def __init__(self, lineage: Lineage, run: TargetRun, number: int, label: str) -> None:
        self.lineage, self.run, self.number, self.label = lineage, run, number, label
        self.laws: dict[str, Law] = {}
        self.faces: tuple[str, ...] = ()
        self.about: dict[str, Any] = {}
        self.told = False
        """Whether a report already carried `about` to whoever gathers."""
        self.selected: set[tuple[str, str]] = set()
        self._rows: dict[tuple[str, str], Row] = {}
        self._unused: set[tuple[str, str]] = set()
        self._seconds = 0.0
        self._dead = ""

    def start(self, settings: Settings, kind: str) -> None:
        """Open the target and choose laws and faces. Raises `pytest.Collector.CollectError`."""
        from pytest_lineage.run.engine import SuiteFault, Unusable

        try:
            chosen = _chosen(settings.laws, kind)
            about = self.run.start()
        except (Unusable, pytest.UsageError) as error:
            self.run.close()
            raise pytest.Collector.CollectError(str(error)) from None
        except SuiteFault as error:
            self.run.close()
            raise pytest.Collector.CollectError(f"fault of pytest-lineage itself: {error}") from None
        except BaseException:  # Ctrl-C, or a plugin that limits time
            self.run.close()
            raise
        self.faces = tuple(f for f in about["faces"] if not settings.face or f in settings.face)
        if not self.faces:
            why = "; ".join(f"{face}: {about['absent'].get(face)}" for face in settings.face)
            self.run.close()
            raise pytest.Collector.CollectError(f"{self.label}: nothing to judge ({why})")
        self.laws = {law.id: law for law in chosen}
        self.about = {**about, "name": self.label, "faces": list(self.faces)}

    @property
    def planned(self) -> int:
        """How many verdicts make the target's run whole."""
        return len(self.laws) * len(self.faces)

    def judge(self, law: str, face: str) -> tuple[Row, str]:
        """The verdict on one law and face, and the selected law that explains a breach (or nothing)."""
        key = (law, face)
        if key in self._unused:
            self._unused.discard(key)
        else:
            self._rows[key] = self._ask(law, face)
        row = self._rows[key]
        return row, self._cause(row) if row.verdict in ("broken", "hangs") else ""

    def _cause(self, row: Row) -> str:
        """Laws run in any order and in several processes: judge the named causes that were not yet."""
        from lineage_conformance import law as laws
        from pytest_lineage.run.rows import fold

        for cause in laws.causes(self.laws[row.law]):
            key = (cause, row.face)
            if key in self.selected and key not in self._rows:
                self._rows[key] = self._ask(*key)
                self._unused.add(key)
        order = {id: number for number, id in enumerate(self.laws)}
        rows = [dataclasses.replace(r) for r in self._rows.values()]
        rows.sort(key=lambda r: (order[r.law], r.face != row.face))
        fold(rows, {id: tuple(laws.causes(law)) for id, law in self.laws.items()})
        cause = next(r.caused_by for r in rows if (r.law, r.face) == (row.law, row.face)) or ""
        return cause if any(id == cause for id, _ in self.selected) else ""

    def _ask(self, law: str, face: str) -> Row:
        from pytest_lineage.run import engine

        item, limit = self.laws[law], self.lineage.settings.time_limit
        if self._dead:
            return self._unjudged(law, face, f"not run: {self._dead}")
        if limit is not None and self._seconds > limit:
            return self._unjudged(law, face, f"not run: the time limit of {limit:g} s was reached")
        begin = _clock()
        try:
            row = self.run.judge(item, face)
        except engine.Unusable as error:
            self._dead = str(error)
            return self._unjudged(law, face, self._dead)
        except engine.SuiteFault as error:
            return self._unjudged(law, face, f"fault of pytest-lineage itself: {error}")
        except BaseException:  # Ctrl-C or a time limit: what the worker still says is for nobody
            self.run.close()
            raise
        finally:
            self._seconds += _clock() - begin
        row.target = self.label
        return row

    def _unjudged(self, law: str, face: str, reason: str) -> Row:
        from pytest_lineage.run.rows import Row

        item = self.laws[law]
        return Row(
            item.id, face, self.label, item.level.value, "inconclusive", item.group, item.sentence,
            item.source, item.meaning, item.reports, reason,
        )  # fmt: skip


def _clock() -> float:
    from time import monotonic

    return monotonic()


def _cov_data() -> str:
    from pathlib import Path

    from pytest_lineage import cov

    return str(Path.cwd() / cov.DATA)


def _chosen(patterns: Sequence[str], kind: str) -> list[Law]:
    """The laws to judge. Raises `pytest.UsageError` for a pattern that matches none."""
    from lineage_conformance import law as laws

    try:
        found = laws.select(patterns, kind)
    except KeyError as error:
        raise pytest.UsageError(f"--lineage-laws: {error.args[0]}") from None
    if not found:
        raise pytest.UsageError(f"there is no law of kind {kind!r}")
    return found


def _must_exist(named: Named) -> None:
    """Raise `pytest.UsageError` for a target that is missing, as far as that shows without importing it."""
    from importlib import metadata
    from pathlib import Path

    from pytest_lineage import builtin, doors

    path = named.text.rpartition(":")[0] or named.text
    if path.endswith((".py", ".json")):
        if not Path(path).expanduser().exists():
            raise pytest.UsageError(f"--lineage-target {named.label}: there is no file {path}")
    elif ":" not in named.text and named.text not in builtin.NAMES:
        if all(entry.name != named.text for entry in metadata.entry_points(group=doors.GROUP)):
            raise pytest.UsageError(f"--lineage-target: {doors.unknown(named.text)}")


def _must_match(picked: Sequence[str], found: Sequence[str]) -> None:
    for wanted in picked:
        if not any(matches(node, wanted) for node in found):
            raise pytest.UsageError(
                f"not found: {wanted} (the target has no such law or face; see --collect-only)"
            )


def matches(nodeid: str, wanted: str) -> bool:
    """Whether a node is `wanted`, or lies under it, or is one face of it."""
    return nodeid == wanted or nodeid.startswith((wanted + "::", wanted + "["))
