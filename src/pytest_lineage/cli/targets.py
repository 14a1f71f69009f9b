"""List the targets that can be named here: built in, and declared by installed packages as entry points."""

from __future__ import annotations

import argparse
import importlib.util
import json
from importlib import metadata

from pytest_lineage.cli.common import add_format
from pytest_lineage.targets import builtin
from pytest_lineage.targets.doors import GROUP


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_format(parser, "pretty", "json")


def run(options: argparse.Namespace) -> int:
    """Print the targets and whether each can be used in this environment."""
    rows = [(name, "built in", _usable(name)) for name in builtin.NAMES]
    rows += [(e.name, e.value, "") for e in sorted(metadata.entry_points(group=GROUP), key=str)]
    if options.format == "json":
        keys = ("name", "from", "missing")
        print(
            json.dumps({"targets": [dict(zip(keys, row, strict=True)) for row in rows]}, indent=2)
        )
        return 0
    for name, source, missing in rows:
        print(f"{name:26}{source}{'; ' + missing if missing else ''}")
    print("\nAn import path works too: pkg.mod:factory, ./file.py:factory, or a langgraph.json.")
    return 0


def _usable(name: str) -> str:
    """What is missing to use a built-in target; empty if nothing is."""
    kind = name.partition("-")[0]
    module = f"langgraph.checkpoint.{kind}"
    if kind in ("sqlite", "postgres") and importlib.util.find_spec(module) is None:
        return f"needs pytest-lineage[{kind}]"
    return ""
