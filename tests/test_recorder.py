"""The recorder: what was asked of a saver comes out as a program that says the same."""

from __future__ import annotations

import asyncio
import inspect
import json
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from lineage_conformance import contract, zoo
from lineage_conformance import law as laws
from lineage_conformance.bench import Bench
from lineage_conformance.canon import canon
from lineage_conformance.handles import Handle, Loop
from lineage_conformance.kinds.saver.operations import (
    CopyThread,
    DeleteThread,
    Get,
    List,
    Put,
    Reopen,
    Writes,
)
from lineage_conformance.kinds.saver.program import Program, program
from lineage_conformance.kinds.saver.recorder import Recording, recording
from lineage_conformance.kinds.saver.session import Session
from lineage_conformance.law import Verdict
from lineage_conformance.trace import Trace
from lineage_reference.saver import StrictSaver
from lineage_reference.space import Space
from tests.mutants import graph_kit

CURRENT = contract.unmet("langgraph>=1.2.20") is None


@pytest.fixture(scope="module")
def loop() -> Iterator[Loop]:
    made = Loop()
    yield made
    made.close()


def strict(loop: Loop) -> Handle:
    return Handle(StrictSaver(Space()), loop)


def memory(loop: Loop) -> Handle:
    return Handle(InMemorySaver(), loop)


def sqlite(loop: Loop) -> Handle:
    import sqlite3

    module = pytest.importorskip("langgraph.checkpoint.sqlite")
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    return Handle(module.SqliteSaver(connection), loop, connection.close)


def sqlite_async(loop: Loop) -> Handle:
    aiosqlite = pytest.importorskip("aiosqlite")
    module = pytest.importorskip("langgraph.checkpoint.sqlite.aio")

    async def make() -> tuple[Any, Any]:
        connection = await aiosqlite.connect(":memory:")
        return module.AsyncSqliteSaver(connection), connection

    saver, connection = loop.run(make())
    return Handle(saver, loop, lambda: loop.run(connection.close()))


OPENERS: dict[str, tuple[Callable[[Loop], Handle], tuple[str, ...]]] = {
    "strict": (strict, ("sync", "async")),
    "memory": (memory, ("sync", "async")),
    "sqlite": (sqlite, ("sync",)),
    "sqlite-async": (sqlite_async, ("async",)),
}


def again(made: Program, handle: Handle, face: Any) -> Trace:
    """What a program shows on a fresh store, after it has been to a file and back."""
    text = json.dumps(made.to_json())
    try:
        read = Program.from_json(json.loads(text))
        return Session(lambda: handle, face, handles={0: handle}).run(read)
    finally:
        handle.close()


def played(law: Any, case: Any, handle: Handle, face: Any) -> tuple[Recording, list[Any]]:
    """The recording of one case of a graph law, and the differences that the law sees."""
    bench = Bench(lambda: handle, face, lambda step: None, {0: handle})
    with recording(handle.saver) as tape:
        found = [diff for diff in law.check(bench, case) if law.lens(diff)]
    return tape, found


def mixed(made: Program) -> bool:
    """Whether a task wrote to a reserved channel and to another one in one call, and later again."""
    special = contract.special_channels()
    calls = [
        (op.id, op.task)
        for op in made.ops
        if isinstance(op, Writes) and 0 < sum(c in special for c, _ in op.items) < len(op.items)
    ]
    return len(calls) > len(set(calls))


# -- graphs ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("law", graph_kit.graph_laws(), ids=lambda law: law.id)
@pytest.mark.parametrize("target", OPENERS)
def test_a_right_saver_repeats_what_was_recorded(law: Any, target: str, loop: Loop) -> None:
    if reason := law.not_applicable():
        pytest.skip(reason)
    opener, faces = OPENERS[target]
    for face in set(faces) & set(law.faces):
        for case in law.programs if target in ("strict", "sqlite") else law.programs[:1]:
            handle = opener(loop)
            tape, _ = played(law, case, handle, face)
            handle.close()
            made = tape.program()
            assert made.ops or not tape.calls
            diffs = again(made, opener(loop), face).diffs
            if target.startswith("sqlite") and mixed(made):
                # It keeps the first answer where one is written beside something else, which is a fault of its own.
                diffs = [d for d in diffs if not d.where.startswith("get:pending_writes")]
            assert not diffs, (case.to_json(), diffs[0])


SAVERS = [m for m in graph_kit.load() if m.verdict is Verdict.BROKEN]
TIMELY = ("CancelStopsReads",)
"""Wrong only while something else goes on: no program of calls one after the other shows that."""


@pytest.mark.skipif(not CURRENT, reason="mutants are made for langgraph 1.2.20 and later")
@pytest.mark.parametrize("mutant", SAVERS, ids=lambda m: m.name)
def test_the_fault_of_a_saver_is_in_the_recording(mutant: Any, loop: Loop) -> None:
    law = laws.get(mutant.kills)
    for case in law.programs:
        space, tape = Space(), Recording()

        def opened(space: Space = space, tape: Recording = tape) -> Handle:
            return Handle(tape.attach(mutant.make(space)), loop)

        bench = Bench(opened, mutant.face, lambda step: None, {})
        found = [diff for diff in law.check(bench, case) if law.lens(diff)]
        tape.detach()
        if found:
            break
    else:
        pytest.skip("tasks of this Python do not tell that they are being cancelled")
    made = tape.program()
    store = Space()
    handles: dict[int, Handle] = {}
    diffs = (
        Session(lambda: Handle(mutant.make(store), loop), mutant.face, handles=handles)
        .run(made)
        .diffs
    )
    if mutant.name in TIMELY:
        assert not diffs
        assert tape.raised, "what raised while it was recorded is told beside the program"
        assert tape.raised[0].where == "get:raises"
        return
    assert diffs, tape.notes
    right = StrictSaver(Space())
    assert not again(made, Handle(right, loop), mutant.face).diffs


# -- what counts as a call ---------------------------------------------------------------------------


def config(thread: str = "a", ns: str = "", id: str | None = None, **more: Any) -> Any:
    conf = {"thread_id": thread, "checkpoint_ns": ns, **more}
    return {"configurable": {**conf, "checkpoint_id": id} if id else conf}


def checkpoint(id: str, values: Any = None, versions: Any = None, **more: Any) -> Any:
    values = values or {}
    return {
        "v": contract.checkpoint_format(),
        "id": id,
        "ts": "2024-01-01T00:00:00+00:00",
        "channel_values": values,
        "channel_versions": versions if versions is not None else dict.fromkeys(values, 1),
        "versions_seen": {},
        **more,
    }


def put(saver: Any, id: str, values: Any = None, parent: str | None = None, **more: Any) -> Any:
    made = checkpoint(id, values, **more)
    return saver.put(config(id=parent), made, {"source": "loop"}, dict(made["channel_versions"]))


def names(tape: Recording) -> list[str]:
    return [op.name for op in tape.program().ops]


class Handed(StrictSaver):
    """Its async half hands the work to a thread that knows nothing of the task."""

    async def aput(self, *args: Any, **kwargs: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(
            None, lambda: self.put(*args, **kwargs)
        )

    async def adelete_thread(self, thread_id: str) -> None:
        await asyncio.get_running_loop().run_in_executor(None, self.delete_thread, thread_id)

    def delete_thread(self, thread_id: str) -> None:
        list(self.list(config(thread_id)))
        super().delete_thread(thread_id)


class InThread(StrictSaver):
    """Its async half works in a thread that took the context over."""

    async def aput(self, *args: Any, **kwargs: Any) -> Any:
        return await asyncio.to_thread(self.put, *args, **kwargs)


class Bridge(StrictSaver):
    """Its sync half asks the async half in a loop of another thread."""

    def put(self, *args: Any, **kwargs: Any) -> Any:
        if threading.current_thread().name == "lineage-loop":
            return super().put(*args, **kwargs)
        return asyncio.run_coroutine_threadsafe(self.aput(*args, **kwargs), LOOPS[0]).result()


LOOPS: list[Any] = []


@pytest.mark.parametrize("kind", [StrictSaver, InMemorySaver, Handed, InThread])
def test_what_a_saver_calls_itself_is_no_call(kind: Any, loop: Loop) -> None:
    saver = kind()
    with recording(saver) as tape:
        made = checkpoint("1", {"a": 1})
        loop.run(saver.aput(config(), made, {}, {"a": 1}))
        loop.run(saver.aput_writes(config(id="1"), [("a", 2)], "task"))
        assert loop.run(saver.aget(config()))["id"] == "1"
        loop.run(saver.adelete_thread("a"))
    assert names(tape) == ["put", "writes", "get", "delete_thread"]


def test_a_sync_half_over_the_async_one_is_one_call(loop: Loop) -> None:
    LOOPS[:] = [loop.loop]
    saver = Bridge()
    with recording(saver) as tape:
        put(saver, "1", {"a": 1})
    assert names(tape) == ["put"]
    assert tape.calls[0].half == "sync"


def test_calls_of_many_threads_are_all_there() -> None:
    saver = StrictSaver()
    with recording(saver) as tape:
        put(saver, "1")
        start = threading.Barrier(8)

        def work(n: int) -> None:
            start.wait()
            saver.put_writes(config(id="1"), [("a", n)], f"task-{n}")

        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    tasks = [op.task for op in tape.program().ops if isinstance(op, Writes)]
    assert sorted(tasks) == [f"task-{n}" for n in range(8)]


def test_calls_stand_in_the_order_in_which_they_end(loop: Loop) -> None:
    class Slow(StrictSaver):
        gate: Any = None

        async def aput_writes(self, config: Any, writes: Any, task_id: str, *rest: Any) -> None:
            if task_id == "slow":
                await self.gate.wait()
            await super().aput_writes(config, writes, task_id, *rest)

    saver = Slow()

    async def both() -> None:
        saver.gate = asyncio.Event()
        slow = asyncio.ensure_future(saver.aput_writes(config(id="1"), [("a", 1)], "slow"))
        await asyncio.sleep(0)
        await saver.aput_writes(config(id="1"), [("a", 2)], "quick")
        saver.gate.set()
        await slow

    with recording(saver) as tape:
        loop.run(both())
    assert [op.task for op in tape.program().ops if isinstance(op, Writes)] == ["quick", "slow"]


def test_arguments_are_those_of_the_moment_of_the_call() -> None:
    saver = StrictSaver()
    value = ["one"]
    with recording(saver) as tape:
        put(saver, "1", {"a": value})
        value.append("later")
        items = [("a", value)]
        saver.put_writes(config(id="1"), items, "task", "path")
        value.append("last")
        items.clear()
    first, second = tape.program().ops
    assert isinstance(first, Put)
    assert isinstance(second, Writes)
    assert first.set == {"a": ["one"]}
    assert second == Writes(1, "task", (("a", ["one", "later"]),), "path", "a")


def test_a_listing_that_was_left_and_one_with_calls_between_its_rows() -> None:
    saver = StrictSaver()
    put(saver, "1")
    put(saver, "2", parent="1")
    with recording(saver) as tape:
        for row in saver.list(config(ns=""), before=config(id="9"), limit=5):
            saver.get_tuple(row.config)
            break
        assert len(list(saver.list(None, filter={"source": "loop"}))) == 2
    seeded, *ops = tape.program().ops
    assert isinstance(seeded, Put)
    assert ops == [
        List("a", "", before=3, limit=5),
        Get(2, "a"),
        List(None, None, filter={"source": "loop"}),
    ]
    assert any("not read to its end" in note for note in tape.notes)


def test_what_raises_and_what_is_cancelled(loop: Loop) -> None:
    class Odd(StrictSaver):
        def get_tuple(self, config: Any) -> Any:
            raise RuntimeError("no connection")

        async def aput_writes(self, *args: Any) -> None:
            await asyncio.Event().wait()

    saver = Odd()

    async def cancelled() -> None:
        task = asyncio.ensure_future(saver.aput_writes(config(id="1"), [("a", 1)], "task"))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with recording(saver) as tape:
        put(saver, "1")
        with pytest.raises(RuntimeError, match="no connection"):
            saver.get_tuple(config())
        loop.run(cancelled())
    assert names(tape) == ["put", "get", "writes"]
    assert [call.ended for call in tape.calls] == ["returned", "raised", "cancelled"]
    assert [(d.op, d.where, d.got) for d in tape.raised] == [
        (1, "get:raises", "RuntimeError: no connection")
    ]
    assert any("cancelled" in note for note in tape.notes)


def test_the_saver_is_itself_again() -> None:
    saver = StrictSaver()
    signature = inspect.signature(saver.put_writes)
    with recording(saver) as tape:
        assert isinstance(saver, StrictSaver)
        assert type(saver).__name__ == "StrictSaver"
        assert inspect.signature(saver.put_writes) == signature
        copied = type(saver)(saver.space)
        copied.__dict__.update(saver.__dict__)
        put(copied, "1")  # as strict msgpack mode does it
    assert type(saver) is StrictSaver
    put(saver, "2")
    put(copied, "3")
    assert names(tape) == ["put"]


def test_an_object_whose_class_cannot_be_changed_is_told() -> None:
    class Fixed:
        __slots__ = ("a",)

    with pytest.raises(TypeError, match="int cannot be recorded"), recording(1):
        pass
    with recording(Fixed()):
        pass


# -- the program ---------------------------------------------------------------------------------------


def test_ids_become_numbers_in_their_order() -> None:
    saver = StrictSaver()
    with recording(saver) as tape:
        put(saver, "m", {"a": 1})
        put(saver, "z", {"a": 1}, "m")
        put(saver, "b", {"a": 1})
        saver.get_tuple(config(id="z"))
        saver.get_tuple(config(id="nobody"))
    numbers = [(op.id, getattr(op, "parent", None)) for op in tape.program().ops]  # type: ignore[attr-defined]
    assert numbers == [(2, None), (4, 2), (1, None), (4, None), (3, None)]


def test_a_put_says_what_is_new() -> None:
    saver = StrictSaver()
    with recording(saver) as tape:
        saver.get_tuple(config())
        put(saver, "1", {"a": 1, "b": [1]})
        put(
            saver, "2", {"b": [1], "c": {"x": (1,)}}, "1",
            versions={"b": 1, "c": 2, "gone": 2},
        )  # fmt: skip
        put(saver, "2", {"b": [2]}, "1", versions={"b": 7})
    _, first, second, third = tape.program().ops
    assert isinstance(second, Put)
    assert first == Put(1, None, "a", set={"a": 1, "b": [1]}, meta={"source": "loop"})
    assert second.set == {"c": {"x": {"$new": "builtins:tuple", "args": [[1]]}}}
    assert (second.empty, second.drop) == (("gone",), ("a",))
    assert third == Put(
        2, 1, "a", set={"b": [2]}, drop=("a",), meta={"source": "loop"}
    )  # a repeated put
    assert not again(tape.program(), Handle(InMemorySaver(), Loop()), "sync").diffs


def test_a_copy_of_a_sibling_starts_from_it(loop: Loop) -> None:
    saver = InMemorySaver()
    with recording(saver) as tape:
        put(saver, "1", {"a": 1})
        put(saver, "2", {"a": 2, "b": 2}, "1", versions={"a": 2, "b": 2})
        made = checkpoint("3", {"a": 2, "b": 2}, {"a": 2, "b": 2})
        saver.put(config(id="1"), made, {"source": "fork"}, {})
        saver.get_tuple(config())
    fork = tape.program().ops[2]
    assert isinstance(fork, Put)
    assert (fork.parent, fork.base, fork.set) == (1, 2, {})
    assert not again(tape.program(), memory(loop), "sync").diffs


def test_what_nodes_saw_is_told_by_checkpoint(loop: Loop) -> None:
    saver = StrictSaver()
    with recording(saver) as tape:
        put(saver, "1", {"a": 1}, versions={"a": "v1"})
        seen = {"n": {"a": "v1"}, "m": {"a": "v2"}, "o": {"a": "unknown"}, "p": {"a": 7}}
        put(saver, "2", {"a": 2}, "1", versions={"a": "v2"}, versions_seen=seen)
        saver.get_tuple(config())
    op = tape.program().ops[1]
    assert isinstance(op, Put)
    assert op.seen == {
        "n": {"a": 1},
        "m": {"a": 2},
        "o": {"a": "unknown"},
        "p": {"a": {"$new": "builtins:int", "args": ["7"]}},
    }
    handle = memory(loop)
    session = Session(lambda: handle, "sync", handles={0: handle})
    assert not session.run(tape.program()).diffs
    row = session.model.rows[session.thread("a"), "", session.id(2)]
    told = row.checkpoint["versions_seen"]
    assert told["m"] == row.checkpoint["channel_versions"]
    assert told["n"] != told["m"]
    assert (told["o"], told["p"]) == ({"a": "unknown"}, {"a": 7})


def test_other_keys_of_a_checkpoint_and_of_a_config(loop: Loop) -> None:
    saver = StrictSaver()
    with recording(saver) as tape:
        made = checkpoint("1", {"a": 1}, v=2, custom={"k": [1]})
        conf = config(user="ann", __pregel_thing=object(), live=object())
        conf["metadata"] = {"team": 7, "thread_id": "a"}
        saver.put(conf, made, {"source": "input", "step": (1, 2)}, {"a": 1})
    op = tape.program().ops[0]
    assert isinstance(op, Put)
    assert op.record == {"v": 2, "custom": {"k": [1]}}
    assert (op.extra, op.tags) == ({"user": "ann"}, {"team": 7})
    assert op.meta == {"source": "input", "step": [1, 2]}
    assert len(tape.notes) == 2  # one for each live object
    assert not again(program(*tape.program().ops, Get(1, "a")), strict(loop), "sync").diffs


def test_what_was_there_before_is_put_where_it_was_read(loop: Loop) -> None:
    saver = StrictSaver()
    put(saver, "1", {"a": 1})
    saver.put_writes(config(id="1"), [("a", 2), ("b", 3)], "task")
    with recording(saver) as tape:
        saver.get_tuple(config())
        put(saver, "2", {"a": 2}, "1", versions={"a": 2})
        saver.get_tuple(config())
        saver.delete_thread("a")
        saver.get_tuple(config())
    assert names(tape) == ["put", "writes", "get", "put", "get", "delete_thread", "get"]
    assert any("before the recording began" in note for note in tape.notes)
    assert not again(tape.program(), memory(loop), "sync").diffs


def test_ghosts_are_not_taken_for_what_was_there_before(loop: Loop) -> None:
    class Ghosts(StrictSaver):
        """Invents a checkpoint for a thread that has none, and for one that is gone."""

        haunted = False

        def get_tuple(self, config: Any) -> Any:
            if not self.haunted:
                return super().get_tuple(config)
            other = Ghosts()
            put(other, "9", {"a": 1})
            return StrictSaver.get_tuple(other, globals()["config"]())

    for begin in ("read", "put", "delete"):
        saver = Ghosts()
        with recording(saver) as tape:
            if begin == "read":
                saver.get_tuple(config())
            elif begin == "put":
                put(saver, "1")
            else:
                saver.delete_thread("a")
            saver.haunted = True
            saver.get_tuple(config())
        assert isinstance(tape.program().ops[-1], Get)
        assert len(tape.program().ops) == 2, begin


def test_threads_of_one_label_stay_two() -> None:
    saver = StrictSaver()
    with recording(saver) as tape:
        for thread in ("0001abcdef01-t", "0002abcdef01-t", "0001abcdef01-*", "name"):
            saver.get_tuple(config(thread))
    labels = [op.thread for op in tape.program().ops]  # type: ignore[attr-defined]
    assert labels == ["t", "0002abcdef01-t", "*", "name"]


def test_operations_on_threads_and_a_second_opening(loop: Loop) -> None:
    space, tape = Space(), Recording()
    saver = tape.attach(StrictSaver(space))
    put(saver, "1", {"a": 1})
    second = tape.attach(StrictSaver(space))
    assert contract.overrides(second, "delete_thread")
    if hasattr(StrictSaver, "copy_thread"):
        second.copy_thread("a", "b")
        second.put(
            config("b", id="1"), checkpoint("2", {"a": 1}), {"source": "loop"}, {}
        )  # goes on from the copy
    second.delete_thread("a")
    second.get_tuple(config("a"))
    tape.detach()
    ops = tape.program().ops
    assert ops[1] == Reopen()
    if hasattr(StrictSaver, "copy_thread"):
        assert ops[2] == CopyThread("a", "b")
        assert isinstance(ops[3], Put)
        assert (ops[3].parent, ops[3].set) == (1, {})
    assert ops[-2:] == (DeleteThread("a"), Get(None, "a"))


def test_a_recorded_program_can_be_made_smaller() -> None:
    class Loses(StrictSaver):
        """Loses the second write of a task."""

        def put_writes(self, config: Any, writes: Any, *rest: Any) -> None:
            super().put_writes(config, list(writes)[:1], *rest)

    from lineage_conformance.shrink import shrink

    saver = Loses()
    with recording(saver) as tape:
        for n in range(1, 5):
            put(saver, str(n), {"a": n}, str(n - 1) if n > 1 else None, versions={"a": n})
            saver.put_writes(config(id=str(n)), [("a", n), ("b", n)], "task")
            saver.get_tuple(config())
    loop = Loop()

    def shows(candidate: Any) -> bool:
        return bool(again(candidate, Handle(Loses(), loop), "sync").diffs)

    made = tape.program()
    assert shows(made)
    small = shrink(made, shows)
    loop.close()
    assert [op.name for op in small.ops] == ["put", "writes", "get"]


def test_the_zoo_comes_back_from_a_recording() -> None:
    for name in zoo.ZOO:
        if name in ("generator", "live", "vanishing") or not zoo.available(name):
            continue
        tape = Recording()
        value = zoo.build(zoo.ref(name))
        saver = tape.attach(Taking())
        saver.put_writes(config(id="1"), [("a", value), ("b", [value])], "task")
        (op,) = tape.program().ops
        assert isinstance(op, Writes)
        assert not tape.notes, name
        for (_, data), item in zip(op.items, (value, [value]), strict=True):
            assert canon(zoo.build(data)) == canon(item), name


class Taking(StrictSaver):
    """Takes every value."""

    def put_writes(self, *args: Any, **kwargs: Any) -> None:
        pass
