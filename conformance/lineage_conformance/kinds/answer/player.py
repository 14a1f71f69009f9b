"""How a case of kind ``answer`` is written with a real graph, and what is compared."""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from lineage_conformance.agent import ToolFailed
from lineage_conformance.bench import Bench
from lineage_conformance.graphs.gates import Gates
from lineage_conformance.kinds.answer.case import LIMIT, AnswerCase, Content
from lineage_conformance.trace import Diff


class Scene:
    """A case being written: the graph, what its turns say, and how the last one ends."""

    def __init__(self, bench: Bench, case: AnswerCase) -> None:
        self.bench, self.case, self.gates = bench, case, Gates()
        self.ends = "done"
        self.script: dict[str, tuple[tuple[str, Content], ...]] = {}
        self.thread = bench.name("thread")
        self._step, self.doing = 0, "use"
        self.graph = bench.subject.use(self._build)
        self.before = ""

    @property
    def config(self) -> dict[str, Any]:
        """The config of the thread."""
        return {"configurable": {"thread_id": self.thread}}

    def beat(self) -> None:
        """Tell the supervisor that the case goes on."""
        self._step += 1
        self.bench.beat(self._step)

    def of_graph(self, method: str, *args: Any, **options: Any) -> Any:
        """Call a method of the graph, or its async twin."""
        self.beat()
        self.doing = method
        if self.bench.writer == "sync":
            return getattr(self.graph, method)(*args, **options)
        return self.bench.loop.run(getattr(self.graph, "a" + method)(*args, **options))

    def answer(self, **options: Any) -> Any:
        """Ask the backend."""
        self.beat()
        self.doing = "final_answer"
        return self.bench.handle().call(self.bench.writer, "final_answer", self.thread, **options)

    def played(self) -> Iterator[Diff]:
        """Write the conversation, ask about it, and compare."""
        case = self.case
        if case.earlier:
            self.script["first"] = (("ai", "an earlier answer"),)
            self._invoke("first", "done")
            self.before = self._head()
        self.script["last"] = case.replies
        with self.gates:
            asked = self._last()
            options: dict[str, Any] = {"before": self.before} if case.before else {}
            if case.run:
                options["run"] = case.run
            got = self.answer(**options)
            state = self.of_graph("get_state", self.config)
            self.gates.open_all()
            asked()
        yield from self._compare(got, state)

    def _compare(self, got: Any, state: Any) -> Iterator[Diff]:
        case = self.case
        hidden = case.end == "running" and case.durability == "exit"
        if hidden and not case.earlier:
            return  # nothing is stored yet: the thread may as well be unknown
        known = "an answer" if isinstance(got, Mapping) else repr(got)
        yield from self.bench.compare(self._step, "answer", ("known",), "an answer", known)
        if not isinstance(got, Mapping):
            return
        complete = case.end == "done" and not case.run
        text = "" if hidden else case.text
        status = case.run or {"done": "complete", "uncommitted": "unfinished"}.get(
            case.end, case.end
        )
        if case.end == "running" and not case.before and not case.run:
            status = "unfinished"  # a checkpoint does not say that somebody is at work on it
        wanted = {
            "content": text,
            "complete": complete,
            "completed_at": state.created_at if complete else None,
            "status": status,
        }
        for key, value in wanted.items():
            yield from self.bench.compare(self._step, "answer", (key,), value, got.get(key))

    # -- writing ---------------------------------------------------------------------------------

    def _last(self) -> Any:
        """Bring the last turn to its end; a function that waits for what still runs."""
        end = self.case.end
        if end == "unanswered":
            as_node = {"as_node": "finish"} if self.case.earlier else {"as_node": "speak"}
            self.of_graph(
                "update_state",
                self.config,
                {"messages": [self._message("human", "last")]},
                **as_node,
            )
            if (
                not self.case.earlier
            ):  # the node `speak` would be followed by `speak`: clear what is next
                self.of_graph("update_state", self.config, None, as_node="__end__")
            return lambda: None
        if end in ("cancelled", "running"):
            return self._held(cancel=end == "cancelled")
        if end == "uncommitted":
            return self._uncommitted()
        try:
            self._invoke("last", end)
        except ToolFailed:
            pass
        return lambda: None

    def _held(self, cancel: bool) -> Any:
        since = len(self.gates.events)
        self.gates.hold("end")
        options = {"durability": self.case.durability}
        if self.bench.writer == "async":
            work = self.graph.ainvoke(self._input("last", "hang"), self.config, **options)
            future = asyncio.run_coroutine_threadsafe(work, self.bench.loop.loop)
        else:
            import concurrent.futures

            pool = concurrent.futures.ThreadPoolExecutor(1)
            future = pool.submit(
                self.graph.invoke, self._input("last", "hang"), self.config, **options
            )
            pool.shutdown(wait=False)
        future.add_done_callback(lambda done: self.gates.post("done", ""))
        places = ("reached:end", "reached:beside") if cancel else ("reached:end",)
        self.gates.wait(*places, since=since, timeout=LIMIT)

        def over() -> None:
            try:
                future.result(LIMIT)
            except BaseException as error:
                if not _is_cancel(error):
                    raise

        if not cancel:
            return over
        if self.bench.writer == "async":
            future.cancel()
            self._settled()
            return lambda: None
        self.ends = "stop"
        self.gates.open_all()
        over()
        return lambda: None

    def _settled(self) -> None:
        """Wait until every task of the loop but this one has ended: a cancelled future says so too early."""

        async def others() -> None:
            mine = asyncio.current_task()
            running = [t for t in asyncio.all_tasks() if t is not mine and _is_run(t)]
            if running:
                await asyncio.wait(running, timeout=LIMIT)

        self.bench.loop.run(others())

    def _uncommitted(self) -> Any:
        self._invoke("last", "pause")
        state = self.of_graph("get_state", self.config)
        task = next(task for task in state.tasks if task.name == "finish")
        saver, writes = self.graph.checkpointer, [("note", "written"), ("messages", [])]
        if self.bench.writer == "sync":
            saver.put_writes(state.config, writes, task.id)
        else:
            self.bench.loop.run(saver.aput_writes(state.config, writes, task.id))
        return lambda: None

    def _invoke(self, question: str, ends: str) -> None:
        options: dict[str, Any] = {"durability": "sync"}
        if ends == "pause":
            options["interrupt_before"] = ["finish"]
        self.of_graph("invoke", self._input(question, ends), self.config, **options)

    def _input(self, question: str, ends: str) -> dict[str, Any]:
        self.ends = ends
        return {"messages": [self._message("human", question)]}

    def _head(self) -> str:
        state = self.of_graph("get_state", self.config)
        return str(state.config["configurable"].get("checkpoint_id") or "")

    def _message(self, role: str, content: Content) -> Any:
        calls = (
            [{"name": "work", "args": {}, "id": "call-1", "type": "tool_call"}]
            if role == "call"
            else []
        )
        role = "ai" if role == "call" else role
        if self.case.form == "dicts":
            made: dict[str, Any] = {"type": role, "content": content}
            return {**made, "tool_calls": calls} if calls else made
        from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

        if role == "human":
            return HumanMessage(content)
        if role == "tool":
            return ToolMessage(content, tool_call_id="call-1")
        return AIMessage(content, tool_calls=calls)

    def _build(self, checkpointer: Any) -> Any:
        """``speak`` writes one reply each time it runs, ``finish`` ends the turn as the case says."""
        from typing import Annotated

        from langchain_core.runnables import RunnableLambda
        from langgraph.graph import END, START, StateGraph
        from langgraph.types import interrupt
        from typing_extensions import TypedDict

        fields = {"messages": Annotated[list, operator.add], "note": str}
        graph = StateGraph(TypedDict("Talk", fields, total=False))  # type: ignore[operator]

        def speak(state: Any) -> dict[str, Any]:
            said, question = self._said(state["messages"])
            return {"messages": [self._message(*self.script[question][said])]}

        def more(state: Any) -> Any:
            said, question = self._said(state["messages"])
            if said < len(self.script.get(question, ())):
                return "speak"
            # Only tasks that run side by side leave a mark when they are cancelled.
            return ["finish", "beside"] if self.case.end == "cancelled" else "finish"

        def at_end() -> dict[str, Any]:
            if self.ends == "interrupted":
                interrupt("may I?")
            if self.ends == "failed":
                raise ToolFailed("told to fail")
            if self.ends == "stop":
                raise ToolFailed("stopped")
            return {"note": "finished"}

        def finish(state: Any) -> dict[str, Any]:
            if self.ends == "hang":
                self.gates.post("reached", "end")
                self.gates.stay(lambda: self.gates.is_open("end"))
            return at_end()

        async def afinish(state: Any) -> dict[str, Any]:
            if self.ends == "hang":
                self.gates.post("reached", "end")
                await self.gates.stay_async(lambda: self.gates.is_open("end"))
            return at_end()

        def beside(state: Any) -> dict[str, Any]:
            if self.ends == "hang":
                self.gates.post("reached", "beside")
                self.gates.stay(lambda: self.gates.is_open("end"))
            return {}

        async def abeside(state: Any) -> dict[str, Any]:
            if self.ends == "hang":
                self.gates.post("reached", "beside")
                await self.gates.stay_async(lambda: self.gates.is_open("end"))
            return {}

        graph.add_node("speak", speak)
        graph.add_node("finish", RunnableLambda(finish, afunc=afinish))
        graph.add_conditional_edges(START, more, ["speak", "finish", "beside"])
        graph.add_conditional_edges("speak", more, ["speak", "finish", "beside"])
        graph.add_node("beside", RunnableLambda(beside, afunc=abeside))
        graph.add_edge("finish", END)
        return graph.compile(checkpointer=checkpointer)

    def _said(self, messages: Any) -> tuple[int, str]:
        """How many replies the current turn has, and its question."""
        said, question = 0, ""
        for message in messages:
            role = message["type"] if isinstance(message, dict) else message.type
            if role == "human":
                content = message["content"] if isinstance(message, dict) else message.content
                said, question = 0, str(content)
            else:
                said += 1
        return said, question


def _is_cancel(error: BaseException) -> bool:
    return type(error).__name__ in ("CancelledError", "ToolFailed")


def _is_run(task: Any) -> bool:
    return "ainvoke" in getattr(task.get_coro(), "__qualname__", "")


def check(bench: Bench, case: AnswerCase) -> Iterator[Diff]:
    """Play a case; what the backend raises is a difference."""
    yield from guarded(bench, case, Scene.played)


def guarded(
    bench: Bench, case: AnswerCase, work: Callable[[Scene], Iterator[Diff]]
) -> Iterator[Diff]:
    """What `work` yields of a scene; what the backend raises is a difference."""
    step, doing = 0, "use"
    try:
        scene = Scene(bench, case)
        try:
            yield from work(scene)
        finally:
            step, doing = scene._step, scene.doing
    except Exception as error:
        text = f"{type(error).__name__}: {error}"[:300]
        yield Diff(step, doing, ("raises",), "no error", text)
