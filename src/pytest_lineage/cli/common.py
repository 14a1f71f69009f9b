"""What several commands share: usage errors, targets and where output goes."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from lineage_conformance import law as laws
from lineage_conformance.law import Law


class UsageError(Exception):
    """The command line cannot be carried out; the message says what, why and what to do."""


def choose(patterns: Sequence[str], kind: str = "saver") -> list[Law]:
    """The laws that the patterns name. Raises `UsageError` for one that matches nothing."""
    try:
        return laws.select(patterns, kind)
    except KeyError as error:
        raise UsageError(str(error.args[0])) from None


def add_format(parser: argparse.ArgumentParser, *formats: str) -> None:
    """Add ``--format``; pretty is the default."""
    parser.add_argument("--format", choices=formats or ("pretty", "json"), default="pretty")


def add_verbose(parser: argparse.ArgumentParser) -> None:
    """Add what makes a report on a terminal longer."""
    parser.add_argument(
        "--verbose", "-v", action="store_true",
        help="show every row, with what was observed and refused",
    )  # fmt: skip
    parser.add_argument(
        "--all-programs", action="store_true",
        help="show the programs of laws that follow from another one too",
    )  # fmt: skip


def writable(path: str | None, what: str) -> Path | None:
    """A file to write, checked before the work starts. Raises `UsageError` if it cannot be written."""
    if path is None:
        return None
    file = Path(path)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        new = not file.exists()
        with file.open("a", encoding="utf-8"):
            pass
        if new:
            file.unlink()  # an empty file is no report, should the run never come to writing one
        return file
    except OSError as error:
        raise UsageError(f"{what} {path}: cannot be written: {error.strerror}") from None


def note(text: str) -> None:
    """Say something beside the output."""
    print(text, file=sys.stderr)
