"""The part that all SQL stores of blobs share."""

from __future__ import annotations

import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from lineage_reference.delta.blobs import (
    Blob,
    Frame,
    Place,
    Pointer,
    Step,
    listed,
    pack_step,
    unpack_step,
)
from lineage_reference.delta.rows import first, squeeze_row, unsqueeze_rows
from lineage_reference.delta.stores import MODES, Conflict, Missing, Off, Offer


class SqlStore:
    """A store on an SQL database. Statements use ``?``; a subclass knows the driver and the tables."""

    def __init__(self, clock: Callable[[], float] = time.time, level: int = 1) -> None:
        self.lock = threading.RLock()
        self.clock, self.level = clock, level

    # What a subclass brings

    @abstractmethod
    def transaction(self, thread: str = "") -> AbstractContextManager[None]:
        """One transaction that writes; no other one writes to `thread` at the same time."""

    @abstractmethod
    def query(self, statement: str, values: Sequence[Any] = ()) -> list[Any]:
        """Run a statement and return its rows."""

    @abstractmethod
    def insert_step(self, owner: int, step: Step, body: bytes, created: int) -> None:
        """Put a step, in the place of one of the same name."""

    @abstractmethod
    def insert_blob(self, owner: int, at: Pointer, data: bytes, created: int) -> None:
        """Add a blob."""

    # The flag

    def set_mode(self, mode: str, threads: Iterable[str] | None = None) -> None:
        """The owner's flag, for some threads or (None) for all that have none of their own.

        Raises ValueError for a mode that is none of `MODES`.
        """
        if mode not in MODES:
            raise ValueError(f"no mode is called {mode!r}; there are {', '.join(MODES)}")
        with self.transaction():
            for name in [""] if threads is None else [f"t{thread}" for thread in threads]:
                self._number(name)
                self.query("UPDATE threads SET mode = ? WHERE name = ?", (mode, name))

    def offer(self, thread: str) -> Offer:
        """See `Store.offer`."""
        with self.lock:
            rows = self.query(
                "SELECT name, mode, proved FROM threads WHERE name IN ('', ?)", (f"t{thread}",)
            )
        found = {name: (mode, proved) for name, mode, proved in rows}
        own, default = found.get(f"t{thread}", ("", 0)), found.get("", ("", 0))
        return Offer(own[0] or default[0] or "off", bool(own[1]))

    def prove(self, thread: str, proved: bool = True) -> None:
        """See `Store.prove`."""
        with self.transaction(thread):
            self._number(f"t{thread}")
            self.query("UPDATE threads SET proved = ? WHERE name = ?", (int(proved), f"t{thread}"))

    # Writing

    def append(self, frame: Frame) -> None:
        """See `Store.append`."""
        step, created = frame.step, int(self.clock())
        thread = step.place[0]
        with self.transaction(thread):
            if self.offer(thread).mode == "off":
                raise Off(f"blobs are off for thread {thread!r}")
            owner = self._number(f"t{thread}")
            for channel, entry in step.entries.items():
                if channel not in step.new:
                    if not self._has(owner, entry.at):
                        raise Conflict(f"what {channel!r} refers to is not here")
                    continue
                data, at = frame.data[channel], entry.at
                group = self._rows(owner, at, first(at.pos))
                before, there = group[: at.pos - first(at.pos)], group[at.pos - first(at.pos) :]
                if there:
                    if there[0] != data:
                        raise Conflict(f"{channel!r} goes on at a place that is taken")
                    continue
                begins = at.pos == first(at.pos)
                whole = len(before) == at.pos - first(at.pos)
                if not whole or (
                    begins and at.pos and not self._has(owner, Pointer(at.chain, at.pos - 1))
                ):
                    raise Conflict(f"what {channel!r} goes on from is not here")
                self.insert_blob(owner, at, squeeze_row(data, before, self.level), created)
            self.insert_step(owner, step, pack_step(step), created)

    def delete_thread(self, thread: str) -> None:
        """See `Store.delete_thread`."""
        with self.transaction(thread):
            for owner in self._owner(thread):
                self.query("DELETE FROM blobs WHERE thread = ?", (owner,))
                self.query("DELETE FROM steps WHERE thread = ?", (owner,))
                self.query("UPDATE threads SET proved = 0 WHERE name = ?", (f"t{thread}",))
                self.query("DELETE FROM threads WHERE name = ? AND mode = ''", (f"t{thread}",))

    def copy_thread(self, source: str, target: str) -> None:
        """See `Store.copy_thread`."""
        with self.transaction(target):
            for old in self._owner(source):
                new, created = self._number(f"t{target}"), int(self.clock())
                for row in self.query(
                    "SELECT chain, pos, data FROM blobs WHERE thread = ? ORDER BY chain, pos",
                    (old,),
                ):
                    if not self._has(new, Pointer(row[0], row[1])):
                        self.insert_blob(new, Pointer(row[0], row[1]), bytes(row[2]), created)
                for step in self._steps(old, source):
                    self.insert_step(new, step, pack_step(step), step.created)
                self.query(
                    "UPDATE threads SET proved = (SELECT s.proved FROM threads s WHERE s.name = ?)"
                    " WHERE name = ?",
                    (f"t{source}", f"t{target}"),
                )

    def forget(self, places: Iterable[Place]) -> None:
        """See `Store.forget`."""
        by_thread: dict[str, list[Place]] = {}
        for place in places:
            by_thread.setdefault(place[0], []).append(place)
        for thread, gone in by_thread.items():
            with self.transaction(thread):
                for owner in self._owner(thread):
                    for place in gone:
                        self.query(
                            "DELETE FROM steps WHERE thread = ? AND ns = ? AND id = ?",
                            (owner, *place[1:]),
                        )
                    self._sweep(owner, thread)

    def _sweep(self, owner: int, thread: str) -> None:
        """Remove the blobs of a thread that none of its steps needs."""
        needed = self.needed(self._steps(owner, thread))
        for (chain,) in self.query("SELECT DISTINCT chain FROM blobs WHERE thread = ?", (owner,)):
            self.query(
                "DELETE FROM blobs WHERE thread = ? AND chain = ? AND pos > ?",
                (owner, chain, needed.get(chain, -1)),
            )

    @staticmethod
    def needed(steps: Iterable[Step]) -> dict[int, int]:
        """Per chain how far it is needed by these steps: a value needs all from its base on."""
        needed: dict[int, int] = {}
        for step in steps:
            for entry in step.entries.values():
                needed[entry.at.chain] = max(entry.at.pos, needed.get(entry.at.chain, 0))
        return needed

    # Reading

    def step(self, place: Place) -> Step | None:
        """See `Store.step`."""
        with self.lock:
            rows = self.query(
                "SELECT s.body, s.created FROM steps s JOIN threads t ON s.thread = t.no"
                " WHERE t.name = ? AND s.ns = ? AND s.id = ?",
                (f"t{place[0]}", *place[1:]),
            )
        return unpack_step(place, bytes(rows[0][0]), rows[0][1]) if rows else None

    def newest(self, thread: str, ns: str) -> Step | None:
        """See `Store.newest`."""
        with self.lock:
            rows = self.query(
                "SELECT s.id, s.body, s.created FROM steps s JOIN threads t ON s.thread = t.no"
                " WHERE t.name = ? AND s.ns = ? ORDER BY s.id DESC LIMIT 1",
                (f"t{thread}", ns),
            )
        return (
            unpack_step((thread, ns, rows[0][0]), bytes(rows[0][1]), rows[0][2]) if rows else None
        )

    def steps(self, thread: str) -> list[Step]:
        """See `Store.steps`."""
        with self.lock:
            return [step for owner in self._owner(thread) for step in self._steps(owner, thread)]

    def read(self, thread: str, pointers: Sequence[Pointer]) -> dict[Pointer, list[bytes]]:
        """See `Store.read`."""
        wanted = sorted(set(pointers))
        if not wanted:
            return {}
        ranges = " OR ".join(["(b.chain = ? AND b.pos <= ?)"] * len(wanted))
        with self.lock:
            rows = self.query(
                "SELECT b.chain, b.pos, b.data FROM blobs b JOIN threads t ON b.thread = t.no"
                f" WHERE t.name = ? AND ({ranges}) ORDER BY b.chain, b.pos",
                (f"t{thread}", *(part for pointer in wanted for part in pointer)),
            )
        return gathered(wanted, _chains(rows))

    def recent(self, thread: str, spans: Sequence[tuple[Pointer, int]]) -> list[list[bytes]]:
        """See `Store.recent`."""
        with self.lock:
            found = [
                self._rows(owner, at, at.pos - count + 1)
                for owner in self._owner(thread)
                for at, count in spans
            ]
        wanted = [count for _, count in spans]
        return [rows for rows, count in zip(found, wanted, strict=False) if len(rows) == count]

    def blobs(self, thread: str) -> list[Blob]:
        """See `Store.blobs`."""
        found: list[Blob] = []
        with self.lock:
            for owner in self._owner(thread):
                rows = self.query(
                    "SELECT chain, pos, data FROM blobs WHERE thread = ? ORDER BY chain, pos",
                    (owner,),
                )
                sizes = {
                    Pointer(chain, pos): len(data)
                    for chain, datas in _chains(rows).items()
                    for pos, data in enumerate(datas)
                }
                for step in self._steps(owner, thread):
                    found += listed(step, sizes)
        return found

    # Helpers

    def _owner(self, thread: str) -> Iterator[int]:
        for (no,) in self.query("SELECT no FROM threads WHERE name = ?", (f"t{thread}",)):
            yield no

    def _number(self, name: str) -> int:
        rows = self.query("SELECT no FROM threads WHERE name = ?", (name,))
        if not rows:
            rows = self.query(
                "INSERT INTO threads (name, mode, proved) VALUES (?, '', 0) RETURNING no", (name,)
            )
        return int(rows[0][0])

    def _has(self, owner: int, at: Pointer) -> bool:
        return bool(
            self.query(
                "SELECT 1 FROM blobs WHERE thread = ? AND chain = ? AND pos = ?", (owner, *at)
            )
        )

    def _rows(self, owner: int, at: Pointer, begin: int) -> list[bytes]:
        """The data of a chain from `begin` up to a place, as far as it is there without a gap."""
        group = first(max(begin, 0))
        rows = self.query(
            "SELECT pos, data FROM blobs WHERE thread = ? AND chain = ? AND pos BETWEEN ? AND ?"
            " ORDER BY pos",
            (owner, at.chain, group, at.pos),
        )
        there = [bytes(data) for index, (pos, data) in enumerate(rows) if pos == group + index]
        return unsqueeze_rows(there, group)[max(begin, 0) - group :]

    def _steps(self, owner: int, thread: str) -> list[Step]:
        rows = self.query("SELECT ns, id, body, created FROM steps WHERE thread = ?", (owner,))
        return [unpack_step((thread, ns, id), bytes(body), at) for ns, id, body, at in rows]


def _chains(rows: Iterable[tuple[int, int, Any]]) -> dict[int, list[bytes]]:
    """The data of each chain, from its base up to the first gap; `rows` are ordered by chain and position."""
    squeezed: dict[int, list[bytes]] = {}
    for chain, pos, row in rows:
        kept = squeezed.setdefault(chain, [])
        if pos == len(kept):
            kept.append(bytes(row))
    return {chain: unsqueeze_rows(kept) for chain, kept in squeezed.items()}


def gathered(
    pointers: Iterable[Pointer], chains: Mapping[int, Sequence[bytes]]
) -> dict[Pointer, list[bytes]]:
    """Each pointer's data out of whole chains. Raises `Missing` where a chain is too short."""
    found: dict[Pointer, list[bytes]] = {}
    for pointer in pointers:
        rows = chains.get(pointer.chain, ())[: pointer.pos + 1]
        if len(rows) <= pointer.pos:
            raise Missing(f"blob {len(rows)} of chain {pointer.chain:x} is gone")
        found[pointer] = list(rows)
    return found
