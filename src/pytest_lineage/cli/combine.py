"""Put several reports side by side: many targets, or one target on many stacks.

Reports that were made by different versions of the suite, with different profiles or laws, are refused:
their cells would not mean the same. Name a report with NAME=FILE to tell targets of one name apart.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from pytest_lineage.cli.common import UsageError, add_format, note, writable

EPILOG = """\
exit codes: 0 combined; 2 wrong usage, or reports that cannot be read, or are unlike each other.
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("files", nargs="+", metavar="[NAME=]FILE", help="reports (.jsonl)")
    parser.add_argument("--output", "-o", metavar="FILE.jsonl", help="write the combined report")
    parser.add_argument("--html", metavar="FILE.html", help="write it as an HTML page")
    add_format(parser, "pretty", "json", "markdown")


def run(options: argparse.Namespace) -> int:
    """Combine; write; print."""
    from pytest_lineage.report import jsonl, matrix, model
    from pytest_lineage.report.style import Style

    sources = [_source(text) for text in options.files]
    output, page = writable(options.output, "--output"), writable(options.html, "--html")
    try:
        document = matrix.combine(sources)
    except matrix.Unlike as error:
        raise UsageError(f"{error}. Nothing was combined") from None
    if output is not None:
        jsonl.write(output, document)
        note(f"wrote {output}")
    if page is not None:
        from pytest_lineage.report import html

        page.write_text(html.render(document), encoding="utf-8", newline="\n")
        note(f"wrote {page}")
    if options.format == "json":
        print(model.dumps(document))
    elif options.format == "markdown":
        print(matrix.markdown(document))
    else:
        print(matrix.pretty(document, Style.detect()))
    return 0


def _source(text: str) -> tuple[str, dict[str, Any]]:
    """A report and the name it is known by."""
    from pytest_lineage.report import jsonl

    name, equals, file = text.partition("=")
    if not equals or Path(text).is_file():
        name, file = Path(text).stem, text
    return name, jsonl.read(file)
