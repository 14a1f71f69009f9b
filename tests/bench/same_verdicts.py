"""Did a change of the code change what is said? Verdicts, roots and counterexamples of many targets, compared.

    python tests/bench/same_verdicts.py record before.json
    python tests/bench/same_verdicts.py record after.json --only memory rollback
    python tests/bench/same_verdicts.py compare before.json after.json

`record` judges every stock saver that runs here, the reference of each kind, and the faulty savers of `tests/mutants`
on one face each, all with the quick profile. `compare` prints each row that differs and exits with 1 if one does.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

SAVERS = ("memory", "sqlite", "sqlite-async", "postgres", "postgres-async")
KINDS = ("branching", "rollback", "answer", "delta", "transfer")

Rows = dict[str, list[Any]]


def said(row: dict[str, Any]) -> list[Any]:
    """What a row says, without times and counts that depend on the machine."""
    witnesses = (row.get("evidence") or {}).get("witnesses", [])
    return [row["verdict"], row.get("caused_by"), [witness["key"] for witness in witnesses]]


def checked(*words: str) -> Rows:
    """The rows of one `check`, by law and face."""
    command = [sys.executable, "-m", "pytest_lineage", "check", *words, "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True)
    try:
        rows = json.loads(done.stdout)["laws"]
    except (ValueError, KeyError):
        raise SystemExit(f"{' '.join(words)}: {done.stderr or done.stdout}") from None
    return {f"{row['law']}[{row['face']}]": said(row) for row in rows}


def mutants() -> dict[str, Rows]:
    """The rows of every faulty saver."""
    from tests.mutants import kit

    found: dict[str, Rows] = {}
    for mutant in kit.load():
        with mutant.around():
            outcomes = kit.judge_all(mutant.make, mutant.face)
        found[f"mutant {mutant.kills} {mutant.name}"] = {
            row.law: [row.verdict, row.caused_by, []] for row in kit.rows_of(outcomes, mutant.face)
        }
    return found


def record(only: list[str]) -> dict[str, Rows]:
    """Everything that is compared, by name."""
    wanted = set(only) or {*SAVERS, *KINDS, "mutants"}
    found: dict[str, Rows] = {}
    for name in SAVERS:
        if name in wanted:
            found[name] = checked(name)
            print(name, len(found[name]), file=sys.stderr, flush=True)
    for kind in KINDS:
        if kind in wanted:
            found[kind] = checked("reference", "--kind", kind)
            print(kind, len(found[kind]), file=sys.stderr, flush=True)
    if "mutants" in wanted:
        found.update(mutants())
    return found


def differences(before: dict[str, Rows], after: dict[str, Rows]) -> list[str]:
    """A line for each row that is in both and differs, or that is missing in one."""
    lines = []
    for name in before.keys() & after.keys():
        for law in sorted(before[name].keys() | after[name].keys()):
            old, new = before[name].get(law), after[name].get(law)
            if old != new:
                lines.append(f"{name}: {law}: {json.dumps(old)} -> {json.dumps(new)}")
    return sorted(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record")
    recording.add_argument("file", type=Path)
    recording.add_argument("--only", nargs="+", default=[])
    comparing = commands.add_parser("compare")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    asked = parser.parse_args()
    if asked.command == "record":
        asked.file.write_text(json.dumps(record(asked.only), indent=1), encoding="utf-8")
        return 0
    before, after = (json.loads(file.read_text("utf-8")) for file in (asked.before, asked.after))
    lines = differences(before, after)
    print("\n".join(lines) or f"{len(before.keys() & after.keys())} targets, the same rows")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
