"""Savers that rebuild delta channels from the wrong writes or the wrong value."""

from __future__ import annotations

from typing import Any

from tests.mutants.kit import StrictSaver, mutant


class Walking(StrictSaver):
    """Reads delta histories step by step, so that a subclass can go wrong at one of them."""

    def ancestors(self, key: Any) -> list[Any]:
        return [*self.space.lineage(key)][1:]

    def stored(self, row: Any, channel: str) -> bool:
        return channel in row.values

    def order(self, writes: Any) -> Any:
        return writes

    def seed(self, value: Any) -> Any:
        return value

    def get_delta_channel_history(self, *, config: Any, channels: Any) -> Any:
        key = self._find(config)
        lineage = [] if key is None else self.ancestors(key)
        return {channel: self.walk(lineage, channel) for channel in channels}

    def walk(self, lineage: list[Any], channel: str) -> Any:
        entry: dict[str, Any] = {"writes": []}
        for key, row in lineage:
            mine = [w for w in self.order(self.space.writes_of(key)) if w.channel == channel]
            load = self.serde.loads_typed
            entry["writes"][:0] = [(w.task_id, channel, load(w.value)) for w in mine]
            if self.stored(row, channel):
                entry["seed"] = self.seed(load(row.values[channel]))
                break
        return entry


@mutant(kills="delta_history.equals-parent-walk")
class StopsAfterOneStep(Walking):
    """Only the two nearest ancestors are walked."""

    def ancestors(self, key: Any) -> list[Any]:
        return super().ancestors(key)[:2]


@mutant(kills="delta_history.starts-at-the-root-without-seed")
class NeedsASeed(Walking):
    """A channel that was never stored whole has no history."""

    def walk(self, lineage: list[Any], channel: str) -> Any:
        entry = super().walk(lineage, channel)
        return entry if "seed" in entry else {"writes": []}


@mutant(kills="delta_history.includes-writes-of-the-seed")
class SkipsWritesOfTheSeed(Walking):
    """The writes at the ancestor that holds the seed are left out."""

    def walk(self, lineage: list[Any], channel: str) -> Any:
        entry = super().walk(lineage, channel)
        for key, row in lineage:
            if channel in row.values:
                skipped = [w for w in self.space.writes_of(key) if w.channel == channel]
                entry["writes"] = entry["writes"][len(skipped) :]
                break
        return entry


@mutant(kills="delta_history.excludes-own-writes")
class AddsPendingWrites(Walking):
    """The pending writes of the checkpoint itself are part of its history."""

    def get_delta_channel_history(self, *, config: Any, channels: Any) -> Any:
        history = super().get_delta_channel_history(config=config, channels=channels)
        found = self.get_tuple(config)
        for write in found.pending_writes or () if found else ():
            if write[1] in history:
                history[write[1]]["writes"].append(write)
        return history


@mutant(kills="delta_history.orders-parallel-writes")
class OrdersByTask(Walking):
    """The writes of one step come in the order of their task ids."""

    def order(self, writes: Any) -> Any:
        return sorted(writes, key=lambda write: (write.task_id, write.position))


@mutant(kills="delta_history.stays-on-its-branch")
class WalksTheWholeThread(Walking):
    """All older checkpoints are walked, those of other branches too."""

    def ancestors(self, key: Any) -> list[Any]:
        rows = self.space.rows.items()
        return sorted(
            ((k, r) for k, r in rows if k[:2] == key[:2] and k < key),
            reverse=True,
            key=lambda e: e[0],
        )


@mutant(kills="delta_history.plain-value-is-a-seed")
class SeesContainersOnly(Walking):
    """A seed that is a plain text, number or boolean is not seen."""

    def stored(self, row: Any, channel: str) -> bool:
        return channel in row.values and not isinstance(
            self.serde.loads_typed(row.values[channel]), (str, int)
        )


@mutant(kills="delta_history.snapshot-is-a-seed")
class OpensSnapshots(Walking):
    """A snapshot comes back as the value in it."""

    def seed(self, value: Any) -> Any:
        return value.value if type(value).__name__ == "_DeltaSnapshot" else value


@mutant(kills="delta_history.answers-each-channel")
class StopsAtTheFirstSeed(Walking):
    """The walk ends for all channels where it ends for one."""

    def get_delta_channel_history(self, *, config: Any, channels: Any) -> Any:
        key = self._find(config)
        lineage = [] if key is None else self.ancestors(key)
        for depth, (_, row) in enumerate(lineage, 1):
            if any(channel in row.values for channel in channels):
                lineage = lineage[:depth]
        return {channel: self.walk(lineage, channel) for channel in channels}


@mutant(kills="delta_history.stays-in-its-namespace")
class IgnoresNamespaces(Walking):
    """Delta histories are those of the root namespace."""

    def get_delta_channel_history(self, *, config: Any, channels: Any) -> Any:
        root = {"configurable": {**config["configurable"], "checkpoint_ns": ""}}
        return super().get_delta_channel_history(config=root, channels=channels)


@mutant(kills="delta_history.ids-need-not-rise")
class ReadsOlderIdsOnly(Walking):
    """The walk ends where the parent's id is larger than the child's."""

    def ancestors(self, key: Any) -> list[Any]:
        kept: list[Any] = []
        for entry in super().ancestors(key):
            if entry[0] > (kept[-1][0] if kept else key):
                break
            kept.append(entry)
        return kept
