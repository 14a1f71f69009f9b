"""Transfer: what it costs, and that subagents of both sorts make one graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from lineage_conformance.kinds.transfer.case import History, Step, text
from lineage_conformance.kinds.transfer.laws.transfer import CARRIED_OUT, SOURCE, lens, transfer
from lineage_conformance.kinds.transfer.player import Play, played
from lineage_conformance.kinds.transfer.view import Thread
from lineage_conformance.law import Level, Stake
from lineage_conformance.trace import Diff

LENGTHS = (3, 12)
"""How many runs there are before those that are transferred, at least and at most."""


class Meter:
    """Counts what a saver is asked, and what a backend that counts says of its own tables."""

    METHODS = ("get_tuple", "list", "put", "put_writes", "delete_thread")

    def __init__(self, play: Play) -> None:
        self.play, self.saver = play, play.world.saver
        self.calls: list[str] = []
        self.names = [m if play.half == "sync" else "a" + m for m in self.METHODS]
        self.names = [name for name in self.names if hasattr(self.saver, name)]
        self.counts: dict[str, int] = {}

    def _counters(self) -> dict[str, int]:
        name = "counters" if self.play.half == "sync" else "acounters"
        if not hasattr(self.play.backend, name):
            return {}
        return dict(self.play.call("counters"))

    def __enter__(self) -> Meter:
        self.counts = self._counters()
        for name in self.names:
            setattr(self.saver, name, self._counted(name, getattr(self.saver, name)))
        return self

    def __exit__(self, *error: object) -> None:
        for name in self.names:
            delattr(self.saver, name)
        after = self._counters()
        self.counts = {key: after[key] - self.counts.get(key, 0) for key in after}

    def _counted(self, name: str, method: Callable[..., Any]) -> Any:
        def called(*args: Any, **kwargs: Any) -> Any:
            self.calls.append(name.removeprefix("a"))
            return method(*args, **kwargs)

        return called


def _grown(play: Play, case: History, length: int) -> Iterator[Diff]:
    """Play the history on a new root that has `length` runs before it."""
    steps = [Step("open", p=4), *[Step("run", -1)] * length]
    play.threads.clear()
    yield from play.play(History((*steps, *case.steps)))


@played
def _fork(play: Play, case: History) -> Iterator[Diff]:
    rows = []
    for length in LENGTHS:
        found = list(_grown(play, case, length))
        yield from found
        if found or play.threads[0].latest() is None:
            return
        calls, id = len(play.world.calls), play.name()
        with Meter(play) as meter:
            play.call("fork", play.threads[0].id, id)
        play.model.fork(play.threads[0], id, None)
        made = [*meter.calls, *play.called(calls)]
        yield from play.compare("fork", ("calls",), [], made)
        if "transactions" in meter.counts:
            yield from play.compare("fork", ("transactions",), 1, meter.counts["transactions"])
        rows.append(meter.counts.get("rows"))
    if None not in rows:
        yield from play.compare("fork", ("rows",), *rows)


@transfer(
    "transfer.a-fork-is-cheap",
    level=Level.SHOULD,
    stake=Stake.COST,
    source="cost: one transaction, no provider, nothing of the saver, whatever the length of the source",
    check=_fork,
    focus="transfer-late",
    lens=lens("fork:*", about="fork"),
    after=(CARRIED_OUT, "transfer.nothing-before-the-first-dispatch"),
    meaning="Forking a long conversation takes as long as reading it.",
)
def a_fork_is_cheap() -> Iterator[History]:
    """A fork is one transaction that touches neither saver nor provider, and reads no more of a longer source."""
    yield text("run")


@played
def _delta(play: Play, case: History) -> Iterator[Diff]:
    costs = []
    for length in LENGTHS:
        late = History((Step("run", p=1), *case.steps, Step("run", p=4), Step("run"), Step("run")))
        found = list(_grown(play, late, length))
        yield from found
        thread = play.threads[0]
        if found or thread.active is not None or thread.start is not None:
            return
        lacks = len(thread.lacks("turns"))
        with Meter(play) as meter:
            play.call("resolve_start_context", thread.id, "turns", "what next")
        play.model.resolve(thread, "turns")
        reads = ["get_tuple"] * lacks
        yield from play.compare("delta", ("reads",), reads, sorted(meter.calls))
        costs.append(meter.counts.get("rows"))
    if None not in costs:
        yield from play.compare("delta", ("rows",), *costs)


@transfer(
    "transfer.reads-what-it-transfers",
    level=Level.SHOULD,
    stake=Stake.COST,
    source="cost: resolving reads one checkpoint for each run that it transfers, and no row of another run",
    check=_delta,
    focus="transfer-late",
    lens=lens("delta:*", about="resolve_start_context"),
    after=(CARRIED_OUT, "transfer.exactly-what-is-missing"),
    meaning="Coming back to a provider for the last three answers reads the whole conversation.",
)
def reads_what_it_transfers() -> Iterator[History]:
    """A delta reads one checkpoint for each of its runs, however many runs came before."""
    yield text("")
    yield text("run=tool")


def _shape(play: Play, root: Thread) -> list[Any]:
    """The graph under a root without names: who comes from whom, and by which transfers."""
    roles = {root.id: "root"}
    for child in play.call("children", root.id):
        roles[child.thread_id] = f"child {len(roles)}"
    shape: list[Any] = []
    for id, role in roles.items():
        line = play.call("lineage", id)
        parent = roles.get(line.parent_id or "")
        shape.append([role, parent, line.relationship, roles.get(line.root_id)])
    for record in play.call("transfers", root.id):
        ends = [roles.get(record.source_thread), roles.get(record.target_thread)]
        if record.type.startswith("subagent"):
            shape.append([record.type, *ends, record.source_point is not None, record.status])
    return shape


@played
def _graph(play: Play, case: History) -> Iterator[Diff]:
    ways = (
        (Step("spawn", 0, 1), Step("run", -1), Step("result"), Step("run")),
        (Step("bear", how="ok"), Step("observe"), Step("run")),
    )
    shapes, creators = [], []
    for way in ways:
        play.threads.clear()
        found = list(play.play(History((Step("open", p=1), Step("run"), *case.steps, *way))))
        yield from found
        root = play.threads[0]
        if found or root.active is not None or root.provider != "turns":
            return
        shapes.append(_shape(play, root))
        records = play.call("transfers", root.id)
        creators.append(sorted({t.created_by for t in records if t.type.startswith("subagent")}))
    yield from play.compare("graphs", ("shape",), *shapes)
    yield from play.compare("graphs", ("creators",), [["agent"], ["system"]], creators)


@transfer(
    "transfer.subagents-make-one-graph",
    level=Level.MUST,
    stake=Stake.METADATA,
    source=SOURCE
    + "observe_native_children: otherwise the graph is that of spawn_subagent and return_result",
    check=_graph,
    focus="transfer-late",
    lens=lens("graphs:*", about="spawn_subagent return_result observe_native_children"),
    after=(CARRIED_OUT, "transfer.lineage-is-a-forest", "transfer.children-are-observed-once"),
    meaning="Whoever shows a family of threads has to know two sorts of subagents.",
)
def subagents_make_one_graph() -> Iterator[History]:
    """A provider's own subagents and those of the application make the same graph; only who made it differs."""
    yield text("")
    yield text("run fork")
