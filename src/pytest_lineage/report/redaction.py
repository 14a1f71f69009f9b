"""What does not go into a report: passwords, home directories, and more of a value than a preview.

A password may hold what it likes (``@``, ``/``, blanks): in doubt rather too much of a line is left out.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

PREVIEW = 2000
"""Longest text kept of one value or message."""

_USER = r"(\b[a-z][a-z\d+.-]*://[^\s:/@\"']*):"
_PORT = r"\d*(?:[/?#,;)\]\s\"']|$)"
_HOST = r"(?=[\w.\[%-])"
_URLS = (
    # Up to the last @ of the line, or of what the quotes hold; a port is no password.
    re.compile(rf"(?i){_USER}(?!{_PORT})(?:(?!\w://)[^\n\"'<>])*@{_HOST}"),
    # One that looks like a port ends with the word.
    re.compile(rf"(?i){_USER}(?!\*\*\*@)\S*@{_HOST}"),
    # One that holds quotes, and blanks too.
    re.compile(rf"(?i){_USER}(?!{_PORT}|\*\*\*@)(?:(?!\w://)[^\n])*@{_HOST}"),
)
_NAMES = r"((?:\w*_)?(?:pg)?(?:password|passwd|passphrase|pwd)|secret|token|api_?key)"
_QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_KEYWORDS = (
    re.compile(rf"(?i)\b{_NAMES}(\s*=\s*)\\(['\"]).*?\\\3"),  # inside the repr of a text
    re.compile(rf"(?i)\b{_NAMES}(\s*=\s*|[\"']\s*:\s*)(?:{_QUOTED})"),
    re.compile(rf"(?i)\b{_NAMES}(\s*=\s*)(?!\*\*\*)(?:\\.|[^\s&;'\"])+"),
)


def redact(value: Any) -> Any:
    """Leave out passwords, home paths, and what is longer than a preview."""
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, dict):
        return {key: redact(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [redact(item) for item in value]
    return value


def _text(text: str) -> str:
    if "://" in text:
        for url in _URLS:
            text = url.sub(r"\1:***@", text)
    if "=" in text or ":" in text:
        for keyword in _KEYWORDS:
            text = keyword.sub(r"\1\2***", text)
    text = _without_home(text)
    return text if len(text) <= PREVIEW else text[:PREVIEW] + f"... ({len(text)} characters)"


def _without_home(text: str) -> str:
    """The home directory as ``~``, where it is a whole path or the beginning of one."""
    try:
        home = str(Path.home()).rstrip("/\\")
    except RuntimeError:  # there is none
        return text
    if len(home) < 2:
        return text
    windows = "\\" in home or home[1:2] == ":"
    forms = {home, home.replace("\\", "\\\\"), home.replace("\\", "/")} if windows else {home}
    for form in sorted(forms, key=len, reverse=True):
        pattern = rf"(?<![\w.~-]){re.escape(form)}(?!\.?[\w-])"
        text = re.sub(pattern, "~", text, flags=re.IGNORECASE if windows else 0)
    return text
