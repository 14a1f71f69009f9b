"""A stand-alone script of at most 25 lines that shows a broken law with nothing of ours."""

from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lineage_conformance import contract, zoo
from lineage_conformance.handles import halves
from lineage_conformance.program import Get, List, Op, OwnLoop, Program, Put, Together, Writes, walk
from pytest_lineage.report.scripting.calls import Calls, Line
from pytest_lineage.report.scripting.checks import CannotTell, Check
from pytest_lineage.report.scripting.literals import ABSENT, WIDTH, broken
from pytest_lineage.report.scripting.openings import Opening, opening
from pytest_lineage.report.scripting.oracle import Oracle, place, refusals, sorted_writes

MOST = 25
"""Lines of a script. A longer one is not read."""


class ScriptError(Exception):
    """No script of 25 lines can show this. The message says why."""


@dataclass(frozen=True)
class Broken:
    """What a script is about: a law, the face it is broken on, and the evidence."""

    law: str
    level: str
    sentence: str
    face: str
    program: Program
    differences: Sequence[Mapping[str, Any]]

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> Broken:
        """Read a row of a report. Raises `ScriptError` for one without a program of saver operations."""
        evidence = row.get("evidence") or {}
        data = evidence.get("program")
        if not data or not evidence.get("differences"):
            raise ScriptError(
                f"{row['law']}[{row['face']}] left no program that shows a difference"
            )
        if "graph" in data:
            raise ScriptError(f"{row['law']} is about a graph, not about calls of a saver")
        try:
            program = Program.from_json(data)
        except ValueError as error:
            raise ScriptError(f"the program of {row['law']} cannot be read: {error}") from None
        return cls(
            str(row["law"]), str(row["level"]), str(row.get("sentence", "")), str(row["face"]), program,
            evidence["differences"],
        )  # fmt: skip


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
    what = what if isinstance(what, Broken) else Broken.of_row(what)
    made = target if isinstance(target, Opening) else opening(target, factory)
    for level in range(3):
        lines = _lines(what, made, level)
        if len(lines) <= MOST:
            return "\n".join(lines) + "\n"
    raise ScriptError(f"{what.law} needs {len(lines)} lines, more than anybody reads")


def _lines(what: Broken, made: Opening, level: int) -> list[str]:
    """The whole script; level 1 leaves out blank lines, level 2 puts short lines together."""
    ops = what.program.ops
    first = what.differences[0]
    index = first["op"]
    ops, last = ops[:index], ops[index]
    refused, oracle = _oracle([*ops, last], first)
    either = _either([*ops, last], refused, first)
    calls = _calls(what, made)
    calls.compact = level == 2
    calls.start(0)
    try:
        _body(calls, ops, refused, either, what)
        Check(calls, last, what.differences, oracle).add()
    except CannotTell as error:
        raise ScriptError(f"{what.law}: {error}") from None
    calls.lines.append(Line('print("PASS")', 0 if not calls.is_async else calls.depth))
    return _assembled(what, made, calls, level)


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
    return Calls(made, writer, reader, is_async, prefix, wanted)


def _oracle(ops: Sequence[Op], difference: Mapping[str, Any]) -> tuple[tuple[int, ...], Oracle]:
    """The model after the program, and the operations that the saver must have refused."""
    best: tuple[tuple[int, ...], Oracle] | None = None
    for refused in refusals(ops):
        oracle = Oracle([op for n, op in enumerate(ops) if n not in refused])
        if best is None:
            best = (refused, oracle)
        if _fits(oracle, ops[-1], difference):
            return refused, oracle
    assert best is not None
    return best


def _either(ops: Sequence[Op], refused: Sequence[int], difference: Mapping[str, Any]) -> set[int]:
    """Operations whose refusal would change nothing about what is expected."""
    found = set()
    for number, op in enumerate(ops[:-1]):
        if getattr(op, "lenient", False) and number not in refused:
            rest = [other for n, other in enumerate(ops) if n not in (*refused, number)]
            if _fits(Oracle(rest), ops[-1], difference):
                found.add(number)
    return found


def _fits(oracle: Oracle, op: Op, difference: Mapping[str, Any]) -> bool:
    """Whether the model expects what the evidence says was expected."""
    kind, _, dotted = str(difference["at"]).partition(":")
    path, expected = dotted.split("."), difference["expected"]
    if isinstance(op, Get) and kind == "get":
        tree = oracle.tuple(op)
        if path[0] == "found":
            return (tree is None) == (expected == "nothing")
        if path[0] in ("lost", "writes_order", "channel_versions", "reserved_metadata"):
            return tree is not None
        if tree is None:
            return False
        tree = sorted_writes(tree)
        if expected == ABSENT and place(tree, path[:-1]) == ABSENT:
            return False
        return _alike(place(tree, path), expected)
    if isinstance(op, List) and path[0] == "rows":
        return len(oracle.rows(op)) == len(expected)
    return True


def _alike(found: Any, expected: Any) -> bool:
    if found == ABSENT or expected == ABSENT or found is None or expected is None:
        return bool(found == expected)
    if isinstance(found, str) and isinstance(expected, str):
        return found == expected or "-0000-6000-8000-" in found or expected.endswith(found[12:])
    return (isinstance(found, dict) and "configurable" in found) or bool(found == expected)


def _body(
    calls: Calls, ops: Sequence[Op], refused: Sequence[int], either: set[int], what: Broken
) -> None:
    scribbled = "scribbled" in repr(what.differences[0]) or "scribbled" in repr(what.differences)
    skip = 0
    for number, op in enumerate(ops):
        if skip:
            skip -= 1
            continue
        alike = _alike_writes(ops[number:]) if calls.compact else []
        if len(alike) > 3 and not set(refused) & set(range(number, number + len(alike))):
            calls.many_writes(alike)
            skip = len(alike) - 1
        elif number in refused or number in either:
            calls.need("import contextlib")
            calls.do(op)
            call = calls.lines.pop()
            calls.say(
                "with contextlib.suppress(Exception):  # a refusal must change nothing",
                simple=False,
            )
            calls.say(call.text, 1)
            if number in refused:
                calls.say('raise SystemExit(print("PASS: it was not refused"))', 1)
        elif scribbled and getattr(op, "scribble", False):
            _scribble(calls, op, what)
        else:
            calls.do(op)


def _alike_writes(ops: Sequence[Op]) -> list[Writes]:
    """The writes at the start of `ops` that differ in task and items only, one item each."""
    found: list[Writes] = []
    for op in ops:
        if not isinstance(op, Writes) or len(op.items) != 1 or op.scribble:
            break
        if found and dataclasses.replace(op, task="", items=()) != dataclasses.replace(
            found[0], task="", items=()
        ):
            break
        found.append(op)
    return found


def _scribble(calls: Calls, op: Op, what: Broken) -> None:
    """The call, and then what the caller does with its own objects."""
    parts = str(what.differences[0]["at"]).partition(":")[2].split(".")
    got = what.differences[0]["got"]
    if parts[0] == "row":
        parts = parts[1:]
    if isinstance(op, Get):
        calls.say(f"mine = {calls.answer(op)}")
        roots = {"metadata": "mine.metadata", "pending_writes": "mine.pending_writes"}
        root = roots.get(parts[0], f'mine.checkpoint["{parts[0]}"]')
        keys = parts[1:]
    elif isinstance(op, Writes):
        arguments = calls.writes(op)
        calls.say(f"args = ({', '.join(arguments)})")
        calls.say(calls.call(calls.writer, calls.name(op.handle), "put_writes", ["*args"]))
        item = int(parts[1]) if len(parts) > 2 and parts[1].isdigit() else 0
        inside = len(parts) > 2 and item < len(op.items)
        root, keys = (f"args[1][{item}][1]", parts[3:]) if inside else ("args[1]", [])
    else:
        assert isinstance(op, Put)
        calls.say(f"args = ({', '.join(calls.put(op))})")
        calls.say(calls.call(calls.writer, calls.name(op.handle), "put", ["*args"]))
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
    calls.say(f"{change}  # the caller goes on using its own objects", simple=False)


# -- putting it together ---------------------------------------------------------------------------


def _assembled(what: Broken, made: Opening, calls: Calls, level: int) -> list[str]:
    hang = any(d.get("got") == "no answer" for d in what.differences)
    imports = dict.fromkeys((*made.imports, *calls.imports))
    if calls.is_async:
        imports["import asyncio"] = None
    if hang:
        imports["import faulthandler"] = None
    title = f"# {what.law} ({what.level}): {what.sentence}"
    lines = textwrap.wrap(
        _ascii(title), WIDTH, subsequent_indent="#   ", max_lines=1 if level == 2 else 2
    )
    lines += _imports(imports)
    lines += ["", *made.before] if made.before else []
    for name in sorted(calls.helpers):
        if name.startswith("zoo:"):
            defines = zoo.ZOO[name[4:]].defines.splitlines()
            lines += _together(defines) if level == 2 else defines
    lines += ["", *_helpers(calls, what)]
    if hang:
        lines.append(
            "faulthandler.dump_traceback_later(10, exit=True)  # a hang ends here, with its stack"
        )
    body = _joined(calls.lines) if level == 2 else calls.lines
    if calls.is_async:
        lines += ["", "async def main():"]
        lines += [row for line in body for row in broken("    " * (line.depth + 1) + line.text)]
        lines += ["", "asyncio.run(main())"]
    else:
        lines += ["", *(row for line in body for row in broken("    " * line.depth + line.text))]
    return [line for line in lines if line] if level else lines


def _ascii(text: str) -> str:
    return text.encode("ascii", "backslashreplace").decode().replace("\n", " ")


def _imports(found: Mapping[str, None]) -> list[str]:
    plain = sorted(line.removeprefix("import ") for line in found if line.startswith("import "))
    return ([f"import {', '.join(plain)}"] if plain else []) + sorted(
        line for line in found if line.startswith("from ")
    )


def _helpers(calls: Calls, what: Broken) -> list[str]:
    """The small functions at the top: ids, configs, checkpoints."""
    lines = []
    if "meta" in calls.helpers:
        lines.append('meta = lambda n: {"source": "loop", "step": n}')
    if calls.helpers & {"at", "cp", "cid"}:
        lines.append('cid = "1f{:06x}-0000-6000-8000-000000000000".format')
    if "at" in calls.helpers:
        lines += [
            'def at(thread, n=None, ns=""):',
            '    return {"configurable": {"thread_id": thread, "checkpoint_ns": ns,'
            ' **({"checkpoint_id": cid(n)} if n else {})}}',
        ]
    if "cp" in calls.helpers:
        ids = [op.id for op in walk(what.program.ops) if isinstance(op, Put)]
        time = '"2024-01-01T00:{n // 60:02}:{n % 60:02}+00:00"'
        if max(ids, default=0) < 60:
            time = '"2024-01-01T00:00:{n:02}+00:00"'
        elif max(ids) >= 3600:
            time = '"2024-01-01T{n // 3600 % 24:02}:{n // 60 % 60:02}:{n % 60:02}+00:00"'
        more = ', "pending_sends": []' if "pending_sends" in contract.checkpoint_keys() else ""
        if "updated_channels" in contract.checkpoint_keys():
            more += ', "updated_channels": None'
        fixed = f'"v": {contract.checkpoint_format()}, "versions_seen": {{}}{more}'
        lines += [
            "def cp(n, values, versions, **more):",
            *broken(f'    head = {{{fixed}, "id": cid(n), "ts": f{time}}}'),
            '    return {**head, "channel_values": values, "channel_versions": versions, **more}',
        ]
    return lines


def _together(lines: Sequence[str]) -> list[str]:
    """The body of a class on as few rows as it takes."""
    made: list[Line] = []
    for line in lines:
        text = line.lstrip()
        made.append(Line(text, (len(line) - len(text)) // 4, not text.startswith(("@", "class"))))
    return ["    " * line.depth + line.text for line in _joined(made)]


def _joined(lines: Sequence[Line]) -> list[Line]:
    """Neighbouring simple lines of one depth on one row, as far as they fit."""
    joined: list[Line] = []
    for line in lines:
        last = joined[-1] if joined else None
        if last and last.simple and line.simple and last.depth == line.depth:
            text = f"{last.text}; {line.text}"
            if len(text) + 4 * (line.depth + 1) <= WIDTH:
                joined[-1] = Line(text, line.depth)
                continue
        joined.append(line)
    return joined
