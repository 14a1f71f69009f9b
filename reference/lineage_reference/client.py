"""A reader of answer streams that survives a dropped connection.

A stream that ends without a terminal event was dropped: the run goes on without us. The reader then asks the
final-answer route (or, where that is missing, the raw state endpoint), at once and then after 1, 2, 4 and
every 5 seconds, until the answer is complete or 240 seconds are over. What it gets *replaces* the text that
was streamed, and is marked as recovered; shown text is never replaced by nothing.

    async for shown in StreamReader(http).follow("POST", "/runs/stream", json=..., thread="t", before=head_id):
        render(shown.text, shown.recovered, shown.status)
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import quote

import httpx

from lineage_reference.final_answer import from_state

DELAYS = (1.0, 2.0, 4.0)
"""Seconds before the second, third and fourth request."""
EVERY = 5.0
"""Seconds before each one after those."""
LIMIT = 240.0
"""Seconds after which the reader gives up."""

LOST = "This conversation no longer exists on the server."
GAVE_UP = "The connection was lost, and the answer is not complete yet. Reload to look again."


@dataclass(frozen=True)
class Event:
    """One event of the stream: its name and its data (parsed JSON, or text)."""

    name: str
    data: Any


@dataclass(frozen=True)
class Shown:
    """What to show now."""

    text: str
    status: str
    """``streaming``, ``recovering``, or, as the last one: ``complete``, ``failed``, ``cancelled``, ``interrupted``,
    ``lost`` (the thread is gone), ``gave_up``."""
    recovered: bool = False
    """Whether the text came from the thread and not from the stream."""
    message: str = ""
    """A word to the user, for ``lost``, ``gave_up`` and ``failed``."""


class Clock(Protocol):
    """Time, so that tests need not wait."""

    def now(self) -> float:
        """Seconds since some moment."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        ...


class RealClock:
    """The clock on the wall."""

    def now(self) -> float:
        """Seconds since some moment."""
        return time.monotonic()

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await asyncio.sleep(seconds)


def ended(event: Event) -> str | None:
    """How LangGraph's servers say that a run is over: the events ``end`` and ``error``, or ``lifecycle`` at the root.

    Returns the status (``complete`` or ``failed``), None for any other event.
    """
    if event.name in ("end", "error"):
        return "complete" if event.name == "end" else "failed"
    data = event.data if isinstance(event.data, Mapping) else {}
    if event.name == "lifecycle" or data.get("method") == "lifecycle":
        params = data.get("params") or data
        if not params.get("namespace"):
            phase = (params.get("data") or params).get("event")
            return {"completed": "complete", "failed": "failed"}.get(str(phase))
    return None


def piece(event: Event) -> str:
    """The text that an event adds: of ``{"text": ...}``, or of LangGraph's ``messages`` tuples."""
    from lineage_reference.final_answer import text_of

    if isinstance(event.data, Mapping) and isinstance(event.data.get("text"), str):
        return str(event.data["text"])
    if event.name == "messages" and isinstance(event.data, list) and event.data:
        first = event.data[0]
        return text_of(first.get("content")) if isinstance(first, Mapping) else ""
    return ""


class StreamReader:
    """Reads answers from a server; see the module."""

    def __init__(
        self,
        http: httpx.AsyncClient,
        *,
        terminal: Callable[[Event], str | None] = ended,
        text: Callable[[Event], str] = piece,
        answer_path: str = "/api/threads/{thread}/final-answer",
        state_path: str = "/threads/{thread}/state",
        clock: Clock | None = None,
    ) -> None:
        self._http, self._terminal, self._text = http, terminal, text
        self._answer_path, self._state_path = answer_path, state_path
        self._clock = clock or RealClock()
        self._routed = True

    async def follow(
        self, method: str, url: str, *, thread: str, before: str | None = None, **request: Any
    ) -> AsyncIterator[Shown]:
        """Send a request whose response is a stream of server-sent events, and show the answer.

        `before` is the id of the thread's head from before the run ("" for a new thread). The last `Shown`
        has a final status. Raises `httpx.HTTPStatusError` if the stream itself is refused.
        """
        text = ""
        try:
            async with self._http.stream(method, url, **request) as response:
                response.raise_for_status()
                async for event in events(response):
                    status = self._terminal(event)
                    if status is not None:
                        message = str(event.data) if status == "failed" else ""
                        yield Shown(text, status, message=message)
                        return
                    if added := self._text(event):
                        text += added
                        yield Shown(text, "streaming")
        except httpx.TransportError:
            pass  # dropped, as a stream is that just ends
        async for shown in self.recover(thread, text, before=before):
            yield shown

    async def recover(
        self, thread: str, text: str = "", *, before: str | None = None
    ) -> AsyncIterator[Shown]:
        """Ask for the answer of a thread until it is complete; `text` is what is shown now."""
        start, tries, recovered = self._clock.now(), 0, False
        while True:
            found = await self._ask(thread, before)
            if found is not None:
                if content := found.get("content"):
                    text, recovered = str(content), True
                status = str(found.get("status"))
                if found.get("complete"):
                    yield Shown(text, "complete", recovered)
                    return
                if status in ("failed", "cancelled", "interrupted"):
                    yield Shown(text, status, recovered)
                    return
                if status == "lost" and before != "":
                    yield Shown(text, "lost", recovered, LOST)
                    return
                if status == "refused":
                    yield Shown(text, "gave_up", recovered, GAVE_UP)
                    return
                yield Shown(text, "recovering", recovered)
            delay = DELAYS[tries] if tries < len(DELAYS) else EVERY
            if self._clock.now() - start + delay > LIMIT:
                lost = found is not None and found.get("status") == "lost"
                yield Shown(
                    text, "lost" if lost else "gave_up", recovered, LOST if lost else GAVE_UP
                )
                return
            tries += 1
            await self._clock.sleep(delay)

    async def _ask(self, thread: str, before: str | None) -> Mapping[str, Any] | None:
        """What the server knows of the answer; None if it could not say for now."""
        name = quote(thread, safe="")
        try:
            if self._routed:
                params = {"before": before} if before is not None else {}
                path = self._answer_path.format(thread=name)
                response = await self._http.get(path, params=params)
                if response.status_code != 404:
                    return _read(response)
                if _code(response) == "thread_not_found":
                    return {"status": "lost"}
                self._routed = False  # any other 404 means that the route is missing
            response = await self._http.get(self._state_path.format(thread=name))
            if response.status_code == 404:
                return {"status": "lost"}
            state = _read(response)
            if state is None or state.get("status") == "refused":
                return state
            return from_state(state, before=before).to_json()
        except (httpx.TransportError, ValueError):
            return None


async def events(response: httpx.Response) -> AsyncIterator[Event]:
    """The server-sent events of a response. One that was cut off before its end is not given."""
    name, data = "", list[str]()
    async for line in response.aiter_lines():
        if not line:
            if name or data:
                yield Event(name or "message", _parsed("\n".join(data)))
            name, data = "", []
            continue
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            name = value
        elif field == "data":
            data.append(value)


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _read(response: httpx.Response) -> Mapping[str, Any] | None:
    if response.status_code >= 500 or response.status_code in (408, 425, 429):
        return None
    if response.status_code >= 400:
        return {"status": "refused"}
    found = response.json()
    return found if isinstance(found, dict) else None


def _code(response: httpx.Response) -> str:
    try:
        return str(response.json()["error"]["code"])
    except (ValueError, KeyError, TypeError):
        return ""
