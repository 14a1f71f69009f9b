"""The report as lines: a header, one line per verdict, a footer. Append-only, so a cut is noticed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pytest_lineage.report.model import FORMAT

SCHEMAS = Path(__file__).parent / "schemas"
"""JSON Schemas: `report.schema.json` for the document, `lines.schema.json` for each line."""

_FOOTER = ("summary", "exit_code")
_ROW = ("law", "face", "target", "level", "verdict", "group")


class ReportError(Exception):
    """A report cannot be read. The message names the file, the line and what to do."""


def write(path: str | Path, document: dict[str, Any]) -> None:
    """Write a document as lines of ASCII JSON."""
    header = {k: v for k, v in document.items() if k != "laws" and k not in _FOOTER}
    footer = {"verdicts": len(document["laws"]), **{k: document[k] for k in _FOOTER}}
    with Path(path).open("w", encoding="ascii", newline="\n") as file:
        file.write(_line("header", header))
        for row in document["laws"]:
            file.write(_line("verdict", row))
        file.write(_line("footer", footer))


def read(path: str | Path) -> dict[str, Any]:
    """Read a document back, from lines or from the JSON of ``check --format json``.

    Raises `ReportError` for a file that is newer than this version, cut short, or no report.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise ReportError(f"{path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise ReportError(f"{path}: is no report: byte {error.start} is not UTF-8") from None
    if not text.strip():
        raise ReportError(f"{path}: is empty, so the run that should have written it did not end")
    whole = _whole(text)
    return _checked(path, whole if whole is not None else _from_lines(path, text))


def _line(event: str, data: dict[str, Any]) -> str:
    return json.dumps({"event": event, **data}, ensure_ascii=True, default=repr) + "\n"


def _whole(text: str) -> dict[str, Any] | None:
    """The document, if the text is one JSON object with the verdicts in it."""
    if text.lstrip().startswith('{"event"'):
        return None
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) and "laws" in data else None


def _from_lines(path: str | Path, text: str) -> dict[str, Any]:
    document: dict[str, Any] = {}
    rows: list[dict[str, Any]] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        data = _parsed(path, number, line, ended=text.endswith("\n") or number <= text.count("\n"))
        event = data.pop("event", None)
        if not document:
            if event != "header":
                raise ReportError(
                    f"{path}: is no report of pytest-lineage: line {number} is not a header"
                )
            _check_format(path, data)
            document = data
        elif event == "verdict":
            rows.append(data)
        elif event == "footer":
            return _closed(path, document, rows, data)
        # Lines with another event may come with a later minor version; they do not matter here.
    raise ReportError(
        f"{path}: is cut short: {len(rows)} verdicts and no footer, so the run did not end or the file "
        "was not copied whole"
    )


def _parsed(path: str | Path, number: int, line: str, ended: bool) -> dict[str, Any]:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        if not ended:
            raise ReportError(
                f"{path}: is cut short in the middle of line {number}, so the run did not end or the "
                "file was not copied whole"
            ) from None
        raise ReportError(
            f"{path}: line {number} is no JSON, so this is no report or a damaged one"
        ) from None
    if not isinstance(data, dict):
        raise ReportError(
            f"{path}: line {number} is no JSON object, so this is no report or a damaged one"
        )
    return data


def _closed(
    path: str | Path, document: dict[str, Any], rows: list[dict[str, Any]], footer: dict[str, Any]
) -> dict[str, Any]:
    promised = footer.get("verdicts", len(rows))
    if promised != len(rows):
        raise ReportError(
            f"{path}: is damaged: it holds {len(rows)} verdicts, its footer counts {promised}"
        )
    return {**document, "laws": rows, **{key: footer.get(key) for key in _FOOTER}}


def _check_format(path: str | Path, data: dict[str, Any]) -> None:
    version = data.get("format")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise ReportError(f"{path}: is no report of pytest-lineage: its format is {version!r:.60}")
    if version > FORMAT:
        raise ReportError(
            f"{path}: has report format {version}, newer than {FORMAT}, the newest that this version "
            "reads; upgrade pytest-lineage"
        )


def _checked(path: str | Path, document: dict[str, Any]) -> dict[str, Any]:
    """The document, if every writer can rely on its shape."""
    _check_format(path, document)
    shapes = {"targets": list, "laws": list, "versions": dict, "summary": dict, "exit_code": int}
    for key, shape in shapes.items():
        if not isinstance(document.get(key), shape):
            raise ReportError(f"{path}: is damaged: {key!r} is missing or of the wrong type")
    for number, row in enumerate(document["laws"], 1):
        if not isinstance(row, dict) or not all(isinstance(row.get(key), str) for key in _ROW):
            raise ReportError(
                f"{path}: is damaged: verdict {number} lacks one of {', '.join(_ROW)}"
            )
        wrong = _wrong(row, _TEXTS) or _wrong(row, _NUMBERS, (int, float)) or _in_evidence(row)
        if wrong:
            raise ReportError(
                f"{path}: is damaged: {wrong} of verdict {number} is of the wrong type"
            )
    for target in document["targets"]:
        if not isinstance(target, dict) or not isinstance(target.get("name"), str):
            raise ReportError(f"{path}: is damaged: a target has no name")
        wrong = (
            _wrong(target, ("class", "declared", "postgres", "cut", "error", "fault", "incomplete"))
            or _wrong(target, ("seconds",), (int, float))
            or _wrong(target, ("absent", "limits", "unsupported", "versions"), dict)
            or _wrong(target, ("faces",), list)
        )
        if wrong:
            raise ReportError(f"{path}: is damaged: {wrong} of a target is of the wrong type")
    return document


_TEXTS = ("sentence", "source", "meaning", "reason", "caused_by", "program_id", "advisory", "stake")
_NUMBERS = ("seconds", "examples", "observations", "refused")


def _wrong(data: dict[str, Any], keys: tuple[str, ...], kind: Any = str) -> str:
    """The first of some optional keys whose value is of another type; empty if none is."""
    return next((key for key in keys if key in data and not isinstance(data[key], kind)), "")


def _in_evidence(row: dict[str, Any]) -> str:
    """What is of the wrong type in the evidence of a verdict; empty if nothing is."""
    evidence = row.get("evidence") or {}
    if not isinstance(evidence, dict):
        return "evidence"
    if not isinstance(row.get("reports", []), list):
        return "reports"
    differences = evidence.get("differences", [])
    if not isinstance(differences, list) or not all(
        isinstance(d, dict) and isinstance(d.get("op"), int) and isinstance(d.get("at"), str)
        for d in differences
    ):
        return "differences"
    return _wrong(evidence, ("stack",)) or _wrong(evidence, ("program",), dict)
