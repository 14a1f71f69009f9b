"""Show a stored thread as a picture: its checkpoints as a tree, what each task stored, and what became of it.

TARGET is what holds the data: a SQLite file (./threads.db), a PostgreSQL DSN (postgresql://...), your own factory
(./file.py:factory or pkg.mod:factory), a langgraph.json, or the name of an installed target. Files and DSNs are
opened read-only through LangGraph's own savers. Of a saver nothing but list() is called: no setup, no put,
no delete; what a factory does while it opens is its own affair.

The tree goes from the oldest checkpoint down. `o` is a checkpoint, `@` the head, where the next run goes on.
A task's writes are "committed by" the child that applied them; "UNCOMMITTED" where none did; unknown, with the reason,
where the children do not tell. Names of tasks are not stored: they are won back from ids and namespaces where
that is certain, marked `?` where they are inferred, and left out otherwise.
"""

from __future__ import annotations

import argparse
import sys
from typing import Any

from pytest_lineage.cli.common import UsageError, note, writable

EPILOG = """\
examples:
  pytest-lineage show ./threads.db --thread 42
  pytest-lineage show ./app.py:saver --thread 42 --around 1f0a2b3c --limit 30
  pytest-lineage show ./threads.db --thread 42 --format html --output thread.html

exit codes: 0 shown; 1 shown in part, since the saver raised while it listed; 2 wrong usage, a target that cannot be
read, or no such thread, namespace or checkpoint; 3 a fault of this suite.
"""

FORMATS = ("text", "mermaid", "html", "json")
NEAR = 20
"""Checkpoints that --around shows."""


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("target", metavar="TARGET", help="what holds the data (see above)")
    parser.add_argument("--thread", required=True, metavar="ID", help="the thread's id")
    parser.add_argument("--namespace", metavar="NS",
                        help="only this namespace; '' is the root (default: all)")  # fmt: skip
    parser.add_argument("--around", metavar="CHECKPOINT",
                        help="only what is near a checkpoint: its id, or enough of its beginning")  # fmt: skip
    parser.add_argument("--limit", type=int, metavar="N",
                        help=f"read only the N newest checkpoints; with --around, show N ({NEAR})")  # fmt: skip
    parser.add_argument("--values", action="store_true",
                        help="show stored values, up to 1,000 characters each (passwords in URLs and "
                        "under telling names are left out; anything else is shown)")  # fmt: skip
    parser.add_argument("--full", action="store_true",
                        help="fold nothing, and show ids whole (JSON is always unfolded)")  # fmt: skip
    parser.add_argument("--format", choices=FORMATS, default="text", help="(default: text)")
    parser.add_argument("--output", "-o", metavar="FILE", help="write it to a file")
    parser.add_argument("--op-limit", type=float, default=30.0, metavar="S",
                        help="seconds for opening, and for each row, before it counts as hanging (30)")  # fmt: skip


def run(options: argparse.Namespace) -> int:
    """Read the thread and draw it."""
    from pytest_lineage.run.engine import SuiteFault, Unusable
    from pytest_lineage.show import asking

    if options.limit is not None and options.limit < 1:
        raise UsageError(f"--limit must be at least 1, not {options.limit}")
    if not 0 < options.op_limit < 1e6:
        raise UsageError(f"--op-limit must be more than 0 seconds, not {options.op_limit:g}")
    asked = asking.Question(
        options.target, options.thread, options.namespace,
        None if options.around else options.limit, options.values, options.op_limit,
    )  # fmt: skip
    output = writable(options.output, "--output")
    try:
        thread, about = asking.read(asked)
        text = _drawn(options, thread, about)
    except (Unusable, asking.Missing, SuiteFault) as error:
        return _failed(error, options.target, 3 if isinstance(error, SuiteFault) else 2)
    if output is None:
        sys.stdout.write(text)
    else:
        output.write_text(text, encoding="utf-8", errors="backslashreplace", newline="\n")
        note(f"wrote {output}")
    if about["stopped"]:
        note(f"error: {_safe(thread.notes[-1])}")
        return 1
    return 0


def _failed(error: Exception, target: str, code: int) -> int:
    """Say why nothing is shown, without the password that a DSN may hold in any of its forms."""
    from pytest_lineage.report import model

    text = str(error)
    if "://" in target:
        text = text.replace(target, "PostgreSQL")
    text = str(model.redact(text))
    note(
        f"error: {_safe(text)}" if code == 2 else f"a fault of this suite, please report it: {text}"
    )
    return code


def _drawn(options: argparse.Namespace, thread: Any, about: dict[str, Any]) -> str:
    from pytest_lineage.report import model
    from pytest_lineage.report.style import Style
    from pytest_lineage.show import document, folding, mermaid, page, text

    near = None
    if options.around:
        near = folding.around(thread, _found(thread, options.around), options.limit or NEAR)
    if options.format == "json":
        return model.dumps(document.document(thread, about, near)) + "\n"
    picture = folding.fold(thread, options.full, near)
    kind = about["class"].rpartition(".")[2]
    head = f"thread {_safe(thread.id)} of {_safe(model.redact(about['name']))} ({_safe(kind)})"
    if options.format == "mermaid":
        return mermaid.render(thread, picture, options.full)
    if options.format == "html":
        return page.render(thread, picture, head, options.values)
    style = Style(color=False) if options.output else Style.detect()
    return text.render(thread, picture, head, style, options.values, options.full)


def _found(thread: Any, start: str) -> Any:
    """The checkpoint whose id begins so."""
    from pytest_lineage.show.asking import Missing

    found = [item for item in thread.checkpoints if item.id == start] or [
        item for item in thread.checkpoints if item.id.startswith(start)
    ]
    if not found:
        raise Missing(
            f"no checkpoint of thread {_safe(thread.id)} has an id that begins so: {_safe(start)}"
        )
    if len({item.id for item in found}) > 1:
        some = ", ".join(_safe(item.id) for item in found[:3])
        raise Missing(
            f"{len(found):,} checkpoints have ids that begin with {_safe(start)}: {some}, ..."
        )
    return found[0]


def _safe(text: str) -> str:
    from pytest_lineage.report.style import clip, safe

    return clip(safe(text), 600)
