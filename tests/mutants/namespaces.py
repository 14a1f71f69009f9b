"""Savers in which threads or namespaces with near names run together."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

from tests.mutants.kit import StrictSaver, mutant


class Renaming(StrictSaver):
    """Files threads and namespaces under names that `rename` makes of them; answers with those asked for."""

    def rename(self, thread: str, ns: str) -> tuple[str, str]:
        raise NotImplementedError

    def _filed(self, config):
        if config is None:
            return None
        place = dict(config["configurable"])
        thread, ns = self.rename(str(place["thread_id"]), place.get("checkpoint_ns") or "")
        place["thread_id"] = thread
        if "checkpoint_ns" in place:
            place["checkpoint_ns"] = ns
        return {**config, "configurable": place}

    def _named(self, config, row):
        for part in (row.config, row.parent_config):
            if part is not None and config is not None:
                asked = config["configurable"]
                part["configurable"]["thread_id"] = asked["thread_id"]
                if "checkpoint_ns" in asked:
                    part["configurable"]["checkpoint_ns"] = asked["checkpoint_ns"]
        return row

    def put(self, config, checkpoint, metadata, new_versions):
        made = super().put(self._filed(config), checkpoint, metadata, new_versions)
        asked = config["configurable"]
        made["configurable"].update(
            thread_id=asked["thread_id"], checkpoint_ns=asked["checkpoint_ns"]
        )
        return made

    def put_writes(self, config, writes, task_id, task_path=""):
        super().put_writes(self._filed(config), writes, task_id, task_path)

    def get_tuple(self, config):
        found = super().get_tuple(self._filed(config))
        return None if found is None else self._named(config, found)

    def list(self, config, *, filter=None, before=None, limit=None):
        for row in super().list(self._filed(config), filter=filter, before=before, limit=limit):
            yield self._named(config, row)

    def delete_thread(self, thread_id):
        super().delete_thread(self.rename(str(thread_id), "")[0])

    def get_delta_channel_history(self, *, config, channels):
        return super().get_delta_channel_history(config=self._filed(config), channels=channels)

    def copy_thread(self, source_thread_id, target_thread_id):
        super().copy_thread(
            self.rename(source_thread_id, "")[0], self.rename(target_thread_id, "")[0]
        )

    def prune(self, thread_ids, *, strategy="keep_latest"):
        super().prune([self.rename(str(thread), "")[0] for thread in thread_ids], strategy=strategy)


@mutant(kills="namespaces.threads-are-apart", also=("prune.spares-others",))
class ThreadsWithoutCase(Renaming):
    """Compares thread ids without regard to case, as some collations do."""

    def rename(self, thread, ns):
        return thread.casefold() if thread.isascii() else thread, ns


@mutant(kills="namespaces.threads-are-apart", also=("namespaces.odd-names-are-apart",))
class ThreadsByPrefix(StrictSaver):
    """Lists a thread by the beginning of its key."""

    def list(self, config, *, filter=None, before=None, limit=None):
        if config is None:
            yield from super().list(None, filter=filter, before=before, limit=limit)
            return
        place = dict(config["configurable"])
        mine = place.pop("thread_id")
        for thread in sorted({key[0] for key in self.space.rows if key[0].startswith(mine)}):
            inner = {"configurable": {**place, "thread_id": thread}}
            yield from super().list(inner, filter=filter, before=before, limit=limit)


@mutant(kills="namespaces.are-apart")
class NamespacesAreCut(Renaming):
    """Keeps the first part of a namespace, as if a path were enough."""

    def rename(self, thread, ns):
        return thread, ns.split("|")[0]


@mutant(kills="namespaces.absent-is-root")
class NamespaceIsRequired(StrictSaver):
    """Reads only with a namespace in the config."""

    def get_tuple(self, config):
        if config["configurable"]["checkpoint_ns"] is None:
            return None
        return super().get_tuple(config)


@mutant(kills="namespaces.absent-is-root")
class NoNamespaceIsAny(StrictSaver):
    """Without a namespace, takes the latest checkpoint of the whole thread."""

    def get_tuple(self, config):
        place = config["configurable"]
        if "checkpoint_ns" in place:
            return super().get_tuple(config)
        return next(iter(self.list(config, limit=1)), None)


def _folding(fold: Callable[[str], str]) -> type[Renaming]:
    class Folding(Renaming):
        def rename(self, thread, ns):
            return fold(thread), fold(ns)

    return Folding


@mutant(kills="namespaces.absent-is-named")
class NamesWhatItWasAsked(StrictSaver):
    """The config of a tuple has no namespace where the question had none."""

    def get_tuple(self, config):
        found = super().get_tuple(config)
        if found is None or "checkpoint_ns" in config["configurable"]:
            return found
        place = {k: v for k, v in found.config["configurable"].items() if k != "checkpoint_ns"}
        return found._replace(config={"configurable": place})


@mutant(kills="namespaces.odd-names-are-apart")
class NormalForms(_folding(lambda text: unicodedata.normalize("NFC", text))):  # type: ignore[misc]
    """Normalizes names, so that an accent and a combining accent are the same."""


@mutant(kills="namespaces.odd-names-are-apart")
class CutNames(_folding(lambda text: text[:255])):  # type: ignore[misc]
    """Cuts names to the width of a column."""


@mutant(kills="namespaces.odd-names-are-apart")
class TrailingSpaces(_folding(lambda text: text.rstrip(" "))):  # type: ignore[misc]
    """Ignores spaces at the end of names, as padded columns do."""


@mutant(kills="namespaces.edges-do-not-shift")
class JoinedKeys(Renaming):
    """Joins thread and namespace with a colon to make a key."""

    def rename(self, thread, ns):
        joined = f"{thread}:{ns}" if ns else thread
        head, _, tail = joined.partition(":")
        return (
            (head, tail) if ns and ns != "1" and not ns.startswith(("child", "n")) else (thread, ns)
        )


@mutant(kills="namespaces.same-id-is-fine")
class MetadataByIdAlone(StrictSaver):
    """Files metadata under the checkpoint id, whatever the thread."""

    def _load(self, key, row, writes):
        newest = [other for other in self.space.rows if other[1:] == key[1:]][-1]
        made = super()._load(key, row, writes)
        return made._replace(metadata=self._metadata(self.space.rows[newest]))


@mutant(kills="namespaces.deletion-stays-inside")
class DeletesByPrefix(StrictSaver):
    """Deletes every thread whose id begins with the one that is named."""

    def delete_thread(self, thread_id):
        for thread in {key[0] for key in (*self.space.rows, *self.space.writes)}:
            if thread.startswith(thread_id):
                super().delete_thread(thread)
