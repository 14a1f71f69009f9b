"""Branching: what a branch costs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from lineage_conformance.canon import canon
from lineage_conformance.kinds.branching.case import FURNISHED, Move, Tale, tale
from lineage_conformance.kinds.branching.laws.branching import branching
from lineage_conformance.kinds.branching.player import Stage, staged
from lineage_conformance.law import Level, Stake
from lineage_conformance.trace import Diff


def _leaves(tree: Any) -> int:
    if isinstance(tree, dict):
        return sum(map(_leaves, tree.values()))
    return sum(map(_leaves, tree)) if isinstance(tree, list) else 1


class Meter:
    """Counts what a saver is asked for and how much it answers."""

    METHODS = ("get_tuple", "put", "put_writes")

    def __init__(self, stage: Stage) -> None:
        self.stage, self.calls, self.size = stage, list[str](), 0
        self.names = [m if stage.half == "sync" else "a" + m for m in (*self.METHODS, "list")]

    def __enter__(self) -> Meter:
        for name in self.names:
            setattr(self.stage.saver, name, self._counted(name, getattr(self.stage.saver, name)))
        return self

    def __exit__(self, *error: object) -> None:
        for name in self.names:
            delattr(self.stage.saver, name)

    def _counted(self, name: str, method: Callable[..., Any]) -> Any:
        def note(*data: Any) -> None:
            self.size += _leaves(canon(list(data)))

        def rows(*args: Any, **kwargs: Any) -> Iterator[Any]:
            self.calls.append(name)
            for row in method(*args, **kwargs):
                note(row)
                yield row

        async def arows(*args: Any, **kwargs: Any) -> Any:
            self.calls.append(name)
            async for row in method(*args, **kwargs):
                note(row)
                yield row

        def sync(*args: Any, **kwargs: Any) -> Any:
            self.calls.append(name)
            made = method(*args, **kwargs)
            note(args[1:], made)
            return made

        async def awaited(*args: Any, **kwargs: Any) -> Any:
            self.calls.append(name)
            made = await method(*args, **kwargs)
            note(args[1:], made)
            return made

        if self.stage.half == "sync":
            return rows if name == "list" else sync
        return arows if name == "alist" else awaited


def _cost(stage: Stage, tale: Tale) -> Iterator[Diff]:
    line = stage.play(tale)
    turn = max(line.last - 1, 0)
    costs = []
    for later in (1, 6):
        for _ in range(later):
            stage.turn(line, Move(calls=2, rows=(("documents", f"of {line.last}", "later"),)))
        with Meter(stage) as meter:
            made = stage.branch(line, turn)
        costs.append([sorted(meter.calls), meter.size, len(stage.rows(made.thread))])
    yield from stage.compare("branch", ("cost",), costs[0], costs[1])


@branching(
    "branching.cost-is-the-prefix",
    level=Level.SHOULD,
    stake=Stake.COST,
    source="cost: what came after the branch point is no part of the branch, so nothing of it need be read",
    check=staged(_cost),
    after=(
        "branching.messages-equal-prefix",
        "branching.source-is-unchanged",
        "branching.workspace-as-of-turn",
    ),
    meaning="Branching early in a long conversation takes as long as reading all of it.",
)
def cost_is_the_prefix() -> Iterator[Tale]:
    """A branch at a recorded turn costs the same saver calls and as much data however many turns came later."""
    yield tale(*FURNISHED.moves[:2])
