"""Keep the file of known failures: add what is broken today, take out what is fixed, list what there is.

A known failure carries a reason and may carry an end. It does not fail a run while it happens, and does as
soon as it no longer happens, is past its end, or matches nothing.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_lineage.cli.common import UsageError, add_format, note

if TYPE_CHECKING:
    from pytest_lineage.known.file import Entry, KnownFile
    from pytest_lineage.known.saved import Saved

EPILOG = """\
exit codes: 0 done, and nothing is wrong with the file; 1 entries are past their end or match nothing;
2 wrong usage, or the file cannot be read or written.
"""
KINDS = ("bug", "unsupported", "contract-dispute")


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    actions = parser.add_subparsers(dest="action", metavar="add|prune|list", required=True)
    add = actions.add_parser("add", help="add failures that were saved by a run")
    add.add_argument("programs", nargs="*", metavar="ID|FILE", help="saved programs")
    add.add_argument(
        "--from", dest="report", metavar="REPORT", help="every broken law of a report (.jsonl)"
    )
    add.add_argument("--kind", choices=KINDS, required=True, help="what sort of failure it is")
    add.add_argument("--reason", required=True, metavar="TEXT", help="why it is known")
    add.add_argument("--link", default="", metavar="URL", help="where it is tracked")
    add.add_argument("--until", default="", metavar="DATE|VERSION",
                     help="when the entry ends: 2027-06-30, a version of the target's package, "
                     "or package>=version")  # fmt: skip
    prune = actions.add_parser("prune", help="take out entries whose failure no longer happens")
    prune.add_argument("--from", dest="report", metavar="REPORT",
                       help="believe a report (verdict fixed) instead of running the programs")  # fmt: skip
    prune.add_argument(
        "--dry-run", action="store_true", help="say what would be taken out, change nothing"
    )
    show = actions.add_parser("list", help="list the entries and what is wrong with them")
    add_format(show, "pretty", "json", "markdown")
    for each in (add, prune, show):
        each.add_argument("--known", metavar="FILE", default="lineage-known.toml",
                          help="the file (default: lineage-known.toml)")  # fmt: skip


def run(options: argparse.Namespace) -> int:
    """Carry out the action."""
    actions = {"add": _add, "prune": _prune, "list": _list}
    return actions[options.action](options)


# -- add ---------------------------------------------------------------------------------------------


def _add(options: argparse.Namespace) -> int:
    from pytest_lineage.known import edit as known_edit
    from pytest_lineage.known import file as known
    from pytest_lineage.known import saved as failures

    names = [*options.programs, *(_from_report(options.report) if options.report else ())]
    if not names:
        raise UsageError("name saved programs by their ids, or give --from REPORT")
    if not options.reason.strip():
        raise UsageError("--reason must say why the failure is known")
    path = Path(options.known)
    home = path.resolve().parent
    there = known.read(path) if path.exists() else known.KnownFile(path)
    entries: list[Entry] = []
    programs: list[Saved] = []
    for name in names:
        saved = failures.read(failures.find(name))
        entry = known.Entry(
            saved.name,
            saved.law,
            options.kind,
            options.reason.strip(),
            options.link,
            options.until,
            saved.id,
        )
        if any(e.program == saved.id for e in (*there.entries, *entries)):
            note(f"{saved.id} is known already")
            continue
        entries.append(entry)
        programs.append(saved)
    if not entries:
        return 0
    known_edit.add(path, entries)
    failures.write(programs, home, failures.KEPT)
    for entry in entries:
        print(f"added {entry.law} of {entry.target} ({entry.program})")
    print(f"\nCommit {path} and {failures.HOME}/{failures.KEPT}/.")
    return 0


def _from_report(path: str) -> list[str]:
    """Ids of the programs of everything broken in a report, each once."""
    from pytest_lineage.report import jsonl

    bad = [row for row in jsonl.read(path)["laws"] if row["verdict"] in ("broken", "hangs")]
    lost = {row["law"] for row in bad if not row.get("program_id")}
    for law in sorted(lost):
        note(f"{law} left no program; write its entry by hand")
    return list(dict.fromkeys(str(row["program_id"]) for row in bad if row.get("program_id")))


# -- prune -------------------------------------------------------------------------------------------


def _prune(options: argparse.Namespace) -> int:
    from pytest_lineage.known import edit as known_edit
    from pytest_lineage.known import file as known

    path = Path(options.known)
    there = known.read(path)
    gone = _told_fixed(there, options.report) if options.report else _found_fixed(there)
    for entry in gone:
        print(
            f"{'would take' if options.dry_run else 'took'} out {entry.law} of {entry.target}: {entry.reason}"
        )
    if gone and not options.dry_run:
        after = known_edit.remove(path, gone)
        used = {entry.program for entry in after.entries}
        for entry in gone:
            if entry.program and entry.program not in used:
                (there.programs / f"{entry.program}.json").unlink(missing_ok=True)
    print(f"{len(gone)} of {len(there.entries)} entries no longer happen")
    return 0


def _told_fixed(there: KnownFile, report: str) -> list[Entry]:
    """Entries that a report calls fixed on every face that said anything."""
    from pytest_lineage.report import jsonl

    rows = jsonl.read(report)["laws"]
    told: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        told.setdefault((row["target"], row["law"]), set()).add(row["verdict"])
    good = {"fixed", "holds", "refused", "not-applicable"}
    return [
        entry
        for entry in there.entries
        if "fixed" in (verdicts := told.get((entry.target, entry.law), set())) and verdicts <= good
    ]


def _found_fixed(there: KnownFile) -> list[Entry]:
    """Entries whose program, run now on the target, shows nothing on any face."""
    from pytest_lineage.known.ratchet import Ratchet

    ratchet = Ratchet(there)
    for problem in ratchet.problems:
        note(f"left alone: {problem}")
    gone = []
    for entry in there.entries:
        if entry.program and entry.program not in ratchet.programs:
            continue
        found = _happens(entry, there)
        if found is False:
            gone.append(entry)
    return gone


def _happens(entry: Entry, there: KnownFile) -> bool | None:
    """Whether a known failure happens now; None if that cannot be told."""
    from lineage_conformance import law as laws
    from pytest_lineage.known import saved as failures
    from pytest_lineage.run import engine

    text, kind, over, path = entry.target, "saver", "", tuple[str, ...]()
    program = None
    if entry.program:
        file = there.programs / f"{entry.program}.json"
        file = file if file.is_file() else failures.find(entry.program)
        saved = failures.located(failures.read(file), file)
        text, kind, over, path, program = (
            saved.target,
            saved.kind,
            saved.over,
            saved.path,
            saved.program,
        )
    settings = engine.Options(kind=kind, over=over, path=(*path, *engine.default_path()))
    run = engine.TargetRun(text, settings)
    try:
        law = laws.get(entry.law)
        about = run.start()
        verdicts = set()
        for face in entry.faces or about["faces"]:
            row = run.replay(law, face, program) if program is not None else run.judge(law, face)
            verdicts.add(row.verdict)
            if row.verdict in failures.BAD:
                return True
        return False if verdicts & {"holds", "refused"} else None
    except (KeyError, engine.Unusable, engine.SuiteFault) as error:
        note(f"left alone: {entry.law} of {entry.target}: {error}")
        return None
    finally:
        run.close()


# -- list --------------------------------------------------------------------------------------------


def _list(options: argparse.Namespace) -> int:
    from pytest_lineage.known import file as known
    from pytest_lineage.known.ratchet import Ratchet

    there = known.read(options.known)
    ratchet = Ratchet(there)
    if options.format == "json":
        print(
            json.dumps(
                {"known": [_data(e) for e in there.entries], "problems": ratchet.problems}, indent=2
            )
        )
    elif options.format == "markdown":
        print(_markdown(there, ratchet.problems))
    else:
        print(_pretty(there, ratchet.problems))
    return 1 if ratchet.problems else 0


def _data(entry: Entry) -> dict[str, Any]:
    from dataclasses import asdict

    return {key: value for key, value in asdict(entry).items() if value}


def _pretty(there: KnownFile, problems: list[str]) -> str:
    from pytest_lineage.report.style import Style, safe

    style = Style.detect()
    lines: list[str] = []
    for entry in there.entries:
        faces = f"[{', '.join(entry.faces)}]" if entry.faces else ""
        lines += style.wrap(style.paint(safe(f"{entry.target}: {entry.law}{faces}"), "bold"), "  ")
        lines += style.wrap(safe(entry.says()), "    ", "    ")
        if entry.program:
            lines.append(f"    pytest-lineage replay {safe(entry.program)}")
    lines += [
        style.paint(line, "red")
        for text in problems
        for line in style.wrap(f"error: {safe(text)}", "    ")
    ]
    lines.append(f"{len(there.entries)} known failures in {safe(str(there.path))}")
    return "\n".join(style.plain(line) for line in lines)


def _markdown(there: KnownFile, problems: list[str]) -> str:
    from pytest_lineage.report.markdown import code, escape

    lines = ["| target | law | kind | reason | link | until |", "|---|---|---|---|---|---|"]
    for e in there.entries:
        cells = (
            code(e.target),
            code(e.law),
            e.kind,
            escape(e.reason),
            escape(e.link),
            escape(e.until),
        )
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join([*lines, *(f"\n❌ {escape(text)}" for text in problems)])
