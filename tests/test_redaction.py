"""What does not go into a report: passwords of every shape, and the home directory as a path."""

from __future__ import annotations

from pathlib import Path, PureWindowsPath

import pytest

from pytest_lineage.report.redaction import redact

SECRETS = [
    "postgresql://me:secret@db.example/x",
    "postgresql://me:secr@et@db.example/x",
    "postgresql://me:a/secret@db.example:5432/x?sslmode=require",
    "postgresql://me:a:secret@db.example/x",
    "postgresql://me:my secret@db.example/x",
    "postgresql://me:12/secret@db.example/x",
    "postgresql://me:my s@cret or secret@db.example/x",
    "postgresql://me:p%40secret@db.example/x",
    "postgresql+psycopg://me:secret?@db.example/x",
    "postgresql://me:it's secret'@db.example/x",
    "mongodb+srv://me:se#secret@cluster.example.net",
    "redis://:secret@[::1]:6379/0",
    "redis://:12345secret@localhost",
    "connect 'postgresql://me:secret@db.example/x' and then 'amqp://you:secret@mq/'",
    "host=db password=secret dbname=x",
    "host=db password='my secret' dbname=x",
    r"host=db password='it\'s secret' dbname=x",
    "host=db password = 'secret' dbname=x",
    'host=db PASSWORD="my secret" dbname=x',
    r"host=db password=my\ secret dbname=x",
    "'host=db password=\\'my secret\\' dbname=x'",
    "{'user': 'me', 'password': 'my secret', 'host': 'db'}",
    '{"password": "my secret"}',
    "PGPASSWORD=secret psql",
    "db_password=secret",
    "postgresql:///x?host=db&user=me&password=secret",
    "https://api.example/x?api_key=secret&token=secret",
]


@pytest.mark.parametrize("text", SECRETS)
def test_a_password_is_left_out(text: str) -> None:
    shown = redact(text)
    assert "secret" not in shown
    assert "***" in shown
    for kept in ("db.example", "localhost", "dbname=x", "sslmode"):
        assert (kept in shown) == (kept in text)
    assert redact(shown) == shown


@pytest.mark.parametrize(
    "text",
    [
        "http://localhost:8080/path, ask bob@example.org",
        "see https://example.org/a:b and bob@example.org",
        "redis://localhost:6379/0",
        "get: expected 1, got 2",
        "tokens=5 and max_tokens=7",
        "put raised ValueError: user@host is no id",
    ],
)
def test_what_is_no_password_stays(text: str) -> None:
    assert redact(text) == text


@pytest.mark.parametrize(
    ("home", "text", "shown"),
    [
        ("/root", "/root/x.py", "~/x.py"),
        ("/root", "in /root", "in ~"),
        ("/root", "/rootsitting/x.py", "/rootsitting/x.py"),
        ("/root", "/root.bak/x", "/root.bak/x"),
        ("/root", "/root-2/x", "/root-2/x"),
        ("/root", "/mnt/root/x", "/mnt/root/x"),
        ("/root", "'/root', \"/root/y\"", "'~', \"~/y\""),
        ("/root", "It is in /root.", "It is in ~."),
        ("/home/me", "sqlite:////home/me/c.db", "sqlite:///~/c.db"),
        ("/home/me", "/home/meadow", "/home/meadow"),
        ("C:\\Users\\me", "C:\\Users\\me\\x.py", "~\\x.py"),
        ("C:\\Users\\me", "'C:\\\\Users\\\\me\\\\x.py'", "'~\\\\x.py'"),
        ("C:\\Users\\me", "c:/users/me/x.py", "~/x.py"),
        ("C:\\Users\\me", "C:\\Users\\menu\\x.py", "C:\\Users\\menu\\x.py"),
        ("/", "/x/y", "/x/y"),
    ],
)
def test_the_home_directory_is_a_path(
    monkeypatch: pytest.MonkeyPatch, home: str, text: str, shown: str
) -> None:
    made = PureWindowsPath(home) if "\\" in home else Path(home)
    monkeypatch.setattr(Path, "home", lambda: made)
    assert redact(text) == shown


def test_no_home_is_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def nobody() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", nobody)
    assert redact("/root/x") == "/root/x"


def test_a_whole_document_is_redacted() -> None:
    data = {"a": [("password=secret", 1)], "b": {"c": "redis://:secret@h"}}
    assert "secret" not in str(redact(data))
