"""Print a saved program as a stand-alone script that imports nothing of this suite.

The script is at most 50 lines long (70 for a law that runs a graph) and needs langgraph-checkpoint and the saver. A
module that declares its target with this package is imported without it, and thread ids are new in every run. The
script ends with AssertionError where the fault shows and prints PASS where it does not: ready to paste into an issue.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_lineage.cli.common import UsageError, writable
from pytest_lineage.cli.replay import FACES


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("program", metavar="ID|FILE", help="a saved program, by its id or its file")
    parser.add_argument("--target", metavar="TARGET", help="write it for this target instead")
    parser.add_argument(
        "--face", choices=FACES, help="write it for this face (default: where it was seen)"
    )
    parser.add_argument(
        "--output", "-o", metavar="FILE.py", help="write it to a file, not to the terminal"
    )


def run(options: argparse.Namespace) -> int:
    """Print the script."""
    from pytest_lineage.known import saved as failures
    from pytest_lineage.report.script import ScriptError, script

    file = failures.find(options.program)
    saved = failures.read(file)
    if options.target:
        saved = replace(saved, target=options.target)
    here = failures.located(saved, file)
    try:
        text = script(
            saved.row(options.face), _shown(here.target), _factory(here, not options.target)
        )
    except ScriptError as error:
        raise UsageError(f"{saved.id}: {error}") from None
    output = writable(options.output, "--output")
    if output is None:
        print(text, end="")
    else:
        output.write_text(text, encoding="utf-8")
        print(f"wrote {output}", file=sys.stderr)
    return 0


def _shown(target: str) -> str:
    """The target's text with its file seen from here, as a reader of the script will start it."""
    where, colon, rest = target.rpartition(":")
    if colon and where.endswith(".py"):
        try:
            return f"{Path(where).resolve().relative_to(Path.cwd()).as_posix()}:{rest}"
        except ValueError:
            return target
    return target


def _factory(saved: Any, own_path: bool) -> Any:
    """The factory itself, for its shape (it is not called); None where it cannot be imported here."""
    from pytest_lineage.targets import TargetError, doors

    for entry in saved.path if own_path else ():
        if entry not in sys.path:
            sys.path.append(entry)
    try:
        return doors.resolve(saved.target, saved.kind, saved.over).factory
    except TargetError:
        return None
