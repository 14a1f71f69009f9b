"""What a backend has on record, next to what the model says: transfers, their moves, points, lineage, handoffs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lineage_conformance.kinds.transfer.stage import Stage, plain
from lineage_conformance.kinds.transfer.view import Piece, Thread, Transfer
from lineage_conformance.trace import Diff


class Records(Stage):
    """A stage with the records that its backend keeps."""

    def records(self, thread: Thread, moves: bool = False) -> Iterator[Diff]:
        """Whether the transfers from and to a thread are what they must be (`moves`: with all their moves)."""
        wanted = self.model.touching(thread)
        got = list(self.call("transfers", thread.id))
        graph = [[t.type, t.source.id, t.target.id] for t in wanted]
        shown = [[t.type, t.source_thread, t.target_thread] for t in got]
        different = list(self.compare("graph", ("transfers",), graph, shown))
        yield from different
        if different:
            return
        for transfer, record in zip(wanted, got, strict=True):
            if transfer.id:
                yield from self.compare("graph", ("ids",), transfer.id, record.id)
            transfer.id = record.id
        for transfer, record in zip(wanted, got, strict=True):
            found = list(self.moved(transfer, record)) if moves or transfer.loose else []
            found = found or list(self.record(transfer, record))
            yield from found
            if found:
                return

    def moved(self, transfer: Transfer, record: Any) -> Iterator[Diff]:
        """Whether all moves of a transfer are in its history."""
        story = self.call("history", record.id)
        moves = [move.after for move in story]
        if transfer.loose and moves[: len(transfer.moves)] == transfer.moves:
            transfer.moves = moves
            if record.resolution:
                transfer.resolution = record.resolution
        transfer.loose = False
        if record.status != transfer.status:
            return  # that is what `record` says
        chain = [[before, move.after] for before, move in zip([None, *moves], story, strict=False)]
        shown = [[move.before, move.after] for move in story]
        yield from self.compare("moves", ("chain",), chain, shown)
        times = [record.created_at, *(move.at for move in story)]
        yield from self.compare("moves", ("times",), sorted(times), times)
        yield from self.compare("moves", ("recorded",), transfer.moves, moves)

    def record(self, transfer: Transfer, record: Any) -> Iterator[Diff]:
        """Whether one record is what it must be."""
        status = transfer.status
        wrong = list(self.compare("status", (status,), status, record.status))
        yield from wrong
        if wrong:
            return
        native = transfer.creator == "system" and transfer.type.startswith("subagent")
        if not native:
            resolution = transfer.resolution
            yield from self.compare("choice", ("resolution",), resolution, record.resolution)
        if status != "superseded":
            yield from self.compare("reason", (status,), transfer.reason, record.reason)
        if not native and not self.replacing(transfer):
            made = (transfer.creator, record.created_by)
            yield from self.compare("creator", (transfer.type,), *made)
        if not native:
            used = (transfer.consumed_by, record.consumed_by)
            yield from self.compare("consumed", ("by",), *used)
        later = transfer.replaced_by.id if transfer.replaced_by else None
        if status == "superseded":
            yield from self.compare("superseded", ("by",), later, record.replaced_by)
        yield from self.pointed("point", transfer.point, record.source_point)
        yield from self.pointed("base", transfer.base, record.base_point)

    def replacing(self, transfer: Transfer) -> bool:
        """Whether a transfer took the place of another one: whose name it bears is open then."""
        return any(other.replaced_by is transfer for other in self.model.transfers)

    def pointed(self, name: str, piece: Piece | None, point: Any) -> Iterator[Diff]:
        """Whether a point is where it must be."""
        wanted: Any = None
        shown: Any = None
        if piece is not None:
            run = piece.run
            wanted = [run.id if run else None, *piece.place]
            if run is not None:
                wanted += [run.thread.id, run.items[-1], run.session, run.turn]
        if point is not None:
            shown = [point.run_id, point.checkpoint_thread, point.checkpoint_id]
            if point.run_id is not None:
                shown += [point.thread_id, point.item_id, point.native_thread, point.native_turn]
        yield from self.compare(name, ("point",), wanted, shown)

    def forest(self, thread: Thread) -> Iterator[Diff]:
        """Whether a thread's parent, root, relationship, provider and children are what they must be."""
        got = self.call("lineage", thread.id)
        parent = thread.parent.id if thread.parent else None
        wanted = [parent, thread.relationship, thread.root.id]
        shown = [got.parent_id, got.relationship, got.root_id]
        yield from self.compare("lineage", ("parent",), wanted, shown)
        yield from self.compare("provider", ("thread",), thread.provider, got.provider)
        children = [t.id for t in self.model.threads.values() if t.parent is thread]
        shown = [child.thread_id for child in self.call("children", thread.id)]
        yield from self.compare("lineage", ("children",), children, shown)

    def kept(self) -> Iterator[Diff]:
        """Whether every handoff that was injected is what its record gives now, and gives when it is rebuilt."""
        for id, shown in self.told.items():
            for method in ("handoff", "rebuild"):
                again = plain(self.call(method, id))
                found = list(self.compare("handoff", (method,), shown, again))
                yield from found
                if found:
                    return
