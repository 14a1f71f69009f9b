"""Questions: each has its own id, each answer is used once, and an answer for none of them is refused."""

from __future__ import annotations

from collections.abc import Iterator

from lineage_conformance.graphs.shape import Shape, Tool, tools
from lineage_conformance.kinds.graph.rules import (
    BY_ID,
    Story,
    all_waiting_next,
    answered_are_gone,
    both,
    differ,
    distinct_ids,
    finishes,
    graph_law,
    refused_if_ambiguous,
    unharmed,
)  # fmt: skip
from lineage_conformance.kinds.graph.scenario import (
    Act,
    Scenario,
    answer,
    answers,
    go_on,
    invoke,
    scenario,
)  # fmt: skip
from lineage_conformance.law import Level, Stake
from lineage_conformance.trace import Diff

IDS = "Interrupt.id: the ID of the interrupt, can be used to resume the interrupt directly"
TWICE = (Tool("a", ("ask", "ask")),)


@graph_law(
    "graph_interrupts.ids-are-distinct",
    distinct_ids,
    stake=Stake.CHANGED,
    level=Level.MUST,
    source=IDS,
    versions=(BY_ID,),
    focus="graph-interrupts",
    meaning="A client that shows two questions cannot say which one the user has answered.",
    reports=("langchain-ai/langgraph#6626", "langchain-ai/langgraph#6533"),
)
def ids_are_distinct() -> Iterator[Scenario]:
    """Every question has an id of its own, among parallel tasks and within one task."""
    yield scenario(Shape(tools(3, "ask")), invoke())
    yield scenario(Shape(tools(2, "ask"), "edges"), invoke(), answers("a?1"))
    yield scenario(Shape(TWICE), invoke(), answers("a?1"))


@graph_law(
    "graph_interrupts.every-waiting-task-is-next",
    all_waiting_next,
    stake=Stake.FAILS,
    level=Level.MUST,
    source="StateSnapshot.next: the name of the node to execute in each task for this step",
    focus="graph-interrupts",
    meaning="A thread that waits for an answer looks finished.",
    reports=("langchain-ai/langgraph#6956",),
)
def every_waiting_task_is_next() -> Iterator[Scenario]:
    """A task that waits for an answer is listed in next, at its second question too."""
    yield scenario(
        Shape((Tool("a"), Tool("b", ("after:a", "ask")), Tool("c", ("after:a", "ask")))), invoke()
    )
    yield scenario(Shape(TWICE, "edges"), invoke(), answer("a!1"))


@graph_law(
    "graph_interrupts.answered-are-not-listed",
    answered_are_gone,
    stake=Stake.REPEATED,
    level=Level.MUST,
    source="StateSnapshot.interrupts: interrupts that occurred in this step and are pending resolution",
    versions=(BY_ID,),
    focus="graph-interrupts",
    meaning="The user is asked again what they have answered.",
)
def answered_are_not_listed() -> Iterator[Scenario]:
    """A question that was answered is not listed while others still wait."""
    yield scenario(Shape(tools(3, "ask")), invoke(), answers("b?1"), answers("a?1"))
    yield scenario(Shape(TWICE), invoke(), answers("a?1"))


@graph_law(
    "graph_interrupts.ambiguous-answers-are-refused",
    refused_if_ambiguous,
    stake=Stake.CHANGED,
    level=Level.MUST,
    source="langgraph: with several pending interrupts the interrupt id must be given when resuming",
    versions=(BY_ID,),
    meaning="A yes that was meant for the email approves the payment.",
)
def ambiguous_answers_are_refused() -> Iterator[Scenario]:
    """An answer by value is refused while several tasks wait, and answers none of them."""
    yield scenario(Shape(tools(2, "ask"), "edges"), invoke(), answer("yes"))
    yield scenario(Shape(tools(2, "ask")), invoke(), answer("yes"))


@graph_law(
    "graph_interrupts.ambiguous-answers-to-a-subgraph-are-refused",
    refused_if_ambiguous,
    stake=Stake.CHANGED,
    level=Level.SHOULD,
    source="as for one graph: the questions of a subgraph's tasks are questions of the thread",
    after=("graph_interrupts.ambiguous-answers-are-refused",),
    versions=(BY_ID,),
    meaning="A yes that was meant for the email approves the payment.",
    reports=("langchain-ai/langgraph#8579",),
)
def ambiguous_answers_to_a_subgraph_are_refused() -> Iterator[Scenario]:
    """An answer by value is refused while several tasks of a subgraph wait."""
    yield scenario(Shape(tools(2, "ask"), "edges", child="shared"), invoke(), answer("yes"))


@graph_law(
    "graph_interrupts.answers-reach-their-question",
    finishes,
    stake=Stake.LOST,
    level=Level.MUST,
    source=IDS,
    after=("graph_interrupts.ids-are-distinct",),
    versions=(BY_ID,),
    focus="graph-interrupts",
    meaning="An answer is lost, or taken for that of another question.",
)
def answers_reach_their_question() -> Iterator[Scenario]:
    """Answers given by id, at once or one by one, in any order, each reach their own question."""
    yield scenario(Shape(tools(3, "ask")), invoke(), answers("c?1"), answers("b?1", "a?1"))
    yield scenario(Shape((Tool("a", ("ask", "ask")), Tool("b", ("ask",)))),
                   invoke(), answers("a?1"), answers("b?1"), answers("a?2"))  # fmt: skip
    yield scenario(Shape(tools(2, "subgraph", "ask")), invoke(), answers("b?1"), answers("a?1"))


def _notes(case: Scenario) -> list[str]:
    return [text for act in case.acts for text in act.note]


def _note_kept(case: Scenario, story: Story) -> Iterator[Diff]:
    last = story[-1]
    yield from unharmed(last)
    yield from differ(last, "lost", [], [text for text in _notes(case) if text not in last.log])


@graph_law(
    "graph_interrupts.update-beside-an-answer-is-kept",
    _note_kept,
    stake=Stake.LOST,
    level=Level.MUST,
    source="Command.update: update to apply to the graph's state",
    meaning="A note that came with an answer is lost.",
)
def update_beside_an_answer_is_kept() -> Iterator[Scenario]:
    """An update that comes with an answer is in the state at the end, when the task asks again too."""
    yield scenario(Shape(TWICE, "edges"), invoke(), answer("a!1", note=("note",)), answer("a!2"))


def _note_once(case: Scenario, story: Story) -> Iterator[Diff]:
    last = story[-1]
    yield from unharmed(last)
    if set(_notes(case)) <= set(last.log):
        yield from differ(last, "log", ["in", *_notes(case), *case.shape.log()[1:]], last.log)


@graph_law(
    "graph_interrupts.update-beside-an-answer-is-applied-once",
    _note_once,
    stake=Stake.REPEATED,
    level=Level.MUST,
    source="Command.update: update to apply to the graph's state",
    after=("graph_interrupts.update-beside-an-answer-is-kept",),
    meaning="A note that came with an answer stands twice in the conversation.",
)
def update_beside_an_answer_is_applied_once() -> Iterator[Scenario]:
    """An update that comes with an answer is applied once, however often the task asks again."""
    yield scenario(Shape((Tool("a", ("ask", "ask", "ask")),), "edges"),
                   invoke(), answer("a!1", note=("note",)), answer("a!2"), answer("a!3"))  # fmt: skip


def _repeated(case: Scenario, story: Story) -> Iterator[Diff]:
    for act, seen in zip(case.acts, story, strict=True):
        if act.op == "resume":
            wrong = [text for text in seen.log if text.count("!1") > 1]
            yield from differ(seen, "taken-for-the-next-answer", [], wrong)


@graph_law(
    "graph_interrupts.a-repeated-answer-is-not-the-next",
    _repeated,
    stake=Stake.REPEATED,
    level=Level.SHOULD,
    source=f"{IDS}; the id of one question is not that of the next",
    after=("graph_interrupts.ids-are-distinct",),
    versions=(BY_ID,),
    meaning="A request that a proxy sends twice answers the next question as well.",
)
def a_repeated_answer_is_not_the_next() -> Iterator[Scenario]:
    """An answer that is sent again with its question's id does not answer the task's next question."""
    yield scenario(Shape(TWICE, "edges"), invoke(), answers("a?1"), answers("a?1"))


def _asked_again(case: Scenario, story: Story) -> Iterator[Diff]:
    for act, seen in zip(case.acts, story, strict=True):
        if act.op == "continue" and act.at.startswith("before:"):
            yield from unharmed(seen)
            answered = [text for text in seen.live or [] if "=" in text]
            yield from differ(seen, "answered-without-asking", [], answered)


@graph_law(
    "graph_interrupts.replay-asks-again",
    _asked_again,
    stake=Stake.REPEATED,
    level=Level.MUST,
    source="langgraph: a replay runs again what comes after the checkpoint, the question included",
    meaning="Going back to the point before a question repeats the old answer unasked.",
)
def replay_asks_again() -> Iterator[Scenario]:
    """A replay from before a question asks it again and does not use the old answer."""
    yield scenario(
        Shape((Tool("a", ("ask",)),), "edges"), invoke(), answer("a!1"), go_on(at="before:a")
    )
    yield scenario(
        Shape((Tool("a", ("ask",)),)), invoke(), answer("a!1"), go_on(at="before:review@2")
    )


def _other_answer(case: Scenario, story: Story) -> Iterator[Diff]:
    for act, seen in zip(case.acts, story, strict=True):
        if act.op == "resume" and act.at.startswith("act:") and act.answer is not None:
            yield from unharmed(seen)
            given = [text.partition("=")[2] for text in seen.live or [] if "=" in text]
            yield from differ(seen, "answers", [act.answer], given)


@graph_law(
    "graph_interrupts.another-answer-counts",
    _other_answer,
    stake=Stake.CHANGED,
    level=Level.SHOULD,
    source="data: an answer that the user gives is used; an old one is not silently kept instead",
    after=("graph_interrupts.replay-asks-again",),
    meaning="Going back and answering no still does what yes did.",
    reports=("langchain-ai/langgraph#6663",),
)
def another_answer_counts() -> Iterator[Scenario]:
    """Answering a checkpoint that was answered before, with another value, uses the new value."""
    yield scenario(Shape((Tool("a", ("ask",)),), "edges"),
                   invoke(), answer("a!1"), answer("other", at="act:0"))  # fmt: skip


def _all_listed(case: Scenario, story: Story) -> Iterator[Diff]:
    wanted = sorted(q for tool in case.shape.tools for q in tool.questions[:1])
    yield from differ(story[0], "asked", wanted, sorted(q for q, _ in story[0].asked))


@graph_law(
    "graph_interrupts.all-are-listed",
    _all_listed,
    stake=Stake.FAILS,
    level=Level.MUST,
    source="StateSnapshot.tasks: tasks to execute in this step, with the interrupts of each",
    after=("graph_interrupts.every-waiting-task-is-next",),
    meaning="A tool waits for a yes that nobody is asked for.",
    reports=("langchain-ai/langgraph#6626",),
)
def all_are_listed() -> Iterator[Scenario]:
    """Every question that is waiting for an answer is listed, in subgraphs too."""
    # One after the other, by gates: what an engine loses of questions at one moment, it loses by chance.
    three = (Tool("a", ("ask",)), Tool("b", ("after:a", "ask")), Tool("c", ("after:b", "ask")))
    yield scenario(Shape(three), invoke())
    yield scenario(Shape(three[:2], "edges", child="shared"), invoke())
    inner = (Tool("a", ("subgraph", "ask")), Tool("b", ("subgraph", "after:a", "ask")))
    yield scenario(Shape(inner), invoke(), Act("look"))


@graph_law(
    "graph_interrupts.parallel-tasks-of-an-entrypoint",
    both(distinct_ids, finishes),
    stake=Stake.CHANGED,
    level=Level.MUST,
    source=IDS,
    after=("graph_resume.sequential-tasks", "graph_interrupts.answers-reach-their-question"),
    versions=(BY_ID,),
    focus="graph-entrypoint",
    meaning="Of two questions of a functional workflow one gets the other's answer, or is asked again.",
)
def parallel_tasks_of_an_entrypoint() -> Iterator[Scenario]:
    """Questions of parallel tasks of an entrypoint have ids of their own and get their own answers."""
    yield scenario(Shape(tools(2, "ask"), "functional"), invoke(), answers("a?1"), answers("b?1"))
    yield scenario(Shape((*tools(2, "ask"), Tool("c")), "functional"),
                   invoke(), answers("a?1"), answers("b?1"))  # fmt: skip


@graph_law(
    "graph_interrupts.parallel-tasks-of-an-entrypoint-are-listed",
    _all_listed,
    stake=Stake.FAILS,
    level=Level.SHOULD,
    source="StateSnapshot.interrupts: interrupts that occurred in this step and are pending resolution; "
    "disputed: an entrypoint stops at the first question that it waits for",
    after=("graph_interrupts.all-are-listed", "graph_interrupts.parallel-tasks-of-an-entrypoint"),
    versions=(BY_ID,),
    meaning="One question is shown, yet a plain answer is refused because several wait.",
)
def parallel_tasks_of_an_entrypoint_are_listed() -> Iterator[Scenario]:
    """Every question that a parallel task of an entrypoint waits with is listed."""
    yield scenario(Shape(tools(2, "ask"), "functional"), invoke())
