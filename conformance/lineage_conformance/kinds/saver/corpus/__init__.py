"""The corpus: small programs that once told a defect, a real saver or a mutant from a right one.

One JSON file holds one program and names its law: ``{"law": id, "origin": text, "format": 1, "ops": [...]}``.
A law replays the programs of its own module first and these after them.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from lineage_conformance import law as laws

FOLDER = Path(__file__).parent


def entries(folder: Path = FOLDER) -> dict[str, list[dict[str, Any]]]:
    """The programs as data, by law id, in the order of their file names.

    Raises `ValueError` that names the file which cannot be read or has no law.
    """
    found: dict[str, list[dict[str, Any]]] = {}
    for path in sorted(folder.glob("*.json")):
        try:
            data = json.loads(path.read_text(encoding="utf-8"))
            found.setdefault(data["law"], []).append(data)
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(
                f"{path.name} in the corpus: {type(error).__name__}: {error}"
            ) from error
    return found


def attach(folder: Path = FOLDER) -> None:
    """Add every program to its law. Raises `ValueError` for a program whose law does not exist."""
    for id, held in entries(folder).items():
        try:
            laws.extend(id, functools.partial(_decoded, id, held))
        except KeyError:
            raise ValueError(
                f"the corpus has a program for {id!r}, and no law is called so"
            ) from None


def _decoded(id: str, held: Iterable[dict[str, Any]]) -> list[Any]:
    return [laws.get(id).decode(data) for data in held]
