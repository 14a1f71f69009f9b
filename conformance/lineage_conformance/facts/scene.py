"""A small graph of the suite (`graphs`) with gates, for facts about steps that stop in the middle."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from lineage_conformance.facts.probe import Absent, Probe
from lineage_conformance.graphs import Gates, Life, Shape, watched


@dataclass
class Scene:
    """A compiled graph, its driver, and what a probe asks of it."""

    probe: Probe
    driver: Any
    builder: Any

    def run(self, input: Any = "in", config: Any = None, **options: Any) -> Any:
        """Run the graph; text is the input of a turn."""
        given = self.builder.input(input) if isinstance(input, str) else input
        return self.driver.run(given, config or self.probe.config(), **options)

    def state(self) -> Any:
        """The state snapshot of the conversation."""
        return self.driver.call("get_state", self.probe.config())

    def began(self, *names: str) -> dict[str, int]:
        """How often each tool began."""
        return {name: self.driver.gates.count("began", name) for name in names}

    def marks(self) -> list[str]:
        """The channels of the latest checkpoint's pending writes, with the tool where it is told, sorted."""
        found = self.probe.get()
        return sorted(
            f"{channel}={value}" if channel == "log" else channel
            for _, channel, value in (found.pending_writes if found else None) or ()
            if channel in ("log", "__error__", "__interrupt__", "__resume__")
        )

    def seen(self) -> dict[str, Any]:
        """Log, next nodes, listed questions and pending writes of the conversation."""
        state = self.state()
        asked = sorted(str(i.value) for task in state.tasks for i in task.interrupts)
        return {
            "log": state.values.get("log"),
            "next": list(state.next),
            "asked": asked,
            "pending": self.marks(),
        }


@contextlib.contextmanager
def scene(p: Probe, shape: Shape) -> Iterator[Scene]:
    """Build a shape over the probe's saver. Raises `Absent` where the packages cannot make it."""
    try:
        from lineage_conformance.graphs.build import Builder, build
        from lineage_conformance.graphs.driver import Driver
        from lineage_conformance.graphs.state import Lacking
    except ImportError as error:
        raise Absent(str(error)) from None
    gates, life = Gates(), Life()
    with gates, watched(p.saver, gates, life) as saver:
        try:
            graph = build(shape, saver, gates, p.half)
            builder = Builder(shape, gates, p.half)
        except (Lacking, ImportError) as error:
            raise Absent(str(error)) from None
        yield Scene(p, Driver(graph, gates, life, p.half, p.bench.loop), builder)


def mode(graph: Any, wanted: str) -> dict[str, Any]:
    """The options for a durability mode. Raises `Absent` where a run cannot be told one."""
    from lineage_conformance.graphs.driver import durability

    found = durability(graph, wanted)
    if found.get("durability") != wanted:
        raise Absent("no option durability")
    return found
