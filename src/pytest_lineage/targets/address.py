"""Addresses: what somebody types to reach a target again, and the commands that are made of it.

An address is plain data, since it goes into reports: ``text`` names the target as it was typed; ``kind``, ``over``,
``allow_nonempty`` and ``op_limit`` are there where they differ from what a command takes by itself; ``path`` are
folders that an import needs; ``node`` is the pytest node of a target that a test module declares.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lineage_conformance import kinds

if TYPE_CHECKING:
    from pytest_lineage.run.options import Options

Address = dict[str, Any]
DEFAULT_LIMIT = 5.0
"""Seconds that an operation may take where no option says otherwise."""


def of(text: str, options: Options, path: Sequence[str] = (), node: str = "") -> Address:
    """The address of a target that was opened as `text` with `options`. Files are seen from the current directory."""
    made: Address = {"text": seen(text)}
    if options.kind != kinds.USUAL:
        made["kind"] = options.kind
    if options.over:
        made["over"] = seen(options.over)
    if options.allow_nonempty:
        made["allow_nonempty"] = True
    if options.op_limit != DEFAULT_LIMIT:
        made["op_limit"] = options.op_limit
    where, colon, _ = text.rpartition(":")
    needed = [seen(entry) for entry in path if Path(entry) != Path.cwd()]
    if needed and colon and not where.endswith(".py"):
        made["path"] = needed
    if node:
        made["node"] = node
    return made


def seen(text: str) -> str:
    """A path, or ``FILE:ATTRIBUTE``, relative to the current directory where it lies below."""
    where, colon, rest = text.rpartition(":")
    if not colon or not where.endswith(".py"):
        where, colon, rest = text, "", ""
    try:
        return f"./{Path(where).relative_to(Path.cwd()).as_posix()}{colon}{rest}"
    except ValueError:
        return text


def command(address: Mapping[str, Any], law: str, face: str, profile: str = "default") -> list[str]:
    """The command that judges one law on one face, as parts that belong on one line each.

    What its exit code says is what is said of `check`, or of pytest where the address is a node.
    """
    if address.get("node"):
        item = f"{address['node']}::{law}[{face}]"
        options = _options(address, "--lineage-", "" if profile == "quick" else profile)
        return [f"pytest {quoted(item)}", *options]
    start = f"pytest-lineage check {quoted(address['text'])}"
    if address.get("path") and sys.platform != "win32":
        start = f"PYTHONPATH={quoted(os.pathsep.join(address['path']))} {start}"
    start += f" --kind {address['kind']}" if address.get("kind") else ""
    start += f" --over {quoted(address['over'])}" if address.get("over") else ""
    rest = [f"--laws {law} --face {quoted(face)}"]
    rest += _options(address, "--", "deep" if profile == "deep" else "")
    return [start, " ".join(rest)]


def replay(address: Mapping[str, Any], id: str) -> str:
    """The command that runs a saved program again."""
    return " ".join([f"pytest-lineage replay {id}", *_options(address, "--", "")])


def _options(address: Mapping[str, Any], start: str, profile: str) -> list[str]:
    given = [f"{start}profile {profile}"] if profile else []
    if address.get("op_limit"):
        given.append(f"{start}op-limit {address['op_limit']:g}")
    if address.get("allow_nonempty"):
        given.append(f"{start}allow-nonempty")
    return [" ".join(given)] if given else []


def quoted(text: str) -> str:
    """`text` as one word of a shell. A home directory that a report shows as ``~`` is still expanded."""
    if sys.platform == "win32":
        return subprocess.list2cmdline([text])
    if text.startswith("~/"):
        return "~/" + shlex.quote(text[2:])
    return shlex.quote(text)
