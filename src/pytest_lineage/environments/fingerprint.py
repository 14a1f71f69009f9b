"""Fingerprints: what the facts say about one target in one environment, as a document, and `facts.lock`."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from lineage_conformance import facts
from lineage_conformance.facts import Fact
from pytest_lineage.report.model import redact
from pytest_lineage.run.engine import TargetRun

FORMAT = 1
LOCK = "facts.lock"
"""The file in which a user pins facts."""

Fingerprint = dict[str, Any]
"""``{"format", "target", "class", "python", "versions", "facts": [{"id", "sentence", "value"}], "seconds"}``."""


class LockError(Exception):
    """A lock file cannot be read; the message says why."""


def take(run: TargetRun, done: Callable[[str], None] = lambda id: None) -> Fingerprint:
    """Observe every fact of a target that `run` opens (if it is not open yet).

    Raises what `TargetRun.start` raises if the target cannot be used.
    """
    begin = time.monotonic()
    about = run.about or run.start()
    observed = []
    for item in facts.all_facts():
        observed.append(
            {"id": item.id, "sentence": item.sentence, "value": redact(value(run, item))}
        )
        done(item.id)
    made: Fingerprint = redact(
        {
            "format": FORMAT,
            "target": about["name"],
            "class": about["class"],
            "python": about["python"],
            "versions": about["versions"],
            "facts": observed,
            "seconds": round(time.monotonic() - begin, 2),
        }
    )
    return made


def value(run: TargetRun, item: Fact) -> Any:
    """The value of one fact of an open target: of both halves if they differ."""
    halves = [face for face in ("sync", "async") if face in run.about["faces"]]
    asked = [half for half in halves if not item.faces or half in item.faces]
    if not item.target:
        asked = halves[:1]
    if not asked:
        return f"{facts.ABSENT}the saver has no {item.faces[0]} half"
    return facts.merge({half: run.observe(item.id, half) for half in asked})


def values(fingerprint: Fingerprint) -> dict[str, Any]:
    """The values of a fingerprint by fact."""
    return {entry["id"]: entry["value"] for entry in fingerprint["facts"]}


def lock(path: Path, fingerprints: list[Fingerprint]) -> None:
    """Pin the facts of some targets; those of other targets that are in the file stay. Sorted, to be diffed."""
    pinned = read_lock(path) if path.exists() else {}
    pinned.update((made["target"], values(made)) for made in fingerprints)
    data = {"format": FORMAT, "targets": {name: pinned[name] for name in sorted(pinned)}}
    path.write_text(json.dumps(data, indent=1, ensure_ascii=True) + "\n", encoding="utf-8")


def read_lock(path: Path) -> dict[str, dict[str, Any]]:
    """The pinned values by target and fact. Raises `LockError` for a file of another form."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise LockError(f"{path}: cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise LockError(f"{path}: is no JSON: {error}") from None
    found = data.get("targets") if isinstance(data, dict) else None
    if not isinstance(found, dict) or not all(isinstance(part, dict) for part in found.values()):
        raise LockError(
            f"{path}: is no lock file of facts; write one with `pytest-lineage facts --lock`"
        )
    if data.get("format") != FORMAT:
        raise LockError(f"{path}: has format {data.get('format')!r}, this version reads {FORMAT}")
    return found


def shown(value: Any, width: int = 100) -> str:
    """A value on one line: text as it is, the rest as JSON, cut to a width."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=True, sort_keys=True)
    text = "yes" if value is True else "no" if value is False else text
    return text if len(text) <= width else text[: width - 3] + "..."


def against(fingerprint: Fingerprint, pinned: Mapping[str, Any]) -> list[tuple[str, Any, Any]]:
    """Facts of a fingerprint that differ from their pinned value, as (id, pinned, observed)."""
    seen = values(fingerprint)
    return [(id, want, seen.get(id)) for id, want in pinned.items() if seen.get(id) != want]
