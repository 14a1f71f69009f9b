"""Run the suite inside faulty and fixed environments of every known defect.

``python -m lineage_conformance.defects.check [--only D-06] [--python python3.12]``

For each defect two environments are made, once, in a cache folder (see `builder`). The suite itself comes to them by
a folder on the import path, without its dependencies, so that nothing but the pins decides which LangGraph is there.
On the faulty pins the named law must be broken and the run must end with exit code 1; on the fixed pins the law must
hold on every face. Exit code 0 if that is so for all.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lineage_conformance import builder
from lineage_conformance import law as laws
from lineage_conformance.builder import Failed
from lineage_conformance.defects import FOLDER, Defect, catalogue


def main(arguments: Sequence[str] | None = None) -> int:
    """Check the defects that were asked for, print a table, record the results."""
    parser = argparse.ArgumentParser(
        prog="python -m lineage_conformance.defects.check",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--only", action="append", default=[], metavar="ID", help="only this defect (repeatable)"
    )
    parser.add_argument(
        "--python", metavar="PROGRAM", help="interpreter for the environments (default: by version)"
    )
    parser.add_argument("--cache", type=Path, metavar="DIR", help="where the environments are kept")
    parser.add_argument("--output", type=Path, metavar="FILE", default=FOLDER / "results.json")
    options = parser.parse_args(arguments)
    known = {defect.id: defect for defect in catalogue()}
    if strange := set(options.only) - set(known):
        parser.error(
            f"no defect is called {', '.join(sorted(strange))}; known are {', '.join(known)}"
        )
    chosen = [defect for defect in known.values() if not options.only or defect.id in options.only]
    results = []
    for defect in chosen:
        results.append(_judge(defect, options.cache, options.python or ""))
        print(_line(results[-1]), flush=True)
    _record(options.output, results)
    good = sum(result["ok"] for result in results)
    print(f"{good} of {len(results)} defects are told apart")
    return 0 if good == len(results) else 1


def _judge(defect: Defect, cache: Path | None, python: str) -> dict[str, Any]:
    """Run the defect's law in both environments and say whether it tells them apart."""
    result: dict[str, Any] = {
        "id": defect.id,
        "title": defect.title,
        "law": defect.law,
        "target": defect.target,
    }
    for side, pins in (("faulty", defect.faulty), ("fixed", defect.fixed)):
        try:
            env = builder.environment(
                pins, python=python or defect.python, label=f"{defect.id} {side}", root=cache
            )
            result[side] = _run(defect, env.python, str(builder.suite(cache)))
        except Failed as error:
            result[side] = {"error": str(error)}
        result[side]["pins"] = list(pins)
    faulty, fixed = result["faulty"].get("faces", {}), result["fixed"].get("faces", {})
    ran = {verdict for verdict in fixed.values() if verdict != "not-applicable"}
    seen = set(faulty.values())
    # A fault of LangGraph itself shows on the strict reference too: it is told, and fails nobody's saver.
    told = "engine" in seen or (
        bool(seen & {"broken", "hangs"}) and result["faulty"].get("exit") == 1
    )
    result["ok"] = told and ran == {"holds"}
    return result


def _run(defect: Defect, python: str, suite: str) -> dict[str, Any]:
    """Check the target with the law's group; the verdicts of the law by face, the exit code, a reason."""
    command = [
        python,
        "-m",
        "pytest_lineage",
        "check",
        defect.target,
        "--laws",
        defect.group,
        "--profile",
        "quick",
        "--format",
        "json",
    ]
    if laws.get(defect.law).level is not laws.Level.MUST:
        command.append("--fail-on-should")
    done = builder.call(command, check=False, suite=suite)
    try:
        report = json.loads(done.stdout)
    except ValueError:
        raise Failed(
            f"exit {done.returncode}, no report: {builder.tail(done.stderr or done.stdout)}"
        ) from None
    rows = [row for row in report["laws"] if row["law"] == defect.law]
    reasons = [row["reason"] for row in rows if row["verdict"] in ("broken", "hangs", "engine")]
    return {
        "exit": done.returncode,
        "faces": {row["face"]: row["verdict"] for row in rows},
        "reason": reasons[0] if reasons else "",
        "versions": {
            k: v for k, v in report.get("versions", {}).items() if k.startswith("langgraph")
        },
    }


def _line(result: dict[str, Any]) -> str:
    """One line of the table: id, outcome, law, and what was seen on both sides."""
    sides = []
    for side in ("faulty", "fixed"):
        faces = result[side].get("faces", {})
        seen = sorted(set(faces.values())) or [result[side].get("error", "nothing ran")]
        sides.append(f"{side}: {', '.join(seen)}")
    mark = "ok  " if result["ok"] else "FAIL"
    return f"{result['id']}  {mark}  {result['law']:<45} {'; '.join(sides)}"


def _record(path: Path, results: list[dict[str, Any]]) -> None:
    """Write the results, keeping those of defects that were not asked for."""
    kept: dict[str, Any] = {}
    if path.exists():
        kept = {
            entry["id"]: entry for entry in json.loads(path.read_text(encoding="utf-8"))["results"]
        }
    kept.update((entry["id"], entry) for entry in results)
    data = {"format": 1, "results": [kept[id] for id in sorted(kept)]}
    path.write_text(json.dumps(data, indent=1, ensure_ascii=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
