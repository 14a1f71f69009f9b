"""Branching backends with one fault each."""

from __future__ import annotations

from typing import Any

from langgraph.graph import START
from sqlalchemy import delete, insert, select, update

from lineage_reference.branching import lineage, operations, seeding, workspace
from lineage_reference.branching.lineage import branches, conversation
from lineage_reference.branching.records import DEPTH, DecisionMap, History, NotCompleted, Refused
from lineage_reference.branching.seeding import Mark, Seeder
from lineage_reference.branching.tables import ARTIFACTS, CONVERSATIONS, LIVE, SNAPSHOTS, TURNS
from lineage_reference.steps import Step, run
from tests.mutants.branching_kit import BranchingBackend, mutant

# -- seeding ---------------------------------------------------------------------------------------


class WithSeeder(BranchingBackend):
    """A backend with another seeder."""

    make_seeder: Any = Seeder

    def __init__(self, saver, engine, **options):
        super().__init__(saver, engine, self.make_seeder(saver), **options)


class Reseeding(Seeder):
    """Changes the messages on their way."""

    def change(self, messages):
        return messages

    def seed(self, thread_id, messages):
        return (yield from super().seed(thread_id, self.change(list(messages))))


class HeadSeeder(Seeder):
    def read(self, thread_id, mark):
        if mark is None:
            return (yield from super().read(thread_id, mark))
        config = seeding._config(thread_id)
        state = yield Step(
            lambda: self.reader.get_state(config), lambda: self.reader.aget_state(config)
        )
        return (
            yield from super().read(thread_id, Mark(state.config["configurable"]["checkpoint_id"]))
        )


@mutant(kills="branching.messages-equal-prefix")
class SeedsFromTheHead(WithSeeder):
    """Seeds every branch with the newest messages."""

    make_seeder = HeadSeeder


@mutant(kills="branching.messages-equal-prefix")
class LosesIds(WithSeeder):
    """Seeds copies of the messages without their ids."""

    class make_seeder(Reseeding):
        def change(self, messages):
            return [m.model_copy(update={"id": None}) for m in messages]


@mutant(kills="branching.messages-equal-prefix")
class DropsEmptyAnswers(WithSeeder):
    """Takes an answer without text for no message."""

    class make_seeder(Reseeding):
        def change(self, messages):
            return [m for m in messages if m.content]


@mutant(kills="branching.messages-equal-prefix")
class MakesChunks(WithSeeder):
    """Seeds AI messages as message chunks, which have the same ids and texts."""

    class make_seeder(Reseeding):
        def change(self, messages):
            from langchain_core.messages import AIMessageChunk

            return [
                AIMessageChunk(content=m.content, id=m.id, tool_calls=m.tool_calls)
                if m.type == "ai"
                else m
                for m in messages
            ]


@mutant(kills="branching.messages-equal-prefix")
class ReadsLaterInput(WithSeeder):
    """Reads a checkpoint with the writes that a later turn hung on it."""

    class make_seeder(Seeder):
        def __init__(self, saver):
            super().__init__(saver)
            self.reader = seeding._graph(self.key, seeding._read_as(seeding.add_messages)).compile(
                checkpointer=saver
            )


@mutant(kills="branching.delta-threads")
class CopiesOneCheckpoint(WithSeeder):
    """Takes what one raw checkpoint holds, which of a delta channel is nothing."""

    class make_seeder(Seeder):
        def __init__(self, saver):
            super().__init__(saver)
            self.reader = seeding._graph(self.key, list).compile(
                checkpointer=seeding.Settled(saver, self.key)
            )


@mutant(kills="branching.unrecorded-turns")
class CutsTheHead(WithSeeder):
    """Looks for the next human message of an unrecorded turn in the newest messages only."""

    class make_seeder(Seeder):
        def find(self, thread_id, turn):
            config = seeding._config(thread_id)
            state = yield Step(
                lambda: self.reader.get_state(config), lambda: self.reader.aget_state(config)
            )
            humans = [
                n for n, m in enumerate(state.values.get("messages", [])) if m.type == "human"
            ]
            count = humans[turn] if turn < len(humans) else None
            return Mark(state.config["configurable"]["checkpoint_id"], count)


@mutant(kills="branching.source-is-unchanged")
class ForksInPlace(WithSeeder):
    """Forks the source thread at the branch point before it copies what it finds there."""

    class make_seeder(Seeder):
        def read(self, thread_id, mark):
            messages = yield from super().read(thread_id, mark)
            if mark is not None:
                config = seeding._config(thread_id, mark.checkpoint_id)
                values = {self.key: messages}
                yield Step(
                    lambda: self.seeder.update_state(config, values, as_node=START),
                    lambda: self.seeder.aupdate_state(config, values, as_node=START),
                )
            return messages


@mutant(kills="branching.fresh-branch-is-idle", also=("branching.messages-equal-prefix",))
class NamedLikeTheAgent(WithSeeder):
    """Seeds through a node that has the name of a node of the agent."""

    class make_seeder(Seeder):
        def __init__(self, saver):
            super().__init__(saver)
            graph = seeding.StateGraph(seeding.TypedDict("State", {"messages": list}))
            graph.add_node("model", lambda state: {})
            graph.add_edge(START, "model")
            self.seeder = graph.compile(checkpointer=saver)


@mutant(kills="branching.first-turn-sees-prefix")
class GreetsTheModel(BranchingBackend):
    """Tells the model, when a branch is first used, that it is in one."""

    def begin_turn(self, thread_id):
        from langchain_core.messages import SystemMessage

        found = self.conversation(thread_id)
        number = super().begin_turn(thread_id)
        if found.parent_id and number == found.turn + 1:
            config = seeding._config(thread_id)
            messages = list(self.seeder.seeder.get_state(config).values.get("messages") or [])
            messages.append(SystemMessage("You are in a branch.", id=f"note-{thread_id}"))
            self.seeder.seeder.update_state(config, {"messages": messages}, as_node=START)
        return number


# -- between conversations ---------------------------------------------------------------------------


@mutant(kills="branching.siblings-are-apart")
class SharesWithSiblings(BranchingBackend):
    """Writes what is written to a branch to its siblings as well."""

    def _write(self, db, thread_id, kind, name, body):
        super()._write(db, thread_id, kind, name, body)
        parent = conversation(db, thread_id).parent_id
        for sibling in branches(db, [parent]) if parent else []:
            if sibling.thread_id != thread_id:
                super()._write(db, sibling.thread_id, kind, name, body)


@mutant(kills="branching.branches-of-branches")
class OwnTurnsOnly(BranchingBackend):
    """Takes a turn that a branch inherited for its branch point."""

    def _branch(self, thread_id, turn, *rest):
        try:
            found = self.conversation(thread_id)
        except Refused:
            found = None
        if found is not None and found.parent_id and turn >= 0:
            turn = max(turn, found.turn)
        return (yield from super()._branch(thread_id, turn, *rest))


@mutant(kills="branching.while-the-parent-runs")
class BranchesOffRunningTurns(BranchingBackend):
    """Branches at a turn that is still running, from where its thread stands."""

    def _branch(self, thread_id, turn, *rest):
        def mark(db):
            where = {"thread_id": thread_id, "number": turn, "completed": False}
            found = db.execute(select(TURNS).filter_by(**where)).first()
            if found:
                head = self.seeder.reader.get_state(seeding._config(thread_id)).config[
                    "configurable"
                ]
                changed = {"completed": True, "checkpoint_id": head["checkpoint_id"]}
                db.execute(update(TURNS).filter_by(**where).values(**changed))
            return bool(found)

        running = yield self._writing(mark)
        made = yield from super()._branch(thread_id, turn, *rest)
        if running:
            yield self._writing(
                lambda db: db.execute(
                    update(TURNS)
                    .filter_by(thread_id=thread_id, number=turn)
                    .values(completed=False)
                )
            )
        return made


@mutant(kills="branching.no-such-turn", also=("branching.while-the-parent-runs",))
class TakesTheNearestTurn(BranchingBackend):
    """Branches at the last turn where the one asked for has not happened."""

    def _branch(self, thread_id, turn, *rest):
        try:
            return (yield from super()._branch(thread_id, turn, *rest))
        except NotCompleted:
            turns = self.history(thread_id).turns
            last = max((t.number for t in turns if t.completed), default=0)
            if any(not t.completed for t in turns):
                raise
            return (yield from super()._branch(thread_id, last, *rest))


# -- workspace and lineage -----------------------------------------------------------------------------


@mutant(kills="branching.workspace-as-of-turn")
class CopiesTheLiveRows(BranchingBackend):
    """Gives every branch the documents as they are now."""

    def _reserve(self, db, made, mark):
        super()._reserve(db, made, mark)
        for table in LIVE.values():
            db.execute(delete(table).filter_by(thread_id=made.thread_id))
        for row in workspace.rows(db, made.parent_id):
            if row.kind != "artifacts":
                workspace.write(db, made.thread_id, row.kind, row.name, row.body, made.turn)


@mutant(kills="branching.artifacts-up-to-turn")
class CopiesAllArtifacts(BranchingBackend):
    """Gives every branch all artifacts there are."""

    def _reserve(self, db, made, mark):
        super()._reserve(db, made, mark)
        for row in workspace.rows(db, made.parent_id):
            if row.kind == "artifacts" and row.turn > made.turn:
                workspace.write(db, made.thread_id, row.kind, row.name, row.body, row.turn)


@mutant(kills="branching.artifacts-up-to-turn")
class CopiesNoArtifacts(BranchingBackend):
    """Leaves artifacts where they were made."""

    def _reserve(self, db, made, mark):
        super()._reserve(db, made, mark)
        db.execute(delete(ARTIFACTS).filter_by(thread_id=made.thread_id))


@mutant(kills="branching.history-is-inherited")
class InheritsEverything(BranchingBackend):
    """Shows turns of the parent beyond the branch point."""

    def _history(self, db, thread_id):
        ancestors, complete = lineage.line(db, thread_id)
        own = lineage.own_turns(db, {each.thread_id: each.turn for each in ancestors})
        turns = [turn for each in reversed(ancestors) for turn in own[each.thread_id]]
        return History(sorted(turns, key=lambda turn: turn.number), complete)


class Deep(BranchingBackend):
    """Follows another number of ancestors."""

    depth = DEPTH

    def _history(self, db, thread_id):
        kept, lineage.DEPTH = lineage.DEPTH, self.depth
        try:
            return super()._history(db, thread_id)
        finally:
            lineage.DEPTH = kept


@mutant(kills="branching.history-is-inherited")
class FollowsForever(Deep):
    """Follows ancestors without an end."""

    depth = 10_000


@mutant(kills="branching.history-is-inherited")
class StopsOneTooEarly(Deep):
    """Follows one ancestor less than it should."""

    depth = DEPTH - 1


@mutant(kills="branching.turn-numbers-continue")
class CountsAnew(BranchingBackend):
    """Numbers the turns of a branch from one."""

    def begin_turn(self, thread_id):
        return super().begin_turn(thread_id) - self.conversation(thread_id).turn


@mutant(kills="branching.map-is-the-family")
class LooksDownOnly(BranchingBackend):
    """Draws the map of a branch without its parents."""

    def _decision_map(self, db, thread_id):
        found = super()._decision_map(db, thread_id)
        kept, names = [], {thread_id}
        for node in found.nodes:
            if node.conversation.thread_id == thread_id or node.conversation.parent_id in names:
                names.add(node.conversation.thread_id)
                kept.append(node)
        return DecisionMap(kept, found.complete)


@mutant(kills="branching.map-is-the-family")
class TouchesWhatItDraws(BranchingBackend):
    """Stores in the saver that a conversation was looked at."""

    def decision_map(self, thread_id):
        found = super().decision_map(thread_id)
        if len(found.nodes) > 1:
            for node in found.nodes:
                config = {
                    "configurable": {"thread_id": node.conversation.thread_id, "checkpoint_ns": ""}
                }
                head = self.saver.get_tuple(config)
                if head is not None:
                    self.saver.put_writes(head.config, [("looked_at", 1)], "map")
        return found


@mutant(kills="branching.restore-keeps-the-source")
class Truncates(BranchingBackend):
    """Restores by dropping the turns that came later."""

    def restore(self, thread_id, turn, passing=None):
        made = super().restore(thread_id, turn, passing)
        with operations.writing(self.engine) as db:
            db.execute(delete(TURNS).where(TURNS.c.thread_id == thread_id, TURNS.c.number > turn))
        return made


# -- creation --------------------------------------------------------------------------------------


class ActiveAtOnce(BranchingBackend):
    """Marks a branch active with its first row."""

    def _reserve(self, db, made, mark):
        super()._reserve(db, made, mark)
        db.execute(
            update(CONVERSATIONS).filter_by(thread_id=made.thread_id).values(status="active")
        )

    def _activate(self, db, made, checkpoint_id):
        operations._record(db, made.thread_id, made.turn, checkpoint_id, True)


@mutant(kills="branching.failure-leaves-nothing")
class NeverTakesBack(ActiveAtOnce):
    """Marks a branch active with its first row, and leaves it there when the rest fails."""

    def _undo(self, thread_id):
        return
        yield


@mutant(kills="branching.failure-leaves-nothing")
class ForgetsTheThread(BranchingBackend):
    """Takes back the rows of a failed creation at once, and its thread never."""

    def _undo(self, thread_id):
        def forget(db):
            for table in operations.OWNED:
                db.execute(delete(table).filter_by(thread_id=thread_id))

        yield self._writing(forget)


@mutant(kills="branching.killed-creation")
class VisibleTooEarly(ActiveAtOnce):
    """Marks a branch active with its first row, and takes it back if it lives to see the rest fail."""

    def _undo(self, thread_id):
        def leave(db):
            db.execute(
                update(CONVERSATIONS).filter_by(thread_id=thread_id).values(status="leaving")
            )

        yield self._writing(leave)
        yield from self._remove(thread_id)


@mutant(kills="branching.swept-stays-swept")
class ComesBack(BranchingBackend):
    """Marks a branch active at the end, whatever became of its rows."""

    def _activate(self, db, made, checkpoint_id):
        try:
            super()._activate(db, made, checkpoint_id)
        except Refused:
            row = self._row(made.thread_id, made.parent_id, made.turn, made.origin, "active")
            db.execute(insert(CONVERSATIONS).values(row))


@mutant(kills="branching.sweep-spares-the-living")
class SweepsEverythingPending(BranchingBackend):
    """Takes every unfinished creation for an orphan, however young."""

    def sweep(self, older_than=0.0):
        return run(self._sweep(older_than))


@mutant(kills="branching.parents-outlive-branches")
class DeletesTheFamily(BranchingBackend):
    """Deletes the branches of a conversation with it."""

    def delete(self, thread_id):
        for child in self.branches(thread_id):
            self.delete(child.thread_id)
        super().delete(thread_id)


@mutant(kills="branching.delete-is-complete")
class KeepsTheThread(BranchingBackend):
    """Deletes the rows of a conversation and leaves its checkpoints."""

    def delete(self, thread_id):
        remove = self.saver.delete_thread
        self.saver.delete_thread = lambda thread: None
        try:
            super().delete(thread_id)
        finally:
            self.saver.delete_thread = remove


@mutant(kills="branching.cost-is-the-prefix")
class AlwaysWalks(BranchingBackend):
    """Looks for the branch point in the whole history, though it was recorded."""

    def _branch(self, thread_id, turn, *rest):
        list(self.saver.list(seeding._config(thread_id)))
        return (yield from super()._branch(thread_id, turn, *rest))


class CopiesSnapshots(BranchingBackend):
    """Copies the snapshots before the branch point, too. No law can see it; the numbers do."""

    def _reserve(self, db, made, mark):
        super()._reserve(db, made, mark)
        old = select(SNAPSHOTS).where(
            SNAPSHOTS.c.thread_id == made.parent_id, SNAPSHOTS.c.turn <= made.turn
        )
        for row in db.execute(old).mappings().all():
            db.execute(insert(SNAPSHOTS).values({**row, "thread_id": made.thread_id}))


__all__ = ["CopiesSnapshots"]
