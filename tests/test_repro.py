"""The command `repro`: stories, what a run comes to, and every state that is not a verdict. Nothing is built here."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from lineage_conformance import builder
from lineage_conformance import law as laws
from lineage_conformance.defects import Defect, catalogue, wrong_fixes
from pytest_lineage.cli import main
from pytest_lineage.repro import running, stories
from pytest_lineage.run import engine
from pytest_lineage.run.rows import Row


class FakeRun:
    """A target whose verdicts are decided by the interpreter's folder (faulty, fixed, ...)."""

    verdicts: dict[str, str] = {}  # noqa: RUF012
    error: Exception | None = None
    asked: list[tuple[str, Any]] = []  # noqa: RUF012

    def __init__(self, text: str, options: engine.Options, postgres: Any) -> None:
        self.text, self.options = text, options
        self.asked.append((text, options))

    def start(self) -> dict[str, Any]:
        if self.error is not None:
            raise self.error
        return {"faces": ["sync", "async"], "name": self.text}

    def verdict(self) -> str:
        for part, verdict in self.verdicts.items():
            if part in f"{self.options.python} {self.text}":
                return verdict
        return "holds"

    def row(self, item: Any, face: str, verdict: str) -> Row:
        row = Row(item.id, face, self.text, item.level.value, verdict, item.group, item.sentence)
        if verdict in running.BAD:
            row.reason = "get:values: expected 1, got 2"
            difference = {"op": 0, "at": "get:values", "expected": "1", "got": "2"}
            row.evidence = {"program": {"case": "made up"}, "differences": [difference]}
        if verdict == "not-applicable":
            row.reason = "needs langgraph 1.2"
        return row

    def judge(self, item: Any, face: str) -> Row:
        return self.row(item, face, self.verdict())

    def replay(self, item: Any, face: str, program: Any) -> Row:
        return self.row(item, face, self.verdict())

    def close(self) -> None:
        pass


@pytest.fixture
def fakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[tuple[tuple[str, ...], str]]:
    """Environments that are only named, in folders called after their pins; the requests for them."""
    built: list[tuple[tuple[str, ...], str]] = []

    def environment(pins: Any, *, python: str = "", label: str = "", **more: Any) -> Any:
        built.append((tuple(pins), python))
        if any("==99" in pin for pin in pins):
            raise builder.Failed("uv pip failed: No solution found: there is no version of it")
        packages = dict(pin.split("==") for pin in pins if "==" in pin)
        return builder.Environment(tmp_path / label.replace(" ", "-"), packages, 1.5)

    monkeypatch.setattr(builder, "environment", environment)
    monkeypatch.setattr(builder, "suite", lambda root=None: tmp_path)
    monkeypatch.setattr(engine, "TargetRun", FakeRun)
    monkeypatch.setattr(FakeRun, "verdicts", {})
    monkeypatch.setattr(FakeRun, "error", None)
    monkeypatch.setattr(FakeRun, "asked", [])
    return built


def test_every_story_is_complete() -> None:
    found = stories.stories()
    assert len(catalogue()) == 24
    assert len({story.id for story in found}) == len(found)
    for story in found:
        law = laws.get(story.law)
        assert law.kind == ("saver" if isinstance(story, Defect) else "rollback")
        assert 2 <= story.story.count(". ") + 1 <= 5, story.id
        assert story.area
    for defect in catalogue():
        assert defect.faulty != defect.fixed
        assert any(pin.partition("==")[2] in defect.story for pin in defect.fixed), (
            f"{defect.id} does not say which release repaired it"
        )


@pytest.mark.parametrize("text", ["D-20", "d-20", "20", "d20", stories.find("D-20").law])
def test_a_defect_has_an_id_a_number_and_a_law(text: str) -> None:
    assert stories.find(text).id == "D-20"


def test_short_numbers_and_wrong_fixes_are_found() -> None:
    assert stories.find("1").id == "D-01"
    assert stories.find("w1").id == "W-01"
    assert stories.find("rollback.restores-next").id == "W-01"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("writes.ordered-by-path", "D-04 .*D-05 .*name one"),
        ("graph_fork.update-leaves-old-writes", "did you mean D-20"),
        ("D-22", "did you mean D-21 .*D-23 "),
        ("W-77", "did you mean W-0"),
        ("interrupt", "did you mean .*D-2"),
        ("zzzz", "--list"),
        ("", "--list"),
    ],
)
def test_an_unknown_defect_is_told_near_names(
    text: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(stories.StoryError, match=said):
        stories.find(text)
    assert main(["repro", text or "?"]) == 2
    assert "error:" in capsys.readouterr().err


def test_the_list_in_every_format(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["repro", "--list", "--format", "json"]) == 0
    entries = json.loads(capsys.readouterr().out)["defects"]
    assert [e["id"] for e in entries] == [
        *(d.id for d in catalogue()),
        *(w.id for w in wrong_fixes()),
    ]
    first = entries[0]
    assert (first["number"], first["kind"], first["law"]) == (
        1,
        "defect",
        "durability.writes-survive",
    )
    assert first["upstream"].startswith("https://")
    assert first["faulty"]
    assert first["story"]
    assert main(["repro", "--list"]) == 0
    text = capsys.readouterr().out
    assert "D-45  The async SQLite saver" in text
    assert "W-03" in text
    assert main(["repro", "--list", "--format", "markdown"]) == 0
    table = capsys.readouterr().out.splitlines()
    assert len(table) == 2 + len(entries)
    assert all(line.count("|") == 8 for line in table)


def test_a_defect_that_is_told_apart(
    fakes: list[Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(FakeRun, "verdicts", {"D-20-faulty": "engine"})
    assert main(["repro", "D-20"]) == 0
    seen = capsys.readouterr()
    assert [python for _, python in fakes] == ["3.12", "3.12"]
    assert "FAULTY" in seen.out
    assert "BROKEN by LangGraph itself" in seen.out
    assert "as expected: 1" in seen.out
    assert "what happens: faulty" in seen.out
    assert re.search(r"expected +'?1'?\n +got +'?2'?", seen.out)
    assert "D-20 is told apart" in seen.out
    assert "langgraph 1.0.2" in seen.out
    assert "check memory" not in seen.out, "the trace tells a command that runs something else"
    assert "environment with langgraph==1.0.2" in seen.err


@pytest.mark.parametrize(
    ("verdicts", "code", "said"),
    [
        ({}, 1, "where it should break"),
        ({"faulty": "broken", "fixed": "broken"}, 1, "where it should hold"),
        ({"faulty": "hangs"}, 0, "told apart"),
        ({"faulty": "not-applicable"}, 2, "could not be run on the side 'faulty': no verdict"),
        ({"faulty": "broken", "fixed": "refused"}, 1, "a face gave no verdict"),
        ({"faulty": "broken", "fixed": "inconclusive"}, 2, "could not be run on the side 'fixed'"),
    ],
)
def test_exit_codes_of_two_sides(
    fakes: list[Any], verdicts: dict[str, str], code: int, said: str,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.setattr(FakeRun, "verdicts", verdicts)
    assert main(["repro", "D-20", "--format", "json"]) == code
    data = json.loads(capsys.readouterr().out)
    assert data["exit_code"] == code
    assert said in data["says"]


def test_other_pins_and_another_target(
    fakes: list[Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["repro", "D-20", "--with", "langgraph==1.2.5", "--target", "sqlite"]
    assert main(command) == 0
    assert "does not have D-20" in capsys.readouterr().out
    assert fakes == [(("langgraph==1.2.5", "langgraph-checkpoint-sqlite"), "")]
    monkeypatch.setattr(FakeRun, "verdicts", {"sqlite": "broken"})
    assert main([*command, "--format", "json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["sides"][0]["state"] == "there"
    assert data["sides"][0]["faces"] == {"sync": "broken", "async": "broken"}
    assert "HAS D-20" in data["says"]


def test_a_target_alone_builds_nothing(
    fakes: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["repro", "D-02", "--target", "./mine.py:saver"]) == 0
    assert fakes == []
    text, options = FakeRun.asked[0]
    assert (text, options.python, options.laws) == (
        "./mine.py:saver",
        "",
        ("writes.first-wins-on-ordinary-channels",),
    )
    assert "in this environment does not have D-02" in capsys.readouterr().out


def test_a_release_that_does_not_exist(
    fakes: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["repro", "D-20", "--with", "langgraph==99.0"]) == 2
    text = capsys.readouterr().out
    assert "packages cannot be installed" in text
    assert "there is no version of it" in text
    assert "could not be made" in text


def test_a_target_that_cannot_be_used(
    fakes: list[Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(FakeRun, "error", engine.Unusable("it exploded"))
    assert main(["repro", "D-20", "--target", "nothing"]) == 2
    assert "it exploded" in capsys.readouterr().out
    monkeypatch.setattr(FakeRun, "error", engine.SuiteFault("ours"))
    assert main(["repro", "D-20", "--target", "nothing"]) == 3


@pytest.mark.parametrize(
    ("message", "state"),
    [
        ("uv pip failed: error: Failed to fetch: `https://example.org/simple/langgraph/` | "
         "Caused by: client error (Connect) | dns error", running.OFFLINE),
        ("python -m failed: ERROR: Could not find a version that satisfies the requirement x==1 "
         "(from versions: none) | ERROR: No matching distribution found for x==1", running.OFFLINE),
        ("python -m failed: ERROR: Could not find a version that satisfies the requirement x==9 "
         "(from versions: 1, 2) | ERROR: No matching distribution found for x==9", running.NO_PACKAGES),
        ("uv pip failed: No solution found when resolving dependencies", running.NO_PACKAGES),
        ("python3.12: [Errno 2] No such file or directory: 'python3.12'", running.NO_PYTHON),
        ("uv venv failed: error: No interpreter found for executable name `python3.12`", running.NO_PYTHON),
    ],
)  # fmt: skip
def test_the_installers_words_are_understood(message: str, state: str) -> None:
    assert running.classified(message) == state
    assert running.ADVICE[state]


def test_offline_the_second_side_is_not_tried(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def offline(pins: Any, **more: Any) -> Any:
        raise builder.Failed("uv pip failed: dns error")

    monkeypatch.setattr(builder, "environment", offline)
    assert main(["repro", "D-20"]) == 2
    text = capsys.readouterr().out
    assert "no package index" in text
    assert "needs a package index" in text
    assert "FIXED" not in text
    assert main(["repro", "D-20", "--script"]) == 2


def test_markdown_is_fenced(
    fakes: list[Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(FakeRun, "verdicts", {"faulty": "broken"})
    assert main(["repro", "D-02", "--format", "markdown"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("### D-02")
    assert text.count("```") == 2
    assert "| | faulty | fixed |" in text


def test_a_wrong_fix_and_the_right_one(
    fakes: list[Any], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(FakeRun, "verdicts", {"targets.AttributesToTheModel": "broken"})
    assert main(["repro", "W-01"]) == 0
    text = capsys.readouterr().out
    assert fakes == []
    assert [options.kind for _, options in FakeRun.asked] == ["rollback", "rollback"]
    assert "class AttributesToTheModel(Removing):" in text
    assert "WRONG FIX" in text
    assert main(["repro", "W-01", "--script"]) == 0
    assert capsys.readouterr().out.startswith("class AttributesToTheModel")


def test_a_wrong_fix_that_does_no_harm_here_says_where_it_does(
    fakes: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["repro", "W-03"]) == 1
    assert "repro W-03 --with langgraph==" in " ".join(capsys.readouterr().out.split())


def test_a_backend_of_ones_own_is_asked_about_a_wrong_fix(
    fakes: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["repro", "W-01", "--target", "reference", "--over", "sqlite"]) == 0
    text, options = FakeRun.asked[0]
    assert (text, options.kind, options.over) == ("reference", "rollback", "sqlite")
    assert main(["repro", "D-20", "--over", "sqlite"]) == 2


def test_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["repro"]) == 2
    assert "name a defect" in capsys.readouterr().err


def test_what_a_target_needs_is_added_once() -> None:
    assert running.needed(("langgraph == 1.2.5",), "memory", True) == ("langgraph == 1.2.5",)
    assert running.needed(("psycopg[binary]==3.2",), "postgres-async", False) == (
        "psycopg[binary]==3.2", "langgraph-checkpoint", "langgraph-checkpoint-postgres",
    )  # fmt: skip


def test_an_odd_reason_cannot_move_the_cursor(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def odd(pins: Any, **more: Any) -> Any:
        raise builder.Failed("\x1b[31mred <script>")

    monkeypatch.setattr(builder, "environment", odd)
    assert main(["repro", "D-20"]) == 2
    assert "\x1b" not in capsys.readouterr().out
    assert main(["repro", "D-20", "--format", "markdown"]) == 2
    assert "\x1b" not in capsys.readouterr().out
