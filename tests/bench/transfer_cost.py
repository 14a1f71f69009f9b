"""What a fork and a delta cost where the source has 10 runs, and where it has 1,000.

``python -m tests.bench.transfer_cost [--runs 1000] [--write]`` prints the figures; ``--write`` stores them in
``tests/bench/transfer_cost.md``. Everything but the time is exact and the same on every machine.

* *Transactions* that wrote, and *rows* that were read, are those of the transfer tables, as the backend counts
  them. Rows are the ones that a query returns.
* Calls, rows and bytes of the *saver* are counted at its methods: a row is a checkpoint that came out, its
  bytes are what the saver's own serializer makes of its values.
* Provider *calls* are all calls of the adapter but those of the runs before.
* A delta of three runs: provider ``a`` has covered the source, ``b`` has had three runs since, ``a`` comes back.
  Sessions that keep *summaries* leave the messages of a run and one more in its checkpoint; *whole* ones leave
  all there ever were, so the checkpoints that are read are as large as the conversation, though as many. (The
  checkpoints of whole sessions that are not read are written without the older messages, to save an hour.)
* Time is the shortest of 40, in milliseconds; the two that are compared are run by turns.
"""

from __future__ import annotations

import argparse
import sys
import uuid
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langgraph.checkpoint.base import empty_checkpoint

from lineage_conformance import contract
from lineage_reference.transfer import Capabilities, TurnResult, make
from tests.bench.branch_cost import Meter, backends, race

DELTA = 3


class Puts:
    """An adapter that puts one checkpoint for each turn, and counts what it is asked."""

    capabilities = Capabilities("at_turn")

    def __init__(self, name: str, saver: Any) -> None:
        self.name, self.saver, self.calls, self.whole = name, saver, 0, False
        self.sessions: dict[str, list[Any]] = {}

    def start(self, handoffs: Sequence[Any], message: str) -> TurnResult:
        session = uuid.uuid4().hex
        self.sessions[session] = []
        return self.send(session, handoffs, message)

    def send(self, session: str, handoffs: Sequence[Any], message: str) -> TurnResult:
        self.calls += 1
        known = self.sessions[session]
        for handoff in handoffs:
            known += handoff.items
        number = len(known)
        own = [
            HumanMessage(message, id=f"{session}-{number}-h"),
            AIMessage("an answer of some words", id=f"{session}-{number}-a"),
        ]
        older = known if self.whole else [SystemMessage("a summary", id=f"{session}-summary")]
        checkpoint = empty_checkpoint()
        version = self.saver.get_next_version(None, None)
        checkpoint["channel_values"] = {"messages": [*older, *own]}
        checkpoint["channel_versions"] = {"messages": version}
        config: Any = {"configurable": {"thread_id": session, "checkpoint_ns": ""}}
        # Each checkpoint has a thread of its own, since one version does for all of them then.
        config["configurable"]["thread_id"] = place = f"{session}-{number}"
        self.saver.put(config, checkpoint, {"source": "loop", "step": 1}, {"messages": version})
        known += own
        ids = tuple(m.id for m in own)
        return TurnResult("completed", session, str(number), place, checkpoint["id"], ids)

    def fork(self, session: str, turn: str | None = None) -> str:
        self.calls += 1
        made = uuid.uuid4().hex
        self.sessions[made] = list(self.sessions[session])
        return made


class Bench:
    """A backend with two providers, and what is done to its threads."""

    def __init__(self, backend: Any) -> None:
        self.backend = backend
        self.providers = {name: Puts(name, backend.saver) for name in "ab"}
        for provider in self.providers.values():
            backend.use(provider)

    def source(self, thread: str, runs: int, whole: bool) -> None:
        """So many runs of ``a``, then three of ``b``."""
        self.backend.open_thread(thread, "a")
        for number in range(runs):
            self.backend.dispatch(thread, f"question {number}")
        self.providers["b"].whole = whole
        for number in range(DELTA):
            self.backend.dispatch(thread, f"aside {number}", "b")
        self.providers["b"].whole = False
        self.backend.switch_provider(thread, "a")

    def counted(self, act: Callable[[], Any]) -> dict[str, int]:
        """What one thing costs."""
        before, calls = self.backend.counters(), self._calls()
        with Meter(self.backend.saver) as meter:
            act()
        after = self.backend.counters()
        return {
            "transactions": after["transactions"] - before["transactions"],
            "rows": after["rows"] - before["rows"],
            "saver calls": meter.calls,
            "saver rows": meter.rows,
            "saver bytes": meter.bytes,
            "provider calls": self._calls() - calls,
        }

    def _calls(self) -> int:
        return sum(provider.calls for provider in self.providers.values())

    def fork(self, thread: str) -> None:
        """A fork that nobody uses."""
        self.backend.fork(thread, uuid.uuid4().hex)

    def again(self, thread: str) -> None:
        """A new pending transfer in the place of the one that was resolved."""
        self.backend.switch_provider(thread, "a")

    def delta(self, thread: str) -> None:
        """Resolve the three runs that ``a`` lacks."""
        context = self.backend.resolve_start_context(thread, "a", "what next")
        assert context.kind == "delta"
        assert len(context.handoffs[0].items) == 2 * DELTA


def measure(runs: int, names: list[str]) -> str:
    """Measure and render as Markdown."""
    packages = ("langgraph", "langgraph-checkpoint", "langgraph-checkpoint-sqlite")
    versions = ", ".join(f"{name} {contract.version(name)}" for name in packages)
    lines = [
        "# What a transfer costs",
        "",
        f"Made by `python -m tests.bench.transfer_cost --runs {runs}`; its docstring says what is counted.",
        f"Python {sys.version.split()[0]}, {versions}.",
        "",
    ]
    header = (
        "saver", "what", "source runs", "transactions", "rows", "saver calls", "saver rows", "saver bytes",
        "provider calls", "ms",
    )  # fmt: skip
    lines += ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    ratios = []
    with ExitStack() as stack:
        for name, other in backends(stack, names):
            store = SimpleNamespace(path=Path(other.engine.url.database or ".").parent, dsn=None)
            if name == "postgres":
                store.dsn = _dsn(other)
            bench = Bench(stack.enter_context(make(other.saver, store)))
            said = []
            for kind in ("summaries", "whole"):
                for count in (10, runs):
                    bench.source(f"{kind} {count}", count, kind == "whole")
            acts = [("fork", bench.fork, "summaries"), ("delta of 3", bench.delta, "summaries")]
            for what, act, kind in [*acts, ("delta of 3, whole sessions", bench.delta, "whole")]:
                threads = [f"{kind} {count}" for count in (10, runs)]
                costs = [bench.counted(lambda t=t, act=act: act(t)) for t in threads]  # type: ignore[misc]
                alike = [{k: v for k, v in c.items() if k != "saver bytes"} for c in costs]
                assert alike[0] == alike[1], costs
                times = _times(bench, act, threads)
                for count, cost, ms in zip((10, runs), costs, times, strict=True):
                    row = (name, what, count, *cost.values(), f"{ms:.2f}")
                    lines.append("| " + " | ".join(map(str, row)) + " |")
                said.append(f"{what} {times[1] / times[0]:.2f}")
            ratios.append(f"- {name}: {', '.join(said)}")
    title = f"Time with {runs} source runs, as a multiple of that with 10:"
    return "\n".join([*lines, "", title, "", *ratios, ""])


def _times(bench: Bench, act: Callable[[str], None], threads: list[str]) -> list[float]:
    best = [float("inf"), float("inf")]
    for _ in range(40):
        if act == bench.delta:
            for thread in threads:
                bench.again(thread)
        found = race(lambda: act(threads[0]), lambda: act(threads[1]), 1)
        best = [min(pair) for pair in zip(best, found, strict=True)]
    return best


def _dsn(other: Any) -> str:
    info = other.saver.conn.info
    return f"postgresql://{info.user}:{info.password}@{info.host}:{info.port}/{info.dbname}"


def main() -> None:
    """Parse the arguments and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--over", default="memory,sqlite,postgres")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    text = measure(options.runs, options.over.split(","))
    print(text)
    if options.write:
        Path(__file__).with_suffix(".md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
