"""Known faults, each with a law that must notice it: of released packages by pins, and wrong fixes of applications."""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

tomllib = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
FORMAT = 1
FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Defect:
    """One known fault."""

    id: str
    title: str
    story: str
    faulty: tuple[str, ...]
    """Requirements of an environment that has the fault."""
    fixed: tuple[str, ...]
    """Requirements of one that does not."""
    python: str
    target: str
    law: str
    area: str
    """Where the fault is, in a word or two: ``graph: forks``."""
    upstream: str = ""
    """Address of the change that repaired it, where one is public."""

    @property
    def group(self) -> str:
        """The group of the law."""
        return self.law.partition(".")[0]


@dataclass(frozen=True)
class WrongFix:
    """A repair that applications write first, and that is wrong. It is code of ours, not of a release."""

    id: str
    title: str
    story: str
    area: str
    fix: str
    """Name of the class that does it; whoever has the code knows where that is."""
    instead: str
    """Name of the factory that does it right."""
    law: str
    right: str
    """What a right implementation does, in a sentence."""
    shows: tuple[str, ...] = ()
    """Requirements of an environment in which it does harm, where not every environment is one."""


def catalogue(path: Path = FOLDER / "catalogue.toml") -> list[Defect]:
    """Every known fault, by id. Raises `ValueError` for a file of another format."""
    made = [
        Defect(
            **{
                **entry,
                "story": " ".join(entry["story"].split()),
                "faulty": tuple(entry["faulty"]),
                "fixed": tuple(entry["fixed"]),
            }
        )
        for entry in _data(path)["defect"]
    ]
    return sorted(made, key=lambda defect: defect.id)


def wrong_fixes(path: Path = FOLDER / "catalogue.toml") -> list[WrongFix]:
    """Every wrong first fix, by id. Raises as `catalogue` does."""
    made = [
        WrongFix(
            **{
                **entry,
                "story": " ".join(entry["story"].split()),
                "shows": tuple(entry.get("shows", ())),
            }
        )
        for entry in _data(path)["wrong_fix"]
    ]
    return sorted(made, key=lambda fix: fix.id)


def _data(path: Path) -> dict[str, Any]:
    data: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    if data.get("format") != FORMAT:
        raise ValueError(
            f"{path.name} has format {data.get('format')!r}, this suite reads {FORMAT}"
        )
    return data
