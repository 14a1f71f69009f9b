"""Savers that prune too much or too little."""

from __future__ import annotations

from collections.abc import Sequence

from tests.mutants.kit import StrictSaver, mutant


@mutant(kills="prune.keeps-heads")
class PrunesPendingWrites(StrictSaver):
    """keep_latest drops the pending writes of what it keeps."""

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        super().prune(thread_ids, strategy=strategy)
        for key in [key for key in self.space.writes if key[0] in thread_ids]:
            if not key[0].endswith("-delta") and not any(
                w.channel == "d" for w in self.space.writes_of(key)
            ):
                del self.space.writes[key]


@mutant(kills="prune.drops-older")
class PrunesNothing(StrictSaver):
    """keep_latest keeps everything."""

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        if strategy != "keep_latest":
            super().prune(thread_ids, strategy=strategy)


@mutant(kills="prune.delete-removes-all")
class DeleteKeepsHeads(StrictSaver):
    """The strategy delete keeps the latest checkpoint of each namespace."""

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        super().prune(thread_ids, strategy="keep_latest" if strategy == "delete" else strategy)


@mutant(kills="prune.spares-others")
class PrunesByPrefix(StrictSaver):
    """prune takes a thread id for a prefix."""

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        near = {key[0] for key in self.space.rows if key[0].startswith(tuple(thread_ids) or "?")}
        super().prune(sorted({*thread_ids, *near}), strategy=strategy)


@mutant(kills="prune.unknown-strategy-changes-nothing")
class PrunesOnAnyWord(StrictSaver):
    """A strategy that is not known is taken for delete."""

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        super().prune(thread_ids, strategy=strategy if strategy == "keep_latest" else "delete")


@mutant(kills="prune.is-delta-safe")
class CutsDeltaChannels(StrictSaver):
    """keep_latest drops checkpoints that delta channels are rebuilt from."""

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        super().prune(thread_ids, strategy=strategy)
        rows = sorted(key for key in self.space.rows if key[0] in thread_ids)
        latest = {key[:2]: key for key in rows}
        for key in rows:
            if key != latest[key[:2]]:
                del self.space.rows[key]
                self.space.writes.pop(key, None)
