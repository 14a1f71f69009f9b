"""Gathering: verdicts of this process, or of every process of a pytest-xdist run, become one report.

Reads nothing but pytest's own reports, so it sees the same with and without xdist.
"""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pytest_lineage.plugin.options import Settings
    from pytest_lineage.run.rows import TargetReport

NAME = "lineage-gather"


def register(config: pytest.Config, settings: Settings) -> None:
    """Make sure that somebody gathers in this process."""
    if not config.pluginmanager.hasplugin(NAME):
        config.pluginmanager.register(Gather(config, settings), NAME)


@dataclasses.dataclass
class Seen:
    """What was reported about one target."""

    name: str
    about: dict[str, Any] = dataclasses.field(default_factory=dict)
    planned: int = 0
    rows: dict[tuple[str, str], dict[str, Any]] = dataclasses.field(default_factory=dict)
    error: str = ""

    @property
    def whole(self) -> bool:
        """Whether every law was judged on every face: nothing was deselected and nobody stopped the run."""
        return len(self.rows) == self.planned

    @property
    def order(self) -> list[int]:
        """Where the target stands among the others."""
        return min((row["order"] for row in self.rows.values()), default=[1 << 30])


class Gather:
    """Collects verdicts, adds them up at the end, shows and writes them."""

    def __init__(self, config: pytest.Config, settings: Settings) -> None:
        self.config, self.settings = config, settings
        self.seen: dict[str, Seen] = {}
        self._reports: list[TargetReport] | None = None
        self._incomplete: list[str] = []
        self._known: dict[str, Any] = {}
        self._trouble = ""

    # -- hooks -----------------------------------------------------------------------------------

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take a verdict."""
        text = getattr(report, "lineage_row", None)
        if text is None or report.when != "call":
            return
        data = json.loads(text)
        seen = self.seen.setdefault(data["key"], Seen(data["name"]))
        seen.planned = data["planned"]
        seen.about = data.get("about") or seen.about
        seen.rows[data["row"]["law"], data["row"]["face"]] = data

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Take note of a target that could not be opened."""
        text = getattr(report, "lineage_error", None)
        if text is not None:
            data = json.loads(text)
            self.seen.setdefault(data["key"], Seen(data["name"])).error = data["error"]

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Add up; a run that checked too little does not end well."""
        if not self.seen:
            return
        from pytest_lineage.run.rows import incomplete

        self._reports = self.reports()
        for seen, report in zip(self._ordered(), self._reports, strict=True):
            why = "" if report.error else incomplete(report)
            if why and seen.whole:
                self._incomplete.append(f"{report.name}: INCOMPLETE: {why}")
        self._keep()
        bad = self._incomplete or self._known.get("problems")
        if bad and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
        if self.settings.report is not None:
            self._write(session)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Say for each target how many verdicts of which kind, and which laws are broken by themselves."""
        if self._reports is None:
            return
        from pytest_lineage.plugin import summary

        terminalreporter.write_sep("=", "lineage")
        for text, markup in summary.lines(self._reports, self._document()):
            terminalreporter.write_line(text, **markup)
        problems = [f"error: {text}" for text in self._known.get("problems", ())]
        for text in [*self._incomplete, *problems, self._trouble]:
            if text:
                terminalreporter.write_line(text, red=True, bold=True)
        from pytest_lineage.report import annotations

        for text in annotations.lines(self._document()) if annotations.wanted() else ():
            terminalreporter.write_line(text)
        if self.settings.report is not None and not self._trouble:
            terminalreporter.write_line(f"report: {self.settings.report}")
        if self.settings.cov:
            from pytest_lineage import cov

            files = [file for report in self._reports for file in report.about.get("files", [])]
            terminalreporter.write_line(cov.report(str(cov.DATA), files))

    def _keep(self) -> None:
        """Save the programs of what is broken; see what is wrong with the known-failures file."""
        from pytest_lineage.known import file as known
        from pytest_lineage.known import ratchet
        from pytest_lineage.known import saved as failures
        from pytest_lineage.plugin import session
        from pytest_lineage.plugin.state import chosen

        base = self.config.rootpath
        assert self._reports is not None
        try:
            for report in self._reports:
                failures.write(failures.collect(report.rows, report.about, base), base)
        except OSError as error:
            self._trouble = f"programs of broken laws could not be saved: {error.strerror or error}"
        file = session.known_file(self.config, self.settings)
        if file is None:
            return
        try:
            made = ratchet.Ratchet(known.read(file))
        except known.KnownError as error:
            self._known = {
                "file": file.name,
                "fail_on": self.settings.fail_on,
                "problems": [str(error)],
            }
            return
        for report in self._reports:
            if not report.error:
                made.of(report.name, report.about.get("text", ""), report.about)
        self._known = {
            "file": file.name,
            "fail_on": self.settings.fail_on,
            "problems": list(
                made.finish([r.name for r in self._reports], self.settings.kind, self._narrowed())
            ),
            "unreviewed": made.unreviewed(chosen(self.settings.laws, self.settings.kind)),
        }

    def _narrowed(self) -> bool:
        """Whether targets or laws may be missing because this run was not asked for all."""
        from pytest_lineage.plugin import options

        whole = all(seen.whole or seen.error for seen in self.seen.values())
        return (
            not whole
            or bool(self.settings.laws or self.settings.face)
            or options.narrowed(self.config)
        )

    # -- adding up -------------------------------------------------------------------------------

    def _ordered(self) -> list[Seen]:
        return sorted(self.seen.values(), key=lambda seen: seen.order)

    def reports(self) -> list[TargetReport]:
        """One report for each target, rows in the order of the laws, consequences folded."""
        from pytest_lineage.run.causes import fold
        from pytest_lineage.run.rows import Row, TargetReport

        keys = {id(seen): key for key, seen in self.seen.items()}
        names = Counter(seen.name for seen in self.seen.values())
        made = []
        for seen in self._ordered():
            name = seen.name if names[seen.name] == 1 else keys[id(seen)]
            report = TargetReport(name, {**seen.about, "name": name}, error=seen.error)
            for data in sorted(seen.rows.values(), key=lambda data: data["order"]):
                row = Row(**{**data["row"], "target": name})
                row.caused_by = None
                row.reports = tuple(row.reports)
                report.rows.append(row)
                report.seconds += row.seconds
                if row.reason.startswith("fault of pytest-lineage"):
                    report.fault = row.reason
            fold(report.rows)
            report.about["faces"] = list(dict.fromkeys(row.face for row in report.rows))
            made.append(report)
        return made

    def _document(self) -> dict[str, Any]:
        from pytest_lineage.report import model
        from pytest_lineage.run.rows import exit_code

        assert self._reports is not None
        settings, problems = self.settings, self._known.get("problems", ())
        code = exit_code(self._reports, settings.fail_on_should, settings.fail_on, problems)
        return model.document(self._reports, code, settings.profile, settings.kind, self._known)

    def _write(self, session: pytest.Session) -> None:
        from pytest_lineage.report import jsonl

        assert self.settings.report is not None
        try:
            self.settings.report.parent.mkdir(parents=True, exist_ok=True)
            jsonl.write(self.settings.report, self._document())
        except OSError as error:
            self._trouble = (
                f"--lineage-report {self.settings.report}: cannot be written: {error.strerror}"
            )
            if session.exitstatus == pytest.ExitCode.OK:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED
