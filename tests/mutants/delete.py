"""Savers that delete too little, too much, or not at all."""

from __future__ import annotations

import dataclasses

from tests.mutants.kit import StrictSaver, mutant


@mutant(kills="delete.implemented")
class CannotDelete(StrictSaver):
    """delete_thread is not implemented."""

    def delete_thread(self, thread_id: str) -> None:
        raise NotImplementedError


@mutant(kills="delete.complete")
class DeletesTheRootOnly(StrictSaver):
    """delete_thread leaves the namespaces of subgraphs."""

    def delete_thread(self, thread_id: str) -> None:
        self.space.drop(key for key in list(self.space.rows) if key[:2] == (str(thread_id), ""))


@mutant(kills="delete.idempotent")
class UnknownThreadIsAnError(StrictSaver):
    """delete_thread raises for a thread that does not exist."""

    def delete_thread(self, thread_id: str) -> None:
        used = {key[0] for key in (*self.space.rows, *self.space.writes)}
        if thread_id not in used and "'" not in thread_id:
            raise KeyError(thread_id)
        super().delete_thread(thread_id)


@mutant(kills="delete.id-reusable")
class KeepsOldWrites(StrictSaver):
    """delete_thread removes checkpoints and leaves their writes."""

    def delete_thread(self, thread_id: str) -> None:
        writes = self.space.writes
        super().delete_thread(thread_id)
        self.space.writes = writes


@mutant(kills="delete.spares-others")
class DeletesSharedValues(StrictSaver):
    """Values are stored once for all threads, and delete_thread removes those of its thread."""

    def delete_thread(self, thread_id: str) -> None:
        rows = self.space.rows
        gone = {
            blob for key, row in rows.items() if key[0] == thread_id for blob in row.values.values()
        }
        super().delete_thread(thread_id)
        for key, row in self.space.rows.items():
            kept = {channel: blob for channel, blob in row.values.items() if blob not in gone}
            self.space.rows[key] = dataclasses.replace(row, values=kept)


@mutant(kills="namespaces.same-id-is-fine")
class DeletesWritesById(StrictSaver):
    """delete_thread removes the writes of every thread that has the same checkpoint ids."""

    def delete_thread(self, thread_id: str) -> None:
        ids = {key[2] for key in self.space.rows if key[0] == thread_id}
        super().delete_thread(thread_id)
        for key in [key for key in self.space.writes if key[2] in ids]:
            del self.space.writes[key]
