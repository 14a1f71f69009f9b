"""Say what changes for you if you upgrade: your target in your environment and in the bumped one.

  pytest-lineage bump 'langgraph==1.2.24' --target ./app.py:saver
  pytest-lineage bump --latest --target ./app.py:saver
  pytest-lineage bump --from old.txt --to new.txt --target sqlite

The bumped environment is a copy of this one in which the installer was asked for what you name. Laws, facts and the
handover of half-finished conversations run in both; only differences are shown.
"""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

from lineage_conformance.kinds import KINDS, USUAL
from pytest_lineage.cli.common import UsageError, add_format, note, writable

EPILOG = """\
exit codes: 0 no regression; 1 a regression: a law that held is broken, a target can no longer be used, a
conversation does not survive the upgrade, or a pinned fact changed; 2 wrong usage, versions that do not fit
together, or a target that cannot be used as it is; 3 a fault of this suite.
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "wanted", nargs="*", metavar="REQUIREMENT", help="what to upgrade to, as pip takes it"
    )
    parser.add_argument("--target", required=True, metavar="TARGET", help="what is compared")
    parser.add_argument("--kind", choices=KINDS, default=USUAL, help="kind of target")
    parser.add_argument("--over", default="", metavar="TARGET",
                        help="with a kind that is built on a saver: the saver under `reference`")  # fmt: skip
    parser.add_argument("--from", dest="old", default="installed", metavar="STACK",
                        help="what to upgrade from: a stack (see matrix); default: this environment")  # fmt: skip
    parser.add_argument("--to", dest="new", metavar="STACK", help="what to upgrade to: a stack")
    parser.add_argument("--latest", action="store_true",
                        help="upgrade the LangGraph packages to the newest that fit")  # fmt: skip
    parser.add_argument("--with", dest="more", action="append", default=[], metavar="REQUIREMENT",
                        help="what else the target needs in a stack (repeatable)")  # fmt: skip
    parser.add_argument(
        "--laws", action="append", default=[], metavar="GLOB,...", help="only these laws"
    )
    parser.add_argument("--no-laws", action="store_true", help="compare no laws")
    parser.add_argument("--no-facts", action="store_true", help="compare no facts")
    parser.add_argument("--no-handover", action="store_true", help="hand no conversations over")
    parser.add_argument("--no-references", action="store_true",
                        help="do not run the references of other kinds over the target")  # fmt: skip
    parser.add_argument(
        "--strict-facts", action="store_true", help="a fact that flips fails the bump"
    )
    parser.add_argument("--strict-handover", action="store_true",
                        help="losses of a rollback and of a rolling deploy fail the bump too")  # fmt: skip
    parser.add_argument("--facts-lock", default="facts.lock", metavar="FILE",
                        help="pinned facts (written by `facts --lock`); default facts.lock")  # fmt: skip
    parser.add_argument(
        "--allow-nonempty", action="store_true", help="accept a target that holds data"
    )
    add_format(parser, "pretty", "json", "markdown")
    parser.add_argument("--report", metavar="FILE.json", help="write the result as JSON")
    parser.epilog = EPILOG


def run(options: argparse.Namespace) -> int:
    """Make the environments, compare, print; the exit code."""
    from pytest_lineage.environments import bump, bump_report
    from pytest_lineage.environments.build import Unbuildable
    from pytest_lineage.environments.fingerprint import LockError
    from pytest_lineage.run.engine import SuiteFault, Unusable

    if bool(options.wanted) + bool(options.new) + options.latest != 1:
        raise UsageError(
            "say what to upgrade to: requirements, --to STACK, or --latest (one of them)"
        )
    report = writable(options.report, "--report")
    try:
        pinned = bump.pins(Path(options.facts_lock), options.target)
    except LockError as error:
        raise UsageError(str(error)) from None
    settings = bump.Settings(
        options.target, options.kind, options.over, not options.no_references, tuple(options.laws),
        not options.no_laws, not options.no_facts, not options.no_handover, "quick",
        options.allow_nonempty, pinned, options.strict_facts, options.strict_handover,
    )  # fmt: skip
    try:
        old, new = _sides(options)
        result = bump.compare(old, new, settings, _say)
    except (Unbuildable, Unusable) as error:
        note(f"error: {error}")
        return 2
    except SuiteFault as error:
        note(f"a fault of this suite, please report it: {error}")
        return 3
    data = result.to_json()
    if report is not None:
        report.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")
    if options.format == "json":
        print(json.dumps(data, indent=2))
    else:
        print(
            bump_report.markdown(result)
            if options.format == "markdown"
            else bump_report.pretty(result)
        )
    if os.environ.get("GITHUB_ACTIONS") == "true":
        for line in bump_report.commands(result):
            note(line)
    return 1 if result.regressions else 0


def _sides(options: argparse.Namespace) -> tuple[Any, Any]:
    from lineage_conformance import stacks
    from pytest_lineage.environments.build import bumped, of_stack

    try:
        base = stacks.find(options.old)
        goal = stacks.find(options.new) if options.new else None
    except stacks.StackError as error:
        raise UsageError(str(error)) from None
    _say("environments")
    old = of_stack(base, options.more)
    if goal is not None:
        return old, of_stack(goal, options.more)
    return old, bumped(base, options.wanted, options.latest, options.more)


def _say(text: str) -> None:
    import sys

    if sys.stderr.isatty():
        note(f"... {text}")
