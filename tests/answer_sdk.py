"""A backend of kind ``answer`` that reads states with langgraph-sdk, from a server shaped like LangGraph's."""

from __future__ import annotations

from typing import Any

import httpx
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import NotFoundError
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

from lineage_reference.final_answer import from_state


def state_route(graph: Any, prefix: str = "") -> Route:
    """``GET /threads/{id}/state``: the raw state of a thread, as JSON."""

    async def state(request: Any) -> JSONResponse:
        config = {"configurable": {"thread_id": request.path_params["thread"]}}
        found = await graph.aget_state(config)
        if not found.metadata:
            return JSONResponse({"detail": "Thread not found"}, status_code=404)
        return JSONResponse(as_json(found))

    return Route(prefix + "/threads/{thread}/state", state)


def as_json(state: Any) -> dict[str, Any]:
    """A snapshot in the shape of the SDK's ``ThreadState``."""
    messages = [
        m if isinstance(m, dict) else m.model_dump() for m in state.values.get("messages", ())
    ]
    tasks = [
        {
            "id": task.id,
            "name": task.name,
            "error": task.error and str(task.error),
            "interrupts": [{"value": i.value} for i in task.interrupts],
        }
        for task in state.tasks
    ]
    return {
        "values": {"messages": messages},
        "next": list(state.next),
        "tasks": tasks,
        "checkpoint": state.config["configurable"],
        "metadata": state.metadata,
        "created_at": state.created_at,
        "interrupts": [interrupt for task in tasks for interrupt in task["interrupts"]],
    }


class SdkAnswers:
    """Answers from what ``client.threads.get_state`` gives."""

    def __init__(self, saver: Any) -> None:
        self.saver = saver

    def use(self, build: Any) -> Any:
        graph = build(self.saver)
        self.app = Starlette(routes=[state_route(graph)])
        return graph

    async def afinal_answer(
        self, thread: str, *, before: str | None = None, run: str | None = None
    ) -> dict[str, Any] | None:
        transport = httpx.ASGITransport(app=self.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://sdk") as http:
            try:
                state = await LangGraphClient(http).threads.get_state(thread)
            except NotFoundError:
                return None
        return from_state(state, before=before, run=run).to_json()
