"""Root failures: what is broken by itself, and under each what follows from it; the worst first.

A row that follows carries `caused_by`: the law that is broken by itself on the same face. So one law can
be a root on one face and follow from another law on the next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lineage_conformance.law import Stake

Row = Mapping[str, Any]
BAD = ("broken", "hangs")
LEVELS = ("MUST", "SHOULD", "MAY")

_STAKES = {stake.value: stake for stake in Stake}


@dataclass
class Failure:
    """One law that one target breaks by itself: the rows, and what is folded under them."""

    row: Row
    """The first row: what is shown."""
    alike: list[str] = field(default_factory=list)
    """Faces that show the same difference with the same program, the first row's own first."""
    otherwise: list[str] = field(default_factory=list)
    """Faces on which the law is broken in another way."""
    folded: dict[str, list[Row]] = field(default_factory=dict)
    """Laws that are broken because of this one, each with its rows."""
    ways: list[list[Row]] = field(default_factory=list)
    """The rows of the faces in `otherwise`, those that show the same put together."""
    elsewhere: dict[str, list[str]] = field(default_factory=dict)
    """Laws from which this one follows on other faces, each with those faces."""
    every: tuple[str, ...] = ()
    """The faces that the target has."""

    @property
    def faces(self) -> list[str]:
        """The faces on which the law is broken by itself."""
        return [*self.alike, *self.otherwise]

    @property
    def name(self) -> str:
        """The law with its faces: ``fork.siblings[sync, async]``."""
        return f"{self.row['law']}[{self.listed(self.faces)}]"

    def listed(self, faces: Sequence[str]) -> str:
        """Faces by name, or how many where it is all of them."""
        if len(faces) > 2 and set(faces) >= set(self.every):
            return f"all {len(faces)} faces"
        return ", ".join(faces)

    @property
    def consequences(self) -> int:
        """How many verdicts are folded under this one."""
        return sum(len(rows) for rows in self.folded.values())

    @property
    def family(self) -> list[Row]:
        """The row that is shown, those of the other ways, and all that follow."""
        rows = [row for some in self.ways for row in some]
        return [self.row, *rows, *(row for some in self.folded.values() for row in some)]

    @property
    def level(self) -> str:
        """The strongest level among the law and what follows from it; what nobody reviewed weighs least."""
        return min((_level(row) for row in self.family), key=rank)

    def follows(self) -> list[tuple[str, list[Row]]]:
        """What is folded under it, as names with the rows: the faces are named where they are not the root's."""
        named = []
        for law, rows in self.folded.items():
            faces = [row["face"] for row in rows]
            same = set(faces) == set(self.faces)
            named.append((law if same else f"{law}[{self.listed(faces)}]", rows))
        return named


def failures(document: Mapping[str, Any], target: str | None = None) -> list[Failure]:
    """The root failures of a target (or of all): the worst stake first, then MUST before SHOULD, then by law."""
    bad = [r for r in document["laws"] if r["verdict"] in BAD and target in (None, r["target"])]
    every = {t["name"]: tuple(t.get("faces", ())) for t in document["targets"]}
    there = {(row["target"], row["face"], row["law"]): row for row in bad}
    made: dict[tuple[str, str], Failure] = {}
    following: list[tuple[Row, str]] = []
    for row in bad:
        root = _root(row, there)
        if root is not None:
            following.append((row, root))
            continue
        key = (row["target"], row["law"])
        if key not in made:
            made[key] = Failure(row, [row["face"]], every=every.get(row["target"], ()))
        else:
            _join(made[key], row)
    for row, root in following:
        made[row["target"], root].folded.setdefault(row["law"], []).append(row)
        if (row["target"], row["law"]) in made:
            itself = made[row["target"], row["law"]]
            itself.elsewhere.setdefault(root, []).append(row["face"])
    return sorted(made.values(), key=order)


def order(failure: Failure) -> tuple[int, int]:
    """Where a failure stands: what is at stake, then the level. Equal ones stay in the order of the laws.

    What follows does not count: it only shows the root's fault, so what it says is at stake may not be.
    """
    stake = _STAKES.get(str(failure.row.get("stake", "")))
    return (len(_STAKES) if stake is None else stake.rank, rank(failure.level))


def _join(failure: Failure, row: Row) -> None:
    if shown(row) == shown(failure.row):
        failure.alike.append(row["face"])
        return
    failure.otherwise.append(row["face"])
    failure.ways = alike([*(each for some in failure.ways for each in some), row])


def _root(row: Row, there: Mapping[tuple[str, str, str], Row]) -> str | None:
    """The law from which a row follows on its face; None for one that is broken by itself.

    A report may come from elsewhere: a cause that is not broken on this face explains nothing, nor does
    a circle.
    """
    seen = {row["law"]}
    at: Row | None = row
    while at is not None and at.get("caused_by"):
        law = str(at["caused_by"])
        at = there.get((row["target"], row["face"], law))
        if at is None or law in seen:
            return None
        seen.add(law)
    return None if at is row or at is None else str(at["law"])


def shown(row: Row) -> Any:
    """What a row shows: the verdict, the program, and which difference."""
    evidence = row.get("evidence") or {}
    differences = evidence.get("differences") or [{}]
    return (row["verdict"], evidence.get("program"), differences[0].get("at"))


def alike(rows: Sequence[Row]) -> list[list[Row]]:
    """Rows that show the same put together, in their order."""
    made: list[list[Row]] = []
    for row in rows:
        same = next((some for some in made if shown(some[0]) == shown(row)), None)
        if same is None:
            made.append([row])
        else:
            same.append(row)
    return made


def _level(row: Row) -> str:
    return "MAY" if row.get("advisory") else str(row["level"])


def rank(level: str) -> int:
    """Place of a level, the strongest first; unknown ones last."""
    return LEVELS.index(level) if level in LEVELS else len(LEVELS)


def words(row: Row) -> str:
    """What is at stake where the row's law is broken; empty for a report that does not say."""
    stake = _STAKES.get(str(row.get("stake", "")))
    return "" if stake is None else stake.words


def worst(document: Mapping[str, Any], target: str) -> Row | None:
    """The root that a target's last line names: the worst of what counts; None where no report says so."""
    rows = (failure.row for failure in failures(document, target))
    return next((row for row in rows if words(row) and not row.get("advisory")), None)


def table(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The root failures as JSON data, in the order of `failures`."""
    return [
        {
            "target": failure.row["target"],
            "law": failure.row["law"],
            "faces": failure.faces,
            "level": failure.level,
            "stake": str(failure.row.get("stake", "")),
            "folded": {law: [row["face"] for row in rows] for law, rows in failure.folded.items()},
        }
        for failure in failures(document)
    ]
