"""The routes and the stream reader, over real sockets: a real ASGI server, and a proxy that cuts mid-token."""

# ruff: noqa: E402
from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

httpx = pytest.importorskip("httpx")
pytest.importorskip("starlette")
uvicorn = pytest.importorskip("uvicorn")
pytest.importorskip("langgraph_sdk.client")

from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from starlette.applications import Starlette
from starlette.responses import StreamingResponse
from starlette.routing import Mount, Route

from lineage_conformance import law as laws
from lineage_reference import client as reading
from lineage_reference.client import Event, Shown, StreamReader, ended
from lineage_reference.http import routes
from lineage_reference.rollback import Turns
from tests.answer_sdk import state_route
from tests.loopback import cutting, served

pytestmark = pytest.mark.asyncio
ANSWER = "The answer is forty-two, and that is all."

if laws.get("answer.is-the-last-text").not_applicable():
    pytest.skip("final answers need langgraph 0.6", allow_module_level=True)


class FakeClock:
    """Time that passes when somebody sleeps; `on_sleep` may change the world meanwhile."""

    def __init__(self, on_sleep: Callable[[int], Any] = lambda count: None) -> None:
        self.time, self.slept, self.on_sleep = 0.0, list[float](), on_sleep

    def now(self) -> float:
        return self.time

    async def sleep(self, seconds: float) -> None:
        self.time += seconds
        self.slept.append(seconds)
        result = self.on_sleep(len(self.slept))
        if result is not None:
            await result


class Site:
    """An application: a run that streams its answer and finishes when it is let, and our routes."""

    def __init__(self, durability: str = "async", with_route: bool = True) -> None:
        self.finish, self.durability = asyncio.Event(), durability
        self.streamed, self.asked = asyncio.Event(), list[str]()
        self.turns = Turns(InMemorySaver())
        self.graph = self.turns.use(self.build)
        self.runs: set[asyncio.Task[Any]] = set()
        inner = routes(self.graph, turns=self.turns)
        self.app = Starlette(
            routes=[
                Route("/run/{thread}", self.run, methods=["POST"]),
                state_route(self.graph),
                *([Mount("/", inner)] if with_route else []),
            ]
        )

    def build(self, checkpointer: Any) -> Any:
        async def answer(state: Any) -> Any:
            await self.finish.wait()
            return {"messages": [AIMessage(ANSWER)]}

        graph = StateGraph(MessagesState)
        graph.add_node("answer", answer)
        graph.add_edge(START, "answer")
        graph.add_edge("answer", END)
        return graph.compile(checkpointer=checkpointer)

    async def run(self, request: Any) -> Any:
        thread = request.path_params["thread"]
        work = self.turns.arun(
            thread, {"messages": [HumanMessage("what?")]}, durability=self.durability
        )
        task = asyncio.create_task(work)
        self.runs.add(task)

        async def stream() -> AsyncIterator[str]:
            for word in ANSWER.split(" ")[:5]:
                yield f"event: token\ndata: {json.dumps({'text': word + ' '})}\n\n"
            await asyncio.shield(task)
            yield f"event: token\ndata: {json.dumps({'text': 'and that is all.'})}\n\n"
            yield "event: end\ndata: null\n\n"

        return StreamingResponse(stream(), media_type="text/event-stream")

    async def settled(self) -> None:
        """Let the run finish, and wait until it has."""
        self.finish.set()
        await asyncio.gather(*self.runs)


@contextlib.asynccontextmanager
async def talk(
    site: Site, marker: bytes = b"\0none", clock: FakeClock | None = None
) -> AsyncIterator[tuple[StreamReader, list[bytes], httpx.AsyncClient]]:
    counts: list[bytes] = []
    async with (
        served(site.app) as port,
        cutting(port, marker, counts) as proxy,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{proxy}", timeout=20) as http,
    ):
        yield StreamReader(http, clock=clock or FakeClock()), counts, http
        site.finish.set()
        await asyncio.gather(*site.runs, return_exceptions=True)


async def shown(reader: StreamReader, thread: str = "t", before: str | None = "") -> list[Shown]:
    return [s async for s in reader.follow("POST", f"/run/{thread}", thread=thread, before=before)]


async def test_a_stream_that_ends_needs_nothing() -> None:
    site = Site()
    site.finish.set()
    async with talk(site) as (reader, counts, _):
        seen = await shown(reader)
    assert seen[-1].status == "complete"
    assert seen[-1].text.startswith("The answer is forty-two, ")
    assert not any(s.recovered for s in seen)
    assert [line for line in counts if line.startswith(b"GET")] == []


async def test_a_stream_cut_in_mid_token_is_recovered_in_one_round_trip() -> None:
    site = Site()
    clock = FakeClock(lambda count: site.settled() if count == 3 else None)
    async with talk(site, b"forty", clock) as (reader, counts, _):
        seen = await shown(reader)
    assert seen[-1] == Shown(ANSWER, "complete", recovered=True)
    assert clock.slept == [1, 2, 4]
    streamed = [s for s in seen if s.status == "streaming"]
    assert "forty" not in streamed[-1].text  # an event that was cut off is not shown
    assert all(s.text for s in seen[len(streamed) :]), "shown text was replaced by nothing"
    asked = [line for line in counts if line.startswith(b"GET")]
    assert len(asked) == 4


async def test_a_settled_run_needs_one_request() -> None:
    site = Site()
    async with talk(site, b"forty") as (reader, counts, _):
        site.finish.set()
        seen = await shown(reader)
    assert seen[-1].status == "complete"
    assert seen[-1].text == ANSWER
    assert len([line for line in counts if line.startswith(b"GET")]) <= 2


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
async def test_the_answer_before_is_never_taken_for_this_one(durability: str) -> None:
    site = Site(durability)
    clock = FakeClock(lambda count: site.settled() if count == 2 else None)
    async with talk(site, b"forty", clock) as (reader, _, _http):
        config = {"configurable": {"thread_id": "t"}}
        old = await site.graph.aupdate_state(
            config, {"messages": [HumanMessage("a"), AIMessage("OLD")]}
        )
        before = old["configurable"]["checkpoint_id"]
        seen = await shown(reader, before=before)
    assert seen[-1] == Shown(ANSWER, "complete", recovered=True)
    assert not any("OLD" in s.text for s in seen)


async def test_without_the_route_the_raw_state_is_read() -> None:
    site = Site(with_route=False)
    clock = FakeClock(lambda count: site.settled() if count == 1 else None)
    async with talk(site, b"forty", clock) as (reader, counts, _):
        seen = await shown(reader)
    assert seen[-1] == Shown(ANSWER, "complete", recovered=True)
    asked = [line.split(b" ")[1] for line in counts if line.startswith(b"GET")]
    assert [b"final-answer" in path for path in asked] == [True, False, False]


async def test_the_reader_gives_up_and_keeps_what_it_has() -> None:
    site, clock = Site(), FakeClock()
    async with talk(site, b"forty", clock) as (reader, _, _http):
        seen = await shown(reader)
    assert seen[-1].status == "gave_up"
    assert seen[-1].text == "The answer is "
    assert clock.slept[:5] == [1, 2, 4, 5, 5]
    assert 235 < clock.time <= 240


async def test_a_lost_thread_has_a_message_of_its_own() -> None:
    site = Site()
    async with talk(site) as (reader, _, _http):
        seen = [s async for s in reader.recover("nobody", "half a")]
    assert [s.status for s in seen] == ["lost"]
    assert seen[-1].text == "half a"
    assert seen[-1].message == reading.LOST


async def test_a_cancelled_turn_is_not_complete_though_the_thread_is_as_before() -> None:
    site, clock = Site(), FakeClock()
    async with talk(site, b"forty", clock) as (reader, _, http):
        config = {"configurable": {"thread_id": "t"}}
        old = await site.graph.aupdate_state(
            config, {"messages": [HumanMessage("a"), AIMessage("OLD")]}
        )
        clock.on_sleep = lambda count: site.turns.acancel("t") if count == 1 else None
        seen = await shown(reader, before=old["configurable"]["checkpoint_id"])
        answer = (await http.get("/api/threads/t/final-answer")).json()
    assert not any("OLD" in s.text for s in seen)
    assert seen[-1].status in ("gave_up", "cancelled")
    assert answer["content"] == "OLD"


async def test_threads_are_deleted_but_not_while_they_run() -> None:
    site = Site()
    async with talk(site) as (_, _counts, http):
        run = asyncio.create_task(site.turns.arun("a/b", {"messages": [HumanMessage("q")]}))
        await asyncio.sleep(0)
        busy = await http.delete("/conversations/a/b")
        assert (busy.status_code, busy.json()["error"]["code"]) == (409, "turn_running")
        site.finish.set()
        await run
        answer = await http.get("/api/threads/a/b/final-answer")
        assert answer.json()["content"] == ANSWER
        assert (await http.delete("/conversations/a/b")).status_code == 204
        gone = await http.delete("/conversations/a/b")
        assert (gone.status_code, gone.json()["error"]["code"]) == (404, "thread_not_found")
        unknown = await http.get("/api/threads/a/b/final-answer")
        assert (unknown.status_code, unknown.json()["error"]["code"]) == (404, "thread_not_found")
        assert "code" not in (await http.get("/api/thread/x/final-answer")).text


async def test_an_unreadable_thread_is_a_clear_error() -> None:
    class Broken(InMemorySaver):
        async def aget_tuple(self, config: Any) -> Any:
            raise RuntimeError("secret of thread 7")

    site = Site()
    site.graph.checkpointer = Broken()
    async with talk(site) as (_, _counts, http):
        answer = await http.get("/api/threads/t/final-answer")
    assert (answer.status_code, answer.json()["error"]["code"]) == (500, "thread_unreadable")
    assert "secret" not in answer.text


def lifecycle(event: str, *namespace: str) -> dict[str, Any]:
    params = {"namespace": list(namespace), "data": {"event": event}}
    return {"method": "lifecycle", "params": params}


@pytest.mark.parametrize(
    ("event", "status"),
    [
        (Event("end", None), "complete"),
        (Event("error", {"message": "x"}), "failed"),
        (Event("lifecycle", lifecycle("completed")), "complete"),
        (Event("lifecycle", lifecycle("failed")), "failed"),
        (Event("lifecycle", lifecycle("completed", "subgraph")), None),
        (Event("messages", []), None),
    ],
)
async def test_terminal_events(event: Event, status: str | None) -> None:
    assert ended(event) == status


async def test_terminal_events_are_those_of_the_installed_sdk() -> None:
    stream = pytest.importorskip("langgraph_sdk._async.stream")
    names = getattr(stream, "_ROOT_TERMINAL_LIFECYCLE_EVENTS", None)
    if names is None:
        pytest.skip("this SDK has no lifecycle events")
    for name in names:
        data = lifecycle(name)
        assert ended(Event("lifecycle", data)) is not None
        assert stream._is_root_terminal_lifecycle(data)
