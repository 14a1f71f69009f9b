"""Runs a graph on the sync or the async half, up to a condition, and stops it there if told to."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from lineage_conformance.graphs.gates import Gates
from lineage_conformance.graphs.watch import Life, found_in
from lineage_conformance.handles import Loop

STOPS = ("", "cancel", "crash")
"""How a run ends at its condition: not at all (held gates are opened), by cancelling its asyncio task, or by
the death of the process (no call of it reaches the saver from then on)."""

TURNS = 50
"""Turns of the loop that a run is given at its condition before it may go on: room for what must not happen."""

REACHED = 1 if sys.version_info >= (3, 11) else 2
"""Turns after which a cancel has reached the tasks of a run. No more: reads are made while it is being cancelled."""


@dataclass
class Outcome:
    """What a run came to."""

    live: Any = None
    """The last values that were streamed; None if there were none."""
    error: str = ""
    """``Type: message`` of what the run raised."""
    met: bool = True
    """Whether the condition was met before the run ended."""
    during: Any = None
    """What `meanwhile` returned, called at the condition with the run still going on;
    ``raised Type: message`` if it raised."""
    updates: list[Any] = field(default_factory=list)


def durability(graph: Any, mode: str) -> dict[str, Any]:
    """The options that ask for a durability mode: ``sync``, ``async`` or ``exit`` (empty: as it comes)."""
    if not mode:
        return {}
    names = inspect.signature(graph.stream).parameters
    if "durability" in names:
        return {"durability": mode}
    if "checkpoint_during" in names:
        return {"checkpoint_during": mode != "exit"}
    return {}


class Driver:
    """One compiled graph, driven on one half."""

    def __init__(self, graph: Any, gates: Gates, life: Life, half: str, loop: Loop) -> None:
        self.graph, self.gates, self.life, self.half, self.loop = graph, gates, life, half, loop

    def call(self, method: str, *args: Any, **kwargs: Any) -> Any:
        """Call ``get_state``, ``update_state`` and the like, on the half of this driver."""
        if self.half == "sync":
            made = getattr(self.graph, method)(*args, **kwargs)
            return list(made) if method.endswith("history") else made
        bound = getattr(self.graph, "a" + method)
        if not method.endswith("history"):
            return self.loop.run(bound(*args, **kwargs))

        async def collect() -> list[Any]:
            return [item async for item in bound(*args, **kwargs)]

        return self.loop.run(collect())

    def run(
        self,
        input: Any,
        config: Any,
        mode: str = "",
        until: tuple[str, ...] = (),
        stop: str = "",
        meanwhile: Callable[[], Any] | None = None,
    ) -> Outcome:
        """Stream a run. With `until`, wait for those conditions, then call `meanwhile`, then stop or let go."""
        self.gates.settles = "committed" if mode == "exit" else "landed"
        since = len(self.gates.events)
        outcome = Outcome()
        options = {
            "stream_mode": ["updates", "values"],
            "subgraphs": True,
            **durability(self.graph, mode),
        }
        if self.half == "async":
            work = self._arun(outcome, input, config, options, until, stop, meanwhile, since)
            self.loop.run(work)
        elif until:
            self._run_in_thread(outcome, input, config, options, until, stop, meanwhile, since)
        else:
            self._stream(outcome, input, config, options)
        return outcome

    # -- sync ------------------------------------------------------------------------------------

    def _stream(self, outcome: Outcome, input: Any, config: Any, options: Any) -> None:
        try:
            with contextlib.closing(self.graph.stream(input, config, **options)) as chunks:
                for chunk in chunks:
                    self._saw(outcome, chunk)
        except Exception as error:
            outcome.error = _brief(error)
        finally:
            self.gates.post("done", "")

    def _run_in_thread(
        self, outcome: Outcome, input: Any, config: Any, options: Any, until: Any, stop: str,
        meanwhile: Any, since: int,
    ) -> None:  # fmt: skip
        if stop == "cancel":
            raise ValueError("a sync run cannot be cancelled from outside; stop it with a crash")
        args = (outcome, input, config, options)
        thread = threading.Thread(target=self._stream, args=args, name="lineage-run", daemon=True)
        thread.start()
        try:
            outcome.met = self.gates.wait(*until, since=since)
            if meanwhile is not None:
                try:
                    outcome.during = meanwhile()
                except Exception as error:
                    outcome.during = f"raised {_brief(error)}"
            self.life.dead = stop == "crash"
        finally:
            self.gates.open_all()
            thread.join()

    # -- async -----------------------------------------------------------------------------------

    async def _astream(self, outcome: Outcome, input: Any, config: Any, options: Any) -> None:
        try:
            async for chunk in self.graph.astream(input, config, **options):
                self._saw(outcome, chunk)
        except asyncio.CancelledError:
            outcome.error = "CancelledError: "
        except Exception as error:
            outcome.error = _brief(error)
        finally:
            self.gates.post("done", "")

    async def _arun(
        self, outcome: Outcome, input: Any, config: Any, options: Any, until: Any, stop: str,
        meanwhile: Any, since: int,
    ) -> None:  # fmt: skip
        task = asyncio.ensure_future(self._astream(outcome, input, config, options))
        try:
            if until:
                outcome.met = await self.gates.wait_async(*until, since=since)
                if stop:
                    self.life.dead = stop == "crash"
                    task.cancel()
                    for _ in range(REACHED):  # the tasks, before a held write may go on
                        await asyncio.sleep(0)
                if meanwhile is not None:
                    try:
                        outcome.during = await meanwhile()
                    except Exception as error:  # the run goes on, and ends as it would
                        outcome.during = f"raised {_brief(error)}"
                for _ in range(TURNS if not stop else 0):
                    await asyncio.sleep(0)
                self.gates.open_all()
            await asyncio.wait([task])
        finally:
            self.gates.open_all()
            task.cancel()

    # -- both ------------------------------------------------------------------------------------

    def _saw(self, outcome: Outcome, chunk: Any) -> None:
        namespace, mode, data = chunk
        if mode == "values":
            if not namespace and isinstance(data, dict):
                data = {key: value for key, value in data.items() if key != "__interrupt__"}
            if not namespace and data:
                outcome.live = data
            return
        for update in _updates(data):
            for name in found_in(update)[0]:
                self.gates.post("committed", name)


def _updates(data: Any) -> Iterator[list[tuple[str, Any]]]:
    """What each node wrote, as pairs of channel and value."""
    for value in data.values() if isinstance(data, dict) else ():
        if isinstance(value, dict):
            yield list(value.items())
        elif isinstance(value, str):
            yield [("__return__", value)]


def _brief(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error)[:300]}"
