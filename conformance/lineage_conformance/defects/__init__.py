"""Known faults of released savers, each with pins that have it and a law that must notice it."""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass
from pathlib import Path

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

    @property
    def group(self) -> str:
        """The group of the law."""
        return self.law.partition(".")[0]


def catalogue(path: Path = FOLDER / "catalogue.toml") -> list[Defect]:
    """Every known fault, by id. Raises `ValueError` for a file of another format."""
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    if data.get("format") != FORMAT:
        raise ValueError(
            f"{path.name} has format {data.get('format')!r}, this suite reads {FORMAT}"
        )
    made = [
        Defect(
            **{
                **entry,
                "story": " ".join(entry["story"].split()),
                "faulty": tuple(entry["faulty"]),
                "fixed": tuple(entry["fixed"]),
            }
        )
        for entry in data["defect"]
    ]
    return sorted(made, key=lambda defect: defect.id)
