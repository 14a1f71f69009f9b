"""The pairs of releases that the bump gate is judged by: ``python -m tests.bench.bump_pairs [--only N] [--write]``.

Each pair is a bump that is known to change something; the last is a bump of nothing, ten times. What `bump` says about
each is put into ``bump_pairs.json`` beside this file, with the seconds of processor time that it took.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_suffix(".json")
CURRENT = "langgraph==1.2.24,langgraph-checkpoint==4.3.2,langgraph-checkpoint-sqlite==3.1.2"
NOTHING = "nothing"
PAIRS: dict[str, tuple[str, str, str]] = {
    "langgraph 0.6.8 -> 0.6.10": (
        "langgraph==0.6.8,langgraph-checkpoint==2.1.2,langgraph-checkpoint-sqlite==2.0.11",
        "langgraph==0.6.10,langgraph-checkpoint==2.1.2,langgraph-checkpoint-sqlite==2.0.11", "sqlite"),
    "langgraph 1.0.2 -> 1.0.3": (
        "langgraph==1.0.2,langgraph-checkpoint==3.0.1,langgraph-checkpoint-sqlite==3.0.3",
        "langgraph==1.0.3,langgraph-checkpoint==3.0.1,langgraph-checkpoint-sqlite==3.0.3", "sqlite"),
    "langgraph 1.2.2 -> 1.2.5": (
        "langgraph==1.2.2,langgraph-checkpoint==4.2.0,langgraph-checkpoint-sqlite==3.1.1",
        "langgraph==1.2.5,langgraph-checkpoint==4.2.0,langgraph-checkpoint-sqlite==3.1.1", "sqlite"),
    "langgraph 1.2.12 -> 1.2.24": (
        "langgraph==1.2.12,langgraph-checkpoint==4.2.0,langgraph-checkpoint-sqlite==3.1.1",
        "langgraph==1.2.24,langgraph-checkpoint==4.3.2,langgraph-checkpoint-sqlite==3.1.1", "sqlite"),
    "langgraph-checkpoint-sqlite 3.1.1 -> 3.1.2": (
        "langgraph==1.2.24,langgraph-checkpoint==4.3.2,langgraph-checkpoint-sqlite==3.1.1", CURRENT, "sqlite"),
    "langgraph-checkpoint-postgres 3.1.2 -> 3.1.3": (
        "langgraph==1.2.24,langgraph-checkpoint==4.3.2,langgraph-checkpoint-postgres==3.1.2,psycopg[binary]==3.3.9",
        "langgraph==1.2.24,langgraph-checkpoint==4.3.2,langgraph-checkpoint-postgres==3.1.3,psycopg[binary]==3.3.9",
        "postgres"),
    NOTHING: (CURRENT, CURRENT, "sqlite"),
}  # fmt: skip


def main() -> int:
    """Run the pairs that were asked for, print a summary of each, write the results if asked to."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only", type=int, action="append", default=[], help="only pair number N (from 1)"
    )
    parser.add_argument("--times", type=int, default=10, help="how often nothing is bumped (10)")
    parser.add_argument(
        "--references", action="store_true", help="run the references of other kinds too"
    )
    parser.add_argument("--write", action="store_true", help=f"put the results into {FILE.name}")
    options = parser.parse_args()
    results: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    for number, (name, pair) in enumerate(PAIRS.items(), 1):
        if options.only and number not in options.only:
            continue
        runs = [
            _bump(*pair, options.references) for _ in range(options.times if name == NOTHING else 1)
        ]
        results[name] = runs[0] if name != NOTHING else {"times": len(runs), "runs": runs}
        print(json.dumps({name: results[name]}, indent=1), flush=True)
        if options.write:
            FILE.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return 0


def _bump(old: str, new: str, target: str, references: bool) -> dict[str, Any]:
    command = [sys.executable, "-m", "pytest_lineage", "bump", "--from", old, "--to", new, "--target", target,
               "--format", "json", *([] if references else ["--no-references"])]  # fmt: skip
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        data = json.loads(done.stdout)
    except ValueError:
        return {"exit": done.returncode, "error": done.stderr[-500:]}
    changed: dict[str, list[str]] = {}
    for found in data["laws"].values():
        for change in found["changes"]:
            if change["kind"] != "still":
                where = f"{change['law']}[{', '.join(change['faces'])}]"
                changed.setdefault(change["kind"], []).append(where)
    return {
        "exit": done.returncode,
        "packages": [f"{c['name']} {c['old']} -> {c['new']}" for c in data["changes"]],
        "laws": changed,
        "facts": [flip["id"] for flip in data["facts"]["flipped"]],
        "handover": [f"{loss['plan']}: {loss['story']}" for loss in data["handover"]["losses"]],
        "unsteady": data["unsteady"],
        "notes": data["notes"],
        "seconds": round(time.monotonic() - begin, 1),
        "processor_seconds": round(
            after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 1
        ),
    }


if __name__ == "__main__":
    sys.exit(main())
