"""What changed between two reports, by law, target and face."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_lineage.report import roots
from pytest_lineage.report.roots import Row

GOOD = ("holds", "refused", "fixed")
BAD = ("broken", "hangs", "known")

KINDS = (
    ("new", "newly broken"),
    ("still", "still broken"),
    ("run", "newly run"),
    ("not-run", "no longer run"),
    ("fixed", "fixed"),
)
"""What may become of a law, with the words for it, worst first."""


class Unlike(Exception):
    """Two reports cannot be compared. The message says why."""


@dataclass
class Change:
    """One law on one target, and the faces on which the same became of it."""

    kind: str
    target: str
    law: str
    level: str
    before: str
    after: str
    faces: list[str] = field(default_factory=list)
    reason: str = ""
    sentence: str = ""
    regression: bool = False

    def to_json(self) -> dict[str, Any]:
        """The change as JSON data."""
        return dict(vars(self))


@dataclass
class Difference:
    """Everything that changed, and what was compared."""

    changes: list[Change]
    versions: list[tuple[str, str, str]]
    """Packages whose version changed: name, old, new; empty where not installed."""
    targets: list[str]
    """Targets that both reports have."""
    notes: list[str]
    """What limits the comparison."""
    unusable: list[str] = field(default_factory=list)
    """Targets that the old report judged and the new one could not."""

    @property
    def regression(self) -> bool:
        """Whether something that was good is not any more."""
        return bool(self.unusable) or any(change.regression for change in self.changes)

    def of(self, kind: str) -> list[Change]:
        """The changes of one kind, MUST before SHOULD."""
        found = [change for change in self.changes if change.kind == kind]
        return sorted(found, key=lambda change: roots.rank(change.level))

    def to_json(self) -> dict[str, Any]:
        """The difference as JSON data."""
        return {
            "regression": self.regression,
            "targets": self.targets,
            "unusable": self.unusable,
            "versions": [dict(zip(("name", "old", "new"), v, strict=True)) for v in self.versions],
            "notes": self.notes,
            "changes": [change.to_json() for change in self.changes],
        }


def compare(old: Mapping[str, Any], new: Mapping[str, Any]) -> Difference:
    """What changed from one document to another. Raises `Unlike` for reports about other kinds of target."""
    kinds = [document.get("kind", "saver") for document in (old, new)]
    if kinds[0] != kinds[1]:
        raise Unlike(
            f"the reports are about different kinds of target ({kinds[0]} and {kinds[1]}), whose laws are "
            "not the same"
        )
    names = [[target["name"] for target in document["targets"]] for document in (old, new)]
    both = [name for name in names[0] if name in names[1]]
    renamed: dict[str, str] = {}
    notes = list(_notes(old, new))
    if not both and len(names[0]) == len(names[1]) == 1:
        renamed = {names[0][0]: names[1][0]}
        both = names[1]
        notes.append(
            f"{names[0][0]} is compared with {names[1][0]}: each report has this one target"
        )
    elif not both:
        raise Unlike(
            f"the reports have no target in common: {', '.join(names[0]) or 'none'} and "
            f"{', '.join(names[1]) or 'none'}"
        )
    for name in sorted({*names[0], *names[1]} - {*both, *renamed}):
        notes.append(f"{name} is in the {'old' if name in names[0] else 'new'} report only")
    before = {_key(row, renamed): row for row in old["laws"]}
    after = {_key(row, {}): row for row in new["laws"]}
    keys = [key for key in dict.fromkeys([*after, *before]) if key[0] in both]
    failed = {t["name"] for t in new["targets"] if t.get("error") or t.get("fault")}
    had = {key[0] for key, row in before.items() if row["verdict"] in (*GOOD, *BAD)}
    unusable = [name for name in both if name in failed and name in had]
    changes = _gathered(
        change
        for key in keys
        if key[0] not in unusable
        and (change := _change(before.get(key), after.get(key), key)) is not None
    )
    return Difference(changes, _versions(old, new), both, notes, unusable)


def _key(row: Row, renamed: Mapping[str, str]) -> tuple[str, str, str]:
    return renamed.get(row["target"], row["target"]), row["law"], row["face"]


def _change(before: Row | None, after: Row | None, key: tuple[str, str, str]) -> Change | None:
    """What became of one law on one face; None where nothing changed and nothing is wrong."""
    old = before["verdict"] if before else ""
    new = after["verdict"] if after else ""
    row = after or before
    assert row is not None
    kind = _kind(old, new)
    if not kind:
        return None
    fails = kind == "new" and new in ("broken", "hangs") and not row.get("advisory")
    return Change(
        kind, key[0], key[1], row["level"], old, new, [key[2]], str(row.get("reason") or ""),
        str(row.get("sentence") or ""), fails,
    )  # fmt: skip


def _kind(old: str, new: str) -> str:
    if new in BAD:
        return "new" if old in GOOD else "still" if old in BAD else "run"
    if new in GOOD:
        return "fixed" if old in BAD else "" if old in GOOD else "run"
    return "not-run" if old in (*GOOD, *BAD) else ""


def _gathered(changes: Iterable[Change]) -> list[Change]:
    """Changes that differ in the face only become one; reasons are those of the first."""
    found: dict[tuple[str, ...], Change] = {}
    for change in changes:
        key = (change.kind, change.target, change.law, change.before, change.after)
        if key in found:
            found[key].faces += change.faces
        else:
            found[key] = change
    order = {kind: number for number, (kind, _) in enumerate(KINDS)}
    return sorted(found.values(), key=lambda change: order[change.kind])


def _versions(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Versions that changed, Python's among them."""
    sides = [{"Python": doc.get("python", ""), **doc["versions"]} for doc in (old, new)]
    names = dict.fromkeys([*sides[0], *sides[1]])
    found = [(str(n), str(sides[0].get(n, "")), str(sides[1].get(n, ""))) for n in names]
    return [(name, left, right) for name, left, right in found if left != right]


def _notes(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    profiles = [str(document.get("profile", "?")) for document in (old, new)]
    if profiles[0] != profiles[1]:
        yield (
            f"the profiles differ ({profiles[0]}, then {profiles[1]}): a breach may be new because more was "
            "tried, or gone because less was"
        )
    for document, word in ((old, "old"), (new, "new")):
        for target in document["targets"]:
            if target.get("incomplete"):
                yield f"the {word} run of {target['name']} is incomplete: {target['incomplete']}"
