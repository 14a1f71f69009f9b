"""Savers that mint or return channel versions wrongly."""

from __future__ import annotations

from tests.mutants.kit import StrictSaver, mutant


@mutant(kills="versions.mint-rises")
class MintsWithoutPadding(StrictSaver):
    """Mints text versions without leading zeros, so that the tenth sorts before the ninth."""

    def get_next_version(self, current, channel=None):
        number = int(str(current).split(".")[0]) if current else 0
        return f"{number + 1}.{super().get_next_version(None)[-6:]}"


@mutant(kills="versions.minted-come-back")
class CutsVersions(StrictSaver):
    """Returns the versions of trigger channels without their random part."""

    def _load(self, key, row, writes):
        made = super()._load(key, row, writes)
        versions = made.checkpoint["channel_versions"]
        for channel, version in versions.items():
            if channel.startswith("branch:") and isinstance(version, str):
                versions[channel] = version.split(".")[0]
        return made


@mutant(kills="versions.foreign-types-come-back")
class VersionsAreText(StrictSaver):
    """Stores every version in a text column."""

    def _load(self, key, row, writes):
        made = super()._load(key, row, writes)
        versions = made.checkpoint["channel_versions"]
        made.checkpoint["channel_versions"] = {k: str(v) for k, v in versions.items()}
        return made
