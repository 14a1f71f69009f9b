"""From lines to a script: title, imports, the small functions at the top, the body."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

from lineage_conformance import contract, zoo
from lineage_conformance.kinds.saver.program import Put, walk
from pytest_lineage.report.scripting.calls import Calls
from pytest_lineage.report.scripting.literals import WIDTH, broken
from pytest_lineage.report.scripting.openings import Opening
from pytest_lineage.report.scripting.subject import Broken


def assembled(what: Broken, made: Opening, calls: Calls, level: int) -> list[str]:
    """The rows of the script.

    Level 1 leaves out blank rows; 2 shortens what repeats. No row holds two statements.
    """
    hang = any(d.get("got") == "no answer" for d in what.differences)
    imports = dict.fromkeys((*made.imports, *calls.imports))
    if calls.is_async:
        imports["import asyncio"] = None
    if hang:
        imports["import faulthandler"] = None
    title = f"# {what.law} ({what.level}): {what.sentence}"
    lines = textwrap.wrap(
        _ascii(title), WIDTH, subsequent_indent="#   ", max_lines=1 if level > 1 else 2
    )
    lines += _imports(imports)
    lines += ["", *made.before] if made.before else []
    for name in sorted(calls.helpers):
        if name.startswith("zoo:"):
            lines += zoo.ZOO[name[4:]].defines.splitlines()
    lines += ["", *_helpers(calls, what)]
    if hang:
        lines.append(
            "faulthandler.dump_traceback_later(10, exit=True)  # a hang ends here, with its stack"
        )
    body = calls.lines
    if calls.is_async:
        lines += ["", "async def main():"]
        lines += [
            row for line in body for row in broken("    " * (line.depth + 1) + _ascii(line.text))
        ]
        lines += ["", "asyncio.run(main())"]
    else:
        lines += [
            "",
            *(row for line in body for row in broken("    " * line.depth + _ascii(line.text))),
        ]
    return [line for line in lines if line] if level else lines


def _ascii(text: str) -> str:
    """Names that look alike must not be alike to read; only texts hold more than ASCII, and they may be escaped."""
    return text.encode("ascii", "backslashreplace").decode().replace("\n", " ")


def _imports(found: Mapping[str, None]) -> list[str]:
    plain = sorted(line.removeprefix("import ") for line in found if line.startswith("import "))
    return [f"import {name}" for name in plain] + sorted(
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
