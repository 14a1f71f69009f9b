"""Savers that take another checkpoint for the latest, or do not say which it is."""

from __future__ import annotations

from tests.mutants.kit import StrictSaver, mutant


@mutant(kills="latest.is-largest-id")
class LatestIsTheLastInserted(StrictSaver):
    """Takes the checkpoint that was put last for the latest."""

    def _find(self, config):
        if config["configurable"].get("checkpoint_id"):
            return super()._find(config)
        place = (
            str(config["configurable"]["thread_id"]),
            config["configurable"].get("checkpoint_ns") or "",
        )
        return next((key for key in reversed([*self.space.rows]) if key[:2] == place), None)


@mutant(kills="latest.ignores-the-clock")
class LatestByTimestamp(StrictSaver):
    """Takes the checkpoint with the newest timestamp, and of several such the first, for the latest."""

    def _find(self, config):
        if config["configurable"].get("checkpoint_id"):
            return super()._find(config)
        place = (
            str(config["configurable"]["thread_id"]),
            config["configurable"].get("checkpoint_ns") or "",
        )
        rows = {
            k: self.serde.loads_typed(r.checkpoint)
            for k, r in self.space.rows.items()
            if k[:2] == place
        }
        return max(rows, key=lambda key: rows[key]["ts"], default=None)


@mutant(kills="latest.names-itself")
class AnswersWithTheQuestion(StrictSaver):
    """Returns the config that it was asked with, so the latest has no id."""

    def get_tuple(self, config):
        found = super().get_tuple(config)
        return (
            found._replace(config=config)
            if found and config["configurable"].get("checkpoint_ns") is not None
            else found
        )


@mutant(kills="latest.is-no-substitute", also=("serde.extreme-numbers", "serde.odd-text"))
class LatestInstead(StrictSaver):
    """Falls back to the latest checkpoint for an id that is newer than all it has."""

    def get_tuple(self, config):
        found = super().get_tuple(config)
        wanted = config["configurable"].get("checkpoint_id")
        if found is not None or not wanted:
            return found
        place = {k: v for k, v in config["configurable"].items() if k != "checkpoint_id"}
        latest = super().get_tuple({"configurable": place})
        return latest if latest is not None and latest.checkpoint["id"] < wanted else None
