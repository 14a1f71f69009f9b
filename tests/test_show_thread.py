"""What `show` makes of a thread: names, what is committed, folding, hostile values, every format."""

from __future__ import annotations

import dataclasses
import enum
import json
import random
import re
import time
from collections.abc import Callable
from typing import Any

import pytest

from lineage_conformance import contract
from pytest_lineage.report import model
from pytest_lineage.report.style import Style
from pytest_lineage.show import document, folding, mermaid, page, text
from pytest_lineage.show.folding import Fold, Node, Section, Spaces
from pytest_lineage.show.preview import LONG, key, preview
from pytest_lineage.show.thread import Thread, build
from tests import show_kit as kit
from tests.test_html import Page

graphs = pytest.mark.skipif(
    contract.unmet("langgraph>=1.0") is not None, reason="older graphs have other channels"
)

PAUSED = """\
thread paused: 5 checkpoints, 2 namespaces, N B

root namespace: 3 checkpoints
  o C1  step -1  input  N B  + N B of writes
  │   sets __start__
  │ . __start__ [task]: committed by C2: messages=['hi'], branch:to:model
  o C2  step 0  loop  N B  + N B of writes
  │   sets __start__, messages, branch:to:model
  │ . model [task]: committed by C3: messages=['plan'], n=1, \
__pregel_tasks=Send('tools', {'n': 0}), __pregel_tasks=Send('tools', {'n': 1}), 2 more
  @ C3  step 1  loop  N B  + N B of writes  head
      sets messages, branch:to:model, n, __pregel_tasks, branch:to:inner
    . inner [task] WAITS at interrupt ID: 'really delete?'
    . tools (sent) [task] FAILED: "ValueError('boom postgresql://me:***@db.example/x')"
    . tools (sent) [task]: UNCOMMITTED: messages=['tool 0'], branch:to:after
    . tools (sent) [task]: UNCOMMITTED: messages=['tool 2'], branch:to:after

namespace inner:TASK: 2 checkpoints, under checkpoint C3
  o C4  step -1  input  N B  + N B of writes
  │   sets __start__
  │ . __start__ [task]: committed by C5: messages=['hi', 'plan'], n=1, branch:to:ask
  @ C5  step 0  loop  N B  + N B of writes  head
      sets __start__, messages, n, branch:to:ask
    . ask [task] WAITS at interrupt ID: 'really delete?'

o checkpoint   @ head   . what its tasks stored
"""

FORKED = """\
  o C7  step 2  loop  N B  + N B of writes  fork in 2
  │   sets messages, n, __pregel_tasks, branch:to:inner, branch:to:after
  │ . after [task]: committed by C8: n=9
  ├─o C8  step 3  loop  N B  tip
  │     sets n, branch:to:after
  @ C9  step 3  update  N B  head
      sets n, branch:to:after
"""

DROPPED = """\
  o C3  step 1  loop  N B  + N B of writes
  │   sets messages, branch:to:model, n, __pregel_tasks, branch:to:inner
  │ . inner [task] was left at interrupt ID: 'really delete?'
  │ . tools (sent) [task]: UNCOMMITTED (no step follows, only input): messages=['tool 0'], branch:to:after
"""


def drawn(fill: Callable[[Any], Any], saver: Any) -> str:
    thread = kit.ordered(kit.read(fill(saver), fill.__name__))
    style = Style(width=1000)
    made = text.render(thread, folding.fold(thread), f"thread {fill.__name__}", style, False, False)
    return kit.plain_names(made, thread)


@pytest.fixture
def memory() -> Any:
    from langgraph.checkpoint.memory import InMemorySaver

    return InMemorySaver()


@graphs
def test_the_picture_is_this_one(memory: Any) -> None:
    assert drawn(kit.paused, memory) == PAUSED
    assert FORKED in drawn(kit.forked, memory)
    assert DROPPED in drawn(kit.dropped, memory)


@graphs
def test_names_of_tasks_are_won_back_from_their_ids(memory: Any) -> None:
    thread = kit.read(kit.paused(memory), "paused")
    tasks = [task for item in thread.checkpoints for task in item.tasks or ()]
    assert {task.how for task in tasks} <= {"id", "namespace"}
    assert {task.name for task in tasks} == {"__start__", "model", "tools", "inner", "ask"}
    assert [task.name for task in tasks if task.sent] == ["tools"] * 3


@graphs
def test_an_answered_interrupt_waits_no_more(memory: Any) -> None:
    from langgraph.types import Command

    graph = kit.agent(kit.paused(memory), fails=False)
    before = kit.read(memory, "paused")
    assert sum(task.waits for item in before.checkpoints for task in item.tasks or ()) == 2
    graph.invoke(Command(resume="yes"), kit.config("paused"))
    after = kit.read(memory, "paused")
    tasks = [task for item in after.checkpoints for task in item.tasks or ()]
    assert not any(task.waits for task in tasks)
    done = [task for task in tasks if task.status == "finished"]
    assert {task.committed for task in done} == {"committed"}


@graphs
def test_what_is_scheduled_and_stored_nothing_is_told(memory: Any) -> None:
    from langgraph.graph import START, StateGraph

    graph = StateGraph(kit.State)
    graph.add_node("a", lambda state: {"n": 1})
    graph.add_node("b", lambda state: {"n": 2})
    graph.add_edge(START, "a")
    graph.add_edge("a", "b")
    graph.compile(checkpointer=memory, interrupt_before=["b"]).invoke({"n": 0}, kit.config("s"))
    (space,) = kit.read(memory, "s").namespaces
    assert space.head.due == ["b"]


# -- committed or not ---------------------------------------------------------------------------------


def fate(child: dict[str, Any] | None, **more: Any) -> tuple[str, str]:
    """What becomes of a write to ``a`` at checkpoint 1, given one child."""
    rows = [kit.row(1, None, writes=[("t", "a", "1")], **more)]
    thread = build("x", [*([child] if child else []), *rows])
    (task,) = thread.namespaces[0].checkpoints[0].tasks or ()
    return task.committed, task.why


def test_a_write_is_committed_by_the_step_that_follows() -> None:
    assert fate(None) == ("uncommitted", "")
    assert fate(kit.row(2, 1)) == ("committed", "")
    assert fate(kit.row(2, 1, ns="other"))[0] == "uncommitted"
    same = {"versions": {"a": 1}}
    word, why = fate(kit.row(2, 1, **same))
    assert (word, "no new version of a" in why) == ("unknown", True)
    word, why = fate(kit.row(2, 1, step=-1))
    assert (word, "number is not higher" in why) == ("unknown", True)


@pytest.mark.parametrize("source", ["input", "update"])
def test_who_made_the_child_counts(source: str) -> None:
    word, why = fate(kit.row(2, 1, source=source, versions={"a": 1}))
    assert (word, why) == ("uncommitted", f"no step follows, only {source}")
    word, why = fate(kit.row(2, 1, source=source))
    assert word == "unknown"
    assert "may have written that itself" in why
    assert fate(kit.row(2, 1, source="fork"))[0] == "uncommitted"


def test_several_steps_from_one_checkpoint_are_said_to_be_several() -> None:
    rows = [kit.row(3, 1), kit.row(2, 1), kit.row(1, None, writes=[("t", "a", "1")])]
    (task,) = build("x", rows).namespaces[0].checkpoints[0].tasks or ()
    assert task.committed == "committed"
    assert len(task.by) == 2
    assert "replay" in task.why


def test_answers_and_errors_are_nothing_to_commit() -> None:
    null = "00000000-0000-0000-0000-000000000000"
    writes = [(null, "__resume__", "'yes'"), ("t", "__error__", "boom"), ("u", "__no_writes__", "")]
    thread = build("x", [kit.row(2, 1), kit.row(1, None, writes=writes)])
    tasks = thread.namespaces[0].checkpoints[0].tasks or []
    assert [(t.status, t.committed) for t in tasks] == [
        ("caller", ""),
        ("failed", ""),
        ("finished", "committed"),
    ]


def test_only_a_certain_name_is_given() -> None:
    first = kit.row(1, None, writes=[("t", "a", "1")])

    def named(seen: dict[str, Any]) -> tuple[str, str]:
        thread = build("x", [kit.row(2, 1, seen=seen), first])
        (task,) = thread.namespaces[0].checkpoints[0].tasks or ()
        return task.name, task.how

    assert named({"n": {"a": 1}}) == ("n", "inferred")
    assert named({"n": {"a": 1}, "m": {"a": 1}}) == ("", "")


# -- damaged threads ----------------------------------------------------------------------------------


def test_rings_orphans_and_rows_listed_twice_are_shown_with_a_note() -> None:
    rows = [kit.row(1, 3), kit.row(2, 1), kit.row(3, 2), kit.row(4, 4), kit.row(5, 99), kit.row(5, 99)]  # fmt: skip
    thread = build("x", rows)
    drawn = render(thread)
    assert "its ancestors go round in a ring" in drawn
    assert "names itself as its parent" in drawn
    assert "its parent 00000099 is not in the saver" in drawn
    assert "1 checkpoints were listed more than once" in drawn
    assert sum(isinstance(i, Node) for i in items(thread)) == 5
    assert "is not in the saver" not in render(build("x", rows, cut=True))


# -- folding ------------------------------------------------------------------------------------------


def items(thread: Thread, full: bool = False) -> list[Node | Fold]:
    picture = folding.fold(thread, full)
    return [item for part in picture if isinstance(part, Section) for item in part.items]


def render(thread: Thread, **more: Any) -> str:
    return text.render(
        thread, folding.fold(thread, **more), "thread x", Style(width=80), False, False
    )


def counted(thread: Thread, full: bool = False) -> int:
    return sum(1 if isinstance(i, Node) else i.count for i in items(thread, full))


def test_ten_thousand_checkpoints_are_folded_in_a_moment() -> None:
    rows = kit.chain(10_000)
    start = time.process_time()
    thread = build("x", rows)
    drawn = render(thread)
    assert time.process_time() - start < 10
    assert "… 9,996 checkpoints, steps 0 to 9,995 (loop 9,996)" in drawn
    assert len(drawn.splitlines()) < 25
    assert counted(thread) == 10_000
    assert len(items(thread, full=True)) == 10_000


def test_what_is_unusual_is_never_folded_away() -> None:
    rows = kit.chain(500)
    rows[300]["source"] = "update"
    rows[200]["versions"] = {"a": 299}  # its parent's: the step applied nothing
    drawn = render(build("x", rows))
    assert drawn.count(" checkpoints, steps ") == 3
    assert "committed or not is unknown" in drawn
    assert "  update  " in drawn


@pytest.mark.parametrize("seed", range(8))
def test_every_checkpoint_is_drawn_once_or_counted_once(seed: int) -> None:
    rng = random.Random(seed)
    reach = rng.choice([1, 2, 5, 10_000])
    rows = [
        kit.row(
            id,
            rng.randint(max(1, id - reach), id - 1) if id > 1 and rng.random() < 0.99 else None,
            source=rng.choice(["loop", "loop", "input", "update", "fork"]),
            writes=[("t", "a", "1")] if rng.random() < 0.5 else [],
        )
        for id in range(1, 3000)
    ]
    thread = build("x", rows)
    assert counted(thread) == counted(thread, full=True) == 2999
    assert len(items(thread)) <= folding.ROOM + 1
    assert max(item.depth for item in items(thread, full=True)) <= 14


@pytest.mark.parametrize(
    "parent",
    [
        lambda id: 1,  # a star
        lambda id: id - 1 if id % 2 == 0 else max(id - 2, 1),  # a comb
        lambda id: id // 2,  # a bush
        lambda id: None,  # roots alone
    ],
    ids=["star", "comb", "bush", "roots"],
)
def test_shapes_that_do_not_fold_well_stay_quick_and_small(
    parent: Callable[[int], int | None],
) -> None:
    rows = [kit.row(id, parent(id) if id > 1 else None) for id in range(1, 10_001)]
    start = time.process_time()
    thread = build("x", rows)
    drawn = render(thread)
    assert time.process_time() - start < 10
    assert counted(thread) == 10_000
    assert len(drawn.splitlines()) < 3 * folding.ROOM


def test_many_namespaces_are_grouped_by_the_nodes_in_their_names() -> None:
    rows = kit.chain(10)
    for number in range(3000):
        for row in kit.chain(3, ns=f"tools:{number:032}"):
            rows.append({**row, "parents": {"": "00000003"}})
    rows[-1]["writes"] = [{"task": "w", "channel": "__interrupt__", "size": 1, "interrupts": []}]
    start = time.process_time()
    thread = build("x", rows)
    picture = folding.fold(thread)
    assert time.process_time() - start < 10
    (hidden,) = [part for part in picture if isinstance(part, Spaces)]
    assert (hidden.label, hidden.count, hidden.checkpoints) == ("tools:*", 2997, 8991)
    assert "… 2,997 more namespaces tools:*, 8,991 checkpoints" in render(thread)


def test_around_a_checkpoint_all_else_is_folded() -> None:
    thread = build("x", kit.chain(1000))
    start = thread.namespaces[0].checkpoints[499]
    near = folding.around(thread, start, 5)
    assert near == {f"{number:08}" for number in range(498, 503)}
    drawn = render(thread, near=near)
    assert "… 497 checkpoints" in drawn
    assert "… 498 checkpoints" in drawn
    assert drawn.count("  o ") == 5


# -- values and hostile names ---------------------------------------------------------------------------

HOSTILE = (
    "<script>alert(1)</script>\x1b[31m\x00\u202e\"'];--> #quot; end\nsubgraph\ud800"
    + "x" * 1_000_000
)


def hostile() -> Thread:
    task = {"task": HOSTILE, "channel": HOSTILE, "size": None, "preview": preview(HOSTILE)}
    stop = {
        "task": "i", "channel": "__interrupt__", "size": 1,
        "interrupts": [{"id": key(HOSTILE), "preview": preview(HOSTILE, LONG)}],
    }  # fmt: skip
    names = {key(HOSTILE): 1}
    rows = [
        kit.row(
            number, None, ns=key(HOSTILE) if number == 2 else "", source=key(HOSTILE), id=key(HOSTILE + str(number)),
            versions=names, sizes=dict.fromkeys(names), values={key(HOSTILE): preview(HOSTILE, LONG)}, ts=key(HOSTILE),
            metadata=preview({HOSTILE: HOSTILE}, LONG), parents={"": key(HOSTILE)}, sends=[key(HOSTILE)],
        )
        for number in (1, 2)
    ]  # fmt: skip
    for row in rows:
        row["writes"] = [{**task, "task": key(HOSTILE), "channel": key(HOSTILE)}, stop]
    return build(key(HOSTILE), rows)


def test_nothing_hostile_gets_out_of_its_place_in_any_format() -> None:
    thread = hostile()
    picture = folding.fold(thread)
    for values in (False, True):
        shown = text.render(thread, picture, "thread x", Style(width=80), values, True)
        assert not re.search("[\x00\x1b\u202e\ud800]", shown)
        assert max(map(len, shown.splitlines())) <= 100
        made = page.render(thread, picture, model.redact("thread x"), values)
        assert not re.search("[\x00\x1b\u202e\ud800]|<script", made)
        assert len(made) < 80_000
        found = Page(made)
        assert not [n for _, attributes in found.tags for n in attributes if n.startswith("on")]
    about = {"name": "x", "class": "y"}
    told = model.dumps(document.document(thread, about))
    assert told.isascii()
    assert json.loads(told)["namespaces"][0]["checkpoints"][0]["source"] == key(HOSTILE)


def test_mermaid_labels_hold_nothing_but_plain_characters_and_entities() -> None:
    for thread in (hostile(), build("x", kit.chain(300))):
        for line in mermaid.render(thread, folding.fold(thread)).splitlines():
            label = re.search(r'[\[(]"(.*)"[\])]', line)
            if label:
                assert re.fullmatch(r"(?:[\w .,:+\-()/=]|#\d+;|<br/>)*", label[1])
            elif not line.strip().startswith("classDef"):
                assert re.fullmatch(
                    r"flowchart TD|  end|    direction TB|\s+\w+ (-->|-\.-|-\.->) \w+", line
                )


def test_a_chart_stays_below_what_viewers_take() -> None:
    rng = random.Random(3)
    rows = [kit.row(id, rng.randint(1, id - 1) if id > 1 else None) for id in range(1, 2000)]
    chart = mermaid.render(build("x", rows), folding.fold(build("x", rows)))
    assert len(chart) < 50_000
    assert "left out" in chart


class Loud:
    def __repr__(self) -> str:
        raise AssertionError("code of a value must not run")

    __str__ = __repr__


class Odd(dict):  # type: ignore[type-arg]
    def items(self) -> Any:
        raise AssertionError


class Color(enum.Enum):
    RED = 1


@dataclasses.dataclass
class Point:
    x: int
    password: str


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "None"), (True, "True"), (10**50, "<int of 167 bits>"), ("a", "'a'"), (b"abc", "<3 bytes>"),
        ([1, 2, 3, 4, 5], "[1, 2, 3, … 2 more]"), ((1,), "(1)"), ([[[[1]]]], "[[[<list>]]]"),
        ({"token": "abc", "b": 1}, "{'token': ***, 'b': 1}"), (Loud(), "<Loud>"), (Odd(a=1), "<Odd>"),
        (Color.RED, "Color.RED"), (Point(1, "hunter2"), "Point(x=1, password=***)"),
        (ValueError("no"), "ValueError('no')"),
        (kit.SECRET, "'postgresql://me:***@db.example/x'"),
        ("y" * 50 + kit.SECRET, "'" + "y" * 50 + "postgres…"),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_previews(value: Any, shown: str) -> None:
    assert preview(value) == shown


def test_previews_of_large_values_are_quick_and_short() -> None:
    start = time.process_time()
    large = {"a": ["x" * 1_000_000] * 1000, "b": list(range(1_000_000))}
    for _ in range(200):
        assert len(preview(large)) <= 60
        assert len(preview(large, LONG)) <= 1000
    assert time.process_time() - start < 5


def test_messages_are_shown_by_their_words() -> None:
    messages = pytest.importorskip("langchain_core.messages")
    call = {"name": "search", "args": {}, "id": "1"}
    assert preview(messages.HumanMessage("hi")) == "HumanMessage('hi')"
    assert preview(messages.AIMessage("", tool_calls=[call])) == "AIMessage('', calls search)"
