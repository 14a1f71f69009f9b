"""Savers that delete too little, too much, or not at all."""

from __future__ import annotations

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
class DeletesWritesById(StrictSaver):
    """delete_thread removes the writes of every thread that has the same checkpoint ids."""

    def delete_thread(self, thread_id: str) -> None:
        ids = {key[2] for key in self.space.rows if key[0] == thread_id}
        super().delete_thread(thread_id)
        for key in [key for key in self.space.writes if key[2] in ids]:
            del self.space.writes[key]
