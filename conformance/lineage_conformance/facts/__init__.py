"""Facts: what is observed rather than required. Together they are the fingerprint of a stack and a target.

A fact is one small deterministic probe with a sentence. Its value is plain data, the same in every run on the same
packages. A bump that changes a value has changed behaviour, even where no law is broken. What cannot be asked has a
value that says so: ``absent: ...`` (these packages do not have it), ``not implemented`` (the saver refuses it).
"""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from lineage_conformance.bench import Bench
from lineage_conformance.canon import canon
from lineage_conformance.facts.probe import Absent, Probe

GROUPS = (
    "contract", "filtering", "reading", "storing", "text", "serde", "state", "interrupts", "forks", "calls",
    "stopping", "delta", "subgraphs", "messages", "recordings",
)  # fmt: skip
"""Modules in the order in which their facts are printed."""

ABSENT = "absent: "
"""How the value of something that the installed packages do not have begins."""


@dataclass(frozen=True)
class Fact:
    """One thing that can be observed of a target, or of the installed packages alone."""

    id: str
    """Stable: ``group.words-with-hyphens``."""
    sentence: str
    """What is observed."""
    probe: Callable[[Probe], Any] = field(compare=False, repr=False)
    means: str = ""
    """What it may mean for an application when the value changes."""
    target: bool = True
    """Whether a saver is asked; else the value depends on the packages alone and is asked once."""
    faces: tuple[str, ...] = ()
    """The halves that are asked; empty: each that the saver has."""

    @property
    def group(self) -> str:
        """The part of the id before the first dot."""
        return self.id.partition(".")[0]


_REGISTRY: dict[str, Fact] = {}
_ID = re.compile(r"[a-z]+\.[a-z0-9]+([-_][a-z0-9]+)*")


def fact(id: str, means: str = "", **options: Any) -> Callable[[Callable[[Probe], Any]], Fact]:
    """Make a fact of a function: its docstring is the sentence, what it returns is the value."""

    def wrap(function: Callable[[Probe], Any]) -> Fact:
        return add(Fact(id, " ".join((function.__doc__ or "").split()), function, means, **options))

    return wrap


def add(item: Fact) -> Fact:
    """Register a fact. Raises `ValueError` for an id of another form, one that exists, or no sentence."""
    if not _ID.fullmatch(item.id) or item.id in _REGISTRY:
        raise ValueError(f"{item.id!r} is no fact id, or exists twice")
    if not item.sentence:
        raise ValueError(f"fact {item.id!r} has no sentence")
    _REGISTRY[item.id] = item
    return item


def all_facts() -> list[Fact]:
    """Every fact, by group."""
    for group in GROUPS:
        importlib.import_module(f"{__name__}.{group}")
    return list(_REGISTRY.values())


def get(id: str) -> Fact:
    """The fact with this id. Raises `KeyError` that names near ones."""
    import difflib

    known = {item.id: item for item in all_facts()}
    if id in known:
        return known[id]
    near = difflib.get_close_matches(id, known, 3)
    raise KeyError(
        f"no fact is called {id!r}" + (f"; did you mean {', '.join(near)}?" if near else "")
    )


def observe(item: Fact, bench: Bench) -> Any:
    """The value of a fact on the half of the bench's face, as a canonical tree. Never raises an `Exception`."""
    try:
        return canon(item.probe(Probe(bench)))
    except Absent as absent:
        return f"{ABSENT}{absent}"
    except NotImplementedError:
        return "not implemented"
    except Exception as error:
        # Without the message: it quotes ids, paths and versions, and is no promise.
        return f"raises {type(error).__name__}"


def merge(values: Mapping[str, Any]) -> Any:
    """One value of what the halves of a saver gave (at least one): the common value, or each under its name."""
    different = [value for value in values.values() if value != next(iter(values.values()))]
    return dict(values) if different else next(iter(values.values()))


def flips(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Facts whose value differs between two fingerprints (id to value), as (id, old, new); None: not there."""
    for id in [*old, *(id for id in new if id not in old)]:
        if old.get(id) != new.get(id):
            yield id, old.get(id), new.get(id)
