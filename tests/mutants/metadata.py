"""Savers that change, drop or add metadata."""

from __future__ import annotations

from typing import Any

from tests.mutants.kit import StrictSaver, mutant


class Edited(StrictSaver):
    """Passes the merged metadata through `edit` before it is stored."""

    def edit(self, merged: dict[str, Any], config: Any) -> dict[str, Any]:
        raise NotImplementedError

    def _load(self, key, row, writes):
        made = super()._load(key, row, writes)
        return made._replace(metadata=self.edit(dict(made.metadata), None))


@mutant(kills="metadata.round-trip")
class StepsAreText(Edited):
    """Returns the step as text."""

    def edit(self, merged, config):
        return {k: str(v) if k == "step" else v for k, v in merged.items()}


@mutant(kills="metadata.round-trip")
class ParentsAreFlat(Edited):
    """Stores the parents as text."""

    def edit(self, merged, config):
        return {k: str(v) if k == "parents" else v for k, v in merged.items()}


@mutant(kills="metadata.keeps-unknown-keys", also=("list.filter-never-ignores-a-key",))
class KnownKeysOnly(Edited):
    """Has a column for each key that it knows, and none for others."""

    def edit(self, merged, config):
        return {k: v for k, v in merged.items() if k in ("source", "step", "parents", "run_id")}


@mutant(kills="metadata.keeps-values")
class DropsNone(Edited):
    """Leaves out keys whose value is None."""

    def edit(self, merged, config):
        return {k: v for k, v in merged.items() if v is not None}


@mutant(kills="metadata.keeps-values")
class BooleansAreNumbers(Edited):
    """Returns true and false as 1 and 0."""

    def edit(self, merged, config):
        return {k: int(v) if k == "yes" else v for k, v in merged.items()}


@mutant(kills="metadata.live-objects-do-no-harm")
class MergesEverything(StrictSaver):
    """Puts every value of the config into the metadata, which is then stored as JSON."""

    def put(self, config, checkpoint, metadata, new_versions):
        skip = {"thread_id", "checkpoint_id", "checkpoint_ns", "checkpoint_map"}
        extra = {
            k: v
            for part in (config.get("metadata"), config["configurable"])
            for k, v in (part or {}).items()
            if k not in skip and not k.startswith(("__", "langgraph_")) and k not in metadata
            if not isinstance(v, (str, int, float, bool))
        }
        return super().put(config, checkpoint, {**metadata, **extra}, new_versions)


@mutant(kills="metadata.config-scalars-join")
class JoinsNothing(StrictSaver):
    """Stores the metadata as it was given, and nothing of the config."""

    def put(self, config, checkpoint, metadata, new_versions):
        names = ("thread_id", "checkpoint_ns", "checkpoint_id")
        place = {k: v for k, v in config["configurable"].items() if k in names}
        return super().put({"configurable": place}, checkpoint, metadata, new_versions)


@mutant(kills="metadata.leaves-reserved-keys-out")
class JoinsReservedKeys(StrictSaver):
    """Lets keys with two underscores join the metadata."""

    def put(self, config, checkpoint, metadata, new_versions):
        parts = {**config["configurable"], **config.get("metadata", {})}
        hidden = {k: v for k, v in parts.items() if k.startswith("__")}
        return super().put(config, checkpoint, {**metadata, **hidden}, new_versions)
