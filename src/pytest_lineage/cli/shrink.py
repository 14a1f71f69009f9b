"""Go on making a saved program smaller, and save what is found.

`check` stops shrinking after 200 replays; this goes on for as many as asked.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_lineage.cli import replay
from pytest_lineage.cli.common import UsageError, add_format, note

if TYPE_CHECKING:
    from lineage_conformance.law import Law
    from pytest_lineage.known.saved import Saved
    from pytest_lineage.run.engine import TargetRun
    from pytest_lineage.run.rows import Row

EPILOG = """\
exit codes: 0 a smaller program was found and saved, or it is as small as it gets; 1 the program shows nothing
any more; 2 wrong usage, or it cannot run here; 3 a fault of this suite.
"""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("program", metavar="ID|FILE", help="a saved program, by its id or its file")
    parser.add_argument(
        "--limit", type=int, default=2000, metavar="N", help="replays to spend (2000)"
    )
    replay.where_to_run(parser)
    add_format(parser, "pretty", "json")


def run(options: argparse.Namespace) -> int:
    """Shrink the program; save and print the result."""
    from pathlib import Path

    from pytest_lineage.known import saved as failures

    if options.limit < 1:
        raise UsageError(f"--limit must be at least 1, not {options.limit}")
    file = failures.find(options.program)
    original = failures.read(file)
    saved = failures.located(original, file)
    law = replay.the_law(saved)
    target = replay.opened(saved, options)
    try:
        about = replay.start(target)
        face = replay.faces(saved, options, about)[0]
        first = replay.once(target, law, face, saved.program)
        if first.verdict not in failures.BAD:
            note(
                f"{saved.id} shows nothing on {about['name']} [{face}]: {first.verdict} {first.reason}"
            )
            return 1 if first.verdict in ("holds", "refused") else 2
        smallest, row, tried = smaller(target, law, face, saved, first, options.limit)
    except replay.Fault as error:
        note(f"a fault of this suite, please report it: {error}")
        return 3
    finally:
        target.close()
    made = original
    if smallest != saved.program:
        made = replace(
            original, program=smallest, faces=(face,), verdict=row.verdict, reason=row.reason,
            differences=(row.evidence or {}).get("differences") or (),
        )  # fmt: skip
        home = file.resolve().parent
        below = home.parent.name == failures.HOME
        failures.write(
            [made],
            home.parents[1] if below else Path.cwd(),
            home.name if below else failures.FOLDER,
        )
    _show(options.format, saved, made, tried)
    return 0


def smaller(
    target: TargetRun, law: Law, face: str, saved: Saved, first: Row, limit: int
) -> tuple[dict[str, Any], Row, int]:
    """The smallest program that shows the same, the row it gives, and how many were tried.

    A program that hangs costs the time limit of an operation and a new worker at each step that keeps it.
    """
    from lineage_conformance import shrink

    best = {"row": first, "tried": 0}

    def still(candidate: Any) -> bool:
        best["tried"] += 1  # type: ignore[operator]
        row = replay.once(target, law, face, candidate.to_json())
        if _shown(row) != _shown(first):
            return False
        best["row"] = row
        return True

    case = shrink.shrink(law.decode(saved.program), still, limit)
    made = json.loads(json.dumps(case.to_json(), default=repr))
    kept = {key: value for key, value in saved.program.items() if key != "origin"}
    if {k: v for k, v in made.items() if k != "origin"} == kept:
        made = dict(saved.program)
    return made, best["row"], best["tried"]  # type: ignore[return-value]


def _shown(row: Row) -> tuple[str, ...]:
    """What makes two rows the same breach: the operation, the field, and how it went wrong."""
    difference = ((row.evidence or {}).get("differences") or [{}])[0]
    kind, _, path = str(difference.get("at", "")).partition(":")
    error = str(difference.get("got")).partition(":")[0] if path == "raises" else ""
    return (row.verdict, kind, *path.split(".")[:2], error)


def _show(form: str, before: Saved, after: Saved, tried: int) -> None:
    from lineage_conformance.kinds.saver.program import Program, render

    sizes = [len(item.program.get("ops") or item.program) for item in (before, after)]
    if form == "json":
        print(
            json.dumps(
                {"id": after.id, "was": before.id, "tried": tried, "program": after.program},
                indent=2,
            )
        )
        return
    if after.program == before.program:
        print(f"{before.id} is as small as {tried} replays can make it")
    else:
        print(
            f"{before.id} became {after.id}: {sizes[0]} operations before, {sizes[1]} now ({tried} replays)"
        )
    try:
        print("\n" + render(Program.from_json(after.program)))
    except (ValueError, TypeError, KeyError):
        print("\n" + json.dumps(after.program, indent=2))
