"""What a script is about, read from a row of a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lineage_conformance.kinds.saver.program import Program


class ScriptError(Exception):
    """No script can show this. The message says why."""


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
        try:
            program = Program.from_json(data)
        except ValueError as error:
            raise ScriptError(f"the program of {row['law']} cannot be read: {error}") from None
        return cls(
            str(row["law"]), str(row["level"]), str(row.get("sentence", "")), str(row["face"]), program,
            evidence["differences"],
        )  # fmt: skip
