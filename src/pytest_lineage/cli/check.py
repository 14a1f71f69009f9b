"""Run the laws on one or more targets and give a verdict for each law on each face.

A target is a built-in name (see `pytest-lineage targets`), an import path (pkg.mod:factory or
./file.py:factory), a langgraph.json, or an entry point's name.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lineage_conformance.kinds import KINDS, USUAL
from pytest_lineage.cli import signals
from pytest_lineage.cli.common import UsageError, add_format, add_verbose, choose, note, writable
from pytest_lineage.run import engine
from pytest_lineage.run.rows import USAGE, TargetReport, exit_code

if TYPE_CHECKING:
    from lineage_conformance.law import Law
    from pytest_lineage.known.ratchet import Ratchet


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("targets", nargs="+", metavar="TARGET", help="what to check")
    parser.add_argument("--kind", choices=KINDS, default=USUAL, help="kind of target")
    parser.add_argument(
        "--over", default="", metavar="TARGET",
        help="with a kind that is built on a saver: the saver under `reference`",
    )  # fmt: skip
    parser.add_argument(
        "--laws", action="append", default=[], metavar="GLOB,...",
        help="only these laws: ids, groups or globs",
    )  # fmt: skip
    parser.add_argument(
        "--face", action="append", default=[], choices=["sync", "async", "sync->async", "async->sync"],
        help="only this face (repeatable)",
    )  # fmt: skip
    parser.add_argument(
        "--profile", choices=["quick", "default", "deep"], default="default",
        help="quick replays the corpus; default adds generated programs; deep many of them",
    )  # fmt: skip
    add_format(parser, "pretty", "json", "markdown")
    parser.add_argument("--report", metavar="FILE.jsonl", help="write one line per verdict")
    parser.add_argument("--junit", metavar="FILE.xml", help="write a JUnit report")
    parser.add_argument(
        "--exitfirst", "-x", action="store_true", help="stop at the first broken MUST"
    )
    parser.add_argument("--time-limit", type=float, metavar="S", help="seconds for each target")
    parser.add_argument("--op-limit", type=float, default=5.0, metavar="S",
                        help="seconds for one operation before it counts as hanging (5)")  # fmt: skip
    parser.add_argument("--start-limit", type=float, metavar="S",
                        help="seconds for importing and opening a target before it counts as hanging (20)")  # fmt: skip
    parser.add_argument("--allow-nonempty", action="store_true",
                        help="accept a target that holds data; only threads of ours are touched")  # fmt: skip
    parser.add_argument(
        "--fail-on-should", action="store_true", help="a broken SHOULD fails the run too"
    )
    parser.add_argument("--known", metavar="FILE",
                        help="known failures (default: lineage-known.toml here, if there is one)")  # fmt: skip
    parser.add_argument("--fail-on", choices=["new", "any", "never"], default="new",
                        help="which failures make the exit code 1: those that are not known (new), known "
                        "ones too (any), or none (never)")  # fmt: skip
    parser.add_argument("--cov", action="store_true",
                        help="measure which lines of the target's module the laws reached")  # fmt: skip
    add_verbose(parser)


def run(options: argparse.Namespace) -> int:
    """Check every target; print the report; return the exit code."""
    with signals.interrupt_once() as interrupts:
        return _run(options, interrupts)


def _run(options: argparse.Namespace, interrupts: signals.Interrupts) -> int:
    chosen = choose(options.laws, options.kind)
    if not chosen:
        raise UsageError(f"there is no law of kind {options.kind!r}")
    for name in ("--time-limit", "--op-limit", "--start-limit"):
        value = getattr(options, name.strip("-").replace("-", "_"))
        if value is not None and value <= 0:
            raise UsageError(f"{name} must be more than 0 seconds, not {value:g}")
    jsonl = writable(options.report, "--report")
    junit = writable(options.junit, "--junit")
    settings = engine.Options(
        profile=options.profile,
        kind=options.kind,
        over=options.over,
        laws=tuple(options.laws),
        faces=tuple(options.face),
        exitfirst=options.exitfirst,
        time_limit=options.time_limit,
        op_limit=options.op_limit,
        start_limit=options.start_limit,
        allow_nonempty=options.allow_nonempty,
        cov=_cov_folder(options.cov),
        save=True,
        path=engine.default_path(),
    )
    ratchet = _known(options)
    reports: list[TargetReport] = []
    stopped: KeyboardInterrupt | None = None
    try:
        _check_all(options, settings, ratchet, reports)
    except engine.Interrupted as interrupted:
        stopped = interrupted
        reports.append(interrupted.report)
    except KeyboardInterrupt as interrupt:  # between two targets
        stopped = interrupt
    known = None
    if ratchet is not None:
        known = told(ratchet, reports, chosen, options, whole=stopped is None)
    problems = known["problems"] if known else ()
    code = exit_code(reports, options.fail_on_should, options.fail_on, problems)
    with interrupts.held():
        written = _write(options, reports, code, jsonl, junit, known)
    if stopped is not None:
        left = options.targets[len(reports) :]
        note(f"not checked: {', '.join(left)}") if left else None
        raise stopped
    return code if written else USAGE


def _known(options: argparse.Namespace) -> Ratchet | None:
    from pytest_lineage.known import file as known
    from pytest_lineage.known import ratchet

    if options.known is None and not Path(known.NAME).is_file():
        return None
    return ratchet.Ratchet(known.read(options.known or known.NAME))


def told(
    ratchet: Ratchet,
    reports: list[TargetReport],
    chosen: list[Law],
    options: argparse.Namespace,
    whole: bool = True,
) -> dict[str, Any]:
    """What the known-failures file came to, for the report. `whole`: the run came to its end."""
    narrowed = bool(options.laws or options.face or options.exitfirst or not whole)
    names = [report.name for report in reports]
    return {
        "file": str(ratchet.file.path),
        "fail_on": options.fail_on,
        "problems": list(ratchet.finish(names, options.kind, narrowed)),
        "unreviewed": ratchet.unreviewed(chosen),
    }


def _check_all(
    options: argparse.Namespace,
    settings: engine.Options,
    ratchet: Ratchet | None,
    reports: list[TargetReport],
) -> None:
    from pytest_lineage.report.progress import Progress

    postgres = engine.Postgres()
    progress = Progress(sys.stderr)
    try:
        for text in options.targets:
            reports.append(
                engine.check(
                    text,
                    settings,
                    postgres,
                    progress.started,
                    progress.done,
                    ratchet,
                    progress.begins,
                )
            )
            _tell_apart(reports)
            progress.clear()
    finally:
        progress.clear()
        postgres.close()


def _tell_apart(reports: list[TargetReport]) -> None:
    """Give the last target a name of its own, where another is declared by the same: rows go by it."""
    last = reports[-1]
    names = {report.name for report in reports[:-1]}
    name, number = last.name, 1
    while name in names:
        number += 1
        name = f"{last.name} ({number})"
    last.name = last.about["name"] = name
    for row in last.rows:
        row.target = name


def _write(
    options: argparse.Namespace,
    reports: list[TargetReport],
    code: int,
    jsonl: Any,
    junit: Any,
    known: dict[str, Any] | None,
) -> bool:
    """Whether every file could be written. One that could not takes nothing else along."""
    from pytest_lineage.report import jsonl as lines
    from pytest_lineage.report import junit as xml
    from pytest_lineage.report import markdown, model, terminal

    document = model.document(reports, code, options.profile, options.kind, known)
    whole = True
    for file, write in ((jsonl, lines.write), (junit, xml.write)):
        try:
            if file is not None:
                write(file, document)
        except OSError as error:
            whole = False
            note(f"error: {file}: cannot be written: {error.strerror or error}")
    if options.format == "json":
        print(model.dumps(document))
    elif options.format == "markdown":
        print(markdown.render(document))
    else:
        print(terminal.render(document, verbose=options.verbose, programs=options.all_programs))
    if options.cov:
        from pytest_lineage import cov

        files = [file for report in reports for file in report.about.get("files", [])]
        note(cov.report(str(cov.DATA), files))
    from pytest_lineage.report import annotations

    for line in annotations.lines(document) if annotations.wanted() else ():
        note(line)
    for unsaved in {report.unsaved for report in reports if report.unsaved}:
        note(unsaved)
    for problem in (known or {}).get("problems", ()) if options.format != "pretty" else ():
        note(f"error: {problem}")
    for target in document["targets"]:
        message = target.get("error") or target.get("fault")
        if message and options.format != "pretty":
            note(f"error: {message}")
    return whole


def _cov_folder(wanted: bool) -> str:
    if not wanted:
        return ""
    from pytest_lineage import cov

    return cov.folder()
