"""How text is put on a terminal: safe characters, widths, wrapping, colour when it is wanted."""

from __future__ import annotations

import os
import re
import shutil
import sys
import textwrap
import unicodedata
from dataclasses import dataclass
from typing import TextIO

CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
NARROWEST, WIDEST = 40, 120
_PAINT = re.compile("\x1b\\[[0-9;]*m")
_PLAIN = {
    "…": "...",
    "—": "--",
    "·": "-",
    "✗": "x",
    "─": "-",
    "│": "|",
    "├": "|",
    "└": "`",
    "◄": "<--",
}


def safe(text: object) -> str:
    """`text` with everything escaped that could move the cursor, reorder a line or hide in it."""
    source = text if isinstance(text, str) else repr(text)
    if source.isprintable():
        return source
    return "".join(char if char.isprintable() else _escaped(char) for char in source)


def _escaped(char: str) -> str:
    number = ord(char)
    if char in "\n\r\t":
        return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}[char]
    return (
        f"\\x{number:02x}"
        if number < 256
        else f"\\u{number:04x}"
        if number < 65536
        else f"\\U{number:08x}"
    )


def clip(text: str, most: int) -> str:
    """`text`, its end replaced by an ellipsis where it has more than `most` characters."""
    return text if len(text) <= most else text[: max(most - 1, 0)] + "…"


def columns(text: str) -> int:
    """Terminal columns that `text` takes, colour codes not counted."""
    text = _PAINT.sub("", text)
    if text.isascii():
        return len(text)
    return sum(_columns(char) for char in text)


def _columns(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def pad(text: str, width: int) -> str:
    """`text` filled up with spaces to `width` columns."""
    return text + " " * (width - columns(text))


@dataclass(frozen=True)
class Style:
    """Where the text goes: its width, and whether colour and more than ASCII are welcome."""

    width: int = 80
    color: bool = False
    ascii: bool = False

    @classmethod
    def detect(
        cls, color: bool | None = None, width: int | None = None, stream: TextIO | None = None
    ) -> Style:
        """The style for a stream (standard output if none is given); what is given wins."""
        stream = stream or sys.stdout
        if color is None:
            no = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
            color = bool(not no and hasattr(stream, "isatty") and stream.isatty())
        if width is None:
            width = shutil.get_terminal_size().columns
        return cls(min(max(width, NARROWEST), WIDEST), color, not _speaks_unicode(stream))

    def paint(self, text: str, *names: str) -> str:
        """`text` in colours, where there are any."""
        if not self.color or not text or not names:
            return text
        return f"\x1b[{';'.join(CODES[name] for name in names)}m{text}\x1b[0m"

    def plain(self, text: str) -> str:
        """`text` without our own typographic characters where the terminal cannot show them."""
        if not self.ascii:
            return text
        return "".join(_PLAIN.get(char, char) for char in text)

    def rule(self, title: str = "") -> str:
        """A line across the page, with a title at its left."""
        line = f"── {title} " if title else ""
        return line + "─" * max(self.width - columns(line), 0)

    def wrap(self, text: str, indent: str = "", first: str = "") -> list[str]:
        """Lines of `text` that fit, the first after `first`, the others after `indent`.

        Long words (paths, ids, values) are broken rather than lost.
        """
        lines = textwrap.wrap(
            text, self.width, initial_indent=first, subsequent_indent=indent, break_on_hyphens=False
        )
        return lines or [first.rstrip()]


def _speaks_unicode(stream: TextIO) -> bool:
    try:
        "─└✗…".encode(getattr(stream, "encoding", None) or "utf-8")
    except (UnicodeError, LookupError):
        return False
    return True
