"""Branching, beside the messages: the workspace as of a turn, inherited turns, and the map of a family."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from lineage_conformance.kinds.branching.case import FURNISHED, PLAIN, Move, Tale, tale
from lineage_conformance.kinds.branching.laws.branching import branching
from lineage_conformance.kinds.branching.player import Line, Stage, staged
from lineage_conformance.kinds.branching.protocol import DEPTH
from lineage_conformance.law import Level, Stake
from lineage_conformance.trace import Diff

AS_OF = "contract: a branch has the workspace that its source had after that turn"


def _split(rows: list[list[Any]], artifacts: bool) -> list[list[Any]]:
    return [row for row in rows if (row[0] == "artifacts") is artifacts]


def _workspace(stage: Stage, tale: Tale, artifacts: bool) -> Iterator[Diff]:
    line = stage.play(tale)
    for turn in range(len(tale.moves) + 1):
        made = stage.branch(line, turn)
        expected = _split(line.states[turn].rows, artifacts)
        got = _split(stage.rows(made.thread), artifacts)
        yield from stage.compare("branch", ("workspace",), expected, got)
        stage.turn(
            made, Move(rows=(("documents", "plan", "of the branch"), ("todos", "buy", None)))
        )
        again = stage.branch(made, turn)
        got = _split(stage.rows(again.thread), artifacts)
        yield from stage.compare("branch", ("workspace",), expected, got)


@branching(
    "branching.workspace-as-of-turn",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source=AS_OF,
    check=staged(lambda stage, tale: _workspace(stage, tale, artifacts=False)),
    meaning="The documents of a branch come from after it: text that the conversation never saw.",
)
def workspace_as_of_turn() -> Iterator[Tale]:
    """Documents, preferences and todos of a branch are those that the conversation had after the turn: what was
    written later is not there, what was removed later is."""
    yield FURNISHED
    yield tale(
        Move(rows=(("documents", "plan", "one"),)), Move(rows=(("documents", "plan", None),))
    )


@branching(
    "branching.artifacts-up-to-turn",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source=AS_OF + "; artifacts belong to the turn that made them",
    check=staged(lambda stage, tale: _workspace(stage, tale, artifacts=True)),
    meaning="A branch shows charts of turns that it does not have, or lost those of turns that it has.",
)
def artifacts_up_to_turn() -> Iterator[Tale]:
    """A branch at turn k has every artifact of the turns up to k and none of a later one."""
    yield FURNISHED


def _chain(stage: Stage, tale: Tale) -> Iterator[Line]:
    """A root and branches of branches, each with one turn of its own that no agent had to play."""
    line = stage.play(tale)
    yield line
    for _ in range(tale.depth):
        line = stage.branch(line, line.last)
        stage.begin(line, Move())
        stage.end(line, Move())
        yield line


MARKS = (1, 2, 3, DEPTH - 1, DEPTH, DEPTH + 1)
"""Depths at which a lineage is looked at."""


def _history(stage: Stage, tale: Tale) -> Iterator[Diff]:
    for depth, line in enumerate(_chain(stage, tale)):
        for turn in range(len(tale.moves) + 1) if depth == 0 else ():
            made = stage.branch(line, turn)
            found, _ = stage.history(made.thread)
            yield from stage.compare("history", ("turns",), made.history()[0], found)
        if depth in MARKS or depth == tale.depth:
            turns, complete = line.history()
            found, said = stage.history(line.thread)
            yield from stage.compare("history", ("turns",), turns, found)
            yield from stage.compare("history", ("complete",), complete, said)


@branching(
    "branching.history-is-inherited",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source=f"contract: all turns of a conversation, inherited ones first; {DEPTH} ancestors are followed",
    check=staged(_history),
    meaning="A branch shows no past, another branch's past, or never stops looking for it.",
)
def history_is_inherited() -> Iterator[Tale]:
    """A branch tells every turn up to its branch point with the conversation it happened in, then its own; deeper
    than fifty ancestors it says that the oldest are missing."""
    yield tale(Move(), Move(), depth=1)
    yield tale(Move(), depth=DEPTH + 1)


def _numbers(stage: Stage, tale: Tale) -> Iterator[Diff]:
    line = stage.play(tale)
    for turn in range(len(tale.moves) + 1):
        made = stage.branch(line, turn)
        for _ in range(max(tale.depth, 1)):
            number = stage.begin(made, Move())
            stage.end(made, Move())
            yield from stage.compare("begin_turn", ("number",), made.last, number)
            made = stage.branch(made, made.last)


@branching(
    "branching.turn-numbers-continue",
    level=Level.MUST,
    stake=Stake.METADATA,
    source="contract: a branch at turn k goes on with turn k + 1, so a number names one state along a lineage",
    check=staged(_numbers),
    after=("branching.history-is-inherited",),
    meaning="Two turns of one conversation have the same number: links, ratings and restores hit the wrong one.",
)
def turn_numbers_continue() -> Iterator[Tale]:
    """The first own turn of a branch has the number after its branch point."""
    yield tale(Move(), Move(), depth=3)


def _expected_map(stage: Stage, line: Line) -> tuple[list[Any], bool]:
    top, complete = line.top()
    level, family = [top], []
    for depth in range(DEPTH + 1):
        family += level
        level = [child for child in stage.lines.values() if child.parent in level]
        complete = complete and not (level and depth == DEPTH)
    return sorted(map(_node, family)), complete


def _node(line: Line) -> list[Any]:
    parent = line.parent.thread if line.parent else ""
    return [line.thread, parent, line.base, line.origin, list(range(line.base + 1, line.last + 1))]


def _map(stage: Stage, tale: Tale) -> Iterator[Diff]:
    lines = list(_chain(stage, tale))
    root = lines[0]
    for turn in range(min(len(tale.moves), 2) + 1):
        stage.turn(stage.branch(root, turn), Move())
    before = {name: stage.dump(name) for name in list(stage.lines)[:4]}
    for depth in {0, *MARKS, tale.depth}:
        if depth >= len(lines):
            continue
        for _ in range(2):  # a read that writes shows in the second answer
            found = stage.call("decision_map", lines[depth].thread)
            got = [
                [
                    node.conversation.thread_id,
                    node.conversation.parent_id or "",
                    node.conversation.turn,
                    node.conversation.origin,
                    [turn.number for turn in node.turns],
                ]
                for node in found.nodes
            ]
            expected, complete = _expected_map(stage, lines[depth])
            yield from stage.compare("decision_map", ("nodes",), expected, sorted(got))
            yield from stage.compare("decision_map", ("complete",), complete, bool(found.complete))
            names = [node[0] for node in got]
            late = [n[0] for at, n in enumerate(got) if n[1] in names and n[1] not in names[:at]]
            yield from stage.compare("decision_map", ("order",), [], late)
    for name, held in before.items():
        yield from stage.compare("decision_map", ("thread",), held, stage.dump(name))


@branching(
    "branching.map-is-the-family",
    level=Level.MUST,
    stake=Stake.METADATA,
    source="contract: the highest ancestor within reach and all that descends from it; writes nothing",
    check=staged(_map),
    after=("branching.history-is-inherited", "branching.turn-numbers-continue"),
    meaning="The picture of the branches shows strangers, hides relatives, or changes them by being drawn.",
)
def map_is_the_family() -> Iterator[Tale]:
    """The decision map holds every conversation of the family once, parents first, with branch point and own turns,
    and reading it changes nothing."""
    yield PLAIN
    yield tale(Move(), Move(), depth=3)
    yield tale(Move(), depth=DEPTH + 1)


def _restore(stage: Stage, tale: Tale) -> Iterator[Diff]:
    line = stage.play(tale)
    before = stage.dump(line.thread)
    for turn in range(len(tale.moves) + 1):
        made = stage.branch(line, turn, "restore")
        yield from stage.whole(made, "restore")
        told = stage.call("conversation", made.thread)
        yield from stage.compare(
            "restore", ("origin",), ["restore", turn], [told.origin, told.turn]
        )
        stage.turn(made, Move())
        yield from stage.compare("restore", ("source",), before, stage.dump(line.thread))
        for diff in stage.whole(line, "restore"):
            yield Diff(diff.op, diff.kind, ("source", *diff.path), diff.expected, diff.got)


@branching(
    "branching.restore-keeps-the-source",
    level=Level.MUST,
    stake=Stake.LOST,
    source="data: going back must not destroy what came after, or it cannot be undone",
    check=staged(_restore),
    after=(
        "branching.messages-equal-prefix",
        "branching.workspace-as-of-turn",
        "branching.artifacts-up-to-turn",
        "branching.source-is-unchanged",
        "branching.history-is-inherited",
    ),
    meaning="One click on 'restore' deletes everything that was said and written since.",
)
def restore_keeps_the_source() -> Iterator[Tale]:
    """Restoring a turn gives a new conversation with the state of that turn and leaves the source whole."""
    yield FURNISHED
