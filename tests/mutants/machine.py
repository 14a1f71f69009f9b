"""Savers that are sound in each operation and wrong in a mixture."""

from __future__ import annotations

from tests.mutants.kit import StrictSaver, mutant


@mutant(kills="machine.any-mixture")
class DropsEarlyWritesOfOthers(StrictSaver):
    """Deleting one thread throws away the writes of every thread whose checkpoint has not arrived."""

    def delete_thread(self, thread_id: str) -> None:
        for key in [key for key in self.space.writes if key not in self.space.rows]:
            del self.space.writes[key]
        super().delete_thread(thread_id)

    async def adelete_thread(self, thread_id: str) -> None:
        self.delete_thread(thread_id)
