"""The stores and the wrapper: flags, conflicts, retention, partitions, the service, failures, encryption."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from starlette.applications import Starlette
from starlette.testclient import TestClient

from lineage_reference.delta import (
    DeltaSaver,
    HttpStore,
    SqliteStore,
    application,
    averify,
    verify,
)
from lineage_reference.delta.blobs import Frame, pack_frame, pack_step, unpack_frame, unpack_step
from lineage_reference.delta.codec import Malformed
from lineage_reference.delta.stores import Conflict, Missing, Off
from lineage_reference.saver import StrictSaver

DAY = 24 * 3600


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 20_000.0 * DAY

    def __call__(self) -> float:
        return self.now


class Run:
    """Puts checkpoints along a line, or anywhere with `parent`."""

    def __init__(self, saver: Any, thread: str = "t") -> None:
        self.saver, self.thread = saver, thread
        self.values: dict[str, Any] = {}
        self.versions: dict[str, Any] = {}
        self.number, self.last = 0, None

    def args(self, values: dict[str, Any], parent: Any = ...) -> tuple[Any, ...]:
        self.number += 1
        id = f"1f{self.number:06x}-0000-6000-8000-000000000000"
        new = {c: self.saver.get_next_version(self.versions.get(c), None) for c in values}
        self.values = {**self.values, **values}
        self.versions = {**self.versions, **new}
        above = self.last if parent is ... else parent
        conf = {"thread_id": self.thread, "checkpoint_ns": ""}
        self.last = id
        made = {
            **empty_checkpoint(), "id": id, "channel_values": dict(self.values),
            "channel_versions": dict(self.versions),
        }  # fmt: skip
        if above:
            conf["checkpoint_id"] = above
        return {"configurable": conf}, made, {"source": "loop", "step": self.number}, new

    def put(self, parent: Any = ..., **values: Any) -> Any:
        return self.saver.put(*self.args(values, parent))

    def config(self, id: str | None = None) -> Any:
        return {
            "configurable": {
                "thread_id": self.thread, "checkpoint_ns": "", "checkpoint_id": id or self.last
            }
        }  # fmt: skip

    def get(self) -> Any:
        return self.saver.get_tuple(self.config()).checkpoint["channel_values"]

    def rebuilt(self) -> Any:
        return self.saver.rebuild(self.config())


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    made = SqliteStore(tmp_path / "blobs.sqlite", clock=Clock())
    yield made
    made.close()


@pytest.fixture
def run(store: SqliteStore) -> Run:
    store.set_mode("shadow")
    return Run(DeltaSaver(StrictSaver(), store))


# -- the flag ----------------------------------------------------------------------------------------


def test_off_is_the_default_and_hands_the_same_checkpoint_on(store: SqliteStore) -> None:
    given: list[Any] = []

    class Watching(StrictSaver):
        def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
            given.append((config, checkpoint, metadata, new_versions))
            return super().put(config, checkpoint, metadata, new_versions)

    run = Run(DeltaSaver(Watching(), store))
    for mode in ("off", "shadow"):
        store.set_mode(mode)
        args = run.args({"log": ["a"], "mood": "fine"})
        run.saver.put(*args)
        assert all(one is other for one, other in zip(given[-1], args, strict=True))
    assert len(store.blobs("t")) == 1


def test_a_thread_s_own_flag_beats_the_default(store: SqliteStore) -> None:
    store.set_mode("shadow")
    store.set_mode("off", ["t"])
    assert (store.offer("t").mode, store.offer("u").mode) == ("off", "shadow")
    store.delete_thread("t")
    assert store.offer("t").mode == "off"
    with pytest.raises(ValueError, match="no mode"):
        store.set_mode("on")


def test_a_store_that_is_off_refuses_frames(run: Run, store: SqliteStore) -> None:
    frame, _ = run.saver.recorder.frame(
        ("t", "", "1"), None, {"channel_values": {"a": [1]}, "channel_versions": {"a": 1}}, {"a": 1}
    )
    store.set_mode("off")
    with pytest.raises(Off):
        store.append(frame)
    assert store.steps("t") == []


def test_first_blobs_after_a_gap_are_bases_and_complete(run: Run, store: SqliteStore) -> None:
    run.put(log=["a"], talk={"x": ["a"]})
    store.set_mode("off")
    run.put(log=["a", "b"])
    store.set_mode("shadow")
    run.put(log=["a", "b", "c"])
    mine = [b for b in store.blobs("t") if b.checkpoint_id == run.last]
    assert {b.channel: b.step_action for b in mine} == {"log": "compaction", "talk": "compaction"}
    assert run.rebuilt() == {"log": ["a", "b", "c"], "talk": {"x": ["a"]}}


# -- generations -------------------------------------------------------------------------------------


def test_the_generation_grows_when_a_list_shrinks_and_begins_again_after_a_restart(
    store: SqliteStore,
) -> None:
    store.set_mode("shadow")
    run = Run(DeltaSaver(StrictSaver(), store))
    for log in (["a", "b"], ["a"], ["a", "c"], []):
        run.put(log=log)
    run.saver = DeltaSaver(run.saver.inner, store)
    run.put(log=["z"])
    run.put(log=[])
    assert sorted(b.current_thread for b in store.blobs("t")) == [0, 0, 1, 1, 1, 2]
    assert run.rebuilt() == {"log": []}


def test_a_compaction_sends_nothing_that_did_not_change(run: Run, store: SqliteStore) -> None:
    run.put(log=["x" * 500] * 9, quiet=["y" * 500] * 9, talk={"a": ["z" * 500] * 9, "b": ["w"] * 9})
    run.put(log=["summary"], talk={"a": ["z" * 500] * 9, "b": ["s"]})
    mine = {b.channel: b.size for b in store.blobs("t") if b.checkpoint_id == run.last}
    assert mine.keys() == {"log", "talk"}
    assert max(mine.values()) < 40
    assert run.rebuilt()["quiet"] == ["y" * 500] * 9


def test_a_restart_goes_on_with_an_edit(run: Run, store: SqliteStore) -> None:
    run.put(log=["a" * 400])
    run.saver = DeltaSaver(run.saver.inner, store)
    run.put(log=["a" * 400, "b"])
    (mine,) = [b for b in store.blobs("t") if b.checkpoint_id == run.last]
    assert (mine.step_action, mine.size < 20) == ("conversation", True)


def test_another_encoding_begins_anew(run: Run, store: SqliteStore) -> None:
    run.put(log=["a"])
    run.saver = DeltaSaver(run.saver.inner, store, encoding="tail")
    run.put(log=["a", "b"])
    (mine,) = [b for b in store.blobs("t") if b.checkpoint_id == run.last]
    assert mine.step_action == "compaction"
    assert run.rebuilt() == {"log": ["a", "b"]}


# -- conflicts ---------------------------------------------------------------------------------------


def test_the_same_frame_twice_changes_nothing_and_another_one_conflicts(
    run: Run, store: SqliteStore
) -> None:
    run.put(log=["a"])
    args = run.args({"log": ["a", "b"]})
    make = run.saver.recorder.frame
    frame, _ = make(("t", "", "x"), args[0]["configurable"]["checkpoint_id"], args[1], args[3])
    store.append(frame)
    before = store.blobs("t")
    store.append(frame)
    assert store.blobs("t") == before
    (at,) = (entry.at for entry in frame.step.entries.values())
    with pytest.raises(Conflict):
        store.append(Frame(frame.step, frame.parent, {"log": b"other"}))
    assert store.read("t", [at])[at][-1] == frame.data["log"]


def test_two_gateways_at_once_lose_nothing(tmp_path: Path) -> None:
    owner = SqliteStore(tmp_path / "b.sqlite")
    owner.set_mode("shadow")
    inner = StrictSaver()
    first = Run(DeltaSaver(inner, owner))
    first.put(log=["start"])
    start, barrier = first.last, threading.Barrier(4)
    runs = []
    for number in range(4):
        run = Run(DeltaSaver(inner, SqliteStore(tmp_path / "b.sqlite")))
        run.number, run.last = 10 * (number + 1), start
        run.values, run.versions = dict(first.values), dict(first.versions)
        runs.append(run)

    def work(run: Run) -> None:
        barrier.wait()
        for step in range(5):
            run.put(log=[*run.values["log"], f"{run.number}/{step}"])

    threads = [threading.Thread(target=work, args=(run,)) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = verify(first.saver, "t")
    assert (found.checkpoints, found.rebuilt, found.different) == (21, 21, [])
    for run in runs:
        run.saver.store.close()
    owner.close()


# -- failures ----------------------------------------------------------------------------------------


class Broken:
    """A store that answers nothing."""

    def __getattr__(self, name: str) -> Any:
        raise ConnectionError("no answer")


def test_a_broken_store_breaks_no_run_and_is_remembered() -> None:
    run = Run(DeltaSaver(StrictSaver(), Broken()))  # type: ignore[arg-type]
    run.put(log=["a"])
    assert run.get() == {"log": ["a"]}
    assert run.saver.failures == ["ConnectionError: no answer"]


def test_blobs_that_are_gone_are_never_read_as_less(run: Run, store: SqliteStore) -> None:
    store.set_mode("read")
    run.saver.trust_new = True
    run.put(log=["a"], mood="fine")
    run.put(log=["a", "b"])
    store.query("DELETE FROM blobs WHERE pos = 0")
    for read in (run.get, run.rebuilt, lambda: list(run.saver.list(run.config()))):
        with pytest.raises(Missing):
            read()


def test_deleting_fails_loudly_when_blobs_stay(run: Run, store: SqliteStore) -> None:
    run.put(log=["a"])
    run.saver.store = Broken()
    with pytest.raises(ConnectionError):
        run.saver.delete_thread("t")
    run.saver.store = store
    run.saver.delete_thread("t")
    assert (store.blobs("t"), store.steps("t")) == ([], [])


# -- verify and read mode ----------------------------------------------------------------------------


def test_verify_proves_what_is_whole_and_reports_volume(run: Run, store: SqliteStore) -> None:
    for count in range(1, 30):
        run.put(log=[f"entry {n}" * 9 for n in range(count)])
    found = verify(run.saver, "t")
    assert (found.proved, found.checkpoints, found.rebuilt, found.unknown) == (True, 29, 29, 0)
    assert found.blob_bytes * 5 < found.full_bytes
    assert store.offer("t").proved


@pytest.mark.parametrize("harm", ["DELETE FROM blobs WHERE pos = 1", "DELETE FROM steps"])
def test_verify_does_not_prove_what_is_damaged(run: Run, store: SqliteStore, harm: str) -> None:
    for log in (["a"], ["a", "b"], ["a", "b", "c"]):
        run.put(log=log)
    store.query(harm)
    found = verify(run.saver, "t")
    assert not found.proved
    assert len(found.different) == (2 if "blobs" in harm else 0)
    store.set_mode("read")
    assert run.saver.mode("t") == "shadow"
    run.put(log=["a", "b", "c", "d"])
    assert run.saver.inner.get_tuple(run.config()).checkpoint["channel_values"] == run.values


def test_read_mode_keeps_scalars_and_a_marker(run: Run, store: SqliteStore) -> None:
    run.put(log=["a"], mood="fine")
    assert asyncio.run(averify(run.saver, "t")).proved
    store.set_mode("read")
    run.put(log=["a", "b"])
    held = run.saver.inner.get_tuple(run.config()).checkpoint["channel_values"]
    assert held["mood"] == "fine"
    assert list(held["log"]) == ["lineage-delta/1"]
    assert run.get() == {"log": ["a", "b"], "mood": "fine"}


def test_a_new_thread_is_trusted_and_no_other_one(run: Run, store: SqliteStore) -> None:
    run.saver.trust_new = True
    run.put(log=["a"])
    store.set_mode("read")
    assert run.saver.mode("t") == "shadow"  # it began in shadow mode
    run.put(log=["a", "b"])
    assert not any(step.sole for step in store.steps("t"))
    assert verify(run.saver, "t").proved
    run.put(log=["a", "b", "c"])
    assert [step.sole for step in store.steps("t")].count(True) == 1

    new = Run(DeltaSaver(StrictSaver(), store, trust_new=True), "u")
    assert new.saver.mode("u") == "read"
    new.put(log=["a"])
    fork = new.last
    new.put(log=["a", "b"])
    new.saver = DeltaSaver(new.saver.inner, store, trust_new=True)  # after a restart
    new.put(log=["a", "b", "c"])
    new.put(parent=fork, log=["a", "z"])
    assert all(step.sole for step in store.steps("u"))
    store.set_mode("off")
    new.put(log=["a", "z", "off"])
    store.set_mode("read")
    new.put(log=["a", "z", "off", "on"])
    assert not store.step(("u", "", new.last)).sole  # a gap: full again until it is proved
    assert new.get() == {"log": ["a", "z", "off", "on"]}


@pytest.mark.parametrize("inner", [StrictSaver, InMemorySaver])
def test_a_value_that_looks_like_a_marker_is_a_value(inner: Any, store: SqliteStore) -> None:
    key = "lineage-delta/1"
    run = Run(DeltaSaver(inner(), store, trust_new=True))
    for mode in ("off", "shadow", "read", "off"):
        store.set_mode(mode)
        store.prove("t")
        assert run.saver.mode("t") == mode
        for odd in (
            {key: "5.0"},
            {key: ["x"]},
            {key: [{key: "5.0"}]},
            {key: 1},
            {key: "x", "b": 1},
        ):
            run.put(mood=odd, log=[odd])
            assert run.get() == {"mood": odd, "log": [odd]}


def test_an_encrypting_saver_has_encrypted_blobs(store: SqliteStore) -> None:
    class Cipher:
        def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
            return "xor", bytes(b ^ 0x5A for b in plaintext)

        def decrypt(self, name: str, ciphertext: bytes) -> bytes:
            assert name == "xor"
            return bytes(b ^ 0x5A for b in ciphertext)

    store.set_mode("read")
    inner = InMemorySaver(serde=EncryptedSerializer(Cipher()))
    run = Run(DeltaSaver(inner, store, trust_new=True))
    run.put(log=["a secret" * 9])
    run.put(log=["a secret" * 9, "another"])
    assert run.get() == {"log": ["a secret" * 9, "another"]}
    rows = [
        row
        for at in store.steps("t")
        for e in at.entries.values()
        for row in store.read("t", [e.at])[e.at]
    ]
    assert rows
    assert not any(b"secret" in row or b"another" in row for row in rows)
    assert store.blobs("t")[-1].size < 60 or store.blobs("t")[0].size < 60


def test_copies_prunes_and_runs_take_their_blobs_along(run: Run, store: SqliteStore) -> None:
    store.set_mode("read")
    run.saver.trust_new = True
    for log in (["a"], ["a", "b"], ["z"]):
        run.put(log=log)
    run.saver.copy_thread("t", "copy")
    run.saver.delete_thread("t")
    assert store.blobs("t") == []
    run.thread = "copy"
    assert run.get() == {"log": ["z"]}
    run.saver.prune(["copy"])
    assert [b.checkpoint_id for b in store.blobs("copy")] == [run.last]
    assert run.get() == {"log": ["z"]}
    run.saver.prune(["copy"], strategy="delete")
    assert store.blobs("copy") == []


# -- retention ---------------------------------------------------------------------------------------


def _retention(run: Run, store: Any, clock: Clock) -> None:
    for log in (["a"], ["a", "b"]):
        run.put(log=log, quiet=["q"])
    old = run.last
    clock.now += 20 * DAY
    run.put(log=["a", "b", "c"])
    young = run.last
    clock.now += 15 * DAY
    assert store.expire() == 2
    assert run.saver.rebuild(run.config(old)) is None
    assert run.saver.rebuild(run.config(young)) == {"log": ["a", "b", "c"], "quiet": ["q"]}
    run.put(log=["a", "b", "c", "d"])
    assert [b.step_action for b in store.blobs("t") if b.checkpoint_id == run.last] == [
        "conversation"
    ]
    clock.now += 60 * DAY
    assert store.expire() == 2
    assert (store.blobs("t"), store.steps("t")) == ([], [])
    run.put(log=["a", "b", "c", "d", "e"])
    assert run.rebuilt() == {"log": ["a", "b", "c", "d", "e"], "quiet": ["q"]}
    assert {b.step_action for b in store.blobs("t")} == {"compaction"}
    assert not run.saver.failures


def test_retention_never_cuts_a_live_generation(run: Run, store: SqliteStore) -> None:
    assert isinstance(store.clock, Clock)
    _retention(run, store, store.clock)


def test_retention_leaves_the_only_copy(run: Run, store: SqliteStore) -> None:
    store.set_mode("read")
    run.saver.trust_new = True
    run.put(log=["a"])
    assert isinstance(store.clock, Clock)
    store.clock.now += 400 * DAY
    assert store.expire() == 0
    assert run.get() == {"log": ["a"]}


# -- Postgres ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    from pytest_lineage.postgres import PostgresUnavailable, open_server

    try:
        opened = open_server()
    except PostgresUnavailable as error:
        pytest.skip(str(error).splitlines()[0])
    yield opened
    opened.close()


@pytest.fixture
def postgres(server: Any) -> Iterator[Any]:
    from lineage_reference.delta import PostgresStore
    from pytest_lineage.postgres import StoreMaker

    with StoreMaker(server.dsn) as maker:
        made = PostgresStore(maker.create("delta"), clock=Clock())
        yield made
        made.close()
        maker.drop("delta")


@pytest.mark.postgres
def test_postgres_retention_drops_partitions_and_carries_what_lives(postgres: Any) -> None:
    postgres.set_mode("shadow")
    run = Run(DeltaSaver(StrictSaver(), postgres))
    first = postgres.clock.now
    _retention(run, postgres, postgres.clock)
    assert len(postgres.partitions()) == 1
    assert postgres.clock.now - first == 95 * DAY


@pytest.mark.postgres
def test_postgres_keeps_the_only_copy(postgres: Any) -> None:
    postgres.set_mode("read")
    run = Run(DeltaSaver(StrictSaver(), postgres, trust_new=True))
    run.put(log=["a"], quiet=["q"])
    postgres.clock.now += 40 * DAY
    run.put(log=["a", "b"])
    assert len(postgres.partitions()) == 2
    assert postgres.expire() == 0
    assert len(postgres.partitions()) == 1
    assert run.get() == {"log": ["a", "b"], "quiet": ["q"]}
    run.saver.delete_thread("t")
    assert postgres.blobs("t") == []


@pytest.mark.postgres
def test_a_partition_whose_transaction_failed_is_made_again(postgres: Any) -> None:
    postgres.set_mode("shadow")
    run = Run(DeltaSaver(StrictSaver(), postgres))

    def fails() -> None:
        with postgres.transaction("t"):
            postgres._day(postgres.clock())
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fails()
    run.put(log=["a"])
    assert run.rebuilt() == {"log": ["a"]}
    assert not run.saver.failures


# -- HTTP --------------------------------------------------------------------------------------------


@pytest.fixture
def client(store: SqliteStore) -> Iterator[httpx.Client]:
    with TestClient(application(store)) as made:
        yield made


def test_gateways_without_storage_take_turns_over_http(
    store: SqliteStore, client: httpx.Client
) -> None:
    store.set_mode("shadow")
    inner = StrictSaver()
    savers = [DeltaSaver(inner, HttpStore(client, refresh=0)) for _ in range(2)]
    run = Run(savers[0])
    for step in range(6):
        run.saver = savers[step % 2]
        run.put(log=[f"{n}" for n in range(step + 1)], talk={"a": [step], "b": ["same"]})
        assert run.rebuilt() == {k: run.values[k] for k in ("log", "talk")}
    assert verify(run.saver, "t").proved
    store.set_mode("read")
    run.put(log=["cut"])
    assert run.get() == run.values
    assert run.saver.store.steps("t")
    assert run.saver.blobs("t")
    run.saver.copy_thread("t", "u")
    run.saver.prune(["t"])
    run.saver.delete_thread("t")
    assert (store.blobs("t"), len(store.steps("u"))) == ([], 7)
    assert not any(saver.failures for saver in savers)


def test_an_old_server_sees_one_question_and_nothing_else() -> None:
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(f"{request.method} {request.url.path}")
        return httpx.Response(404)

    with httpx.Client(transport=httpx.MockTransport(answer), base_url="http://old") as client:
        run = Run(DeltaSaver(StrictSaver(), HttpStore(client)))
        run.put(log=["a"])
        run.put(log=["a", "b"])
        assert asked == ["GET /delta/offer"]
        assert run.get() == {"log": ["a", "b"]}
        run.saver.delete_thread("t")
        assert not run.saver.failures


def test_an_answer_that_is_no_offer_means_off() -> None:
    pages = iter([httpx.Response(200, html="<p>hello</p>"), httpx.Response(200, json=[1])])
    with httpx.Client(
        transport=httpx.MockTransport(lambda request: next(pages)), base_url="http://x"
    ) as client:
        store = HttpStore(client)
        assert [store.offer("t").mode, store.offer("u").mode] == ["off", "off"]


def test_a_newer_frame_format_is_not_spoken(client: httpx.Client) -> None:
    answer = httpx.Response(200, json={"mode": "read", "proved": True, "formats": [9]})
    with httpx.Client(
        transport=httpx.MockTransport(lambda _: answer), base_url="http://x"
    ) as other:
        assert HttpStore(other).offer("t").mode == "off"


def test_the_flag_is_asked_again_after_a_refusal_and_after_a_while(
    store: SqliteStore, client: httpx.Client
) -> None:
    clock = Clock()
    store.set_mode("shadow")
    run = Run(DeltaSaver(StrictSaver(), HttpStore(client, refresh=30, now=clock)))
    run.put(log=["a"])
    store.set_mode("off")
    run.put(log=["a", "b"])  # sent in good faith, and refused
    assert run.rebuilt() is None
    run.put(log=["a", "b", "c"])
    store.set_mode("shadow")
    run.put(log=["a", "b", "c", "d"])
    assert run.rebuilt() is None
    clock.now += 31
    run.put(log=["e"])
    assert run.rebuilt() == {"log": ["e"]}
    assert not run.saver.failures
    assert [b.step_action for b in store.blobs("t")] == ["compaction", "compaction"]


def test_the_service_refuses_rubbish_and_survives(store: SqliteStore, client: httpx.Client) -> None:
    store.set_mode("shadow")
    run = Run(DeltaSaver(StrictSaver(), HttpStore(client)))
    frame, _ = run.saver.recorder.frame(
        ("t", "", "1"), None, {"channel_values": {"a": [1]}, "channel_versions": {"a": 1}}, {"a": 1}
    )
    body = pack_frame(frame)
    post = client.post
    assert post("/delta/frames?thread=t", content=b"").status_code == 400
    assert post("/delta/frames?thread=t", content=b"\x01rubbish").status_code == 400
    assert post("/delta/frames?thread=t", content=b"\x00" + body[:-1]).status_code == 400
    changed = bytes((body[0], *(b ^ 1 for b in body[1:])))
    assert post("/delta/frames?thread=t", content=b"\x00" + changed).status_code == 400
    assert post("/delta/do", json={"do": "set_mode", "mode": "off"}).status_code == 400
    assert store.steps("t") == []
    assert post("/delta/frames?thread=t", content=b"\x00" + body).status_code == 204
    assert len(store.blobs("t")) == 1


def test_a_service_that_fails_breaks_no_run() -> None:
    with httpx.Client(
        transport=httpx.MockTransport(lambda request: httpx.Response(503)), base_url="http://x"
    ) as client:
        run = Run(DeltaSaver(StrictSaver(), HttpStore(client)))
        run.put(log=["a"])
        assert run.get() == {"log": ["a"]}
        assert len(run.saver.failures) == 1


def test_the_service_can_be_mounted(store: SqliteStore) -> None:
    from starlette.routing import Mount

    store.set_mode("shadow")
    app = Starlette(routes=[Mount("/api", application(store))])
    with TestClient(app, base_url="http://test/api/") as client:
        assert HttpStore(client).offer("t").mode == "shadow"


# -- forms -------------------------------------------------------------------------------------------


def test_frames_and_steps_come_back_as_they_were(run: Run, store: SqliteStore) -> None:
    seen: dict[Any, Any] = {}
    line = None
    states = [
        {"log": ["a"], "talk": {"a": ["b"]}, "gone": ["x"]},
        {"log": ["a", "b"], "talk": {"a": ["b"]}, "gone": ["x"]},
        {"log": [], "talk": {"a": ["b"]}},
    ]
    parent = None
    for number, values in enumerate(states):
        versions = dict.fromkeys(values, f"{number + 1:032}.{0.5:016}")
        checkpoint = {"channel_values": values, "channel_versions": versions}
        place = ("t", "child:1", f"id-{number}")
        frame, line = run.saver.recorder.frame(place, parent, checkpoint, versions)
        run.saver.recorder.keep(line)
        found = unpack_frame("t", pack_frame(frame), seen.get)
        assert (found.step, dict(found.data)) == (frame.step, dict(frame.data))
        if parent is not None:
            before = frame.parent
            short = pack_frame(frame, newest=True)
            assert len(short) == len(pack_frame(frame)) - 2 - len(parent)
            found = unpack_frame("t", short, {}.get, lambda thread, ns, before=before: before)
            assert (found.step, dict(found.data)) == (frame.step, dict(frame.data))
            with pytest.raises(LookupError):  # another one is the newest
                unpack_frame("t", short, seen.get, lambda thread, ns, frame=frame: frame.step)
            with pytest.raises(LookupError):
                unpack_frame("t", short, seen.get)
        assert unpack_step(place, pack_step(frame.step), 0) == frame.step
        seen[place], parent = frame.step, place[2]
    with pytest.raises(LookupError):
        unpack_frame("t", pack_frame(frame), {}.get)
    with pytest.raises(Malformed):
        unpack_frame("t", b"", seen.get)


def test_the_engine_passes_task_paths_through(run: Run) -> None:
    args = run.args({"log": ["a"]})
    run.saver.put(*args)
    for task, path in (("1", "~b"), ("2", "~a")):
        run.saver.put_writes(run.config(), [("log", task)], task, path)
    found = run.saver.get_tuple(run.config()).pending_writes
    assert [write[0] for write in found] == ["2", "1"]
    import inspect

    assert "task_path" in inspect.signature(run.saver.put_writes).parameters


@pytest.mark.postgres
def test_a_limit_in_the_future_leaves_the_only_copy(postgres: Any) -> None:
    postgres.set_mode("read")
    run = Run(DeltaSaver(StrictSaver(), postgres, trust_new=True))
    run.put(log=["a"])
    run.put(log=["a", "b"])
    assert postgres.expire(postgres.clock() + 90 * DAY) == 0
    assert run.get() == {"log": ["a", "b"]}
