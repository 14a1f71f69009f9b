"""Run `check` many times on one target and say whether the verdicts were the same each time.

    python tests/bench/repeat_check.py memory 50
    python tests/bench/repeat_check.py sqlite 20 --profile quick

Exit code 1 and the rows that differed, if any did.
"""

from __future__ import annotations

import argparse
import collections
import json
import subprocess
import sys


def verdicts(target: str, profile: str) -> dict[tuple[str, str], str]:
    """Law and face to verdict, of one whole process."""
    command = [
        sys.executable, "-m", "pytest_lineage", "check", target, "--profile", profile, "--format", "json",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True)
    rows = json.loads(done.stdout)["laws"]
    return {(row["law"], row["face"]): row["verdict"] for row in rows}


def main() -> int:
    """Count, per law and face, the verdicts of all runs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target")
    parser.add_argument("runs", type=int)
    parser.add_argument("--profile", default="quick")
    options = parser.parse_args()
    seen: dict[tuple[str, str], collections.Counter[str]] = collections.defaultdict(
        collections.Counter
    )
    for _ in range(options.runs):
        for key, verdict in verdicts(options.target, options.profile).items():
            seen[key][verdict] += 1
    unsteady = {key: counts for key, counts in seen.items() if len(counts) > 1}
    for (law, face), counts in unsteady.items():
        print(f"{law}[{face}]: {dict(counts)}")
    print(
        f"{options.target}: {options.runs} runs, {len(seen)} verdicts each, {len(unsteady)} unsteady"
    )
    return 1 if unsteady else 0


if __name__ == "__main__":
    raise SystemExit(main())
