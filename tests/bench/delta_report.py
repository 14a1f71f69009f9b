"""The benchmark's results as tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def render(found: dict[str, Any]) -> str:
    """The results as Markdown."""
    about = ", ".join(f"{name} {value}" for name, value in found["about"].items())
    parts = [
        "# Delta blobs: sizes and costs\n",
        "Made by `python -m tests.bench.delta_size` (fixed seed; see its docstring for what bound, payload and "
        f"request mean, and detection and recording). {about}.\n",
        "## What was to be reached, and the worst of it\n",
        _targets(found),
        "## Ratios to the bound\n",
        _ratios(found["sizes"]),
        "## Side by side\n",
        "Bytes in MB. `full` and `per version` are serialized lists alone: a full checkpoint per step, and one "
        "blob per channel and version as the stock Postgres saver keeps them.\n",
        _side_by_side(found["sizes"]),
    ]
    if found["heads"]:
        parts += [
            "## Reading the head (ms of CPU, SQLite)\n",
            "`fetch` is what SQLite takes to hand over the rows, before any of them is read: a floor for whatever "
            "keeps one row for each step and channel. In profile growing the full checkpoint is a few long texts, "
            "which load at the speed of memory.\n",
            _heads(found["heads"]),
        ]
    if found["delta_channel"]:
        parts += ["## LangGraph's DeltaChannel on SQLite, same steps\n", _channel(found)]
    if found["postgres"]:
        rows = [
            (
                r["steps"],
                r["threads"],
                _mb(r["payload"]),
                _mb(r["postgres"]),
                r["postgres_to_payload"],
                _mb(r.get("stock")),
            )
            for r in found["postgres"]
        ]
        parts += [
            "## PostgreSQL\n",
            _table(
                (
                    "steps",
                    "threads",
                    "payload",
                    "relations",
                    "relations / payload",
                    "LangGraph's own saver",
                ),
                rows,
            ),
        ]
    return "\n".join(parts)


FIRST = ("append", "compaction-1", "compaction-2", "compaction-3", "in-place", "early-edit")
"""Profiles that change items, or add some; in the others most items change or go all the time."""


def _targets(found: dict[str, Any]) -> str:
    """Each target for encoding ``splice``, the worst figure against it, and where that was."""
    splice = [row for row in found["sizes"] if row["encoding"] == "splice"]
    first = [row for row in splice if row["profile"] in FIRST]
    others = [row for row in splice if row["profile"] not in FIRST]
    alone = [row for row in found["postgres"] if row["threads"] == 1]
    heads = [row for row in found["heads"] if row["encoding"] == "splice"]
    rows = [
        _worst("lists, to the bound: profiles that change or add items", 1.02, first, "lists"),
        _worst("lists, to the bound: a window, a growing text", 1.10, others, "lists"),
        _worst("all channels, to the bound", 1.05, splice, "all"),
        _worst("a request, to the bound", 1.06, splice, "request"),
        _worst("the same, squeezed", 0.35, splice, "request_packed"),
        _worst("SQLite file, to the payload", 1.25, splice, "sqlite_to_payload"),
        _worst("PostgreSQL, to the payload: fewer than 200 steps, with other threads beside", 1.25,
               [row for row in found["postgres"] if row["threads"] > 1], "postgres_to_payload"),
        _worst("the same with one thread alone, which three tables and their indexes outweigh", 1.25,
               [row for row in alone if row["steps"] < 200], "postgres_to_payload"),
        _worst("the same alone, from 200 steps on", 1.0,
               [row for row in alone if row["steps"] >= 200], "postgres_to_payload"),
        _worst("CPU of reading the head, to that of one full checkpoint", 3.5, heads, "ratio"),
        _worst("detection, to one serialization: from 200 steps on", 0.15,
               [row for row in splice if row["steps"] >= 200], "detection"),
        _worst("the same with fewer steps", 0.15,
               [row for row in splice if row["steps"] < 200], "detection"),
    ]  # fmt: skip
    return _table(("what", "at most", "worst", "where", "all others"), [row for row in rows if row])


def _worst(
    what: str, most: float, rows: Sequence[dict[str, Any]], key: str
) -> tuple[Any, ...] | None:
    """One line; `all others` is the worst of the other profiles, where this one misses the target."""
    if not rows:
        return None
    worst = max(rows, key=lambda row: float(row[key]))
    rest = [float(row[key]) for row in rows if row["profile"] != worst["profile"]]
    missed = float(worst[key]) > most
    return (
        what,
        most,
        f"**{worst[key]}**" if missed else worst[key],
        f"{worst['profile']}, {worst['steps']} steps",
        max(rest) if missed and rest else "",
    )


def _ratios(rows: Sequence[dict[str, Any]]) -> str:
    names = (
        "lists",
        "all",
        "request",
        "request_packed",
        "sqlite_to_payload",
        "detection",
        "recording",
        "head_rows",
    )
    head = ("profile", "steps", "encoding", "lists", "all", "request", "squeezed", "SQLite / payload",
            "detection", "recording", "rows of the head")  # fmt: skip
    return _table(
        head, [(r["profile"], r["steps"], r["encoding"], *(r[n] for n in names)) for r in rows]
    )


def _side_by_side(rows: Sequence[dict[str, Any]]) -> str:
    by = {(r["profile"], r["steps"], r["encoding"]): r for r in rows}
    out = []
    for (profile, steps, encoding), row in by.items():
        if encoding != "splice":
            continue
        tail = by.get((profile, steps, "tail"))
        sizes = [
            row["bound"],
            row["full"],
            row["per_version"],
            tail and tail["payload"],
            row["payload"],
            tail and tail["sqlite"],
            row["sqlite"],
        ]
        share = f"{row['payload'] / row['full']:.2%}"
        out.append((profile, steps, *map(_mb, sizes), share))
    head = ("profile", "steps", "bound", "full", "per version", "tail", "splice", "tail on disk",
            "splice on disk", "splice / full")  # fmt: skip
    return _table(head, out)


def _heads(rows: Sequence[dict[str, Any]]) -> str:
    head = (
        "profile",
        "steps",
        "encoding",
        "one full checkpoint",
        "rebuilt",
        "ratio",
        "rows",
        "fetch",
    )
    return _table(head, [tuple(r.values()) for r in rows])


def _channel(found: dict[str, Any]) -> str:
    rows = [
        (r["profile"], r["steps"], r["frequency"], _mb(r["sqlite"]), r["head_ms"], r["walked"])
        for r in found["delta_channel"]
    ]
    head = (
        "profile",
        "steps",
        "frequency",
        "on disk",
        "history of the head, ms",
        "checkpoints walked",
    )
    return _table(head, rows)


def _mb(size: int | None) -> str:
    return "not measured" if size is None else f"{size / 1e6:.3f}"


def _table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"
