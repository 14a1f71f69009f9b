"""Reports made by hand: fixed versions and times, every kind of verdict, values that bite."""

from __future__ import annotations

import copy
from collections import Counter
from typing import Any

from lineage_conformance.graphs.shape import Shape, Tool
from lineage_conformance.kinds.graph.scenario import invoke, scenario

FACES = ["sync", "async", "sync->async", "async->sync"]

VERSIONS = {
    "pytest-lineage": "0.1.0",
    "langgraph-checkpoint": "4.3.2",
    "langgraph": "1.2.24",
    "langgraph-checkpoint-postgres": "3.2.0",
    "hypothesis": "6.170.17",
    "pytest": "9.2.0",
}

STACK = """\
Thread 0x00007f00 (most recent call first):
  File "/usr/lib/python3.12/selectors.py", line 468 in select
  File "/usr/lib/python3.12/asyncio/base_events.py", line 1949 in _run_once
  File "/srv/x/conformance/lineage_conformance/handles.py", line 30 in run

Current thread 0x00007f01 (most recent call first):
  File "/usr/lib/python3.12/threading.py", line 355 in wait
  File "/venv/lib/python3.12/site-packages/acme_saver/pool.py", line 71 in acquire
  File "/venv/lib/python3.12/site-packages/acme_saver/saver.py", line 210 in get_tuple
  File "/venv/lib/python3.12/site-packages/lineage_conformance/handles.py", line 61 in call
  File "/venv/lib/python3.12/site-packages/pytest_lineage/run/worker.py", line 129 in <module>
  File "<frozen runpy>", line 88 in _run_code
"""


def row(law: str, face: str = "sync", target: str = "acme", **fields: Any) -> dict[str, Any]:
    """One verdict; `holds` and MUST unless told otherwise."""
    made = {
        "law": law,
        "face": face,
        "target": target,
        "level": "MUST",
        "verdict": "holds",
        "group": law.partition(".")[0],
        "sentence": "A sentence that must hold.",
        "source": "engine: it relies on it",
        "seconds": 0.01,
        "examples": 2,
    }
    return {**made, **fields}


def evidence(ops: list[dict[str, Any]], *differences: tuple[int, str, Any, Any]) -> dict[str, Any]:
    """Evidence: a program and differences as (operation, field, expected, got)."""
    return {
        "program": {"format": 1, "ops": copy.deepcopy(ops)},
        "differences": [
            {"op": op, "at": at, "expected": expected, "got": got}
            for op, at, expected, got in differences
        ],
    }


def document(
    targets: list[dict[str, Any]], rows: list[dict[str, Any]], code: int, **fields: Any
) -> dict[str, Any]:
    """A whole document around targets and rows."""
    groups: dict[str, dict[str, dict[str, int]]] = {}
    for item in rows:
        counts = groups.setdefault(item["target"], {}).setdefault(item["group"], {})
        counts[item["verdict"]] = counts.get(item["verdict"], 0) + 1
    made = {
        "format": 1,
        "suite": {"name": "pytest-lineage", "version": "0.1.0"},
        "kind": "saver",
        "profile": "default",
        "python": "3.12.1",
        "platform": "Linux",
        "versions": dict(VERSIONS),
        "targets": targets,
        "laws": rows,
        "summary": {"verdicts": dict(Counter(r["verdict"] for r in rows)), "groups": groups},
        "exit_code": code,
    }
    return copy.deepcopy({**made, **fields})


def target(name: str = "acme", **fields: Any) -> dict[str, Any]:
    """A target with all four faces."""
    made = {
        "name": name,
        "class": "acme_saver.saver.AcmeSaver",
        "faces": list(FACES),
        "absent": {},
        "store": True,
        "limits": {},
        "unsupported": {},
        "seconds": 12.34,
    }
    return {**made, **fields}


def holding(*laws: str, faces: list[str] | None = None, name: str = "acme") -> list[dict[str, Any]]:
    """Rows of laws that hold."""
    return [row(law, face, name) for law in laws for face in faces or FACES]


FORK = [
    {"op": "put", "id": 1, "set": {"a": "x"}},
    {"op": "put", "id": 2, "parent": 1, "set": {"a": "left"}},
    {"op": "put", "id": 3, "parent": 1, "set": {"a": "right"}},
    {"op": "get", "id": 2},
]


def broken() -> dict[str, Any]:
    """One target with everything that can go wrong with laws."""
    rows = holding("put.is-readable", "put.returns-its-config")
    for face in FACES:
        different = face == "async"
        at = "get:channel_values.b" if different else "get:channel_values.a"
        rows.append(
            row(
                "fork.siblings-keep-their-values", face, verdict="broken",
                sentence="Two children of one checkpoint each keep the channel values they were put with.",
                source="engine: every fork resumes from what get_tuple returns for its own checkpoint",
                meaning="Editing an old message changes the branch that the user left alone.",
                reports=["acme/saver#12", "langchain-ai/langgraph#1138"],
                reason=f"{at}: expected 'left', got 'right'",
                evidence=evidence(FORK, (3, at, "left", "right")),
            )
        )  # fmt: skip
        rows.append(
            row(
                "fork.branches-are-independent", face, verdict="broken",
                caused_by="fork.siblings-keep-their-values",
                evidence=evidence(FORK, (3, "get:channel_values.a", "left", "right")),
            )
        )  # fmt: skip
    rows += _lists() + _hang()
    for face in FACES:
        reason = "needs langgraph-checkpoint>=5.0, installed is 4.3.2"
        rows.append(row("delta_history.answers", face, verdict="not-applicable", reason=reason))
    rows.append(
        row("writes.first-wins", verdict="known", reason="known since 2024-05-01: acme/saver#7")
    )
    rows.append(
        row("writes.exactly-once", verdict="engine", reason="the engine sends the write twice")
    )
    rows.append(
        row(
            "prune.keeps-latest", verdict="refused", level="SHOULD",
            reason="declared unsupported (the store is append-only); refuses cleanly",
        )
    )  # fmt: skip
    described = target(
        limits={"filter": "the index has no metadata"},
        unsupported={"prune": "the store is append-only"},
        postgres="the server of LINEAGE_POSTGRES_DSN, version 17.2",
    )
    return document([described], rows, 1)


def _lists() -> list[dict[str, Any]]:
    ops = [
        {"op": "put", "id": 1},
        {"op": "put", "id": 2, "thread": "u"},
        {"op": "writes", "id": 1, "items": [["messages", {"$": "human"}]]},
        {"op": "list", "thread": None, "ns": None, "limit": 2},
    ]
    rows = []
    for face in FACES[:2]:
        found = evidence(ops, (3, "list:rows", ["t#1", "u#2"], ["t#1"]))
        rows.append(
            row(
                "list.limit", face, level="SHOULD", verdict="broken",
                sentence="list gives at most `limit` checkpoints, the newest ones.",
                source="BaseCheckpointSaver.list: limit is the maximum number of checkpoints",
                meaning="A history page shows too little.", evidence=found,
                reason="list:rows: expected ['t#1', 'u#2'], got ['t#1']",
            )
        )  # fmt: skip
    return [*rows, *holding("list.limit", faces=FACES[2:]), *holding("list.order")]


def _hang() -> list[dict[str, Any]]:
    ops = [{"op": "put", "id": 1}, {"op": "list", "inner": [{"op": "get", "id": 1}]}]
    shown = evidence(ops, (1, "list:raises", "an answer", "no answer"))
    shown["stack"] = STACK
    hang = row(
        "concurrency.answers-while-listing", "sync", verdict="hangs",
        sentence="The saver answers while an iterator of list is open.",
        source="users: loops over get_state_history call the graph",
        meaning="A loop over the history stops the process for good.",
        reason="no answer for 1 s in list (operation 2 of the program)", evidence=shown, seconds=2.1,
    )  # fmt: skip
    late = [
        row("concurrency.answers-while-listing", face, verdict="inconclusive",
            reason="not run: 4 laws before it hung or died on this face")
        for face in FACES[1:]
    ]  # fmt: skip
    return [hang, *late]


def good() -> dict[str, Any]:
    """Two targets that are good, one of them with a broken SHOULD and without an async half."""
    rows = holding("put.is-readable", "fork.parents", name="memory")
    rows += holding("put.is-readable", faces=["sync"], name="sqlite")
    ops = [{"op": "put", "id": 1}, {"op": "get", "id": 1}]
    rows.append(
        row(
            "metadata.types", "sync", "sqlite", level="SHOULD", verdict="broken",
            sentence="Numbers in metadata keep their type.",
            evidence=evidence(ops, (1, "get:metadata.step", 1, {"~float": "1.0"})),
        )
    )  # fmt: skip
    reason = "aput_writes is not implemented"
    targets = [
        target("memory", **{"class": "langgraph.checkpoint.memory.InMemorySaver"}, store=False, seconds=1.2),
        target(
            "sqlite", **{"class": "langgraph.checkpoint.sqlite.SqliteSaver"}, faces=["sync"],
            absent=dict.fromkeys(FACES[1:], reason), seconds=3.4,
        ),
    ]  # fmt: skip
    return document(targets, rows, 0, profile="quick")


def unusable() -> dict[str, Any]:
    """Targets about which nothing, or too little, can be said."""
    targets = [
        {"name": "./app.py:saver", "error": "./app.py:saver: the factory raised OSError: no route", "seconds": 0.2},
        {"name": "reference", "fault": "KeyError: 'x'\nTraceback (most recent call last):\n  ...", "seconds": 0.1},
        target("half", incomplete="1 MUST without a verdict, first put.is-readable[sync]", seconds=9.0),
    ]  # fmt: skip
    late = row(
        "put.is-readable", "sync", "half", verdict="inconclusive", reason="not run: time limit"
    )
    return document(targets, [late, row("put.twice", "sync", "half")], 2)


def ratchet() -> dict[str, Any]:
    """A run with a known-failures file: known, fixed, and a law that is newer than the file."""
    ops = [{"op": "put", "id": 1}, {"op": "get", "id": 1}]
    rows = [
        row("put.is-readable"),
        row("list.order", verdict="known", reason="bug: acme/saver#7", program_id="1a2b3c4d"),
        row(
            "metadata.types", verdict="broken", sentence="Numbers in metadata keep their type.",
            evidence=evidence(ops, (1, "get:metadata.step", 1, True)), program_id="5e6f7a8b",
            advisory="new since 0.1.0 and not reviewed",
        ),
    ]  # fmt: skip
    told = {
        "file": "lineage-known.toml",
        "fail_on": "new",
        "problems": ["entry 2 (acme, list.limit): until 2024-01-31 is past"],
        "unreviewed": ["metadata.types", "put.new-law"],
    }
    return document([target(faces=["sync"])], rows, 2, known=told)


def causes() -> dict[str, Any]:
    """Roots with different stakes; what follows; a law that is a root on one face only; the engine's calls."""
    ops = [
        {"op": "put", "id": 1, "thread": "a[b]"},
        {"op": "put", "id": 1, "thread": "ab"},
        {"op": "delete_thread", "thread": "a[b]"},
        {"op": "get", "thread": "ab"},
    ]
    late = [{"op": "put", "id": 2}, {"op": "put", "id": 1}, {"op": "get"}]
    gone = evidence(ops, (3, "get:found", "a checkpoint", "nothing"))
    old = evidence(late, (2, "get:config.configurable.checkpoint_id", "#2", "#1"))
    scene = {
        "program": scenario(Shape((Tool("a"),)), invoke()).to_json(),
        "differences": [{"op": 0, "at": "invoke:next", "expected": ["a"], "got": []}],
    }  # fmt: skip
    rows = holding("put.is-readable", faces=FACES[:2])
    rows[0].update(refused=2, observations=9)
    for face in FACES[:2]:
        rows += [
            row(
                "latest.is-largest-id", face, verdict="broken", stake="lost", evidence=old,
                sentence="Without an id get_tuple returns the checkpoint with the largest id.",
                program_id="latest-0a1b2c3d",
            ),
            row(
                "list.limit", face, verdict="broken", level="SHOULD", stake="metadata",
                evidence=evidence(late, (2, f"list:{'rows' if face == 'sync' else 'found'}", [1], [])),
            ),
            row(
                "namespaces.deletion-stays-inside", face, verdict="broken", stake="others-deleted",
                sentence="Deleting a thread leaves threads alone whose ids match as a pattern.",
                meaning="Deleting one conversation deletes others.",
                evidence=gone, program_id="namespaces-4e5f6071",
            ),
            row(
                "delete.id-reusable", face, verdict="broken", stake="kept", evidence=old,
                program_id="delete-8899aabb", sentence="A thread id that was deleted starts empty.",
                **({} if face == "sync" else {"caused_by": "latest.is-largest-id"}),
            ),
            row(
                "graph_fork.as-node-schedules-its-successors", face, verdict="broken", stake="fails",
                caused_by="latest.is-largest-id",
                evidence={**scene, "recorded": {"laws": ["latest.is-largest-id"], **old}},
            ),
        ]  # fmt: skip
    return document([target(faces=FACES[:2])], rows, 1)


HOSTILE = "\x1b[31mred\x1b[0m \x00nul \u202egnp.exe \ud800 <b>&amp; `|` ]]> @user #1 \r\n'\""


def hostile() -> dict[str, Any]:
    """Names, values and messages that try to break out of every format."""
    big = HOSTILE + "x" * 1_000_000
    ops = [
        {"op": "put", "id": 1, "thread": HOSTILE, "ns": HOSTILE, "set": {HOSTILE: big}},
        {"op": "get", "id": 1, "thread": HOSTILE, "ns": HOSTILE},
    ]
    at = f"get:channel_values.{HOSTILE}"
    rows = [
        row(
            "values.round-trip", verdict="broken", target=HOSTILE, sentence=HOSTILE, source=HOSTILE,
            meaning=HOSTILE, reports=[HOSTILE], reason=big,
            evidence=evidence(ops, (1, at, big, big + "!")),
        ),
        row("put.is-readable", verdict="inconclusive", target=HOSTILE, reason=big),
    ]  # fmt: skip
    odd = target(HOSTILE, **{"class": HOSTILE}, limits={"text": HOSTILE}, absent={"async": HOSTILE})
    return document([odd], rows, 1, versions={HOSTILE: HOSTILE})


ALL = {"broken": broken, "good": good, "unusable": unusable, "ratchet": ratchet, "causes": causes}
