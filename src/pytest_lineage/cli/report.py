"""Present a report that was written earlier: on the terminal, or as HTML, markdown, badges, JUnit, annotations.

Running and presenting are apart: `check --report run.jsonl` (or `pytest --lineage-report run.jsonl`) runs,
this reads.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from pytest_lineage.cli.common import add_format, add_verbose, note, writable

EPILOG = """\
exit codes: 0 presented; 2 wrong usage, or a report that cannot be read or a file that cannot be written.
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    ways = parser.add_subparsers(
        dest="way", metavar="show|html|markdown|badge|junit|annotations", required=True
    )
    made: dict[str, argparse.ArgumentParser] = {}
    for name, words in (
        ("show", "print it as `check` does"),
        ("html", "write one page that needs no network"),
        ("markdown", "write it for a step summary or a pull request comment"),
        ("badge", "write a badge for the whole and for each group, and print the snippet"),
        ("junit", "write it as JUnit XML"),
        ("annotations", "print it as GitHub annotations"),
    ):
        made[name] = ways.add_parser(name, help=words)
        made[name].add_argument("file", metavar="FILE", help="the report (.jsonl)")
    add_format(made["show"], "pretty", "json", "markdown")
    add_verbose(made["show"])
    for name, end in (("html", "html"), ("junit", "xml")):
        made[name].add_argument(
            "--output", "-o", metavar=f"FILE.{end}", help="where to (default: beside the report)"
        )
    made["markdown"].add_argument(
        "--output", "-o", metavar="FILE.md", help="where to (default: standard output)"
    )
    made["markdown"].add_argument("--summary", action="store_true",
                                  help="append it to the step summary of this GitHub job")  # fmt: skip
    made["badge"].add_argument(
        "--output", "-o", metavar="DIR", default="badges", help="folder (default: badges)"
    )
    made["badge"].add_argument("--url", default="", metavar="URL",
                               help="where the folder will be served, for the snippet")  # fmt: skip


def run(options: argparse.Namespace) -> int:
    """Read the report and present it."""
    from pytest_lineage.report import jsonl

    document = jsonl.read(options.file)
    ways = {
        "show": _show, "html": _html, "markdown": _markdown, "badge": _badge, "junit": _junit,
        "annotations": _annotations,
    }  # fmt: skip
    ways[options.way](options, document)
    return 0


def _show(options: argparse.Namespace, document: dict[str, Any]) -> None:
    from pytest_lineage.report import markdown, model, terminal

    if options.format == "json":
        print(model.dumps(document))
    elif options.format == "markdown":
        print(markdown.render(document))
    else:
        print(terminal.render(document, verbose=options.verbose, programs=options.all_programs))


def _beside(options: argparse.Namespace, end: str) -> Path:
    output = writable(options.output or str(Path(options.file).with_suffix(end)), "--output")
    assert output is not None
    return output


def _html(options: argparse.Namespace, document: dict[str, Any]) -> None:
    from pytest_lineage.report import html

    output = _beside(options, ".html")
    output.write_text(html.render(document), encoding="utf-8", newline="\n")
    note(f"wrote {output}")


def _junit(options: argparse.Namespace, document: dict[str, Any]) -> None:
    from pytest_lineage.report import junit

    output = _beside(options, ".xml")
    junit.write(output, document)
    note(f"wrote {output}")


def _markdown(options: argparse.Namespace, document: dict[str, Any]) -> None:
    from pytest_lineage.cli.common import UsageError
    from pytest_lineage.report import annotations, markdown

    if options.summary:
        target = os.environ.get("GITHUB_STEP_SUMMARY")
        if not target:
            raise UsageError("--summary: GITHUB_STEP_SUMMARY is not set, so this is no GitHub job")
        file = writable(target, "--summary")
        assert file is not None
        annotations.summarize(file, document)
        return
    output = writable(options.output, "--output")
    if output is None:
        print(markdown.render(document))
    else:
        output.write_text(markdown.render(document), encoding="utf-8", newline="\n")


def _annotations(options: argparse.Namespace, document: dict[str, Any]) -> None:
    from pytest_lineage.report import annotations

    for line in annotations.lines(document):
        print(line)
    sys.stdout.flush()


def _badge(options: argparse.Namespace, document: dict[str, Any]) -> None:
    from pytest_lineage.cli.common import UsageError
    from pytest_lineage.report import badge

    folder = Path(options.output)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        names = badge.write(folder, document)
    except OSError as error:
        raise UsageError(f"--output {folder}: cannot be written: {error.strerror}") from None
    print(badge.snippet(names, options.url))
