"""Several reports as one: many targets, or one target on many stacks, side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_lineage.report import gist, roots
from pytest_lineage.report.style import Style, clip, columns, pad, safe

Source = tuple[str, Mapping[str, Any]]
"""A name for a report (its file), and the report."""

ALIKE = (
    ("kind", "saver", "are about targets of different kinds"),
    ("profile", "?", "ran different profiles"),
)
CODES = (2, 3, 1, 4, 0)
"""Exit codes, the one that counts first."""

MOST = 60
"""Laws that are listed for people."""

SIGNS = {"broken": "✗", "hangs": "✗", "lesser": "!", "known": "k", "fixed": "f", "engine": "e",
         "inconclusive": "?", "holds": "✓", "refused": "✓", "not-applicable": "·"}  # fmt: skip
COLORS = {"✗": "red", "!": "yellow", "f": "yellow", "?": "yellow", "e": "yellow", "✓": "green"}


class Unlike(Exception):
    """Reports that cannot stand side by side. The message says why."""


def combine(sources: Sequence[Source]) -> dict[str, Any]:
    """One document of several. Raises `Unlike` if they were not made by the same suite in the same way.

    A target that is in several reports is told apart by the versions of packages that differ, else by the
    names of the reports. Versions that differ stand with each target.
    """
    _must_be_alike(sources)
    documents = [document for _, document in sources]
    versions = [{"Python": str(d.get("python", "?")), **d["versions"]} for d in documents]
    names = dict.fromkeys(name for each in versions for name in each)
    apart = [n for n in names if len({each.get(n) for each in versions}) > 1]
    many = Counter(target["name"] for d in documents for target in d["targets"])
    targets: list[dict[str, Any]] = []
    rows: list[dict[str, Any]] = []
    used: set[str] = set()
    for (source, document), own in zip(sources, versions, strict=True):
        for target in document["targets"]:
            old = target["name"]
            new = _named(old, source, {n: own[n] for n in apart if n in own}, many[old] > 1, used)
            shown = {**(target.get("versions") or {}), **{n: own[n] for n in apart if n in own}}
            targets.append({**target, "name": new, **({"versions": shown} if shown else {})})
            rows += [{**row, "target": new} for row in document["laws"] if row["target"] == old]
    first = documents[0]
    made = {
        **{
            key: value
            for key, value in first.items()
            if key not in ("known", "targets", "laws", "versions")
        },
        "python": _same(documents, "python"),
        "platform": _same(documents, "platform"),
        "versions": {n: v for n, v in first["versions"].items() if n not in apart},
        "targets": targets,
        "laws": rows,
        "summary": _summary(rows),
        "exit_code": next(
            c for c in CODES if c == 0 or any(d["exit_code"] == c for d in documents)
        ),
    }
    problems = [p for d in documents for p in (d.get("known") or {}).get("problems", ())]
    if problems:
        made["known"] = {"file": "lineage-known.toml", "problems": list(dict.fromkeys(problems))}
    return made


def _must_be_alike(sources: Sequence[Source]) -> None:
    name, first = sources[0]
    suite = first.get("suite") or {}
    laws = _laws(first)
    for other, document in sources[1:]:
        theirs = document.get("suite") or {}
        if theirs.get("version") != suite.get("version"):
            raise Unlike(
                f"{name} was made by pytest-lineage {suite.get('version', '?')}, {other} by "
                f"{theirs.get('version', '?')}: their laws are not the same"
            )
        for key, default, words in ALIKE:
            if document.get(key, default) != first.get(key, default):
                raise Unlike(
                    f"{name} and {other} {words} ({first.get(key, default)}, {document.get(key, default)})"
                )
        found = _laws(document)
        if not laws or not found:  # no target could be used: there is nothing to compare
            laws = laws or found
            continue
        missing = [law for law in (*laws, *found) if law not in laws or law not in found]
        if missing:
            raise Unlike(
                f"{name} and {other} judged different laws, first {missing[0]}: one was narrowed with --laws"
            )
        changed = [law for law in laws if laws[law] != found[law]]
        if changed:
            raise Unlike(f"{name} and {other} disagree about the level of {changed[0]}")


def _laws(document: Mapping[str, Any]) -> dict[str, str]:
    return {row["law"]: row["level"] for row in document["laws"]}


def _named(
    name: str, source: str, versions: Mapping[str, str], several: bool, used: set[str]
) -> str:
    made = name
    if several:
        told = ", ".join(f"{package} {version}" for package, version in list(versions.items())[:3])
        made = f"{name} ({told or source})"
        if made in used:
            made = f"{name} ({source})"
    if made in used:
        raise Unlike(f"{name} is in {source} and in another report of the same name and versions")
    used.add(made)
    return made


def _same(documents: Sequence[Mapping[str, Any]], key: str) -> str:
    found = list(dict.fromkeys(str(document.get(key, "?")) for document in documents))
    return found[0] if len(found) == 1 else " and ".join(found[:4])


def _summary(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    groups: dict[str, dict[str, dict[str, int]]] = {}
    for row in rows:
        counts = groups.setdefault(row["target"], {}).setdefault(row["group"], {})
        counts[row["verdict"]] = counts.get(row["verdict"], 0) + 1
    return {"verdicts": dict(Counter(row["verdict"] for row in rows)), "groups": groups}


# -- showing -----------------------------------------------------------------------------------------


def telling(document: Mapping[str, Any]) -> tuple[list[str], dict[tuple[str, str], str]]:
    """Laws about which the targets differ or that some target breaks, and a sign for each law and target."""
    found: dict[tuple[str, str], list[roots.Row]] = {}
    for row in document["laws"]:
        found.setdefault((row["law"], row["target"]), []).append(row)
    signs = {key: _sign(rows) for key, rows in found.items()}
    laws = dict.fromkeys(row["law"] for row in document["laws"])
    names = [target["name"] for target in document["targets"]]
    told = [law for law in laws if {signs.get((law, name), "·") for name in names} - {"✓", "·"}]
    return told, signs


def _sign(rows: Sequence[roots.Row]) -> str:
    """The worst verdict of a law on a target, all faces together."""
    words = [
        "lesser"
        if r["verdict"] in roots.BAD and (r["level"] != "MUST" or r.get("advisory"))
        else r["verdict"]
        for r in rows
    ]
    return next((sign for word, sign in SIGNS.items() if word in words), "?")


def pretty(document: Mapping[str, Any], style: Style) -> str:
    """The matrix for a terminal: targets by number across, laws that tell them apart down."""
    lines = list(_targets(document, style))
    laws, signs = telling(document)
    names = [target["name"] for target in document["targets"]]
    heads = [str(number) for number in range(1, len(names) + 1)]
    width = max(len(heads[-1]), 1) if heads else 1
    room = style.width - (width + 1) * len(heads) - 1
    first = min(max((columns(safe(law)) for law in laws[:MOST]), default=0), max(room, 20))
    if laws:
        lines += [
            "",
            style.paint(
                f"{pad('', first)} {' '.join(head.rjust(width) for head in heads)}", "cyan"
            ),
        ]
    for law in laws[:MOST]:
        cells = []
        for name in names:
            sign = signs.get((law, name), "·")
            painted = style.paint(sign, *((COLORS[sign],) if sign in COLORS else ()))
            cells.append(" " * (width - 1) + painted)
        lines.append(f"{pad(clip(safe(law), first), first)} {' '.join(cells)}")
    if len(laws) > MOST:
        lines += style.wrap(f"and: {', '.join(map(safe, laws[MOST:]))}", "    ")
    lines += (
        ["", *_legend(laws, signs, style)]
        if laws
        else ["", "Every law that was judged holds on every target."]
    )
    return "\n".join(style.plain(line.rstrip()) for line in lines)


def _targets(document: Mapping[str, Any], style: Style) -> Iterator[str]:
    for number, target in enumerate(document["targets"], 1):
        verdict = gist.verdict(document, target)
        color = {"GOOD": "green", "BROKEN": "red", "ERROR": "red"}.get(verdict.word, "yellow")
        lines = style.wrap(safe(verdict.line), "     ", f"{number:>3}  ")
        yield from (style.paint(line, color) for line in lines)


def _legend(laws: Sequence[str], signs: Mapping[tuple[str, str], str], style: Style) -> list[str]:
    used = {sign for (law, _), sign in signs.items() if law in set(laws)}
    words = {"✗": "MUST broken", "!": "broken, fails no run", "k": "known", "f": "fixed", "e": "the engine's fault",
             "?": "no verdict", "✓": "holds", "·": "does not apply"}  # fmt: skip
    return style.wrap(", ".join(f"{sign} {text}" for sign, text in words.items() if sign in used))


def markdown(document: Mapping[str, Any]) -> str:
    """The matrix for a step summary or a page of documentation."""
    from pytest_lineage.report.markdown import code, escape

    lines = ["| | target | verdict |", "|---|---|---|"]
    for number, target in enumerate(document["targets"], 1):
        verdict = gist.verdict(document, target)
        lines.append(
            f"| {number} | {code(target['name'])} | **{verdict.word}** {escape(verdict.text)} |"
        )
    laws, signs = telling(document)
    if not laws:
        return "\n".join([*lines, "", "Every law that was judged holds on every target."])
    names = [target["name"] for target in document["targets"]]
    lines += ["", "| law | " + " | ".join(str(n) for n in range(1, len(names) + 1)) + " |"]
    lines.append("|---" * (len(names) + 1) + "|")
    for law in laws[: 5 * MOST]:
        lines.append(
            f"| {code(law)} | " + " | ".join(signs.get((law, name), "·") for name in names) + " |"
        )
    return "\n".join([*lines, "", *_legend(laws, signs, Style(10_000))])
