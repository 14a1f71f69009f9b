"""How a case of kind ``rollback`` is played on a backend, and what is compared."""

from __future__ import annotations

import asyncio
import concurrent.futures
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from lineage_conformance.agent import Agent, Plan
from lineage_conformance.bench import Bench
from lineage_conformance.canon import ABSENT, canon
from lineage_conformance.kinds.rollback.case import LIMIT, TurnCase
from lineage_conformance.raised import Unlike
from lineage_conformance.returned import shaped
from lineage_conformance.trace import Diff


class Live:
    """A call that runs meanwhile: in a thread (sync half), or as a task in the bench's loop."""

    def __init__(self, play: Play, method: str, *args: Any, **options: Any) -> None:
        self.method = method
        handle = play.bench.handle()
        if play.bench.writer == "async":
            work = handle.acall(method, *args, **options)
            self.future = asyncio.run_coroutine_threadsafe(work, handle.loop.loop)
        else:
            self._pool = concurrent.futures.ThreadPoolExecutor(1, "lineage-turn")
            self.future = self._pool.submit(getattr(handle.saver, method), *args, **options)
            self._pool.shutdown(wait=False)
        self.future.add_done_callback(lambda future: play.agent.gates.post("done", ""))

    def result(self, limit: float = LIMIT) -> Any:
        """What the call returned or raised. Raises `TimeoutError` after `limit` seconds."""
        try:
            return shaped("rollback", self.method, self.future.result(limit))
        except concurrent.futures.TimeoutError:
            raise TimeoutError(f"no end within {limit:g} s") from None


class Play:
    """A case being played: the backend, its graph, the scripted agent, and what was seen."""

    def __init__(self, bench: Bench, case: TurnCase) -> None:
        self.bench, self.case = bench, case
        self.agent = Agent()
        self.agent.memory = case.memory
        self._step, self.doing = 0, "use"
        self.bind()

    def bind(self) -> None:
        """Hand the agent to the backend, which may have just been opened."""
        backend = self.bench.subject
        self.own = hasattr(backend, "agent")
        if self.own:
            self.graph = backend.agent(self.agent.chat_model(), self.agent.tools())
        else:
            self.graph = backend.use(self.agent.build)
        self.everything = getattr(backend, "promises", "everything") == "everything"

    def reopen(self) -> None:
        """Close the store, open it again, and hand the agent to the new backend."""
        self.bench.reopen()
        self.bind()

    def possible(self) -> bool:
        """Whether the backend's own agent, and this Python, have what the case speaks of."""
        case = self.case
        if self.own and (case.point in ("enter", "leave") or case.edits or case.memory):
            return False
        nested = case.point in ("subgraph", "asked") or case.waiting
        return not (nested and self.bench.writer == "async" and sys.version_info < (3, 11))

    # -- calls -----------------------------------------------------------------------------------

    def beat(self) -> None:
        """Tell the supervisor that the case goes on."""
        self._step += 1
        self.bench.beat(self._step)

    def call(self, method: str, *args: Any, **options: Any) -> Any:
        """Call the backend and wait."""
        self.beat()
        self.doing = method
        made = self.bench.handle().call(self.bench.writer, method, *args, **options)
        return shaped("rollback", method, made)

    def start(self, method: str, *args: Any, **options: Any) -> Live:
        """Call the backend and do not wait."""
        self.beat()
        self.doing = method
        return Live(self, method, *args, **options)

    def ask(self, thread: str, question: str, durability: str = "") -> Any:
        """Run one turn to its end."""
        return self.call("run", thread, *self._turn(question), **self._how(durability))

    def _turn(self, question: str) -> tuple[Any]:
        from langchain_core.messages import HumanMessage

        return ({"messages": [HumanMessage(question, id=f"human {question}")]},)

    def _how(self, durability: str = "") -> dict[str, Any]:
        return {"durability": durability or self.case.durability, "on_event": self.agent.landed}

    def history(self, thread: str, plans: Mapping[str, Plan] | None = None) -> None:
        """Run the earlier turns."""
        for number in range(self.case.earlier):
            question = f"q{number + 1}"
            self.agent.plans[question] = Plan(tools=1)
            self.ask(thread, question)
        if self.case.waiting:
            self.agent.plans["wait"] = Plan(tools=2, asks=True)
            self.ask(thread, "wait")

    def cut(self, thread: str, question: str = "oops", keep: bool = False) -> Any:
        """Run a turn to the point of the case, cut it there as the case says, and return the outcome."""
        case, gates = self.case, self.agent.gates
        plan = Plan(case.tools, subgraph=case.point == "subgraph", edits=case.edits)
        self.agent.plans[question] = plan
        names, conditions = case.places()
        since = len(gates.events)
        gates.hold(*names)
        live = self.start("run", thread, *self._turn(question), **self._how())
        try:
            gates.wait(*conditions, since=since, timeout=LIMIT)
            if case.how == "error":
                self.agent.raises.update(names)
            else:
                self.call("cancel", thread, keep=keep)
                if self.bench.writer == "async":
                    live.result()  # what hangs at a gate is cancelled there; an open gate could be quicker
        finally:
            gates.open_all()
        try:
            return live.result()
        finally:
            self.agent.raises.clear()

    def end(self, thread: str, question: str = "oops") -> Any:
        """Run a turn that ends as the case says."""
        self.agent.plans[question] = Plan(self.case.tools, asks=self.case.point == "asked")
        return self.ask(thread, question)

    def take_back(self, thread: str) -> Any:
        """Run the turn of the case and take it back; the outcome."""
        if self.case.how != "later":
            return self.cut(thread)
        outcome = self.end(thread)
        if self.case.reopen:
            self.reopen()
        self.call("rollback", thread, outcome.turn)
        return outcome

    # -- what is there ---------------------------------------------------------------------------

    def state(self, thread: str) -> dict[str, Any]:
        """The state of a thread as the engine shows it, as canonical trees."""
        state = self._graph("get_state", {"configurable": {"thread_id": thread}})
        tasks = [[task.name, [_interrupt(i) for i in task.interrupts]] for task in state.tasks]
        values = state.values if isinstance(state.values, dict) else {"state": state.values}
        return {
            "state": {name: canon(value) for name, value in values.items()},
            "next": {"next": list(state.next)},
            "tasks": {"tasks": tasks},
        }

    def rows(self, thread: str) -> dict[str, Any]:
        """Every checkpoint of a thread's history by id, with its values and next."""
        config = {"configurable": {"thread_id": thread}}
        if self.bench.writer == "sync":
            found = list(self.graph.get_state_history(config))
        else:

            async def collect() -> list[Any]:
                return [row async for row in self.graph.aget_state_history(config)]

            found = self.bench.loop.run(collect())
        return {
            row.config["configurable"]["checkpoint_id"]: [canon(row.values), list(row.next)]
            for row in found
        }

    def _graph(self, method: str, *args: Any) -> Any:
        self.beat()
        if self.bench.writer == "sync":
            return getattr(self.graph, method)(*args)
        return self.bench.loop.run(getattr(self.graph, "a" + method)(*args))

    def compare(self, kind: str, path: tuple[str, ...], expected: Any, got: Any) -> Iterator[Diff]:
        """Compare two values, and count that."""
        yield from self.bench.compare(self._step, kind, path, expected, got)

    def restored(self, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Diff]:
        """Differences in what the backend promises to put back."""
        for kind in ("state", "next", "tasks"):
            old, new = before[kind], after[kind]
            if not self.everything:
                if kind == "tasks":
                    continue
                old, new = (
                    {k: v for k, v in side.items() if k in ("messages", "next")}
                    for side in (old, new)
                )
            for part in sorted({*old, *new}):
                sides = (old.get(part, ABSENT), new.get(part, ABSENT))
                path = ("channels", part) if kind == "state" and part != "messages" else (part,)
                yield from self.bench.compare_trees(self._step, kind, path, *sides)

    def refused(self, kind: str, method: str, *args: Any) -> Iterator[Diff]:
        """Whether a call is refused."""
        error = raised(lambda: self.call(method, *args))
        told = "an error" if error is not None and not isinstance(error, Unlike) else "no error"
        yield from self.compare(kind, ("refused",), "an error", told)

    def next_input(self, thread: str, control: str) -> Iterator[Diff]:
        """Ask the same question on the thread and on one that never had the turn: what the model is given."""
        self.agent.plans["next"] = Plan(tools=1)
        self.history(control)
        seen = []
        for each in (control, thread):
            since = len(self.agent.seen)
            self.ask(each, "next")
            seen.append(canon(self.agent.seen[since:]))
        yield from self.bench.compare_trees(self._step, "input", (), *seen)


def _interrupt(item: Any) -> Any:
    return [canon(getattr(item, "value", item)), canon(getattr(item, "id", None))]


def played(work: Callable[[Play], Iterator[Diff]]) -> Callable[[Bench, TurnCase], Iterator[Diff]]:
    """Make a check of a function that plays a case; what it raises is a difference."""

    def check(bench: Bench, case: TurnCase) -> Iterator[Diff]:
        try:
            play = Play(bench, case)
        except Exception as error:
            yield Diff(0, "use", *_told(error))
            return
        if not play.possible():
            bench.lacks = "the backend's own agent, or this Python, has not what the case speaks of"
            return
        with play.agent.gates:
            try:
                yield from work(play)
            except Exception as error:
                yield Diff(play._step, play.doing, *_told(error))

    return check


def _told(error: Exception) -> tuple[tuple[str, ...], str, str]:
    """Path, expected and got of what a target raised, or returned against its contract."""
    if isinstance(error, Unlike):
        return error.path, error.expected, str(error)
    return ("raises",), "no error", f"{type(error).__name__}: {str(error)[:300]}"


def raised(work: Callable[[], Any]) -> Exception | None:
    """The exception that `work` raises, None if it returns."""
    try:
        work()
    except Exception as error:
        return error
    return None
