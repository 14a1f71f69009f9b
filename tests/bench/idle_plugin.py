"""What the plugin costs a run that has no target: whole runs of a one-line test, with it and without.

Run it with ``python tests/bench/idle_plugin.py [PAIRS]``. Runs alternate, so that a slow moment of the machine
hits both, and medians are compared. Nothing else is loaded: plugin autoload is off.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TARGET = 1.05
"""The ratio that must not be exceeded."""


def measure(pairs: int) -> dict[str, tuple[float, float]]:
    """Medians in seconds without the plugin and with it, by the clock and of the processor."""
    env = {
        k: v
        for k, v in os.environ.items()
        if not k.startswith(("LINEAGE_", "PYTEST_", "COVERAGE_"))
    }
    env["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    clock: tuple[list[float], list[float]] = ([], [])
    processor: tuple[list[float], list[float]] = ([], [])
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "pytest.ini").write_text("[pytest]\n")
        Path(folder, "test_one.py").write_text("def test_one(): assert True\n")
        commands = (["-p", "no:lineage"], ["-p", "pytest_lineage.plugin"])
        for number in range(pairs + 1):
            for which in (0, 1) if number % 2 else (1, 0):
                begin, before = time.perf_counter(), os.times()
                subprocess.run(
                    [sys.executable, "-m", "pytest", "-q", *commands[which]],
                    cwd=folder, env=env, check=True, stdout=subprocess.DEVNULL,
                )  # fmt: skip
                end, after = time.perf_counter(), os.times()
                if number:  # the first pair warms caches
                    clock[which].append(end - begin)
                    used = after.children_user + after.children_system
                    processor[which].append(used - before.children_user - before.children_system)
    return {
        name: (statistics.median(times[0]), statistics.median(times[1]))
        for name, times in (("clock", clock), ("processor", processor))
    }


def main() -> int:
    """Print medians and ratios; 1 if the ratio by the clock is above the target."""
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    found = measure(pairs)
    for name, (without, loaded) in found.items():
        print(
            f"{name:9}  without {without * 1000:.1f} ms, with {loaded * 1000:.1f} ms, "
            f"ratio {loaded / without:.3f} ({pairs} pairs)"
        )
    without, loaded = found["clock"]
    return int(loaded / without > TARGET)


if __name__ == "__main__":
    sys.exit(main())
