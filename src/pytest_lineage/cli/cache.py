"""Show or clear the environments that `matrix` and `bump` keep, and the copies of this suite for them."""

from __future__ import annotations

import argparse
import json

from pytest_lineage.cli.common import UsageError, add_format


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("action", nargs="?", choices=["show", "clear"], default="show")
    parser.add_argument("ids", nargs="*", metavar="ID", help="what to clear (default: everything)")
    add_format(parser, "pretty", "json")


def run(options: argparse.Namespace) -> int:
    """Show or clear the cache."""
    from lineage_conformance import builder

    entries = builder.entries()
    if options.action == "clear":
        if strange := set(options.ids) - {entry["id"] for entry in entries}:
            raise UsageError(f"not in the cache: {', '.join(sorted(strange))}")
        print(f"removed {builder.clear(options.ids)} of {len(entries)} entries")
        return 0
    if options.format == "json":
        shown = [{k: str(v) if k == "path" else v for k, v in entry.items()} for entry in entries]
        print(json.dumps({"folder": str(builder.cache()), "entries": shown}, indent=2))
        return 0
    for entry in entries:
        size = f"{entry['size'] / 2**20:7.1f} MB"
        print(f"{entry['id']}  {size}  {entry.get('made', ''):19}  {entry['label']}")
    total = sum(entry["size"] for entry in entries) / 2**20
    print(f"{len(entries)} entries, {total:.1f} MB, in {builder.cache()}")
    return 0
