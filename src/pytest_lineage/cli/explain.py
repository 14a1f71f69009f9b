"""Explain a law: what it says, where it comes from, how it is checked.

With --kind alone: the protocol that a target of that kind implements.
"""

from __future__ import annotations

import argparse
import inspect
import json
import textwrap

from lineage_conformance import contracts
from lineage_conformance import law as laws
from lineage_conformance.law import Law
from lineage_conformance.program import render
from pytest_lineage.cli.common import UsageError, add_format
from pytest_lineage.cli.laws import as_json
from pytest_lineage.targets import KINDS


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
        print(protocol(options.kind))
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
        origin = f" ({program.origin})" if program.origin else ""
        lines += ["", f"program {number} of {len(item.programs)}{origin}:"]
        lines += textwrap.indent(render(program), "    ").splitlines()
    if item.focus:
        lines += [
            "",
            f"Profiles default and deep add generated programs of the focus {item.focus!r}.",
        ]
    return "\n".join(lines)


def protocol(kind: str) -> str:
    """The protocol of a kind: its own documentation, then every method with its signature."""
    parts: list[str] = []
    for cls in contracts.protocols(kind):
        module = inspect.getmodule(cls)
        if not parts and module is not None:
            parts.append(inspect.cleandoc(module.__doc__ or ""))
        parts.append(f"class {cls.__name__}: {inspect.getdoc(cls)}")
        for name, method in vars(cls).items():
            if inspect.isfunction(method) and not name.startswith("_"):
                word = "async def" if inspect.iscoroutinefunction(method) else "def"
                parts.append(f"{word} {name}{_signature(method)}\n    {inspect.getdoc(method)}")
    return "\n\n".join(parts)


def _signature(method: object) -> str:
    return str(inspect.signature(method)).replace("'", "")  # type: ignore[arg-type]
