"""A stand-alone script that shows a broken law with nothing of ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lineage_conformance.handles import halves
from lineage_conformance.kinds.saver.operations import Get, Op, OwnLoop, Put, Together, Writes, walk
from pytest_lineage.report.scripting.assembly import assembled
from pytest_lineage.report.scripting.calls import Calls
from pytest_lineage.report.scripting.checks import Check
from pytest_lineage.report.scripting.literals import Unknown
from pytest_lineage.report.scripting.openings import Opening, opening
from pytest_lineage.report.scripting.oracle import Oracle, harmless, matching
from pytest_lineage.report.scripting.scenes.assembly import BrokenScene, scene_script
from pytest_lineage.report.scripting.subject import Broken, ScriptError
from pytest_lineage.report.scripting.tuples import CannotTell
from pytest_lineage.report.scripting.writer import Line

__all__ = ["Broken", "Opening", "ScriptError", "opening", "script"]


def script(
    what: Broken | Mapping[str, Any],
    target: str | Opening,
    factory: Callable[..., Any] | None = None,
) -> str:
    """The script for a broken law (a `Broken` or a report's row) on a target.

    `target` is the text that names it, or an `Opening`; `factory` is looked at for its shape if it is
    given. Running the script ends with AssertionError where the fault shows, else it prints PASS.
    Raises `ScriptError` where no such script can be written.
    """
    if not isinstance(what, Broken) and "graph" in (
        (what.get("evidence") or {}).get("program") or {}
    ):
        made = target if isinstance(target, Opening) else opening(target, factory)
        return scene_script(BrokenScene.of_row(what), made)
    what = what if isinstance(what, Broken) else Broken.of_row(what)
    made = target if isinstance(target, Opening) else opening(target, factory)
    index = what.differences[0]["op"]
    if not 0 <= index < len(what.program.ops):
        raise ScriptError(f"{what.law} has no operation {index + 1}")
    ops = what.program.ops[: index + 1]
    refused, oracle = matching(ops, what.differences[0])
    plan = _Plan(ops, refused, harmless(ops, refused, what.differences[0]), oracle)
    return _text(what, made, plan)


@dataclass(frozen=True)
class _Plan:
    """The operations to perform, which of them are refused or may be, and what is expected."""

    ops: Sequence[Op]
    refused: Sequence[int]
    either: set[int]
    oracle: Oracle


def _text(what: Broken, made: Opening, plan: _Plan) -> str:
    calls = _calls(what, made)
    calls.name(0)
    try:
        _body(calls, plan, what)
        Check(calls, plan.ops[-1], what.differences, plan.oracle).add()
    except (CannotTell, Unknown) as error:
        raise ScriptError(f"{what.law}: {str(error) or 'a value cannot be written down'}") from None
    calls.lines.append(Line('print("PASS")', 0 if not calls.is_async else calls.depth))
    return assembled(what, calls)


def _calls(what: Broken, made: Opening) -> Calls:
    writer, reader = halves(what.face)  # type: ignore[arg-type]
    own = any(isinstance(op, OwnLoop) for op in walk(what.program.ops))
    labels = {str(getattr(op, "thread", "t")) for op in walk(what.program.ops)}
    wanted = {
        (op.thread, op.ns or "", op.parent if isinstance(op, Put) else op.id)
        for op in walk(what.program.ops)
        if isinstance(op, (Put, Writes, Get)) and op.via == "returned"
    }
    is_async = "async" in what.face or made.is_async or own
    several = any(isinstance(op, Together) for op in what.program.ops) and len(labels) > 1
    prefix = "run-" if "" in labels or several else ""
    return Calls(made, is_async, prefix, writer=writer, reader=reader, wanted=wanted)


def _body(calls: Calls, plan: _Plan, what: Broken) -> None:
    ops, refused = plan.ops[:-1], plan.refused
    scribbled = "scribbled" in repr(what.differences)
    for number, op in enumerate(ops):
        if number in refused or number in plan.either:
            calls.need("contextlib")
            op.write(calls)
            call = calls.lines.pop()
            calls.say(
                "with contextlib.suppress(Exception):  # a refusal must change nothing",
            )
            calls.say(call.text, 1)
            if number in refused:
                calls.say('raise SystemExit(print("PASS: it was not refused"))', 1)
        elif scribbled and getattr(op, "scribble", False):
            _scribble(calls, op, what)
        else:
            op.write(calls)


def _scribble(calls: Calls, op: Op, what: Broken) -> None:
    """The call, and then what the caller does with its own objects."""
    parts = str(what.differences[0]["at"]).partition(":")[2].split(".")
    got = what.differences[0]["got"]
    if parts[0] == "row":
        parts = parts[1:]
    if isinstance(op, Get):
        calls.say(f"mine = {op.source(calls)}")
        roots = {"metadata": "mine.metadata", "pending_writes": "mine.pending_writes"}
        root = roots.get(parts[0], f'mine.checkpoint["{parts[0]}"]')
        keys = parts[1:]
    elif isinstance(op, Writes):
        calls.say(f"args = ({', '.join(op.arguments(calls))})")
        calls.say(calls.call(calls.writer, op.handle, "put_writes", ["*args"]))
        item = int(parts[1]) if len(parts) > 2 and parts[1].isdigit() else 0
        inside = len(parts) > 2 and item < len(op.items)
        root, keys = (f"args[1][{item}][1]", parts[3:]) if inside else ("args[1]", [])
    else:
        assert isinstance(op, Put)
        calls.say(f"args = ({', '.join(op.arguments(calls))})")
        calls.say(calls.call(calls.writer, op.handle, "put", ["*args"]))
        root, keys = (
            ("args[2]", parts[1:])
            if parts[0] == "metadata"
            else (f'args[1]["{parts[0]}"]', parts[1:])
        )
    keys = [key for key in keys if not key.startswith("~")]
    append = isinstance(got, list)
    for key in keys if append else keys[:-1]:
        root += f"[{int(key) if key.isdigit() else repr(key)}]"
    change = f'{root}.append("scribbled")' if append else f'{root}["scribbled"] = "later"'
    calls.say(f"{change}  # the caller goes on using its own objects")
