"""Fake providers of unlike abilities: adapters whose agents are a few lines, and which write down every call.

They are the outside world of a backend of kind ``transfer``: they live as long as an example, whatever the
backend forgets. A session is a list of entries (what was injected, and turns); what it knows can be asked for
at any time. A turn leaves a real checkpoint on the saver, with all that the session knows in ``messages``.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lineage_conformance import contract
from lineage_conformance.handles import Half
from lineage_conformance.kinds.transfer.adapter import Capabilities, Child, TurnResult

ABILITIES: Mapping[str, tuple[Capabilities, str]] = {
    "turns": (Capabilities("at_turn", rollback=True), "plain"),
    "latest": (Capabilities("latest", rollback=True), "plain"),
    "pages": (Capabilities("latest", rollback=True), "paginated"),
    "bare": (Capabilities("none", rollback=False), "plain"),
    "fixed": (Capabilities("latest", rollback=False), "plain"),
}
"""The fakes: what each offers, and what a probe of its sessions says."""

OUTCOMES = ("ok", "tool", "empty", "summary", "unnamed", "unkept", "failed", "cancelled")
"""How a turn ends: an answer; one after a tool's; an answer without text; one whose checkpoint has a summary
in place of everything older; one without a native turn ref; one without a checkpoint; not completed."""

ENDED = {"failed": "failed", "cancelled": "cancelled"}


class Broken(Exception):
    """What a fake raises when it was told to fail."""


@dataclass(frozen=True)
class Call:
    """One call of a fake."""

    provider: str
    method: str
    session: str | None = None
    argument: Any = None
    """The turn of a fork, the count of a rollback, the ids that were handed to `start` and `send`."""


@dataclass
class Entry:
    """Something in a session: what was handed over (no `turn`), or a turn with its messages."""

    messages: list[Any]
    turn: str = ""
    stable: bool = True
    handed: bool = False


@dataclass
class World:
    """What all fakes of one example share: the saver, the half in which it is called, and the log."""

    saver: Any
    half: Half
    prefix: str
    calls: list[Call] = field(default_factory=list)
    handed: list[tuple[str, list[Any]]] = field(default_factory=list)
    """For each turn that began: its session, and the handoffs that it was given."""
    results: list[TurnResult] = field(default_factory=list)
    """How each of those turns ended."""
    forked: list[str] = field(default_factory=list)
    """The sessions that forks made."""
    hook: Callable[[Call], Any] | None = None
    """Called (and awaited, in the async half) with every call, after it was written down."""
    lost: list[tuple[Any, Any, Any, Any]] = field(default_factory=list)
    """Arguments of the puts that were kept back by `losing`."""
    losing: bool = False
    _numbers: Any = field(default_factory=lambda: itertools.count(1))

    def number(self) -> int:
        """A number that was not used before."""
        return int(next(self._numbers))

    def put(self, session: str, messages: Sequence[Any]) -> tuple[str, tuple[Any, Any, Any, Any]]:
        """A new checkpoint of a session: its id, and the arguments that put it on the saver."""
        number = self.number()
        id = f"1f{number:06x}-0000-6000-8000-{self.prefix[:12]:0>12}"
        textual = isinstance(self.saver.get_next_version(None, None), str)
        versions = {"messages": f"{number:032}" if textual else number}
        checkpoint: dict[str, Any] = {
            "v": contract.checkpoint_format(),
            "id": id,
            "ts": f"2024-01-01T00:{number // 60 % 60:02}:{number % 60:02}+00:00",
            "channel_values": {"messages": list(messages)},
            "channel_versions": versions,
            "versions_seen": {},
        }
        if "pending_sends" in contract.checkpoint_keys():
            checkpoint["pending_sends"] = []
        if "updated_channels" in contract.checkpoint_keys():
            checkpoint["updated_channels"] = None
        config = {"configurable": {"thread_id": session, "checkpoint_ns": ""}}
        return id, (config, checkpoint, {"source": "loop", "step": number}, dict(versions))


class Fake:
    """One fake provider, in both halves."""

    def __init__(self, name: str, world: World) -> None:
        self.name, self.world = name, world
        self.capabilities, self.history = ABILITIES[name]
        self.outcome = "ok"
        self.sessions: dict[str, list[Entry]] = {}
        self.born: dict[str, list[Child]] = {}
        self.failing: list[str] = []
        """Methods whose next call raises."""

    # -- what the judge asks and tells -----------------------------------------------------------

    def knows(self, session: str) -> list[Any]:
        """The messages that a session knows, without those of turns that are not stable."""
        return [m for e in self.sessions[session] if e.stable for m in e.messages]

    def turn(self, session: str, messages: list[Any], outcome: str) -> tuple[TurnResult, Any]:
        """Add a turn to a session: its result, and the arguments of the put that it makes, if any."""
        entries, number = self.sessions[session], self.world.number()
        status = ENDED.get(outcome, "completed")
        if status != "completed":
            entries.append(Entry([], f"{session}/{number}"))
            return TurnResult(status, session, f"{session}/{number}", error=outcome), None
        kept = outcome != "unkept"
        named = None if outcome == "unnamed" else f"{session}/{number}"
        older = self.summary(session) if outcome == "summary" else self.all(session)
        entries.append(Entry(messages, f"{session}/{number}", kept))
        ids = tuple(m.id for m in messages)
        if not kept:
            return TurnResult(status, session, named, items=ids), None
        checkpoint_id, put = self.world.put(session, [*older, *messages])
        return TurnResult(status, session, named, session, checkpoint_id, ids), put

    def all(self, session: str) -> list[Any]:
        """All messages of a session."""
        return [message for entry in self.sessions[session] for message in entry.messages]

    def summary(self, session: str) -> list[Any]:
        """What stands for all messages of a session once they are summarised."""
        from langchain_core.messages import SystemMessage

        return [SystemMessage("what was said before", id=f"{session}-summary")]

    def said(self, message: str, outcome: str) -> list[Any]:
        """The messages of a turn."""
        from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

        name = f"m{self.world.number()}"
        made: list[Any] = [HumanMessage(message, id=f"{name}-human")]
        if outcome == "tool":
            calls = [{"name": "look", "args": {"n": 1}, "id": f"{name}-call"}]
            made.append(AIMessage("", id=f"{name}-asks", tool_calls=calls))
            made.append(ToolMessage("seen", tool_call_id=f"{name}-call", id=f"{name}-tool"))
        text = "" if outcome == "empty" else f"{self.name} answers {message}"
        return [*made, AIMessage(text, id=f"{name}-ai")]

    def bear(self, session: str, outcome: str) -> tuple[Child, Any]:
        """Let a session have a child of its own (`outcome` ``running``: not ended yet)."""
        child = f"{session}.{self.world.number()}"
        self.sessions[child] = []
        self.born.setdefault(session, []).append(Child(child, "running"))
        return self.grow(session, len(self.born[session]) - 1, outcome)

    def grow(self, session: str, index: int, outcome: str) -> tuple[Child, Any]:
        """Let a child end."""
        child = self.born[session][index]
        put = None
        if outcome != "running":
            result, put = self.turn(child.session, self.said("a task", outcome), outcome)
            status = "completed" if result.status == "completed" else "failed"
            child = Child(child.session, status, result)
            self.born[session][index] = child
        return child, put

    # -- the calls of an adapter -------------------------------------------------------------------

    def _called(self, method: str, session: str | None = None, argument: Any = None) -> Call:
        call = Call(self.name, method, session, argument)
        self.world.calls.append(call)
        return call

    def _fails(self, method: str) -> None:
        if method in self.failing:
            self.failing.remove(method)
            raise Broken(f"{self.name}.{method} was told to fail")

    def _begin(self, session: str | None, handoffs: Sequence[Any], message: str) -> Any:
        self._fails("start" if session is None else "send")
        if session is None:
            session = f"{self.world.prefix}-{self.name}-{self.world.number()}"
            self.sessions[session] = []
        self.world.handed.append((session, list(handoffs)))
        for handoff in handoffs:
            self.sessions[session].append(Entry(list(handoff.items), handed=True))
        result, put = self.turn(session, self.said(message, self.outcome), self.outcome)
        self.world.results.append(result)
        return result, put

    def _copy(self, session: str, turn: str | None) -> str:
        self._fails("fork")
        if self.capabilities.native_fork == "none":
            raise Broken(f"{self.name} does not fork")
        entries = self.sessions[session]
        if turn is not None:
            if self.capabilities.native_fork != "at_turn":
                raise Broken(f"{self.name} forks nowhere but at the latest turn")
            places = [n for n, entry in enumerate(entries) if entry.turn == turn]
            if not places:
                raise Broken(f"{session} has no turn {turn}")
            entries = entries[: places[0] + 1]
        made = f"{self.world.prefix}-{self.name}-{self.world.number()}"
        self.sessions[made] = list(entries)
        self.world.forked.append(made)
        return made

    def _take(self, session: str, turns: int) -> None:
        self._fails("rollback")
        if self.history == "paginated" or not self.capabilities.rollback:
            raise Broken(f"{self.name} takes no turn back")
        entries = self.sessions[session]
        for _ in range(turns):
            while entries:
                entry = entries.pop()
                if entry.turn:
                    while entries and entries[-1].handed:
                        entries.pop()
                    break

    def _saved(self, put: Any) -> Any:
        """The put to make now, None where the checkpoint is to be missing for a while."""
        if put is not None and self.world.losing:
            self.world.lost.append(put)
            return None
        return put

    def _hooked(self, call: Call) -> None:
        if self.world.hook is not None:
            self.world.hook(call)

    async def _ahooked(self, call: Call) -> None:
        if self.world.hook is not None:
            made = self.world.hook(call)
            if made is not None:
                await made

    def start(self, handoffs: Sequence[Any], message: str) -> TurnResult:
        """See `Provider.start`."""
        self._hooked(self._called("start", None, _ids(handoffs)))
        result, put = self._begin(None, handoffs, message)
        return self._keep(result, put)

    def send(self, session: str, handoffs: Sequence[Any], message: str) -> TurnResult:
        """See `Provider.send`."""
        self._hooked(self._called("send", session, _ids(handoffs)))
        result, put = self._begin(session, handoffs, message)
        return self._keep(result, put)

    def _keep(self, result: TurnResult, put: Any) -> TurnResult:
        put = self._saved(put)
        if put is not None:
            self.world.saver.put(*put)
        return result

    def fork(self, session: str, turn: str | None = None) -> str:
        """See `Provider.fork`."""
        self._hooked(self._called("fork", session, turn))
        return self._copy(session, turn)

    def probe(self, session: str) -> str:
        """See `Provider.probe`."""
        self._hooked(self._called("probe", session))
        self._fails("probe")
        return self.history

    def rollback(self, session: str, turns: int) -> None:
        """See `Provider.rollback`."""
        self._hooked(self._called("rollback", session, turns))
        self._take(session, turns)

    def children(self, session: str) -> Sequence[Child]:
        """See `Provider.children`."""
        self._hooked(self._called("children", session))
        return list(self.born.get(session, ()))

    async def astart(self, handoffs: Sequence[Any], message: str) -> TurnResult:
        """See `Provider.start`."""
        await self._ahooked(self._called("start", None, _ids(handoffs)))
        result, put = self._begin(None, handoffs, message)
        return await self._akeep(result, put)

    async def asend(self, session: str, handoffs: Sequence[Any], message: str) -> TurnResult:
        """See `Provider.send`."""
        await self._ahooked(self._called("send", session, _ids(handoffs)))
        result, put = self._begin(session, handoffs, message)
        return await self._akeep(result, put)

    async def _akeep(self, result: TurnResult, put: Any) -> TurnResult:
        put = self._saved(put)
        if put is not None:
            await self.world.saver.aput(*put)
        return result

    async def afork(self, session: str, turn: str | None = None) -> str:
        """See `Provider.fork`."""
        await self._ahooked(self._called("fork", session, turn))
        return self._copy(session, turn)

    async def aprobe(self, session: str) -> str:
        """See `Provider.probe`."""
        await self._ahooked(self._called("probe", session))
        self._fails("probe")
        return self.history

    async def arollback(self, session: str, turns: int) -> None:
        """See `Provider.rollback`."""
        await self._ahooked(self._called("rollback", session, turns))
        self._take(session, turns)

    async def achildren(self, session: str) -> Sequence[Child]:
        """See `Provider.children`."""
        await self._ahooked(self._called("children", session))
        return list(self.born.get(session, ()))


def _ids(handoffs: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(str(handoff.id) for handoff in handoffs)
