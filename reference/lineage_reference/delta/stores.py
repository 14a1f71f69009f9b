"""What a blob store is, and what it may answer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol

from lineage_reference.delta.blobs import (
    Blob,
    Frame,
    Place,
    Pointer,
    Step,
)

MODES = ("off", "shadow", "read")
"""Off: nothing is stored or advertised. Shadow: blobs beside full checkpoints. Read: blobs instead."""

RETENTION = 30 * 24 * 3600
"""Seconds that steps are kept which are not the only copy of anything."""


class Conflict(Exception):
    """A frame goes on from something that is not there, or its place in a chain is taken.

    Another gateway was faster, the flag was off meanwhile, or retention went by: begin anew.
    """


class Off(Exception):
    """The server's flag is off for this thread; nothing was stored."""


class Missing(Exception):
    """Blobs that a checkpoint needs are not there. Nothing else may be returned in their place."""


class Offer(NamedTuple):
    """What a store says it does for a thread."""

    mode: str = "off"
    proved: bool = False
    """Whether `verify` found every checkpoint of the thread rebuilt exactly; read mode needs it."""


class Store(Protocol):
    """A blob store. All methods may be called from any thread."""

    def offer(self, thread: str) -> Offer:
        """What is done for this thread; the server's flag decides."""
        ...

    def append(self, frame: Frame) -> None:
        """Store a step with its blobs, whole or not at all. The same frame again changes nothing.

        Raises `Off` or `Conflict`.
        """
        ...

    def step(self, place: Place) -> Step | None:
        """The step of a checkpoint."""
        ...

    def newest(self, thread: str, ns: str) -> Step | None:
        """The step with the largest checkpoint id in a namespace."""
        ...

    def steps(self, thread: str) -> list[Step]:
        """All steps of a thread, in no particular order."""
        ...

    def read(self, thread: str, pointers: Sequence[Pointer]) -> dict[Pointer, list[bytes]]:
        """The data from each pointer's base up to the pointer, in one ordered query. Raises `Missing`."""
        ...

    def recent(self, thread: str, spans: Sequence[tuple[Pointer, int]]) -> list[list[bytes]]:
        """The data of the last so many blobs up to each pointer. Shorter than `spans` where one of them is gone."""
        ...

    def blobs(self, thread: str) -> list[Blob]:
        """Every blob of a thread."""
        ...

    def prove(self, thread: str, proved: bool = True) -> None:
        """Remember whether the thread was verified."""
        ...

    def delete_thread(self, thread: str) -> None:
        """Remove all that is known of a thread, its flag excepted."""
        ...

    def copy_thread(self, source: str, target: str) -> None:
        """Copy all steps and blobs of a thread."""
        ...

    def forget(self, places: Iterable[Place]) -> None:
        """Remove steps, and the blobs that no other step needs."""
        ...
