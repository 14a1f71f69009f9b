"""Rules: what must be true of what was seen of a scenario. Graph laws are made of them.

A rule reads a scenario and its story and yields a `Diff` for each thing that is not as it must be. It holds of
every scenario that it can be asked about, not only of the corpus: shrinking tries others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from lineage_conformance.bench import Bench
from lineage_conformance.canon import canon
from lineage_conformance.graphs.shape import owner
from lineage_conformance.kinds.graph.player import Seen, play
from lineage_conformance.kinds.graph.scenario import RUNS, Scenario
from lineage_conformance.law import Law, Level, law
from lineage_conformance.trace import Diff

Story = list[Seen]
Rule = Callable[[Scenario, Story], Iterable[Diff]]

SAVER = (
    "put.is-readable", "put.keeps-every-field", "versions.mint-rises", "versions.minted-come-back",
    "values.complete", "values.removed-stay-removed", "values.old-ones-stay", "latest.is-largest-id",
    "latest.names-itself", "fork.parents", "fork.removes-nothing", "fork.branches-are-independent",
    "writes.round-trip", "writes.exactly-once", "writes.last-wins-on-reserved-channels",
    "writes.error-does-not-block", "writes.many-in-order", "writes.send-and-interrupt",
    "writes.name-their-task", "writes.may-grow", "writes.ordered-by-path", "list.rows-equal-get-tuple",
    "list.newest-first", "namespaces.are-apart", "namespaces.threads-are-apart", "metadata.round-trip",
    "serde.messages", "concurrency.writes-of-parallel-tasks",
)  # fmt: skip
"""What an engine needs of a saver: a graph law that breaks beside one of these is explained by it."""

FACES = ("sync", "async")
SINCE = "langgraph>=0.2.62"
DELTA = "langgraph>=1.2.0"
BY_ID = "langgraph>=0.4.0"
MODES = "langgraph>=0.6.0"


def graph_law(
    id: str, rule: Rule, *, level: Level, source: str, check: Any = None, **options: Any
) -> Callable[[Callable[[], Iterable[Scenario]]], Law]:
    """`law` with what all graph laws share: cases are scenarios, and the strict reference is the referee."""
    options.setdefault("faces", FACES)
    options["versions"] = (SINCE, *options.get("versions", ()))
    options["after"] = (*options.get("after", ()), *SAVER)
    return law(
        id,
        level=level,
        source=source,
        check=check or ruled(rule),
        decode=Scenario.from_json,
        referee=True,
        **options,
    )


def ruled(rule: Rule) -> Callable[[Bench, Scenario], Iterator[Diff]]:
    """A check that plays the scenario and asks the rule."""

    def check(bench: Bench, case: Scenario) -> Iterator[Diff]:
        story = told(bench, case)
        if story is not None:
            yield from rule(case, story)

    return check


def told(bench: Bench, case: Scenario, half: str = "", label: str = "") -> Story | None:
    """The story of a scenario; None if the installed LangGraph has no such graph."""
    from lineage_conformance.graphs.state import Lacking

    try:
        return play(bench, case, half, label)
    except Lacking as lacking:
        bench.lacks = str(lacking) or "the installed LangGraph has no such graph"
        return None


def differ(seen: Seen, field: str, expected: Any, got: Any) -> Iterator[Diff]:
    """A difference at one action, if there is one; counts the comparison."""
    seen.compared[f"{seen.op}:{field}"] += 1
    left, right = canon(expected), canon(got)
    if left != right:
        yield Diff(seen.act, seen.op, (field,), left, right)


def unharmed(seen: Seen) -> Iterator[Diff]:
    """Nothing was raised."""
    if seen.error:
        yield Diff(seen.act, seen.op, ("raises",), "no exception", seen.error)


def both(*rules: Rule) -> Rule:
    """All of the rules, the first one first."""

    def rule(case: Scenario, story: Story) -> Iterator[Diff]:
        for each in rules:
            yield from each(case, story)

    return rule


# -- rules ---------------------------------------------------------------------------------------


def finishes(case: Scenario, story: Story) -> Iterator[Diff]:
    """The last action ends the turn, in the state that an uninterrupted turn ends in, order included."""
    last = story[-1]
    yield from unharmed(last)
    yield from differ(last, "log", case.shape.log(), last.log)
    yield from differ(last, "next", [], list(last.next))


def run_once(case: Scenario, story: Story) -> Iterator[Diff]:
    """A tool whose write was stored does not begin again in the runs that resume its step."""
    stored: set[str] = set()
    tools = {tool.name for tool in case.shape.tools}
    for act, seen in zip(case.acts, story, strict=True):
        if case.shape.rounds > 1 or act.op not in RUNS:
            if act.op not in ("look", "reopen"):
                stored.clear()  # a new checkpoint: its tasks are new ones
            continue
        if act.op == "invoke" or act.at not in ("", "head"):
            stored.clear()
        again = sorted(set(seen.began) & stored & tools)
        if stored:
            yield from differ(seen, "ran-again", [], again)
        stored.update(seen.landed, seen.kept)


def stays_whole(case: Scenario, story: Story) -> Iterator[Diff]:
    """What a run streamed last is what is loaded afterwards."""
    for act, seen in zip(case.acts, story, strict=True):
        if act.op in RUNS and not act.stop and not seen.error and seen.live is not None:
            yield from differ(seen, "reloaded", seen.live, seen.log)


def leaves(case: Scenario, story: Story) -> Iterator[Diff]:
    """A stopped run leaves the writes of the finished tools, and its other tasks as next."""
    for act, seen in zip(case.acts, story, strict=True):
        if not act.stop or not seen.met:
            continue
        done = {c.partition(":")[2] for c in act.until if c.startswith(("settled", "landed"))}
        if case.shape.child:
            continue
        yield from differ(seen, "kept", sorted(done), list(seen.kept))
        nodes = {"model", "review", "tail", "work"} & set(act.hold)
        if nodes:
            yield from differ(seen, "next", sorted(nodes), sorted(set(seen.next)))
        else:
            rest = [case.shape.node_of(t.name) for t in case.shape.tools if t.name not in done]
            yield from differ(seen, "next", sorted(rest), sorted(seen.next))


def distinct_ids(case: Scenario, story: Story) -> Iterator[Diff]:
    """Two questions never have one id."""
    owners: dict[str, str] = {}
    for seen in story:
        for question, id in seen.asked:
            first = owners.setdefault(id, question)
            yield from differ(seen, "id-is-of", question, first)


def all_waiting_next(case: Scenario, story: Story) -> Iterator[Diff]:
    """`next` names the node of every task that has asked, as often as it waits there."""
    for seen in story:
        waiting = sorted({owner(question) for question, _ in seen.asked})
        nodes = [case.shape.node_of(tool) for tool in waiting]
        if case.shape.child or case.shape.layout.startswith("functional"):
            nodes = nodes[:1]  # one task waits for all that is asked inside it
            yield from differ(seen, "next", len(nodes), min(len(nodes), len(seen.next)))
            continue
        missing = [n for n in set(nodes) if seen.next.count(n) < nodes.count(n)]
        yield from differ(seen, "not-in-next", [], sorted(missing))


def answered_are_gone(case: Scenario, story: Story) -> Iterator[Diff]:
    """A question that was answered by id is not listed any more."""
    answered: set[str] = set()
    for act, seen in zip(case.acts, story, strict=True):
        if act.op == "resume" and not seen.error:
            answered.update(question for question, _ in act.answers)
        listed = sorted({question for question, _ in seen.asked} & answered)
        if answered:
            yield from differ(seen, "still-listed", [], listed)


def refused_if_ambiguous(case: Scenario, story: Story) -> Iterator[Diff]:
    """An answer by value is refused while several questions wait, and nothing is changed by it."""
    for act, seen, before in zip(case.acts[1:], story[1:], story, strict=False):
        if act.op == "resume" and not act.answers and len(before.asked) > 1:
            yield from differ(seen, "refused", True, bool(seen.error))
            yield from differ(seen, "began", [], list(seen.began))
            yield from differ(
                seen, "asked", [list(a) for a in before.asked], [list(a) for a in seen.asked]
            )


def deltas_equal(case: Scenario, story: Story) -> Iterator[Diff]:
    """The delta channel holds what the plain channel holds that was fed the same writes."""
    for seen in story:
        if not seen.error:
            yield from differ(seen, "deltas", seen.log, seen.deltas or [])
