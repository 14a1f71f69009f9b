"""The report on a terminal: golden output, safety of hostile values, and what is told about a run."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from pytest_lineage.report import evidence, gist, roots, terminal, tree, values
from pytest_lineage.report.style import Style, columns, safe
from tests.golden import samples

GOLDEN = Path(__file__).parent / "golden"
SHAPES = {"wide": (120, False), "plain": (80, False), "narrow": (50, False), "color": (80, True)}


def golden(name: str, text: str) -> None:
    """Compare with a golden file; write it instead where LINEAGE_UPDATE_GOLDEN=1 says so."""
    path = GOLDEN / name
    if os.environ.get("LINEAGE_UPDATE_GOLDEN") == "1":
        path.write_text(text + "\n", encoding="utf-8", newline="\n")
    assert text + "\n" == path.read_text(encoding="utf-8"), (
        f"{name} differs; see tests/golden/__init__.py"
    )


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("sample", samples.ALL)
def test_golden(sample: str, shape: str) -> None:
    width, color = SHAPES[shape]
    text = terminal.render(samples.ALL[sample](), width=width, color=color)
    golden(f"{sample}-{shape}.txt", text)


def test_golden_verbose() -> None:
    golden(
        "broken-verbose.txt", terminal.render(samples.broken(), verbose=True, width=80, color=False)
    )


@pytest.mark.parametrize("width", [30, 50, 64, 80, 120, 300])
@pytest.mark.parametrize("sample", samples.ALL)
def test_nothing_is_wider_than_the_terminal(sample: str, width: int) -> None:
    text = terminal.render(samples.ALL[sample](), width=width, color=False)
    allowed = min(max(width, 40), 120)
    long = [line for line in text.splitlines() if columns(line) > allowed]
    # A command is never broken in the middle of a word: it is there to be pasted.
    assert [
        line for line in long if not re.match(r"  (pytest-lineage (check|replay)|  --laws) ", line)
    ] == []


def test_colour_changes_nothing_but_colour() -> None:
    for make in samples.ALL.values():
        plain = terminal.render(make(), width=80, color=False)
        painted = terminal.render(make(), width=80, color=True)
        assert re.sub("\x1b\\[[0-9;]*m", "", painted) == plain
        assert painted != plain


@pytest.mark.parametrize("width", [50, 80, 120])
def test_hostile_text_is_shown_safely(width: int) -> None:
    text = terminal.render(samples.hostile(), verbose=True, width=width, color=False)
    assert all(line.isprintable() for line in text.split("\n"))
    assert "\\x1b[31m" in text
    assert "\\u202e" in text
    assert "\\ud800" in text
    assert len(text) < 30_000
    text.encode("utf-8")


class Terminal:
    """A stream that says it is a terminal."""

    encoding = "utf-8"

    def __init__(self, tty: bool = True, encoding: str = "utf-8") -> None:
        self.tty, self.encoding = tty, encoding

    def isatty(self) -> bool:
        return self.tty


@pytest.mark.parametrize(
    ("tty", "environ", "expected"),
    [
        (True, {"TERM": "xterm"}, True),
        (False, {"TERM": "xterm"}, False),
        (True, {"TERM": "dumb"}, False),
        (True, {"TERM": "xterm", "NO_COLOR": "1"}, False),
    ],
)
def test_colour_only_where_it_is_welcome(
    tty: bool, environ: dict[str, str], expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    for key, value in environ.items():
        monkeypatch.setenv(key, value)
    assert Style.detect(stream=Terminal(tty)).color is expected  # type: ignore[arg-type]


def test_width_is_the_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "61")
    assert Style.detect().width == 61


def test_ascii_where_the_stream_knows_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", Terminal(False, "ascii"))
    text = terminal.render(samples.broken(), width=80)
    assert text.isascii()
    assert "broken in 3 roots" in text


def test_failures_are_roots_and_must_comes_first() -> None:
    found = roots.failures(samples.broken())
    assert [f.row["law"] for f in found] == [
        "fork.siblings-keep-their-values",
        "concurrency.answers-while-listing",
        "list.limit",
    ]
    first = found[0]
    assert (first.alike, first.otherwise) == (["sync", "sync->async", "async->sync"], ["async"])
    assert list(first.folded) == ["fork.branches-are-independent"]
    assert first.consequences == 4


def test_causes_are_followed_to_the_root_and_circles_end() -> None:
    rows = [
        samples.row("a.root", verdict="broken", level="SHOULD"),
        samples.row("a.middle", verdict="broken", level="SHOULD", caused_by="a.root"),
        samples.row("a.leaf", verdict="broken", caused_by="a.middle"),
        samples.row("b.one", verdict="broken", caused_by="b.two"),
        samples.row("b.two", verdict="broken", caused_by="b.one"),
        samples.row("c.lone", verdict="broken", caused_by="c.holds"),
    ]
    found = roots.failures(samples.document([samples.target()], rows, 1))
    told = {f.row["law"] for f in found} | {law for f in found for law in f.folded}
    assert told == {row["law"] for row in rows}
    root = next(f for f in found if f.row["law"] == "a.root")
    assert list(root.folded) == ["a.middle", "a.leaf"]
    assert root.level == "MUST", "a MUST that follows makes the failure weigh like one"


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (samples.broken(), ["BROKEN", "3 MUST and 1 SHOULD broken in 3 roots"]),
        (samples.good(), ["GOOD", "2 laws hold on 4 faces"]),
        (samples.unusable(), ["ERROR", "could not be checked"]),
    ],
)
def test_last_word(document: dict[str, Any], words: list[str]) -> None:
    line = gist.verdict(document, document["targets"][0]).line
    assert all(word in line for word in words), line


def test_last_word_about_a_fixed_failure_and_a_strict_run() -> None:
    fixed = samples.document([samples.target()], [samples.row("a.b", verdict="fixed")], 1)
    assert gist.verdict(fixed, fixed["targets"][0]).word == "FIXED"
    lesser = [samples.row("a.b", verdict="broken", level="SHOULD"), samples.row("a.c")]
    for code, word in ((1, "BROKEN"), (0, "GOOD")):
        document = samples.document([samples.target()], lesser, code)
        assert gist.verdict(document, document["targets"][0]).word == word


def test_a_law_that_nobody_reviewed_does_not_make_a_target_broken() -> None:
    document = samples.ratchet()
    last = gist.verdict(document, document["targets"][0])
    assert (last.word, last.text) == (
        "GOOD", "1 law holds on 1 face (1 law broken that nobody reviewed yet)",
    )  # fmt: skip


def test_rerun_is_one_law_on_one_face_and_quoted() -> None:
    row = samples.row("a.b", "sync->async", "./my savers.py:make")
    document = samples.document([], [row], 1, profile="deep", kind="rollback")
    assert " ".join(gist.rerun(document, row)) == (
        "pytest-lineage check './my savers.py:make' --kind rollback "
        "--laws a.b --face 'sync->async' --profile deep"
    )


def test_stack_leaves_out_our_frames_and_the_machine() -> None:
    assert evidence.frames_of(samples.STACK) == [
        "python3.12/threading.py:355 in wait",
        "acme_saver/pool.py:71 in acquire",
        "acme_saver/saver.py:210 in get_tuple",
    ]
    assert evidence.frames_of("") == []
    assert evidence.frames_of("garbage\n\x00") == []


def test_marks_are_under_what_differs() -> None:
    lines = evidence.marked("abcXdef", "abcYYdef", Style(80))
    assert lines[2].index("^") == lines[1].index("Y")
    assert lines[2].count("^") == 2
    missing = evidence.marked("[1, 2, 3]", "[1, 3]", Style(80))
    assert missing[1].strip() == "^^^"
    far = evidence.marked("x" * 5000 + "A", "x" * 5000 + "B", Style(80))
    assert all(columns(line) <= 80 for line in far)
    assert far[0].rstrip("…").endswith("A")


@pytest.mark.parametrize(
    ("at", "words"),
    [
        ("get:metadata.step", "metadata.step as get shows it"),
        ("get:pending_writes.0.2", "the value of pending write 1 as get shows it"),
        ("list:row.pending_writes", "the pending writes in a row of list"),
        ("list:rows", "the rows that list gives"),
        ("put:returned.configurable.checkpoint_id", "the config that put returned (checkpoint_id)"),
        (
            "delta_history:history.d.writes",
            "the history of channel d: writes as delta_history shows it",
        ),
        ("nonsense", " after nonsense"),
    ],
)
def test_fields_in_words(at: str, words: str) -> None:
    assert values.field(at) == words


@pytest.mark.parametrize(
    ("shown", "words"),
    [
        ({"~tuple": [1]}, "(1,)"),
        ({"~float": "-0.0"}, "-0.0"),
        ({"~bytes": "00ff"}, r"b'\x00\xff'"),
        ({"~dict": [[1, "a"]]}, "{1: 'a'}"),
        ({"~HumanMessage": {"content": "hi"}}, "HumanMessage(content='hi')"),
        ({"~Color": ["Color", "RED"]}, "Color('Color', 'RED')"),
        ("1f000002-0000-6000-8000-0143d1a74506", "'#2'"),
        (
            {"configurable": {"thread_id": "0143d1a74506-t", "checkpoint_ns": "n",
                              "checkpoint_id": "1f00000a-0000-6000-8000-0143d1a74506"}},
            "<config of t ns 'n' #10>",
        ),
    ],
)  # fmt: skip
def test_trees_as_text(shown: Any, words: str) -> None:
    assert values.text(shown) == words


def test_tree_shows_forks_writes_events_and_the_wrong_node() -> None:
    ops = evidence.operations({"format": 1, "ops": [
        *samples.FORK[:3],
        {"op": "put", "id": 4, "parent": 2, "ns": "child", "empty": ["b"], "drop": ["a"]},
        {"op": "writes", "id": 1, "task": "task 1", "items": [["a", 1]]},
        {"op": "writes", "id": 9, "items": []},
        {"op": "copy_thread"}, {"op": "prune"}, {"op": "delete_thread"},
        {"op": "get", "id": 3},
    ]})  # fmt: skip
    lines = tree.lineage(
        ops, {"op": 9, "at": "get:found", "expected": "a checkpoint", "got": "nothing"}
    )
    assert [(line.text, line.mark) for line in lines] == [
        ("thread t (copied to copy; pruned (keep_latest); deleted)", ""),
        ("#1  a='x'", ""),
        ("│  · pending, 'task 1': a=1", ""),
        ("├─ #2  a='left'", ""),
        ("└─ #3  a='right'", "not found"),
        ("#9  never put", ""),
        ("   · pending, task-1: (none)", ""),
        ("thread t, namespace child (copied to copy; pruned (keep_latest); deleted)", ""),
        ("#4  b without a value, a dropped", ""),
    ]
    assert tree.lineage(evidence.operations({"format": 1, "ops": [{"op": "mint"}]})) == []


def test_program_of_another_version_is_still_shown() -> None:
    document = samples.broken()
    document["laws"][8]["evidence"]["program"] = {"format": 9, "ops": [{"op": "teleport"}]}
    assert "teleport" in terminal.render(document, width=80)


@pytest.mark.parametrize("text", ["plain", "caf\u00e9 \U0001f600", "a\nb\tc", "\u2066x", "\ud800"])
def test_safe_text_is_printable(text: str) -> None:
    assert safe(text).isprintable()


def test_no_target_at_all() -> None:
    assert "INCOMPLETE" in terminal.render(samples.document([], [], 2), width=80)
