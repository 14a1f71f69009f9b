"""Run a saved program again, on the target that it was found on or on any other.

Every broken law of `check` and of a pytest run leaves its smallest program in .lineage/failures/.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pytest_lineage.cli.common import UsageError, add_format, note
from pytest_lineage.targets import address

if TYPE_CHECKING:
    from lineage_conformance.law import Law
    from pytest_lineage.known.saved import Saved
    from pytest_lineage.run.engine import Options, TargetRun
    from pytest_lineage.run.rows import Row

EPILOG = """\
exit codes: 0 the law holds on this program (fixed); 1 still broken; 2 wrong usage, or it cannot run here;
3 a fault of this suite.
"""
FACES = ("sync", "async", "sync->async", "async->sync")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("program", metavar="ID|FILE", help="a saved program, by its id or its file")
    where_to_run(parser)
    add_format(parser, "pretty", "json", "markdown")


def where_to_run(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that say on what a program is run."""
    parser.add_argument("--target", metavar="TARGET", help="run it on this target instead")
    parser.add_argument(
        "--over", metavar="TARGET", help="with a kind built on a saver: the saver under it"
    )
    parser.add_argument("--stack", metavar="STACK",
                        help="run it in this stack: pinned packages in an environment of their own")  # fmt: skip
    parser.add_argument("--with", dest="more", action="append", default=[], metavar="REQUIREMENT",
                        help="what else the target needs in that stack (repeatable)")  # fmt: skip
    parser.add_argument("--face", action="append", default=[], choices=FACES,
                        help="run it on this face (repeatable; default: where it was seen)")  # fmt: skip
    parser.add_argument("--op-limit", type=float, default=5.0, metavar="S",
                        help="seconds for one operation before it counts as hanging (5)")  # fmt: skip
    parser.add_argument("--allow-nonempty", action="store_true",
                        help="accept a target that holds data; only threads of ours are touched")  # fmt: skip


def run(options: argparse.Namespace) -> int:
    """Replay the program on each face; say what came of it."""
    from pytest_lineage.known import saved as failures
    from pytest_lineage.run.rows import TargetReport

    saved = failures.load(options.program)
    law = the_law(saved)
    target = opened(saved, options)
    try:
        about = start(target)
        about["address"] = address.of(target.text, target.options, _path(saved, options))
        rows = [once(target, law, face, saved.program) for face in faces(saved, options, about)]
    except Fault as error:
        note(f"a fault of this suite, please report it: {error}")
        return 3
    finally:
        target.close()
    for row in rows:
        if row.verdict in failures.BAD:
            row.program_id = saved.id if row.target == saved.name else ""
    code = exit_code(rows)
    report = TargetReport(about["name"], about, rows, seconds=sum(row.seconds for row in rows))
    _show(options.format, saved, report, code)
    return code


def _path(saved: Saved, options: argparse.Namespace) -> tuple[str, ...]:
    """Folders that the target's import needs here; none for a target that was typed."""
    return () if options.target else saved.path


class Fault(Exception):
    """The suite itself failed."""


def the_law(saved: Saved) -> Law:
    """The law of a program. Raises `UsageError` if this version has none of that id, or cannot read the program."""
    from lineage_conformance import law as laws

    try:
        law = laws.get(saved.law)
    except KeyError as error:
        raise UsageError(str(error.args[0])) from None
    try:
        law.decode(saved.program)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise UsageError(
            f"{saved.id}: the program is none that {law.id} can read: {error}"
        ) from None
    return law


def opened(saved: Saved, options: argparse.Namespace) -> TargetRun:
    """The target to run on, not started."""
    from pytest_lineage.run import engine

    if options.op_limit <= 0:
        raise UsageError(f"--op-limit must be more than 0 seconds, not {options.op_limit:g}")
    how: dict[str, Any] = {
        "kind": saved.kind,
        "over": saved.over if options.over is None else options.over,
        "op_limit": options.op_limit,
        "allow_nonempty": options.allow_nonempty,
    }
    settings = (
        _there(options, how) if options.stack else engine.Options(path=engine.default_path(), **how)
    )
    if not options.target:
        settings = dataclasses.replace(settings, path=(*saved.path, *settings.path))
    return engine.TargetRun(options.target or saved.target, settings)


def _there(options: argparse.Namespace, how: dict[str, Any]) -> Options:
    """How to run in a stack, which is built first where it is not in the cache."""
    from lineage_conformance import stacks
    from pytest_lineage.environments import build as environments

    try:
        side = environments.of_stack(stacks.find(options.stack), options.more)
    except (stacks.StackError, environments.Unbuildable) as error:
        raise UsageError(f"--stack {options.stack}: {error}") from None
    made: Options = side.options(**how)
    return made


def start(target: TargetRun) -> dict[str, Any]:
    """Open a target. Raises `UsageError` for one that cannot be used, `Fault` for a fault of ours."""
    from pytest_lineage.run import engine

    try:
        return target.start()
    except engine.Unusable as error:
        raise UsageError(str(error)) from None
    except engine.SuiteFault as error:
        raise Fault(str(error)) from None


def once(target: TargetRun, law: Law, face: str, program: Mapping[str, Any]) -> Row:
    """Replay a program once. Raises as `start` does."""
    from pytest_lineage.run import engine

    try:
        return target.replay(law, face, program)
    except engine.Unusable as error:
        raise UsageError(str(error)) from None
    except engine.SuiteFault as error:
        raise Fault(str(error)) from None


def faces(saved: Saved, options: argparse.Namespace, about: dict[str, Any]) -> list[str]:
    """The faces to run on: those asked for, else those where it was seen, else all the target has."""
    there = about["faces"]
    for face in options.face:
        if face not in there:
            raise UsageError(
                f"{about['name']} has no {face} face: {about['absent'].get(face, 'unknown')}"
            )
    return options.face or [face for face in saved.faces if face in there] or list(there)


def exit_code(rows: list[Row]) -> int:
    """1 if any face shows a breach, 0 if none does, 2 if none could tell."""
    verdicts = {row.verdict for row in rows}
    if verdicts & {"broken", "hangs"}:
        return 1
    return 0 if verdicts & {"holds", "refused"} else 2


WORDS = {
    "broken": "still broken", "hangs": "still hangs", "holds": "holds now", "refused": "refuses cleanly",
    "not-applicable": "cannot run", "engine": "the engine's fault", "inconclusive": "no verdict",
}  # fmt: skip


def _show(form: str, saved: Saved, report: Any, code: int) -> None:
    from pytest_lineage.report import model

    document = model.document([report], code, "quick", saved.kind)
    if form == "json":
        shown = {
            "id": saved.id, "law": saved.law, "target": report.name, "exit_code": code,
            "faces": document["laws"], "versions": document["versions"],
        }  # fmt: skip
        print(json.dumps(shown, indent=2, default=repr))
    elif form == "markdown":
        print(_markdown(saved, document))
    else:
        print(_pretty(saved, document))


def _pretty(saved: Saved, document: dict[str, Any]) -> str:
    from pytest_lineage.report import roots
    from pytest_lineage.report.block import block
    from pytest_lineage.report.style import Style, safe

    style = Style.detect()
    lines: list[str] = []
    for failure in roots.failures(document):
        lines += [*block(failure, document, style), "", ""]
    name = document["targets"][0]["name"]
    lines += style.wrap(f"{saved.id}: {saved.law} on {safe(name)}", "    ")
    for row in document["laws"]:
        reason = (
            "" if row["verdict"] in ("holds", "broken") else f" ({safe(row.get('reason', ''))})"
        )
        lines += style.wrap(
            f"{row['face']}: {WORDS.get(row['verdict'], row['verdict'])}{reason}", "    ", "  "
        )
    return "\n".join(style.plain(line.rstrip()) for line in lines)


def _markdown(saved: Saved, document: dict[str, Any]) -> str:
    from pytest_lineage.report import markdown, roots
    from pytest_lineage.report.block import block
    from pytest_lineage.report.style import Style

    name = document["targets"][0]["name"]
    lines = [
        f"### {markdown.code(saved.id)}: {markdown.code(saved.law)} on {markdown.code(name)}",
        "",
    ]
    for row in document["laws"]:
        lines.append(
            f"- {markdown.escape(row['face'])}: **{WORDS.get(row['verdict'], row['verdict'])}**"
        )
    for failure in roots.failures(document):
        lines += ["", *markdown.fenced("\n".join(block(failure, document, Style(100))))]
    return "\n".join(lines)
