"""What a branch costs: saver calls, rows and bytes, with few and with many turns after (or before) it.

``python -m tests.bench.branch_cost [--turns 1000] [--write]`` prints the figures; ``--write`` stores them in
``tests/bench/branch_cost.md``. Everything but the time is exact and the same on every machine.

* *Calls*, *rows* and *bytes* of the saver are counted at its methods: a row is a checkpoint or a write that
  went in or came out, its bytes are what the saver's own serializer makes of it.
* Rows and bytes of the workspace are the rows that the new conversation owns in the tables, and the text in
  them.
* The conversation with the large document is silent: its messages would grow, its workspace is the question.
* Time is the shortest of 60 creations, in milliseconds; the two that are compared are run by turns.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from sqlalchemy import Text, func, select

from lineage_conformance import contract
from lineage_reference.branching import make
from lineage_reference.branching.seeding import Mark
from lineage_reference.branching.tables import BODIES, OWNED, reading
from lineage_reference.steps import run
from pytest_lineage.run.opening import _fast_folder
from tests.mutants.branching import HeadSeeder

MEGABYTE = "x" * 2**20


class Meter:
    """Counts what goes through a saver while it is entered."""

    def __init__(self, saver: Any) -> None:
        self.saver, self.calls, self.rows, self.bytes = saver, 0, 0, 0

    def __enter__(self) -> Meter:
        for name in ("get_tuple", "list", "put", "put_writes"):
            setattr(self.saver, name, self._counted(name, getattr(self.saver, name)))
        return self

    def __exit__(self, *error: object) -> None:
        for name in ("get_tuple", "list", "put", "put_writes"):
            delattr(self.saver, name)

    def _counted(self, name: str, method: Callable[..., Any]) -> Any:
        def rows(*args: Any, **kwargs: Any) -> Iterator[Any]:
            self.calls += 1
            for row in method(*args, **kwargs):
                self._tuple(row)
                yield row

        def plain(config: Any, *args: Any) -> Any:
            self.calls += 1
            made = method(config, *args)
            if name == "get_tuple":
                self._tuple(made)
            elif name == "put":
                self._row(args[0]["channel_values"])
            else:
                for write in args[0]:
                    self._row(write)
            return made

        return rows if name == "list" else plain

    def _tuple(self, found: Any) -> None:
        if found is not None:
            self._row(found.checkpoint["channel_values"])
            for write in found.pending_writes or ():
                self._row(write)

    def _row(self, value: Any) -> None:
        self.rows += 1
        self.bytes += len(self.saver.serde.dumps_typed(value)[1])


class Bench:
    """A conversation on one saver, turn by turn."""

    def __init__(self, backend: Any) -> None:
        self.backend = backend
        graph: Any = StateGraph(_state())
        graph.add_node("model", self._model)
        graph.add_edge(START, "model")
        graph.add_edge("model", END)
        self.graph = graph.compile(checkpointer=backend.saver)
        self.number = 0

    def _model(self, state: Any) -> Any:
        return {"messages": [AIMessage("an answer of some words", id=f"a{self.number}")]}

    def turns(self, thread: str, count: int) -> None:
        """So many recorded turns; each one writes a document and makes an artifact in the first three."""
        config: Any = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}
        for _ in range(count):
            self.number = self.backend.begin_turn(thread)
            if self.number <= 3:
                self.backend.write(thread, "artifacts", "chart", f"of turn {self.number}")
            self.backend.write(thread, "todos", "next", f"{self.number:05d}")
            given = {"messages": [HumanMessage("a question", id=f"h{self.number}")]}
            # One checkpoint a turn: a thousand turns of whole lists are large enough as they are.
            self.graph.invoke(given, config, durability="exit")
            head = self.graph.get_state(config).config["configurable"]["checkpoint_id"]
            self.backend.end_turn(thread, self.number, head)

    def silent_turns(self, thread: str, count: int, checkpoint: str) -> None:
        """So many turns in which nothing is said: only the workspace has a history."""
        for _ in range(count):
            number = self.backend.begin_turn(thread)
            self.backend.write(thread, "todos", "next", f"{number:05d}")
            self.backend.end_turn(thread, number, checkpoint)

    def cost(self, thread: str, turn: int) -> dict[str, Any]:
        """Calls, rows, bytes and time of a branch."""
        with Meter(self.backend.saver) as meter:
            made = self.backend.branch(thread, turn)
        rows, size = owned(self.backend, made.thread_id)
        return {
            "calls": meter.calls,
            "rows": meter.rows,
            "bytes": meter.bytes,
            "workspace rows": rows,
            "workspace bytes": size,
        }

    def from_the_head(self, thread: str) -> None:
        """Seed a thread with the *newest* messages: what a branch must not cost."""
        seeder = HeadSeeder(self.backend.saver)
        run(seeder.seed(uuid.uuid4().hex, run(seeder.read(thread, Mark("any")))))


def race(one: Callable[[], Any], other: Callable[[], Any], rounds: int = 60) -> tuple[float, float]:
    """The shortest time of two calls in milliseconds, run by turns so that both meet the same weather."""
    best = [float("inf"), float("inf")]
    for _ in range(rounds):
        for index, call in enumerate((one, other)):
            start = time.perf_counter()
            call()
            best[index] = min(best[index], (time.perf_counter() - start) * 1000)
    return best[0], best[1]


def _state() -> Any:
    from typing import Annotated, TypedDict

    typed: Any = TypedDict
    return typed("State", {"messages": Annotated[list, add_messages]})


def owned(backend: Any, thread: str) -> tuple[int, int]:
    """Rows and bytes of text that a conversation owns in the tables."""
    rows = size = 0
    with reading(backend.engine) as db:
        for table in OWNED:
            mine = select(func.count()).select_from(table).where(table.c.thread_id == thread)
            rows += db.execute(mine).scalar_one()
            text = [column for column in table.columns if isinstance(column.type, Text)]
            for column in text if table is BODIES else ():
                wanted = select(func.sum(func.length(column))).where(table.c.thread_id == thread)
                size += db.execute(wanted).scalar() or 0
    return rows, size


def backends(stack: ExitStack, names: list[str]) -> Iterator[tuple[str, Any]]:
    """The savers that are there, each with a backend."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=_fast_folder())))
    for name in names:
        (folder / name).mkdir()
        store = SimpleNamespace(path=folder / name, dsn=None)
        saver: Any = InMemorySaver()
        if name == "sqlite":
            from langgraph.checkpoint.sqlite import SqliteSaver

            saver = stack.enter_context(SqliteSaver.from_conn_string(str(store.path / "c.sqlite")))
        elif name == "postgres":
            from langgraph.checkpoint.postgres import PostgresSaver

            from pytest_lineage.postgres import StoreMaker, open_server

            server = open_server()
            stack.callback(server.close)
            store.dsn = stack.enter_context(StoreMaker(server.dsn)).create("branchcost")
            saver = stack.enter_context(PostgresSaver.from_conn_string(store.dsn))
            saver.setup()
        yield name, stack.enter_context(make(saver, store))


def measure(turns: int, names: list[str]) -> str:
    """Measure and render as Markdown."""
    packages = ("langgraph", "langgraph-checkpoint", "langgraph-checkpoint-sqlite")
    versions = ", ".join(f"{name} {contract.version(name)}" for name in packages)
    lines = [
        "# What a branch costs",
        "",
        f"Made by `python -m tests.bench.branch_cost --turns {turns}`; its docstring says what is counted.",
        f"Python {sys.version.split()[0]}, {versions}.",
        "",
    ]
    header = "saver", "branch", "calls", "rows", "bytes", "workspace rows", "workspace bytes", "ms"
    lines += ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    ratios = []
    with ExitStack() as stack:
        for name, backend in backends(stack, names):
            bench = Bench(backend)
            for thread, later in (("short", 10), ("long", turns)):
                backend.create(thread)
                bench.turns(thread, 5 + later)
            for thread, count in (("early", 10), ("late", turns)):
                backend.create(thread)
                backend.write(thread, "documents", "book", MEGABYTE)
                bench.silent_turns(thread, count, run(backend.seeder.seed(thread, [])))
            few, many = _pair(bench, ("short", 5), ("long", 5))
            early, late = _pair(bench, ("early", 10), ("late", turns))
            lines.append(_line(name, "at turn 5, 10 later turns", few))
            lines.append(_line(name, f"at turn 5, {turns} later turns", many))
            lines.append(_line(name, "1 MiB document, at turn 10", early))
            lines.append(_line(name, f"1 MiB document, at turn {turns}", late))
            head = bench.from_the_head
            short, long = race(partial(head, "short"), partial(head, "long"), 5)
            ratios.append(
                f"- {name}: {turns} later turns take {many['ms'] / few['ms']:.2f} times as long as 10; seeded "
                f"from the head it would be {long / short:.1f} times. The document at turn {turns}: "
                f"{late['ms'] / early['ms']:.2f} times as long as at turn 10."
            )
    return "\n".join([*lines, "", "Time:", "", *ratios, ""])


def _pair(bench: Bench, one: tuple[str, int], other: tuple[str, int]) -> Any:
    """The costs of two branches, which must be the same but for the time."""
    costs = [bench.cost(*one), bench.cost(*other)]
    assert costs[0] == costs[1], costs
    times = race(lambda: bench.backend.branch(*one), lambda: bench.backend.branch(*other))
    return [{**cost, "ms": round(ms, 2)} for cost, ms in zip(costs, times, strict=True)]


def _line(name: str, what: str, cost: dict[str, Any]) -> str:
    return "| " + " | ".join(map(str, (name, what, *cost.values()))) + " |"


def main() -> None:
    """Parse the arguments and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=1000)
    parser.add_argument("--over", default="memory,sqlite,postgres")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    text = measure(options.turns, options.over.split(","))
    print(text)
    if options.write:
        Path(__file__).with_suffix(".md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
