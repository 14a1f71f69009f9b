"""Repeat graph laws and count verdicts: a law that ever says something else is a flake.

``python -m tests.bench.repeat_graph_laws [--times 200] [--laws 'graph_durability.c*'] [--target memory|strict]``

Prints one line a law and face with each verdict and how often it was given, and the median and largest time in
milliseconds. Exit code 1 if any law gave two verdicts.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections import Counter
from typing import Any

from lineage_conformance import law as laws
from lineage_conformance.handles import Handle, Loop
from lineage_conformance.judge import Judge
from lineage_conformance.runner import Stores
from lineage_reference.saver import StrictSaver
from lineage_reference.space import Space


def _memory() -> Any:
    from langgraph.checkpoint import memory

    return getattr(memory, "InMemorySaver", None or memory.MemorySaver)()


def main() -> int:
    """Run the repeats; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--times", type=int, default=200)
    parser.add_argument("--laws", default="graph_durability.c*")
    parser.add_argument("--target", choices=("memory", "strict"), default="memory")
    options = parser.parse_args()
    loop = Loop()
    make = _memory if options.target == "memory" else lambda: StrictSaver(Space())
    judge = Judge(Stores(lambda key: Handle(make(), loop)), referee=lambda: StrictSaver(Space()))
    flakes = 0
    for law in laws.select([options.laws]):
        if law.not_applicable() or not law.referee or "store" in law.needs:
            continue
        for face in law.faces:
            verdicts: Counter[str] = Counter()
            times = []
            for _ in range(options.times):
                begin = time.perf_counter()
                verdicts[judge.judge(law, face).verdict.value] += 1
                times.append(1000 * (time.perf_counter() - begin))
            flakes += len(verdicts) > 1
            told = ", ".join(f"{verdict} {count}" for verdict, count in verdicts.most_common())
            print(
                f"{law.id}[{face}]: {told}; {statistics.median(times):.0f} ms, at most {max(times):.0f} ms"
            )
    print(f"{flakes} laws gave more than one verdict")
    return 1 if flakes else 0


if __name__ == "__main__":
    raise SystemExit(main())
