"""Backends that keep, rebuild, switch or remove blobs wrongly."""

from __future__ import annotations

import dataclasses
from typing import Any

from lineage_reference.delta.blobs import Frame, Pointer, Step
from lineage_reference.delta.edits import Edit, Splice, State, Tail
from lineage_reference.delta.parts import EMPTY
from lineage_reference.delta.recorder import Line, Recorder
from lineage_reference.delta.rows import first
from lineage_reference.delta.stores import Offer
from lineage_reference.delta.stores_sqlite import SqliteStore
from tests.mutants.delta_kit import Good, mutant


def using(cls: Any) -> Any:
    """A recorder that encodes with `cls`."""

    class Using(Recorder):
        def __init__(self, store, serde, name):
            super().__init__(store, serde, name)
            self.encoding = self._by_tag[cls.tag] = cls(self.plain)

    return Using


# The flag


@mutant(kills="off-by-default")
class OnByDefault(Good):
    """Stores blobs of every thread unless somebody says otherwise."""

    class Store(SqliteStore):
        def offer(self, thread):
            found = super().offer(thread)
            known = self.query(
                "SELECT 1 FROM threads WHERE name = ? AND mode <> ''", (f"t{thread}",)
            )
            return found if known else Offer("shadow", found.proved)


@mutant(kills="off-by-default")
class StoresWhileOff(Good):
    """Says that it is off, and stores blobs all the same."""

    class Store(SqliteStore):
        def offer(self, thread):
            found = super().offer(thread)
            return Offer("shadow", found.proved) if found.mode == "off" else found

    def mode(self, thread_id):
        return (
            "off"
            if SqliteStore.offer(self.owner, thread_id).mode == "off"
            else super().mode(thread_id)
        )


@mutant(kills="flag-by-thread", also=("gap-begins-anew", "verify-tells"))
class OneFlagForAll(Good):
    """Takes a flag for some threads as one for all."""

    def set_mode(self, mode, threads=None):
        super().set_mode(mode)


# Reads


@mutant(kills="shadow-leaves-reads")
class ReadsWithoutLists(Good):
    """Leaves the lists to the blobs also where nobody reads those."""

    def get_tuple(self, config):
        found = super().get_tuple(config)
        if found is None:
            return None
        values = {
            k: v for k, v in found.checkpoint["channel_values"].items() if type(v) is not list
        }
        return found._replace(checkpoint={**found.checkpoint, "channel_values": values})


@mutant(kills="read-returns-all")
class ReadsMarkersWhenOff(Good):
    """Puts lists back into checkpoints only as long as the flag says read."""

    def _whole(self, found):
        thread = found.config["configurable"]["thread_id"]
        return super()._whole(found) if self.mode(thread) == "read" else found


# Rebuilding


@mutant(kills="rebuilds-appends")
class LosesTheLast(Good):
    """Folds all blobs of a chain but the last."""

    class Recorder(Recorder):
        def _opened(self, rows):
            tag, opened = super()._opened(rows)
            return tag, opened[: max(len(opened) - 1, 1)]


@mutant(kills="rebuilds-appends")
class ReadsTheNewest(Good):
    """Gives every checkpoint the newest value of its channels."""

    class Store(SqliteStore):
        def read(self, thread, pointers):
            newest = dict(self.query("SELECT chain, max(pos) FROM blobs GROUP BY chain"))
            wanted = {p: Pointer(p.chain, newest.get(p.chain, p.pos)) for p in pointers}
            found = super().read(thread, list(wanted.values()))
            return {p: found[q] for p, q in wanted.items()}


class _SameLength(Splice):
    def encode(self, value, old):
        edit = super().encode(value, old)
        if edit is None or old is None or edit.state.plain != old.plain:
            return edit
        sizes = [{k: len(p.ends) for k, p in s.parts.items()} for s in (old, edit.state)]
        return None if sizes[0] == sizes[1] else edit


@mutant(kills="sees-equal-length-edits")
class ComparesLengths(Good):
    """Takes a list of the same length for the same list."""

    Recorder = using(_SameLength)


class _ByEquality(Splice):
    def encode(self, value, old):
        if old is not None:
            blobs = [self._whole_of(old)]
            if self.rebuild(blobs) == value:
                return None
        return super().encode(value, old)

    def _whole_of(self, state):
        value = {k: self.plain.load(_array(p)) for k, p in state.parts.items()}
        made = Splice.encode(self, value[""] if state.plain else value, None)
        return made.data


def _array(part):
    from lineage_reference.delta.codec import array

    return array(len(part.ends)) + part.data


@mutant(kills="sees-equal-length-edits")
class ComparesWithEquals(Good):
    """Asks whether the values are equal, so that True is 1."""

    Recorder = using(_ByEquality)


class _LongerIsAppended(Splice):
    def encode(self, value, old):
        if (
            old is not None
            and old.plain
            and type(value) is list
            and len(value) > len(old.parts[""].ends)
        ):
            was = self.plain.load(_array(old.parts[""]))
            return super().encode(was + value[len(was) :], old)
        return super().encode(value, old)


@mutant(kills="early-edit-with-append")
class LongerIsAppended(Good):
    """Takes a list that became longer for one that was appended to."""

    Recorder = using(_LongerIsAppended)


class _IgnoresShorter(Splice):
    def encode(self, value, old):
        edit = super().encode(value, old)
        return None if edit is not None and edit.shrank and old.plain and edit.state.plain else edit


@mutant(kills="survives-compaction")
class IgnoresShorter(Good):
    """Has no form for a list that became shorter and sends nothing."""

    Recorder = using(_IgnoresShorter)


@mutant(kills="survives-compaction", also=("unchanged-is-not-resent",))
class NewGenerationOnly(Good):
    """Begins a generation with the list that shrank and lets it inherit nothing."""

    class Recorder(Recorder):
        def frame(self, place, parent, checkpoint, new_versions, sole=False, anew=False):
            frame, line = super().frame(place, parent, checkpoint, new_versions, sole, anew)
            if frame.parent is None or frame.step.generation == frame.parent.generation:
                return frame, line
            kept = {c: e for c, e in frame.step.entries.items() if c in frame.step.new}
            step = dataclasses.replace(frame.step, entries=kept)
            return dataclasses.replace(frame, step=step), dataclasses.replace(line, step=step)


class _OneActionForAllKeys(Tail):
    def encode(self, value, old):
        edit = super().encode(value, old)
        if edit is None or edit.action == "conversation" or old is None or type(value) is not dict:
            return edit
        tails = {}
        for key, items in value.items():
            before = old.parts.get(key, EMPTY)
            new = edit.state.parts[key]
            if new.data.startswith(before.data):
                tails[key] = items[len(before.ends) :]
            else:
                tails[key] = items
        if not any(len(items) < len(value[key]) for key, items in tails.items()):
            return edit
        return Edit("conversation", self.plain.dump(tails), edit.state, edit.shrank)


@mutant(kills="keys-change-apart")
class OneActionForAllKeys(Good):
    """Sends a rewritten key as it is and another one's tail, and calls all of it an append."""

    encoding = "tail"
    Recorder = using(_OneActionForAllKeys)


class _ForgetsGoneKeys(Splice):
    def encode(self, value, old):
        if old is not None and type(value) is dict and not old.plain:
            value = {**{k: self.plain.load(_array(p)) for k, p in old.parts.items()}, **value}
        return super().encode(value, old)


@mutant(kills="keys-change-apart")
class ForgetsGoneKeys(Good):
    """Cannot say that a key is gone."""

    Recorder = using(_ForgetsGoneKeys)


class _SameObject(Splice):
    def __init__(self, plain):
        super().__init__(plain)
        self.seen: list[Any] = []

    def encode(self, value, old):
        if old is not None and any(value is each for each in self.seen):
            return None
        self.seen.append(value)
        return super().encode(value, old)


@mutant(kills="sees-in-place-changes")
class SameObjectIsUnchanged(Good):
    """Takes the same object for the same value."""

    Recorder = using(_SameObject)


@mutant(kills="only-lists")
class KeepsFormerLists(Good):
    """Inherits the list of a channel that holds something else now."""

    class Recorder(Recorder):
        def frame(self, place, parent, checkpoint, new_versions, sole=False, anew=False):
            frame, line = super().frame(place, parent, checkpoint, new_versions, sole, anew)
            if frame.parent is None:
                return frame, line
            step = dataclasses.replace(
                frame.step, entries={**frame.parent.entries, **frame.step.entries}
            )
            return dataclasses.replace(frame, step=step), dataclasses.replace(line, step=step)


@mutant(kills="namespaces-are-apart", also=("deleted-with-thread", "verify-tells"))
class OneNamespace(Good):
    """Keeps the steps of a thread without their namespace."""

    class Store(SqliteStore):
        def insert_step(self, owner, step, body, created):
            place = (step.place[0], "", step.place[2])
            super().insert_step(owner, dataclasses.replace(step, place=place), body, created)

        def step(self, place):
            found = super().step((place[0], "", place[2]))
            return None if found is None else dataclasses.replace(found, place=place)


# Gaps, restarts, forks, gateways


@mutant(kills="gap-begins-anew")
class OnlyNewVersions(Good):
    """Records what has a new version also where nothing is known of the rest."""

    class Recorder(Recorder):
        def frame(self, place, parent, checkpoint, new_versions, sole=False, anew=False):
            known = None if anew or parent is None else self._line(place, parent)
            if known is None:
                values = {
                    k: v for k, v in checkpoint["channel_values"].items() if k in new_versions
                }
                checkpoint = {**checkpoint, "channel_values": values}
            return super().frame(place, parent, checkpoint, new_versions, sole, anew)


@mutant(kills="gap-begins-anew")
class GoesOnFromTheLastKnown(Good):
    """After a gap goes on from the last step that it recorded, as if nothing had been in between."""

    class Recorder(Recorder):
        def drop(self, thread, ns=None):
            pass

        def _line(self, place, parent):
            return super()._line(place, parent) or self._lines.get(place[:2])


@mutant(kills="survives-restart")
class AppendsAllAfterRestart(Good):
    """Knows the chain after a restart but not what is in it, and appends the whole list to it."""

    class Recorder(Recorder):
        def _state(self, thread, line, channel):
            if line is not None and channel in line.step.entries and channel not in line.states:
                return State(True, {"": EMPTY})
            return super()._state(thread, line, channel)


@mutant(kills="refused-step-leaves-nothing")
class FirstComeFirstServed(Good):
    """Ignores a blob for a place in a chain that is taken, whoever took it."""

    class Store(SqliteStore):
        def _rows(self, owner, at, begin):
            return super()._rows(owner, at, begin)[: at.pos - first(at.pos)]

        def insert_blob(self, owner, at, data, created):
            self.query("INSERT OR IGNORE INTO blobs VALUES (?, ?, ?, ?)", (owner, *at, data))


class _Overwriting(SqliteStore):
    def _rows(self, owner, at, begin):
        return super()._rows(owner, at, begin)[: at.pos - first(at.pos)]

    def insert_blob(self, owner, at, data, created):
        self.query("INSERT OR REPLACE INTO blobs VALUES (?, ?, ?, ?)", (owner, *at, data))


@mutant(kills="forks-are-apart")
class OverwritesTheSibling(Good):
    """Writes a blob over the one of a sibling that went on from the same step."""

    Store = _Overwriting


@mutant(kills="two-gateways")
class AloneInTheWorld(Good):
    """Takes every step that it does not know for its own last one."""

    Store = _Overwriting

    class Recorder(Recorder):
        def keep(self, line):
            super().keep(line)
            self.own = {*getattr(self, "own", ()), line.step.place}

        def _line(self, place, parent):
            last = self._lines.get(place[:2])
            if last is None:
                return super()._line(place, parent)
            if last.step.place[2] == parent:
                return last
            return None if (*place[:2], parent) in self.own else last


# Failures, proof, removal


@mutant(kills="outage-breaks-no-run")
class RunNeedsBlobs(Good):
    """Lets a put fail when its blobs cannot be stored."""

    def _failed(self, place, error):
        raise error


@mutant(kills="verify-tells")
class ProvesEverything(Good):
    """Calls every thread proved."""

    def verify(self, thread_id):
        found = super().verify(thread_id)
        self.store.prove(thread_id)
        return type("All", (), {**vars(found), "proved": True})()


@mutant(kills="verify-tells")
class VerifiesTheHead(Good):
    """Looks at the newest checkpoint only."""

    def verify(self, thread_id):
        found = super().verify(thread_id)
        found.checkpoints = min(found.checkpoints, 1)
        return found


@mutant(kills="read-waits-for-proof")
class ReadsUnproved(Good):
    """Begins read mode as soon as it is asked to."""

    def _trusted(self, place, parent):
        return True


@mutant(kills="deleted-with-thread")
class KeepsBlobsOfDeleted(Good):
    """Deletes the checkpoints of a thread and leaves its blobs."""

    def delete_thread(self, thread_id):
        self.inner.delete_thread(thread_id)


@mutant(kills="retention-never-lies")
class RetentionByAgeAlone(Good):
    """Removes every old blob, also where it is the only copy."""

    class Store(SqliteStore):
        def expire(self, before=None):
            self.query("DELETE FROM blobs")
            return 0


@mutant(kills="retention-never-lies")
class RetentionCutsChains(Good):
    """Removes the base of every chain and lets the rest begin where it was."""

    class Store(SqliteStore):
        def expire(self, before=None):
            long = [c for (c,) in self.query("SELECT DISTINCT chain FROM blobs WHERE pos > 0")]
            for chain in long:
                self.query("DELETE FROM blobs WHERE chain = ? AND pos = 0", (chain,))
                self.query("UPDATE blobs SET pos = pos - 1 WHERE chain = ?", (chain,))
            return 0


# Records and sizes


@mutant(kills="record-is-complete")
class RecordsNoVersion(Good):
    """Lists blobs without the version of their channel."""

    def blobs(self, thread_id, checkpoint_ns=None):
        return [dataclasses.replace(b, version="") for b in super().blobs(thread_id, checkpoint_ns)]


@mutant(kills="unchanged-is-not-resent")
class SendsAllOnCompaction(Good):
    """Sends every list again when one of them shrinks."""

    class Recorder(Recorder):
        def frame(self, place, parent, checkpoint, new_versions, sole=False, anew=False):
            made = super().frame(place, parent, checkpoint, new_versions, sole, anew)
            before = made[0].parent
            if before is None or made[0].step.generation == before.generation:
                return made
            frame, line = super().frame(place, parent, checkpoint, new_versions, sole, anew=True)
            step = dataclasses.replace(frame.step, generation=made[0].step.generation)
            return Frame(step, None, frame.data), Line(step, line.states)


@mutant(kills="generation-grows")
class NeverGrows(Good):
    """Stays in generation 0."""

    class Recorder(Recorder):
        def frame(self, *args, **named):
            frame, line = super().frame(*args, **named)
            step: Step = dataclasses.replace(frame.step, generation=0)
            return dataclasses.replace(frame, step=step), Line(step, line.states)


class _Whole(Splice):
    def encode(self, value, old):
        edit = super().encode(value, old)
        return (
            edit
            if edit is None
            else dataclasses.replace(super().encode(value, None), shrank=edit.shrank)
        )


@mutant(kills="appends-are-linear")
class AlwaysWhole(Good):
    """Sends the whole list whenever it changed."""

    Recorder = using(_Whole)
