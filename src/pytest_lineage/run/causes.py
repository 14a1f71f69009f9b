"""Causes that are shown: which broken law stands for itself, and which one only shows another's fault.

Everything rests on the evidence that the rows carry: the distinct smallest counterexamples of each law
(`witnesses`), what the engine called in a failing graph (`recorded`), and which other broken laws every
counterexample breaks too (`shows`). Nothing is taken from what a law says of itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lineage_conformance import law as laws
from lineage_conformance.kinds.saver.program import Program
from lineage_conformance.witness import embeds

if TYPE_CHECKING:
    from pytest_lineage.run.rows import Row

BAD = ("broken", "hangs")
_STRENGTH = {"MUST": 0, "SHOULD": 1, "MAY": 2}


def fold(rows: Sequence[Row]) -> None:
    """Set `caused_by` of each broken row that only shows the fault of another, on the same face.

    `rows` are those of one target, in the order of the laws. A cause is always a root, never of a weaker level.
    A root shows a counterexample of its own first.
    """
    for face in dict.fromkeys(row.face for row in rows):
        _fold_face([row for row in rows if row.face == face and row.verdict in BAD])


def _fold_face(rows: Sequence[Row]) -> None:
    order = {row.law: number for number, row in enumerate(rows)}
    owners: dict[str, Row] = {}
    for row in sorted(
        rows, key=lambda row: (_STRENGTH.get(row.level, 3), _depth(row), order[row.law])
    ):
        for witness in _witnesses(row):
            owners.setdefault(witness["key"], row)
    roots: list[Row] = []
    for row in rows:
        row.caused_by = None
        found = [_cause(row, witness, owners, rows) for witness in _witnesses(row)]
        mine = [n for n, cause in enumerate(found) if cause is row]
        if mine or not found:
            roots.append(row)
            _put_first(row, mine[:1])
        else:
            row.caused_by = found[0].law
    for row in list(roots):
        cause = _recorded(row, owners, rows) or _shown(row, rows, order)
        if cause is not None and cause is not row:
            row.caused_by = cause.law
    _shorten(rows)


def _depth(row: Row) -> int:
    """On how many sentences a law rests: of two that the same program breaks, the simpler one is named."""
    try:
        return len(list(laws.causes(laws.get(row.law))))
    except KeyError:
        return 0


def _cause(
    row: Row, witness: Mapping[str, Any], owners: Mapping[str, Row], rows: Sequence[Row]
) -> Row:
    """The row whose fault a counterexample shows; `row` itself where it stands for itself."""
    cause = owners[_origin(row, witness, owners)]
    if cause is not row or not witness.get("others"):
        return cause
    # The operation that the law is about plays no part: a law that is about the rest is named.
    named = [
        other
        for other in rows
        if other.law in witness["others"] and _strong(other, row) and _stands(other)
    ]
    return min(named, key=_depth, default=row)


def _stands(row: Row) -> bool:
    """Whether a broken law has a counterexample in which the operation plays a part that it is about."""
    return any(not witness.get("others") for witness in _witnesses(row))


def _origin(row: Row, witness: Mapping[str, Any], owners: Mapping[str, Row]) -> str:
    """The key of the witness that explains this one, as far as a broken law of no weaker level has it."""
    key = str(witness["key"])
    seen = {key}
    while (found := owners.get(witness.get("from") or "")) is not None and _strong(found, row):
        origin = str(witness["from"])
        if origin in seen:
            return key  # a circle explains nothing
        seen.add(origin)
        witness = next(w for w in _witnesses(found) if w["key"] == origin)
    return str(witness["key"])


def _recorded(row: Row, owners: Mapping[str, Row], rows: Sequence[Row]) -> Row | None:
    """The broken law about the saver whose own counterexample the calls of a failing graph hold."""
    recorded = (row.evidence or {}).get("recorded") or {}
    found = [owners.get(key) for key in recorded.get("keys", ())]
    named = {other.law: other for other in rows}
    candidates = [named[law] for law in recorded.get("laws", ()) if law in named]
    found += [other for other in candidates if _holds(recorded, other)]
    return next((other for other in found if other is not None and _strong(other, row)), None)


def _holds(recorded: Mapping[str, Any], cause: Row) -> bool:
    """Whether the recorded program does what a counterexample of `cause` does, and fails at the same field."""
    for witness in _witnesses(cause):
        if "program" not in witness or not witness.get("differences"):
            continue
        if _field(witness) == _field(recorded) and embeds(
            Program.from_json(witness["program"]), Program.from_json(recorded["program"])
        ):
            return True
    return False


def _field(shown: Mapping[str, Any]) -> tuple[str, ...]:
    """The operation and the field of the first difference."""
    first = (shown.get("differences") or [{}])[0]
    return (str(first.get("at", "")).partition(":")[0], *map(str, first.get("path", ())[:1]))


def _shown(row: Row, rows: Sequence[Row], order: Mapping[str, int]) -> Row | None:
    """The nearest earlier law that every counterexample of `row` breaks too."""
    named = {other.law: other for other in rows}
    for law in (row.evidence or {}).get("shows", ()):
        other = named.get(law)
        if other is not None and order[other.law] < order[row.law] and _strong(other, row):
            return other
    return None


def _strong(cause: Row, row: Row) -> bool:
    return _STRENGTH.get(cause.level, 3) <= _STRENGTH.get(row.level, 3)


def _shorten(rows: Sequence[Row]) -> None:
    """Name roots only: what follows from a consequence follows from its cause."""
    named = {row.law: row for row in rows}
    for row in rows:
        seen = {row.law}
        while row.caused_by is not None and (next_ := named[row.caused_by].caused_by) is not None:
            if next_ in seen:
                break
            seen.add(next_)
            row.caused_by = next_


def _witnesses(row: Row) -> list[Mapping[str, Any]]:
    """The witnesses of a row. A hang has none that was made small: the operation that hung stands for it."""
    found: list[Mapping[str, Any]] = (row.evidence or {}).get("witnesses") or []
    if found or not row.evidence:
        return found
    differences = row.evidence.get("differences") or [{}]
    ops = (row.evidence.get("program") or {}).get("ops") or []
    at = differences[0].get("op", -1)
    if not ops or not 0 <= at < len(ops):
        return []
    last = {
        k: v for k, v in ops[at].items() if k in ("op", "filter", "limit", "before", "ops", "inner")
    }
    return [{"key": repr((row.verdict, differences[0].get("at"), differences[0].get("got"), last))}]


def _put_first(row: Row, mine: Sequence[int]) -> None:
    """Show a counterexample first that is the row's own."""
    if not mine or mine[0] == 0 or not row.evidence:
        return
    found = row.evidence["witnesses"]
    found.insert(0, found.pop(mine[0]))
    row.evidence.update(program=found[0]["program"], differences=found[0]["differences"])
    row.reason = found[0].get("reason") or row.reason
