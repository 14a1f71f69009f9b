"""Several callers at once: nothing is lost, nothing is stored twice, nobody waits for ever."""

from __future__ import annotations

from collections.abc import Iterator

from lineage_conformance.kinds.saver.operations import (
    DeleteThread,
    Get,
    List,
    OwnLoop,
    Put,
    Together,
    Writes,
)
from lineage_conformance.kinds.saver.program import Program, program
from lineage_conformance.law import Level, Stake, law

PARALLEL = (
    "engine: tasks of one step store their writes from worker threads or asyncio tasks, all at once"
)
WRITES = "get:pending_writes*"
VALUES = "get:channel_values*"


@law(
    "concurrency.writes-of-parallel-tasks",
    level=Level.MUST,
    stake=Stake.LOST,
    source=PARALLEL,
    lens=f"{WRITES} together:*",
    after=("writes.round-trip", "writes.tasks-are-apart"),
    meaning="The result of a parallel tool is lost, and the tool runs again.",
)
def writes_of_parallel_tasks() -> Iterator[Program]:
    """Writes that several tasks store at once are all there."""
    yield program(
        Put(1),
        Together(tuple(Writes(1, f"task-{n}", (("a", n), ("b", [n]))) for n in range(6))),
        Get(1),
    )


@law(
    "concurrency.write-beside-put",
    level=Level.MUST,
    stake=Stake.LOST,
    source="engine: with durability async a checkpoint is stored while tasks of the next step write",
    lens=f"{WRITES} {VALUES} list:rows together:*",
    after=("concurrency.writes-of-parallel-tasks", "concurrency.puts-on-one-thread"),
    meaning="A checkpoint or a write is lost under load.",
)
def write_beside_put() -> Iterator[Program]:
    """A checkpoint and writes of the same thread that are stored at once are both there."""
    yield program(
        Put(1),
        Together(
            (
                Put(2, 1, set={"a": ["x"]}),
                Writes(1, "task-1", (("a", "one"),)),
                Writes(2, "task-2", (("a", "two"),)),
            )
        ),
        Get(1),
        Get(2),
        List(),
    )


@law(
    "concurrency.puts-on-one-thread",
    level=Level.MUST,
    stake=Stake.LOST,
    source="data: two requests on one conversation both store their step",
    lens=f"list:rows {VALUES} get:parent_config* get:metadata* together:*",
    after=(
        "fork.branches-are-independent",
        "fork.parents",
        "values.complete",
        "metadata.round-trip",
    ),
    meaning="One of two requests on a conversation is lost.",
    reports=("alibaba/spring-ai-alibaba#4792",),
)
def puts_on_one_thread() -> Iterator[Program]:
    """Checkpoints that are put at once on one thread are all there, each with its own values."""
    yield program(
        Put(1, set={"a": ["head"]}),
        Together(tuple(Put(n, 1, set={"a": [n], f"own{n}": n}) for n in range(2, 8))),
        *(Get(n) for n in range(2, 8)),
        List(),
    )


@law(
    "concurrency.puts-on-many-threads",
    level=Level.MUST,
    stake=Stake.LOST,
    source="data: one saver object serves all conversations of a server",
    lens=f"list:rows {VALUES} get:metadata* together:*",
    after=("concurrency.puts-on-one-thread", "namespaces.same-id-is-fine"),
    meaning="Under load conversations are lost or mixed up.",
)
def puts_on_many_threads() -> Iterator[Program]:
    """Checkpoints that are put at once on different threads are all there, none in another's place."""
    puts = tuple(Put(n, thread=f"t{n}", set={"a": [f"t{n}"]}) for n in range(1, 7))
    yield program(
        Together(puts),
        *(Get(thread=put.thread) for put in puts),
        *(List(put.thread) for put in puts),
    )


@law(
    "concurrency.delete-beside-put",
    level=Level.MUST,
    stake=Stake.DELETED,
    source="data: the thread that is put is not the one that is deleted",
    lens=f"list:rows {VALUES} together:* delete_thread:* put:*",
    needs=("delete_thread",),
    after=("concurrency.puts-on-many-threads", "delete.spares-others", "delete.complete"),
    meaning="A clean-up job destroys conversations that go on meanwhile.",
)
def delete_beside_put() -> Iterator[Program]:
    """Deleting one thread while another is written removes that one and harms no other."""
    yield program(
        Put(1, thread="old", set={"a": ["old"]}),
        Together((DeleteThread("old"), Put(2, set={"a": ["new"]}), Writes(2, items=(("a", "w"),)))),
        Get(thread="old"),
        Get(2),
        List("old"),
        List(),
    )


@law(
    "concurrency.same-writes-at-once",
    level=Level.SHOULD,
    stake=Stake.REPEATED,
    source="stock savers insert or ignore: a retry that overtakes the first attempt stores nothing twice",
    lens=f"{WRITES} together:*",
    after=("concurrency.writes-of-parallel-tasks",),
    meaning="A retried task is applied twice.",
)
def same_writes_at_once() -> Iterator[Program]:
    """Writes of one task that arrive several times at once are stored once."""
    yield program(Put(1), Together((Writes(1, "task-1", (("a", "x"), ("b", 1))),) * 4), Get(1))


@law(
    "concurrency.two-handles-at-once",
    level=Level.SHOULD,
    stake=Stake.LOST,
    source="data: two workers on one store both store their step, or one waits for the other",
    lens=f"list:rows {VALUES} {WRITES} together:* put:* writes:*",
    needs=("store",),
    after=(
        "concurrency.writes-of-parallel-tasks",
        "concurrency.puts-on-many-threads",
        "durability.two-writers-of-one-head",
    ),
    meaning="A worker fails, or its step is lost, because another one writes.",
    reports=("langchain-ai/langgraph#8136", "UiPath/uipath-langchain-python#222"),
)
def two_handles_at_once() -> Iterator[Program]:
    """Two handles that write to one store at once both succeed, and all of it is there."""
    yield program(
        Put(1),
        Get(1, handle=1),
        Together(
            (
                Put(2, 1, set={"a": ["mine"]}),
                Put(3, 1, set={"a": ["theirs"]}, handle=1),
                Writes(1, "task-1", (("a", "mine"),)),
                Writes(1, "task-2", (("a", "theirs"),), handle=1),
            )
        ),
        Get(1),
        Get(2),
        Get(3),
        List(handle=1),
    )


@law(
    "concurrency.answers-while-listing",
    level=Level.SHOULD,
    stake=Stake.FAILS,
    source="list returns an iterator, and nothing says that the saver is not to be used until it ends",
    lens="get:channel_values* get:pending_writes* list:rows list:raises",
    after=("latest.is-largest-id", "fork.branches-are-independent"),
    hang=True,
    meaning="A loop over the history that reads or repairs a checkpoint stops the process for good.",
    reports=("langchain-ai/langgraph#8558",),
)
def answers_while_listing() -> Iterator[Program]:
    """The saver answers while a list is being iterated."""
    history = (Put(1, set={"a": "x"}), Put(2, 1, set={"a": "y"}), Put(3, 2, set={"a": "z"}))
    yield program(*history, List(inner=(Get(1), Get())), Get(3))
    yield program(*history, List(inner=(Put(4, 3), Writes(3, items=(("a", "w"),)))), Get(3), Get(4))


@law(
    "concurrency.sync-call-in-own-loop",
    level=Level.SHOULD,
    stake=Stake.FAILS,
    source="stock savers refuse the reading half of such calls with an error instead of waiting for ever",
    lens="get:channel_values* get:pending_writes* list:rows",
    after=("latest.is-largest-id", "values.complete", "writes.round-trip"),
    faces=("async",),
    hang=True,
    meaning="One sync call in async code stops the whole server.",
    reports=(
        "langchain-ai/langgraph#7857",
        "langchain-ai/langgraph#2992",
        "langchain-ai/langgraph#1800",
    ),
)
def sync_call_in_own_loop() -> Iterator[Program]:
    """A sync call inside the loop that drives the saver does its work, or is refused; it never hangs."""
    yield program(Put(1), OwnLoop((Put(2, 1, set={"a": ["x"]}),)), Get(1), Get(), List())
    yield program(Put(1), OwnLoop((Writes(1, items=(("a", "w"),)),)), Get(1))
