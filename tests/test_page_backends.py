"""Backends that were written from the page of `explain --kind` alone get verdicts, never a fault of the suite."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lineage_conformance.kinds import KINDS
from pytest_lineage.cli import main
from tests.test_explain_command import said

FULL = '''
import copy
from dataclasses import dataclass
from typing import Any

from langgraph.checkpoint.memory import InMemorySaver


@dataclass
class Blob:
    thread_id: str
    checkpoint_ns: str
    checkpoint_id: str
    channel: str
    version: Any
    step_action: str
    current_thread: int
    size: int
    data: Any


@dataclass
class Verified:
    checkpoints: int
    different: list
    proved: bool
    blob_bytes: int = 0
    full_bytes: int = 0


def is_list(value):
    if isinstance(value, dict):
        return all(isinstance(k, str) and isinstance(v, list) for k, v in value.items())
    return isinstance(value, list)


class Whole:
    """Every list is stored whole at every put, so that laws about sizes and generations are broken."""

    def __init__(self):
        self._inner = InMemorySaver()
        self.flags, self.kept, self.proved, self.puts = {}, {}, set(), set()

    def put(self, config, checkpoint, metadata, new_versions):
        c = config["configurable"]
        thread, ns, id = c["thread_id"], c.get("checkpoint_ns", ""), checkpoint["id"]
        made = self._inner.put(config, checkpoint, metadata, new_versions)
        if self.mode(thread) != "off":
            self.kept[thread, ns, id] = [
                Blob(thread, ns, id, channel, checkpoint["channel_versions"].get(channel),
                     "compaction", 0, len(repr(value)), copy.deepcopy(value))
                for channel, value in checkpoint["channel_values"].items() if is_list(value)
            ]
        return made

    def get_tuple(self, config):
        return self._inner.get_tuple(config)

    def get_next_version(self, current, channel):
        return self._inner.get_next_version(current, channel)

    def delete_thread(self, thread_id):
        self._inner.delete_thread(thread_id)
        self.kept = {key: blobs for key, blobs in self.kept.items() if key[0] != thread_id}
        self.proved.discard(thread_id)

    def rebuild(self, config):
        c = config["configurable"]
        blobs = self.kept.get((c["thread_id"], c.get("checkpoint_ns", ""), c.get("checkpoint_id")))
        return None if blobs is None else {b.channel: copy.deepcopy(b.data) for b in blobs}

    def blobs(self, thread_id):
        return [b for key, blobs in self.kept.items() if key[0] == thread_id for b in blobs]

    def set_mode(self, mode, threads=None):
        self.flags.update(dict.fromkeys([None] if threads is None else threads, mode))

    def mode(self, thread_id):
        wanted = self.flags.get(thread_id) or self.flags.get(None, "off")
        return "shadow" if wanted == "read" and thread_id not in self.proved else wanted

    def verify(self, thread_id):
        rows = list(self._inner.list({"configurable": {"thread_id": thread_id}}))
        different = []
        for row in rows:
            values = row.checkpoint["channel_values"]
            full = {name: value for name, value in values.items() if is_list(value)}
            if self.rebuild(row.config) != full:
                different.append(row.checkpoint["id"])
        if rows and not different:
            self.proved.add(thread_id)
        return Verified(len(rows), different, bool(rows) and not different)


def without_store():
    return Whole()


def with_store(store):
    return Whole()
'''

BARE = """
from lineage_conformance import kinds


def stub(kind, answer):
    record = kinds.get(kind)

    def plain(self, *args, **more):
        return answer()

    async def waited(self, *args, **more):
        return answer()

    names = dict.fromkeys(record.required("sync"), plain)
    names = {**dict.fromkeys(record.required("async"), waited), **names}
    return lambda store: type("Stub", (), names)()


def refuse():
    raise RuntimeError("not written yet")


for kind in ("rollback", "answer", "delta", "branching", "transfer"):
    globals()[kind + "_raises"] = stub(kind, refuse)
    globals()[kind + "_none"] = stub(kind, lambda: None)
    globals()[kind + "_odd"] = stub(kind, object)
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "whole.py").write_text(FULL, encoding="utf-8")
    (tmp_path / "bare.py").write_text(BARE, encoding="utf-8")
    return tmp_path


def checked(
    capsys: pytest.CaptureFixture[str], target: str, kind: str
) -> tuple[int, dict[str, Any]]:
    capsys.readouterr()
    arguments = ["--kind", kind, "--profile", "quick", "--face", "sync", "--format", "json"]
    code = main(["check", target, *arguments])
    return code, json.loads(capsys.readouterr().out)


def test_a_delta_backend_breaks_no_must_but_what_a_second_handle_shows(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, document = checked(capsys, "whole.py:with_store", "delta")
    assert code == 1
    bad = {row["law"]: row["level"] for row in document["laws"] if row["verdict"] == "broken"}
    # Two handles on one store do not share what this one keeps in memory, and it sends everything each time.
    assert set(bad) <= {
        "delta_blobs.survives-restart", "delta_blobs.two-gateways",
        "delta_blobs.unchanged-is-not-resent", "delta_blobs.generation-grows",
        "delta_blobs.appends-are-linear",
    }, bad  # fmt: skip


def test_without_a_store_it_must_show_a_saver(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, document = checked(capsys, "whole.py:without_store", "delta")
    assert code == 2
    assert "give it an attribute `saver`" in document["targets"][0]["error"]
    assert "or of its attribute `saver`" in " ".join(said(capsys, "--kind", "delta").split("\n# "))


@pytest.mark.parametrize("how", ["raises", "none", "odd"])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "saver"])
def test_what_is_not_written_yet_is_broken_and_no_fault_of_the_suite(
    kind: str, how: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, document = checked(capsys, f"bare.py:{kind}_{how}", kind)
    assert code == 1
    assert "fault" not in document["targets"][0]
