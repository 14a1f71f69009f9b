"""Real sockets on this machine: an ASGI server, and a TCP proxy that cuts a connection where it is told to."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import uvicorn


class _Server(uvicorn.Server):  # type: ignore[misc]
    @contextlib.contextmanager
    def capture_signals(self) -> Any:
        yield


@contextlib.asynccontextmanager
async def served(app: Any) -> AsyncIterator[int]:
    """A real server on loopback; the port."""
    server = _Server(
        uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error", lifespan="off")
    )
    started = asyncio.Event()
    original = server.startup

    async def startup(*args: Any, **kwargs: Any) -> None:
        await original(*args, **kwargs)
        started.set()

    server.startup = startup  # type: ignore[method-assign]
    task = asyncio.create_task(server.serve())
    await started.wait()
    try:
        yield server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = server.force_exit = True
        await task


@contextlib.asynccontextmanager
async def cutting(port: int, marker: bytes, counts: Any) -> AsyncIterator[int]:
    """A TCP proxy that forwards everything, and resets the first connection right after `marker`."""
    cut = False

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal cut
        upstream_reader, upstream = await asyncio.open_connection("127.0.0.1", port)

        async def up() -> None:
            while data := await reader.read(65536):
                counts.append(data.split(b"\r\n", 1)[0])
                upstream.write(data)
                await upstream.drain()
            upstream.close()  # the client has gone; do not wait for the server's keep-alive to end

        task = asyncio.create_task(up())
        try:
            seen = b""
            while data := await upstream_reader.read(65536):
                seen += data
                at = seen.find(marker) if not cut else -1
                if at >= 0:
                    keep = at + len(marker) - (len(seen) - len(data))
                    writer.write(data[: max(keep, 0)])
                    await writer.drain()
                    cut = True
                    return
                writer.write(data)
                await writer.drain()
        finally:
            task.cancel()
            upstream.close()
            writer.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]
