"""A small page that shows a dropped stream and its recovery: ``python -m lineage_reference.demo``.

`reader.js` is the reader for browsers, the twin of `lineage_reference.client`; the page and the application
are the least that shows it: an agent with a scripted answer, a stream of its words, and our routes.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Mount, Route

from lineage_reference.http import routes
from lineage_reference.rollback import Turns

HERE = Path(__file__).parent
ANSWER = (
    "The answer is forty-two. It was found while you looked elsewhere, and nothing of it was lost."
)

Pause = Callable[[int], Any]
"""Awaited before word `n` of the answer is made: what makes the demo slow, and what tests hold."""


async def _moment(word: int) -> None:
    await asyncio.sleep(0.4)


class Demo:
    """The application. A run belongs to the server: it goes on when nobody listens."""

    def __init__(self, saver: Any = None, pause: Pause = _moment, answer: str = ANSWER) -> None:
        self.pause, self.words = pause, answer.split(" ")
        self.turns = Turns(saver if saver is not None else InMemorySaver())
        self.graph = self.turns.use(self._build)
        self._runs: set[asyncio.Task[Any]] = set()
        self._streams: dict[str, asyncio.Queue[str | None]] = {}
        self.app = Starlette(
            routes=[
                Route("/", lambda _: FileResponse(HERE / "index.html")),
                Route("/reader.js", lambda _: FileResponse(HERE / "reader.js")),
                Route("/run/{thread}", self._run, methods=["POST"]),
                Route("/head/{thread}", self._head),
                Mount("/", routes(self.graph, turns=self.turns)),
            ]
        )

    def _build(self, checkpointer: Any) -> Any:
        async def answer(state: Any, config: RunnableConfig) -> Any:
            stream = self._streams[config["configurable"]["thread_id"]]
            for number, word in enumerate(self.words):
                await self.pause(number)
                stream.put_nowait(word if number == 0 else f" {word}")
            return {"messages": [AIMessage(" ".join(self.words))]}

        graph = StateGraph(MessagesState)
        graph.add_node("answer", answer)
        graph.add_edge(START, "answer")
        graph.add_edge("answer", END)
        return graph.compile(checkpointer=checkpointer)

    async def _run(self, request: Request) -> Response:
        thread, order = str(request.path_params["thread"]), await request.json()
        words: asyncio.Queue[str | None] = asyncio.Queue()
        self._streams[thread] = words
        turn = self.turns.arun(thread, {"messages": [HumanMessage(str(order["question"]))]})
        task = asyncio.create_task(turn)
        task.add_done_callback(lambda _: words.put_nowait(None))
        self._runs.add(task)
        task.add_done_callback(self._runs.discard)

        async def stream() -> AsyncIterator[str]:
            sent = 0
            while (word := await words.get()) is not None:
                event = f"event: token\ndata: {json.dumps({'text': word})}\n\n"
                if order.get("cut") and sent == len(self.words) // 3:
                    yield event[:-4]
                    return  # in the middle of a token: what a lost connection looks like
                yield event
                sent += 1
            yield "event: end\ndata: null\n\n"

        return StreamingResponse(stream(), media_type="text/event-stream")

    async def _head(self, request: Request) -> Response:
        config = {"configurable": {"thread_id": request.path_params["thread"]}}
        found = (await self.graph.aget_state(config)).config["configurable"]
        return JSONResponse({"checkpoint_id": found.get("checkpoint_id", "")})
