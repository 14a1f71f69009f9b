"""Facts about cancels of async runs: what each durability mode leaves, and what a resume does with it."""

from __future__ import annotations

from typing import Any

from lineage_conformance.facts import Fact, add
from lineage_conformance.facts.probe import Probe
from lineage_conformance.facts.scene import mode, scene
from lineage_conformance.graphs import Shape, Tool, tools

STOP = "A user who presses stop keeps or loses what the tools had done."
AT_TOOL = Shape((Tool("a"), Tool("b", ("gate:g",))), "edges")
AT_MODEL = Shape(tools(2))
AT_QUESTION = Shape((Tool("a", ("ask",)), Tool("b", ("gate:g",))), "edges")
NESTED = Shape((Tool("a"), Tool("b", ("gate:g",))), "line", child="shared")


def _cancelled(shape: Shape, hold: str, until: tuple[str, ...], durability: str) -> Any:
    def probe(p: Probe) -> Any:
        with scene(p, shape) as s:
            mode(s.driver.graph, durability)
            s.driver.gates.hold(hold)
            outcome = s.run(mode=durability, until=until, stop="cancel")
            return [outcome.met, s.seen()]

    return probe


def _resumed(shape: Shape, hold: str, until: tuple[str, ...], durability: str) -> Any:
    def probe(p: Probe) -> Any:
        with scene(p, shape) as s:
            mode(s.driver.graph, durability)
            s.driver.gates.hold(hold)
            s.run(mode=durability, until=until, stop="cancel")
            s.run(None)
            return [s.began("a", "b"), s.state().values.get("log"), list(s.state().next)]

    return probe


for _mode in ("sync", "async", "exit"):
    # With durability exit nothing reaches the saver before the end; what shows is what the engine has accepted.
    _done = "settled:a"
    for _id, _shape, _hold, _until, _what in (
        ("a-tool", AT_TOOL, "g", ("reached:g", _done), "in a tool whose sibling has finished"),
        ("the-model", AT_MODEL, "model", ("reached:model",), "in its first node"),
        ("a-subgraph", NESTED, "g", ("reached:g",), "in the second step of a subgraph"),
    ):
        add(Fact(f"stopping.in-{_id}-{_mode}", f"What a run leaves that was cancelled {_what}, durability {_mode}.",
                 _cancelled(_shape, _hold, _until, _mode), STOP, faces=("async",)))  # fmt: skip
    add(Fact(f"stopping.resumed-{_mode}",
             "How often tools have run when a run that was cancelled in a tool, its sibling finished, "
             f"was resumed, durability {_mode}.",
             _resumed(AT_TOOL, "g", ("reached:g", _done), _mode), STOP, faces=("async",)))  # fmt: skip
for _mode in ("sync", "async"):
    add(Fact(f"stopping.with-a-question-{_mode}",
             f"What a run leaves that was cancelled when a question was stored, durability {_mode}.",
             _cancelled(AT_QUESTION, "g", ("reached:g", "asked:a"), _mode), STOP, faces=("async",)))  # fmt: skip
