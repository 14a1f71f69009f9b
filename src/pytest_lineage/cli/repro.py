"""Show a known fault: its story, and what its law says in an environment that has it and in one that has not.

  pytest-lineage repro --list
  pytest-lineage repro D-20
  pytest-lineage repro D-20 --with langgraph==1.2.5 --target sqlite
  pytest-lineage repro D-20 --target ./app.py:saver

D: defects of releases. The faulty and the fixed environment are made once and kept (`pytest-lineage cache`). With
--with or --target only one side is run, and the question is whether that one has the fault. W: wrong first fixes of
applications, run beside the right implementation; --with runs both with other packages, --target asks about a
backend of your own (kind rollback).
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from typing import TYPE_CHECKING

from pytest_lineage.cli.common import UsageError, add_format, note

if TYPE_CHECKING:
    from pytest_lineage.repro.running import Outcome, Plan
    from pytest_lineage.repro.stories import Story
    from pytest_lineage.repro.telling import Result

EPILOG = """\
exit codes: 0 told apart as catalogued (with --with or --target: the fault is not there); 1 not told apart (the
fault is there); 2 wrong usage, or it cannot be run: no package index, packages that cannot be installed, a target
that cannot be used, a law that does not apply; 3 a fault of this suite.
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("defect", nargs="?", metavar="DEFECT",
                        help="D-20, W-01, a number, or the id of a law that tells one apart")  # fmt: skip
    parser.add_argument("--list", action="store_true", help="list all that are known, and exit")
    parser.add_argument("--with", dest="pins", action="append", default=[], metavar="REQUIREMENT",
                        help="run it with these packages instead (repeatable)")  # fmt: skip
    parser.add_argument("--target", metavar="TARGET",
                        help="run it on this target instead, in this environment if there is no --with")  # fmt: skip
    parser.add_argument("--over", default="", metavar="TARGET",
                        help="W only: the saver under `--target reference`")  # fmt: skip
    parser.add_argument("--python", default="", metavar="PROGRAM",
                        help="interpreter of the environments (default: the story's, else this one)")  # fmt: skip
    parser.add_argument("--allow-nonempty", action="store_true",
                        help="accept a target that holds data; only threads of ours are touched")  # fmt: skip
    parser.add_argument("--script", action="store_true", help="print only the stand-alone script")
    add_format(parser, "pretty", "json", "markdown")


def run(options: argparse.Namespace) -> int:
    """List, or run one story; the exit code."""
    from pytest_lineage.report.style import Style
    from pytest_lineage.repro import listing, stories, telling

    if options.list:
        print(listing.listing(stories.stories(), options.format, Style.detect()))
        return 0
    if not options.defect:
        raise UsageError("name a defect, or see --list")
    try:
        story = stories.find(options.defect)
    except stories.StoryError as error:
        raise UsageError(str(error)) from None
    result = _run(story, options)
    if options.script:
        if not result.script:
            raise UsageError(_no_script(result))
        print(result.script, end="")
    elif options.format == "json":
        print(json.dumps(telling.document(result), indent=2, default=repr))
    elif options.format == "markdown":
        print(telling.markdown(result))
    else:
        print(telling.pretty(result, Style.detect()))
    return result.code


def _no_script(result: Result) -> str:
    from pytest_lineage.repro import telling

    why = result.no_script or "nothing broke, so there is nothing to show"
    return f"{result.story.id}: no stand-alone script: {why} ({telling.verdict(result)})"


def _run(story: Story, options: argparse.Namespace) -> Result:
    from lineage_conformance.defects import Defect
    from pytest_lineage.repro import running, stories, telling
    from pytest_lineage.run.engine import Postgres

    plans, pair = _plans(story, options, isinstance(story, Defect))
    law = stories.law_of(story)
    postgres = Postgres()
    outcomes: list[Outcome] = []
    try:
        for plan in plans:
            case = outcomes[0].case if outcomes else None
            outcomes.append(running.run(plan, law, postgres, _say, case))
            if outcomes[-1].state == running.OFFLINE:
                break
    finally:
        postgres.close()
    code = running.exit_code(outcomes, pair)
    script, why = _script(outcomes)
    return telling.Result(story, tuple(outcomes), code, _command(story, options), script, why)


def _plans(
    story: Story, options: argparse.Namespace, defect: bool
) -> tuple[tuple[Plan, ...], bool]:
    """What is to be run, and whether that is a comparison of two sides."""
    from pytest_lineage.repro import running

    if options.over and (defect or options.target != "reference"):
        raise UsageError("--over goes with a story W and --target reference")
    if options.target or (options.pins and defect):
        target = options.target or getattr(story, "target", "reference")
        plan = running.here(
            story, target, options.pins, options.python, options.over, options.allow_nonempty
        )
        return (plan,), False
    return running.both(story, options.pins, options.python), True


def _command(story: Story, options: argparse.Namespace) -> str:
    words = ["pytest-lineage", "repro", story.id]
    for pin in options.pins:
        words += ["--with", pin]
    for name in ("target", "over", "python"):
        if value := getattr(options, name):
            words += [f"--{name}", value]
    return shlex.join(words)


def _script(outcomes: list[Outcome]) -> tuple[str, str]:
    """The script for the first side that shows the fault, and why there is none."""
    from pytest_lineage.repro.scripts import script

    for outcome in outcomes:
        if outcome.bad is not None:
            return script(outcome)
    return "", ""


def _say(text: str) -> None:
    note(f"... {text}")
    sys.stderr.flush()
