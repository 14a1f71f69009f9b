"""Cancels by the hundred: each point of a turn, each durability mode; not one thread may be wrong afterwards.

``python -m tests.bench.rollback_cancels [--count 500] [--over memory] [--face async] [--write]`` prints a
table; ``--write`` adds it to ``tests/bench/rollback_cancels.md``. A thread is *wrong* if any channel, ``next``, task or
interrupt differs from what it was before the cancelled turn, or if the runner raised.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from lineage_conformance import contract
from lineage_conformance.kinds.rollback.case import DURABILITIES, POINTS, TurnCase
from lineage_conformance.kinds.rollback.player import Play
from lineage_reference.rollback import make
from tests.mutants import rollback_kit

RESULTS = Path(__file__).with_suffix(".md")
OVER = ("memory", "sqlite", "sqlite-async", "postgres", "postgres-async")
AGE = 25
"""Cancels on one thread before a new one is taken."""


def cell(judge: Any, face: Any, point: str, durability: str, count: int) -> int:
    """Cancel `count` turns at a point; how many threads were wrong."""
    wrong = done = 0
    while done < count:
        case = TurnCase(point, tools=3, durability=durability)
        play = Play(judge.stores.bench(face, lambda step: None, None), case)
        thread = play.bench.name("thread")
        play.history(thread)
        before = play.state(thread)
        for _ in range(min(AGE, count - done)):
            done += 1
            with play.agent.gates:
                try:
                    play.cut(thread)
                    wrong += play.state(thread) != before
                except Exception as error:
                    print(
                        f"{point}, {durability}: {type(error).__name__}: {error}", file=sys.stderr
                    )
                    wrong += 1
                    break
        play.call("forget", thread)
    return wrong


def main() -> None:
    """Run every cell and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--over", default="memory", choices=OVER)
    parser.add_argument("--face", default="async", choices=("sync", "async"))
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    start, total = time.perf_counter(), 0
    version = contract.version("langgraph")
    lines = [
        "| cancelled at | " + " | ".join(f"durability {d}" for d in DURABILITIES) + " |",
        "|---" * 4 + "|",
    ]
    with rollback_kit.bench(make, options.over) as judge:
        for point in POINTS:
            wrong = [cell(judge, options.face, point, d, options.count) for d in DURABILITIES]
            total += options.count * len(wrong)
            lines.append(
                f"| {point} | " + " | ".join(f"{w} of {options.count} wrong" for w in wrong) + " |"
            )
    seconds = time.perf_counter() - start
    head = f"## {options.over}, {options.face} runs, langgraph {version}: {total:,} cancels in {seconds:.0f} s"
    text = "\n".join([head, "", *lines, ""])
    print(text)
    if options.write:
        with RESULTS.open("a", encoding="utf-8") as file:
            file.write(text + "\n")


if __name__ == "__main__":
    main()
