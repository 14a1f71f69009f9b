"""What a backend has on record, next to what the model says: transfers, their moves, points, lineage, handoffs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lineage_conformance.laws.transfer_play import Stage, plain
from lineage_conformance.session import Diff
from lineage_conformance.transfer_view import Piece, Thread, Transfer


class Records(Stage):
    """A stage with the records that its backend keeps."""

    def records(self, thread: Thread, moves: bool = False) -> Iterator[Diff]:
        """Whether the transfers from and to a thread are what they must be (`moves`: with all their moves)."""
        wanted = self.model.touching(thread)
        got = list(self.call("transfers", thread.id))
        graph = [[t.type, t.source.id, t.target.id] for t in wanted]
        shown = [[t.type, t.source_thread, t.target_thread] for t in got]
        if graph != shown:
            yield self.diff("graph", ("transfers",), graph, shown)
            return
        for transfer, record in zip(wanted, got, strict=True):
            if transfer.id and transfer.id != record.id:
                yield self.diff("graph", ("ids",), transfer.id, record.id)
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
        if [move.before for move in story] != [None, *moves[:-1]]:
            shown = [[move.before, move.after] for move in story]
            yield self.diff("moves", ("chain",), "each begins where the last ended", shown)
        times = [record.created_at, *(move.at for move in story)]
        if times != sorted(times):
            yield self.diff("moves", ("times",), sorted(times), times)
        if moves != transfer.moves:
            yield self.diff("moves", ("recorded",), transfer.moves, moves)

    def record(self, transfer: Transfer, record: Any) -> Iterator[Diff]:
        """Whether one record is what it must be."""
        if record.status != transfer.status:
            yield self.diff("status", (transfer.status,), transfer.status, record.status)
            return
        native = transfer.creator == "system" and transfer.type.startswith("subagent")
        if not native and record.resolution != transfer.resolution:
            yield self.diff("choice", ("resolution",), transfer.resolution, record.resolution)
        if record.reason != transfer.reason and transfer.status != "superseded":
            yield self.diff("reason", (transfer.status,), transfer.reason, record.reason)
        made = record.created_by == transfer.creator
        if not made and not native and not self.replacing(transfer):
            yield self.diff("creator", (transfer.type,), transfer.creator, record.created_by)
        if not native and record.consumed_by != transfer.consumed_by:
            yield self.diff("consumed", ("by",), transfer.consumed_by, record.consumed_by)
        later = transfer.replaced_by.id if transfer.replaced_by else None
        if transfer.status == "superseded" and record.replaced_by != later:
            yield self.diff("superseded", ("by",), later, record.replaced_by)
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
        if wanted != shown:
            yield self.diff(name, ("point",), wanted, shown)

    def forest(self, thread: Thread) -> Iterator[Diff]:
        """Whether a thread's parent, root, relationship, provider and children are what they must be."""
        got = self.call("lineage", thread.id)
        parent = thread.parent.id if thread.parent else None
        wanted = [parent, thread.relationship, thread.root.id]
        if [got.parent_id, got.relationship, got.root_id] != wanted:
            shown = [got.parent_id, got.relationship, got.root_id]
            yield self.diff("lineage", ("parent",), wanted, shown)
        if got.provider != thread.provider:
            yield self.diff("provider", ("thread",), thread.provider, got.provider)
        children = [t.id for t in self.model.threads.values() if t.parent is thread]
        shown = [child.thread_id for child in self.call("children", thread.id)]
        if shown != children:
            yield self.diff("lineage", ("children",), children, shown)

    def kept(self) -> Iterator[Diff]:
        """Whether every handoff that was injected is what its record gives now, and gives when it is rebuilt."""
        for id, shown in self.told.items():
            for method in ("handoff", "rebuild"):
                again = plain(self.call(method, id))
                if again != shown:
                    yield self.diff("handoff", (method,), shown, again)
                    return
