"""The command line: one module per command. `main` parses, dispatches, and keeps every promise about exit codes.

It imports next to nothing, since an interrupt is caught in `main` only.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

COMMANDS = {
    "check": "run the laws on targets and give a verdict for each",
    "replay": "run the saved program of a broken law again, here or on another target",
    "shrink": "go on making a saved program smaller",
    "script": "print a saved program as a stand-alone script for an issue",
    "known": "keep the file of known failures: add, prune, list",
    "diff": "say what changed between two reports",
    "combine": "put several reports side by side",
    "report": "present a report: terminal, HTML, markdown, badges, JUnit, annotations",
    "smoke": "check that a target can be opened, written and read, before the laws",
    "laws": "list the laws",
    "explain": "explain a law, or the protocol of a kind of target",
    "targets": "list the targets that can be named here",
    "bump": "say what changes for a target if packages are upgraded",
    "cache": "show or clear the environments that are kept for bump and matrix",
    "show": "show a stored thread as a picture: text, Mermaid, HTML or JSON; reads only",
    "facts": "print what is observed, rather than required, of this environment and a saver in it",
    "matrix": "run the laws in several stacks of packages, in one table",
    "repro": "show a known defect: story, faulty and fixed side by side, or whether you have it",
    "init": "write a test module, a known-failures file and a workflow into a repository",
}

EPILOG = """\
exit codes: 0 good; 1 a MUST is broken or hangs (or a known failure is fixed); 2 wrong usage, an error in the
known-failures file, or a target that cannot be used; 3 a fault of this suite; 4 incomplete: too little ran to
say "good"; 130, 143 interrupted by Ctrl-C, by SIGTERM: what was found until then is reported.
"""


def parser() -> argparse.ArgumentParser:
    """The whole parser. Each command's module adds its own arguments."""
    import argparse

    top = argparse.ArgumentParser(
        prog="pytest-lineage",
        description="Does a LangGraph checkpointer keep the promises LangGraph relies on?",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="store_true", help="print the installed versions and exit")
    commands = top.add_subparsers(dest="command", metavar="COMMAND")
    for name, text in COMMANDS.items():
        module = importlib.import_module(f"pytest_lineage.cli.{name}")
        sub = commands.add_parser(
            name,
            help=text,
            description=(module.__doc__ or text).strip(),
            epilog=getattr(module, "EPILOG", EPILOG),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.arguments(sub)
        sub.set_defaults(run=module.run)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; the exit code is returned, never raised, except for wrong usage (argparse: 2)."""
    try:
        return _main(argv)
    except KeyboardInterrupt as error:
        print("interrupted", file=sys.stderr)
        return 128 + (error.args[0] if error.args else 2)  # as a shell says which signal it was
    except BrokenPipeError:
        # The reader (a pager, head) is gone; say nothing more, not even at exit.
        _say_nothing_more()
        return 141
    except OSError as error:
        try:
            sys.stdout.flush()
        except OSError:
            _say_nothing_more()
        name = "" if error.filename is None else f"{error.filename}: "
        print(f"error: {name}{error.strerror or error}", file=sys.stderr)
        return 2


def _main(argv: Sequence[str] | None) -> int:
    top = parser()
    options = top.parse_args(argv)
    if options.version:
        from lineage_conformance import contract

        print("\n".join(f"{name} {value}" for name, value in contract.versions().items()))
        return 0
    if options.command is None:
        top.print_help()
        return 2
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # values may hold lone surrogates
    try:
        code: int = options.run(options)
    except _usage_errors() as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    sys.stdout.flush()
    return code


def _say_nothing_more() -> None:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _usage_errors() -> tuple[type[BaseException], ...]:
    from pytest_lineage.cli.common import UsageError
    from pytest_lineage.known.file import KnownError
    from pytest_lineage.known.saved import FailureError
    from pytest_lineage.report.jsonl import ReportError
    from pytest_lineage.targets import TargetError

    return (UsageError, TargetError, FailureError, KnownError, ReportError)
