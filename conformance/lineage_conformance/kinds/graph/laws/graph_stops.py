"""While a run is being stopped: the saver still answers, and what is not committed is told."""

from __future__ import annotations

from collections.abc import Iterator

from lineage_conformance.graphs.shape import Shape, Tool, tools
from lineage_conformance.kinds.graph.rules import Story, differ, finishes, graph_law
from lineage_conformance.kinds.graph.scenario import Scenario, go_on, invoke, scenario
from lineage_conformance.law import Level, Stake
from lineage_conformance.trace import Diff

LINE = Shape(tools(2), "line")
AT_PUT = ("put:2",)


def _answered(case: Scenario, story: Story) -> Iterator[Diff]:
    for act, seen in zip(case.acts, story, strict=True):
        if act.stop and seen.met and (act.durability or case.durability) in ("sync", "async"):
            got = str(seen.during or "nothing")
            found = got if got.startswith(("raised", "nothing")) else "a checkpoint"
            yield from differ(seen, "during", "a checkpoint", found)


@graph_law(
    "graph_durability.answers-while-a-run-is-cancelled",
    _answered,
    stake=Stake.FAILS,
    level=Level.SHOULD,
    source="data: one saver serves all threads; that one run is stopped is no reason to answer no other call",
    faces=("async",),
    after=("graph_durability.cancel-leaves-what-finished",),
    meaning="When one user presses stop, everybody waits or gets an error.",
)
def answers_while_a_run_is_cancelled() -> Iterator[Scenario]:
    """While a run is being cancelled the saver can be read and has the thread's latest checkpoint."""
    hangs = Shape((Tool("a"), Tool("b", ("gate:g",))))
    stop = invoke(hold=("g",), until=("reached:g", "settled:a"), stop="cancel")
    writing = invoke(hold=("write:a",), until=("reached:write:a",), stop="cancel")
    for mode in ("sync", "async"):
        yield scenario(hangs, stop, go_on(), durability=mode)
        yield scenario(Shape(tools(2)), writing, durability=mode)


def _lists(case: Scenario, story: Story) -> Iterator[Diff]:
    for act, seen in zip(case.acts, story, strict=True):
        if act.stop and seen.kept:  # results that still wait for their checkpoint
            yield from differ(seen, "tasks", sorted(set(seen.kept)), sorted(seen.tasks))
    yield from finishes(case, story)


def _names(case: Scenario, story: Story) -> Iterator[Diff]:
    for act, seen in zip(case.acts, story, strict=True):
        if act.stop and seen.kept:
            yield from differ(seen, "next", sorted(set(seen.kept)), sorted(seen.next))


@graph_law(
    "graph_durability.uncommitted-step-has-tasks",
    _lists,
    stake=Stake.LOST,
    level=Level.MUST,
    source="StateSnapshot.tasks: tasks to execute in this step; a finished one is not executed before the commit",
    faces=("async",),
    after=("graph_durability.cancelled-runs-can-be-resumed",),
    meaning="A run whose last step was not stored looks finished, and its result is nowhere.",
)
def uncommitted_step_has_tasks() -> Iterator[Scenario]:
    """A run that was cancelled before its last checkpoint was stored lists the tasks of that step."""
    yield scenario(
        LINE,
        invoke(hold=AT_PUT, until=("reached:put:2",), stop="cancel"),
        go_on(),
        durability="sync",
    )


@graph_law(
    "graph_durability.uncommitted-step-is-next",
    _names,
    stake=Stake.FAILS,
    level=Level.SHOULD,
    source="StateSnapshot.next: disputed whether a finished task whose step is not committed is still to execute",
    faces=("async",),
    after=("graph_durability.uncommitted-step-has-tasks",),
    meaning="An application that asks whether there is more to do is told no, and leaves the turn unfinished.",
)
def uncommitted_step_is_next() -> Iterator[Scenario]:
    """A run that was cancelled before its last checkpoint was stored has something in next."""
    yield scenario(
        LINE, invoke(hold=AT_PUT, until=("reached:put:2",), stop="cancel"), durability="sync"
    )
