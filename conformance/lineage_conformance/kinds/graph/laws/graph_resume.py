"""Resuming a run: nothing that is stored is done again, nothing is lost, the order stays."""

from __future__ import annotations

from collections.abc import Iterator

from lineage_conformance.graphs.shape import Shape, Tool, tools
from lineage_conformance.kinds.graph.rules import (
    BY_ID,
    Story,
    both,
    differ,
    finishes,
    graph_law,
    run_once,
    stays_whole,
    unharmed,
)  # fmt: skip
from lineage_conformance.kinds.graph.scenario import (
    Scenario,
    answer,
    answers,
    go_on,
    invoke,
    scenario,
)
from lineage_conformance.law import Level, Stake
from lineage_conformance.trace import Diff

ENGINE = "engine: pending writes of a step stand for its finished tasks, which are not run again"
SAME = "engine: a step is committed when all its tasks have finished, whoever ran them and when"

FAILS = (Tool("a"), Tool("b", ("after:a", "raise:1")))
ASKS = (Tool("a"), Tool("b", ("after:a", "ask")))


@graph_law(
    "graph_resume.stored-tasks-run-once",
    run_once,
    stake=Stake.REPEATED,
    level=Level.MUST,
    source=ENGINE,
    focus="graph-resume",
    meaning="A tool that has charged a card charges it again when its sibling is retried.",
    reports=("redis-developer/langgraph-redis#159",),
)
def stored_tasks_run_once() -> Iterator[Scenario]:
    """A task whose writes were stored does not run again when its step is resumed."""
    yield scenario(Shape(FAILS), invoke(), go_on())
    yield scenario(Shape(ASKS), invoke(), answer("b!1"))
    yield scenario(Shape((Tool("a"), Tool("b", ("after:a", "ask", "ask")))),
                   invoke(), answer("b!1"), answer("b!2"))  # fmt: skip
    yield scenario(Shape(FAILS, "edges", join=True), invoke(), go_on())


@graph_law(
    "graph_resume.same-end",
    finishes,
    stake=Stake.LOST,
    level=Level.MUST,
    source=SAME,
    after=("graph_resume.stored-tasks-run-once",),
    focus="graph-resume",
    meaning="A conversation that was interrupted has lost a tool's result, or has it twice.",
)
def same_end() -> Iterator[Scenario]:
    """A run that was stopped by an error or a question and resumed ends as an uninterrupted one."""
    yield scenario(Shape(tools(3), rounds=2), invoke())
    yield scenario(Shape(FAILS), invoke(), go_on())
    yield scenario(Shape(tools(3, "ask")), invoke(), answers("a?1"), answers("b?1", "c?1"))
    yield scenario(
        Shape((*FAILS, Tool("c", ("goto:aside",)), Tool("d", ("command",)))), invoke(), go_on()
    )
    yield scenario(Shape(tools(3, "ask"), "line"), invoke(), *(answer(f"{t}!1") for t in "abc"))


@graph_law(
    "graph_resume.order-is-kept",
    finishes,
    stake=Stake.MISORDERED,
    level=Level.MUST,
    source="BaseCheckpointSaver.put_writes: task_path says where a task stands among its siblings",
    after=("graph_resume.same-end", "writes.ordered-by-path"),
    meaning="After a resume, results and follow-up tasks come in another order than without one.",
    reports=("langchain-ai/langgraph#8382",),
)
def order_is_kept() -> Iterator[Scenario]:
    """Results and sends of parallel tasks keep their order when they are loaded from the saver."""
    # The last one finishes first, so that an order in which they finished cannot pass for theirs.
    backwards = (Tool("a", ("after:b",)), Tool("b", ("after:c",)), Tool("c"))
    yield scenario(Shape(backwards, "nested", before=("work",)), invoke(), go_on())
    yield scenario(Shape((*tools(5), Tool("f", (*(f"after:{t}" for t in "abcde"), "raise:1")))),
                   invoke(), go_on())  # fmt: skip


@graph_law(
    "graph_resume.answer-at-the-head-runs-once",
    both(run_once, finishes),
    stake=Stake.REPEATED,
    level=Level.MUST,
    source="StateSnapshot.config: the config to fetch this snapshot; of the head it names the head",
    after=("graph_resume.stored-tasks-run-once", "graph_resume.same-end"),
    meaning="A client that passes the checkpoint id it was shown charges the card twice.",
    reports=("langchain-ai/langgraph#7361",),
)
def answer_at_the_head_runs_once() -> Iterator[Scenario]:
    """Answering at the latest checkpoint's own id does what answering the thread does."""
    yield scenario(Shape(ASKS), invoke(), answer("b!1", at="head"))
    yield scenario(Shape(ASKS, "edges"), invoke(), answer("b!1", at="head"))


@graph_law(
    "graph_resume.retry-at-the-head-runs-once",
    both(run_once, finishes),
    stake=Stake.REPEATED,
    level=Level.SHOULD,
    source=f"{ENGINE}; disputed: invoke(None) at an explicit id may be meant as a replay",
    after=("graph_resume.answer-at-the-head-runs-once",),
    meaning="Retrying after an error, by the id of the latest checkpoint, runs finished tools again.",
    reports=("langchain-ai/langgraph#7361",),
)
def retry_at_the_head_runs_once() -> Iterator[Scenario]:
    """Retrying with None at the latest checkpoint's own id does not run finished tasks again."""
    yield scenario(Shape(FAILS), invoke(), go_on(at="head"))


@graph_law(
    "graph_resume.live-equals-reloaded",
    stays_whole,
    stake=Stake.CHANGED,
    level=Level.MUST,
    source="data: what a run returned is what the next turn starts from",
    focus="graph-resume",
    meaning="The user was shown something that the next turn does not know of.",
)
def live_equals_reloaded() -> Iterator[Scenario]:
    """What a run has returned is what is loaded afterwards."""
    yield scenario(Shape(tools(3), rounds=2), invoke(), invoke("two"))
    yield scenario(Shape(tools(2)), invoke(), durability="exit")
    yield scenario(Shape(tools(2), child="shared"), invoke())


def _handled(case: Scenario, story: Story) -> Iterator[Diff]:
    for name in case.shape.handled:
        times = sum(seen.began.count(f"{name}.handled") for seen in story)
        yield from differ(story[-1], "handler-ran-once", True, times <= 1)
    yield from unharmed(story[-1])


@graph_law(
    "graph_resume.handled-errors-stay-handled",
    _handled,
    stake=Stake.REPEATED,
    level=Level.SHOULD,
    source=f"{ENGINE}; an error handler that has finished is a finished task",
    after=("graph_resume.stored-tasks-run-once",),
    versions=("langgraph>=1.2.0",),
    meaning="The compensation of a failed payment is made twice.",
    reports=("langchain-ai/langgraph#9002",),
)
def handled_errors_stay_handled() -> Iterator[Scenario]:
    """An error handler that has finished does not run again when a sibling is retried."""
    failing = Tool("b", ("after:a", "raise:1"))
    yield scenario(
        Shape((Tool("a", ("raise",)), failing), "edges", handled=("a",)), invoke(), go_on()
    )


@graph_law(
    "graph_resume.sequential-tasks",
    both(run_once, finishes),
    stake=Stake.LOST,
    level=Level.MUST,
    source="engine: a task of an entrypoint that has finished answers from its stored result",
    after=("graph_resume.stored-tasks-run-once", "graph_resume.same-end"),
    versions=(BY_ID,),
    focus="graph-functional",
    meaning="The second answer is refused or goes to the wrong question in a functional workflow.",
)
def sequential_tasks() -> Iterator[Scenario]:
    """Tasks of an entrypoint that ask one after the other each get their own answer, and run once."""
    yield scenario(Shape((Tool("a"), Tool("b", ("ask",)), Tool("c", ("ask",))), "functional-line"),
                   invoke(), answer("b!1"), answer("c!1"))  # fmt: skip
