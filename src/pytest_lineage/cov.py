"""Coverage of the *target*: which lines of the saver the laws reached, and which none did.

The measuring happens in the target's worker, with the id of the running law as coverage context. Our own
code is not measured here.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pytest_lineage.targets import TargetError

DATA = ".lineage/coverage"
"""Where the data of a run is kept, below the current directory; `coverage html` can read it."""


def folder() -> str:
    """The data file of this run, without the data of earlier ones. Raises `TargetError` if it cannot be made."""
    if importlib.util.find_spec("coverage") is None:
        raise TargetError("--cov needs the package coverage; install pytest-lineage[cov]")
    base = Path.cwd() / DATA
    try:
        base.parent.mkdir(exist_ok=True)
        for old in base.parent.glob(base.name + "*"):
            old.unlink()
    except OSError as error:
        raise TargetError(f"--cov: {base.parent} cannot be written: {error.strerror}") from None
    return str(base)


def files_of(saver: type[Any]) -> list[str]:
    """Patterns for the files to measure: those of the packages that define the saver's classes.

    LangGraph's base class is not the target; neither is what Python itself brings.
    """
    patterns: list[str] = []
    for cls in saver.__mro__:
        module = sys.modules.get(cls.__module__)
        file = getattr(module, "__file__", None)
        if file is None or cls.__module__ in ("langgraph.checkpoint.base", "builtins", "typing"):
            continue
        if cls.__module__.partition(".")[0] in sys.stdlib_module_names:
            continue
        path = Path(file)
        in_package = "." in cls.__module__ or path.name == "__init__.py"
        pattern = str(path.parent / "*") if in_package else str(path)
        if pattern not in patterns:
            patterns.append(pattern)
    return patterns


def start(data: str, include: Sequence[str]) -> Any:
    """Begin to measure in this process."""
    from coverage import Coverage

    measured = Coverage(
        data_file=data, data_suffix=True, include=list(include), config_file=False, branch=False
    )
    measured.set_option("run:disable_warnings", ["no-data-collected", "module-not-measured"])
    measured.start()
    return measured


def report(data: str, include: Iterable[str]) -> str:
    """What was reached, file by file, and the lines that no law reached, as text."""
    from coverage import Coverage
    from coverage.exceptions import CoverageException

    measured = Coverage(data_file=data, include=list(include), config_file=False)
    try:
        measured.combine(strict=True)
        measured.save()
    except CoverageException as error:
        return f"coverage of the target: nothing was measured ({error})"
    found = measured.get_data()
    lines = ["coverage of the target (lines; contexts in the data are law ids)"]
    laws = sorted(context for context in found.measured_contexts() if "." in context)
    for file in sorted(found.measured_files()):
        try:
            _, statements, _, missing, ranges = measured.analysis2(file)
        except CoverageException as error:
            lines.append(f"  {_short(file)}: {error}")
            continue
        share = 100 * (1 - len(missing) / len(statements)) if statements else 100.0
        unreached = f"; no law reached {ranges}" if missing else ""
        lines.append(f"  {_short(file)}: {share:.0f} % of {len(statements)}{unreached}")
    if len(lines) == 1:
        return "coverage of the target: nothing was measured"
    lines.append(
        f"  {len(laws)} laws reached it; details: coverage html --data-file {DATA} --show-contexts"
    )
    return "\n".join(lines)


def _short(file: str) -> str:
    return "/".join(Path(file).parts[-3:])
