"""Changing a known-failures file: entries come and go, everything else stays as its owner wrote it.

The text is edited, not written anew, so comments, order and spelling survive. Before a change is written
the new text is read again: if it does not hold exactly the entries it should, nothing is written.
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from lineage_conformance import contract
from pytest_lineage.known.file import FIELDS, Entry, KnownError, KnownFile, parse

HEADER = """\
# Known failures: laws that are broken today, each with a reason and an end.
# Laws that were added after this version of pytest-lineage are listed as unreviewed until you raise it.
suite = "{suite}"
"""

_KNOWN = re.compile(r"\s*\[\[\s*known\s*\]\]\s*(#.*)?")
_SURROGATE = re.compile("[\ud800-\udfff]")
_TABLE = re.compile(r"\s*\[")


def add(path: Path, entries: Sequence[Entry]) -> KnownFile:
    """Append entries, making the file if there is none. Raises `KnownError`, and `OSError` if it cannot be written."""
    text, newline, mark = _load(path)
    before = parse(text, path)
    made = text or HEADER.format(suite=contract.version("pytest-lineage") or "0.1.0")
    if not made.endswith("\n"):
        made += "\n"
    for entry in entries:
        made += "\n" + block(entry)
    after = parse(made, path)
    _must_be(path, after.entries, [*before.entries, *entries])
    _store(path, made, newline, mark)
    return after


def remove(path: Path, entries: Iterable[Entry]) -> KnownFile:
    """Take entries out, each with the comment right above it. Raises `KnownError`, `OSError`."""
    text, newline, mark = _load(path)
    before = parse(text, path)
    gone = {_plain(entry) for entry in entries}
    kept = [entry for entry in before.entries if _plain(entry) not in gone]
    lines = text.split("\n")
    for entry in sorted(before.entries, key=lambda entry: -entry.line):
        if _plain(entry) in gone:
            if not entry.line:
                raise KnownError(
                    f"{path}: entries that are not written as [[known]] must be taken out by hand"
                )
            start, end = _span(lines, entry.line - 1)
            del lines[start:end]
    made = "\n".join(lines)
    after = parse(made, path)
    _must_be(path, after.entries, kept)
    _store(path, made, newline, mark)
    return after


def block(entry: Entry) -> str:
    """An entry as text."""
    lines = ["[[known]]"]
    for name in FIELDS:
        value = getattr(entry, name)
        if value:
            shown = (
                quoted(value) if isinstance(value, str) else f"[{', '.join(map(quoted, value))}]"
            )
            lines.append(f"{name} = {shown}")
    return "\n".join(lines) + "\n"


def quoted(text: str) -> str:
    """A text as a TOML string on one line."""
    named = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
    parts = []
    for char in text:
        number = ord(char)
        if char in named:
            parts.append(named[char])
        elif number < 32 or 0x7F <= number < 0xA0:
            parts.append(f"\\u{number:04x}")
        elif 0xD800 <= number < 0xE000:
            parts.append("\ufffd")  # a lone surrogate is no character, TOML cannot hold it
        else:
            parts.append(char)
    return f'"{"".join(parts)}"'


def _span(lines: list[str], header: int) -> tuple[int, int]:
    """The lines of an entry: its own comment above, down to what belongs to the next one."""
    start = header
    while start > 0 and lines[start - 1].lstrip().startswith("#"):
        start -= 1
    if start == 0 and header > 0:
        start = header  # a comment at the top is about the file
    end = header + 1
    while end < len(lines) and not _TABLE.match(lines[end]):
        end += 1
    if end < len(lines):  # the comment above the next table is its own
        while end - 1 > header and lines[end - 1].lstrip().startswith("#"):
            end -= 1
    else:
        last = max((n for n in range(header, end) if "=" in lines[n] and not lines[n].lstrip().startswith("#")),
                   default=header)  # fmt: skip
        tail = next((n for n in range(last + 1, end) if lines[n].lstrip().startswith("#")), None)
        if tail is None:
            while start > 0 and not lines[start - 1].strip():
                start -= 1
            return start, len(lines) - 1 if lines[-1] == "" and start else len(lines)
        end = tail
    return start, end


def _plain(entry: Entry) -> Entry:
    """An entry as a file can hold it, wherever it stands there."""
    made = dataclasses.replace(entry, line=0)
    for name in ("target", "law", "reason", "link"):
        object.__setattr__(made, name, _SURROGATE.sub("\ufffd", getattr(entry, name)))
    return made


def _must_be(path: Path, found: list[Entry], wanted: list[Entry]) -> None:
    if [_plain(entry) for entry in found] != [_plain(entry) for entry in wanted]:
        raise KnownError(
            f"{path}: is written in a way that cannot be changed safely; please edit it by hand"
        )


def _load(path: Path) -> tuple[str, str, bytes]:
    """The text with plain line ends, its own line end, and a byte order mark if it has one."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return "", "\n", b""
    except OSError as error:
        raise KnownError(f"{path}: cannot be read: {error.strerror or error}") from None
    mark = data[:3] if data.startswith(b"\xef\xbb\xbf") else b""
    try:
        text = data[len(mark) :].decode("utf-8")
    except UnicodeDecodeError as error:
        raise KnownError(f"{path}: byte {error.start} is not UTF-8") from None
    newline = "\r\n" if "\r\n" in text else "\n"
    return text.replace("\r\n", "\n"), newline, mark


def _store(path: Path, text: str, newline: str, mark: bytes) -> None:
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    part.write_bytes(mark + text.replace("\n", newline).encode("utf-8"))
    os.replace(part, path)
