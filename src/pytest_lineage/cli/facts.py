"""Print the facts: the observed behaviour of this environment and of a saver in it, a fingerprint.

With --lock the values are pinned in facts.lock, and `pytest-lineage bump` fails when one of them changes; delete
the lines that you do not care about. With --check, exit 1 if the values differ from the pinned ones.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from pytest_lineage.cli.common import UsageError, add_format, note, writable


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--target", action="append", default=[], metavar="TARGET",
                        help="the saver that is asked (repeatable; default: memory)")  # fmt: skip
    parser.add_argument(
        "--allow-nonempty", action="store_true", help="accept a target that holds data"
    )
    add_format(parser, "pretty", "json")
    parser.add_argument("--lock", nargs="?", const="facts.lock", metavar="FILE",
                        help="pin the values in this file (facts.lock)")  # fmt: skip
    parser.add_argument("--check", nargs="?", const="facts.lock", metavar="FILE",
                        help="compare with the values that are pinned in this file (facts.lock)")  # fmt: skip


def run(options: argparse.Namespace) -> int:
    """Observe each target; print, pin or compare; the exit code."""
    from pytest_lineage.environments import fingerprint
    from pytest_lineage.run.engine import Postgres, SuiteFault, Unusable

    if options.lock and options.check:
        raise UsageError("--lock and --check exclude each other")
    pinned = _pinned(options.check)
    if options.lock and not Path(options.lock).exists():
        writable(options.lock, "--lock")
    postgres = Postgres()
    made = []
    try:
        for text in options.target or ["memory"]:
            made.append(_take(text, options, postgres))
    except Unusable as error:
        note(f"error: {error}")
        return 2
    except SuiteFault as error:
        note(f"a fault of this suite, please report it: {error}")
        return 3
    finally:
        postgres.close()
    if options.lock:
        lock = Path(options.lock)
        if lock.exists() and not lock.stat().st_size:
            lock.unlink()
        try:
            fingerprint.lock(lock, made)
        except (fingerprint.LockError, OSError) as error:
            raise UsageError(f"--lock: {error}") from None
    if options.format == "json":
        print(json.dumps(made[0] if len(made) == 1 else {"targets": made}, indent=2))
    elif not options.check:
        for one in made:
            _print(one)
    if options.lock:
        note(f"pinned {sum(len(one['facts']) for one in made)} facts in {options.lock}")
    return _compare(made, pinned) if options.check else 0


def _take(text: str, options: argparse.Namespace, postgres: Any) -> Any:
    from pytest_lineage.environments import fingerprint
    from pytest_lineage.run.engine import Options, TargetRun, default_path

    settings = Options(allow_nonempty=options.allow_nonempty, path=default_path())
    target = TargetRun(text, settings, postgres)
    try:
        return fingerprint.take(target)
    finally:
        target.close()


def _pinned(path: str | None) -> dict[str, dict[str, Any]]:
    from pytest_lineage.environments import fingerprint

    try:
        return fingerprint.read_lock(Path(path)) if path else {}
    except fingerprint.LockError as error:
        raise UsageError(f"--check {error}") from None


def _compare(made: list[Any], pinned: dict[str, dict[str, Any]]) -> int:
    from pytest_lineage.environments import fingerprint

    code = 0
    for one in made:
        if one["target"] not in pinned:
            raise UsageError(f"no facts of {one['target']} are pinned; pin them with --lock")
        different = fingerprint.against(one, pinned[one["target"]])
        for id, want, got in different:
            note(
                f"{one['target']}: {id} was {fingerprint.shown(want)}, is {fingerprint.shown(got)}"
            )
        note(
            f"{one['target']}: {len(different)} of {len(pinned[one['target']])} pinned facts differ"
        )
        code = 1 if different else code
    return code


def _print(made: Any) -> None:
    from pytest_lineage.environments.fingerprint import shown

    installed = ", ".join(
        f"{k} {v}" for k, v in made["versions"].items() if k.startswith("langgraph")
    )
    print(f"{made['target']} ({made['class']}), Python {made['python']}, {installed}\n")
    group = ""
    for entry in made["facts"]:
        if entry["id"].partition(".")[0] != group:
            group = entry["id"].partition(".")[0]
            print(group)
        print(f"  {entry['id'].partition('.')[2]:38} {shown(entry['value'], 78)}")
    print(f"\n{len(made['facts'])} facts in {made['seconds']:.1f} s")
