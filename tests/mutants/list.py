"""Savers that list other rows than they should, or list them wrongly."""

from __future__ import annotations

from itertools import islice

from tests.mutants.kit import StrictSaver, mutant


class Rows(StrictSaver):
    """Lists with other criteria than those it was given."""

    def list(self, config, *, filter=None, before=None, limit=None):
        return self.rows(config, filter, before, limit)

    def rows(self, config, filter, before, limit):
        return super().list(config, filter=filter, before=before, limit=limit)


@mutant(kills="list.rows-equal-get-tuple")
class ListHasNoParents(Rows):
    """Lists rows without their parent_config."""

    def rows(self, config, filter, before, limit):
        for row in super().rows(config, filter, before, limit):
            yield row._replace(parent_config=None)


@mutant(kills="list.rows-equal-get-tuple")
class ListHasNoValues(Rows):
    """Lists rows without their channel values, to save time."""

    def rows(self, config, filter, before, limit):
        for row in super().rows(config, filter, before, limit):
            row.checkpoint["channel_values"] = {}
            yield row


@mutant(kills="list.newest-first")
class InsertionOrder(Rows):
    """Lists rows in the reverse order of their insertion."""

    def rows(self, config, filter, before, limit):
        order = list(self.space.rows)
        rows = super().rows(config, filter, before, None)
        newest = sorted(rows, key=lambda r: -order.index(tuple(r.config["configurable"].values())))
        return islice(newest, limit)


@mutant(kills="list.newest-first")
class OldestFirst(Rows):
    """Lists rows from the oldest to the newest; a limit counts from the newest."""

    def rows(self, config, filter, before, limit):
        return reversed(list(super().rows(config, filter, before, limit)))


@mutant(kills="list.before")
class BeforeIsInclusive(Rows):
    """Lists the checkpoint that before names as well."""

    def rows(self, config, filter, before, limit):
        bound = before["configurable"]["checkpoint_id"] if before else None
        rows = super().rows(config, filter, None, None)
        kept = (r for r in rows if bound is None or r.checkpoint["id"] <= bound)
        return islice(kept, limit)


@mutant(kills="list.before")
class BeforeIsIgnored(Rows):
    """Ignores before."""

    def rows(self, config, filter, before, limit):
        return super().rows(config, filter, None, limit)


@mutant(kills="list.limit")
class LimitIsIgnored(Rows):
    """Ignores a limit that is not zero."""

    def rows(self, config, filter, before, limit):
        return super().rows(config, filter, before, None if limit else limit)


@mutant(kills="list.limit-zero")
class ZeroIsNoLimit(Rows):
    """Takes a limit of zero for no limit."""

    def rows(self, config, filter, before, limit):
        return super().rows(config, filter, before, limit or None)


@mutant(kills="list.id")
class IdIsIgnored(Rows):
    """Lists the whole thread for a config that names a checkpoint."""

    def rows(self, config, filter, before, limit):
        if config:
            place = {k: v for k, v in config["configurable"].items() if k != "checkpoint_id"}
            config = {"configurable": place}
        return super().rows(config, filter, before, limit)


@mutant(kills="list.filter")
class FilterIsIgnored(Rows):
    """Ignores the filter."""

    def rows(self, config, filter, before, limit):
        return super().rows(config, None, before, limit)


@mutant(kills="list.filter")
class FilterOnlyText(Rows):
    """Compares a filter with metadata that was stored as text, so numbers never match."""

    def rows(self, config, filter, before, limit):
        if any(isinstance(value, int) for value in (filter or {}).values()):
            return iter(())
        return super().rows(config, filter, before, limit)


@mutant(kills="list.filter-never-ignores-a-key", also=("durability.metadata-survives",))
class UnknownKeysAreIgnored(Rows):
    """Knows the columns source and step; a filter on another key is ignored."""

    def rows(self, config, filter, before, limit):
        known = {k: v for k, v in (filter or {}).items() if k in ("source", "step")}
        return super().rows(config, known, before, limit)


@mutant(kills="list.filter-several-keys")
class OneMatchIsEnough(Rows):
    """Joins the keys of a filter with OR."""

    def rows(self, config, filter, before, limit):
        if not filter or len(filter) < 2:
            return super().rows(config, filter, before, limit)
        rows = super().rows(config, None, before, None)
        kept = (
            r
            for r in rows
            if any(k in r.metadata and r.metadata[k] == v for k, v in filter.items())
        )
        return islice(kept, limit)


@mutant(kills="list.filter-value-types")
class FilterAsText(Rows):
    """Compares filter and metadata as text, so that 1 matches "1" and None matches "None"."""

    def rows(self, config, filter, before, limit):
        rows = super().rows(config, None, before, None)
        wanted = {k: str(v) for k, v in (filter or {}).items()}
        kept = (r for r in rows if all(str(r.metadata.get(k, "?")) == v for k, v in wanted.items()))
        return islice(kept, limit)


@mutant(kills="list.limit-counts-matches")
class LimitBeforeFilter(Rows):
    """Takes the newest rows first and filters those."""

    def rows(self, config, filter, before, limit):
        page = list(super().rows(config, None, before, limit))
        ids = {row.checkpoint["id"] for row in super().rows(config, filter, before, None)}
        return iter([row for row in page if row.checkpoint["id"] in ids])


@mutant(kills="list.combinations")
class FilterOrBefore(Rows):
    """Uses an index for the filter, and then forgets before."""

    def rows(self, config, filter, before, limit):
        return super().rows(config, filter, None if filter else before, limit)


@mutant(kills="list.empty-namespace-is-root")
class EmptyNamespaceIsAny(Rows):
    """Takes an empty namespace for none, and lists all namespaces."""

    def rows(self, config, filter, before, limit):
        if config and config["configurable"].get("checkpoint_ns") == "":
            place = {k: v for k, v in config["configurable"].items() if k != "checkpoint_ns"}
            config = {"configurable": place}
        return super().rows(config, filter, before, limit)


@mutant(kills="list.whole-thread")
class NoNamespaceIsRoot(Rows):
    """Lists the root namespace for a config without a namespace."""

    def rows(self, config, filter, before, limit):
        if config:
            config = {"configurable": {"checkpoint_ns": "", **config["configurable"]}}
        return super().rows(config, filter, before, limit)


@mutant(kills="list.all-threads")
class NeedsAThread(Rows):
    """Cannot list without a thread id."""

    def rows(self, config, filter, before, limit):
        if config is None:
            raise TypeError("'NoneType' object is not subscriptable")
        return super().rows(config, filter, before, limit)


@mutant(
    kills="list.unknown-thread-is-empty", also=("delete.complete", "serde.refusal-changes-nothing")
)
class UnknownThreadRaises(StrictSaver):
    """Raises for a thread that it does not know."""

    def get_tuple(self, config):
        found = super().get_tuple(config)
        if found is None and not any(
            key[0] == config["configurable"]["thread_id"] for key in self.space.rows
        ):
            raise KeyError(config["configurable"]["thread_id"])
        return found
