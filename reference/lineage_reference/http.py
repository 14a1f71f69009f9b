"""The final answer over HTTP: an ASGI route that any Starlette or FastAPI application can mount.

    app.mount("/", routes(graph, turns=turns))

``GET /api/threads/{id}/final-answer`` gives 200 with ``content``, ``completed_at``, ``complete``, ``status``, or
404 with the code ``thread_not_found``: any other 404 means that the route is missing. ``?before=`` is the id of the
head from before the run. ``DELETE /conversations/{id}`` forgets a thread: 204, 404 if it is unknown, 409
while its turn runs. Errors are ``{"error": {"code": ..., "message": ...}}`` and say nothing of other threads.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from lineage_reference.final_answer import UnknownThread, afinal_answer, final_answer
from lineage_reference.rollback import AsyncTurns, Busy, has

NOT_FOUND = "thread_not_found"
RUNNING = "turn_running"
UNREADABLE = "thread_unreadable"

LOG = logging.getLogger(__name__)

RunStatus = Callable[[str], str | None]
"""Given a thread id, the status of its run where the server has one (``running``, ``cancelled``, ...)."""


def routes(graph: Any, *, turns: Any = None, run_status: RunStatus | None = None) -> Starlette:
    """An ASGI application with the routes for one compiled graph.

    With `turns`, a runner of turns, threads can be deleted, and a running turn is reported as running.
    """
    return Starlette(
        routes=[
            Route("/api/threads/{thread:path}/final-answer", _answering(graph, turns, run_status)),
            *(
                [Route("/conversations/{thread:path}", _forgetting(turns), methods=["DELETE"])]
                if turns is not None
                else []
            ),
        ]
    )


def _answering(graph: Any, turns: Any, run_status: RunStatus | None) -> Any:
    async def answer(request: Request) -> Response:
        thread = str(request.path_params["thread"])
        status = run_status(thread) if run_status is not None else None
        if status is None and turns is not None and turns.running(thread):
            status = "running"
        options = {"before": request.query_params.get("before"), "run": status}
        try:
            if has(graph.checkpointer, "aget_tuple"):
                found = await afinal_answer(graph, thread, **options)
            else:
                found = await run_in_threadpool(final_answer, graph, thread, **options)
        except UnknownThread:
            return error(404, NOT_FOUND, "there is no such thread")
        except Exception:
            LOG.exception("the final answer of a thread could not be read")
            return error(500, UNREADABLE, "the thread could not be read")
        return JSONResponse(found.to_json(), headers={"cache-control": "no-store"})

    return answer


def _forgetting(turns: Any) -> Any:
    async def forget(request: Request) -> Response:
        thread = str(request.path_params["thread"])
        try:
            if turns.running(thread):
                raise Busy("running")
            if isinstance(turns, AsyncTurns):
                held = await turns.aheld(thread)
            else:
                held = await run_in_threadpool(turns.held, thread)
            if not held.known:
                return error(404, NOT_FOUND, "there is no such thread")
            if isinstance(turns, AsyncTurns):
                await turns.aforget(thread)
            else:
                await run_in_threadpool(turns.forget, thread)
        except Busy:
            return error(409, RUNNING, "a turn of the thread is running; cancel it first")
        except Exception:
            LOG.exception("a thread could not be deleted")
            return error(500, UNREADABLE, "the thread could not be deleted")
        return Response(status_code=204)

    return forget


def error(status: int, code: str, message: str) -> JSONResponse:
    """An error as the routes give it."""
    return JSONResponse({"error": {"code": code, "message": message}}, status_code=status)


# -- the route as a target of kind ``answer`` ----------------------------------------------------


class RouteAnswers:
    """The route, called through ASGI, as a backend of kind ``answer``: the same laws hold on it."""

    def __init__(self, saver: Any) -> None:
        self.saver = saver
        self.app: Starlette | None = None
        self._run: str | None = None

    def use(self, build: Any) -> Any:
        """Compile the agent over the saver, serve its threads, and return it."""
        graph = build(self.saver)
        self.app = routes(graph, run_status=lambda thread: self._run)
        return graph

    def final_answer(
        self, thread: str, *, before: str | None = None, run: str | None = None
    ) -> dict[str, Any] | None:
        """What the route answers; None for its 404. Must not be called in an event loop."""
        return asyncio.run(self.afinal_answer(thread, before=before, run=run))

    async def afinal_answer(
        self, thread: str, *, before: str | None = None, run: str | None = None
    ) -> dict[str, Any] | None:
        """The same, awaited."""
        import httpx

        self._run = run
        transport = httpx.ASGITransport(app=self.app)  # type: ignore[arg-type]
        async with httpx.AsyncClient(transport=transport, base_url="http://route") as client:
            params = {"before": before} if before is not None else {}
            response = await client.get(f"/api/threads/{thread}/final-answer", params=params)
        if response.status_code == 404 and response.json()["error"]["code"] == NOT_FOUND:
            return None
        response.raise_for_status()
        found: dict[str, Any] = response.json()
        return found


def make_route(saver: Any, store: Any = None) -> RouteAnswers:
    """A target of kind ``answer`` that goes through the HTTP route."""
    return RouteAnswers(saver)
