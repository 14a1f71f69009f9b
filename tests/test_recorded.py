"""Recorded stores: what old releases left half-way is read and finished by the installed release."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lineage_conformance import contract, recorded
from lineage_conformance.handles import Handle, Loop

RECORDINGS = recorded.recordings()
RERUN = {"interrupt", "nested-fan-out-failed", "stopped-step", "subgraph"}
"""Stories of langgraph 0.2 whose finished tasks newer releases do not recognise, so that they run again."""

pytestmark = pytest.mark.skipif(
    contract.unmet("langgraph>=0.6") is not None,
    reason="written by newer releases than the installed one",
)


@pytest.fixture(scope="module")
def loop() -> Iterator[Loop]:
    made = Loop()
    yield made
    made.close()


def readable(recording: recorded.Recording) -> bool:
    return contract.unmet(f"langgraph>={recording.packages['langgraph']}") is None


def lost(found: dict[str, Any]) -> dict[str, Any]:
    return {story: value for story, value in found.items() if isinstance(value, dict)}


def expected(recording: recorded.Recording, found: dict[str, Any]) -> None:
    """Nothing is lost, but that tasks of the 0.2 line run again; all that they wrote is there."""
    assert len(found) == len(recorded.STORIES)
    if recording.id != "0-2":
        assert lost(found) == {}
        return
    assert set(lost(found)) <= RERUN
    assert all(set(value["expected"]) == {"began"} for value in lost(found).values())


def test_every_line_is_recorded_in_all_forms() -> None:
    assert [recording.id for recording in RECORDINGS] == [
        "0-2",
        "0-3",
        "0-4",
        "0-5",
        "0-6",
        "1-0",
        "1-1",
        "1-2",
    ]
    for recording in RECORDINGS:
        assert recording.sqlite.stat().st_size < 300_000
        assert recording.sql.stat().st_size < 300_000
        assert recording.seen.keys() == set(recorded.STORIES)


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda recording: recording.id)
def test_a_sqlite_file_is_finished(
    recording: recorded.Recording, loop: Loop, tmp_path: Path
) -> None:
    module = pytest.importorskip("langgraph.checkpoint.sqlite")
    if not readable(recording):
        pytest.skip("of a newer release than the installed one")
    with module.SqliteSaver.from_conn_string(str(recording.copy(tmp_path))) as saver:
        found = recorded.finish(Handle(saver, loop), "sync", recording, recorded.PREFIX, "own")
    expected(recording, found)


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda recording: recording.id)
def test_a_dump_is_plain_statements_of_ascii(recording: recorded.Recording) -> None:
    lines = recording.sql.read_text(encoding="ascii").splitlines()
    assert lines[0].startswith("-- langgraph")
    assert all(
        re.match(r"INSERT INTO checkpoint\w* \([\w, ]+\) VALUES \(.*\);$", line)
        for line in lines[1:]
    )
    assert len(recording.statements("p")) == len(lines) - 1
    assert recorded.PREFIX + "-" not in "".join(recording.statements("p"))


@pytest.mark.postgres
def test_the_dumps_are_finished_by_postgres(loop: Loop) -> None:
    module = pytest.importorskip("langgraph.checkpoint.postgres")
    from pytest_lineage.postgres import PostgresUnavailable, StoreMaker, open_server

    try:
        server = open_server()
    except PostgresUnavailable as error:
        pytest.skip(str(error).splitlines()[0])
    with (
        server,
        StoreMaker(server.dsn) as stores,
        module.PostgresSaver.from_conn_string(stores.create("recorded")) as saver,
    ):
        saver.setup()
        for number, recording in enumerate(filter(readable, RECORDINGS)):
            for statement in recording.statements(f"r{number}"):
                saver.conn.execute(statement)
            handle, prefix = Handle(saver, loop), f"r{number}"
            expected(recording, recorded.finish(handle, "sync", recording, prefix, f"own{number}"))
