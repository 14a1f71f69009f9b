"""How a target is run, and what is raised where that is not possible."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from pathlib import Path

from pytest_lineage.run.supervisor import Limits


@dataclass(frozen=True)
class Options:
    """How to run. Times in seconds."""

    profile: str = "quick"
    kind: str = "saver"
    over: str = ""
    laws: tuple[str, ...] = ()
    faces: tuple[str, ...] = ()
    exitfirst: bool = False
    time_limit: float | None = None
    op_limit: float = Limits.op
    start_limit: float | None = None
    """For opening; None: as `Limits` has it."""
    service: str = ""
    """What the worker does with the target, as ``module:class``; empty: it judges laws."""
    allow_nonempty: bool = False
    cov: str = ""
    bare: bool = False
    """Whether no law will be judged, so that the programs of laws need not be loaded."""
    python: str = ""
    """Interpreter of another environment in which the target is opened; empty: this one."""
    suite: str = ""
    """Folder that holds this suite, for another environment."""
    save: bool = False
    """Whether programs of broken laws are saved below the current directory."""
    path: tuple[str, ...] = field(default_factory=lambda: tuple(p for p in sys.path if p))


class Unusable(Exception):
    """The target cannot be used; the message is for the user."""


class SuiteFault(Exception):
    """The suite itself failed; the message holds a traceback."""


def default_path() -> tuple[str, ...]:
    """Entries of `sys.path` that a worker should search too, the current directory first."""
    return (str(Path.cwd()), *(p for p in sys.path if p))
