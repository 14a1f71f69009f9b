"""Which laws about the saver a failing graph breaks: its calls are recorded and judged next to the model.

The scenario is run once more under a recorder, on a fresh store; the recorded program is run by a session on
another one. What differs there is the saver's doing, not the graph's. A law is a suspect if its lens sees one of
these differences and the recording does what each of the law's own programs does (a law about copies of threads is
none where no thread was copied).
"""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Callable, Iterator
from typing import Any

from lineage_conformance import kinds, made, zoo
from lineage_conformance import law as laws
from lineage_conformance.handles import Face
from lineage_conformance.kinds.saver.operations import OPS, Op, Put, default_of
from lineage_conformance.kinds.saver.program import Program
from lineage_conformance.kinds.saver.recorder import Recording
from lineage_conformance.law import Law
from lineage_conformance.runner import Stores
from lineage_conformance.shrink import shrink
from lineage_conformance.trace import Diff
from lineage_conformance.witness import key, shown

SHRINKS = 120
"""Most replays that making the recorded program smaller may cost."""

_SHOWN = 20
_TELLING = (
    "via", "scribble", "watch", "whole", "handle", "versions", "inner", "filter", "before", "limit",
)  # fmt: skip
"""Fields that a program sets because its law is about them."""

_WEAK = frozenset({"put", "writes", "odd name", "odd value", "two threads"})
"""What programs do in any case, or besides: it can rule a law out, and never speaks for one."""

_OPS = frozenset(OPS) - {"put", "writes", "get", "list", "delta_history"}

_PLAIN = re.compile(r"[A-Za-z0-9_.:|#-]*")

_PLACES = tuple(
    (kind, tuple(path.split(".")))
    for kind, paths in {
        "get": "found config parent_config channel_values.a channel_versions.a versions_seen.a id "
        "pending_writes.0.2 writes_order metadata.step metadata.k reserved_metadata.k lost.channel_values.a",
        "list": "rows order row.found row.parent_config row.channel_values.a row.pending_writes.0.2 row.metadata.k",
        "put": "returned arguments",
        "writes": "arguments",
        "delta_history": "history.a.seed history.a.writes",
    }.items()
    for path in paths.split()
)
"""Places in which savers go wrong: how many of them a lens sees says how much a law is about."""


def evidence(
    stores: Stores,
    law: Law,
    face: Face,
    case: Any,
    beat: Callable[[int], None] = lambda step: None,
    referee: Callable[[], Any] | None = None,
) -> dict[str, Any] | None:
    """What the calls of a failing case show, as JSON data; None if they show nothing that is the saver's doing.

    ``laws``: ids, the likeliest first. ``program``: the smallest that shows the earliest difference that one of them
    sees. ``differences``: of that program. ``keys``: of the witness that it is. ``again``: False if only the
    recording itself shows it (something raised, and not again). ``notes``: what the program cannot say.
    """
    tape = record(stores, law, face, case, beat, referee)
    program = tape.program(f"the calls of {law.id}")
    stores.renew()
    found, again = stores.session(face, beat).run(program).diffs, True
    if not found:
        found, again = tape.raised, False
    named = suspects(program, found)
    if not named:
        return None
    small = program
    if again:
        wanted = next(diff for diff in found if any(item.lens(diff) for item in named))

        def differing(candidate: Program) -> list[Diff]:
            diffs = stores.session(face, beat).run(candidate).diffs
            return [d for d in diffs if d.kind == wanted.kind and d.path[:1] == wanted.path[:1]]

        small = shrink(program, lambda candidate: bool(differing(candidate)), SHRINKS)
        stores.renew()
        left = differing(small)
        small, found = (small, left) if left else (program, found)
    nearest = suspects(small, found)
    return {
        "laws": list(dict.fromkeys(item.id for item in (*nearest, *named))),
        "keys": [key(small, found[0])] if again else [],
        "program": small.to_json(),
        "differences": [shown(diff) for diff in found[:_SHOWN]],
        "again": again,
        "notes": list(tape.notes),
    }


def record(
    stores: Stores,
    law: Law,
    face: Face,
    case: Any,
    beat: Callable[[int], None] = lambda step: None,
    referee: Callable[[], Any] | None = None,
) -> Recording:
    """Run a case of a law that has a check once more, on a fresh store, and record what reaches the saver."""
    assert law.check is not None
    stores.renew()
    bench, tape = stores.bench(face, beat, referee), Recording()
    bench.watch(tape.attach)
    try:
        for _ in law.check(bench, case):
            pass
    except BaseException as error:  # what the saver raises ends the recording, and nothing else
        tape.notes.append(f"ended by {type(error).__name__}")
    finally:
        tape.detach()
    return tape


def suspects(program: Program, found: list[Diff]) -> list[Law]:
    """The laws about the saver alone that see one of the differences, the likeliest first.

    That is the one that sees the earliest, then the one whose own programs do most of what this one does, then
    the one that sees the least besides.
    """
    did = features(program)
    ranked = []
    for item in laws.all_laws(kinds.USUAL):
        if item.referee or item.check is not None or item.not_applicable() is not None:
            continue
        first = next((diff for diff in found if item.lens(diff)), None)
        if first is not None and _needed(item.id) <= did:
            always = first.path[:1] in (("raises",), ("found",))  # every lens sees these
            breadth = 0 if always else _breadth(item.id)
            ranked.append(((first.op, -len(_needed(item.id) - _WEAK), breadth), item))
    return [item for _, item in sorted(ranked, key=lambda entry: entry[0])]


def features(program: Program) -> frozenset[str]:
    """What a program does, in words that laws can be told apart by."""
    return frozenset(_features(program))


def _features(program: Program) -> Iterator[str]:
    put: set[tuple[Any, ...]] = set()
    threads: set[str] = set()
    for op in program.walk():
        yield op.name
        yield from _set(op)
        if isinstance(op, Put):
            if any(p[:3] == (op.thread, op.ns, op.id) for p in put):
                yield "put twice"
            if any(p[:2] == (op.thread, op.ns) and p[3] == op.parent for p in put):
                yield "fork"
            put.add((op.thread, op.ns, op.id, op.parent))
            if op.ns:
                yield "put in a namespace"
        if any(not _PLAIN.fullmatch(text) for _, text in op.names()):
            yield "odd name"
        if zoo.names_in(_values(op)) or any(made.imports(_values(op))):
            yield "odd value"
        thread = getattr(op, "thread", None)
        if thread is not None:
            threads.add(thread)
    if len(threads) > 1:
        yield "two threads"


def _values(op: Op) -> Any:
    """What an operation stores."""
    return [*op.values(), dict(getattr(op, "meta", None) or {})]


def _set(op: Op) -> Iterator[str]:
    for field in dataclasses.fields(op):
        if field.name in _TELLING and getattr(op, field.name) != default_of(field):
            yield f"{op.name}.{field.name}"


@functools.cache
def _needed(id: str) -> frozenset[str]:
    """What every program of a law does; looking is not counted, for there are several ways to look.

    Where an operation says what the law is about, what was put before it does not matter.
    """
    every = [features(case) for case in laws.get(id).programs]
    shared = (frozenset.intersection(*every) if every else frozenset()) - {"get", "list"}
    return shared & _OPS if shared & _OPS else shared


@functools.cache
def _breadth(id: str) -> int:
    lens = laws.get(id).lens
    return sum(lens(Diff(0, kind, path, "x", "y")) for kind, path in _PLACES)
