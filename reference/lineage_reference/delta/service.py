"""An ASGI service that owns a blob store, for gateways that have no storage of their own.

It speaks the same frames that the store takes. A gateway asks for an offer first; a server without this
service answers 404 there, and is never sent anything. The flag is the server's: no request sets it.

===========  ============================  =====================================================
GET          /delta/offer?thread=          ``{"mode": ..., "proved": ..., "formats": [1], ...}``
POST         /delta/frames?thread=         a squeezed frame; 204, 423 flag off, 409 begin anew
GET          /delta/step?thread=&ns=&id=   a packed step, or 404; without id the newest
GET          /delta/steps?thread=          packed steps
POST         /delta/read?thread=           pointers in, chains out; 410 if blobs are gone
GET          /delta/blobs?thread=          the list of blobs, as JSON
POST         /delta/do                     ``{"do": "delete_thread" | "copy_thread" | ...}``
===========  ============================  =====================================================

Who may call it is for the application to say: mount it behind its own authentication.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from lineage_reference.delta.blobs import FORMAT, Pointer, Step, pack_step, unpack_frame
from lineage_reference.delta.codec import Malformed, Reader, chunk, number, squeeze, text
from lineage_reference.delta.context import CODINGS
from lineage_reference.delta.requests import opened
from lineage_reference.delta.stores import Conflict, Missing, Off, Store

LARGEST = 64 << 20
"""Bytes of a frame beyond which a request is refused."""


def application(store: Store) -> Starlette:
    """The service over a store; mount it or run it as it is."""
    return Starlette(
        routes=[
            Route("/delta/offer", _route(store, _offer)),
            Route("/delta/frames", _route(store, _frames), methods=["POST"]),
            Route("/delta/step", _route(store, _step)),
            Route("/delta/steps", _route(store, _steps)),
            Route("/delta/read", _route(store, _read), methods=["POST"]),
            Route("/delta/blobs", _route(store, _blobs)),
            Route("/delta/do", _route(store, _do), methods=["POST"]),
        ]
    )


def _route(store: Store, work: Callable[[Store, Any, bytes], Response]) -> Any:
    async def answer(request: Request) -> Response:
        body = bytearray()
        async for part in request.stream():
            body += part
            if len(body) > LARGEST:
                return Response(status_code=413)
        try:
            return await run_in_threadpool(work, store, request.query_params, bytes(body))
        except Off as error:
            return Response(str(error), 423)
        except (Conflict, LookupError) as error:
            return Response(str(error), 409)
        except Missing as error:
            return Response(str(error), 410)
        except (Malformed, ValueError) as error:
            return Response(str(error), 400)

    return answer


def _offer(store: Store, query: Any, body: bytes) -> Response:
    offer = store.offer(query["thread"])
    if offer.mode == "off":
        return JSONResponse({"mode": "off"})
    return JSONResponse(
        {"mode": offer.mode, "proved": offer.proved, "formats": [FORMAT], "context": list(CODINGS)}
    )


def _frames(store: Store, query: Any, body: bytes) -> Response:
    thread = query["thread"]
    whole = opened(thread, body, store, LARGEST)
    store.append(unpack_frame(thread, whole, store.step, store.newest))
    return Response(status_code=204)


def _step(store: Store, query: Any, body: bytes) -> Response:
    thread, ns, id = query["thread"], query["ns"], query.get("id")
    step = store.newest(thread, ns) if id is None else store.step((thread, ns, id))
    return Response(status_code=404) if step is None else Response(_stated(step))


def _steps(store: Store, query: Any, body: bytes) -> Response:
    return Response(
        squeeze(b"".join(chunk(_stated(step)) for step in store.steps(query["thread"])))
    )


def _stated(step: Step) -> bytes:
    return text(step.place[1]) + text(step.place[2]) + number(step.created) + pack_step(step)


def _read(store: Store, query: Any, body: bytes) -> Response:
    reader, pointers = Reader(body), []
    while not reader.done:
        pointers.append(Pointer(reader.number(), reader.number()))
    chains = store.read(query["thread"], pointers)
    return Response(
        squeeze(b"".join(chunk(row) for pointer in pointers for row in chains[pointer]))
    )


def _blobs(store: Store, query: Any, body: bytes) -> Response:
    rows = [{**vars(blob), "pointer": list(blob.pointer)} for blob in store.blobs(query["thread"])]
    return JSONResponse(rows)


def _do(store: Store, query: Any, body: bytes) -> Response:
    import json

    order = json.loads(body)
    action = order.pop("do")
    if action == "forget":
        store.forget([(place[0], place[1], place[2]) for place in order["places"]])
    elif action in ("delete_thread", "copy_thread", "prove"):
        getattr(store, action)(**order)
    else:
        raise ValueError(f"nothing is called {action!r}")
    return Response(status_code=204)
