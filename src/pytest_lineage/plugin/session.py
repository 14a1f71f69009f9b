"""What the nodes of one pytest process share: settings, one worker for each target, verdicts so far.

The object is a pytest plugin of its own, registered when the first target turns up, so that a run without
targets never meets its hooks.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_lineage.plugin import options

if TYPE_CHECKING:
    from pytest_lineage.known.ratchet import Ratchet
    from pytest_lineage.plugin.nodes import TargetNode
    from pytest_lineage.plugin.options import Named, Settings
    from pytest_lineage.plugin.state import State

NAME = "lineage-session"


def configure(
    config: pytest.Config, settings: Settings, picked: Sequence[str], spread: bool
) -> None:
    """Prepare a run that names targets, or that only gathers what other processes report.

    Raises `pytest.UsageError` for a target or a law that nobody knows.
    """
    if spread:
        from pytest_lineage.plugin import gather

        gather.register(config, settings)
    names = [named for named in settings.targets if named.joins]
    if picked:  # naming a node also names its target, and no other
        wanted = dict.fromkeys(node.split("::")[1] for node in picked)
        known = {named.label: named for named in settings.targets}
        names = [known.get(label, options.Named(label, label)) for label in wanted]
    for named in names:
        _must_exist(named)
    if settings.over:
        _must_exist(options.Named(settings.over, settings.over), "--lineage-over")
    if names or "laws" in settings.asked:
        from pytest_lineage.plugin.state import chosen

        chosen(settings.laws, settings.kind)
    _must_be_laws(picked)
    if settings.cov and not hasattr(config, "workerinput"):
        from pytest_lineage import cov
        from pytest_lineage.targets import TargetError

        try:
            cov.folder()
        except TargetError as error:
            raise pytest.UsageError(str(error)) from None
    if names:
        of(config, settings._replace(targets=tuple(names)), picked)


def of(
    config: pytest.Config, settings: Settings | None = None, picked: Sequence[str] = ()
) -> Lineage:
    """The shared state of a run, made when it is first asked for."""
    found: Lineage | None = config.pluginmanager.get_plugin(NAME)
    if found is None:
        if settings is None:  # no target was named, or `configure` had made it
            settings = options.read(config)._replace(targets=())
        found = Lineage(config, settings, picked)
        config.pluginmanager.register(found, NAME)
        config.add_cleanup(found.close)
        if not hasattr(config, "workerinput"):
            from pytest_lineage.plugin import gather

            gather.register(config, found.settings)
    return found


class Lineage:
    """Settings, workers and verdicts of one pytest process."""

    def __init__(self, config: pytest.Config, settings: Settings, picked: Sequence[str]) -> None:
        self.config, self.settings, self.picked = config, settings, tuple(picked)
        self._postgres: Any = None
        self._ratchet: Ratchet | None = None
        self._states: dict[str, State] = {}

    # -- targets ---------------------------------------------------------------------------------

    def open(self, node: TargetNode) -> State:
        """Start the worker of a target; its state. Raises `pytest.Collector.CollectError`."""
        from pytest_lineage.plugin.state import State
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
                over=self.settings.over if node.named else "",
                op_limit=self.settings.op_limit,
                start_limit=self.settings.start_limit,
                allow_nonempty=self.settings.allow_nonempty,
                cov=_cov_data() if self.settings.cov else "",
                path=(*node.import_path, *(p for p in sys.path if p)),
            ),
            self._postgres,
        )
        state = State(self, run, len(self._states), node)
        state.start(self.settings)
        self._states[node.nodeid] = state
        return state

    def ratchet(self) -> Ratchet | None:
        """What is known of the targets' failures. Raises `pytest.Collector.CollectError` for a file that is wrong."""
        from pytest_lineage.known import file as known
        from pytest_lineage.known import ratchet

        file = known_file(self.config, self.settings)
        if self._ratchet is None and file is not None:
            try:
                self._ratchet = ratchet.Ratchet(known.read(file))
            except known.KnownError as error:
                raise pytest.Collector.CollectError(str(error)) from None
        return self._ratchet

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
        from pytest_lineage.plugin.nodes import NamedTargets

        root = NamedTargets.from_parent(session, name="lineage", nodeid="lineage")
        root.lineage = self
        items.extend(session.genitems(root))

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Note which laws this run is going to judge."""
        from pytest_lineage.plugin.nodes import LawItem

        for item in session.items:
            if isinstance(item, LawItem):
                item.state.selected.add((item.law.id, item.face))

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Say in the report which target could not be opened."""
        from pytest_lineage.plugin.nodes import TargetNode

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
        from pytest_lineage.plugin.nodes import LawItem

        report = yield
        if isinstance(item, LawItem) and report.when == "call":
            item.describe(report)
        return report


def known_file(config: pytest.Config, settings: Settings) -> Path | None:
    """The known-failures file of a run: the one that was named, or the one that lies in rootdir."""
    from pytest_lineage.known.file import NAME

    usual = config.rootpath / NAME
    return settings.known or (usual if usual.is_file() else None)


def _cov_data() -> str:
    from pytest_lineage import cov

    return str(Path.cwd() / cov.DATA)


def _must_exist(named: Named, flag: str = "--lineage-target") -> None:
    """Raise `pytest.UsageError` for a target that is missing, as far as that shows without importing it."""
    from importlib import metadata

    from pytest_lineage.targets import builtin, doors

    path = named.text.rpartition(":")[0] or named.text
    if path.endswith((".py", ".json")):
        if not Path(path).expanduser().exists():
            raise pytest.UsageError(f"{flag} {named.label}: there is no file {path}")
        return
    installed = [entry.name for entry in metadata.entry_points(group=doors.GROUP)]
    if ":" not in named.text and named.text not in (*builtin.NAMES, *installed):
        raise pytest.UsageError(f"{flag}: {doors.unknown(named.text)}")


def _must_be_laws(picked: Sequence[str]) -> None:
    """Raise `pytest.UsageError` for a picked node whose law or face exists nowhere."""
    from lineage_conformance import law as laws

    for node in picked:
        law, _, face = "".join(node.split("::")[2:3]).partition("[")
        try:
            if law:
                laws.get(law)
        except KeyError as error:
            raise pytest.UsageError(f"{node}: {error.args[0]}") from None
        if face and face.removesuffix("]") not in options.FACES:
            raise pytest.UsageError(f"{node}: faces are {', '.join(options.FACES)}")


def matches(nodeid: str, wanted: str) -> bool:
    """Whether a node is `wanted`, or lies under it, or is one face of it."""
    return nodeid == wanted or nodeid.startswith((wanted + "::", wanted + "["))
