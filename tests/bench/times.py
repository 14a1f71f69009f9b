"""Time `check` as a whole process, server start included: minimum, median and maximum of several runs.

python tests/bench/times.py                      # what README reports
python tests/bench/times.py memory --profile quick --runs 5
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time

TABLE = [("memory", "quick"), ("memory", "default"), ("sqlite", "default"), ("postgres", "default")]


def measure(target: str, profile: str, runs: int) -> list[float]:
    """Seconds of each run. Raises `SystemExit` where the target cannot be checked at all."""
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        command = [sys.executable, "-m", "pytest_lineage", "check", target, "--profile", profile]
        done = subprocess.run(command, capture_output=True, text=True)
        times.append(time.perf_counter() - start)
        if done.returncode in (2, 3):
            raise SystemExit(done.stdout + done.stderr)
    return times


def main() -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", nargs="?")
    parser.add_argument("--profile", default="quick")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    wanted = [(options.target, options.profile)] if options.target else TABLE
    print("| target | profile | min s | median s | max s |\n|---|---|---|---|---|")
    for target, profile in wanted:
        times = measure(target, profile, options.runs)
        figures = (min(times), statistics.median(times), max(times))
        print(f"| {target} | {profile} | " + " | ".join(f"{value:.1f}" for value in figures) + " |")


if __name__ == "__main__":
    main()
