"""Pending writes: what tasks of an unfinished step have done so far."""

from __future__ import annotations

from collections.abc import Iterator

from lineage_conformance import contract, zoo
from lineage_conformance.kinds.saver.operations import Get, List, Put, Writes
from lineage_conformance.kinds.saver.program import Program, program
from lineage_conformance.law import Level, Stake, law

_WRITES = "get:pending_writes*"
_INDEX = "WRITES_IDX_MAP: a write's index is its position in the list, reserved channels have one of their own"
_RERUN = "engine: the stored writes of a finished task are applied instead of running it again"


@law(
    "writes.round-trip",
    level=Level.MUST,
    stake=Stake.LOST,
    source=_RERUN,
    lens=_WRITES,
    after=("put.is-readable",),
    meaning="A finished tool runs twice, or its result is lost.",
    reports=("skamalj/langgraph_checkpoint_firestore#9",),
)
def round_trip() -> Iterator[Program]:
    """get_tuple returns what put_writes stored: the task, the channels and the values."""
    yield program(Put(1), Writes(1, items=(("a", "x"),)), Get(1), Get())
    yield program(Put(1), Writes(1, items=(("a", ["x"]), ("b", {"k": 1}))), Get(1))
    yield program(Put(1, ns="child"), Writes(1, ns="child", items=(("a", 1),)), Get(1, ns="child"))


@law(
    "writes.in-list-too",
    level=Level.MUST,
    stake=Stake.METADATA,
    source="engine: get_state_history shows the tasks and interrupts of each row that list returns",
    lens="list:row.pending_writes*",
    after=("writes.round-trip",),
    meaning="The history shows no interrupt where one is waiting.",
    reports=(
        "langchain-ai/langgraphjs#589",
        "langchain-ai/langgraphjs#590",
        "langchain-ai/langgraph#1436",
    ),
)
def in_list_too() -> Iterator[Program]:
    """The rows of list hold their pending writes, as get_tuple does."""
    yield program(Put(1), Writes(1, items=(("a", "x"),)), List())
    yield program(
        Put(1), Writes(1, items=(("a", "x"),)), Put(2, 1), Writes(2, items=(("b", 1),)), List()
    )


@law(
    "writes.before-checkpoint",
    level=Level.MUST,
    stake=Stake.LOST,
    source="engine: put and put_writes are submitted to a pool, either may be first",
    lens=_WRITES,
    after=("writes.round-trip",),
    meaning="The result of a fast task is lost.",
)
def before_checkpoint() -> Iterator[Program]:
    """Writes that arrive before their checkpoint is put are there once it is."""
    yield program(Writes(1, items=(("a", "early"),)), Put(1), Get(1))
    yield program(Put(1), Writes(2, items=(("a", "early"),)), Put(2, 1), Get(2))
    # While one checkpoint is still being stored, tasks of the next step may write already.
    yield program(Put(1), Writes(3, items=(("a", "early"),)), Put(2, 1), Put(3, 2), Get(3))


@law(
    "writes.exactly-once",
    level=Level.MUST,
    stake=Stake.REPEATED,
    source=f"{_INDEX}; the same call again fills the same slots",
    lens=_WRITES,
    after=("writes.round-trip",),
    meaning="A retried save applies an update twice; two interrupts in one node cannot be resumed.",
)
def exactly_once() -> Iterator[Program]:
    """A put_writes that is repeated as it was changes nothing."""
    once = Writes(1, items=(("a", "x"), ("b", "y")))
    yield program(Put(1), once, once, Get(1))
    early = Writes(1, items=(("a", "x"),))
    yield program(early, Put(1), early, Get(1))
    error = Writes(1, items=(("__error__", "boom"),))
    yield program(Put(1), error, error, Get(1))


@law(
    "writes.last-wins-on-reserved-channels",
    level=Level.MUST,
    stake=Stake.LOST,
    source="engine: writes to reserved channels are deduplicated, the last one wins; " + _INDEX,
    lens=_WRITES,
    after=("writes.exactly-once",),
    meaning="The second answer to an interrupt is ignored.",
)
def last_wins_on_reserved_channels() -> Iterator[Program]:
    """A later write of a task to a reserved channel replaces the earlier one."""
    for channel in contract.special_channels():
        yield program(
            Put(1),
            Writes(1, items=((channel, ["one"]),)),
            Writes(1, items=((channel, ["two"]),)),
            Get(1),
        )


@law(
    "writes.error-does-not-block",
    level=Level.MUST,
    stake=Stake.LOST,
    source=_INDEX + ", so that they do not conflict with regular writes",
    lens=_WRITES,
    after=("writes.exactly-once",),
    meaning="A task that failed once can never be finished: its results are not stored.",
    reports=("langchain-ai/langgraph#1436",),
)
def error_does_not_block() -> Iterator[Program]:
    """The error record of a task does not keep its later writes from being stored, or the reverse."""
    failed, done = Writes(1, items=(("__error__", "boom"),)), Writes(1, items=(("a", "x"),))
    yield program(Put(1), failed, done, Get(1))
    yield program(Put(1), done, failed, Get(1))


@law(
    "writes.many-in-order",
    level=Level.MUST,
    stake=Stake.MISORDERED,
    source="writes_sort_key and engine: the writes of a task are applied in the order of the list",
    lens=_WRITES,
    after=("writes.round-trip",),
    meaning="A list that a task built is in another order after a reload.",
    reports=("langchain-ai/langchain-azure#539",),
)
def many_in_order() -> Iterator[Program]:
    """More than ten writes of one task come back in the order in which they were given."""
    yield program(Put(1), Writes(1, items=tuple((f"c{n}", n) for n in range(12))), Get(1))
    yield program(Put(1), Writes(1, items=(("b", 1), ("a", 2))), Get(1))


@law(
    "writes.same-channel-twice",
    level=Level.MUST,
    stake=Stake.LOST,
    source=_INDEX,
    lens=_WRITES,
    after=("writes.round-trip",),
    meaning="Of several packets that a task sent, one is left.",
)
def same_channel_twice() -> Iterator[Program]:
    """A task that writes to one channel several times keeps every write, in order."""
    yield program(Put(1), Writes(1, items=(("a", 1), ("a", 2))), Get(1))
    yield program(Put(1), Writes(1, items=(("a", 1), ("a", 1), ("a", 0))), Get(1))


@law(
    "writes.empty-list",
    level=Level.MUST,
    stake=Stake.FAILS,
    source="engine: a task whose writes are all untracked saves an empty list",
    lens=_WRITES,
    after=("writes.round-trip",),
    meaning="A run dies because a task had nothing to say.",
    reports=("langchain-ai/langgraphjs#2556",),
)
def empty_list() -> Iterator[Program]:
    """put_writes with an empty list changes nothing and raises nothing."""
    yield program(Put(1), Writes(1), Get(1))
    yield program(Put(1), Writes(1, items=(("a", 1),)), Writes(1), Get(1))


@law(
    "writes.none-is-a-value",
    level=Level.MUST,
    stake=Stake.LOST,
    source=f"{_RERUN}; None triggers a branch, and is a legal answer to an interrupt",
    lens=_WRITES,
    after=("writes.round-trip",),
    meaning="A step that was triggered by None is never run.",
)
def none_is_a_value() -> Iterator[Program]:
    """A write whose value is None, or is otherwise false, is a write."""
    yield program(Put(1), Writes(1, items=(("branch:to:n", None), ("a", "x"))), Get(1))
    yield program(Put(1), Writes(1, items=(("a", 0), ("b", ""), ("c", []), ("d", False))), Get(1))


@law(
    "writes.send-and-interrupt",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source="engine: only Send objects are scheduled and only Interrupt objects are shown and resumed",
    lens=_WRITES,
    after=("writes.round-trip",),
    meaning="A queued task is silently dropped; the answer to an interrupt goes nowhere.",
    reports=(
        "langchain-ai/langgraph#5074",
        "redis-developer/langgraph-redis#80",
        "redis-developer/langgraph-redis#119",
        "redis-developer/langgraph-redis#122",
        "redis-developer/langgraph-redis#192",
    ),
)
def send_and_interrupt() -> Iterator[Program]:
    """Send and Interrupt objects come back from pending writes as what they are."""
    send, interrupt = zoo.ref("send"), zoo.ref("interrupt")
    if zoo.available("send"):
        yield program(Put(1), Writes(1, items=(("__pregel_tasks", send),)), Get(1))
        yield program(Put(1), Writes(1, items=(("a", [send]), ("__pregel_tasks", send))), Get(1))
    if zoo.available("interrupt"):
        yield program(Put(1), Writes(1, items=(("__interrupt__", [interrupt]),)), Get(1))


@law(
    "writes.name-their-task",
    level=Level.MUST,
    stake=Stake.REPEATED,
    source="engine: pending writes are matched with tasks by the id that put_writes was given",
    lens=_WRITES,
    after=("writes.round-trip",),
    meaning="No stored write is recognised, so every task runs again.",
    reports=("shenjianan97/persistent-agent-runtime#5",),
)
def name_their_task() -> Iterator[Program]:
    """The first element of a pending write is the task id, also when a task path was given."""
    yield program(Put(1), Writes(1, "task-9", (("a", "x"),), "~__pregel_pull, node"), Get(1))


@law(
    "writes.tasks-are-apart",
    level=Level.MUST,
    stake=Stake.LOST,
    source=_RERUN,
    lens=_WRITES,
    after=(
        "writes.before-checkpoint",
        "writes.many-in-order",
        "writes.same-channel-twice",
        "writes.empty-list",
        "writes.none-is-a-value",
        "writes.name-their-task",
        "writes.error-does-not-block",
    ),
    focus="tasks",
    meaning="Of several parallel tools the result of one is kept, the others run again.",
)
def tasks_are_apart() -> Iterator[Program]:
    """Writes of several tasks of a step are all kept, whatever the channels, order and repeats."""
    yield program(
        Put(1), Writes(1, "task-1", (("a", 1),)), Writes(1, "task-2", (("a", 2), ("b", 2))), Get(1)
    )
    yield program(
        Writes(1, "task-2", (("a", 2),)),
        Put(1),
        Writes(1, "task-1", (("__error__", "boom"),)),
        Writes(1, "task-2", (("a", 2),)),
        Get(1),
    )
    yield program(*(Writes(1, f"task-{n}", (("a", n),)) for n in range(12)), Put(1), Get(1))


@law(
    "writes.may-grow",
    level=Level.MUST,
    stake=Stake.LOST,
    source="engine: the writes of update_state and of answers are saved again as one longer list",
    lens=_WRITES,
    after=("writes.tasks-are-apart",),
    meaning="The second of two answers is lost.",
)
def may_grow() -> Iterator[Program]:
    """A longer list of the same task that begins as the stored one adds what is new in it."""
    yield program(
        Put(1), Writes(1, items=(("a", 1),)), Writes(1, items=(("a", 1), ("b", 2))), Get(1)
    )
    yield program(Put(1), Writes(1, items=()), Writes(1, items=(("a", 1),)), Get(1))


@law(
    "writes.first-wins-on-ordinary-channels",
    level=Level.SHOULD,
    stake=Stake.CHANGED,
    source="LangGraph's own savers since langgraph-checkpoint 2.0.3: a stored result is not replaced",
    lens=_WRITES,
    after=("writes.exactly-once", "writes.last-wins-on-reserved-channels", "writes.may-grow"),
    focus="writes",
    meaning="A second worker replaces a result that later steps were already built on.",
    reports=("langchain-ai/langgraph#1436",),
)
def first_wins_on_ordinary_channels() -> Iterator[Program]:
    """A later write of a task at the same position does not replace the stored one."""
    first = Writes(1, items=(("a", "first"), ("b", "first")))
    yield program(Put(1), first, Writes(1, items=(("a", "second"), ("b", "second"))), Get(1))
    yield program(Put(1), first, Writes(1, items=(("a", "second"),)), Get(1))
    yield program(Put(1), first, Writes(1, items=(("a", "x"), ("b", "y"), ("c", "new"))), Get(1))


@law(
    "writes.ordered-by-path",
    level=Level.MUST,
    stake=Stake.MISORDERED,
    source="writes_sort_key and BaseCheckpointSaver.get_tuple: pending writes in the order (task path, task id,"
    " position), in which the step applied them; delta channels are rebuilt by it",
    lens="get:writes_order list:row.writes_order",
    after=("writes.tasks-are-apart", "writes.in-list-too"),
    versions=("langgraph-checkpoint>=4.1.0",),
    meaning="After a reload the messages of parallel tasks are in another order than the run showed.",
    reports=("langchain-ai/langgraph#8382", "langchain-ai/langgraphjs#2544"),
)
def ordered_by_path() -> Iterator[Program]:
    """Pending writes come in the order of task path, then task id, then position, not as they arrived."""
    paths = {"zzz": 0, "mmm": 1, "aaa": 2}
    calls = {
        task: Writes(1, task, (("a", number),), f"~__pregel_push, {number:010d}")
        for task, number in paths.items()
    }
    yield program(Put(1), calls["aaa"], calls["zzz"], calls["mmm"], Get(1), List())
    yield program(Put(1), calls["zzz"], calls["mmm"], calls["aaa"], Get(1))
    yield program(Put(1), Writes(1, "b", (("a", 1),)), Writes(1, "a", (("a", 2), ("a", 3))), Get(1))
    yield program(Put(1), calls["zzz"], Writes(1, "zzzz", (("a", "no path"),)), Get(1))


@law(
    "writes.leave-arguments-alone",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source="engine: the loop goes on with the list and the values that it passed to put_writes",
    lens="writes:arguments*",
    after=("writes.round-trip",),
    meaning="Saving changes the state of the run that is being saved.",
)
def leave_arguments_alone() -> Iterator[Program]:
    """put_writes changes neither the config nor the writes that it is given."""
    yield program(Put(1), Writes(1, items=(("a", ["x"]), ("b", {"k": [1]})), watch=True))


@law(
    "writes.are-isolated-from-caller",
    level=Level.MUST,
    stake=Stake.CHANGED,
    source="data: what was stored may not change because nodes go on changing their own objects",
    lens=_WRITES,
    after=("writes.round-trip",),
    meaning="The stored result of a task changes after it finished.",
    reports=("langchain-ai/langgraph#4168",),
)
def are_isolated_from_caller() -> Iterator[Program]:
    """What the caller does to written values after put_writes is not seen in what was stored."""
    yield program(Put(1), Writes(1, items=(("a", ["x"]), ("b", {"k": [1]})), scribble=True), Get(1))
