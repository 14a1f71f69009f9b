"""Delta channels: folded from writes along a line of checkpoints, they equal a plain channel."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator

from lineage_conformance.bench import Bench
from lineage_conformance.graphs.shape import Shape, Tool, tools
from lineage_conformance.kinds.graph.rules import (
    DELTA,
    Rule,
    Story,
    deltas_equal,
    differ,
    graph_law,
    stays_whole,
    told,
)  # fmt: skip
from lineage_conformance.kinds.graph.scenario import (
    Act,
    Scenario,
    answer,
    go_on,
    invoke,
    scenario,
    update,
)
from lineage_conformance.law import Law, Level, Stake
from lineage_conformance.trace import Diff

SOURCE = (
    "DeltaChannel: applying two batches of writes one after the other gives what both at once give; "
    "state is rebuilt by replaying ancestor writes"
)
BASE = ("delta_history.equals-parent-walk", "delta_history.stays-on-its-branch")
LINE = Shape(tools(2), "line", delta="delta")


def _delta(
    id: str,
    rule: Rule = deltas_equal,
    *,
    stake: Stake,
    meaning: str,
    reports: tuple[str, ...] = (),
    check: object = None,
    focus: str = "",
    after: tuple[str, ...] = BASE,
) -> Callable[[Callable[[], Iterable[Scenario]]], Law]:
    """A MUST about delta channels."""
    return graph_law(
        id,
        rule,
        level=Level.MUST,
        stake=stake,
        source=SOURCE,
        versions=(DELTA,),
        after=after,
        meaning=meaning,
        reports=reports,
        check=check,
        focus=focus,
        limits=("history",),
    )


@_delta(
    "graph_delta.equals-plain",
    stake=Stake.CHANGED,
    focus="graph-delta",
    meaning="A long conversation is loaded with messages missing, doubled or out of order.",
)
def equals_plain() -> Iterator[Scenario]:
    """Over turns, questions and errors a delta channel holds what a plain channel holds."""
    # One task a step: the order of parallel ones is another law's, and chance on releases that get it wrong.
    yield scenario(Shape(tools(1), rounds=2, delta="delta"), invoke(), invoke("two"))
    yield scenario(Shape((Tool("a"), Tool("b", ("ask", "ask"))), "line", delta="delta"),
                   invoke(), answer("b!1"), answer("b!2"))  # fmt: skip
    yield scenario(Shape((Tool("a"), Tool("b", ("raise:1",))), "line", delta="delta"),
                   invoke(), go_on())  # fmt: skip
    yield scenario(LINE, invoke(), invoke("two"), durability="exit")


@_delta(
    "graph_delta.first-update",
    stake=Stake.LOST,
    after=("graph_delta.equals-plain",),
    meaning="The first message of a conversation that was seeded by the application is lost.",
)
def first_update() -> Iterator[Scenario]:
    """An update of a fresh thread is in the delta channel."""
    yield scenario(LINE, update("seed", as_node="a"))
    yield scenario(LINE, update("seed", as_node="a"), update("more", as_node="b"), invoke("two"))


@_delta(
    "graph_delta.updated-fork",
    stake=Stake.CHANGED,
    after=("graph_delta.equals-plain",),
    meaning="An edited message stands beside the one that it replaces.",
    reports=("langchain-ai/langgraph#8443", "bytedance/deer-flow#4460"),
)
def updated_fork() -> Iterator[Scenario]:
    """An update of an older checkpoint gives a delta channel without the writes of the branch it left."""
    yield scenario(LINE, invoke(), update("edit", as_node="a", at="before:a"))
    yield scenario(LINE, invoke(), update("edit", as_node="a", at="before:a"), go_on())


@_delta(
    "graph_delta.replayed-fork",
    stake=Stake.CHANGED,
    after=("graph_delta.equals-plain",),
    meaning="A regenerated answer stands beside the first one.",
    reports=("langchain-ai/langgraph#8443",),
)
def replayed_fork() -> Iterator[Scenario]:
    """A replay, or a new turn at an older checkpoint, does not fold the writes of the branch it left."""
    yield scenario(LINE, invoke(), go_on(at="before:b"))
    yield scenario(LINE, invoke(), invoke("two"), invoke("three", at="act:0"))
    yield scenario(LINE, invoke(), invoke("two", at="before:b"))


def _live_deltas(case: Scenario, story: Story) -> Iterator[Diff]:
    yield from stays_whole(case, story)
    yield from deltas_equal(case, story)


@_delta(
    "graph_delta.parallel-order",
    _live_deltas,
    stake=Stake.MISORDERED,
    after=("graph_delta.equals-plain", "delta_history.orders-parallel-writes"),
    meaning="Results of parallel tools change their order when the conversation is loaded.",
    reports=("langchain-ai/langgraph#8382",),
)
def parallel_order() -> Iterator[Scenario]:
    """Writes of parallel tasks are folded in the same order live and when they are loaded."""
    # Where the order follows the ids of the tasks, each turn may come right by chance: of sixteen, one does not.
    shape = Shape(tools(3), "edges", delta="delta")
    turns = [invoke(f"turn{number}") for number in range(16)]
    yield scenario(shape, *turns)
    yield scenario(shape, *turns, durability="exit")


@_delta(
    "graph_delta.cached-results",
    _live_deltas,
    stake=Stake.LOST,
    after=("graph_delta.equals-plain",),
    meaning="An answer that came from a cache is gone when the conversation is loaded.",
)
def cached_results() -> Iterator[Scenario]:
    """What a node wrote whose result came from the cache is in the delta channel after a reload."""
    shape = Shape(tools(1), "line", delta="delta", cached=("a",))
    yield scenario(shape, invoke(), invoke(thread="u"))


@_delta(
    "graph_delta.overwrite",
    _live_deltas,
    stake=Stake.CHANGED,
    after=("graph_delta.equals-plain",),
    meaning="A history that was replaced by its summary stands beside it again when it is loaded.",
)
def overwrite() -> Iterator[Scenario]:
    """A value that overwrites a delta channel replaces what was there, live and after a reload."""
    shape = Shape((Tool("a"), Tool("b", ("overwrite",)), Tool("c")), "line", delta="delta")
    yield scenario(shape, invoke(), invoke("two"))
    yield scenario(shape, invoke(), go_on(at="before:b"), update("more", as_node="a"))


def _migrated(bench: Bench, case: Scenario) -> Iterator[Diff]:
    """The first turn with a plain channel of that name, the others with the delta channel."""
    plain = Scenario(dataclasses.replace(case.shape, delta="plain"), case.acts[:1])
    if told(bench, plain) is None:
        return
    for seen in told(bench, Scenario(case.shape, case.acts[1:])) or ():
        for diff in differ(seen, "deltas", seen.log, seen.deltas or []):
            yield dataclasses.replace(diff, op=seen.act + 1)  # counted in the whole scenario


@_delta(
    "graph_delta.migration",
    stake=Stake.LOST,
    check=_migrated,
    after=("graph_delta.equals-plain", "delta_history.plain-value-is-a-seed"),
    meaning="After an upgrade to delta channels the first new message of each old thread is lost.",
    reports=("langchain-ai/langgraph#8384",),
)
def migration() -> Iterator[Scenario]:
    """A channel that was plain and is a delta channel now holds its old value and all new writes."""
    yield scenario(LINE, invoke(), invoke("two"), invoke("three"))
    yield scenario(LINE, invoke(), Act("look"))
