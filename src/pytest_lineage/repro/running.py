"""Running a story: the environments, the law in each, and what that says."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lineage_conformance import builder
from lineage_conformance.defects import Defect
from lineage_conformance.law import Law
from pytest_lineage.environments.build import Side
from pytest_lineage.environments.bump import PATIENCE
from pytest_lineage.repro.stories import Story, law_of
from pytest_lineage.run import engine
from pytest_lineage.run.rows import GOOD, SUITE, USAGE, Row

THERE, ABSENT, UNTOLD = "there", "not there", "no verdict"
UNUSABLE, FAULT = "target cannot be used", "fault of this suite"
OFFLINE, NO_PYTHON, NO_PACKAGES = (
    "no package index",
    "no interpreter",
    "packages cannot be installed",
)
UNBUILT = (OFFLINE, NO_PYTHON, NO_PACKAGES)
"""States of a side. The last three: its environment could not be made."""

BAD = ("broken", "hangs", "engine")
"""Verdicts that show the fault. A fault of LangGraph itself shows on the strict reference as well: ``engine``."""

WRONG_FIXES = "pytest_lineage.repro.wrong_fixes:targets"

Say = Callable[[str], None]


@dataclass(frozen=True)
class Plan:
    """One side to be run: where, and what is judged there."""

    name: str
    target: str
    kind: str = "saver"
    over: str = ""
    pins: tuple[str, ...] = ()
    """Requirements of its environment; none: the one that runs."""
    python: str = ""
    allow_nonempty: bool = False
    label: str = ""
    """What the environment is called in the cache."""


@dataclass
class Outcome:
    """What one side came to."""

    plan: Plan
    state: str = UNTOLD
    reason: str = ""
    about: dict[str, Any] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)
    packages: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    """What its environment took to make; 0 where it was there."""
    replayed: Row | None = None
    """The case that showed the fault on the other side, run here."""
    other_python: str = ""
    """Its interpreter, where it is not this one."""

    @property
    def bad(self) -> Row | None:
        """The first row that shows the fault."""
        return next((row for row in self.rows if row.verdict in BAD), None)

    @property
    def case(self) -> Mapping[str, Any] | None:
        """The smallest case that shows the fault."""
        row = self.bad
        found: Mapping[str, Any] | None = (row.evidence or {}).get("program") if row else None
        return found


def both(story: Story, pins: Sequence[str] = (), python: str = "") -> tuple[Plan, Plan]:
    """The two sides of a story, the one with the fault first. `pins` make an environment for a wrong fix."""
    if isinstance(story, Defect):
        where = python or story.python
        return (
            Plan(
                "faulty", story.target, pins=story.faulty, python=where, label=f"{story.id} faulty"
            ),
            Plan("fixed", story.target, pins=story.fixed, python=where, label=f"{story.id} fixed"),
        )
    needs = needed(pins, "memory", True) if pins else ()
    kind = law_of(story).kind
    wrong = Plan("wrong fix", f"{WRONG_FIXES}.{story.fix}", kind, "", needs, python)
    return wrong, Plan("right", f"{WRONG_FIXES}.{story.instead}", kind, "", needs, python)


def here(
    story: Story,
    target: str,
    pins: Sequence[str],
    python: str = "",
    over: str = "",
    any_data: bool = False,
) -> Plan:
    """One side: does the fault show on this target, in this environment or in one with these pins?"""
    law = law_of(story)
    graph = law.check is not None
    needs = needed(pins, over or target, graph) if pins else ()
    return Plan(
        "with these pins" if pins else "here", target, law.kind, over, needs, python, any_data
    )


def needed(pins: Sequence[str], target: str, graph: bool) -> tuple[str, ...]:
    """The pins, and whatever else the law and a built-in target need, in the release that fits them."""
    wanted = ["langgraph" if graph else "langgraph-checkpoint"]
    if target.startswith("sqlite"):
        wanted.append("langgraph-checkpoint-sqlite")
    if target.startswith("postgres"):
        wanted += ["langgraph-checkpoint-postgres", "psycopg[binary,pool]"]
    given = {builder.normal(re.split(r"[\[<>=!~@;\s]", pin.strip(), maxsplit=1)[0]) for pin in pins}
    return (*pins, *(name for name in wanted if builder.normal(name.split("[")[0]) not in given))


def run(
    plan: Plan, law: Law, postgres: engine.Postgres, say: Say, case: Mapping[str, Any] | None = None
) -> Outcome:
    """Make the environment, judge the law on every face, and replay a `case` of another side. Raises nothing."""
    outcome = Outcome(plan)
    try:
        side = _side(plan, law, say)
    except builder.Failed as error:
        outcome.state, outcome.reason = classified(str(error)), str(error)
        return outcome
    outcome.packages, outcome.seconds = side.family, side.seconds
    outcome.other_python = side.python
    made = f" (environment made in {side.seconds:.1f} s)" if side.seconds else ""
    say(f"{plan.name}: runs {law.id} on {plan.target}{made}")
    options = side.options(
        kind=plan.kind,
        over=plan.over,
        laws=(law.id,),
        op_limit=PATIENCE,
        allow_nonempty=plan.allow_nonempty,
    )
    target = engine.TargetRun(plan.target, options, postgres)
    try:
        outcome.about = target.start()
        outcome.rows = [target.judge(law, face) for face in outcome.about["faces"]]
        face = next((row.face for row in outcome.rows if row.verdict == "holds"), None)
        if case is not None and face is not None and outcome.bad is None:
            outcome.replayed = target.replay(law, face, case)
    except engine.Unusable as error:
        outcome.state, outcome.reason = UNUSABLE, str(error)
        return outcome
    except engine.SuiteFault as error:
        outcome.state, outcome.reason = FAULT, str(error)
        return outcome
    finally:
        target.close()
    outcome.state, outcome.reason = _state(outcome.rows)
    return outcome


def _side(plan: Plan, law: Law, say: Say) -> Side:
    """The environment of a side. Raises `builder.Failed`."""
    if not plan.pins:
        return Side(plan.name, "", builder.installed(sys.executable))
    say(f"{plan.name}: environment with {', '.join(plan.pins)}")
    made = _environment(plan, plan.label or law.id, say)
    return Side(plan.name, made.python, made.packages, made.notes, made.seconds)


VERSIONS = ("3.12", "3.11", "3.13", "3.10")
"""Interpreters that are looked for where the one that was asked for is not there."""


def _environment(plan: Plan, label: str, say: Say) -> builder.Environment:
    """The environment of a plan; with the running interpreter, or another that is there, if its own is not."""
    try:
        return builder.environment(plan.pins, python=plan.python, label=label)
    except builder.Failed as error:
        if classified(str(error)) != NO_PYTHON:
            raise
        first = error
    running = f"{sys.version_info[0]}.{sys.version_info[1]}"
    there = [v for v in VERSIONS if v != running and shutil.which(f"python{v}")]
    for version in (running, *there):
        if version == plan.python.removeprefix("python"):
            continue
        say(f"{plan.name}: there is no {plan.python or running}; tries Python {version}")
        try:
            return builder.environment(plan.pins, python=version, label=label)
        except builder.Failed as error:
            if classified(str(error)) == OFFLINE:
                raise
    raise first


def _state(rows: Sequence[Row]) -> tuple[str, str]:
    """What the verdicts of all faces say together, and why."""
    bad = next((row for row in rows if row.verdict in BAD), None)
    if bad is not None:
        return THERE, bad.reason
    if any(row.verdict in ("holds", "refused") for row in rows):
        return ABSENT, ""
    reasons = list(dict.fromkeys(row.reason for row in rows if row.reason))
    return UNTOLD, "; ".join(reasons) or "the law ran on no face"


_CLASSES = (
    (
        NO_PYTHON,
        r"(?i)no interpreter found|No such file or directory: '?(python|/)|python[\d.]*: \[Errno 2\]",
    ),
    (
        OFFLINE,
        r"(?i)dns|name resolution|failed to (fetch|connect|establish)|connection|network|timed out|"
        r"newconnectionerror|from versions: none|error sending request",
    ),
)


def classified(message: str) -> str:
    """The state of a side whose environment could not be made, told from the installer's words."""
    return next((state for state, words in _CLASSES if re.search(words, message)), NO_PACKAGES)


ADVICE = {
    OFFLINE: "The first run of a story needs a package index; what it builds is kept (`pytest-lineage cache`).",
    NO_PYTHON: "Name an interpreter with --python PROGRAM, or install uv, which can fetch one.",
    NO_PACKAGES: "Do these releases exist, and can the package index be reached? Old ones may need an older --python.",
    UNUSABLE: "`pytest-lineage smoke TARGET` says step by step what can be done with a target.",
}
"""What to do, by state."""


def told_apart(first: Outcome, second: Outcome) -> bool | None:
    """Whether the sides came out as catalogued; None where one could not be run."""
    if not {first.state, second.state} <= {THERE, ABSENT}:
        return None
    held = all(row.verdict in ("holds", "not-applicable") for row in second.rows)
    return first.state == THERE and second.state == ABSENT and held


def exit_code(outcomes: Sequence[Outcome], pair: bool) -> int:
    """0, 1, 2 or 3, see the command's epilog. `pair`: whether two sides are compared."""
    states = {outcome.state for outcome in outcomes}
    if FAULT in states:
        return SUITE
    if not states <= {THERE, ABSENT}:
        return USAGE
    if pair:
        return GOOD if told_apart(outcomes[0], outcomes[1]) else 1
    return 1 if THERE in states else GOOD
