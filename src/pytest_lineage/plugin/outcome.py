"""From a verdict to pytest's words: what raises, what it says, and how it travels to whoever gathers.

| verdict | pytest |
|---|---|
| holds, refused | passed |
| broken, hangs: MUST | failed, with a block of text; a short one if another failure explains it |
| broken, hangs: SHOULD, MAY, a new law that is still advisory | xfailed with the reason (see `rows.fails`) |
| engine, known | xfailed with the reason |
| fixed | failed |
| known, with ``--lineage-fail-on any`` | as broken |
| broken, hangs, fixed, with ``--lineage-fail-on never`` | xfailed |
| not-applicable | skipped with the reason |
| inconclusive | MUST: failed, since a run without its verdict is incomplete; else skipped |
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pytest

from pytest_lineage.run.rows import fails

if TYPE_CHECKING:
    from pytest_lineage.plugin.state import State
    from pytest_lineage.run.rows import Row

SAME = "by the same program and in the same way as "
"""How the cause begins where another face of the law shows the very same."""

STACK = 14
"""Lines of a stack that are shown; the whole is in the report."""


class Failed(Exception):
    """A verdict that fails an item. The text is the block that pytest shows; `line` says it in one line."""

    __module__ = "builtins"  # pytest prints the name of the class, not where it lives

    def __init__(self, text: str, line: str) -> None:
        super().__init__(text)
        self.line = line


def tell(row: Row, cause: str, fail_on_should: bool, rerun: str, fail_on: str = "new") -> None:
    """Return if the verdict passes, else raise what pytest calls it."""
    __tracebackhide__ = True
    if row.verdict in ("holds", "refused"):
        return
    reason = clean(row.reason or row.verdict)
    if row.verdict == "not-applicable":
        pytest.skip(f"not applicable: {reason}")
    if row.verdict == "inconclusive":
        if row.level != "MUST" and not reason.startswith("fault of"):
            pytest.skip(f"inconclusive: {reason}")
        raise Failed(_inconclusive(row, reason, rerun), f"inconclusive: {_first(reason)}")
    if row.verdict == "engine" or (row.verdict == "known" and fail_on != "any"):
        raise pytest.xfail.Exception(f"{row.verdict}: {_first(reason)}")
    if not fails(row, fail_on_should, fail_on):
        why = row.level if not row.advisory else f"{row.level}, advisory ({row.advisory})"
        raise pytest.xfail.Exception(f"{why}: {_first(reason)}")
    if cause and row.verdict != "known":
        lines = list(block(row, rerun, cause))
        if cause.startswith(SAME):  # what it shows stands in the other item
            lines = [lines[0], "", *_field("rerun", rerun)]
        raise Failed("\n".join(lines), f"{row.verdict}: {cause}")
    raise Failed("\n".join(block(row, rerun)), f"{row.verdict}: {_first(reason)}")


def block(row: Row, rerun: str, cause: str = "") -> Iterator[str]:
    """A broken law as lines: the sentence, the smallest program, expected and got, how to run it again."""
    from pytest_lineage.report import model, roots

    data = model.redact(row.to_json())
    yield f"{row.target}: {row.law}[{row.face}] {_IS[row.verdict]}" + (
        f", {cause}" if cause else ""
    )
    yield ""
    yield from _field(row.level, row.sentence)
    yield from _field("stake", roots.words(data))
    yield from _field("source", row.source)
    yield from _field("means", row.meaning)
    yield from _field("reports", ", ".join(row.reports))
    yield from _field("result", clean(data.get("reason", "")))
    evidence = data.get("evidence") or {}
    small = "smallest program (> marks where it shows)"
    yield from _shown(evidence, small if row.verdict == "broken" else "program so far")
    recorded = evidence.get("recorded") or {}
    yield from _shown(recorded, "what the engine called, made small")
    yield from _field("breaks", ", ".join(recorded.get("laws") or ()))
    if evidence.get("stack"):
        yield ""
        yield "where it hung"
        yield from (f"  {clean(line)}" for line in _innermost(evidence["stack"]))
    yield ""
    yield from _field("rerun", rerun)


def _shown(evidence: Mapping[str, Any], title: str) -> Iterator[str]:
    """A program, and the first thing that differs in it."""
    from pytest_lineage.report import values

    differences = evidence.get("differences") or []
    ops = (evidence.get("program") or {}).get("ops") or []
    if ops:
        yield ""
        yield title
    for number, op in enumerate(ops):
        mark = ">" if any(d["op"] == number for d in differences[:1]) else " "
        for count, line in enumerate(_told(op)):
            yield clean(f"  {mark} {number + 1}  {line}" if count == 0 else f"       {line}")
    for difference in differences[:1]:
        at = difference["at"]
        yield ""
        yield from _field("at", clean(values.field(at)))
        yield from _field("expected", clean(values.side(at, difference["expected"])))
        yield from _field("got", clean(values.side(at, difference["got"])))
    if len(differences) > 1:
        yield from _field(
            "", f"(and {len(differences) - 1} more differences; --lineage-report has all)"
        )


def _told(op: dict[str, Any]) -> Iterator[str]:
    """The lines that tell an operation; an action of a scenario is told as it is."""
    from lineage_conformance.kinds.saver.operations import op_from_json
    from pytest_lineage.report import values

    try:
        yield from values.operation(op_from_json(op))
    except (ValueError, TypeError, KeyError):
        rest = ", ".join(f"{key}={value!r}" for key, value in op.items() if key != "op")
        yield f"{op.get('op')}({rest})"


_IS = {"broken": "is broken", "hangs": "hangs", "fixed": "is fixed: remove its known failure",
       "known": "is broken, as is known"}  # fmt: skip


def _inconclusive(row: Row, reason: str, rerun: str) -> str:
    lines = [
        f"{row.target}: {row.law}[{row.face}] is inconclusive, and a run without the verdict of a MUST is incomplete",
        "",
        *_field(row.level, row.sentence),
        *_field("why", reason),
        *_field("rerun", rerun),
    ]
    return "\n".join(lines)


def _field(name: str, text: str) -> Iterator[str]:
    if text:
        yield f"{name:9}{text}"


def _innermost(stack: str) -> list[str]:
    """The thread that runs the operation, without the frames of the worker itself."""
    threads = stack.strip().split("\n\n")
    own = next((t for t in threads if t.startswith("Current thread")), threads[-1])
    lines = [line.strip() for line in own.splitlines()[1:]]
    return lines[:STACK]


def clean(text: str) -> str:
    """`text` fit for any stream and for XML: what is no valid UTF-8, or no character, is spelled out."""
    shown = "".join(
        c if c in "\n\t" or c.isprintable() else c.encode("unicode_escape").decode() for c in text
    )
    return shown.encode("utf-8", "backslashreplace").decode()


def _first(text: str) -> str:
    line = text.strip().partition("\n")[0]
    return line if len(line) <= 200 else line[:197] + "..."


def wire(state: State, row: Row) -> str:
    """A row as text that survives the way to another process, and what the row belongs to."""
    data: dict[str, Any] = {
        "key": state.key,
        "name": state.label,
        "order": [state.number, list(state.laws).index(row.law), state.faces.index(row.face)],
        "planned": state.planned,
        "row": row.to_json(),
    }
    if not state.told:
        data["about"] = state.about
        state.told = True
    return json.dumps(data, default=repr)
