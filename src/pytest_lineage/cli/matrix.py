"""Run the laws on one or more targets in several stacks, and put them into one table.

A stack is a name (see --list), `installed`, a requirements file, uv.lock, poetry.lock, or requirements divided by
commas. Environments are made once and kept (see `pytest-lineage cache`). A stack that cannot be installed, a target
that cannot be used there, and a law that needs a newer API are states of their own, never a pass.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from lineage_conformance.kinds import KINDS, USUAL
from pytest_lineage.cli.common import UsageError, add_format, note, writable

EPILOG = """\
exit codes: 0 every stack is good; 1 a MUST is broken or hangs in one; 2 wrong usage, or a stack that cannot be
made or in which a target cannot be used; 3 a fault of this suite; 4 incomplete.
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("stacks", nargs="*", metavar="STACK", help="where to run")
    parser.add_argument(
        "--list", action="store_true", help="list the stacks that have a name, and exit"
    )
    parser.add_argument("--target", action="append", default=[], metavar="TARGET",
                        help="what to check (repeatable)")  # fmt: skip
    parser.add_argument("--kind", choices=KINDS, default=USUAL, help="kind of target")
    parser.add_argument("--over", default="", metavar="TARGET",
                        help="with a kind that is built on a saver: the saver under `reference`")  # fmt: skip
    parser.add_argument("--no-references", action="store_true",
                        help="do not run the references of other kinds over the targets")  # fmt: skip
    parser.add_argument(
        "--laws", action="append", default=[], metavar="GLOB,...", help="only these laws"
    )
    parser.add_argument("--profile", choices=["quick", "default", "deep"], default="quick")
    parser.add_argument("--with", dest="more", action="append", default=[], metavar="REQUIREMENT",
                        help="what else the targets need (repeatable)")  # fmt: skip
    parser.add_argument(
        "--jobs", "-j", type=int, default=2, metavar="N", help="stacks at the same time (2)"
    )
    parser.add_argument(
        "--allow-nonempty", action="store_true", help="accept a target that holds data"
    )
    add_format(parser, "pretty", "json", "markdown")
    parser.add_argument("--html", metavar="FILE", help="write the table as a page")
    parser.add_argument(
        "--reports", metavar="DIR", help="write each stack's report, as `check --report` does"
    )
    parser.epilog = EPILOG


def run(options: argparse.Namespace) -> int:
    """Run every stack, print the table; the exit code."""
    from lineage_conformance import stacks

    if options.list:
        for stack in stacks.named():
            print(f"{stack.id:14} {stack.title}\n{'':14} {', '.join(stack.requirements)}")
        print(f"{stacks.INSTALLED:14} the environment that runs")
        return 0
    if not options.stacks or not options.target:
        raise UsageError("name at least one stack (see --list) and one --target")
    if options.jobs < 1:
        raise UsageError(f"--jobs must be at least 1, not {options.jobs}")
    try:
        chosen = [stacks.find(text) for text in options.stacks]
    except stacks.StackError as error:
        raise UsageError(str(error)) from None
    html = writable(options.html, "--html")
    from pytest_lineage.environments import matrix, matrix_report

    settings = matrix.Settings(
        tuple(options.target), options.kind, options.over, not options.no_references, tuple(options.laws),
        options.profile, tuple(options.more), options.allow_nonempty,
    )  # fmt: skip
    columns = matrix.run(chosen, settings, options.jobs, _say)
    if options.reports:
        _reports(Path(options.reports), columns)
    if html is not None:
        from pytest_lineage.report import html as page

        html.write_text(page.render(matrix.combined(columns, settings)), encoding="utf-8")
    if options.format == "json":
        print(json.dumps(matrix.document(columns), indent=2))
    elif options.format == "markdown":
        print(matrix_report.markdown(columns))
    else:
        print(matrix_report.pretty(columns))
    return matrix.exit_code(columns)


def _reports(folder: Path, columns: list[Any]) -> None:
    from pytest_lineage.report import jsonl

    folder.mkdir(parents=True, exist_ok=True)
    for column in columns:
        for kind, document in column.documents.items():
            name = "".join(c if c.isalnum() or c in ".-" else "_" for c in column.stack)[:80]
            jsonl.write(folder / f"{name}-{kind}.jsonl", document)


def _say(text: str) -> None:
    import sys

    if sys.stderr.isatty():
        note(f"... {text}")
