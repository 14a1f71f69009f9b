"""Facts about questions: their ids, what an answer reaches, and what is refused."""

from __future__ import annotations

import re
from typing import Any

from lineage_conformance.facts import fact
from lineage_conformance.facts.probe import Probe, asks, resume, says
from lineage_conformance.facts.scene import scene
from lineage_conformance.graphs import Shape, Tool

IDS = "User interfaces that keep ids of questions answer the wrong one, or none."
ANSWERS = "An answer reaches another question than before, or is refused."


def _asked(p: Probe, graph: Any, config: Any = None) -> list[Any]:
    return [item for task in p.state(graph, config).tasks for item in task.interrupts]


def _id(item: Any) -> str:
    return str(getattr(item, "id", None) or getattr(item, "interrupt_id", ""))


@fact("interrupts.form-of-ids", IDS)
def form_of_ids(p: Probe) -> Any:
    """What the id of a question looks like."""
    graph = p.graph(a=asks("q"))
    p.run(graph, {"log": ["in"]})
    id = _id(_asked(p, graph)[0])
    p.need(id, "interrupts have no id")
    return [len(id), "hexadecimal" if re.fullmatch(r"[0-9a-f]+", id) else "text"]


@fact("interrupts.ids-of-one-task", IDS)
def ids_of_one_task(p: Probe) -> Any:
    """Whether two questions that one task asks in turn have different ids."""
    graph = p.graph(a=asks("q1", "q2"))
    p.run(graph, {"log": ["in"]})
    first = _id(_asked(p, graph)[0])
    p.need(first, "interrupts have no id")
    p.run(graph, resume("yes"))
    second = [_id(item) for item in _asked(p, graph)]
    return [len(second), first not in second]


@fact("interrupts.ids-of-one-step", IDS)
def ids_of_one_step(p: Probe) -> Any:
    """How many different ids the questions of three parallel tasks have."""
    graph = p.together(a=asks("qa"), b=asks("qb"), c=asks("qc"))
    p.run(graph, {"log": ["in"]})
    return len({_id(item) for item in _asked(p, graph)})


@fact("interrupts.ids-are-those-of-the-run", IDS)
def ids_are_those_of_the_run(p: Probe) -> Any:
    """Whether invoke returns its questions, and under the ids that get_state lists."""
    graph = p.graph(a=asks("q"))
    made = p.run(graph, {"log": ["in"]})
    returned = made.get("__interrupt__") if isinstance(made, dict) else None
    if returned is None:
        return "invoke returns no questions"
    return [_id(item) for item in returned] == [_id(item) for item in _asked(p, graph)]


@fact(
    "interrupts.listed-after-one-answer",
    "A question that is still open is not shown, or shown twice.",
)
def listed_after_one_answer(p: Probe) -> Any:
    """What is listed and next when the first of a task's two questions was answered."""
    graph = p.graph(a=asks("q1", "q2"))
    p.run(graph, {"log": ["in"]})
    p.run(graph, resume("yes"))
    return [[item.value for item in _asked(p, graph)], list(p.state(graph).next)]


@fact("interrupts.one-answer-to-two", ANSWERS)
def one_answer_to_two(p: Probe) -> Any:
    """What one bare answer does when two parallel tasks ask."""
    graph = p.together(a=asks("qa"), b=asks("qb"))
    p.run(graph, {"log": ["in"]})
    return [p.attempt(graph, resume("yes")), p.log(graph)]


@fact("interrupts.one-answer-to-two-of-a-subgraph", ANSWERS)
def one_answer_to_two_of_a_subgraph(p: Probe) -> Any:
    """What one bare answer does when two parallel tasks of a subgraph ask."""
    from langgraph.graph import START

    from lineage_conformance.facts.probe import state_graph

    child = state_graph()
    for name in ("a", "b"):
        child.add_node(name, asks(name))
        child.add_edge(START, name)
    graph = p.graph(sub=child.compile())
    p.run(graph, {"log": ["in"]})
    return p.attempt(graph, resume("yes"))


@fact("interrupts.answers-by-id", ANSWERS)
def answers_by_id(p: Probe) -> Any:
    """What answers by id do when two parallel tasks ask."""
    graph = p.together(a=asks("qa"), b=asks("qb"))
    p.run(graph, {"log": ["in"]})
    answers = {_id(item): f"to {item.value}" for item in _asked(p, graph)}
    return [p.attempt(graph, resume(answers)), p.log(graph)]


@fact("interrupts.answer-to-an-old-id", ANSWERS)
def answer_to_an_old_id(p: Probe) -> Any:
    """What an answer by the id of the first question does when the second one of the task is open."""
    graph = p.graph(a=asks("q1", "q2"))
    p.run(graph, {"log": ["in"]})
    answer = {_id(_asked(p, graph)[0]): "yes"}
    p.run(graph, resume(answer))
    return [p.attempt(graph, resume(answer)), p.log(graph)]


@fact("interrupts.second-answer-to-one-checkpoint", ANSWERS)
def second_answer_to_one_checkpoint(p: Probe) -> Any:
    """What two different answers to one and the same checkpoint give."""
    graph = p.graph(a=asks("q"))
    p.run(graph, {"log": []})
    at = p.state(graph).config
    return [p.run(graph, resume(word), at).get("log") for word in ("yes", "no")]


@fact(
    "interrupts.update-with-an-answer",
    "The update that came with an answer is lost, or applied twice.",
)
def update_with_an_answer(p: Probe) -> Any:
    """The log of a task with three questions whose first answer came with an update."""
    graph = p.graph(a=asks("q1", "q2", "q3"))
    p.run(graph, {"log": ["in"]})
    p.run(graph, resume("1", update={"log": ["note"]}))
    p.run(graph, resume("2"))
    p.run(graph, resume("3"))
    return p.log(graph)


@fact("interrupts.sibling-of-an-answer", "Finished tools run again when a question is answered.")
def sibling_of_an_answer(p: Probe) -> Any:
    """How often each task of a step has run when the question of one was answered."""
    with scene(p, Shape((Tool("a"), Tool("b", ("after:a", "ask"))), "edges")) as s:
        s.run()
        s.run(resume("b!1"))
        return [s.began("a", "b"), s.seen()]


@fact("interrupts.before-a-node")
def before_a_node(p: Probe) -> Any:
    """What is next and listed when a graph stops before a node."""
    from langgraph.graph import START

    from lineage_conformance.facts.probe import state_graph

    made = state_graph()
    made.add_node("a", says("a"))
    made.add_edge(START, "a")
    graph = made.compile(checkpointer=p.saver, interrupt_before=["a"])
    returned = p.run(graph, {"log": ["in"]})
    state = p.state(graph)
    shown = sorted(returned) if isinstance(returned, dict) else returned
    return [list(state.next), len(state.tasks[0].interrupts), shown]


@fact("interrupts.functional-in-turn", "Answers in the functional API reach the wrong question.")
def functional_in_turn(p: Probe) -> Any:
    """What an entrypoint returns whose tasks ask one after the other, after each was answered."""
    shape = Shape((Tool("a", ("ask",)), Tool("b", ("ask",))), "functional-line")
    with scene(p, shape) as s:
        outcomes = [s.run(input) for input in ({"text": "in"}, resume("a!1"), resume("b!1"))]
        return [outcomes[-1].error.partition(":")[0], s.began("a", "b"), list(s.state().next)]
