"""Check the harness before the laws: can the target be opened, written, read, reopened and closed?

Says what it found, step by step, and stops at the first step that fails. The steps: open the target (a
worker process), see that it is empty, name its faces and optional operations, and judge one simple law on each
face: of a saver, that one checkpoint is put and read.
"""

from __future__ import annotations

import argparse

from lineage_conformance import kinds
from lineage_conformance import law as laws
from lineage_conformance.kinds import KINDS, USUAL
from pytest_lineage.cli.common import note
from pytest_lineage.run.engine import Options, SuiteFault, TargetRun, Unusable, default_path


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("targets", nargs="+", metavar="TARGET")
    parser.add_argument("--kind", choices=KINDS, default=USUAL)
    parser.add_argument(
        "--over", default="", metavar="TARGET",
        help="with a kind that is built on a saver: the saver under `reference`",
    )  # fmt: skip
    parser.add_argument(
        "--allow-nonempty", action="store_true", help="accept a target that holds data"
    )


def run(options: argparse.Namespace) -> int:
    """Smoke every target; the worst exit code."""
    return max((_smoke(text, options) for text in options.targets), default=2)


def _smoke(text: str, options: argparse.Namespace) -> int:
    settings = Options(
        kind=options.kind,
        over=options.over,
        allow_nonempty=options.allow_nonempty,
        path=default_path(),
    )
    target = TargetRun(text, settings)
    try:
        about = target.start()
        empty = "" if options.allow_nonempty else ", and it is empty"
        print(f"{about['name']}: opened {about['class']}{empty}")
        print(f"  faces: {', '.join(about['faces'])}")
        for face, reason in about["absent"].items():
            print(f"  no {face}: {' '.join(reason.split())}")
        kind = kinds.get(options.kind)
        optional = kind.optional("sync")
        for half, missing in about["capabilities"].items():
            have = [name for name in optional if name not in missing]
            if optional and not about["absent"].get(half):
                print(f"  {half} optional operations: {', '.join(have) or 'none'}")
        store = "takes a store: reopening and second handles are tested"
        print(f"  {store if about['store'] else 'takes no store: cannot be opened twice'}")
        if about.get("postgres"):
            print(f"  {about['postgres']}")
        code = 0
        law = laws.get(kind.first)
        what = kind.shows or law.id
        for face in about["faces"]:
            row = target.judge(law, face)
            print(f"  {what}, {face}: {row.verdict} {' '.join(row.reason.split())}".rstrip())
            code = max(code, 0 if row.verdict == "holds" else 1)
        return code
    except Unusable as error:
        note(f"error: {error}")
        return 2
    except SuiteFault as error:
        note(f"a fault of this suite, please report it: {error}")
        return 3
    finally:
        target.close()
