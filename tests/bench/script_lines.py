"""How long the printed scripts are: minimum, median and maximum over the faulty savers of `tests/mutants`.

    python tests/bench/script_lines.py

One script for the smallest program of each faulty saver, and for the smallest scenario of each one under a graph.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from lineage_conformance import law as laws
from pytest_lineage.report.script import ScriptError
from tests import test_graph_scripts as graphs
from tests import test_report_script as programs
from tests.mutants import graph_kit, kit


def of_programs() -> Iterator[int]:
    """Lines of each script about a program."""
    for mutant in kit.load():
        law = laws.get(mutant.kills)
        outcome = programs.judged(mutant, mutant.face)
        if law.not_applicable() or not outcome.witnesses:
            continue
        row = programs.samples.row(law.id, mutant.face, evidence=outcome.evidence())
        text = programs.printed(row, mutant.make.__qualname__, mutant.make.__module__)
        yield len(text.splitlines())


def of_scenarios() -> Iterator[int]:
    """Lines of each script about a scenario."""
    for mutant in graph_kit.load():
        law = laws.get(mutant.kills)
        if law.not_applicable():
            continue
        outcome = graph_kit.judge(mutant, law)
        if outcome.witnesses:
            try:
                row = graphs.row_of(law, mutant.face, outcome)
                yield len(graphs.printed(row, mutant.make).splitlines())
            except ScriptError:
                continue


def main() -> None:
    """Print a Markdown table."""
    print("| scripts | min lines | median | max |\n|---|---|---|---|")
    for name, lines in (("programs", [*of_programs()]), ("scenarios", [*of_scenarios()])):
        print(
            f"| {len(lines)} {name} | {min(lines)} | {statistics.median(lines):g} | {max(lines)} |"
        )


if __name__ == "__main__":
    main()
