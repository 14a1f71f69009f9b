"""What a story and its run come to, as text, markdown and JSON."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from lineage_conformance.defects import Defect
from pytest_lineage.report import model
from pytest_lineage.report.block import block
from pytest_lineage.report.roots import Failure
from pytest_lineage.report.style import Style, clip, pad, safe
from pytest_lineage.repro import running
from pytest_lineage.repro.running import ADVICE, Outcome
from pytest_lineage.repro.stories import Story, entry, law_of
from pytest_lineage.run.rows import ONLY_FOR, Row

FORMAT = 1
LABEL = 14
"""Columns of the label at the left of a table."""

SHORT, LONG = 240, 600
"""Most characters of what a side did with a case, and of any cell. The trace has all of it."""

WORDS = {
    "holds": "holds", "refused": "refuses cleanly", "broken": "BROKEN", "hangs": "HANGS",
    "engine": "BROKEN by LangGraph itself", "not-applicable": "does not apply", "inconclusive": "no verdict",
}  # fmt: skip


@dataclass(frozen=True)
class Result:
    """A story that was run: one side, or the two that are compared."""

    story: Story
    outcomes: tuple[Outcome, ...]
    code: int
    command: str
    """What runs this again."""
    script: str = ""
    """A stand-alone script that shows the fault; of a wrong fix, its code."""
    no_script: str = ""
    """Why there is none."""


def verdict(result: Result) -> str:
    """The last word about a run, in a sentence."""
    story = result.story
    stuck = next(
        (o for o in result.outcomes if o.state not in (running.THERE, running.ABSENT)), None
    )
    if stuck is not None:
        return f"{story.id} could not be run on the side {stuck.plan.name!r}: {stuck.state}"
    if len(result.outcomes) == 1:
        where = _where(result.outcomes[0])
        if result.outcomes[0].state == running.ABSENT:
            return f"{where} does not have {story.id}"
        engine = (
            ", and it is LangGraph's: the strict reference shows it too"
            if {row.verdict for row in result.outcomes[0].rows} & {"engine"}
            else ""
        )
        return f"{where} HAS {story.id}{engine}"
    first, second = result.outcomes
    if result.code == 0:
        return f"{story.id} is told apart: {first.plan.name} breaks the law, {second.plan.name} keeps it"
    parts = []
    if first.state != running.THERE:
        parts.append(f"the law holds on the side {first.plan.name!r}, where it should break")
    if second.state != running.ABSENT:
        parts.append(f"the law is broken on the side {second.plan.name!r}, where it should hold")
    text = f"{story.id} is NOT told apart: {'; '.join(parts) or 'a face gave no verdict'}"
    shows = getattr(story, "shows", ())
    if shows and first.state == running.ABSENT:
        text += (
            ". With this LangGraph the wrong fix does no harm; it does with: pytest-lineage repro "
        )
        text += " ".join([story.id, *(f"--with {pin}" for pin in shows)])
    return text


def _where(outcome: Outcome) -> str:
    target = outcome.about.get("name") or outcome.plan.target
    if outcome.plan.pins:
        return f"{target} with {', '.join(outcome.plan.pins)}"
    return f"{target} in this environment"


def pretty(result: Result, style: Style) -> str:
    """The whole as text for a terminal."""
    lines = [*head(result.story, style), "", *_table(result, style)]
    for outcome in result.outcomes:
        lines += _trace(result, outcome, style)
        if outcome.reason and outcome.state not in (running.THERE, running.ABSENT):
            lines += [
                "",
                *style.wrap(safe(model.redact(f"{outcome.plan.name}: {outcome.reason}")), "  "),
            ]
            if advice := ADVICE.get(outcome.state):
                lines += style.wrap(advice, "  ", "  ")
    if result.script:
        title = "stand-alone script" if isinstance(result.story, Defect) else "the wrong fix"
        lines += ["", style.paint(title, "cyan"), ""]
        lines += [f"    {line}".rstrip() for line in result.script.splitlines()]
    elif result.no_script:
        lines += ["", *style.wrap(safe(f"no stand-alone script: {result.no_script}"), "  ")]
    color = {0: "green", 1: "red"}.get(result.code, "yellow")
    lines += ["", style.paint("run this again", "cyan"), f"  {safe(result.command)}", ""]
    lines += [style.paint(line, color, "bold") for line in style.wrap(safe(verdict(result)), "  ")]
    return "\n".join(style.plain(line.rstrip()) for line in lines)


def head(story: Story, style: Style) -> list[str]:
    """The title, the story, and what it is tied to."""
    law = law_of(story)
    lines = [
        style.paint(line, "bold") for line in style.wrap(f"{story.id}  {story.title}", "      ")
    ]
    lines += ["", *style.wrap(story.story), ""]
    lines += _labelled("area", story.area, style)
    lines += _labelled("law", f"{story.law} ({law.level.value}): {law.sentence}", style)
    if isinstance(story, Defect):
        if story.upstream:
            lines += _labelled("repaired by", story.upstream, style)
    else:
        lines += _labelled("done right", story.right, style)
    if law.reports:
        lines += _labelled("related", ", ".join(law.reports), style)
    return lines


def _labelled(label: str, text: str, style: Style) -> list[str]:
    lines = style.wrap(safe(text), " " * LABEL, " " * LABEL)
    lines[0] = style.paint(pad(label, LABEL), "cyan") + lines[0][LABEL:]
    return lines


def _rows(result: Result) -> Iterator[tuple[str, list[str]]]:
    """The table that puts the sides beside each other: a label and a cell for each side."""
    some = result.outcomes
    yield "", [o.plan.name.upper() for o in some]
    yield "packages", [_packages(o, some) for o in some]
    yield "environment", [_made(o) for o in some]
    yield "target", [str(o.about.get("name") or o.plan.target) for o in some]
    for face in dict.fromkeys(row.face for o in some for row in o.rows):
        cells = [next((row for row in o.rows if row.face == face), None) for o in some]
        if all(row is None or row.reason.startswith(ONLY_FOR) for row in cells):
            continue  # the law is not meant for this face
        yield face, [_told(row) for row in cells]
    case = next((o for o in some if o.bad is not None), None)
    if case is not None and len(some) == 2:
        yield "the same case", [_case(o, case) for o in some]
    yield "says", [o.state for o in some]


def _packages(outcome: Outcome, some: Sequence[Outcome]) -> str:
    """What was asked for, what differs between the sides, and the packages that no story is without."""
    names = {"langgraph", "langgraph-checkpoint"}
    names |= {re.split(r"[\[<>=!~ ]", pin, maxsplit=1)[0] for o in some for pin in o.plan.pins}
    target = (outcome.plan.over or outcome.plan.target).partition("-")[0]
    names |= {f"langgraph-checkpoint-{target}"}
    names |= {
        k for o in some for k, v in o.packages.items() if any(p.packages.get(k) != v for p in some)
    }
    shown = [f"{name} {version}" for name, version in outcome.packages.items() if name in names]
    return ", ".join(shown or outcome.plan.pins)


def _made(outcome: Outcome) -> str:
    if outcome.state in running.UNBUILT:
        return "could not be made"
    if not outcome.plan.pins:
        return "this one"
    return f"made in {outcome.seconds:.1f} s" if outcome.seconds else "from the cache"


def _told(row: Row | None) -> str:
    if row is None:
        return "-"
    text = WORDS.get(row.verdict, row.verdict)
    return f"{text} ({row.reason})" if row.verdict in ("not-applicable", "inconclusive") else text


def _case(outcome: Outcome, case: Outcome) -> str:
    """What a side did with the case that shows the fault."""
    if outcome is case:
        return clip(f"goes wrong: {outcome.reason}", SHORT)
    if outcome.replayed is None:
        return "was not run"
    row = outcome.replayed
    if row.verdict == "holds":
        wanted = ((case.bad.evidence or {}).get("differences") or [{}])[0] if case.bad else {}
        what = f": {model.redact(str(wanted['expected']))}" if "expected" in wanted else ""
        return clip(f"as expected{what}", SHORT)
    return f"{WORDS.get(row.verdict, row.verdict)} {row.reason}".strip()


def _table(result: Result, style: Style) -> list[str]:
    """Two columns where there is room, else one below the other."""
    count = len(result.outcomes)
    width = max((style.width - LABEL) // count - 2, 16)
    lines = []
    for number, (label, cells) in enumerate(_rows(result)):
        parts = [
            textwrap.wrap(safe(cell[:LONG]), width, break_on_hyphens=False) or [""]
            for cell in cells
        ]
        for row in range(max(map(len, parts))):
            shown = "  ".join(pad(part[row] if row < len(part) else "", width) for part in parts)
            mark = style.paint(pad(label if row == 0 else "", LABEL), "cyan")
            lines.append(mark + (style.paint(shown, "bold") if number == 0 else shown))
    return lines


def _trace(result: Result, outcome: Outcome, style: Style) -> list[str]:
    """The failure block of a side, without the commands that would run it elsewhere."""
    row = outcome.bad
    if row is None:
        return []
    bad = [r for r in outcome.rows if r.verdict in running.BAD]
    alike = [r.face for r in bad if _shown(r) == _shown(row)]
    document = model.document((), result.code, "quick", outcome.plan.kind)
    failure = Failure(
        model.redact(row.to_json()),
        alike,
        [r.face for r in bad if r.face not in alike],
        every=tuple(outcome.about.get("faces", ())),
    )
    lines = block(failure, document, style)
    ends = [n for n, line in enumerate(lines) if line == style.paint("run only this", "cyan")]
    return [
        "",
        style.rule(f"what happens: {outcome.plan.name}"),
        "",
        *lines[: ends[-1] if ends else None],
    ]


def _shown(row: Row) -> str:
    """What a row shows, without the values: they may hold ids that are new in each run."""
    evidence = row.evidence or {}
    difference = (evidence.get("differences") or [{}])[0]
    return repr((row.verdict, evidence.get("program"), difference.get("op"), difference.get("at")))


def document(result: Result) -> dict[str, Any]:
    """The whole as JSON data."""
    made: dict[str, Any] = model.redact(
        {
            "format": FORMAT,
            **entry(result.story),
            "sides": [_side(o) for o in result.outcomes],
            "says": verdict(result),
            "command": result.command,
            "exit_code": result.code,
        }
    )
    made["script"] = result.script or None  # whole: a script that is cut runs nowhere
    return made


def _side(outcome: Outcome) -> dict[str, Any]:
    return {
        "side": outcome.plan.name,
        "target": outcome.about.get("name") or outcome.plan.target,
        "pins": list(outcome.plan.pins),
        "packages": outcome.packages,
        "built_seconds": round(outcome.seconds, 1),
        "state": outcome.state,
        "reason": outcome.reason,
        "faces": {row.face: row.verdict for row in outcome.rows},
        "rows": [row.to_json() for row in outcome.rows],
        "same_case": outcome.replayed.verdict if outcome.replayed else None,
    }


def markdown(result: Result) -> str:
    """The whole as markdown for an issue."""
    from pytest_lineage.report import markdown as md

    story, style = result.story, Style(100)
    lines = [f"### {md.escape(f'{story.id}: {story.title}')}", "", md.escape(story.story), ""]
    lines += ["| |" + "".join(f" {md.escape(o.plan.name)} |" for o in result.outcomes)]
    lines += ["|---|" + "---|" * len(result.outcomes)]
    for label, cells in list(_rows(result))[1:]:
        lines.append(
            f"| {md.escape(label)} |" + "".join(f" {md.escape(c[:LONG])} |" for c in cells)
        )
    for outcome in result.outcomes:
        if trace := _trace(result, outcome, style)[3:]:
            lines += ["", *md.fenced("\n".join(trace).rstrip())]
    if result.script:
        title = "Stand-alone script:" if isinstance(story, Defect) else "The wrong fix:"
        lines += ["", title, "", "```python", result.script.rstrip(), "```"]
    return "\n".join([*lines, "", f"**{md.escape(verdict(result))}**"])
