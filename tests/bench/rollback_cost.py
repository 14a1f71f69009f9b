"""What a rollback and a final answer cost: saver calls and bytes read, with few and with many earlier turns.

``python -m tests.bench.rollback_cost [--turns 1000] [--write]`` prints the figures; ``--write`` stores them in
``tests/bench/rollback_cost.md``. Calls and bytes are exact and the same on every machine.

* A *call* is one method of the saver. *Heads* is the most checkpoints whose channel values one call gave.
* *Bytes* are what the saver's own serializer makes of the channel values that a call gave or was given.
* *Bare* is one ``get_tuple`` of the same head: a saver that stores whole values makes it grow with history.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from lineage_conformance import contract
from lineage_conformance.agent import Agent, Plan
from lineage_reference.final_answer import afinal_answer
from lineage_reference.rollback import Turns

RESULTS = Path(__file__).with_suffix(".md")


class Counting(InMemorySaver):
    """Counts the calls of its methods, and the bytes of channel values that go through them."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: Counter[str] = Counter()
        self.heads = self.bytes = 0

    def reset(self) -> None:
        """Start to count."""
        self.calls.clear()
        self.heads = self.bytes = 0

    def get_tuple(self, config: Any) -> Any:
        row = super().get_tuple(config)
        self.calls["get_tuple"] += 1
        if row is not None:
            self.heads = max(self.heads, 1)
            self.bytes += self.size(row)
        return row

    def list(self, *args: Any, **kwargs: Any) -> Any:
        rows = [*super().list(*args, **kwargs)]
        self.calls["list"] += 1
        self.heads = max(self.heads, len(rows))
        self.bytes += sum(map(self.size, rows))
        return iter(rows)

    def put(self, config: Any, checkpoint: Any, *rest: Any) -> Any:
        self.calls["put"] += 1
        return super().put(config, checkpoint, *rest)

    def delete_thread(self, thread_id: str) -> None:
        self.calls["delete_thread"] += 1
        super().delete_thread(thread_id)

    def size(self, row: Any) -> int:
        """Bytes of the channel values of a row."""
        return len(self.serde.dumps_typed(row.checkpoint["channel_values"])[1])


class Watched(Turns):
    """Counts from the moment at which the run has stopped."""

    def _end(self, *args: Any) -> Any:
        self.saver.reset()
        return super()._end(*args)


async def measure(earlier: int, strategy: str) -> dict[str, dict[str, int]]:
    """Calls, heads and bytes of a rollback (one result had landed) and of a final answer."""
    saver, agent = Counting(), Agent()
    turns = Watched(saver, strategy=strategy)
    graph = turns.use(agent.build)
    for number in range(earlier):
        question = f"question {number}"
        agent.plans[question] = Plan(tools=0)
        await turns.arun("t", ask(question), durability="exit")
    found = {"final answer": await counted(saver, lambda: afinal_answer(graph, "t"))}
    found["bare get_tuple"] = await counted(
        saver, lambda: saver.aget_tuple({"configurable": {"thread_id": "t"}})
    )
    agent.plans["oops"] = Plan(tools=3)
    agent.gates.hold("tool 1", "tool 2")
    task = asyncio.create_task(turns.arun("t", ask("oops"), on_event=agent.landed))
    await agent.gates.wait_async("committed:tool 0", "reached:tool 1", "reached:tool 2")
    await turns.acancel("t")
    outcome = await task
    assert outcome.rolled_back
    found["rollback"] = figures(saver)
    agent.gates.open_all()
    return found


async def counted(saver: Counting, work: Callable[[], Any]) -> dict[str, int]:
    """The figures of one piece of work."""
    saver.reset()
    await work()
    return figures(saver)


def figures(saver: Counting) -> dict[str, int]:
    """What was counted since the last reset."""
    return {"calls": sum(saver.calls.values()), "heads": saver.heads, "bytes": saver.bytes}


def ask(question: str) -> dict[str, Any]:
    """The input of a turn."""
    return {"messages": [HumanMessage(question, id=f"human {question}")]}


def table(turns: int) -> str:
    """The figures as Markdown."""
    versions = contract.versions()
    lines = [
        "# What a rollback and a final answer cost",
        "",
        f"In memory, langgraph {versions['langgraph']}, langgraph-checkpoint {versions['langgraph-checkpoint']}.",
        "",
        f"| work | strategy | calls, 10 turns | calls, {turns:,} | heads per call | bytes, 10 | bytes, {turns:,} |",
        "|---|---|---|---|---|---|---|",
    ]
    for strategy in ("restore", "remove"):
        few = asyncio.run(measure(10, strategy))
        many = asyncio.run(measure(turns, strategy))
        for work in few if strategy == "restore" else ("rollback",):
            a, b = few[work], many[work]
            name = strategy if work == "rollback" else ""
            lines.append(
                f"| {work} | {name} | {a['calls']} | {b['calls']} | {b['heads']} | {a['bytes']:,} | {b['bytes']:,} |"
            )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Print the figures, and store them if asked to."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--turns", type=int, default=1000)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    text = table(options.turns)
    sys.stdout.write(text)
    if options.write:
        RESULTS.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
