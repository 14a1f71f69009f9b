"""From the lines of a program to a script: the small functions at the top, and the body."""

from __future__ import annotations

from lineage_conformance import contract, zoo
from lineage_conformance.kinds.saver.operations import Put, walk
from pytest_lineage.report.scripting.calls import Calls
from pytest_lineage.report.scripting.literals import broken
from pytest_lineage.report.scripting.subject import Broken
from pytest_lineage.report.scripting.writer import rows


def assembled(what: Broken, calls: Calls) -> str:
    """The text of the script."""
    defined = [
        line
        for name in sorted(calls.helpers)
        if name.startswith("zoo:")
        for line in zoo.ZOO[name[4:]].defines.splitlines()
    ]
    helpers = _helpers(calls, what)
    if any(d.get("got") == "no answer" for d in what.differences):
        calls.need("faulthandler")
        helpers.append(
            "faulthandler.dump_traceback_later(10, exit=True)  # a hang ends here, with its stack"
        )
    body = rows(calls.lines, depth=int(calls.is_async))
    if calls.is_async:
        calls.need("asyncio")
        body.insert(0, "async def main():")
    title = f"# {what.law} ({what.level}): {what.sentence}"
    return calls.text(title, [*defined, *helpers], body)


def _helpers(calls: Calls, what: Broken) -> list[str]:
    """The small functions at the top: ids, configs, checkpoints."""
    lines = []
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
