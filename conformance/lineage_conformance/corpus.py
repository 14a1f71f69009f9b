"""The corpus: small programs that once told a defect, a real saver or a mutant from a right one.

One JSON file holds one program and names its law: ``{"law": id, "origin": text, "format": 1, "ops": [...]}``.
A law replays the programs of its own module first and these after them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def entries(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """The programs of a folder as data, by law id, in the order of their file names.

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
