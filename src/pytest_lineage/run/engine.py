"""The engine: judges the chosen laws on each face of a target, and keeps what was found, whatever happens."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lineage_conformance import law as laws
from lineage_conformance.law import Law
from pytest_lineage.known import saved as failures
from pytest_lineage.run import plan
from pytest_lineage.run.causes import fold
from pytest_lineage.run.options import Options, SuiteFault, Unusable, default_path
from pytest_lineage.run.rows import Row, TargetReport
from pytest_lineage.run.target import Postgres, TargetRun, row_of
from pytest_lineage.targets import address

if TYPE_CHECKING:
    from pytest_lineage.known.ratchet import Ratchet

__all__ = [
    "Interrupted", "Options", "Postgres", "SuiteFault", "TargetRun", "Unusable", "check", "default_path",
]  # fmt: skip


class Interrupted(KeyboardInterrupt):
    """A run was stopped by the user, or by a signal; `report` is what was found until then."""

    def __init__(self, report: TargetReport, error: KeyboardInterrupt) -> None:
        super().__init__(*error.args)
        self.report = report


def check(
    text: str,
    options: Options,
    postgres: Postgres,
    started: Callable[[dict[str, Any], int], None] = lambda about, total: None,
    done: Callable[[Row], None] = lambda row: None,
    known: Ratchet | None = None,
    begins: Callable[[str, str], None] = lambda law, face: None,
) -> TargetReport:
    """Run the selected laws on one target. Whatever happens, what was found so far is returned, or in `Interrupted`.

    Broken laws leave their programs on disk (`Options.save`); what is known of them comes from `known`.
    """
    report = TargetReport(text)
    begin = time.monotonic()
    run = TargetRun(text, options, postgres)
    chosen = laws.select(options.laws, options.kind)
    interrupted: KeyboardInterrupt | None = None
    try:
        report.about = run.start()
        report.name = report.about["name"]
        faces = [f for f in report.about["faces"] if not options.faces or f in options.faces]
        report.about["faces_run"] = faces
        report.about.update(text=text, over_text=options.over)
        judge = run.judge
        if known is not None:
            judge = known.of(report.name, text, report.about, run.judge, run.replay).judge
        report.about["costs"] = {item.id: plan.cost(item, options.profile) for item in chosen}
        started(report.about, len(chosen) * len(faces))
        _judge_all(run, judge, report, chosen, faces, begin, done, begins)
    except KeyboardInterrupt as error:
        interrupted = error
        if not report.about:
            report.error = f"{text}: interrupted while it was opened"
        _leave_out(report, chosen)
    except Unusable as error:
        report.error = str(error)
    except SuiteFault as error:
        report.fault = str(error)
    finally:
        try:
            run.close(at_once=interrupted is not None)
        except KeyboardInterrupt as error:
            interrupted = error
            run.close(at_once=True)
    report.about.setdefault("address", address.of(text, options))
    plan.sort(report.rows, chosen, report.about.get("faces_run", []))
    fold(report.rows)
    report.seconds = time.monotonic() - begin
    if options.save:
        try:
            failures.write(failures.collect(report.rows, report.about, Path.cwd()), Path.cwd())
        except OSError as error:
            report.unsaved = (
                f"programs of broken laws could not be saved: {error.strerror or error}"
            )
    if interrupted is not None:
        raise Interrupted(report, interrupted)
    return report


def _leave_out(report: TargetReport, chosen: Sequence[Law]) -> None:
    """Rows for what an interrupted run did not come to."""
    there = {(row.law, row.face) for row in report.rows}
    for item in chosen:
        for face in report.about.get("faces_run", ()):
            if (item.id, face) not in there:
                row = row_of(item, face, report.name)
                row.reason = "not run: interrupted"
                report.rows.append(row)


def _judge_all(
    run: TargetRun,
    judge: Callable[[Law, str], Row],
    report: TargetReport,
    chosen: Sequence[Law],
    faces: Sequence[str],
    begin: float,
    done: Callable[[Row], None],
    begins: Callable[[str, str], None],
) -> None:
    """Judge every law on every face. With a time limit: the most telling first, and generated programs at the end."""
    options, stopped = run.options, ""

    def late() -> bool:
        return options.time_limit is not None and time.monotonic() - begin > options.time_limit

    hurry = options.time_limit is not None
    twice = hurry and options.profile != "quick" and judge == run.judge
    run.profile = "quick" if twice else ""
    for item, face in plan.order(chosen, faces, hurry):
        if late() and not stopped:
            stopped = f"not run: the time limit of {options.time_limit:g} s was reached"
        if stopped:
            row = row_of(item, face, report.name)
            row.verdict, row.reason = "inconclusive", stopped
        else:
            begins(item.id, face)
            row = judge(item, face)
            if options.exitfirst and row.level == "MUST" and row.verdict in ("broken", "hangs"):
                stopped = f"not run: stopped at {row.law}[{row.face}] (--exitfirst)"
        report.rows.append(row)
        done(row)
    run.profile = ""
    if twice and not stopped:
        _go_on(run, report, {item.id: item for item in chosen if item.focus}, late, begins)


def _go_on(
    run: TargetRun,
    report: TargetReport,
    more: Mapping[str, Law],
    late: Callable[[], bool],
    begins: Callable[[str, str], None],
) -> None:
    """Spend what is left of the time on generated programs, for laws that hold so far."""
    left = 0
    for number, row in enumerate(report.rows):
        if row.verdict != "holds" or row.law not in more:
            continue
        if late():
            left += 1
            continue
        begins(row.law, row.face)
        report.rows[number] = run.judge(more[row.law], row.face)
    if left:
        report.about["cut"] = (
            f"the time limit of {run.options.time_limit:g} s left no time for generated programs "
            f"of {left} verdicts"
        )
