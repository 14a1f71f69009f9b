"""Savers that lose, keep or invent channel values."""

from __future__ import annotations

from lineage_reference.space import Space
from tests.mutants.kit import StrictSaver, mutant


@mutant(kills="values.complete")
class StoresOnlyWhatIsNew(StrictSaver):
    """Stores the values of the channels that the last step wrote, and no others."""

    def put(self, config, checkpoint, metadata, new_versions):
        values = {k: v for k, v in checkpoint["channel_values"].items() if k in new_versions}
        return super().put(config, {**checkpoint, "channel_values": values}, metadata, new_versions)


@mutant(kills="values.empty-is-not-none")
class EmptyIsNone(StrictSaver):
    """Shows a channel that has a version but no value as None."""

    def _load(self, key, row, writes):
        made = super()._load(key, row, writes)
        for channel in made.checkpoint["channel_versions"]:
            made.checkpoint["channel_values"].setdefault(channel, None)
        return made


@mutant(kills="values.empty-is-not-none")
class NoneIsEmpty(StrictSaver):
    """Does not store values that are false."""

    def put(self, config, checkpoint, metadata, new_versions):
        values = {
            k: v for k, v in checkpoint["channel_values"].items() if v or k.startswith("branch:")
        }
        return super().put(config, {**checkpoint, "channel_values": values}, metadata, new_versions)


@mutant(kills="values.removed-stay-removed")
class MergesTheParent(StrictSaver):
    """Fills in what a checkpoint does not hold from its parent."""

    def put(self, config, checkpoint, metadata, new_versions):
        values = dict(checkpoint["channel_values"])
        parent = self.get_tuple(config) if config["configurable"].get("checkpoint_id") else None
        if parent is not None:
            values = {**parent.checkpoint["channel_values"], **values}
        versions = {**dict.fromkeys(values, "0"), **checkpoint["channel_versions"]}
        super().put(
            config,
            {**checkpoint, "channel_values": values, "channel_versions": versions},
            metadata,
            {},
        )
        return {"configurable": {**config["configurable"], "checkpoint_id": checkpoint["id"]}}

    def _load(self, key, row, writes):
        made = super()._load(key, row, writes)
        versions = made.checkpoint["channel_versions"]
        made.checkpoint["channel_versions"] = {k: v for k, v in versions.items() if v != "0"}
        return made


@mutant(
    kills="values.old-ones-stay", also=("delete.spares-others", "serde.refusal-changes-nothing")
)
class OneValuePerChannel(StrictSaver):
    """Keeps one value per channel of a thread: the newest shows in every checkpoint that has one."""

    def __init__(self, space: Space) -> None:
        super().__init__(space)
        self.newest: dict[tuple[str, str, str], object] = vars(space).setdefault("newest", {})

    def put(self, config, checkpoint, metadata, new_versions):
        made = super().put(config, checkpoint, metadata, new_versions)
        thread, ns = (made["configurable"][k] for k in ("thread_id", "checkpoint_ns"))
        for channel in new_versions:
            if channel in checkpoint["channel_values"]:
                self.newest[thread, ns, channel] = self._dump(checkpoint["channel_values"][channel])
        return made

    def _load(self, key, row, writes):
        made = super()._load(key, row, writes)
        values = made.checkpoint["channel_values"]
        for channel in values:
            if (*key[:2], channel) in self.newest:
                values[channel] = self.serde.loads_typed(self.newest[(*key[:2], channel)])
        return made
