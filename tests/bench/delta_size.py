"""How large delta blobs are, and what they cost: `python -m tests.bench.delta_size` writes the results beside it.

The bound is each new or changed item serialized once, all items of a compaction's result, and for a text that grows
inside an item its new suffix. Payload is the data of the blobs without storage; a request is the whole
frame of a step, with checkpoint, versions and a checksum that the parent takes part in (the thread is in the address);
squeezed is the body as a gateway sends it that sent the steps before.

Detection is finding out whether and where lists changed, once they are serialized; recording is all that a frame
costs beside serializing lists and items, detection included. Both are given as shares of the serialization: by the
clock, at up to fifty steps, the best of five at each. Elsewhere CPU is process time, the best of several.
"""

from __future__ import annotations

import argparse
import functools
import gc
import json
import platform
import sqlite3
import tempfile
import time
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from lineage_reference.delta import edits, script
from lineage_reference.delta.blobs import pack_frame
from lineage_reference.delta.context import CODINGS
from lineage_reference.delta.parts import Plain
from lineage_reference.delta.recorder import Recorder
from lineage_reference.delta.requests import Sender
from lineage_reference.delta.stores_sqlite import SqliteStore
from lineage_reference.delta.wrapper import DeltaSaver
from tests.bench.workload import PROFILES, Step, Workflow

HERE = Path(__file__).parent
THREAD = "0b7d5b1e-6f0c-4b67-9d6e-2f3a4c5d6e7f"
SERDE = JsonPlusSerializer()
LISTS = ("talk", "log")
QUADRATIC = ("in-place", "early-edit", "window", "growing")
"""Where ``tail`` sends whole lists each step: gigabytes beyond 1,000 steps, so it is not measured there."""
SCALARS = ("usage", "goal", "status")


def checkpoint_id(number: int) -> str:
    """Ids like those of an engine: UUIDs in the order of their steps."""
    return f"1eed{number:04x}-0000-6000-8000-0123456789ab"


def version(number: int) -> str:
    """Versions like those that stock savers mint."""
    return f"{number + 1:032}.{(number * 0.6180339887498949) % 1:016}"


def bound(plain: Plain, step: Step) -> tuple[int, int]:
    """Bytes that a step cannot do without: of lists, and of scalars."""
    lists = sum(len(plain.item(item)) for _, item in step.fresh)
    lists += sum(len(text.encode()) for text in step.grown.values())
    names = [c for c in SCALARS if c in step.changed]
    return lists, sum(len(plain.item(step.values[c])) for c in names)


class Watch:
    """Seconds spent in serializing, in detecting changes and in all else, each without what it calls of the others.

    As in `timeit`, work is done several times without collecting garbage, and the best of each counts.
    """

    PARTS = (
        (Plain, "dump", "serialize"), (edits.Splice, "_list", "detect"), (edits, "list_delta", "detect"),
        (edits, "dict_of_list_delta", "detect"), (script, "replace", "other"), (script, "write", "other"),
    )  # fmt: skip

    def __init__(self) -> None:
        self.spent = dict.fromkeys(("serialize", "detect", "other"), 0.0)
        self._this = dict(self.spent)
        self._running, self._since = ["other"], 0.0

    def measure(self, work: Callable[[], Any], times: int = 5) -> None:
        """Add what `work` spends."""
        kept = [getattr(owner, name) for owner, name, _ in self.PARTS]
        for (owner, name, label), one in zip(self.PARTS, kept, strict=True):
            setattr(owner, name, self._timed(one, label))
        gc.disable()
        found = []
        for _ in range(times):
            self._this, self._since = dict.fromkeys(self.spent, 0.0), time.perf_counter()
            work()
            self._lap()
            found.append(self._this)
        gc.enable()
        for (owner, name, _), one in zip(self.PARTS, kept, strict=True):
            setattr(owner, name, one)
        for label in self.spent:
            self.spent[label] += min(each[label] for each in found)

    def _timed(self, work: Callable[..., Any], label: str) -> Callable[..., Any]:
        def timed(*args: Any) -> Any:
            self._lap()
            self._running.append(label)
            try:
                return work(*args)
            finally:
                self._lap()
                self._running.pop()

        return timed

    def _lap(self) -> None:
        now = time.perf_counter()
        self._this[self._running[-1]] += now - self._since
        self._since = time.perf_counter()


def run(profile: str, count: int, encoding: str, folder: Path) -> dict[str, Any]:
    """One profile at one length with one encoding: sizes, and what detection cost."""
    store = SqliteStore(folder / "blobs.sqlite")
    store.set_mode("shadow")
    recorder = Recorder(store, SERDE, encoding)
    plain, sender = recorder.plain, Sender(CODINGS)
    lists = scalars = payload = raw = packed = full = versioned = blobs = 0
    watch = Watch()
    versions: dict[str, str] = {}
    parent: str | None = None
    for number, step in enumerate(Workflow(profile).steps(count)):
        one, other = bound(Plain(SERDE), step)
        lists, scalars = lists + one, scalars + other
        names = step.changed if number else set(step.values)
        new = {channel: version(number) for channel in names}
        versions.update(new)
        checkpoint = {"channel_values": step.values, "channel_versions": dict(versions)}
        place = (THREAD, "", checkpoint_id(number))
        frame, line = recorder.frame(place, parent, checkpoint, new)
        if number and number % -(-count // 50) == 0:
            watch.measure(functools.partial(recorder.frame, place, parent, checkpoint, new))
        store.append(frame)
        recorder.keep(line)
        payload += sum(len(data) for data in frame.data.values())
        blobs += len(frame.data)
        body = pack_frame(frame, newest=number > 0)
        raw, packed = raw + len(body), packed + len(sender.body(frame))
        sender.stored(frame)
        sizes = {c: sum(len(p.data) for p in s.parts.values()) + 3 for c, s in line.states.items()}
        full += sum(sizes.values())
        versioned += sum(size for c, size in sizes.items() if c in new)
        parent = checkpoint_id(number)
    # The last head, rebuilt, is what the workflow holds.
    step_ = store.step((THREAD, "", str(parent)))
    assert step_ is not None
    found = recorder.values(THREAD, {c: e.at for c, e in step_.entries.items()})
    assert all(plain.dump(found[c]) == plain.dump(step.values[c]) for c in LISTS)
    rows = sum(entry.at.pos + 1 for entry in step_.entries.values())
    store.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    store.close()
    size, spent = (folder / "blobs.sqlite").stat().st_size, watch.spent
    return {
        "profile": profile, "steps": count, "encoding": encoding, "bound": lists, "payload": payload,
        "lists": round(payload / lists, 3),
        "all": round((payload + scalars) / (lists + scalars), 3),
        "request": round(raw / lists, 3), "request_packed": round(packed / lists, 3),
        "sqlite": size, "sqlite_to_payload": round(size / payload, 3),
        "full": full, "per_version": versioned, "blobs": blobs, "head_rows": rows,
        "detection": round(spent["detect"] / spent["serialize"], 3),
        "recording": round((spent["detect"] + spent["other"]) / spent["serialize"], 3),
    }  # fmt: skip


# -- CPU of reading a head ---------------------------------------------------------------------------


def best(work: Callable[[], Any], times: int = 5) -> float:
    """Milliseconds of CPU, the best of several."""
    found = []
    for _ in range(times):
        begin = time.process_time()
        work()
        found.append((time.process_time() - begin) * 1000)
    return round(min(found), 2)


def head(profile: str, count: int, encoding: str, folder: Path) -> dict[str, Any]:
    """What reading the head costs: one full checkpoint, and the same rebuilt in read mode."""
    from langgraph.checkpoint.sqlite import SqliteSaver

    answer: dict[str, Any] = {"profile": profile, "steps": count, "encoding": encoding}
    with (
        SqliteSaver.from_conn_string(":memory:") as full,
        SqliteSaver.from_conn_string(":memory:") as some,
    ):
        store = SqliteStore(folder / "head.sqlite")
        store.set_mode("read")
        saver = DeltaSaver(some, store, encoding=encoding, trust_new=True)
        parent: str | None = None
        versions: dict[str, str] = {}
        for number, step in enumerate(Workflow(profile).steps(count)):
            new = {
                channel: version(number) for channel in (step.changed if number else step.values)
            }
            versions.update(new)
            base = {
                **empty_checkpoint(),
                "id": checkpoint_id(number),
                "channel_versions": dict(versions),
            }
            config = {"configurable": {"thread_id": THREAD, "checkpoint_ns": ""}}
            if parent:
                config["configurable"]["checkpoint_id"] = parent
            made = {**base, "channel_values": dict(step.values)}
            saver.put(config, made, {"source": "loop", "step": number}, new)
            parent = checkpoint_id(number)
        config = {"configurable": {"thread_id": THREAD, "checkpoint_ns": ""}}
        full.put(config, made, {"source": "loop", "step": count}, versions)  # type: ignore[arg-type]
        assert SERDE.dumps_typed(
            saver.get_tuple(config).checkpoint["channel_values"]
        ) == SERDE.dumps_typed(  # type: ignore[union-attr]
            full.get_tuple(config).checkpoint["channel_values"]  # type: ignore[arg-type,union-attr]
        )
        answer["full_ms"] = best(lambda: full.get_tuple(config))  # type: ignore[arg-type]
        answer["rebuilt_ms"] = best(lambda: saver.get_tuple(config))
        answer["ratio"] = round(answer["rebuilt_ms"] / answer["full_ms"], 2)
        every = "SELECT chain, pos, data FROM blobs ORDER BY thread, chain, pos"
        answer["rows"] = len(store.query(every))
        answer["fetch_ms"] = best(lambda: store.query(every))
        store.close()
    return answer


# -- DeltaChannel ------------------------------------------------------------------------------------


def delta_channel(profile: str, count: int, frequency: int, folder: Path) -> dict[str, Any] | None:
    """What the engine's DeltaChannel stores for the same steps in SQLite: writes, and snapshots now and then."""
    try:
        from langgraph.checkpoint.serde.types import _DeltaSnapshot
    except ImportError:
        return None
    from langgraph.checkpoint.sqlite import SqliteSaver

    path = folder / "channel.sqlite"
    with SqliteSaver.from_conn_string(str(path)) as saver:
        parent: str | None = None
        versions: dict[str, str] = {}
        for number, step in enumerate(Workflow(profile).steps(count)):
            new = {
                channel: version(number) for channel in (step.changed if number else step.values)
            }
            versions.update(new)
            config: Any = {"configurable": {"thread_id": THREAD, "checkpoint_ns": ""}}
            if parent:
                config["configurable"]["checkpoint_id"] = parent
                writes = [(c, [item for d, item in step.fresh if d == c]) for c in LISTS]
                if step.grown:
                    writes.append(("talk", [step.values["talk"]["coder"][-1]]))
                saver.put_writes(config, writes, f"task-{number}")
            values = {c: step.values[c] for c in SCALARS}
            if (number + 1) % frequency == 0:
                values.update({c: _DeltaSnapshot(step.values[c]) for c in LISTS})
            made: Any = {
                **empty_checkpoint(), "id": checkpoint_id(number), "channel_values": values,
                "channel_versions": dict(versions),
            }  # fmt: skip
            saver.put(config, made, {"source": "loop", "step": number}, new)  # type: ignore[arg-type]
            parent = checkpoint_id(number)
        config = {"configurable": {"thread_id": THREAD, "checkpoint_ns": ""}}
        cost = best(lambda: saver.get_delta_channel_history(config=config, channels=list(LISTS)), 3)
        saver.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with sqlite3.connect(path) as connection:
        rows = connection.execute("SELECT count(*) FROM writes").fetchone()[0]
    return {
        "profile": profile, "steps": count, "frequency": frequency,
        "sqlite": path.stat().st_size, "head_ms": cost, "walked": count % frequency or frequency,
        "writes": rows,
    }  # fmt: skip


# -- Postgres ----------------------------------------------------------------------------------------


SIZE = (
    "SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c JOIN pg_namespace n"
    " ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relkind = 'r'"
)

LONGEST_STOCK = 200
"""Steps beyond which LangGraph's own saver is not measured: it would write gigabytes."""


def postgres(profile: str, count: int, dsn: str, threads: int = 1) -> dict[str, Any]:
    """Bytes of all relations of the Postgres store that holds `threads` conversations, and the payload."""
    from lineage_reference.delta.stores_postgres import PostgresStore

    schema = f"bench_{count}_{threads}"
    store = PostgresStore(dsn, schema=schema)
    store.set_mode("shadow")
    recorder = Recorder(store, SERDE)
    payload = 0
    for thread in range(threads):
        versions: dict[str, str] = {}
        parent: str | None = None
        for number, step in enumerate(Workflow(profile).steps(count)):
            new = {c: version(number) for c in (step.changed if number else step.values)}
            versions.update(new)
            checkpoint = {"channel_values": step.values, "channel_versions": dict(versions)}
            place = (f"{THREAD[:-2]}{thread:02}", "", checkpoint_id(number))
            frame, line = recorder.frame(place, parent, checkpoint, new)
            store.append(frame)
            recorder.keep(line)
            payload += sum(len(data) for data in frame.data.values())
            parent = checkpoint_id(number)
    size = store.connection.execute(SIZE, (schema,)).fetchone()[0]
    store.close()
    return {
        "profile": profile, "steps": count, "threads": threads, "payload": payload, "postgres": int(size),
        "postgres_to_payload": round(int(size) / payload, 3),
        "stock": stock(profile, count, dsn) if threads == 1 and count <= LONGEST_STOCK else None,
    }  # fmt: skip


def stock(profile: str, count: int, dsn: str) -> int:
    """Bytes of all relations in which LangGraph's own Postgres saver keeps the same steps, one thread."""
    import psycopg
    from langgraph.checkpoint.postgres import PostgresSaver
    from psycopg.rows import dict_row

    schema = f"stock_{count}"
    with psycopg.connect(dsn, autocommit=True, row_factory=dict_row, prepare_threshold=0) as conn:
        conn.execute(f"CREATE SCHEMA {schema}")
        conn.execute(f"SET search_path TO {schema}")
        saver = PostgresSaver(conn)
        saver.setup()
        versions: dict[str, str] = {}
        parent: str | None = None
        for number, step in enumerate(Workflow(profile).steps(count)):
            new = {c: version(number) for c in (step.changed if number else step.values)}
            versions.update(new)
            made: Any = {
                **empty_checkpoint(), "id": checkpoint_id(number), "channel_values": dict(step.values),
                "channel_versions": dict(versions),
            }  # fmt: skip
            config: Any = {"configurable": {"thread_id": THREAD, "checkpoint_ns": ""}}
            if parent:
                config["configurable"]["checkpoint_id"] = parent
            saver.put(config, made, {"source": "loop", "step": number}, new)  # type: ignore[arg-type]
            parent = checkpoint_id(number)
        size = conn.execute(SIZE, (schema,)).fetchone()
    assert size is not None
    return int(next(iter(size.values())))


# -- results -----------------------------------------------------------------------------------------


def measure(
    lengths: list[int], profiles: list[str], longest: int, dsn: str | None
) -> dict[str, Any]:
    """Everything; the dear parts (heads, DeltaChannel) at the longest length only."""
    found: dict[str, Any] = {"sizes": [], "heads": [], "delta_channel": [], "postgres": []}
    names = ("langgraph-checkpoint", "langgraph", "langchain-core", "ormsgpack")
    found["about"] = {
        "python": platform.python_version(), "sqlite": sqlite3.sqlite_version,
        **{name: metadata.version(name) for name in names},
    }  # fmt: skip

    def fresh(work: Callable[[Path], Any], key: str) -> None:
        with tempfile.TemporaryDirectory() as folder:
            made = work(Path(folder))
        if made is not None:
            found[key].append(made)
            print(json.dumps(made), flush=True)

    for profile in profiles:
        for count in lengths:
            for encoding in ("splice", "tail"):
                if encoding == "tail" and profile in QUADRATIC and count > 1000:
                    continue
                fresh(lambda f, e=encoding, p=profile, n=count: run(p, n, e, f), "sizes")  # type: ignore[misc]
    # One message takes ten rows in profile growing: that is the worst case, and 200 steps show it.
    for profile, most in (
        ("append", longest),
        ("in-place", longest),
        ("growing", min(longest, 200)),
    ):
        for encoding in ("splice", "tail") if profile in profiles else ():
            quadratic = encoding == "tail" and profile in QUADRATIC
            count = min(most, 1000) if quadratic else most
            fresh(lambda f, e=encoding, p=profile, n=count: head(p, n, e, f), "heads")  # type: ignore[misc]
    for profile in [p for p in ("append", "in-place") if p in profiles]:
        for frequency in (10, 100, 1000):
            fresh(
                lambda f, q=frequency, p=profile: delta_channel(p, longest, q, f), "delta_channel"
            )  # type: ignore[misc]
    if dsn:
        for count, threads in (*((n, 1) for n in lengths), (min(lengths), 20)):
            fresh(lambda _, n=count, t=threads: postgres("append", n, dsn, t), "postgres")  # type: ignore[misc]
    return found


def main() -> None:
    """Measure, and write ``delta_size.json`` and ``delta_size.md`` beside this file unless told otherwise."""
    from tests.bench import delta_report

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, nargs="+", default=[50, 200, 1000, 2000])
    parser.add_argument("--profile", nargs="+", choices=PROFILES, default=list(PROFILES))
    parser.add_argument("--dsn", help="a PostgreSQL database to measure the Postgres store in")
    parser.add_argument("--out", type=Path, default=HERE, help="folder for the results")
    options = parser.parse_args()
    found = measure(options.steps, options.profile, max(options.steps), options.dsn)
    (options.out / "delta_size.json").write_text(
        json.dumps(found, indent=1) + "\n", encoding="utf-8"
    )
    (options.out / "delta_size.md").write_text(delta_report.render(found), encoding="utf-8")


if __name__ == "__main__":
    main()
