"""Write a test module, a known-failures file and a workflow into the repository of a saver. Nothing is overwritten."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from lineage_conformance import contract
from pytest_lineage.cli import factories
from pytest_lineage.cli.common import UsageError

KNOWN = """# Known failures of {name}: laws that are broken today, each with a reason and an end.
# An entry that no longer reproduces fails the run until it is removed; `pytest-lineage known add` writes entries.
# Laws that were added after this version of pytest-lineage are listed as unreviewed until you raise it.
suite = "{suite}"

# [[known]]
# target = "{name}"
# law = "list.filter-nested"
# kind = "bug"              # bug | unsupported | contract-dispute
# reason = "nested filters are not translated yet"
# link = "https://example.org/issues/1"
# until = "2027-06-30"      # a date, or a version of the saver
"""

WORKFLOW = """name: lineage
on: [push, pull_request]
permissions:
  contents: read
jobs:
  conformance:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@de0fac2e4500dabe0009e67214ff5f5447ce83dd # v6.0.2
      - uses: actions/setup-python@a309ff8b426b58ec0e2a45f0f869d46889d02405 # v6.2.0
        with:
          python-version: "3.12"
      - run: python -m pip install -e . pytest-lineage
      - run: python -m pytest {path} --lineage-report lineage.jsonl --junitxml lineage.xml
      - uses: actions/upload-artifact@b7c566a772e6b6bfb58ed0dc250532a479d7789f # v6.0.0
        if: always()
        with:
          name: lineage
          path: lineage.*
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("factory", nargs="?", default="my_package:MySaver", metavar="MODULE:ATTRIBUTE",
                        help="class or factory of the saver (default: my_package:MySaver)")  # fmt: skip
    parser.add_argument("--name", help="name of the target (default: from the module)")
    parser.add_argument(
        "--directory", default=".", metavar="DIR", help="the repository (default: here)"
    )


def run(options: argparse.Namespace) -> int:
    """Write the three files."""
    module, _, attribute = options.factory.partition(":")
    if not re.fullmatch(r"[A-Za-z_][\w.]*", module) or not re.fullmatch(r"[A-Za-z_]\w*", attribute):
        raise UsageError(f"{options.factory!r} is no MODULE:ATTRIBUTE, e.g. acme_saver:AcmeSaver")
    name = options.name or module.split(".")[0].removeprefix("langgraph_checkpoint_")
    name = re.sub(r"\W", "_", name)
    folder = Path(options.directory)
    if not folder.is_dir():
        raise UsageError(f"there is no directory {options.directory!r}")
    path = f"tests/test_{name}_lineage.py"
    suite = contract.version("pytest-lineage") or "0.1.0"
    fields = {"name": name, "path": path, "module": module, "attribute": attribute, "suite": suite}
    files = {
        path: factories.PLAIN.format(**fields),
        "lineage-known.toml": KNOWN.format(**fields),
        ".github/workflows/lineage.yml": WORKFLOW.format(**fields),
    }
    there = [file for file in files if (folder / file).exists()]
    if there:
        raise UsageError(f"{', '.join(there)} already exists; nothing was written")
    for file, text in files.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text, encoding="utf-8")
        print(f"wrote {file}")
    print("\n" + factories.settle(folder / path, fields))
    return 0
