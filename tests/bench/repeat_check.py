"""Run `check` many times and say whether the verdicts were the same each time.

    python tests/bench/repeat_check.py memory sqlite --runs 20 --busy 8
    python tests/bench/repeat_check.py sqlite --runs 50 --profile default --facts

With ``--busy N``, N processes of lowest priority that do nothing but compute run beside. ``--facts`` observes the
facts each time as well. Exit code 1 and the rows that differed, with how often they said what, if any did.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

Row = tuple[str, ...]


def verdicts(targets: list[str], profile: str, laws: str) -> dict[Row, str]:
    """Target, law and face to verdict, of one whole process."""
    report = _asked("check", *targets, "--profile", profile, *(["--laws", laws] if laws else []))
    return {
        (row["target"], row["law"], row["face"]): row["verdict"] + _why(row)
        for row in report["laws"]
    }


def _why(row: dict[str, Any]) -> str:
    """What is told beside a verdict that is no verdict."""
    return f" ({row.get('reason')})" if row["verdict"] == "inconclusive" else ""


def facts() -> dict[Row, str]:
    """Fact to what was observed, of one whole process."""
    return {
        ("fact", item["id"]): json.dumps({k: v for k, v in item.items() if k != "sentence"})
        for item in _asked("facts")["facts"]
    }


def _asked(*words: str) -> Any:
    command = [sys.executable, "-m", "pytest_lineage", *words, "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True)
    try:
        return json.loads(done.stdout)
    except ValueError:
        raise SystemExit(f"{' '.join(words)}: {done.stderr or done.stdout}") from None


@contextlib.contextmanager
def busy(count: int) -> Iterator[None]:
    """Processes of lowest priority that compute until the block ends."""
    lower = "import os\nif hasattr(os, 'nice'): os.nice(19)\nwhile True: pass"
    made = [subprocess.Popen([sys.executable, "-c", lower]) for _ in range(count)]
    try:
        yield
    finally:
        for process in made:
            process.kill()
            process.wait()


def main() -> int:
    """Count, per row, the verdicts of all runs."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("targets", nargs="+")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--profile", default="quick")
    parser.add_argument("--laws", default="")
    parser.add_argument("--busy", type=int, default=0)
    parser.add_argument("--facts", action="store_true")
    options = parser.parse_args()
    seen: dict[Row, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    begin = time.monotonic()
    os.environ.setdefault("PYTHONWARNINGS", "ignore")
    with busy(options.busy):
        for _ in range(options.runs):
            found = verdicts(options.targets, options.profile, options.laws)
            for key, verdict in {**found, **(facts() if options.facts else {})}.items():
                seen[key][verdict] += 1
    unsteady = {key: counts for key, counts in seen.items() if len(counts) > 1}
    for key, counts in unsteady.items():
        print(f"{' '.join(key)}: {dict(counts)}")
    took = (time.monotonic() - begin) / options.runs
    print(
        f"{' '.join(options.targets)}: {options.runs} runs of {took:.1f} s with {options.busy} busy processes, "
        f"{len(seen)} rows each, {len(unsteady)} unsteady"
    )
    return 1 if unsteady else 0


if __name__ == "__main__":
    raise SystemExit(main())
