"""Whose exception it is: a misbehaving target makes checks of ours fail, and that is no fault of ours.

What a target raises is told from its traceback. Where that does not tell (an answer that cannot be read fails in our
own lines), the same case is run on the reference: if that can be judged, the target is to blame.
"""

from __future__ import annotations

import sysconfig
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any

from lineage_conformance.handles import Face
from lineage_conformance.judge import Judge
from lineage_conformance.law import Law
from lineage_conformance.raised import Raised
from lineage_conformance.trace import Diff, Trace

SUITE = [str(Path(__file__).parent)]
"""Folders of code that is ours."""

NEUTRAL = [sysconfig.get_paths()["stdlib"]]
"""Folders of code that both sides use, so that it tells nothing; packages are installed below the first too."""

_INSTALLED = ("site-packages", "dist-packages")
_SHARED = ("hypothesis", "langgraph")


def operation(error: BaseException) -> str:
    """The function of the target that raised, as the suite called it; empty if the target did not raise."""
    if isinstance(error, Raised):
        return operation(error.error) or "a call"
    called = ""
    for code in _codes(error):
        whose = _whose(Path(code.co_filename))
        if whose == "suite":
            called = ""
        elif whose == "target":
            called = called or code.co_name
    return called


def _codes(error: BaseException) -> Iterator[CodeType]:
    trace = error.__traceback__
    while trace is not None:
        yield trace.tb_frame.f_code
        trace = trace.tb_next


def _whose(file: Path) -> str:
    """``suite``, ``target``, or empty for what both use."""
    if not file.is_absolute():
        return ""  # frozen modules, generated code
    if any(file.is_relative_to(folder) for folder in SUITE):
        return "suite"
    installed = next((n for n, part in enumerate(file.parts) if part in _INSTALLED), None)
    if installed is not None:
        package = file.parts[installed + 1 :]
        engine = package[0] in _SHARED and package[:2] != ("langgraph", "checkpoint")
        return "" if engine else "target"
    return "" if any(file.is_relative_to(folder) for folder in NEUTRAL) else "target"


class Blaming(Judge):
    """A judge for whom an exception that the target causes is a difference, and not the end.

    `control` runs a law's case on the reference and raises what that raises; None: there is no reference.
    """

    control: Callable[[Law, Any, Face], object] | None = None

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._at, tell = 0, self._beat

        def beat(case: Any, step: int) -> None:
            self._at = step
            tell(case, step)

        self._beat = beat

    def run(self, law: Law, case: Any, face: Face) -> Trace:
        """Run one case under fresh names."""
        self._at = 0
        try:
            return super().run(law, case, face)
        except BaseException as error:
            called = operation(error)
            if not called and not self._is_unlike_the_reference(law, case, face):
                raise
            shown = str(error if isinstance(error, Raised) else Raised(error))
            return Trace([Diff(self._at, called or "answer", ("raises",), "no exception", shown)])

    def _is_unlike_the_reference(self, law: Law, case: Any, face: Face) -> bool:
        if self.control is None:
            return False
        try:
            self.control(law, case, face)
        except BaseException:
            return False
        return True
