"""Explain a law: what it says, where it comes from, how it is checked.

With --kind alone: all that somebody needs who writes a target of that kind: how its factory is called, every
method of both halves, records, codes and states, and the laws. It is Python, and can be started from.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import textwrap
from collections.abc import Iterator
from typing import Any

from lineage_conformance import kinds
from lineage_conformance import law as laws
from lineage_conformance.handles import HALVES
from lineage_conformance.kinds import KINDS
from lineage_conformance.kinds.graph.scenario import Scenario
from lineage_conformance.kinds.saver.program import Program
from lineage_conformance.law import Law
from lineage_conformance.page import described, page
from pytest_lineage.cli.common import UsageError, add_format
from pytest_lineage.cli.laws import as_json
from pytest_lineage.report.evidence import steps
from pytest_lineage.report.style import Style


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("law", nargs="?", metavar="LAW", help="the id of a law")
    parser.add_argument("--kind", choices=KINDS, help="print the protocol of a kind of target")
    add_format(parser, "pretty", "json")


def run(options: argparse.Namespace) -> int:
    """Print the explanation."""
    if options.law is None:
        if options.kind is None:
            raise UsageError("name a law, or a kind: pytest-lineage explain --kind saver")
        print(_kind_as_json(options.kind) if options.format == "json" else protocol(options.kind))
        return 0
    try:
        item = laws.get(options.law)
    except KeyError as error:
        raise UsageError(str(error.args[0])) from None
    if options.format == "json":
        programs = [program.to_json() for program in item.programs]
        print(json.dumps({**as_json(item), "programs": programs}, indent=2, default=repr))
    else:
        print(pretty(item))
    return 0


def pretty(item: Law) -> str:
    """Everything about a law, for people."""
    lines = [f"{item.id}  ({item.level.value}, kind {item.kind})", ""]
    lines += [*textwrap.wrap(item.sentence, 88), ""]
    facts = [
        ("where it comes from", item.source),
        ("what a breach means", item.meaning),
        ("at stake", item.stake.words),
        ("versions", ", ".join(item.versions) or "all"),
        ("needs", ", ".join(item.needs)),
        ("not promised under", ", ".join(item.limits)),
        ("explained by", ", ".join(item.after)),
        ("public reports", ", ".join(item.reports)),
        ("applies here", item.not_applicable() or "yes"),
    ]
    for name, text in facts:
        if text:
            wrapped = textwrap.wrap(text, 66) or [""]
            lines.append(f"{name:>20}: {wrapped[0]}")
            lines += [" " * 22 + more for more in wrapped[1:]]
    for number, program in enumerate(item.programs, 1):
        origin = f" ({program.origin})" if getattr(program, "origin", "") else ""
        lines += ["", f"program {number} of {len(item.programs)}{origin}:"]
        lines += steps(program.to_json(), Style(88)) or ["    (everything as usual, see below)"]
    classes = list(dict.fromkeys(cls for program in item.programs for cls in _classes(program)))
    if classes:
        lines += [
            "",
            "how to read them:",
            *textwrap.indent(described(classes), "    ").splitlines(),
        ]
    if item.focus:
        lines += [
            "",
            f"Profiles default and deep add generated programs of the focus {item.focus!r}.",
        ]
    return "\n".join(lines)


def _classes(case: Any) -> Iterator[type]:
    """What says how a case of its own form is read: its class, and that of its steps."""
    if isinstance(case, (Program, Scenario)):
        return
    yield type(case)
    for field in dataclasses.fields(case):
        value = getattr(case, field.name)
        for item in value if isinstance(value, tuple) else ():
            if dataclasses.is_dataclass(item):
                yield type(item)


def protocol(kind: str) -> str:
    """The page of a kind, then the sentences that a target of it is held to."""
    listed = []
    for item in laws.all_laws(kind):
        text = textwrap.fill(item.sentence, 94, initial_indent="#     ", subsequent_indent="#     ")
        listed += [f"# {item.level.value:6} {item.id}", text]
    return "\n".join([page(kinds.get(kind)), "", "# The laws", "#", *listed])


def _kind_as_json(kind: str) -> str:
    record = kinds.get(kind)
    made: dict[str, Any] = {"kind": kind}
    for half in HALVES:
        made[half] = {"required": record.required(half), "optional": record.optional(half)}
    made["page"] = page(record)
    made["laws"] = [item.id for item in laws.all_laws(kind)]
    return json.dumps(made, indent=2)
