"""The Law record, the decorator that makes one, and the registry.

A law is one sentence about a target. Its check is data: cases that are replayed first (its corpus), a
strategy that makes more, and a *lens* that says which differences break this sentence and not another
one. For a saver a case is a program, and what differs is found by a session next to the model. Laws of
another shape bring a `check`, which runs a case on a `Bench` and yields the differences itself.
"""

from __future__ import annotations

import dataclasses
import enum
import fnmatch
import functools
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from lineage_conformance import contract, corpus, kinds
from lineage_conformance.kinds.saver.program import Program
from lineage_conformance.trace import Diff, Trace

if TYPE_CHECKING:
    from lineage_conformance.bench import Bench

Lens = Callable[[Diff], bool]


class Case(Protocol):
    """What a law is checked on, as data: a `Program`, or the form that a `check` reads."""

    def to_json(self) -> dict[str, Any]:
        """The case as JSON data, with a format version."""
        ...

    def smaller(self) -> Iterator[Any]:
        """Cases that are simpler by one step, the boldest first; shrinking tries them."""
        ...


Check = Callable[["Bench", Any], Iterable[Diff]]


class Level(str, enum.Enum):
    """How strong a sentence is: MUST fails a run, SHOULD and MAY never do unless asked to."""

    MUST = "MUST"
    SHOULD = "SHOULD"
    MAY = "MAY"


class Verdict(str, enum.Enum):
    """What a run says about one law on one face."""

    HOLDS = "holds"
    BROKEN = "broken"
    HANGS = "hangs"
    ENGINE = "engine"
    KNOWN = "known"
    FIXED = "fixed"
    REFUSED = "refused"
    NOT_APPLICABLE = "not-applicable"
    INCONCLUSIVE = "inconclusive"


class Stake(str, enum.Enum):
    """What is at stake where a law is broken, the worst first."""

    words: str
    """What can happen, in words for reports: a sentence without its full stop."""
    rank: int
    """Place in this order; 0 is the worst."""

    DELETED = "others-deleted", "someone else's data can be deleted"
    EXPOSED = "others-exposed", "someone else's data can be read"
    LOST = "lost", "acknowledged data can be lost"
    KEPT = "kept", "data that must be gone can still be read"
    CHANGED = "changed", "what was stored can come back changed"
    REPEATED = "repeated", "finished work can be done twice"
    FAILS = "fails", "a run can fail, hang or stop half way"
    MISORDERED = "misordered", "things can come back in another order"
    METADATA = "metadata", "metadata, lists or records can be wrong"
    COST = "cost", "it can cost time, space or convenience"

    def __new__(cls, key: str, words: str) -> Stake:
        """A member: its value is the key that reports carry."""
        made = str.__new__(cls, key)
        made._value_ = key
        made.words = words
        made.rank = len(cls.__members__)
        return made


@dataclass(frozen=True)
class Law:
    """One sentence that must hold of a target."""

    id: str
    """Stable: ``group.what-holds``. Renaming one is a breaking change."""
    sentence: str
    level: Level
    stake: Stake
    """What can happen to an application's data where the law is broken."""
    source: str
    """Where the sentence comes from: a base class docstring, the engine's need, or what is lost."""
    kind: str = "saver"
    meaning: str = ""
    """What a broken law means for an application."""
    reports: tuple[str, ...] = ()
    """Public reports that the law would have caught, as ``owner/repo#number``."""
    versions: tuple[str, ...] = ()
    """Requirements on the installed packages, e.g. ``langgraph-checkpoint>=4.1.0``."""
    needs: tuple[str, ...] = ()
    """Optional operations, ``store`` (durable, reopenable), ``handles`` (a second handle)."""
    after: tuple[str, ...] = ()
    """Laws whose breach explains a breach of this one."""
    lens: Lens = field(default=lambda diff: True, compare=False, repr=False)
    sees: str = "*"
    """Patterns of the fields in which the lens may see a difference; counts what a run observed."""
    corpus: Callable[[], Iterable[Any]] = field(default=tuple, compare=False, repr=False)
    """Yields the cases that are replayed first. Called when they are needed: values of the zoo import much."""
    check: Check | None = field(default=None, compare=False, repr=False)
    """Runs a case and yields the differences; None: cases are programs, run by a session."""
    decode: Callable[[Any], Any] = field(default=Program.from_json, compare=False, repr=False)
    """Reads a case from JSON data."""
    referee: bool = False
    """Whether a breach is tried on the strict reference too: broken there as well, it is the engine's."""
    focus: str = ""
    """Name of the strategy in `strategies` that makes more programs; empty: the corpus is all."""
    faces: tuple[str, ...] = ()
    """The faces on which the law makes sense; empty: all that the target has."""
    hang: bool = False
    """Whether the law is about a hang, so that a short limit is enough."""
    since: str = "0.1.0"
    """The version of the suite that added the law; later than the first, it is listed until reviewed."""
    limits: tuple[str, ...] = ()
    """Declared limits under which the sentence is not promised, e.g. ``history`` for shallow savers."""

    @property
    def group(self) -> str:
        """The part of the id before the first dot."""
        return self.id.partition(".")[0]

    @functools.cached_property
    def programs(self) -> tuple[Any, ...]:
        """The corpus of the law, made once."""
        return tuple(self.corpus())

    def observed(self, trace: Trace) -> int:
        """How many comparisons of a trace are about this law: each of them could have broken it."""
        return sum(count for field, count in trace.seen.items() if _about(self.sees, field))

    def not_applicable(self) -> str | None:
        """Why the law does not apply to the installed versions; None when it does."""
        for requirement in self.versions:
            reason = contract.unmet(requirement)
            if reason is not None:
                return reason
        return None


_REGISTRY: dict[str, Law] = {}
_ID = re.compile(r"[a-z0-9_]+\.[a-z0-9]+(-[a-z0-9]+)*")


def law(
    id: str,
    *,
    level: Level,
    stake: Stake,
    source: str,
    lens: str | Lens = "*",
    **options: Any,
) -> Callable[[Callable[[], Iterable[Any]]], Law]:
    """Make a law of a function: its docstring is the sentence, what it yields is the corpus.

    `lens` is a predicate on differences, or patterns such as ``get:metadata* list:row.metadata*``
    (an exception that was not allowed always counts). Where it is a predicate, `sees` names the fields that it
    looks at.
    """
    usual = getattr(lens, "patterns", "*") if callable(lens) else lens
    sees = str(options.pop("sees", usual))

    def wrap(function: Callable[[], Iterable[Any]]) -> Law:
        if not _ID.fullmatch(id):
            raise ValueError(f"{id!r} is no law id: group.words-with-hyphens")
        if id in _REGISTRY:
            raise ValueError(f"law {id!r} exists twice")
        sentence = " ".join((function.__doc__ or "").split())
        if not sentence:
            raise ValueError(f"law {id!r} has no sentence")
        made = Law(
            id=id,
            sentence=sentence,
            level=level,
            stake=stake,
            source=source,
            lens=lens if callable(lens) else matching(lens),
            sees=sees,
            corpus=function,
            **options,
        )
        _REGISTRY[id] = made
        return made

    return wrap


_BESIDES = frozenset({"added_metadata", "reserved_metadata"})


def matching(patterns: str) -> Lens:
    """A lens from patterns over `Diff.where`; exceptions and lost checkpoints always count."""
    wanted = patterns.split()

    def lens(diff: Diff) -> bool:
        if diff.path[:1] in (("raises",), ("found",)):
            return True
        named = wanted
        for added in _BESIDES & set(
            diff.path[:2]
        ):  # keys that nobody put: for laws that are about them
            named = [pattern for pattern in wanted if added in pattern]
        return any(fnmatch.fnmatchcase(diff.where, pattern) for pattern in named)

    lens.patterns = patterns  # type: ignore[attr-defined]
    return lens


@functools.cache
def _about(patterns: str, field: str) -> bool:
    """Whether one of `patterns` may match a difference in `field`, or deeper in it."""
    depth = field.count(".") + 1
    for pattern in patterns.split():
        short = ".".join(pattern.split(".")[:depth])
        if fnmatch.fnmatchcase(field, pattern) or fnmatch.fnmatchcase(field, short):
            return True
    return False


def extend(id: str, more: Callable[[], Iterable[Any]]) -> None:
    """Add cases to the corpus of a law. Raises `KeyError` if there is no such law."""
    item = _REGISTRY[id]
    _REGISTRY[id] = dataclasses.replace(item, corpus=lambda: (*item.corpus(), *more()))


@functools.cache
def load() -> None:
    """Import every module of laws, which registers them, and add the corpus of each room, once."""
    for room in kinds.ROOMS:
        for module in room.laws:
            room.module(f"laws.{module}")
    for room in kinds.ROOMS:
        attach(room.corpus)


def attach(folder: Path) -> None:
    """Add the programs of a corpus to their laws. Raises `ValueError` for one whose law does not exist."""
    for id, held in corpus.entries(folder).items():
        if id not in _REGISTRY:
            raise ValueError(f"the corpus has a program for {id!r}, and no law is called so")
        extend(id, functools.partial(_decoded, id, held))


def _decoded(id: str, held: Iterable[Any]) -> list[Any]:
    return [_REGISTRY[id].decode(data) for data in held]


def all_laws(kind: str | None = None) -> list[Law]:
    """Every registered law in the order of definition, causes before consequences."""
    load()
    return [item for item in _REGISTRY.values() if kind is None or item.kind == kind]


def get(id: str) -> Law:
    """The law with this id. Raises `KeyError` that names near ones."""
    import difflib

    known = {item.id: item for item in all_laws()}
    if id in known:
        return known[id]
    near = difflib.get_close_matches(id, known, 3)
    hint = f"; did you mean {', '.join(near)}?" if near else "; see `pytest-lineage laws`"
    raise KeyError(f"no law is called {id!r}{hint}")


def select(patterns: Iterable[str], kind: str = "saver") -> list[Law]:
    """The laws whose id, group or glob matches one of `patterns` (none given: all of the kind).

    Raises `KeyError` for a pattern that matches nothing, naming near ids.
    """
    laws = all_laws(kind)
    chosen: dict[str, Law] = {}
    wanted = [p for item in patterns for p in item.split(",") if p]
    for pattern in wanted:
        found = [i for i in laws if fnmatch.fnmatchcase(i.id, pattern) or i.group == pattern]
        if not found:
            get(pattern)
            raise KeyError(
                f"no law of kind {kind!r} matches {pattern!r}; see `pytest-lineage laws`"
            )
        chosen.update((item.id, item) for item in found)
    return [item for item in laws if not wanted or item.id in chosen]


def causes(item: Law) -> Iterator[str]:
    """Ids of the laws that explain a breach of `item`, nearest first, each once.

    A law that asks the referee runs a whole graph, which stands on all that the laws about the saver
    itself say: they come last.
    """
    seen: set[str] = set()
    queue = list(item.after)
    if item.referee:
        queue += [other.id for other in _REGISTRY.values() if other.check is None]
    while queue:
        id = queue.pop(0)
        if id not in seen and id in _REGISTRY:
            seen.add(id)
            yield id
            queue.extend(_REGISTRY[id].after)
