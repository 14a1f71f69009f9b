"""Markdown for step summaries and pull request comments: failures first, escaped, never too long."""

from __future__ import annotations

import copy

import pytest

from pytest_lineage.report import markdown
from tests.golden import samples
from tests.test_report_terminal import golden


@pytest.mark.parametrize("sample", samples.ALL)
def test_golden(sample: str) -> None:
    golden(f"{sample}.md", markdown.render(samples.ALL[sample]()))


def test_verdict_then_failures_then_table() -> None:
    text = markdown.render(samples.broken())
    places = [
        text.index(word)
        for word in (
            "BROKEN",
            "<b>MUST broken</b>",
            "<b>SHOULD broken</b>",
            "| group |",
            "installed",
        )
    ]
    assert places == sorted(places)


def test_hostile_text_is_only_text() -> None:
    text = markdown.render(samples.hostile())
    outside = "\n".join(text.split("```")[::2])  # what no code block holds
    assert "<b>&amp;" not in outside
    assert "@user" not in outside
    assert "\x1b" not in text
    assert "\u202e" not in text
    text.encode("utf-8")
    assert len(text.encode()) <= markdown.LIMIT


@pytest.mark.parametrize("count", [0, 10, 1000, 50_000])
def test_is_never_longer_than_a_comment(count: int) -> None:
    document = samples.broken()
    first = next(row for row in document["laws"] if row["verdict"] == "broken")
    for number in range(count):
        more = copy.copy(first)
        more["law"], more["reason"] = f"fork.law-{number}", f"reason {number}"
        document["laws"].append(more)
    text = markdown.render(document)
    assert len(text.encode()) <= markdown.LIMIT
    assert ("left out to keep this short" in text) == (count > 100)
    assert text.count("<details>") == text.count("</details>")


def test_many_targets_are_cut_with_a_note() -> None:
    targets = [samples.target(f"target-{n}") for n in range(3000)]
    text = markdown.render(samples.document(targets, [], 4))
    assert len(text.encode()) <= markdown.LIMIT
    assert text.endswith("cut to fit.\n")


def test_fence_is_longer_than_any_in_the_text() -> None:
    lines = markdown.fenced("a ```` b")
    assert lines[0] == "`````text"
    assert lines[-1] == "`````"


def test_inline_text_names_nobody_and_links_nothing() -> None:
    assert (
        markdown.escape("@user #1 a_b <x> a|b") == "&#64;user &#35;1 a&#95;b &#60;x&#62; a&#124;b"
    )
    assert markdown.code("a|b`c") == "<code>a&#124;b&#96;c</code>"
