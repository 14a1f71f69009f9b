"""The report on a terminal: what is broken and why first, then a table of groups, then the verdict."""

from __future__ import annotations

from typing import Any


def render(document: dict[str, Any], verbose: bool = False) -> str:
    """The whole report as text."""
    lines = []
    for row in document["laws"]:
        if row["verdict"] in ("broken", "hangs") or verbose:
            lines.append(f"{row['verdict']:14} {row['level']:6} {row['law']}[{row['face']}] {row.get('reason','')[:300]}" + (f"  <- {row['caused_by']}" if row.get("caused_by") else ""))
    for t in document["targets"]:
        lines.append(str({k: v for k, v in t.items()}))
    lines.append(str(document["summary"]["verdicts"]) + f" exit {document['exit_code']}")
    return "\n".join(lines)
