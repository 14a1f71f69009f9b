"""Savers that delete too much or too little of a run."""

from __future__ import annotations

from collections.abc import Sequence

from tests.mutants.kit import StrictSaver, mutant


@mutant(kills="runs.removes-its-checkpoints")
class RemovesFromTheRootOnly(StrictSaver):
    """delete_for_runs leaves the namespaces of subgraphs."""

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        kept = {key: row for key, row in self.space.rows.items() if key[1]}
        super().delete_for_runs(run_ids)
        self.space.rows.update(kept)


@mutant(kills="runs.removes-their-writes")
class LeavesWritesOfRuns(StrictSaver):
    """delete_for_runs leaves the writes of the checkpoints that it removes."""

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        writes = dict(self.space.writes)
        super().delete_for_runs(run_ids)
        self.space.writes.update(writes)


@mutant(kills="runs.spares-other-runs")
class MatchesRunsByPrefix(StrictSaver):
    """delete_for_runs takes a run id for a prefix."""

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        known = {str(self._metadata(row).get("run_id")) for row in self.space.rows.values()}
        super().delete_for_runs([run for run in known if run.startswith(tuple(run_ids) or "?")])


@mutant(kills="runs.unknown-run-is-a-no-op")
class UnknownRunIsAnError(StrictSaver):
    """delete_for_runs raises for a run that left nothing."""

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        known = {self._metadata(row).get("run_id") for row in self.space.rows.values()}
        if not known & set(run_ids):
            raise KeyError(*run_ids)
        super().delete_for_runs(run_ids)


@mutant(kills="runs.is-delta-safe")
class RemovesSeeds(StrictSaver):
    """delete_for_runs removes checkpoints that delta channels of other runs are rebuilt from."""

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        rows = self.space.rows.items()
        for key in [k for k, row in rows if self._metadata(row).get("run_id") in run_ids]:
            del self.space.rows[key]
            self.space.writes.pop(key, None)
