"""A blob store behind HTTP: what a gateway without storage uses. The other end is `service`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from lineage_reference.delta.blobs import (
    FORMAT,
    Blob,
    Frame,
    Place,
    Pointer,
    Step,
    unpack_step,
)
from lineage_reference.delta.codec import Reader, number, unsqueeze
from lineage_reference.delta.requests import Sender
from lineage_reference.delta.stores import Conflict, Missing, Off, Offer


class HttpStore:
    """Speaks to a blob service through `client`, an `httpx.Client` with its base URL and credentials.

    An offer is asked for once per thread and asked again after `refresh` seconds, or at once when the server
    refuses a frame because its flag went off. A server that has no such service is left alone.
    """

    def __init__(
        self,
        client: Any,
        *,
        refresh: float = 30.0,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.client, self.refresh, self.now = client, refresh, now
        self._offers: dict[str, tuple[float, Offer]] = {}
        self._sender = Sender()
        self.sent = 0
        """Bytes of frames that were sent."""

    def offer(self, thread: str) -> Offer:
        """See `Store.offer`. An answer that is no offer, from an old server, means off."""
        asked, known = self._offers.get(thread, (float("-inf"), Offer()))
        if self.now() - asked < self.refresh:
            return known
        answer = self.client.get("/delta/offer", params={"thread": thread})
        offer = Offer()
        if answer.status_code == 200 and "json" in answer.headers.get("content-type", ""):
            said = answer.json()
            if isinstance(said, dict) and FORMAT in said.get("formats", ()):
                offer = Offer(said["mode"], bool(said["proved"]))
                codings = said.get("context")
                self._sender.context = frozenset(codings if isinstance(codings, list) else ())
        elif answer.status_code >= 500:
            answer.raise_for_status()
        if len(self._offers) > 10_000:
            self._offers.clear()
        self._offers[thread] = (self.now(), offer)
        return offer

    def append(self, frame: Frame) -> None:
        """See `Store.append`: one binary body for a step.

        Where the server refuses one that relied on what it has, it is said in full once.
        """
        try:
            try:
                self._send(frame)
            except Conflict:
                if not self._sender.lost(frame):
                    raise
                self._send(frame)
        except Off:
            self._offers.pop(frame.step.place[0], None)
            raise
        self._sender.stored(frame)

    def _send(self, frame: Frame) -> None:
        body = self._sender.body(frame)
        self.sent += len(body)
        self._post("/delta/frames", body, {"thread": frame.step.place[0]})

    def step(self, place: Place) -> Step | None:
        """See `Store.step`."""
        return self._step({"thread": place[0], "ns": place[1], "id": place[2]})

    def newest(self, thread: str, ns: str) -> Step | None:
        """See `Store.newest`."""
        return self._step({"thread": thread, "ns": ns})

    def _step(self, query: dict[str, str]) -> Step | None:
        answer = self.client.get("/delta/step", params=query)
        if answer.status_code == 404:
            return None
        return _stated(query["thread"], self._checked(answer).content)

    def steps(self, thread: str) -> list[Step]:
        """See `Store.steps`."""
        answer = self._checked(self.client.get("/delta/steps", params={"thread": thread}))
        reader, found = Reader(unsqueeze(answer.content)), []
        while not reader.done:
            found.append(_stated(thread, reader.chunk()))
        return found

    def read(self, thread: str, pointers: Sequence[Pointer]) -> dict[Pointer, list[bytes]]:
        """See `Store.read`."""
        wanted = sorted(set(pointers))
        if not wanted:
            return {}
        body = b"".join(number(p.chain) + number(p.pos) for p in wanted)
        answer = self._post("/delta/read", body, {"thread": thread})
        reader = Reader(unsqueeze(answer.content))
        return {pointer: [reader.chunk() for _ in range(pointer.pos + 1)] for pointer in wanted}

    def recent(self, thread: str, spans: Sequence[tuple[Pointer, int]]) -> list[list[bytes]]:
        """See `Store.recent`."""
        found: list[list[bytes]] = []
        for pointer, count in spans:
            try:
                found.append(self.read(thread, [pointer])[pointer][-count:])
            except Missing:
                continue
        return found

    def blobs(self, thread: str) -> list[Blob]:
        """See `Store.blobs`."""
        answer = self._checked(self.client.get("/delta/blobs", params={"thread": thread}))
        return [Blob(**{**row, "pointer": Pointer(*row["pointer"])}) for row in answer.json()]

    def prove(self, thread: str, proved: bool = True) -> None:
        """See `Store.prove`."""
        self._do("prove", thread=thread, proved=proved)
        self._offers.pop(thread, None)

    def delete_thread(self, thread: str) -> None:
        """See `Store.delete_thread`."""
        self._do("delete_thread", thread=thread)
        self._offers.pop(thread, None)

    def copy_thread(self, source: str, target: str) -> None:
        """See `Store.copy_thread`."""
        self._do("copy_thread", source=source, target=target)

    def forget(self, places: Iterable[Place]) -> None:
        """See `Store.forget`."""
        self._do("forget", places=[list(place) for place in places])

    def _do(self, action: str, **order: Any) -> None:
        answer = self.client.post("/delta/do", json={"do": action, **order})
        if answer.status_code != 404:  # an old server holds nothing of ours
            self._checked(answer)

    def _post(self, path: str, body: bytes, query: dict[str, str] | None = None) -> Any:
        headers = {"content-type": "application/octet-stream"}
        return self._checked(
            self.client.post(path, content=body, params=query or {}, headers=headers)
        )

    @staticmethod
    def _checked(answer: Any) -> Any:
        meant = {423: Off, 409: Conflict, 410: Missing}.get(answer.status_code)
        if meant is not None:
            raise meant(answer.text)
        answer.raise_for_status()
        return answer


def _stated(thread: str, data: bytes) -> Step:
    reader = Reader(data)
    ns, id, created = reader.text(), reader.text(), reader.number()
    return unpack_step((thread, ns, id), data[reader.at :], created)
